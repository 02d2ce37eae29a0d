"""Messages and counts as SQL queries: expression trees only, no connection."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlglot import exp

from hornbeam.engines.contract import INT64_MAX, LOG_UNIT
from hornbeam.engines.sql.expressions import (
    Dialect,
    SqlFacts,
    aliased,
    conjunction,
    integer,
    join_to,
    own_alias,
    own_column,
    own_table,
    product,
)
from hornbeam.engines.sql.plan import (
    Attached,
    ComparisonRange,
    Condition,
    Formula,
    Guard,
    Projection,
    Shape,
    SqlMessage,
    SqlTerm,
)


class MessageTable(NamedTuple):
    """Where a message is: a table with key columns ``k0 k1 ...`` and one column of numbers."""

    table: str
    column: str


@dataclass(frozen=True, slots=True)
class Tables:
    """What a query may refer to: messages, guards (also bindings of examples), and number sizes."""

    messages: Mapping[SqlMessage, MessageTable]
    guards: Mapping[Guard, str]
    largest: Mapping[SqlMessage, int] | None
    """an upper bound of each message's numbers, which decides types; None leaves types to the system"""
    population: Callable[[ComparisonRange], int | exp.Expr]
    """the size of a type's population, or of a part of it"""


@dataclass(slots=True)
class _Join:
    """A child to join: where from, on what, and how to read its number."""

    item: exp.Expr
    on: Sequence[exp.Expr]
    present: exp.Expr
    """a column that is NULL where the join found nothing"""
    users: int = 0


class _Joins:
    """Children joined at most once each, whatever number of columns need them.

    A child that all of so many columns need drops the rows without a match.
    """

    def __init__(
        self, source: SqlFacts, tables: Tables, values: Mapping[int, exp.Expr], columns: int | None
    ) -> None:
        self._source = source
        self._tables = tables
        self._values = values
        self._columns = columns
        self._joins: dict[tuple[str, tuple[int, ...]], _Join] = {}
        self._aliases: dict[tuple[str, tuple[int, ...]], str] = {}

    def use(self, attached: Sequence[Attached]) -> None:
        """Note that one column needs these children, all of them."""
        for place in dict.fromkeys(map(self._place, attached)):
            self._joins[place].users += 1

    def number(self, attached: Attached) -> exp.Expr | None:
        """The child's number in a row, once all columns are noted; None where it is always 1."""
        place = self._place(attached)
        if not attached.message.is_relation:
            alias = self._aliases[place]
            return own_column(self._tables.messages[attached.message].column, alias)
        if self._joins[place].users == self._columns:
            return None
        missing = exp.Is(this=self._joins[place].present.copy(), expression=exp.null())
        return exp.Case(ifs=[exp.If(this=missing, true=integer(0))], default=integer(1))

    def condition(self, condition: Condition) -> exp.Expr:
        """1 where a variable meets a comparison, else 0."""
        variable, operator, value = condition.comparison
        met = self._source.compares(self._values[variable].copy(), condition.type, operator, value)
        return exp.Case(ifs=[exp.If(this=met, true=integer(1))], default=integer(0))

    def add_to(self, select: exp.Select) -> None:
        """Add the joins to a select."""
        for join in self._joins.values():
            join_to(select, join.item, "INNER" if join.users == self._columns else "LEFT", join.on)

    def _place(self, attached: Attached) -> tuple[str, tuple[int, ...]]:
        message, at = attached
        if message.is_relation:
            ((predicate, args, _),) = message.shape.roots
            terms = tuple(at[arg] for arg in args if arg is not None)
            place = (f"relation {predicate}", terms)
            if place not in self._joins:
                alias = self._alias(place)
                relation = self._source.relation(predicate)
                on = [
                    exp.EQ(this=relation.column(position, alias), expression=self._values[term].copy())
                    for position, term in enumerate(terms)
                ]
                self._joins[place] = _Join(aliased(relation.item, alias), on, relation.column(0, alias))
            return place
        table = self._tables.messages[message].table
        place = (f"message {table}", at)
        if place not in self._joins:
            alias = self._alias(place)
            on = [
                exp.EQ(this=own_column(f"k{number}", alias), expression=self._values[variable].copy())
                for number, variable in enumerate(at)
            ]
            self._joins[place] = _Join(own_table(table, alias), on, own_column("k0", alias))
        return place

    def _alias(self, place: tuple[str, tuple[int, ...]]) -> str:
        return self._aliases.setdefault(place, f"m{len(self._aliases)}")


@dataclass(frozen=True, slots=True)
class _Root:
    """The join of guard and roots that all messages of a shape start from."""

    select: exp.Select
    values: dict[int, exp.Expr]
    types: dict[int, str]
    constant_columns: list[exp.Expr]
    constant_types: list[str]


