"""Fitting the surroundings model: all weights of constants, for all labels, under one ridge penalty.

The penalty is chosen by cross-validation on the training examples. Each fold has a model that was learned
without it: its scores are the held-out ones, and in the world in which a fold is predicted it scores all
things without labels too, because their words are those of neighbours, and tell the labels that it knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hornbeam.data.database import Database
from hornbeam.data.numbers import Floats
from hornbeam.joint.fitting.separate import Part
from hornbeam.joint.fitting.terms import numbered, offered
from hornbeam.joint.neighbours import own_scores
from hornbeam.joint.reach import Sparse
from hornbeam.joint.surroundings import (
    DISTANCES,
    ConstantSource,
    Surroundings,
    WeightList,
    chances_of,
    constant_matrix,
    is_source,
    mean_matrix,
)
from hornbeam.joint.things import JointTarget, Things
from hornbeam.learning.effects.bagging import FOLDS
from hornbeam.learning.effects.links.paths import CATEGORY, THING, PathFinder
from hornbeam.learning.effects.links.vocabulary import Vocabulary
from hornbeam.learning.losses.softmax import LabelDesign, fit_softmax, log_softmax
from hornbeam.logic.clauses import Atom, Clause, head_atom
from hornbeam.logic.effects import is_clause

PENALTIES = (30.0, 10.0, 3.0)
FEWEST = 20
"""With fewer training examples there is no surroundings model."""
FEWEST_THINGS = 2
"""A constant that fewer things have tells nothing about others."""
MOST_CONSTANTS = 20_000
MOST_CELLS = 50_000_000
"""With more values of constants for the training examples there is no surroundings model."""
DIGITS = 6
STEPS = 500


@dataclass(frozen=True, eq=False)
class FittedSurroundings:
    """A surroundings model, and the target in training with its held-out scores."""

    model: Surroundings
    part: Part


class _Design(NamedTuple):
    """The values of constants for all things, by distance: own, near and far, side by side."""

    target: JointTarget
    values: Sparse
    labels: npt.NDArray[np.int64]
    folds: npt.NDArray[np.int64]


def fit_surroundings(database: Database, part: Part) -> FittedSurroundings | None:
    """The surroundings model of a target; None if its things have no constants or no links."""
    things = part.things
    rows = np.flatnonzero(things.known)
    if things.keys.shape[1] != 1 or len(rows) < FEWEST or not (part.folds >= 0).any():
        return None
    links = tuple(_links(database, things.target))
    found = [(source, *_frequent(database, source, things)) for source in _sources(database, things.target)]
    lists = [(source, names, values) for source, names, values in found if names]
    if not links or not lists:
        return None
    means, is_linked = mean_matrix(database, links, things)
    near = means[rows]
    own = sparse.hstack([values for _, _, values in lists]).tocsr()
    if _cells(near @ means, own) > MOST_CELLS:
        return None
    blocks = [own[rows], near @ own, near @ means @ own]
    design = _Design(things.target, sparse.hstack(blocks).tocsr(), things.labels[rows], part.folds[rows])
    weights, by_fold = _fitted(design)
    sizes = [len(names) for _, names, _ in lists]
    sources = [(source, names) for source, names, _ in lists]
    model = _model(links, sources, sizes, weights)
    models = [_model(links, sources, sizes, each) for each in by_fold]
    return FittedSurroundings(model, _scored(database, part, model, models, is_linked))


def _cells(reached: Sparse, own: Sparse) -> int:
    """At most how many values the constants of things that are reached have."""
    return int(np.diff(own.indptr)[reached.indices].sum())


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
        if len(each.clause.body) == 2:
            yield each.clause


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


def _frequent(database: Database, source: ConstantSource, things: Things) -> tuple[tuple[str, ...], Sparse]:
    """The constants of a source that some things share, most of them at first; and their values."""
    values = constant_matrix(database, source, things)
    numbers = np.bincount(values.indices, minlength=values.shape[1])
    codes = np.argsort(-numbers, kind="stable")[:MOST_CONSTANTS]
    codes = np.sort(codes[numbers[codes] >= FEWEST_THINGS])
    predicate, place = source.type_place
    names = database.population(database.schema.types_of(predicate)[place]).decode(codes.astype(np.int32))
    return tuple(names), values[:, codes]


# --- weights ---------------------------------------------------------------------------------


class _Weights(NamedTuple):
    bias: Floats
    weights: Floats


def _fitted(design: _Design) -> tuple[_Weights, list[_Weights]]:
    """The weights with the penalty of the least held-out loss: of all examples, and without each fold."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(1, user_api="blas"):
        best: tuple[float, float, list[_Weights]] | None = None
        before: list[_Weights | None] = [None] * FOLDS
        for penalty in PENALTIES:
            by_fold = [_minimised(design, design.folds != n, penalty, before[n]) for n in range(FOLDS)]
            loss = _held_out_loss(design, by_fold)
            if best is None or loss < best[0]:
                best = (loss, penalty, by_fold)
            before = list(by_fold)
        assert best is not None
        _, penalty, by_fold = best
        return _minimised(design, np.ones(len(design.labels), np.bool_), penalty, by_fold[0]), by_fold


