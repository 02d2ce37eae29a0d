"""Fitting the surroundings model: which constants and links it has, and what it says of training examples.

Its weights are one softmax under a ridge penalty, chosen by cross-validation: the penalty, and how much
each distance counts: all alike, or mostly the far ones, whose means over many things are steadier if labels
are few. A distance that counts more has a smaller penalty. Few examples with many constants are replaced by
as many columns as there are examples, with the same products of rows: the weights are the same, in less
time.

Each fold has a model that was learned without it: its scores are the held-out ones, and in the world in
which a fold is predicted it scores all things without labels too, because their words are those of
neighbours, and tell the labels that it knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hornbeam.data.database import Database
from hornbeam.data.numbers import Floats
from hornbeam.joint.fitting.separate import Part
from hornbeam.joint.fitting.terms import numbered, offered
from hornbeam.joint.neighbours import Link, Sparse, chain_of, own_scores
from hornbeam.joint.surroundings import (
    DISTANCES,
    STEPS_OF_MEANS,
    ConstantSource,
    Surroundings,
    WeightList,
    chances_of,
    constant_matrix,
    is_source,
    mean_matrix,
)
from hornbeam.joint.things import JointTarget, Things
from hornbeam.learning.effects.examples.bagging import FOLDS
from hornbeam.learning.effects.links import CATEGORY, THING, PathFinder, Vocabulary
from hornbeam.learning.losses.newton import Stopping, conjugate_gradients, minimise
from hornbeam.learning.losses.softmax import LabelDesign, fit_softmax, log_softmax
from hornbeam.logic.clauses import Atom, Clause, head_atom
from hornbeam.logic.effects import is_clause

SHAPES = ((1.0, 1.0, 1.0, 1.0), (0.1, 0.1, 1.0, 1.0), (0.0, 0.0, 0.0, 1.0))
"""How much each distance counts; with many examples only the first."""
PENALTIES = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
"""Tried one after the other, until the held-out loss rises."""
MOST_EXAMPLES = 3_000
"""With more examples, their constants are not replaced."""
DENSE = 0.4
"""With a larger part of values that are not 0, all values are stored."""
STOPPING = Stopping(rounds=50, shortest=1e-6)
CLOSE = 1e-8
"""A fit ends when the gradient is at most this times the penalty: no weight is further from its optimum."""
ROUGH = 1e-2
"""The same while shapes and penalties are compared."""
MOST_TURNS = 500
"""Maximum number of iterations of conjugate gradients in a Newton step."""
_COLUMNS = 2_000
_LEAST = 1e-9
"""This part of the mean square of a row is added to each, so that equal rows differ."""


class RidgeTask(NamedTuple):
    """The values of constants for examples, by distance, and the labels and folds of the examples."""

    target: JointTarget
    blocks: tuple[Sparse, ...]
    labels: npt.NDArray[np.int64]
    folds: npt.NDArray[np.int64]


class RidgeWeights(NamedTuple):
    """Biases, and for each distance the weights of all constants: a row for each."""

    bias: Floats
    weights: tuple[Floats, ...]


class FittedRidge(NamedTuple):
    """The weights of all examples, and those without each fold."""

    every: RidgeWeights
    by_fold: tuple[RidgeWeights, ...]


def fit_ridge(task: RidgeTask) -> FittedRidge:
    """The weights with the shape and the penalty of the least held-out loss."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(1, user_api="blas"):
        best = min((_of_shape(task, form) for form in _forms(task.blocks)), key=lambda each: each.loss)
        whole = np.ones(len(task.labels), np.bool_)
        parts = [whole, *(task.folds != fold for fold in range(FOLDS))]
        starts = [best.by_fold[0], *best.by_fold]
        every, *by_fold = (
            best.form.unfolded(_minimised(task, best.form.values, part, best.penalty, start, CLOSE))
            for part, start in zip(parts, starts, strict=True)
        )
        return FittedRidge(every, tuple(by_fold))


class _ColumnWeights(NamedTuple):
    """Biases, and the weights of the columns of a form."""

    bias: Floats
    weights: Floats


class _Form(NamedTuple):
    """Examples as rows of numbers, and how the weights of constants follow from those of the columns."""

    values: Sparse | Floats
    by_distance: Callable[[Floats], list[Floats]]

    def unfolded(self, fitted: _ColumnWeights) -> RidgeWeights:
        return RidgeWeights(fitted.bias, tuple(self.by_distance(fitted.weights)))


