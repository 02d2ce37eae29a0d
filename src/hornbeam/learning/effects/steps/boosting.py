"""Boosting over bins: many small steps, for all bags at once.

A step adds to one candidate's curve: two levels on either side of a cut and one for missing values, or a line
over the scores of its bins, whichever lowers the quadratic approximation of the loss more. The step is shrunk
by the learning rate. Sums of gradients are whole multiples of 2**-30, hence exact, so the order of the
examples does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from hornbeam.learning.effects.steps.bag_parts import BagParts, joined
from hornbeam.learning.effects.steps.bag_steps import AT_ONCE, Addition, StepData, Taken
from hornbeam.learning.numbers import Floats
from hornbeam.learning.workers import ALONE, Jobs

RENEWALS = (0, 24, 48, 96, 192, 384, 768, 1536)
"""The steps before which the active candidates are chosen again among all."""
STEPS, MOST_STEPS = 600, 2000
"""Maximum number of steps with few examples, and with many, which can tell more effects from noise."""
PATIENCE = 60
"""Steps without a lower loss on held-out examples after which boosting ends."""


def most_steps(examples: int, validate: bool) -> int:
    """The maximum number of steps, which grows with the number of examples if some of them are held out.

    >>> most_steps(300, True), most_steps(1_600, True), most_steps(1_600, False), most_steps(50_000, True)
    (600, 800, 600, 2000)
    """
    return min(MOST_STEPS, max(STEPS, examples // 2)) if validate else STEPS


@dataclass(eq=False)
class Bags:
    """Boosted models, one for each bag."""

    start: Floats
    additions: list[list[Addition]]
    mean_losses: list[float] = field(default_factory=list)
    """before the first step and after each one, the mean loss of the examples that are held out"""

    @property
    def done(self) -> int:
        """Number of complete steps."""
        return len(self.mean_losses) - 1

    def chosen(self) -> list[list[int]]:
        """For each complete step, the candidate of each bag, or -1."""
        return [[own[step].candidate for own in self.additions] for step in range(self.done)]


class Boosting:
    """Boosted models for all bags, step by step; ``bags`` has what is done.

    Column k of ``weights`` has the weight of each example in bag k, and of ``judged`` where it is judged;
    None for all examples outside the bag.
    """

    def __init__(
        self, data: StepData, weights: Floats, jobs: Jobs = ALONE, judged: Floats | None = None
    ) -> None:
        self.steps, self.number = data.steps, len(data.bins)
        held_out = data.sizes[:, None] - weights if judged is None else judged
        self.total = float(held_out.sum())
        self.parts = BagParts(data, weights, jobs, judged)
        self.is_active = False
        starts, losses = map(joined, zip(*self.parts.ask("start"), strict=True))
        self.bags = Bags(np.array(starts), [[] for _ in starts], [self._mean(losses)])

    def replay(self, chosen: Sequence[Sequence[int]]) -> None:
        """Take steps that were chosen earlier, with the candidate of each bag or -1, to the same result."""
        if self.number and len(chosen):
            self.parts.renew(self.number)
        own = [[step[part] for step in chosen] for part in self.parts.slices]
        self._keep(self.parts.ask_each("replay", own))

    def run(self) -> Iterator[bool]:
        """Take the steps that are left.

        After every few steps, yields whether the next ones begin with a new choice of active candidates.
        """
        while self.number and not self.is_done:
            done = self.bags.done
            if done in RENEWALS or not self.is_active:
                self.parts.renew(self.number)
                self.is_active = True
            self._keep(self.parts.ask("go_on", min(AT_ONCE, self.steps.number - done)))
            yield self.bags.done in RENEWALS

    @property
    def is_done(self) -> bool:
        """Whether all steps are done, or more steps do not lower the loss on held-out examples."""
        done, means = self.bags.done, self.bags.mean_losses
        late = done - int(np.argmin(means)) >= PATIENCE and bool(np.isfinite(means[-1]))
        return done >= self.steps.number or (late and not self.steps.patient)

    def _keep(self, parts: list[list[Taken]]) -> None:
        """Keep the steps that all parts have taken."""
        for step in zip(*parts, strict=True):
            for own, addition in zip(self.bags.additions, joined(p.additions for p in step), strict=True):
                own.append(addition)
            self.bags.mean_losses.append(self._mean(joined(part.losses for part in step)))

    def _mean(self, losses: list[float]) -> float:
        return sum(losses) / self.total if self.total else float("nan")
