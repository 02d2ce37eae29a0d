"""Options chosen on held-out examples: the final weights' penalty, the length of bodies, the steps.

The examples are held out in turn, in parts that share no constant with the examples to learn from. For
each part there is one path (a sequence of steps) with bodies of the greatest length and one with bodies a
literal shorter. A path has a third of the steps of the fit; all paths share the counts of all examples.
After some steps of a path the weights are fitted under every penalty, and the loss on the held-out
examples is computed. Length, penalty and steps stay as given unless other values are better by more than
chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hornbeam.data.database import Database
from hornbeam.data.relations import Examples
from hornbeam.data.sampling import HeldOutPart, part_numbers, part_of
from hornbeam.learning.boosting.steps import BoostProblem, Chosen, Mask, init, joint_weights, step
from hornbeam.learning.history import Trial
from hornbeam.learning.loop import Pause
from hornbeam.learning.losses.logistic import losses
from hornbeam.model.clause_model import Floats

PARTS = 3
SHORTEST = 2
"""Bodies are not made shorter than this: one literal alone expresses no relation."""
LEAST_HELD_OUT = 20
"""Minimum number of held-out examples of each label; with fewer, the choice would be random."""
ERRORS_OF_LENGTH = 1.0
"""Number of standard errors by which shorter bodies must be better."""
ERRORS = 3.0
"""The same for another penalty or fewer steps; it is larger because nine alternatives are tried."""
PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Penalties to try, as multiples of the penalty given."""


def held_out(database: Database, examples: Examples, seed: int) -> list[HeldOutPart]:
    """The parts to hold out; none if they have too few examples of either label."""
    labels = examples.labels
    columns = part_numbers(database, examples.target, examples.keys, PARTS, f"held out {seed}")
    parts = [part_of(columns, [number] * len(columns)) for number in range(PARTS)]
    outside = labels[np.any([part.outside for part in parts], axis=0)]
    enough = all(np.count_nonzero(outside == label) >= LEAST_HELD_OUT for label in (0, 1))
    return parts if enough and all(len(set(labels[part.inside].tolist())) == 2 for part in parts) else []


def validated(
    problem: BoostProblem,
    parts: list[HeldOutPart],
    pause: Pause,
    on_trial: Callable[[Trial], None] | None = None,
) -> Chosen:
    """The options that predict the held-out parts best; ``on_trial`` receives the progress."""
    assert problem.strategy.refit is not None
    given = Chosen(problem.limits.max_literals, problem.strategy.refit, problem.n_steps)
    shortest = max(min(SHORTEST, given.max_literals), given.max_literals - 1)
    lengths = range(shortest, given.max_literals + 1)
    trials = [(given._replace(max_literals=length), part) for length in lengths for part in parts]
    paths: dict[int, list[TrialPath]] = {length: [] for length in lengths}
    for number, (trying, part) in enumerate(trials, start=1):
        trial = Trial(number, len(trials))
        paths[trying.max_literals].append(_path(problem, part, trying, pause, trial, on_trial or _nobody))

    at_end = {
        given._replace(max_literals=length): np.concatenate(
            [path.loss(given.n_steps, given.l2) for path in some]
        )
        for length, some in paths.items()
    }
    best = _better(at_end, given, ERRORS_OF_LENGTH)
    return _better(_losses(paths[best.max_literals], best), best, ERRORS)


class TrialPath(NamedTuple):
    """The features that were learned without the held-out examples, step by step."""

    problem: BoostProblem
    outside: Mask
    features: Floats

    def loss(self, number: int, l2: float) -> Floats:
        """The losses of the held-out examples, under a model of the first ``number`` features."""
        rows = self.features[:number]
        scores = joint_weights(self.problem, rows, l2).scores(rows[:, self.outside])
        return losses(self.problem.labels[self.outside], scores)


def _path(
    problem: BoostProblem,
    part: HeldOutPart,
    given: Chosen,
    pause: Pause,
    trial: Trial,
    on_trial: Callable[[Trial], None],
) -> TrialPath:
    short = given._replace(n_steps=_third(given.n_steps))
    problem = replace(problem.within(short), inside=part.inside)
    state = init(problem)
    on_trial(trial)
    while state.ended is None:
        state, done = step(problem, state, pause)
        for each in done:
            on_trial(replace(trial, steps=each.number, candidates=each.candidates))
    return TrialPath(problem, part.outside, np.array(state.features).reshape(-1, len(problem.labels)))


def _nobody(_: Trial) -> None:
    """Used if the caller does not watch the trials."""


def _losses(paths: Sequence[TrialPath], given: Chosen) -> dict[Chosen, Floats]:
    """The losses of all held-out examples, for every penalty and number of steps."""
    steps = _third(given.n_steps)
    # If a path is best at its end, more steps might be even better, so the fit then does all steps.
    numbers = {steps: given.n_steps} | ({steps // 2: steps // 2} if steps > 1 else {})
    by_options = {}
    for number, n_steps in numbers.items():
        for factor in PENALTIES:
            options = given._replace(l2=factor * given.l2, n_steps=n_steps)
            by_options[options] = np.concatenate([path.loss(number, options.l2) for path in paths])
    return by_options


def _third(steps: int) -> int:
    return (steps + 2) // 3


def _better(losses_of: dict[Chosen, Floats], given: Chosen, errors: float) -> Chosen:
    """The options with the lowest loss, if that is ``errors`` standard errors below the given ones' loss."""
    best = min(losses_of, key=lambda options: float(losses_of[options].sum()))
    differences = losses_of[given] - losses_of[best]
    standard_error = float(differences.std()) * len(differences) ** 0.5
    return best if float(differences.sum()) > errors * standard_error else given
