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

from hornbeam.clauses import Clause, atoms_of, canonical
from hornbeam.database import Codes
from hornbeam.engines.contract import Column, Counts, Engine
from hornbeam.engines.parts import count_all
from hornbeam.errors import plural
from hornbeam.markup import element, notebook_table, number_text, signed_text
from hornbeam.schema import Schema
from hornbeam.sentences import sentence, text_of

Floats = npt.NDArray[np.float64]
COUNT = "count"
LOG = "log"
FEATURES = (COUNT, LOG)
"""What of a clause's counts a model may weigh."""
Table = (
    tuple[str | Sequence[str], Sequence[str]]
    | tuple[str | Sequence[str], Sequence[str], str | None]
    | tuple[str | Sequence[str], Sequence[str], str | None, str | None]
)
"""A table of a database: its name, or the parts of its name, and its columns."""


@dataclass(frozen=True, slots=True)
class WeightedClause:
    """A clause, its weight vector ``[w0, w1, w2]``, its total on the training data, and its feature.

    The feature says what of the counts is weighted: the ``count`` itself, or its ``log``, which is
    ln(1 + count): the hundredth grounding then says less than the first.
    """

    clause: Clause
    weights: tuple[float, float, float]
    total: int
    feature: str = COUNT

    def contribution(self, true: Column, total: int) -> Floats:
        """``(w0 + w1*t) + w2*f`` for each example, t and f read by the feature."""
        w0, w1, w2 = self.weights
        t = feature_of(true.astype(np.float64), self.feature)
        return (w0 + w1 * t) + w2 * feature_of(false_counts(true, total), self.feature)

    def rises(self) -> bool | None:
        """Whether the first true grounding makes the head likelier; None where it makes no difference."""
        none, one = self.contribution(np.array([0, 1]), max(self.total, 1)).tolist()
        return None if none == one else one > none

    def __str__(self) -> str:
        weights = ", ".join(format(weight, ".6g") for weight in self.weights)
        return f"[{weights}]{'' if self.feature == COUNT else f' {self.feature}'} : {self.clause}"


def feature_of(counts: Floats, feature: str) -> Floats:
    """What is weighted of some counts; other data may have more true counts than the total of training."""
    return np.log1p(np.maximum(counts, 0.0)) if feature == LOG else counts


def false_counts(true: Column, total: int) -> Floats:
    """``total - true`` as floats, each the nearest to the exact integer."""
    if total < 2**63:
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
                    text_of(sentence(weighted.clause, self.schema, weighted.rises())),
                ],
            )
            for weighted in self.clauses
        ]
        title = f"{self.size_text} of {self.target}, prior {signed_text(self.prior)}"
        return notebook_table(title, ("bias", "true", "false", "reading", "clause"), rows, 3)

    @property
    def populations(self) -> str:
        """Where totals come from: the data at hand (``database``), or the training data."""
        return "database" if self.settings.get("populations") == "database" else "training"

    @property
    def size_text(self) -> str:
        return plural(len(self.clauses), "clause")

    def predicates(self) -> tuple[str, ...]:
        """The predicates that the bodies use, sorted."""
        return tuple(sorted({atom.predicate for w in self.clauses for atom in atoms_of(w.clause.body)}))

    def counts(self, engine: Engine, keys: Codes) -> list[Counts]:
        """True counts and the total that the model uses, for each of its clauses."""
        found = count_all(engine, [weighted.clause for weighted in self.clauses], keys)
        if self.populations == "database":
            return found
        return [Counts(counts.true, w.total) for w, counts in zip(self.clauses, found, strict=True)]

    def scores(self, engine: Engine, keys: Codes) -> Floats:
        """The log-odds of each example, clause by clause in model order."""
        result = np.full(len(keys), self.prior, dtype=np.float64)
        for contribution in self.contributions(engine, keys):
            result += contribution
        return result

    def contributions(self, engine: Engine, keys: Codes) -> Iterator[Floats]:
        """What each clause adds to the log-odds of each example, in model order."""
        for weighted, counts in zip(self.clauses, self.counts(engine, keys), strict=True):
            yield weighted.contribution(counts.true, counts.total)

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
        from hornbeam.engines.sql import SqlTable
        from hornbeam.engines.sql_export import Scoring, Weighted, scoring_query

        of_training = self.populations == "training"
        times = self.settings.get("times")
        clauses = [
            Weighted(
                weighted.clause,
                weighted.weights,
                weighted.total if of_training else None,
                logarithm=weighted.feature == LOG,
            )
            for weighted in self.compact().clauses
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
        weights: dict[tuple[Clause, int, str], list[tuple[float, float, float]]] = {}
        for weighted in self.clauses:
            place = (canonical(weighted.clause), weighted.total, weighted.feature)
            weights.setdefault(place, []).append(weighted.weights)
        merged = tuple(
            WeightedClause(clause, _added(parts), total, feature)
            for (clause, total, feature), parts in weights.items()
        )
        return replace(self, clauses=merged)


def _added(parts: list[tuple[float, float, float]]) -> tuple[float, float, float]:
    w0, w1, w2 = (math.fsum(column) for column in zip(*parts, strict=True))
    return w0, w1, w2
