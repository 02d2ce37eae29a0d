"""Every learner by name: its module, which is imported when it is needed, and its options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from math import isfinite
from typing import NamedTuple

from hornbeam.data.relations import Examples
from hornbeam.engines.contract import Engine
from hornbeam.errors import DataError, OptionError, did_you_mean
from hornbeam.learning.loop import NO_CONTROL, Control
from hornbeam.learning.options import (
    DEFAULT,
    OPTIONS,
    PAPER,
    ILPOptions,
    Options,
    PaperOptions,
    fit_options,
)
from hornbeam.learning.problem import Fit
from hornbeam.model.files import LearnedModel


class Home(NamedTuple):
    """The module of a learner, and what the learner can do."""

    module: str
    checkpoint: bool
    """whether a fit can be saved step by step and resumed"""
    paper: str | None = None
    """the module of its preset ``paper``, if its options have presets"""
    numeric: bool = False
    """whether it learns numbers, too"""

    @property
    def presets(self) -> bool:
        """Whether its options have presets."""
        return self.paper is not None


LEARNERS: Mapping[str, Home] = {
    "agg-lr": Home("hornbeam.rivals.agg_lr.learner", checkpoint=False, numeric=True),
    "ilp-rlr": Home("hornbeam.rivals.ilp_rlr.learner", checkpoint=False),
    "mln-boost": Home("hornbeam.rivals.mln_boost", checkpoint=True),
    "rdn-boost": Home("hornbeam.rivals.trees.rdn_boost", checkpoint=True, numeric=True),
    "rlr": Home("hornbeam.learning.effects.learner", True, "hornbeam.learning.boosting.boost", numeric=True),
}


WEIGHTED = LEARNERS["rlr"].module
"""The module that uses weights of examples."""


_LOADED = "hornbeam.engines.clauses.loaded"
"""The module that loads facts in tables: all learners but that of effects count in memory only."""


def home_of(learner: str) -> Home:
    """The module of a learner; the error for an unknown learner lists the known ones.

    >>> home_of("rdn")
    Traceback (most recent call last):
    hornbeam.errors.OptionError: no learner "rdn". Learners are: agg-lr, ilp-rlr, mln-boost, rdn-boost, rlr.
    """
    if learner not in LEARNERS:
        raise OptionError(f'no learner "{learner}". {did_you_mean(learner, LEARNERS, "Learners")}')
    return LEARNERS[learner]


def options_class(learner: str) -> type[Options]:
    """The class of a learner's options."""
    home_of(learner)
    return OPTIONS[learner]


def options_for(learner: str, preset: str | None = None, **explicit: object) -> Options:
    """The options of a learner: explicit values first, then those of the preset, then the defaults.

    An option that the learner does not have is refused by name.

    >>> options_for("agg-lr", n_steps=3)
    Traceback (most recent call last):
    hornbeam.errors.OptionError: learner "agg-lr" has no option "n_steps". Options are: feature, l2, \
max_literals, neg_pos_ratio, seed.
    """
    if home_of(learner).presets:
        return fit_options(DEFAULT if preset is None else preset, **explicit)
    if preset is not None:
        raise OptionError(f'learner "{learner}" has no presets; leave preset="{preset}" out.')
    options = OPTIONS[learner]
    for name in explicit:
        if name not in options.names():
            hint = did_you_mean(name, options.names(), "Options")
            raise OptionError(f'learner "{learner}" has no option "{name}". {hint}')
    return options(**explicit)


def learn(
    learner: str, engine: Engine, examples: Examples, options: Options, control: Control = NO_CONTROL
) -> Fit[LearnedModel]:
    """Learn a model of the examples' target, with the options that ``options_for`` gives for the learner."""
    home = home_of(learner)
    if control.checkpoint is not None and not home.checkpoint:
        raise OptionError(f'learner "{learner}" has no checkpoints; leave checkpoint out.')
    module = home.paper if options.preset == PAPER and home.paper is not None else home.module
    if examples.weights is not None and module != WEIGHTED:
        raise OptionError(f'sample_weight is refused: learner "{learner}" does not use it; leave it out.')
    if examples.values is not None and (module == home.paper or not home.numeric):
        which = f'preset "{PAPER}"' if learner == "rlr" else f'learner "{learner}"'
        raise DataError(
            f'"{examples.target}" holds numbers, and {which} learns labels only; use learner "rlr" with its '
            'default preset, "rdn-boost" or "agg-lr", or classes.'
        )
    if isinstance(options, PaperOptions | ILPOptions) and isfinite(
        engine.database.last_cutoff(examples.target, examples.keys)
    ):
        # Populations of other data would hold what comes after a cut-off.
        options = replace(options, populations="training")
    if module != WEIGHTED and engine.database.is_in_place:
        engine, examples = import_module(_LOADED).loaded(engine, examples)
    fitted: Fit[LearnedModel] = import_module(module).fit(engine, examples, options, control)
    return fitted
