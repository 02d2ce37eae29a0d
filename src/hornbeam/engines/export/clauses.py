"""The counts of clauses as SQL, and the sums of the weights of constants.

The count of a clause is a sum of products of counts of bodies (``engines.plan.clauses``), which are written
as for effects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from sqlglot import exp

from hornbeam.engines.export.features import double, feature_value, weights_query
from hornbeam.engines.export.levels import MeasuredRows
from hornbeam.engines.export.measures import NUMBER, VALUE, VALUES, N, Need, when
from hornbeam.engines.export.plan_queries import PlanQueries
from hornbeam.engines.export.rows import Joined, with_joins
from hornbeam.engines.export.user_tables import NamedQuery, comment_of
from hornbeam.engines.plan.clauses import signed_products
from hornbeam.engines.plan.compiling import Compiler
from hornbeam.engines.plan.parts import RowPart
from hornbeam.engines.sql.expressions import (
    conjunction,
    integer,
    own_alias,
    own_column,
    own_table,
    product,
    real,
)
from hornbeam.logic.clauses import Clause, Value, variable_name
from hornbeam.logic.schema import Schema


class ValueRange(NamedTuple):
    """The constants of a type that satisfy all comparisons, each an operator and a value."""

    type: str
    comparisons: tuple[tuple[str, Value], ...] = ()


Population = Callable[[ValueRange], exp.Expr]
"""The number of constants in a range."""


class ScoredClause(NamedTuple):
    """A clause, its weights ``[w0, w1, w2]``, and its total; if None, the query computes the total."""

    clause: Clause
    weights: tuple[float, float, float]
    total: int | None
    feature: str = "count"
    """the feature that is weighted: ``count``, ``log`` for ln(1 + count), ``at least N`` or ``share``"""
    each: int | None = None
    """the variable whose constants have their own weights, used instead of ``weights``"""
    constants: tuple[tuple[str, float], ...] = ()
    guard: Clause | None = None
    """its count times ``total`` is the sum of true and false counts; if None, ``total`` is that sum"""
    bound: int | None = None
    """the number N of the feature ``at least N``"""

    @property
    def weighs_false(self) -> bool:
        """Whether the score depends on false counts."""
        return self.each is None and (self.feature == "share" or self.weights[2] != 0)

    @property
    def weighs_anything(self) -> bool:
        weights = self.weights if self.each is None else [weight for _, weight in self.constants]
        return any(weights)

    def names(self, number: int) -> list[str]:
        """The names of its columns, if it is the clause of this number."""
        if self.each is not None:
            return [f"sum_{number}"]
        return [f"true_{number}", *([f"false_{number}"] if self.weighs_false else [])]


def is_listed(clause: Clause, schema: Schema) -> bool:
    """Whether the groundings of a clause are those of one body, which has all of its variables.

    >>> from hornbeam.logic.parse import parse_clause
    >>> schema = Schema({"female": ("p",), "rated": ("p", "f"), "genre": ("f", "g")})
    >>> is_listed(parse_clause("female(A) :- rated(A,B), genre(B,C)."), schema)
    True
    >>> is_listed(parse_clause("female(A) :- rated(A,B), not genre(B,C)."), schema)
    False
    """
    (first, *more) = signed_products(clause, schema)
    return not more and not first.variables


class _Product(NamedTuple):
    """A sign times the sizes of populations times the counts of parts."""

    sign: int
    ranges: tuple[ValueRange, ...]
    parts: tuple[RowPart, ...]


class ClauseColumns:
    """The columns ``true_1`` and ``false_1`` of the first clause, and so on."""

    def __init__(
        self,
        number: int,
        weighted: ScoredClause,
        schema: Schema,
        compiler: Compiler,
        population: Population,
        total: exp.Expr,
    ) -> None:
        """``total`` is the sum of true and false counts, or what the count of the guard is multiplied by."""
        self._number, self._weighted, self._total = number, weighted, total
        self._population = population
        clauses = [weighted.clause, *([weighted.guard] if weighted.guard is not None else [])]
        self._counts = [
            [
                _Product(
                    term.sign,
                    tuple(ValueRange(*each) for each in term.variables),
                    tuple(compiler.part_of(clause.head, body) for body in term.bodies),
                )
                for term in signed_products(clause, schema)
            ]
            for clause in clauses
        ]

    def wants(self) -> Iterator[tuple[RowPart, Need]]:
        for products in self._counts:
            yield from ((part, N) for each in products for part in each.parts)

    def before(self, queries: PlanQueries) -> Iterator[NamedQuery]:
        return iter(())

    def columns(self, level: MeasuredRows) -> list[exp.Expr]:
        true, *guard = [self._count(products, level) for products in self._counts]
        columns = [true]
        if self._weighted.weighs_false:
            both = product([self._total.copy(), *(exp.Paren(this=each) for each in guard)])
            columns.append(exp.Sub(this=both, expression=exp.Paren(this=true.copy())))
        names = self._weighted.names(self._number)
        named: list[exp.Expr] = [own_alias(each, name) for each, name in zip(columns, names, strict=True)]
        named[0].add_comments([comment_of(str(self._weighted.clause))])
        return named

    def _count(self, products: list[_Product], level: MeasuredRows) -> exp.Expr:
        result: exp.Expr | None = None
        for sign, ranges, parts in products:
            factors = [self._population(each) for each in ranges]
            factors += [_number(part, level) for part in parts]
            term = product(factors)
            if result is None:
                result = term if sign > 0 else exp.Neg(this=exp.Paren(this=term))
            else:
                result = (exp.Add if sign > 0 else exp.Sub)(this=result, expression=term)
        assert result is not None
        return result


def _number(part: RowPart, level: MeasuredRows) -> exp.Expr:
    """The number of groundings of a part; 0 if there are none."""
    conditions, values = level.terms(part, N)
    return exp.Coalesce(this=when(conditions, values[NUMBER]), expressions=[integer(0)])


class WeightColumn:
    """The column ``sum_1`` of a clause that has a weight for each constant of a variable."""

    def __init__(self, number: int, weighted: ScoredClause, schema: Schema, compiler: Compiler) -> None:
        self._number, self._weighted = number, weighted
        (term,) = signed_products(weighted.clause, schema)
        body = tuple(step for each in term.bodies for step in each)
        self._part = compiler.part_of(weighted.clause.head, body, weighted.each)
        self._table, self._width = "", 0

    def wants(self) -> Iterator[tuple[RowPart, Need]]:
        yield self._part, Need(VALUES)

    def before(self, queries: PlanQueries) -> Iterator[NamedQuery]:
        """The weights, and their sum for each different key of examples."""
        weighted, values = self._weighted, queries.facts.values
        weights = queries.names.take(f"weights_{self._number}")
        yield NamedQuery(weights, weights_query(weighted.constants, queries.dialect, values))
        level = queries.level()
        conditions, found = level.terms(self._part, Need(VALUES))
        self._width = queries.width
        keys = [own_column(f"k{place}", "e") for place in range(self._width)]
        value = feature_value(double(found[NUMBER]), weighted.feature, weighted.bound)
        total = exp.Mul(this=double(own_column("weight", "w")), expression=value)
        select = exp.select(*keys, exp.alias_(exp.Sum(this=total), "total"))
        different = exp.select("*").distinct().from_(own_table(queries.keys, "e"))
        select = with_joins(select.from_(different.subquery("e")), [*level.rows.lookups, *level.joined])
        same = exp.EQ(this=own_column("constant", "w"), expression=values.key(found[VALUE]))
        select = select.join(own_table(weights, "w"), on=same, join_type="INNER")
        select = select.where(*conditions).group_by(*(key.copy() for key in keys))
        self._table = queries.names.take(f"weighed_{self._number}")
        assert weighted.each is not None
        comment = f"a weight for each {variable_name(weighted.each)} of {weighted.clause}"
        yield NamedQuery(self._table, select, comment)

    def columns(self, level: MeasuredRows) -> list[exp.Expr]:
        alias = f"s{self._number}"
        keys = [(own_column(f"k{at}", alias), own_column(f"k{at}", "e")) for at in range(self._width)]
        on = conjunction([exp.EQ(this=ours, expression=theirs) for ours, theirs in keys])
        level.joined.append(Joined(self._table, alias, (on,)))
        total = exp.Coalesce(this=own_column("total", alias), expressions=[real(0.0)])
        (name,) = self._weighted.names(self._number)
        column = own_alias(total, name)
        column.add_comments([comment_of(str(self._weighted.clause))])
        return [column]
