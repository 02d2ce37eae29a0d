"""SQL queries of the counts of clauses and of their messages, as expression trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlglot import exp

from hornbeam.engines.export.clause_plan import (
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
from hornbeam.engines.sql.expressions import (
    SqlFacts,
    aliased,
    integer,
    join_to,
    or_zero,
    own_alias,
    own_column,
    own_table,
    product,
)


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables that a query may read: messages and guards, including bindings of examples."""

    messages: Mapping[SqlMessage, str]
    """tables with key columns ``k0 k1 ...`` and numbers ``n0``"""
    guards: Mapping[Guard, str]
    population: Callable[[ComparisonRange], exp.Expr]
    """the number of constants in a range"""


class HeadBindingTable(NamedTuple):
    """A table of bindings of head variables: their values ``k0 k1 ...``, and other columns."""

    name: str
    head: tuple[int, ...]
    others: tuple[str, ...] = ("example",)
    """the other columns, which a query of counts returns before the counts"""


class _Join(NamedTuple):
    """A child to join: its table, the join conditions, and a column that is NULL in rows without a match."""

    item: exp.Expr
    on: Sequence[exp.Expr]
    present: exp.Expr


class Joins:
    """Joins each child once, even if several result columns use it.

    An inner join drops rows without a match.
    """

    def __init__(self, source: SqlFacts, tables: Tables, values: Mapping[int, exp.Expr], inner: bool) -> None:
        self._source = source
        self._tables = tables
        self._values = values
        self._inner = inner
        self._joins: dict[tuple[str, tuple[int, ...]], _Join] = {}

    def number(self, attached: Attached) -> exp.Expr | None:
        """The child's number in a row, None if it is always 1; the child is joined if it is new."""
        key = self._key(attached)
        if not attached.message.is_relation:
            return own_column("n0", f"m{list(self._joins).index(key)}")
        if self._inner:
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
            join_to(select, join.item, "INNER" if self._inner else "LEFT", join.on)

    def _key(self, attached: Attached) -> tuple[str, tuple[int, ...]]:
        """The key of the join for a child, which is added if it is new."""
        message, at = attached
        alias = f"m{len(self._joins)}"
        if message.is_relation:
            ((predicate, args, _),) = message.shape.roots
            terms = tuple(at[arg] for arg in args if arg is not None)
            key = (f"relation {predicate}", terms)
            relation = self._source.relation(predicate)
            columns = [relation.column(position, alias) for position in range(len(terms))]
            item = aliased(relation.item, alias)
        else:
            table, terms = self._tables.messages[message], at
            key = (f"message {table}", at)
            columns = [own_column(f"k{number}", alias) for number in range(len(at))]
            item = own_table(table, alias)
        if key not in self._joins:
            on: list[exp.Expr] = [
                exp.EQ(this=here, expression=self._values[term].copy())
                for here, term in zip(columns, terms, strict=True)
            ]
            present = columns[0] if message.is_relation else own_column("k0", alias)
            self._joins[key] = _Join(item, on, present)
        return key


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


def message_query(source: SqlFacts, message: SqlMessage, tables: Tables) -> exp.Select:
    """A message: its keys ``k0 k1 ...`` and number ``n0``. ``tables`` has the children and the guard."""
    shape = message.shape
    root = joined_roots(source, shape, tables.guards)
    joins = Joins(source, tables, root.values, inner=True)
    select = root.select
    for condition in row_conditions(source, root, message):
        select = select.where(condition, copy=False)
    factors = [number for child in message.children if (number := joins.number(child)) is not None]
    joins.add_to(select)
    keys = [root.values[number].copy() for number in range(shape.anchors)]
    summed = shape.sums_out or not keys
    value = product(factors)
    if summed:
        value = exp.Sum(this=value) if factors else exp.Count(this=exp.Star())
    named = [own_alias(key, f"k{number}") for number, key in enumerate(keys)]
    select = select.select(*named, own_alias(value, "n0"), copy=False)
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
    source: SqlFacts, formulas: Sequence[Formula], bindings: HeadBindingTable, tables: Tables
) -> exp.Select:
    """True counts ``t0 t1 ...`` of clauses for each row of a table of bindings of head variables."""
    values = {variable: own_column(f"k{number}", "b") for number, variable in enumerate(bindings.head)}
    joins = Joins(source, tables, values, inner=False)
    counts = [_count(formula, joins, tables) for formula in formulas]
    select = exp.Select().from_(own_table(bindings.name, "b"), copy=False)
    joins.add_to(select)
    named: list[exp.Expr] = [own_column(name, "b") for name in bindings.others]
    named += [own_alias(count, f"t{number}") for number, count in enumerate(counts)]
    return select.select(*named, copy=False)


def _count(formula: Formula, joins: Joins, tables: Tables) -> exp.Expr:
    result: exp.Expr | None = None
    for term in formula.terms:
        if result is None:
            result = _term(term, joins, tables)
        elif term.coefficient > 0:
            result = exp.Add(this=result, expression=_term(term, joins, tables))
        else:
            positive = term._replace(coefficient=-term.coefficient)
            result = exp.Sub(this=result, expression=_term(positive, joins, tables))
    return result or integer(0)


def _term(term: SqlTerm, joins: Joins, tables: Tables) -> exp.Expr:
    factors = [tables.population(range_) for range_ in term.populations]
    factors += [joins.condition(condition) for condition in term.conditions]
    for factor in term.factors:
        number = joins.number(factor)
        if number is not None and not factor.message.is_relation:
            number = or_zero(number)
        if number is not None:
            factors.append(number)
    if term.coefficient != 1 or not factors:
        factors.insert(0, integer(term.coefficient))
    return product(factors)
