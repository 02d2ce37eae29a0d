"""Fitting the surroundings model: which constants and links it has, and what it says of training examples.

Its weights are chosen by cross-validation on the training examples (``ridge``). Each fold has a model that
was learned without it: its scores are the held-out ones, and in the world in which a fold is predicted it
scores all things without labels too, because their words are those of neighbours, and tell the labels that it
knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hornbeam.data.database import Database
from hornbeam.joint.fitting.ridge import RidgeTask, RidgeWeights, fit_ridge
from hornbeam.joint.fitting.separate import Part
from hornbeam.joint.fitting.terms import numbered, offered
from hornbeam.joint.neighbours import own_scores
from hornbeam.joint.reach import Link, Sparse, chain_of
from hornbeam.joint.surroundings import (
    STEPS_OF_MEANS,
    ConstantSource,
    Surroundings,
    WeightList,
    constant_matrix,
    is_source,
    mean_matrix,
)
from hornbeam.joint.things import JointTarget, Things
from hornbeam.learning.effects.links import CATEGORY, THING, PathFinder, Vocabulary
from hornbeam.logic.clauses import Atom, Clause, head_atom
from hornbeam.logic.effects import is_clause

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
