"""Weights per constant: which films a person rated can matter more than how many.

All constants that paths of at most one link reach, and the example's own categories, get weights together, by
logistic regression under one ridge penalty. The penalty is chosen by cross-validation. Boosting starts from
scores that were fitted without the example (cross-fitting), so that memorised constants gain nothing. If the
scores do not predict held-out examples better than the base rate, by a standard error, there are no weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes
from hornbeam.data.sparse import Matrix, summed
from hornbeam.engines.contract import Engine
from hornbeam.engines.tally import Tally, TallyRequest
from hornbeam.learning.effects.paths import CATEGORY, THING, Path
from hornbeam.learning.losses.logistic import losses
from hornbeam.learning.losses.sparse import fit_sparse_weights
from hornbeam.learning.numbers import Floats, Labels, round_weight
from hornbeam.logic.clauses import Atom
from hornbeam.logic.effects import (
    DISTINCT,
    Body,
    Curve,
    Effect,
    Feature,
    clause_of,
    in_order_of_use,
    is_clause,
)
from hornbeam.model.clause_model import WeightedClause
from hornbeam.model.features import LOG

PENALTIES = (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0)
"""Penalties to try, from strong to weak."""
LEAST_EXAMPLES = 5
"""Minimum number of training examples that reach a constant with a weight."""
MOST_CONSTANTS = 5000
"""A variable with more constants gets no weights: they would only copy the data."""
MANY = 50
"""Weights per constant need a variable with at least this many constants; fewer are candidates one by one."""
FOLDS = 5


class Family(NamedTuple):
    """A body, the variable whose constants have weights, its type, and the columns of its constants."""

    body: Body
    variable: int
    type: str
    codes: Codes
    start: int


@dataclass(frozen=True, eq=False)
class ConstantWeights:
    """Weights per constant, and the cross-fitted score that they give each training example."""

    clauses: tuple[WeightedClause, ...]
    intercept: float
    crossed: Floats

    @property
    def mean(self) -> float:
        """What the weights add to an average training example."""
        return float(self.crossed.mean()) - self.intercept


def constant_weights(
    engine: Engine,
    head: Atom,
    paths: Sequence[Path],
    data: tuple[Codes, Labels],
    folds: npt.NDArray[np.int64],
) -> ConstantWeights | None:
    """The weights, or None if they predict no better than the base rate; ``data`` has keys and labels."""
    keys, labels = data
    families, matrix = _matrix(engine, head, paths, keys)
    if not families:
        return None
    best: tuple[float, Floats, float] | None = None
    base = _base(labels, folds)
    starts: dict[int, Floats | None] = {}
    for penalty in PENALTIES:
        crossed = np.zeros(len(labels))
        for fold in range(FOLDS):
            inside = np.flatnonzero(folds != fold)
            y = labels[inside].astype(np.float64)
            weights = fit_sparse_weights(matrix.take(inside), y, 1.0 - y, penalty, starts.get(fold))
            starts[fold] = weights
            outside = np.flatnonzero(folds == fold)
            crossed[outside] = matrix.take(outside) @ weights[:-1] + weights[-1]
        loss = float(losses(labels, crossed).mean())
        if best is None or loss < best[0]:
            best = loss, crossed, penalty
        else:
            break
    assert best is not None
    _, crossed, penalty = best
    gained = losses(labels, base) - losses(labels, crossed)
    if gained.mean() <= gained.std() / np.sqrt(len(labels)):
        return None
    y = labels.astype(np.float64)
    weights = fit_sparse_weights(matrix, y, 1.0 - y, penalty)
    return ConstantWeights(_clauses(engine, head, families, weights), float(weights[-1]), crossed)


def _base(labels: Labels, folds: npt.NDArray[np.int64]) -> Floats:
    """For each example, the log-odds of the base rate of the other folds."""
    result = np.zeros(len(labels))
    for fold in range(FOLDS):
        inside = labels[folds != fold]
        positive = float(inside.sum()) + 0.5
        result[folds == fold] = np.log(positive / (len(inside) + 1.0 - positive))
    return result


def _matrix(engine: Engine, head: Atom, paths: Sequence[Path], keys: Codes) -> tuple[list[Family], Matrix]:
    """ln(1 + count) of each constant for each example."""
    families: list[Family] = []
    rows, columns, entries, width = [], [], [], 0
    for body, node, type_name in _variables(paths):
        tally = engine.tally([TallyRequest(head, body, (node,))], keys)[0]
        if not isinstance(tally, Tally):
            continue
        codes, inverse, sizes = np.unique(tally.columns[0], return_inverse=True, return_counts=True)
        frequent = (sizes >= LEAST_EXAMPLES) & (codes >= 0)
        if not frequent.any() or frequent.sum() > MOST_CONSTANTS or frequent.sum() < 2:
            continue
        # By name, because the order of codes differs between engines, and sums of floats depend on it.
        kept = codes[frequent].astype(np.int32)
        order = np.argsort(np.array(engine.database.population(type_name).decode(kept), dtype=object))
        place = np.zeros(len(codes), dtype=np.int64)
        place[np.flatnonzero(frequent)[order]] = np.arange(len(order))
        keep = frequent[inverse.ravel()]
        families.append(Family(body, node, type_name, kept[order], width))
        rows.append(tally.row[keep])
        columns.append(width + place[inverse.ravel()[keep]])
        entries.append(np.log1p(tally.number[keep].astype(np.float64)))
        width += int(frequent.sum())
    if not any(len(family.codes) >= MANY for family in families):
        return [], Matrix(np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0), (0, 0))
    row, column, entry = (np.concatenate(each) for each in (rows, columns, entries))
    return families, summed(row, column, entry, (len(keys), width))


def _variables(paths: Sequence[Path]) -> list[tuple[Body, int, str]]:
    """The bodies and variables whose constants may have weights."""
    found = []
    for path in paths:
        if path.links > 1 or path.meets or not is_clause(path.body):
            continue
        for attribute in path.attributes:
            own = attribute.kind == THING and path.links == 1 and not attribute.steps
            category = attribute.kind == CATEGORY and is_clause(attribute.steps)
            if own or (category and (path.links == 0 or not attribute.steps)):
                found.append(((*path.body, *attribute.steps), attribute.node.variable, attribute.node.type))
    return found


def _clauses(
    engine: Engine, head: Atom, families: Sequence[Family], weights: Floats
) -> tuple[WeightedClause, ...]:
    clauses = []
    for family in families:
        names = engine.database.population(family.type).decode(family.codes)
        own = weights[family.start : family.start + len(names)].tolist()
        constants = tuple(
            sorted((name, round_weight(weight)) for name, weight in zip(names, own, strict=True))
        )
        # A file numbers variables by first use, and so must ``each``.
        effect = Effect(head, family.body, Feature(DISTINCT, family.variable), Curve((), (0.0,)))
        _, body, (_, each), _ = in_order_of_use(effect)
        clauses.append(WeightedClause(clause_of(head, body), (0.0, 0.0, 0.0), 0, LOG, each, constants))
    return tuple(clauses)
