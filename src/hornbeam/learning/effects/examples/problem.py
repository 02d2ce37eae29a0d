"""What the parts of a fit share: the examples with their targets, the options, and the bags."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hornbeam.data.relations import Examples
from hornbeam.engines.contract import Engine
from hornbeam.learning.effects.examples.bagging import (
    Design,
    Hashes,
    design,
    example_hashes,
    windows_of_time,
    without_uninformed_judges,
)
from hornbeam.learning.losses.loss import PLAIN_UNIT, Loss, Unit
from hornbeam.learning.numbers import Floats
from hornbeam.learning.options import EffectOptions
from hornbeam.logic.clauses import Atom
from hornbeam.model.scales import Integers


@dataclass(frozen=True, eq=False)
class Problem:
    """A target with its examples, and how it is learned."""

    engine: Engine
    head: Atom
    examples: Examples
    options: EffectOptions
    loss: Loss
    targets: Floats
    unit: Unit = PLAIN_UNIT
    """how scores become those of the model"""
    correction: float = 0.0
    """log-odds to add for the negatives that sampling left out"""
    choices: Integers | None = None
    """the choice of each example; None if examples are no alternatives"""
    notes: tuple[str, ...] = ()
    """what the user should know about the examples"""

    @property
    def weights(self) -> Floats:
        """How much each example counts."""
        given = self.examples.weights
        return np.ones(len(self.targets)) if given is None else given

    @cached_property
    def hashes(self) -> Hashes:
        """A hash of each example, which says where it is held out."""
        own = example_hashes(self.engine, self.examples.target, self.examples.keys, self.options)
        if self.choices is None:
            return own
        from hornbeam.learning.effects.examples.choices import joined

        return joined(own, self.choices)

    @cached_property
    def design(self) -> Design:
        """The bags, and the models that later examples judge."""
        return self._judged_later or design(self.hashes, self.options.n_bags)

    @property
    def is_judged_later(self) -> bool:
        """Whether later examples judge models of earlier ones."""
        return self._judged_later is not None

    @cached_property
    def _judged_later(self) -> Design | None:
        windows = windows_of_time(self.engine.database, self.examples.target, self.examples.keys)
        if self.options.group is not None or windows is None:
            return None
        return without_uninformed_judges(design(self.hashes, self.options.n_bags, windows), self.targets)

    @property
    def bag_weights(self) -> Floats:
        """The weight of each example in each bag."""
        return self.design.weights * self.weights[:, None]

    @property
    def judged_weights(self) -> Floats:
        """The weight of each example where each model is judged."""
        return self.design.judged * self.weights[:, None]