def _forms(blocks: Sequence[Sparse]) -> Iterator[_Form]:
    n_examples, n_constants = blocks[0].shape
    if min(MOST_EXAMPLES, n_constants * len(DISTANCES)) < n_examples:
        values: Sparse = sparse.hstack(blocks).tocsr()
        if values.nnz > DENSE * n_examples * n_constants * len(blocks):
            values = values.toarray()
        yield _Form(values, lambda weights: np.split(weights, len(blocks)))
        return
    products = [_products(block) for block in blocks]
    for shape in SHAPES:
        yield _replaced(blocks, products, shape)


def _products(block: Sparse) -> Floats:
    """The products of all pairs of rows."""
    columns = block.tocsc()
    result: Floats = np.zeros((block.shape[0], block.shape[0]))
    for start in range(0, block.shape[1], _COLUMNS):
        part = columns[:, start : start + _COLUMNS].toarray()
        result += part @ part.T
    return result


def _replaced(blocks: Sequence[Sparse], products: Sequence[Floats], shape: Sequence[float]) -> _Form:
    """As many columns as examples: the Cholesky factor of the products of rows."""
    from scipy.linalg import cholesky, solve_triangular

    total = np.sum([part * of_pairs for part, of_pairs in zip(shape, products, strict=True)], axis=0)
    total[np.diag_indices(len(total))] += _LEAST * max(float(np.trace(total)) / len(total), _LEAST)
    factor = cholesky(total, lower=True)

    def by_distance(weights: Floats) -> list[Floats]:
        of_examples = solve_triangular(factor, weights, lower=True, trans="T")
        return [part * (block.T @ of_examples) for part, block in zip(shape, blocks, strict=True)]

    return _Form(factor, by_distance)


class _OfShape(NamedTuple):
    loss: float
    penalty: float
    form: _Form
    by_fold: list[_ColumnWeights]


def _of_shape(task: RidgeTask, form: _Form) -> _OfShape:
    """The penalty with the least held-out loss, and the weights without each fold."""
    best: _OfShape | None = None
    before: list[_ColumnWeights | None] = [None] * FOLDS
    for penalty in PENALTIES:
        by_fold = [
            _minimised(task, form.values, task.folds != fold, penalty, before[fold], ROUGH)
            for fold in range(FOLDS)
        ]
        loss = _held_out_loss(task, form.values, by_fold)
        if best is not None and loss >= best.loss:
            break
        best = _OfShape(loss, penalty, form, by_fold)
        before = list(by_fold)
    assert best is not None
    return best


def _held_out_loss(task: RidgeTask, values: Sparse | Floats, by_fold: Sequence[_ColumnWeights]) -> float:
    """The held-out loss, with one weight of all scores: it is fitted again beside neighbours."""
    rows = task.folds >= 0
    scores: Floats = np.zeros((len(task.labels), task.target.columns))
    for fold, each in enumerate(by_fold):
        inside = task.folds == fold
        scores[inside] = values[inside] @ each.weights + each.bias
    logs = np.log(chances_of(task.target, scores[rows]))
    fixed = logs if task.target.classes else np.column_stack([np.zeros(len(logs)), logs[:, 1] - logs[:, 0]])
    one = LabelDesign(fixed, fixed[:, -task.target.columns :, None], task.labels[rows])
    return float(one.losses(fit_softmax(one, np.ones(1))).mean())


def _minimised(
    task: RidgeTask,
    every_row: Sparse | Floats,
    rows: npt.NDArray[np.bool_],
    penalty: float,
    start: _ColumnWeights | None,
    close: float,
) -> _ColumnWeights:
    """The weights with the least sum of log-losses and half the penalty times the squared weights.

    Labels count as often as among all examples: of few examples, those without a fold have other shares of
    labels, and the biases would speak against the labels of the fold.
    """
    values, labels, free = every_row[rows], task.labels[rows], task.target.columns
    every, inside = (np.bincount(each, minlength=task.target.size) for each in (task.labels, labels))
    counts = (every / np.maximum(inside, 1))[labels][:, None]
    begin = np.zeros(free * (1 + values.shape[1]))
    if start is not None:
        begin = np.concatenate([start.bias, start.weights.ravel()])
    flat = minimise(_RidgeLoss(values, labels, counts, task.target, penalty, close), begin, STOPPING)
    return _ColumnWeights(flat[:free], flat[free:].reshape(-1, free))