def _root(source: SqlFacts, shape: Shape, guards: Mapping[Guard, str]) -> _Root:
    select = exp.Select()
    root = _Root(select, {}, {}, [], [])
    if shape.guard is not None:
        select.from_(own_table(guards[shape.guard], "g"), copy=False)
        root.values.update({number: own_column(f"k{number}", "g") for number in range(shape.anchors)})
    for number, (predicate, args, cutoff) in enumerate(shape.roots):
        alias = f"f{number}" if number else "f"
        relation = source.relation(predicate)
        facts = aliased(relation.item, alias)
        conditions: list[exp.Expr] = []
        for position, (arg, type_name) in enumerate(
            zip(args, source.schema.types_of(predicate), strict=True)
        ):
            here = relation.column(position, alias)
            if arg is None:
                root.constant_columns.append(here)
                root.constant_types.append(type_name)
                continue
            root.types[arg] = type_name
            if arg in root.values:
                conditions.append(exp.EQ(this=here, expression=root.values[arg].copy()))
            else:
                root.values[arg] = here
        if cutoff is not None:
            conditions.append(source.exists(relation.since(alias), root.values[cutoff].copy()))
        if number or shape.guard is not None:
            join_to(select, facts, "INNER", conditions or [exp.true()])
        else:
            select.from_(facts, copy=False)
            if conditions:
                select.where(*conditions, copy=False)
    return root


def message_query(
    source: SqlFacts,
    dialect: Dialect,
    messages: Sequence[SqlMessage],
    tables: Tables,
    by_example: bool = False,
) -> exp.Select:
    """Messages of one shape in one pass: their keys ``k0 k1 ...`` and numbers ``n0 n1 ...``.

    Tables of the children and of the guard must be in ``tables``. Where one message has no row
    but another has, its number is NULL, which means 0. Where the guard has the bindings of examples,
    their number ``example`` may be the key.
    """
    shape = messages[0].shape
    root = _root(source, shape, tables.guards)
    joins = _Joins(source, tables, root.values, len(messages))
    for message in messages:
        joins.use(message.children)
    one_choice = len({(message.constants, message.comparisons) for message in messages}) == 1
    select = root.select
    if one_choice:
        for condition in _chosen(source, root, messages[0]):
            select = select.where(condition, copy=False)
    joins.add_to(select)
    keys = [root.values[number].copy() for number in range(shape.anchors)]
    if by_example:
        keys = [own_column("example", "g")]
    summed = shape.sums_out or not one_choice or not keys
    numbers = []
    for message in messages:
        factors = [number for child in message.children if (number := joins.number(child)) is not None]
        wide = tables.largest is not None and tables.largest[message] > INT64_MAX
        value = product(_widened(factors, dialect) if wide else factors)
        if not one_choice:
            chosen = conjunction(_chosen(source, root, message))
            value = exp.Case(ifs=[exp.If(this=chosen, true=value)])
        if summed:
            counts_rows = one_choice and not factors
            value = exp.Count(this=exp.Star()) if counts_rows else exp.Sum(this=value)
        if tables.largest is not None and (wide or summed):
            value = dialect.cast(value, wide)
        numbers.append(value)
    named = [own_alias(key, f"k{number}") for number, key in enumerate(keys)]
    named += [own_alias(value, f"n{number}") for number, value in enumerate(numbers)]
    select = select.select(*named, copy=False)
    if summed and keys:
        select = select.group_by(*(key.copy() for key in keys), copy=False)
    return select


def _chosen(source: SqlFacts, root: _Root, message: SqlMessage) -> list[exp.Expr]:
    """Which rows of the root count for a message: its constants, and its comparisons."""
    places = zip(root.constant_columns, root.constant_types, message.constants, strict=True)
    found = [source.equals(here.copy(), type_name, name) for here, type_name, name in places]
    for variable, operator, value in message.comparisons:
        here, type_name = root.values[variable].copy(), root.types[variable]
        found.append(source.compares(here, type_name, operator, value))
    return found


def _widened(factors: list[exp.Expr], dialect: Dialect) -> list[exp.Expr]:
    """Factors whose product does not overflow: the first is cast, the others follow."""
    first = factors[0] if factors else integer(1)
    return [dialect.cast(first, wide=True), *factors[1:]]


def projection_query(source: SqlFacts, projection: Projection, guards: Mapping[Guard, str]) -> exp.Select:
    """The distinct values of some variables of a shape's join, as ``k0 k1 ...``."""
    root = _root(source, projection.of, guards)
    named = [
        own_alias(root.values[variable].copy(), f"k{number}") for number, variable in enumerate(projection.at)
    ]
    return root.select.select(*named, copy=False).distinct(copy=False)


