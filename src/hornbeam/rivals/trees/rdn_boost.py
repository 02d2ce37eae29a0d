"""RDN-Boost: boosted relational regression trees.

Functional-gradient boosting of a relational dependency network's distribution of one target, after
Natarajan, Khot, Kersting, Gutmann and Shavlik, "Gradient-based boosting for statistical relational
learning" (Machine Learning, 2012): in each step a tree is grown on the gradients ``y - P`` and added.
For a numeric target, gradients are the errors of the prediction, and every step has all examples.
The negatives of a step are a sample, which is redrawn in each step unless ``redraw`` is off. The samples
do not depend on what is learned, so the examples of all steps are counted together, each test once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hornbeam.data.relations import Examples
from hornbeam.data.sampling import redrawn, sampled
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.clauses.counting.holding import Holding
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.learning.checkpoint import Checkpoint, fit_fingerprint
from hornbeam.learning.history import ALL_STEPS, NO_GAIN, History
from hornbeam.learning.loop import NO_CONTROL, Control, Pause, run
from hornbeam.learning.losses.logistic import gradients, log_loss
from hornbeam.learning.losses.loss import Unit
from hornbeam.learning.losses.squared import Squared
from hornbeam.learning.numbers import GRADIENT_BITS, Integers, Labels, round_weight, whole_gradients
from hornbeam.learning.options import RDNOptions
from hornbeam.learning.problem import Fit, check_labels, check_values, language_for, prior_of
from hornbeam.learning.search.ridge import response
from hornbeam.logic.clauses import Atom
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import Floats
from hornbeam.model.fields import Fields
from hornbeam.model.scales import LOGISTIC, SQUARED
from hornbeam.rivals.trees.growth import Growth
from hornbeam.rivals.trees.model import LEARNER, TreeModel, node_fields, read_tree
from hornbeam.rivals.trees.tests import NodeTests, Rows
from hornbeam.rivals.trees.trees import Leaf, Node, Tree, body_text, leaf_values, scaled


@dataclass(frozen=True, slots=True)
class TreeStep:
    """A tree that a step of boosting added, and the effort of growing it."""

    number: int
    """number of the step, from 1"""
    head: Atom
    tree: Tree
    error_before: float
    """sum of the squared gradients of the step's examples"""
    error_after: float
    """sum of the squared residuals after the tree"""
    log_loss: float
    """mean over the step's examples, after the step; for numbers, half the squared error in their unit"""
    counted: int
    """bodies that had to be counted"""
    seconds: float

    @property
    def title(self) -> str:
        return body_text(self.tree.test) if isinstance(self.tree, Node) else "no test"

    @property
    def candidates(self) -> int:
        return self.counted

    def as_dict(self) -> dict[str, object]:
        return {
            "step": self.number,
            "nodes": node_fields(self.tree, self.head),
            "error_before": self.error_before,
            "error_after": self.error_after,
            "log_loss": self.log_loss,
            "counted": self.counted,
            "seconds": self.seconds,
        }


