"""Mean field: all unknown labels are guessed together, each from the probabilities of its neighbours' labels.

A sweep computes for every thing the probability of its labels, given the expected counts and shares of its
neighbours, and moves towards it by a step. If the sweeps swing instead of settling, the step is halved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hornbeam.data.numbers import Floats
from hornbeam.errors import plural
from hornbeam.joint.neighbours import LinkedThings, with_evidence

STEP = 0.5
"""The first step: halfway to what the neighbours say."""
SMALLEST_STEP = 1 / 64
CLOSE = 1e-5
"""Sweeps end when no probability would move by more."""
MOST_SWEEPS = 1000
PATIENCE = 8
"""After this many sweeps in one direction, steps are whole; after as many that swing, they are halved."""


class Convergence(NamedTuple):
    """How the sweeps ended."""

    sweeps: int
    change: float
    """the largest difference, in the last sweep, between a probability and what its neighbours say"""
    step: float
    damped: bool = False
    """whether the sweeps swung, so that the steps were made smaller"""

    @property
    def converged(self) -> bool:
        return self.change <= CLOSE

    def __str__(self) -> str:
        damped = f", after an oscillation was damped to steps of {self.step:g}" if self.damped else ""
        if self.converged:
            return f"mean field converged in {plural(self.sweeps, 'sweep')}{damped}"
        return (
            f"mean field did not converge in {plural(self.sweeps, 'sweep')}{damped}: "
            f"probabilities still move by {self.change:.2g}"
        )


class InferredLabels(NamedTuple):
    """The probability of each label of each thing, by target, and how they were found."""

    beliefs: dict[str, Floats]
    chances: dict[str, Floats]
    """given the labels of the others, also for things whose own label is known"""
    convergence: Convergence


def mean_field(world: Mapping[str, LinkedThings], most_sweeps: int = MOST_SWEEPS) -> InferredLabels:
    """Guess all unknown labels together; the start is what the separate models say.

    Targets whose neighbours are heard once keep the probabilities that follow from this start.
    """
    beliefs = {name: with_evidence(each.things, each.own.first) for name, each in world.items()}
    fixed = {name: each.conditional(beliefs) for name, each in world.items() if each.neighbours.once}
    chances = {name: each.own.chances for name, each in world.items()} | fixed
    beliefs |= {name: with_evidence(world[name].things, each) for name, each in fixed.items()}
    before: dict[str, Floats] = {}
    step, straight, sweeps, change, damped = STEP, 0, 0, 0.0, False
    while sweeps < most_sweeps:
        sweeps += 1
        change, along = 0.0, 0.0
        for name, each in world.items():
            if name in fixed:
                continue
            chances[name] = each.conditional(beliefs)
            moved = with_evidence(each.things, chances[name]) - beliefs[name]
            change = max(change, float(np.abs(moved).max(initial=0.0)))
            along += float((moved * before[name]).sum()) if name in before else 0.0
            before[name] = moved
            beliefs[name] = beliefs[name] + step * moved
        if change <= CLOSE:
            break
        straight = max(straight, 0) + 1 if along >= 0 else min(straight, 0) - 1
        if straight >= PATIENCE and not damped:
            step = 1.0
        elif straight <= -PATIENCE and step > SMALLEST_STEP:
            step, straight, damped = step / 2, 0, True
    beliefs = {name: with_evidence(each.things, chances[name]) for name, each in world.items()}
    return InferredLabels(beliefs, chances, Convergence(sweeps, change, step, damped))
