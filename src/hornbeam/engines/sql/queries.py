"""SQL queries of messages and counts, as expression trees."""

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
    """Where a message is stored: a table with key columns ``k0 k1 ...``, and the column of its numbers."""

    table: str
    column: str


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables that a query may read: messages and guards, including bindings of examples."""

    messages: Mapping[SqlMessage, MessageTable]
    guards: Mapping[Guard, str]
    largest: Mapping[SqlMessage, int] | None
    """an upper bound of each message's numbers, to choose integer types; None leaves types to the system"""
    population: Callable[[ComparisonRange], int | exp.Expr]
    """the number of constants in a range"""


class HeadBindingTable(NamedTuple):
    """A table of bindings of head variables: their values ``k0 k1 ...``, and other columns."""

    name: str
    head: tuple[int, ...]
    others: tuple[str, ...] = ("example",)
    """the other columns, which a query of counts returns before the counts"""


@dataclass(slots=True)
class _Join:
    """A child to join: its table, the join conditions, and the number of columns that use it."""

    item: exp.Expr
    on: Sequence[exp.Expr]
    present: exp.Expr
    """a column that is NULL in rows without a match"""
    users: int = 0


class Joins:
    """Joins each child at most once, even if several result columns use it.

    A child that all of ``columns`` result columns use is an inner join, which drops rows without a match.
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
        """Register the children of one result column."""
        for key in dict.fromkeys(map(self._key, attached)):
            self._joins[key].users += 1

    def number(self, attached: Attached) -> exp.Expr | None:
        """The child's number in a row, None if it is always 1; valid after all columns are registered."""
        key = self._key(attached)
        if not attached.message.is_relation:
            alias = self._aliases[key]
            return own_column(self._tables.messages[attached.message].column, alias)
        if self._joins[key].users == self._columns:
            return None
        missing = exp.Is(this=self._joins[key].present.copy(), expression=exp.null())
        return exp.Case(ifs=[exp.If(this=missing, true=integer(0))], default=integer(1))

    def condition(self, condition: Condition) -> exp.Expr:
        """1 if a variable satisfies a comparison, else 0."""
        variable, operator, value = condition.comparison
        met = self._source.compares(self._values[variable].copy(), condition.type, operator, value)
        return exp.Case(ifs=[exp.If(this=met, true=integer(1))], default=integer(0))

    def add_to(self, select: exp.Select) -> None:
        """Add the joins to a select."""
        for join in self._joins.values():
            join_to(select, join.item, "INNER" if join.users == self._columns else "LEFT", join.on)

    def _key(self, attached: Attached) -> tuple[str, tuple[int, ...]]:
        """The key of the join for a child, which is added if it is new."""
        message, at = attached
        if message.is_relation:
            ((predicate, args, _),) = message.shape.roots
            terms = tuple(at[arg] for arg in args if arg is not None)
            key = (f"relation {predicate}", terms)
            if key not in self._joins:
                alias = self._alias(key)
                relation = self._source.relation(predicate)
                on = [
                    exp.EQ(this=relation.column(position, alias), expression=self._values[term].copy())
                    for position, term in enumerate(terms)
                ]
                self._joins[key] = _Join(aliased(relation.item, alias), on, relation.column(0, alias))
            return key
        table = self._tables.messages[message].table
        key = (f"message {table}", at)
        if key not in self._joins:
            alias = self._alias(key)
            on = [
                exp.EQ(this=own_column(f"k{number}", alias), expression=self._values[variable].copy())
                for number, variable in enumerate(at)
            ]
            self._joins[key] = _Join(own_table(table, alias), on, own_column("k0", alias))
        return key

    def _alias(self, key: tuple[str, tuple[int, ...]]) -> str:
        return self._aliases.setdefault(key, f"m{len(self._aliases)}")


@dataclass(frozen=True, slots=True)
class RootJoin:
    """The join of guard and roots that all messages of a shape have in common."""

    select: exp.Select
    values: dict[int, exp.Expr]
    types: dict[int, str]
    constant_columns: list[exp.Expr]
    constant_types: list[str]


