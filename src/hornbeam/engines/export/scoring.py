"""Weighted clauses as one query that scores a table of examples, in any dialect.

The query reads the tables that hold the facts, under their own names; everything it makes is a
common table expression. Duplicate rows and rows with NULL are not facts. Constants are compared as
text, keys with each other as they are, numbers as DOUBLE and dates as TIMESTAMP.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import sqlglot
from sqlglot import exp

from hornbeam.engines.contract import INT64_MAX
from hornbeam.engines.export.features import double, join_of, read, share, sums_query, weights_query
from hornbeam.engines.export.user_tables import Names, QueryPart, UserFacts
from hornbeam.engines.sql.expressions import (
    EVERYTHING,
    Dialect,
    SqlTable,
    column,
    conjunction,
    cutoff_value,
    integer,
    own_column,
    own_table,
    product,
    real,
)
from hornbeam.engines.sql.messages import needed
from hornbeam.engines.sql.plan import (
    ComparisonRange,
    Formula,
    Guard,
    HeadBindings,
    SqlMessage,
    body_of,
    formula,
)
from hornbeam.engines.sql.queries import (
    MessageTable,
    Tables,
    counts_query,
    groundings_query,
    message_query,
    projection_query,
)
from hornbeam.errors import OptionError, SchemaError, did_you_mean
from hornbeam.logic.clauses import Clause, Comparison
from hornbeam.logic.guards import new_variables
from hornbeam.logic.schema import Schema
from hornbeam.logic.text import variable_name

LARGEST_SCORE = 700
"""exp of more overflows, and some systems refuse it; probabilities there are 0 or 1 to 1e-300."""


class Weighted(NamedTuple):
    """A clause, its weights ``[w0, w1, w2]``, and the total to use; None takes it from the data."""

    clause: Clause
    weights: tuple[float, float, float]
    total: int | None
    feature: str = "count"
    """what of the counts is weighted: ``count``, ``log`` for ln(1 + count), ``at least N`` or ``share``"""
    each: int | None = None
    """the variable whose constants have weights of their own, in place of ``weights``"""
    constants: tuple[tuple[str, float], ...] = ()
    guard: Clause | None = None
    """the clause whose groundings, times the total, are those that true and false counts add up to"""


@dataclass(frozen=True, slots=True)
class Scoring:
    """What a scoring query is made of."""

    target: str
    schema: Schema
    prior: float
    clauses: Sequence[Weighted]
    times: str | None = None
    """what the times of facts are, numbers or dates, where the model was learned from facts with times"""


def scoring_query(
    scoring: Scoring,
    dialect: str,
    tables: Mapping[str, SqlTable] | None = None,
    examples: SqlTable | None = None,
) -> str:
    """One query: a row per example with its keys, each clause's counts, the log-odds, the probability.

    In place of counts a clause with weights of constants has what these add up to.

    Without a mapping, facts are expected in a table named as the predicate, and examples in
    ``examples``, with columns ``arg1 arg2 ...``. The ``time`` of the examples is their cut-off: facts
    of tables that have a time then exist up to it.
    """
    known = _dialects()
    if dialect not in known:
        raise OptionError(f'no dialect "{dialect}". {did_you_mean(dialect, known, "Dialects")}')
    return _Export(scoring, Dialect(dialect, "BIGINT"), tables or {}, examples).text()


def _dialects() -> list[str]:
    return sorted(name for name in sqlglot.Dialect.classes if name)


def _arguments(number: int) -> tuple[str, ...]:
    return tuple(f"arg{position + 1}" for position in range(number))


class _Export:
    def __init__(
        self,
        scoring: Scoring,
        dialect: Dialect,
        tables: Mapping[str, SqlTable],
        examples: SqlTable | None,
    ) -> None:
        self._scoring = scoring
        self._dialect = dialect
        self._arity = scoring.schema.arity(scoring.target)
        self._examples = examples or SqlTable(("examples",), _arguments(self._arity))
        if len(self._examples.columns) != self._arity:
            raise SchemaError(
                f"the examples have {len(self._examples.columns)} key columns, but "
                f'"{scoring.target}" takes {self._arity}; name one column per argument.'
            )
        self._times = None
        if self._examples.time is not None:
            self._times = scoring.times
            if self._times is None:
                raise OptionError(
                    "the model was learned from facts without times, so its examples have no cut-off; "
                    "leave it out."
                )
        self._width = self._arity + (self._times is not None)
        predicates = scoring.schema.predicates
        defaults = {name: SqlTable((name,), _arguments(len(types))) for name, types in predicates.items()}
        self._names = Names([self._examples, *(defaults | dict(tables)).values()])
        self._facts = UserFacts(scoring.schema, defaults | dict(tables), self._names, self._times)
        if self._times is not None and not self._facts.timed():
            raise OptionError(
                "the examples have a cut-off, but no table has a time; name the column of each table's time."
            )
        if dialect.name == "sqlite" and (self._times is not None or _has_dates(scoring)):
            raise OptionError(
                "SQLite has no type for times, so it cannot compare dates and cut-offs; "
                "take another dialect (DuckDB reads SQLite's files)."
            )
        self._keys = self._names.take("example_keys")
        self._placed: dict[SqlMessage, MessageTable] = {}
        self._guards: dict[Guard, str] = {}
        self._sizes: dict[ComparisonRange, str] = {}
        self._sums_of: dict[int, tuple[str, tuple[int, ...]]] = {}
        """of a clause with weights of constants: the part with its sums, and the head variables there"""

    def text(self) -> str:
        """The whole query, each part after those that it reads."""
        timed = self._facts.timed()
        counted = [weighted for weighted in self._scoring.clauses if weighted.each is None]
        asked = [clause for each in counted for clause in (each.clause, each.guard) if clause is not None]
        plans = [formula(clause, self._scoring.schema, timed) for clause in asked]
        tables = Tables(self._placed, self._guards, None, self._population)
        messages = list(self._messages(plans, tables))
        keys = [f"k{number}" for number in range(self._width)]
        head = tuple(range(self._width))
        query = counts_query(self._facts, self._dialect, plans, head, self._keys, tables, keys)
        counts = QueryPart(self._names.take("clause_counts"), query)
        sums = list(self._sums(timed))
        features = QueryPart(self._names.take("clause_features"), self._features(counts.name))
        scores = QueryPart(self._names.take("example_scores"), self._scores(features.name))
        populations = [QueryPart(name, self._size(range_)) for range_, name in self._sizes.items()]
        examples = QueryPart(self._keys, self._key_columns())
        parts = [examples, *self._facts.parts(), *populations, *messages, counts, *sums, features, scores]
        query = self._result(scores.name)
        for name, part, comment in parts:
            if comment:
                part.add_comments([_comment(comment)])
            query = query.with_(name, as_=part, copy=False)
        return self._dialect.text(query, pretty=True) + "\n"

    def _key_columns(self) -> exp.Select:
        columns = self._examples.expressions("e")
        named = [exp.alias_(value, f"k{number}") for number, value in enumerate(columns)]
        if self._times is not None and self._examples.time is not None:
            # Whoever has no cut-off sees everything.
            given = cutoff_value(column(self._examples.time, "e"), self._times)
            everything = cutoff_value(EVERYTHING[self._times], self._times)
            cutoff = exp.Coalesce(this=given, expressions=[everything])
            named.append(exp.alias_(cutoff, f"k{self._arity}"))
        return exp.select(*named).from_(self._examples.expression("e"))

    def _messages(self, plans: Iterable[Formula], tables: Tables) -> Iterator[QueryPart]:
        for message in needed(plans):
            if message.is_relation:
                continue
            if message.shape.guard is not None:
                yield from self._guard(message.shape.guard)
            name = self._names.take(f"message_{len(self._placed) + 1}")
            query = message_query(self._facts, self._dialect, [message], tables)
            self._placed[message] = MessageTable(name, "n0")
            anchors = ", ".join(map(variable_name, range(message.shape.anchors)))
            body = ", ".join(map(str, body_of(message)))
            yield QueryPart(name, query, f"for each {anchors}: {body}" if anchors else body)

    def _guard(self, guard: Guard) -> Iterator[QueryPart]:
        if guard in self._guards:
            return
        if isinstance(guard, HeadBindings):
            named = [
                exp.alias_(own_column(f"k{variable}"), f"k{number}")
                for number, variable in enumerate(guard.head)
            ]
            query = exp.select(*named).distinct().from_(self._keys)
        else:
            if guard.of.guard is not None:
                yield from self._guard(guard.of.guard)
            query = projection_query(self._facts, guard, self._guards)
        self._guards[guard] = self._names.take(f"bindings_{len(self._guards) + 1}")
        yield QueryPart(self._guards[guard], query)

    def _sums(self, timed: frozenset[str]) -> Iterator[QueryPart]:
        """For each clause with weights of constants: its weights, and what they add up to."""
        for number, weighted in enumerate(self._scoring.clauses):
            if weighted.each is None:
                continue
            message, each = join_of(weighted.clause, weighted.each, timed)
            guard = message.shape.guard
            assert isinstance(guard, HeadBindings)
            yield from self._guard(guard)
            weights = self._names.take(f"weights_{number + 1}")
            yield QueryPart(weights, weights_query(weighted.constants, self._dialect))
            counts = groundings_query(self._facts, message, each, self._guards)
            query = sums_query(counts, len(guard.head), weights, weighted.feature)
            name = self._names.take(f"weighed_{number + 1}")
            self._sums_of[number] = name, guard.head
            said = f"a weight for each {variable_name(weighted.each)} of {weighted.clause}"
            yield QueryPart(name, query, said)

    # --- populations -----------------------------------------------------------------------------

    def _population(self, range_: ComparisonRange) -> exp.Expr:
        """The size of a type's population, or of a part of it, asked of the data."""
        if range_ not in self._sizes:
            self._sizes[range_] = self._names.take(f"population_{len(self._sizes) + 1}")
        return exp.select("n").from_(self._sizes[range_]).subquery()

    def _size(self, range_: ComparisonRange) -> exp.Select:
        """How many constants the facts and the examples have at arguments of a type."""
        type_name = range_.type
        parts = []
        for predicate, types in sorted(self._scoring.schema.predicates.items()):
            for position, own in enumerate(types):
                if own == type_name and predicate == self._scoring.target:
                    value = own_column(f"k{position}")
                    known = exp.Not(this=exp.Is(this=value.copy(), expression=exp.null()))
                    parts.append(_distinct(value, self._keys).where(known))
                elif own == type_name:
                    parts.append(_distinct(own_column(f"c{position}"), self._facts.name(predicate)))
        union: exp.Query = parts[0]
        for part in parts[1:]:
            union = union.union(part)
        query = exp.select(exp.alias_(exp.Count(this=exp.Star()), "n")).from_(union.subquery("constants"))
        for operator, threshold in range_.comparisons:
            met = self._facts.compares(own_column("constant"), type_name, operator, threshold)
            query = query.where(met)
        query.add_comments([_comment(f"the population of {type_name}")])
        return query

    def _total(self, weighted: Weighted) -> exp.Expr:
        if weighted.total is not None:
            exact = weighted.total <= INT64_MAX
            return integer(weighted.total) if exact else exp.Literal.number(float(weighted.total))
        types = self._scoring.schema.variable_types(weighted.clause)
        clause = weighted.clause
        free = clause.free_variables() if weighted.guard is None else new_variables(clause)
        return product([double(self._population(ComparisonRange(types[variable]))) for variable in free])

    # --- scores ----------------------------------------------------------------------------------

    def _features(self, counts: str) -> exp.Select:
        """True and false counts side by side, and the sums of weights of constants."""
        named: list[exp.Expr] = [own_column(f"k{number}", "c") for number in range(self._width)]
        joins: list[tuple[exp.Expr, exp.Expr]] = []
        place = 0
        for number, weighted in enumerate(self._scoring.clauses):
            if weighted.each is not None:
                name, head = self._sums_of[number]
                alias = f"s{number + 1}"
                same = [
                    exp.EQ(this=own_column(f"k{at}", alias), expression=own_column(f"k{variable}", "c"))
                    for at, variable in enumerate(head)
                ]
                joins.append((own_table(name, alias), conjunction(same)))
                total = exp.Coalesce(this=own_column("total", alias), expressions=[real(0.0)])
                columns = [exp.alias_(total, f"sum_{number + 1}")]
            else:
                true, both = own_column(f"t{place}", "c"), self._total(weighted)
                place += 1
                if weighted.guard is not None:
                    both = exp.Mul(this=both, expression=own_column(f"t{place}", "c"))
                    place += 1
                false = exp.Sub(this=both, expression=true.copy())
                columns = [exp.alias_(true, f"true_{number + 1}"), exp.alias_(false, f"false_{number + 1}")]
            columns[0].add_comments([_comment(str(weighted.clause))])
            named += columns
        select = exp.select(*named).from_(own_table(counts, "c"))
        for table, on in joins:
            select = select.join(table, on=on, join_type="LEFT")
        return select

    def _scores(self, features: str) -> exp.Select:
        score: exp.Expr = real(self._scoring.prior)
        for number, weighted in enumerate(self._scoring.clauses):
            if weighted.each is not None:
                score = exp.Add(this=score, expression=own_column(f"sum_{number + 1}"))
                continue
            w0, w1, w2 = map(real, weighted.weights)
            true, false = (double(own_column(f"{name}_{number + 1}")) for name in ("true", "false"))
            if weighted.feature == "share":
                true, false = share(true, false), real(0.0)
            else:
                true, false = (read(count, weighted.feature) for count in (true, false))
            part = exp.Add(
                this=exp.Paren(this=exp.Add(this=w0, expression=exp.Mul(this=w1, expression=true))),
                expression=exp.Mul(this=w2, expression=false),
            )
            score = exp.Add(this=score, expression=exp.Paren(this=part))
        return exp.select(exp.Star(), exp.alias_(double(score), "score")).from_(features)

    def _result(self, scores: str) -> exp.Select:
        named = [
            exp.alias_(own_column(f"k{number}"), exp.to_identifier(name, quoted=True))
            for number, name in enumerate([*self._examples.columns, self._examples.time][: self._width])
        ]
        for number, weighted in enumerate(self._scoring.clauses):
            kinds = ("true", "false") if weighted.each is None else ("sum",)
            named += [own_column(f"{kind}_{number + 1}") for kind in kinds]
        score = own_column("score")
        above = exp.GT(this=score.copy(), expression=real(LARGEST_SCORE))
        below = exp.LT(this=score.copy(), expression=real(-LARGEST_SCORE))
        limits = [(above, LARGEST_SCORE), (below, -LARGEST_SCORE)]
        within = exp.Case(
            ifs=[exp.If(this=condition, true=real(limit)) for condition, limit in limits],
            default=score.copy(),
        )
        power = exp.Exp(this=exp.Neg(this=within))
        probability = exp.Div(
            this=real(1.0),
            expression=exp.Paren(this=exp.Add(this=real(1.0), expression=power)),
            typed=False,
            safe=False,
        )
        named += [score, exp.alias_(probability, "probability")]
        return exp.select(*named).from_(scores)


def _has_dates(scoring: Scoring) -> bool:
    """Whether a clause compares dates."""
    bodies = (weighted.clause.body for weighted in scoring.clauses)
    return any(
        isinstance(each, Comparison) and isinstance(each.value, datetime) for body in bodies for each in body
    )


def _distinct(value: exp.Column, table: str) -> exp.Select:
    return exp.select(exp.alias_(value, "constant")).distinct().from_(table)


def _comment(text: str) -> str:
    """Text that cannot end its comment, nor begin another."""
    return " " + text.replace("*/", "* /").replace("/*", "/ *").replace("\n", " ").strip() + " "