class TreeState(NamedTuple):
    """An unfinished model: the log-odds of all examples of any draw, and the trees so far."""

    scores: Floats
    steps: tuple[TreeStep, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    ended: str | None = None


@dataclass(frozen=True, eq=False)
class TreeProblem:
    """Everything that stays the same in all steps."""

    tests: NodeTests
    holding: Holding
    labels: Labels | Floats
    """labels, or the numbers to learn in the unit"""
    draws: Sequence[Rows]
    """the examples of each step, as positions among the examples of all draws"""
    prior: float
    options: RDNOptions
    unit: Unit | None = None
    """the unit of a numeric target; None for labels"""

    @property
    def head(self) -> Atom:
        return self.tests.grammar.language.head

    def gradients(self, scores: Floats) -> Integers:
        """Minus the derivative of the loss of each example."""
        if self.unit is None:
            return gradients(self.labels.astype(np.int8), scores)
        return whole_gradients(self.labels - scores)

    def loss(self, rows: Rows, scores: Floats) -> float:
        """The mean loss of some examples."""
        if self.unit is None:
            return log_loss(self.labels[rows].astype(np.int8), scores[rows])
        return float(Squared().each(self.labels[rows].astype(np.float64), scores[rows]).mean())


def fit(
    engine: Engine,
    examples: Examples,
    options: RDNOptions | None = None,
    control: Control = NO_CONTROL,
) -> Fit[TreeModel]:
    """Learn trees for the target from examples with labels 0 and 1, or with numbers.

    Ctrl-C and ``control.should_stop`` end the fit with the trees grown so far and mark it as cut.
    """
    options = options or RDNOptions()
    database = engine.database
    if examples.values is None:
        check_labels(examples)
    else:
        check_values(examples.target, examples.values)
    saved: Checkpoint[TreeStep] | None = None
    if control.checkpoint is not None:
        settings = options.settings() | {"learner": LEARNER}
        fingerprint = fit_fingerprint(database, examples, settings, engine.memory)
        saved = Checkpoint(
            Path(control.checkpoint),
            fingerprint,
            lambda fields, schema: _read_step(fields, schema, problem.head),
        )
    problem = _problem(engine, examples, options)

    def start() -> TreeState:
        return init(problem) if saved is None else _resumed(problem, saved, database.schema)

    def go_on(state: TreeState, pause: Pause) -> tuple[TreeState, Sequence[TreeStep]]:
        return step(problem, state, pause)

    def save(state: TreeState) -> None:
        if saved is not None:
            saved.save(state.steps, state.skipped, state.ended)

    state, ending = run(init(problem), start, go_on, control, save)
    settings = options.settings() | dict(database.origin) | ending.settings()
    trees = tuple(each.tree for each in state.steps)
    prior, loss, unit = problem.prior, LOGISTIC, problem.unit
    if unit is not None:
        prior, loss = round_weight(unit.of_model(prior)), SQUARED
        trees = tuple(scaled(tree, unit.scale) for tree in trees)
        settings |= {"constant": prior}
    model = TreeModel(examples.target, database.schema, prior, trees, settings, LEARNER, loss)
    return Fit(model, History(state.steps, ending.reason, ending.cut, state.skipped))


def _problem(engine: Engine, examples: Examples, options: RDNOptions) -> TreeProblem:
    database = engine.database
    target, keys, labels = examples.target, examples.keys, examples.labels
    language = language_for(database, target, options.negation, options.n_thresholds, keys)
    ratio, seed = options.neg_pos_ratio, options.seed
    if examples.values is not None:
        targets, unit = Squared().prepared(examples.values, np.ones(len(keys)))
        holding = Holding(counter_of(engine), keys)
        draws = [np.arange(len(keys))] * options.n_steps
        return TreeProblem(NodeTests(language, holding), holding, targets, draws, 0.0, options, unit)
    if options.redraw:
        draws = redrawn(database, target, keys, labels, ratio, seed, options.n_steps)
    else:
        draws = [sampled(database, target, keys, labels, ratio, seed)] * options.n_steps
    drawn = np.zeros(len(labels), dtype=np.bool_)
    for each in draws:
        drawn[each] = True
    ever = np.flatnonzero(drawn)
    holding = Holding(counter_of(engine), keys[ever])
    return TreeProblem(
        tests=NodeTests(language, holding),
        holding=holding,
        labels=labels[ever],
        draws=[np.searchsorted(ever, each) for each in draws],
        prior=prior_of(labels[draws[0]], options.prior),
        options=options,
    )


def init(problem: TreeProblem) -> TreeState:
    """The state before the first step: every example has the prior's log-odds."""
    return TreeState(np.full(len(problem.labels), problem.prior, dtype=np.float64))


def step(problem: TreeProblem, state: TreeState, pause: Pause) -> tuple[TreeState, tuple[TreeStep, ...]]:
    """Add a tree grown on the gradients; if no test gains, the returned state has ended."""
    started = time.perf_counter()
    holding, counted = problem.holding, problem.holding.counted
    number = len(state.steps) + 1
    rows = problem.draws[number - 1]
    targets = problem.gradients(state.scores)
    tree = Growth(problem.tests, problem.options, pause).tree(targets, rows)
    state = state._replace(skipped=tuple(dict.fromkeys((*state.skipped, *holding.skipped.values()))))
    if isinstance(tree, Leaf):
        return state._replace(ended=NO_GAIN), ()
    values = _values(problem, tree)
    scores = state.scores + values
    residuals = targets[rows] / 2.0**GRADIENT_BITS - values[rows]
    info = TreeStep(
        number=number,
        head=problem.head,
        tree=tree,
        error_before=response(targets[rows]).error(),
        error_after=float(np.sum(residuals * residuals)),
        log_loss=problem.loss(rows, scores),
        counted=holding.counted - counted,
        seconds=time.perf_counter() - started,
    )
    ended = ALL_STEPS if number >= problem.options.n_steps else None
    return state._replace(scores=scores, steps=(*state.steps, info), ended=ended), (info,)


def _values(problem: TreeProblem, tree: Tree) -> Floats:
    return leaf_values(tree, problem.head, len(problem.labels), problem.holding.holds)


def _resumed(problem: TreeProblem, saved: Checkpoint[TreeStep], schema: Schema) -> TreeState:
    """Restore the state of a checkpoint by adding the values of its trees in the same order."""
    steps, skipped, ended, _ = saved.load(schema)
    state = init(problem)._replace(steps=steps, skipped=skipped, ended=ended)
    if ended is not None:
        return state
    scores = state.scores
    for each in steps:
        scores = scores + _values(problem, each.tree)
    return state._replace(scores=scores)


def _read_step(fields: Fields, schema: Schema, head: Atom) -> TreeStep:
    return TreeStep(
        number=fields.whole("step"),
        head=head,
        tree=read_tree(fields, schema, head.predicate),
        error_before=fields.number("error_before"),
        error_after=fields.number("error_after"),
        log_loss=fields.number("log_loss"),
        counted=fields.whole("counted"),
        seconds=fields.number("seconds"),
    )