class _RidgeLoss:
    """The penalised loss of biases and weights of columns, one after the other in a vector."""

    def __init__(
        self,
        values: Sparse | Floats,
        labels: npt.NDArray[np.int64],
        counts: Floats,
        target: JointTarget,
        penalty: float,
        close: float,
    ) -> None:
        self.values, self.counts, self.penalty, self.close = values, counts, penalty, close
        self.free, self.first = target.columns, target.size - target.columns
        turned: Sparse = values.T
        self.turned = turned.tocsr() if sparse.issparse(turned) else turned
        self.wanted: Floats = np.zeros((len(labels), target.size))
        self.wanted[np.arange(len(labels)), labels] = 1.0
        self.first_length = 0.0

    def scores(self, weights: Floats) -> Floats:
        added: Floats = self.values @ self._of_columns(weights) + weights[: self.free]
        return np.column_stack([np.zeros((len(added), self.first)), added])

    def loss(self, weights: Floats, scores: Floats) -> float:
        squares = float((self._of_columns(weights) ** 2).sum())
        return 0.5 * self.penalty * squares - float((self.counts * self.wanted * log_softmax(scores)).sum())

    def direction(self, weights: Floats, scores: Floats) -> Floats | None:
        chances = np.exp(log_softmax(scores))
        gradient = self._gradient(self.counts * (self.wanted - chances), -weights)
        length = float(np.sqrt((gradient * gradient).sum()))
        if length <= self.close * self.penalty:
            return None
        self.first_length = self.first_length or length
        free = chances[:, self.first :]

        def curvature_times(vector: Floats) -> Floats:
            moved = free * self.scores(vector)[:, self.first :]
            return self._gradient(self.counts * (moved - free * moved.sum(axis=1, keepdims=True)), vector)

        residue = min(0.1, length / self.first_length)
        return conjugate_gradients(curvature_times, gradient, residue, MOST_TURNS)

    def _of_columns(self, weights: Floats) -> Floats:
        return weights[self.free :].reshape(-1, self.free)

    def _gradient(self, of_scores: Floats, weights: Floats) -> Floats:
        """What changes of scores, and the penalty, are for biases and weights."""
        inner = of_scores[:, -self.free :]
        of_weights = self.turned @ inner + self.penalty * self._of_columns(weights)
        return np.concatenate([inner.sum(axis=0), of_weights.ravel()])


FEWEST = 20
"""With fewer training examples there is no surroundings model."""
FEWEST_THINGS = 2
"""A constant that fewer things have tells nothing about others."""
MOST_CONSTANTS = 20_000
MOST_CELLS = 30_000_000
"""With more values of constants at any distance, constants that fewer things have are left out."""
DIGITS = 6


@dataclass(frozen=True, eq=False)
class FittedSurroundings:
    """A surroundings model, and the target in training with its held-out scores."""

    model: Surroundings
    part: Part


def fit_surroundings(database: Database, part: Part) -> FittedSurroundings | None:
    """The surroundings model of a target; None if its things have no constants or no links."""
    things = part.things
    rows = np.flatnonzero(things.known)
    if things.keys.shape[1] != 1 or len(rows) < FEWEST or not (part.folds >= 0).any():
        return None
    links = tuple(_links(database, things.target))
    found = [_frequent(database, source, things) for source in _sources(database, things.target)]
    lists = [each for each in found if each.names]
    if not links or not lists:
        return None
    means, is_linked = mean_matrix(database, links, things)
    while (blocks := _blocks(means, sparse.hstack([each.values for each in lists]).tocsr(), rows)) is None:
        lists = [each.fewer() for each in lists]
    fitted = fit_ridge(RidgeTask(things.target, blocks, things.labels[rows], part.folds[rows]))
    sources = [(each.source, each.names) for each in lists]
    model = _model(links, sources, fitted.every)
    models = [_model(links, sources, each) for each in fitted.by_fold]
    return FittedSurroundings(model, _scored(database, part, model, models, is_linked))


def _blocks(means: Sparse, own: Sparse, rows: npt.NDArray[np.intp]) -> tuple[Sparse, ...] | None:
    """The values of constants for some things, by distance; None if they are too many."""
    blocks, values = [own[rows]], own
    for steps in np.diff(STEPS_OF_MEANS).tolist():
        for _ in range(steps):
            if _cells(means, values) > MOST_CELLS:
                return None
            values = (means @ values).tocsr()
        blocks.append(values[rows])
    return tuple(blocks)


def _cells(means: Sparse, values: Sparse) -> int:
    """At most how many values constants have in the means."""
    ends = np.concatenate([[0], np.cumsum(np.diff(values.indptr)[means.indices])])
    by_row = ends[means.indptr[1:]] - ends[means.indptr[:-1]]
    return int(np.minimum(by_row, values.shape[1]).sum())


