"""How much of the fitted weights per constant a model has: as much as held-out examples ask for."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hornbeam.learning.effects.candidates import Pool
from hornbeam.learning.effects.conditions import Search
from hornbeam.learning.effects.constants import ConstantWeights
from hornbeam.learning.effects.examples.problem import Problem
from hornbeam.learning.effects.long_model import LongModel
from hornbeam.learning.loop import Pause
from hornbeam.learning.numbers import Floats
from hornbeam.learning.workers import Jobs

TRIED = 200
"""Number of steps after which models with weights per constant, of some strengths, are compared."""
USUAL = 0.6
"""The usual share of the fitted weights per constant: effects beside them explain the rest."""


def at_best_strength(
    problem: Problem, pool: Pool, block: ConstantWeights, jobs: Jobs, search: Search, pause: Pause
) -> ConstantWeights | None:
    """The weights per constant at the strength that predicts held-out examples best beside effects.

    It is the usual one unless all of the weights are better by a standard error; None if effects alone are
    better than both. Pairs are left out. Each bag has its own candidates, as in the fit: held-out examples
    judge here too.
    """
    usual = block.at(USUAL)
    if not problem.options.validate:
        return usual
    tried = min(problem.options.n_steps or TRIED, TRIED)
    short = replace(problem, options=replace(problem.options, n_steps=tried))
    found: list[tuple[float, Floats]] = []
    for each in (block, usual, None):
        long = LongModel(short, pool, each, jobs, search._replace(pairs=None))
        for _ in long.boosting.run():
            pause()
        scores = long.held_out_scores()
        known = ~np.isnan(scores.reshape(len(scores), -1)[:, 0])
        losses = problem.weights * problem.loss.each(problem.targets, np.nan_to_num(scores))
        found.append((min(long.bags.mean_losses), losses[known]))
    (_, whole), (loss, part), (alone, _) = found
    gains = part - whole
    if len(gains) and gains.mean() > gains.std() / math.sqrt(len(gains)) and found[0][0] < min(loss, alone):
        return block
    return None if loss >= alone else usual
