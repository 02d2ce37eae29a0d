"""RDN-Boost: boosted relational regression trees.

Functional-gradient boosting of a relational dependency network's distribution of one target, after
Natarajan, Khot, Kersting, Gutmann and Shavlik, "Gradient-based boosting for statistical relational
learning" (Machine Learning, 2012): in each step a tree is grown on the gradients ``y - P`` and added.
The negatives of a step are a sample, drawn anew each time unless told otherwise. Which ones are drawn
does not depend on what is learned, so those of all steps are counted together, each test once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hornbeam.baselines.tree_growth import Growth, Rows, Tests, Ways
from hornbeam.baselines.trees import Leaf, Node, Tree, TreeModel, body_text, leaf_values
from hornbeam.boost import (
    Fit,
    Labels,
    Pause,
    ShouldStop,
    check_labels,
    gradients,
    language_for,
    log_loss,
    prior_of,
    run,
)
from hornbeam.database import Codes
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.history import ALL_STEPS, NO_GAIN, History, Record
from hornbeam.model import Floats
from hornbeam.options import (
    BEAM,
    LITERALS,
    PRIOR,
    RATIO,
    SEED,
    STEPS,
    THRESHOLDS,
    Options,
    Whole,
    YesNo,
    option,
)
from hornbeam.ridge import response
from hornbeam.sampling import redrawn, sampled

LEARNER = "rdn-boost"


@dataclass(frozen=True, slots=True)
class RDNOptions(Options):
    """The options of RDN-Boost."""

    n_steps: int = option(10, STEPS)
    """steps of boosting: at most so many trees"""
    max_depth: int = option(3, Whole(1, 30))
    """tests from the root to a leaf, at most"""
    max_leaves: int = option(8, Whole(2, 10_000))
    """leaves of a tree, at most; the split that gains most comes first"""
    min_examples: int = option(1, Whole(1, 10**9))
    """training examples in a leaf, at least"""
    max_literals: int = option(2, LITERALS)
    """literals in a test, at most"""
    beam_width: int = option(10, BEAM)
    """tests kept at each length of the search for a test"""
    prior: float | str = option(-1.8, PRIOR)
    """log-odds before the first tree"""
    neg_pos_ratio: float | None = option(2.0, RATIO)
    """training negatives per positive; ``None`` keeps all"""
    redraw: bool = option(True, YesNo())
    """whether the negatives are drawn anew in each step"""
    seed: int = option(0, SEED)
    """chooses the negatives"""
    negation: bool = option(False, YesNo())
    """whether tests may hold negated literals"""
    n_thresholds: int = option(16, THRESHOLDS)
    """thresholds offered for each numeric argument of a predicate, at most; 0 offers no comparisons"""


@dataclass(frozen=True, slots=True)
class TreeStep:
    """A tree that a step of boosting added, and what it took to grow it."""

    number: int
    """counts from 1"""
    tree: Tree
    error_before: float
    """sum of the squared gradients of the step's examples"""
    error_after: float
    """what the tree leaves of it"""
    log_loss: float
    """mean over the step's examples, after the step"""
    counted: int
    """tests that had to be counted"""
    reused: int
    """tests whose counts were known"""
    seconds: float

    @property
    def title(self) -> str:
        return body_text(self.tree.test) if isinstance(self.tree, Node) else "no test"

    @property
    def candidates(self) -> int:
        return self.counted + self.reused

    def as_dict(self) -> dict[str, object]:
        raise NotImplementedError


class State(NamedTuple):
    """A model in the making: the log-odds of all examples ever drawn, the trees so far."""

    scores: Floats
    steps: tuple[TreeStep, ...] = ()
    ended: str | None = None


def fit(
    engine: Engine,
    keys: Codes,
    labels: Labels,
    target: str,
    options: RDNOptions | None = None,
    on_step: Callable[[Record], None] | None = None,
    checkpoint: str | Path | None = None,
    should_stop: ShouldStop | None = None,
) -> Fit[TreeModel]:
    """Learn trees for the target from examples given as rows of codes and labels 0 or 1."""
    options = options or RDNOptions()
    database = engine.database
    check_labels(labels, target)
    language = language_for(database, target, options.negation, options.n_thresholds)
    if options.redraw:
        drawn = redrawn(database, target, keys, labels, options.neg_pos_ratio, options.seed, options.n_steps)
    else:
        kept = sampled(database, target, keys, labels, options.neg_pos_ratio, options.seed)
        drawn = [kept] * options.n_steps
    ever = np.unique(np.concatenate(drawn))
    draws = [np.searchsorted(ever, each) for each in drawn]
    tests, ways = Tests(engine, keys[ever]), Ways(language)
    prior = prior_of(labels[drawn[0]], options.prior)
    nothing = State(np.full(len(ever), prior))
    label = labels[ever]

    def step(state, pause):
        started = time.perf_counter()
        counted = tests.counted
        rows = draws[len(state.steps)]
        slopes = gradients(label, state.scores)
        before = response(slopes[rows])
        tree = Growth(tests, ways, options, pause).tree(slopes, rows)
        if isinstance(tree, Leaf):
            return state._replace(ended=NO_GAIN), ()
        values = leaf_values(tree, language.head, len(label), tests.holds)
        scores = state.scores + values
        number = len(state.steps) + 1
        info = TreeStep(
            number,
            tree,
            before.error(),
            0.0,
            log_loss(label[rows], scores[rows]),
            tests.counted - counted,
            0,
            time.perf_counter() - started,
        )
        return State(scores, (*state.steps, info), ALL_STEPS if number >= options.n_steps else None), (info,)

    state, reason = run(nothing, lambda: nothing, step, on_step, should_stop)
    model = TreeModel(target, database.schema, prior, tuple(s.tree for s in state.steps), options.settings())
    return Fit(model, History(state.steps, state.ended or reason, reason is not None))