def joined_roots(source: SqlFacts, shape: Shape, guards: Mapping[Guard, str]) -> RootJoin:
    select = exp.Select()
    root = RootJoin(select, {}, {}, [], [])
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

    ``tables`` must have the children and the guard. If a key has a row for another message but not
    for this one, its number is NULL, which means 0. With ``by_example`` the key is the number
    ``example`` of a binding; the guard must be a table of the examples' bindings.
    """
    shape = messages[0].shape
    root = joined_roots(source, shape, tables.guards)
    joins = Joins(source, tables, root.values, len(messages))
    for message in messages:
        joins.use(message.children)
    same_rows = len({(message.constants, message.comparisons) for message in messages}) == 1
    select = root.select
    if same_rows:
        for condition in row_conditions(source, root, messages[0]):
            select = select.where(condition, copy=False)
    joins.add_to(select)
    keys = [root.values[number].copy() for number in range(shape.anchors)]
    if by_example:
        keys = [own_column("example", "g")]
    summed = shape.sums_out or not same_rows or not keys
    numbers = []
    for message in messages:
        factors = [number for child in message.children if (number := joins.number(child)) is not None]
        wide = tables.largest is not None and tables.largest[message] > INT64_MAX
        value = product(_widened(factors, dialect) if wide else factors)
        if not same_rows:
            condition = conjunction(row_conditions(source, root, message))
            value = exp.Case(ifs=[exp.If(this=condition, true=value)])
        if summed:
            counts_rows = same_rows and not factors
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


def row_conditions(source: SqlFacts, root: RootJoin, message: SqlMessage) -> list[exp.Expr]:
    """The conditions on rows of the root that count for a message: its constants and comparisons."""
    constants = zip(root.constant_columns, root.constant_types, message.constants, strict=True)
    conditions = [source.equals(here.copy(), type_name, name) for here, type_name, name in constants]
    for variable, operator, value in message.comparisons:
        here, type_name = root.values[variable].copy(), root.types[variable]
        conditions.append(source.compares(here, type_name, operator, value))
    return conditions


def _widened(factors: list[exp.Expr], dialect: Dialect) -> list[exp.Expr]:
    """Factors whose product does not overflow: the first is cast to the wide type."""
    first = factors[0] if factors else integer(1)
    return [dialect.cast(first, wide=True), *factors[1:]]


def projection_query(source: SqlFacts, projection: Projection, guards: Mapping[Guard, str]) -> exp.Select:
    """The distinct values of some variables in the join of a shape, as ``k0 k1 ...``."""
    root = joined_roots(source, projection.of, guards)
    named = [
        own_alias(root.values[variable].copy(), f"k{number}") for number, variable in enumerate(projection.at)
    ]
    return root.select.select(*named, copy=False).distinct(copy=False)


def groundings_query(
    source: SqlFacts,
    message: SqlMessage,
    each: int,
    guards: Mapping[Guard, str],
    key_of: Callable[[exp.Expr], exp.Expr],
) -> exp.Select:
    """The number of rows ``n0`` in the join of a message for its keys ``k0 k1 ...`` and each ``constant``.

    The constants are the values of the variable ``each``, as ``key_of`` makes them. The message has no
    children.
    """
    root = joined_roots(source, message.shape, guards)
    keys = {f"k{number}": root.values[number] for number in range(message.shape.anchors)}
    groups = keys | {"constant": key_of(root.values[each])}
    named = [exp.alias_(value.copy(), name) for name, value in groups.items()]
    select = root.select.select(*named, exp.alias_(exp.Count(this=exp.Star()), "n0"), copy=False)
    for condition in row_conditions(source, root, message):
        select = select.where(condition, copy=False)
    return select.group_by(*(value.copy() for value in groups.values()), copy=False)


def counts_query(
    source: SqlFacts,
    dialect: Dialect,
    formulas: Sequence[Formula],
    bindings: HeadBindingTable,
    tables: Tables,
    every_row: bool = True,
) -> exp.Select:
    """True counts ``t0 t1 ...`` of clauses for each row of a table of bindings of head variables.

    Without ``every_row``, rows whose counts are all 0 may be missing.
    """
    values = {variable: own_column(f"k{number}", "b") for number, variable in enumerate(bindings.head)}
    # A product is 0 if one of its factors has no row; a sum of terms may still have another term.
    products = not every_row and all(len(formula.terms) == 1 for formula in formulas)
    joins = Joins(source, tables, values, len(formulas) if products else None)
    for formula in formulas:
        joins.use([factor for term in formula.terms for factor in term.factors])
    select = exp.Select().from_(own_table(bindings.name, "b"), copy=False)
    joins.add_to(select)
    named: list[exp.Expr] = [own_column(name, "b") for name in bindings.others]
    for number, formula in enumerate(formulas):
        count = _count(formula, joins, tables, dialect)
        named.append(own_alias(count, f"t{number}"))
    return select.select(*named, copy=False)


def _count(formula: Formula, joins: Joins, tables: Tables, dialect: Dialect) -> exp.Expr:
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


def _term(term: SqlTerm, joins: Joins, tables: Tables, dialect: Dialect, wide: bool) -> exp.Expr:
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
        # Small literals would be added as 32-bit integers.
        factors.insert(0, number if tables.largest is None else dialect.cast(number))
    return product(_widened(factors, dialect) if wide else factors)


def formula_size(formula: Formula, tables: Tables) -> int:
    """An upper bound of every number that occurs in computing a formula."""
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


def logarithms_query(
    dialect: Dialect, counts: exp.Select, number: int, others: Sequence[str] = ("example", "weight")
) -> exp.Select:
    """``counts_query`` with ln(1 + count), in units of 1/LOG_UNIT and rounded, instead of each count.

    The logarithms are floats until they are rounded. Two systems can disagree only if a logarithm is so
    close to the middle between two whole numbers that its last bit decides.
    """
    named: list[exp.Expr] = [own_column(name, "t") for name in others]
    for position in range(number):
        count = exp.cast(own_column(f"t{position}", "t"), "DOUBLE")
        logarithm = exp.Ln(this=exp.Add(this=integer(1), expression=count))
        scaled = exp.Round(this=exp.Mul(this=logarithm, expression=integer(LOG_UNIT)))
        named.append(own_alias(dialect.cast(scaled), f"t{position}"))
    return exp.Select().from_(counts.subquery("t"), copy=False).select(*named, copy=False)


def largest_logarithm(count: int) -> int:
    """An upper bound of the logarithms, in units of 1/LOG_UNIT, of counts up to this one."""
    return math.ceil(math.log1p(count) * LOG_UNIT) + 1
