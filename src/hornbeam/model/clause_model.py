"""What was learned: weighted clauses as data, and the probabilities they give.

A model knows nothing of gradients or search. It is text and numbers: predicates and constants by
name, with the schema it was learned under.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes
from hornbeam.drawing.markup import element, notebook_table, number_text, signed_text
from hornbeam.engines.contract import Column, Counts, Engine
from hornbeam.engines.count import count_all
from hornbeam.engines.guarded import count_guarded
from hornbeam.errors import LimitError, plural
from hornbeam.logic.canonical import canonical, with_constant
from hornbeam.logic.clauses import Clause, atoms_of
from hornbeam.logic.english import sentence, text_of
from hornbeam.logic.guards import GUARDED, guard_of
from hornbeam.logic.schema import Schema
from hornbeam.logic.text import format_constant, variable_name
from hornbeam.model.features import COUNT, SHARE, bound_of, read, shares

Floats = npt.NDArray[np.float64]
SHOWN = 5
"""Constants of a clause whose weights are shown in a line."""
AT_A_TIME = 256
"""Clauses counted together where a clause has many constants."""
Table = (
    tuple[str | Sequence[str], Sequence[str]]
    | tuple[str | Sequence[str], Sequence[str], str | None]
    | tuple[str | Sequence[str], Sequence[str], str | None, str | None]
)
"""A table of a database: its name, or the parts of its name, and its columns."""


@dataclass(frozen=True, slots=True)
class WeightedClause:
    """A clause, its weight vector ``[w0, w1, w2]``, its total on the training data, and its feature.

    The feature says what of the counts is weighted (see ``readings``): the ``count`` itself, or
    another reading of it. In a model with guarded false counts the total is that of the variables which
    the last literal alone has, and it is multiplied by the counts of the guard. Where constants of one
    variable have weights of their own, ``each`` is that variable, and t is the sum of these weights times
    the readings of the counts of each.
    """

    clause: Clause
    weights: tuple[float, float, float]
    total: int
    feature: str = COUNT
    each: int | None = None
    constants: tuple[tuple[str, float], ...] = ()

    def contribution(self, true: Column, total: int | Column) -> Floats:
        """``(w0 + w1*t) + w2*f`` for each example, t and f read by the feature.

        The total is one for all examples or, inside a guard, one for each.
        """
        w0, w1, w2 = self.weights
        if self.feature == SHARE:
            return w0 + w1 * shares(true, np.broadcast_to(total, true.shape))
        t = read(true.astype(np.float64), self.feature)
        return (w0 + w1 * t) + w2 * read(false_counts(true, total), self.feature)

    def rises(self) -> bool | None:
        """Whether enough true groundings make the head likelier; None where that depends, or is no matter."""
        if self.each is not None:
            return None
        if self.feature == SHARE:
            return None if self.weights[1] == 0 else self.weights[1] > 0
        enough = bound_of(self.feature) or 1
        none, one = self.contribution(np.array([0, enough]), max(self.total, enough)).tolist()
        return None if none == one else one > none

    @property
    def weighs_false(self) -> bool:
        """Whether what it adds hangs on false counts."""
        return self.feature == SHARE or self.weights[2] != 0.0

    def __str__(self) -> str:
        weights = ", ".join(format(weight, ".6g") for weight in self.weights)
        said = "" if self.feature == COUNT else f" {self.feature}"
        if self.each is None:
            return f"[{weights}]{said} : {self.clause}"
        shown = ", ".join(f"{weight:+.3g} {format_constant(name)}" for name, weight in self.strongest(SHOWN))
        rest = len(self.constants) - SHOWN
        more = f", and {rest:,} more" if rest > 0 else ""
        return f"[{variable_name(self.each)}: {shown}{more}]{said} : {self.clause}"

    def strongest(self, number: int) -> list[tuple[str, float]]:
        """The constants whose weights are greatest, by size, with their weights."""
        return sorted(self.constants, key=lambda entry: (-abs(entry[1]), entry[0]))[:number]

    def parts(self) -> list[WeightedClause]:
        """The same as clauses with one weight each: a clause for each constant that has one."""
        if self.each is None:
            return [self]
        return [
            WeightedClause(with_constant(self.clause, self.each, name), (0.0, weight, 0.0), 1, self.feature)
            for name, weight in self.constants
        ]


def false_counts(true: Column, total: int | Column) -> Floats:
    """``total - true`` as floats, each the nearest to the exact integer."""
    if not isinstance(total, int) or total < 2**63:
        return (total - true.astype(np.int64)).astype(np.float64)
    values, inverse = np.unique(true, return_inverse=True)
    exact = np.array([float(total - int(value)) for value in values], dtype=np.float64)
    return exact[inverse.ravel()]


def sigmoid(scores: Floats) -> Floats:
    """1 / (1 + exp(-score)), without overflow."""
    small = np.exp(-np.abs(scores))
    return np.where(scores >= 0, 1.0, small) / (1.0 + small)


@dataclass(frozen=True)
class Model:
    """A target's prior and weighted clauses: ``P = sigmoid(prior + sum of contributions)``."""

    target: str
    schema: Schema
    prior: float
    clauses: tuple[WeightedClause, ...]
    settings: Mapping[str, object] = field(default_factory=dict)
    learner: str = "rlr"

    def __str__(self) -> str:
        lines = [f"prior {self.prior:.6g}", *map(str, self.clauses)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [
            (
                *(number_text(weight) for weight in weighted.weights),
                "" if weighted.feature == COUNT else weighted.feature,
                [
                    element("code", str(weighted.clause)),
                    element("br"),
                    text_of(self._sentence(weighted)),
                ],
            )
            for weighted in self.clauses
        ]
        title = f"{self.size_text} of {self.target}, prior {signed_text(self.prior)}"
        return notebook_table(title, ("bias", "true", "false", "reading", "clause"), rows, 3)

    def _sentence(self, weighted: WeightedClause) -> Sequence[str | int]:
        share = weighted.feature == SHARE
        return sentence(weighted.clause, self.schema, weighted.rises(), share=share)

    @property
    def populations(self) -> str:
        """Where totals come from: the data at hand (``database``), or the training data."""
        return "database" if self.settings.get("populations") == "database" else "training"

    @property
    def guarded(self) -> bool:
        """Whether false counts are those inside each clause's guard."""
        return self.settings.get("false_counts") == GUARDED

    @property
    def size_text(self) -> str:
        return plural(len(self.clauses), "clause")

    def predicates(self) -> tuple[str, ...]:
        """The predicates that the bodies use, sorted."""
        return tuple(sorted({atom.predicate for w in self.clauses for atom in atoms_of(w.clause.body)}))

    def counts(self, engine: Engine, keys: Codes) -> list[Counts]:
        """True counts and the total that the model uses, for each of its clauses.

        False counts are left out where a guard cannot be counted that no weight asks for.
        """
        try:
            return self._counts(self.clauses, self.guarded, engine, keys)
        except LimitError:
            if not self.guarded:
                raise
        return [self._counts_of(weighted, engine, keys) for weighted in self.clauses]

    def _counts_of(self, weighted: WeightedClause, engine: Engine, keys: Codes) -> Counts:
        try:
            (found,) = self._counts([weighted], True, engine, keys)
        except LimitError:
            if weighted.weighs_false:
                raise
            (found,) = self._counts([weighted], False, engine, keys)
            return replace(found, false_known=False)
        return found

    def _counts(
        self, clauses: Sequence[WeightedClause], guarded: bool, engine: Engine, keys: Codes
    ) -> list[Counts]:
        """Counts of some clauses, with false counts inside their guards or in the population."""
        if not clauses:
            return []
        bodies = [weighted.clause for weighted in clauses]
        totals = None if self.populations == "database" else [weighted.total for weighted in clauses]
        if guarded:
            return count_guarded(engine, bodies, keys, totals)
        found = count_all(engine, bodies, keys)
        if totals is None:
            return found
        return [Counts(counts.true, total) for counts, total in zip(found, totals, strict=True)]

    def scores(self, engine: Engine, keys: Codes) -> Floats:
        """The log-odds of each example, clause by clause in model order."""
        result = np.full(len(keys), self.prior, dtype=np.float64)
        for contribution in self.contributions(engine, keys):
            result += contribution
        return result

    def contributions(self, engine: Engine, keys: Codes) -> Iterator[Floats]:
        """What each clause adds to the log-odds of each example, in model order."""
        plain = [weighted for weighted in self.clauses if weighted.each is None]
        # Where no false count is weighed, no guard need be counted.
        within = [weighted for weighted in plain if self.guarded and weighted.weighs_false]
        others = [weighted for weighted in plain if weighted not in within]
        counted: dict[WeightedClause, Counts] = {}
        for some, guarded in ((within, True), (others, False)):
            counted |= dict(zip(some, self._counts(some, guarded, engine, keys), strict=True))
        for weighted in self.clauses:
            if weighted.each is None:
                found = counted[weighted]
                yield weighted.contribution(found.true, found.totals)
            else:
                yield _of_constants(weighted, engine, keys)

    def probabilities(self, engine: Engine, keys: Codes) -> Floats:
        """P(y=1) of each example."""
        return sigmoid(self.scores(engine, keys))

    def sql(
        self,
        dialect: str = "duckdb",
        tables: Mapping[str, Table] | None = None,
        examples: Table | None = None,
    ) -> str:
        """One query that scores a table of examples where the data are, in a dialect of SQL.

        ``tables`` says where the facts of a predicate are: the table's name and its column for each
        argument, such as ``{"friends": ("social.friends", ["who", "whom"])}``, and where rows are facts
        only if a flag is set, or since some time, the columns of these: ``("visits", ["who", "shop"],
        None, "day")``. A name with a dot in it is given as its parts. Without it they are in a table
        named as the predicate, with the columns ``arg1 arg2 ...``; examples likewise in ``examples``,
        whose time is their cut-off.
        """
        from hornbeam.engines.export.features import is_join
        from hornbeam.engines.export.scoring import Scoring, Weighted, scoring_query
        from hornbeam.engines.sql.expressions import SqlTable

        of_training = self.populations == "training"
        times = self.settings.get("times")
        clauses = [
            Weighted(
                part.clause,
                part.weights,
                part.total if of_training else None,
                part.feature,
                part.each,
                part.constants,
                guard_of(part.clause) if self.guarded and len(part.clause.body) > 1 else None,
            )
            for weighted in self.compact().clauses
            # Weights of constants are one join, or else a clause for each.
            for part in ([weighted] if weighted.constants and is_join(weighted.clause) else weighted.parts())
        ]
        return scoring_query(
            Scoring(self.target, self.schema, self.prior, clauses, cast("str | None", times)),
            dialect,
            {name: SqlTable.of(*table) for name, table in (tables or {}).items()},
            None if examples is None else SqlTable.of(*examples),
        )

    def compact(self) -> Model:
        """The same model with each body once: the weights of repeated bodies are added.

        A clause stands where it first stood. Predictions stay the same to 1e-12.
        """
        alike: dict[WeightedClause, list[WeightedClause]] = {}
        for weighted in self.clauses:
            kept = weighted.each is not None or self.guarded
            clause = weighted.clause if kept else canonical(weighted.clause)
            place = replace(weighted, clause=clause, weights=(0.0, 0.0, 0.0))
            alike.setdefault(place, []).append(weighted)
        merged = tuple(
            replace(
                place,
                weights=_added([each.weights for each in members]),
                constants=tuple((name, weight * len(members)) for name, weight in place.constants),
            )
            for place, members in alike.items()
        )
        return replace(self, clauses=merged)


def _of_constants(weighted: WeightedClause, engine: Engine, keys: Codes) -> Floats:
    """What the constants of a clause add together, counted some at a time."""
    result = np.zeros(len(keys))
    parts = weighted.parts()
    for at in range(0, len(parts), AT_A_TIME):
        some = parts[at : at + AT_A_TIME]
        for part, counts in zip(some, count_all(engine, [each.clause for each in some], keys), strict=True):
            result += part.weights[1] * read(counts.true.astype(np.float64), part.feature)
    return result


def _added(parts: list[tuple[float, float, float]]) -> tuple[float, float, float]:
    w0, w1, w2 = (math.fsum(column) for column in zip(*parts, strict=True))
    return w0, w1, w2