def _scored(
    database: Database,
    part: Part,
    model: Surroundings,
    models: Sequence[Surroundings],
    is_linked: npt.NDArray[np.bool_],
) -> Part:
    """The target in training with the scores of the surroundings model."""
    things = part.things
    every = model.around(database, things).chances
    of_folds = [each.around(database, things).chances for each in models]
    held = every.copy()
    for fold, chances in enumerate(of_folds):
        held[part.folds == fold] = chances[part.folds == fold]
    by_fold = []
    for chances in of_folds:
        without = np.where((part.folds >= 0)[:, None], held, chances)
        by_fold.append(own_scores(things.target, part.own.chances, without, is_linked))
    own = own_scores(things.target, part.own.chances, held, is_linked)
    return replace(part, own=own, by_fold=tuple(by_fold))


# --- constants and links ---------------------------------------------------------------------


def _links(database: Database, target: JointTarget) -> Iterator[Clause]:
    """The links that lead from a thing directly to others of its type."""
    for each in offered(database, target, [target], 1):
        chain = chain_of(each.clause)
        assert chain is not None
        if chain.links and all(_to_one(database, link) for link in chain.links[1:]):
            yield each.clause


def _to_one(database: Database, link: Link) -> bool:
    """Whether it leads to one thing at most, as a row of a table of links leads to one paper."""
    entered = database.relation(link.predicate).columns[link.enter]
    return len(np.unique(entered)) == len(entered)


def _sources(database: Database, target: JointTarget) -> Iterator[ConstantSource]:
    """Where constants of things stand: at most one link to many away, and not through other such things."""
    types = database.schema.types_of(target.name)
    head = head_atom(target.name, len(types))
    finder = PathFinder(Vocabulary(database, target.name), head, {}, 1)
    seen: set[ConstantSource] = set()
    for path in finder.paths():
        if path.meets or path.general:
            continue
        for attribute in path.attributes:
            body = (*path.body, *attribute.steps)
            if attribute.kind not in (CATEGORY, THING) or not body or not is_clause(body):
                continue
            atoms = tuple(step for step in body if isinstance(step, Atom))
            others = {
                (term, kind)
                for atom in atoms
                for term, kind in zip(atom.args, database.schema.types_of(atom.predicate), strict=True)
                if term not in head.args
            }
            variable = attribute.node.variable
            if any(kind in types for _, kind in others) or variable not in atoms[-1].args:
                continue
            source = ConstantSource(numbered(head, atoms), atoms[-1].args.index(variable))
            if is_source(*source) and source not in seen:
                seen.add(source)
                yield source


class _Constants(NamedTuple):
    """Constants of a source, and how often each thing has each."""

    source: ConstantSource
    names: tuple[str, ...]
    values: Sparse

    def fewer(self) -> _Constants:
        """The half that most things have."""
        kept = _most_frequent(self.values, len(self.names) // 2)
        return _Constants(self.source, tuple(self.names[place] for place in kept), self.values[:, kept])


def _most_frequent(values: Sparse, most: int) -> npt.NDArray[np.intp]:
    """The columns that most things share, in their order; none that a single thing has."""
    numbers = np.bincount(values.indices, minlength=values.shape[1])
    columns = np.argsort(-numbers, kind="stable")[:most]
    return np.sort(columns[numbers[columns] >= FEWEST_THINGS])


def _frequent(database: Database, source: ConstantSource, things: Things) -> _Constants:
    """The constants of a source that most things share."""
    values = constant_matrix(database, source, things)
    codes = _most_frequent(values, MOST_CONSTANTS)
    predicate, place = source.type_place
    names = database.population(database.schema.types_of(predicate)[place]).decode(codes.astype(np.int32))
    return _Constants(source, tuple(names), values[:, codes])


# --- the model -------------------------------------------------------------------------------


def _model(
    links: tuple[Clause, ...],
    sources: Sequence[tuple[ConstantSource, tuple[str, ...]]],
    fitted: RidgeWeights,
) -> Surroundings:
    cuts = np.cumsum([len(names) for _, names in sources])[:-1]
    by_list = [np.split(np.round(each, DIGITS), cuts) for each in fitted.weights]
    lists = []
    for number, (source, names) in enumerate(sources):
        weights = tuple(tuple(map(tuple, each[number].tolist())) for each in by_list)
        lists.append(WeightList(source, names, weights))
    return Surroundings(links, tuple(np.round(fitted.bias, DIGITS).tolist()), tuple(lists))