def groundings_query(
    source: SqlFacts, message: SqlMessage, each: int, guards: Mapping[Guard, str]
) -> exp.Select:
    """How many rows ``n0`` the join of a message has for its keys ``k0 k1 ...`` and each ``constant``.

    The constants are the values of one more variable, as text. The message has no children.
    """
    root = _root(source, message.shape, guards)
    keys = {f"k{number}": root.values[number] for number in range(message.shape.anchors)}
    groups = keys | {"constant": exp.cast(root.values[each], "TEXT")}
    named = [exp.alias_(value.copy(), name) for name, value in groups.items()]
    select = root.select.select(*named, exp.alias_(exp.Count(this=exp.Star()), "n0"), copy=False)
    for condition in _chosen(source, root, message):
        select = select.where(condition, copy=False)
    return select.group_by(*(value.copy() for value in groups.values()), copy=False)


def counts_query(
    source: SqlFacts,
    dialect: Dialect,
    formulas: Sequence[Formula],
    head: tuple[int, ...],
    bindings: str,
    tables: Tables,
    carried: Sequence[str] = ("example",),
    every_row: bool = True,
) -> exp.Select:
    """True counts ``t0 t1 ...`` of clauses for each row of a table of bindings of head variables.

    That table has their values ``k0 k1 ...`` and what is ``carried`` beside the counts. Unless
    ``every_row`` is asked for, a row may be missing where all counts are 0.
    """
    values = {variable: own_column(f"k{number}", "b") for number, variable in enumerate(head)}
    # A product is 0 where one of its factors has no row; of several terms another one may not be 0.
    products = not every_row and all(len(formula.terms) == 1 for formula in formulas)
    joins = _Joins(source, tables, values, len(formulas) if products else None)
    for formula in formulas:
        joins.use([factor for term in formula.terms for factor in term.factors])
    select = exp.Select().from_(own_table(bindings, "b"), copy=False)
    joins.add_to(select)
    named: list[exp.Expr] = [own_column(name, "b") for name in carried]
    for number, formula in enumerate(formulas):
        count = _count(formula, joins, tables, dialect)
        named.append(own_alias(count, f"t{number}"))
    return select.select(*named, copy=False)


def _count(formula: Formula, joins: _Joins, tables: Tables, dialect: Dialect) -> exp.Expr:
    wide = tables.largest is not None and formula_size(formula, tables) > INT64_MAX
    result: exp.Expr | None = None
    for term in formula.terms:
        if result is None:
            result = _term(term, joins, tables, dialect, wide)
        elif term.coefficient > 0:
            result = exp.Add(this=result, expression=_term(term, joins, tables, dialect, wide))
        else:
            positive = term._replace(coefficient=-term.coefficient)
            result = exp.Sub(this=result, expression=_term(positive, joins, tables, dialect, wide))
    result = result or integer(0)
    return result if tables.largest is None else dialect.cast(result, wide)


def _term(term: SqlTerm, joins: _Joins, tables: Tables, dialect: Dialect, wide: bool) -> exp.Expr:
    coefficient = term.coefficient
    factors: list[exp.Expr] = []
    for range_ in term.populations:
        size = tables.population(range_)
        if isinstance(size, int):
            coefficient *= size
        else:
            factors.append(size)
    factors += [joins.condition(condition) for condition in term.conditions]
    for factor in term.factors:
        number = joins.number(factor)
        if number is not None and not factor.message.is_relation:
            number = exp.Coalesce(this=number, expressions=[integer(0)])
        if number is not None:
            factors.append(number)
    if coefficient != 1 or not factors:
        number = integer(coefficient)
        # Small literals would be added in 32 bits.
        factors.insert(0, number if tables.largest is None else dialect.cast(number))
    return product(_widened(factors, dialect) if wide else factors)


def formula_size(formula: Formula, tables: Tables) -> int:
    """An upper bound of every number that computing a formula meets."""
    assert tables.largest is not None
    result = 0
    for term in formula.terms:
        size = abs(term.coefficient)
        for range_ in term.populations:
            population = tables.population(range_)
            assert isinstance(population, int)
            size *= population
        for factor in term.factors:
            size *= tables.largest[factor.message]
        result += size
    return result


def logarithms_query(dialect: Dialect, counts: exp.Select, number: int) -> exp.Select:
    """``counts_query`` with ln(1 + count), rounded to whole parts of LOG_UNIT, in place of each count.

    Rounding is of floats. Two systems can only disagree where a logarithm is as near to the middle
    between two whole parts as their last bits; a test compares them on two million counts.
    """
    named: list[exp.Expr] = [own_column(name, "t") for name in ("example", "weight")]
    for position in range(number):
        count = exp.cast(own_column(f"t{position}", "t"), "DOUBLE")
        logarithm = exp.Ln(this=exp.Add(this=integer(1), expression=count))
        scaled = exp.Round(this=exp.Mul(this=logarithm, expression=integer(LOG_UNIT)))
        named.append(own_alias(dialect.cast(scaled), f"t{position}"))
    return exp.Select().from_(counts.subquery("t"), copy=False).select(*named, copy=False)


def largest_logarithm(count: int) -> int:
    """No count up to this one has a greater logarithm, in whole parts of LOG_UNIT."""
    return math.ceil(math.log1p(count) * LOG_UNIT) + 1
