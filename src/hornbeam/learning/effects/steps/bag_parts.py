"""All bags in parts: one part in this process, and one in each worker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import Any, TypeVar

import numpy as np

from hornbeam.learning.effects.steps.bag_steps import ACTIVE, BagSteps, StepData
from hornbeam.learning.numbers import Floats
from hornbeam.learning.workers import Jobs

NAME = "bags"
Each = TypeVar("Each")


class BagParts:
    """Neighbouring bags are a part. All parts answer a call at the same time."""

    def __init__(self, data: StepData, weights: Floats, jobs: Jobs, judged: Floats | None = None) -> None:
        number = weights.shape[1]
        judged = data.sizes[:, None] - weights if judged is None else judged
        self.jobs = jobs
        self.workers = jobs.workers[: number - 1] if len(data.bins) else []
        n_parts = len(self.workers) + 1
        edges = [number * part // n_parts for part in range(n_parts + 1)]
        self.slices = [slice(a, b) for a, b in pairwise(edges)]
        with jobs.together():
            for worker, part in zip(self.workers, self.slices[1:], strict=True):
                worker.make(NAME, BagSteps, data.of_bags(part), weights[:, part], judged[:, part])
            first = self.slices[0]
            self.own = BagSteps(data.of_bags(first), weights[:, first], judged[:, first])
            for worker in self.workers:
                worker.answer()

    def ask(self, method: str, *arguments: Any) -> list[Any]:
        """The answers of all parts to the same call."""
        return self._asked(method, [arguments] * len(self.slices))

    def ask_each(self, method: str, arguments: Sequence[Any]) -> list[Any]:
        """The answers of all parts, each asked with an argument of its own."""
        return self._asked(method, [(each,) for each in arguments])

    def renew(self, number: int) -> None:
        """Choose the active candidates of all bags again, among this many.

        No process prepares the sums of all candidates.
        """
        if number <= 2 * ACTIVE or len(self.slices) == 1:
            self.ask("renew")
            return
        gains = self.gains(number)
        self.ask_each("renew", [gains[:, part] for part in self.slices])

    def gains(self, number: int) -> Floats:
        """The largest gain of each of so many candidates in each bag; each part compares some of them."""
        both = [np.split(each, 2, axis=1) for each in self.ask("gradients")]
        gradients = np.hstack([*(first for first, _ in both), *(second for _, second in both)])
        edges = [number * part // len(self.slices) for part in range(len(self.slices) + 1)]
        return np.vstack(self._asked("gains", [(gradients, a, b) for a, b in pairwise(edges)]))

    def _asked(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        with self.jobs.together():
            for worker, own in zip(self.workers, arguments[1:], strict=True):
                worker.ask(NAME, method, *own)
            first = getattr(self.own, method)(*arguments[0])
            return [first, *(worker.answer() for worker in self.workers)]


def joined(parts: Iterable[Sequence[Each]]) -> list[Each]:
    """The lists of all parts as one."""
    return list(chain.from_iterable(parts))