def _held_out_loss(design: _Design, by_fold: Sequence[_Weights]) -> float:
    """The held-out loss, with one weight of all scores: it is fitted again beside neighbours."""
    rows = design.folds >= 0
    scores: Floats = np.zeros((len(design.labels), design.target.columns))
    for fold, each in enumerate(by_fold):
        inside = design.folds == fold
        scores[inside] = design.values[inside] @ each.weights + each.bias
    logs = np.log(chances_of(design.target, scores[rows]))
    fixed = logs if design.target.classes else np.column_stack([np.zeros(len(logs)), logs[:, 1] - logs[:, 0]])
    one = LabelDesign(fixed, fixed[:, -design.target.columns :, None], design.labels[rows])
    return float(one.losses(fit_softmax(one, np.ones(1))).mean())


def _minimised(
    design: _Design, rows: npt.NDArray[np.bool_], penalty: float, start: _Weights | None
) -> _Weights:
    """The weights with the least sum of log-losses and half the penalty times the squared weights.

    Labels count as often as among all examples: of few examples, those without a fold have other shares of
    labels, and the biases would speak against the labels of the fold.
    """
    from scipy.optimize import minimize

    values, labels, free = design.values[rows], design.labels[rows], design.target.columns
    first = design.target.size - free
    turned = values.T.tocsr()
    wanted: Floats = np.zeros((len(labels), design.target.size))
    wanted[np.arange(len(labels)), labels] = 1.0
    every, inside = (np.bincount(each, minlength=design.target.size) for each in (design.labels, labels))
    counts = (every / np.maximum(inside, 1))[labels][:, None]

    def loss(flat: Floats) -> tuple[float, Floats]:
        bias, weights = flat[:free], flat[free:].reshape(-1, free)
        added = values @ weights + bias
        logs = log_softmax(np.column_stack([np.zeros((len(added), first)), added]))
        wrong = (counts * (np.exp(logs) - wanted))[:, first:]
        gradient = np.concatenate([wrong.sum(axis=0), (turned @ wrong + penalty * weights).ravel()])
        return float(0.5 * penalty * (weights**2).sum() - (counts * wanted * logs).sum()), gradient

    begin = np.zeros(free * (1 + values.shape[1]))
    if start is not None:
        begin = np.concatenate([start.bias, start.weights.ravel()])
    options = {"maxiter": STEPS, "gtol": 1e-4, "ftol": 1e-10}
    flat = minimize(loss, begin, jac=True, method="L-BFGS-B", options=options).x
    return _Weights(flat[:free], flat[free:].reshape(-1, free))


def _model(
    links: tuple[Clause, ...],
    sources: Sequence[tuple[ConstantSource, tuple[str, ...]]],
    sizes: Sequence[int],
    fitted: _Weights,
) -> Surroundings:
    by_distance = np.split(np.round(fitted.weights, DIGITS), len(DISTANCES))
    cuts = np.cumsum(sizes)[:-1]
    by_list = [np.split(each, cuts) for each in by_distance]
    lists = []
    for number, (source, names) in enumerate(sources):
        weights = tuple(tuple(map(tuple, each[number].tolist())) for each in by_list)
        lists.append(WeightList(source, names, weights))
    return Surroundings(links, tuple(np.round(fitted.bias, DIGITS).tolist()), tuple(lists))
