"""Messages and counts as SQL: expression trees only, no connection.

Names and values from outside become SQL here and only here, as quoted identifiers and literals of
an expression tree; no text is ever put together by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy.typing as npt
from sqlglot import exp

from hornbeam.database import Codes
from hornbeam.engines.contract import INT64_MAX
from hornbeam.engines.sql_plan import Attached, Bindings, Formula, Guard, Message, Projection, Shape, Term
from hornbeam.schema import Schema


@dataclass(frozen=True, slots=True)
class Dialect:
    """What differs between systems beyond spelling."""

    name: str
    """sqlglot's name of the dialect"""
    wide: str
    """an integer type past int64"""
    sum_widens: bool = True
    """whether the sum of BIGINT is exact past int64"""

    def cast(self, value: exp.Expr, wide: bool = False) -> exp.Cast:
        """A value as BIGINT, or as the integer type past it."""
        return exp.Cast(this=value, to=_type(self.wide if wide else "BIGINT", self.name).copy())

    def text(self, tree: exp.Expr, pretty: bool = False) -> str:
        """The tree as text of this dialect."""
        return tree.sql(dialect=self.name, pretty=pretty, comments=pretty)


@cache
def _type(name: str, dialect: str) -> exp.DataType:
    return exp.DataType.build(name, dialect=dialect)


DUCKDB = Dialect("duckdb", "INT128")
POSTGRES = Dialect("postgres", "DECIMAL")
SPARK = Dialect("spark", "DECIMAL(38, 0)", sum_widens=False)


class SqlRelation(NamedTuple):
    """Where the facts of a predicate are: something to select from, and its column per argument.

    The rows are distinct and have no NULL.
    """

    item: exp.Expr
    columns: tuple[str, ...]


class SqlSource(Protocol):
    """Facts that a SQL engine can reach."""

    @property
    def schema(self) -> Schema: ...

    def relation(self, predicate: str) -> SqlRelation: ...

    def constant(self, type_name: str, name: str) -> exp.Expr | None:
        """A constant as a literal comparable with columns of its type; None if no row can have it."""

    def key_values(self, type_name: str, codes: Codes) -> npt.NDArray[Any]:
        """Values, comparable with columns of the type, for codes of keys; what is unknown matches no row."""


class Placed(NamedTuple):
    """Where a message is: a table with key columns ``k0 k1 ...`` and one column of numbers."""

    table: str
    column: str


@dataclass(frozen=True, slots=True)
class Tables:
    """What a query may refer to: messages, guards (also bindings of examples), and number sizes."""

    messages: Mapping[Message, Placed]
    guards: Mapping[Guard, str]
    largest: Mapping[Message, int]
    """an upper bound of each message's numbers"""


def column(name: str, table: str) -> exp.Column:
    """A column by its quoted name."""
    return exp.column(exp.to_identifier(name, quoted=True), table=table)


def own_column(name: str, table: str | None = None) -> exp.Column:
    """A column that we named ourselves: a plain word, so it needs no quotes."""
    return exp.column(name, table=table)


def own_table(name: str, alias: str) -> exp.Expr:
    return exp.alias_(exp.to_table(name), alias, table=True)


def create_table(name: str, query: exp.Select) -> exp.Create:
    """A temporary table of ours with the rows of a query."""
    temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
    return exp.Create(this=exp.to_table(name), kind="TABLE", properties=temporary, expression=query)


def drop_table(name: str) -> exp.Drop:
    """Away with a table of ours, if it is there."""
    return exp.Drop(tables=[exp.to_table(name)], kind="TABLE", exists=True)


def integer(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def product(factors: Sequence[exp.Expr]) -> exp.Expr:
    """The product of expressions, 1 for none."""
    if not factors:
        return integer(1)
    result = factors[0]
    for factor in factors[1:]:
        result = exp.Mul(this=result, expression=factor)
    return result


def conjunction(conditions: Sequence[exp.Expr]) -> exp.Expr:
    return exp.and_(*conditions, copy=False) if conditions else exp.true()


@dataclass(slots=True)
class _Join:
    """A child to join: where from, on what, and how to read its number."""

    item: exp.Expr
    on: Sequence[exp.Expr]
    present: exp.Expr
    """a column that is NULL where the join found nothing"""
    users: int = 0


class _Joins:
    """Children joined at most once each, whatever number of columns need them."""

    def __init__(self, source: SqlSource, tables: Tables, values: Mapping[int, exp.Expr]) -> None:
        self._source = source
        self._tables = tables
        self._values = values
        self._joins: dict[tuple[str, tuple[int, ...]], _Join] = {}
        self._aliases: dict[tuple[str, tuple[int, ...]], str] = {}

    def use(self, attached: Sequence[Attached]) -> None:
        """Note that one column needs these children, all of them."""
        for place in dict.fromkeys(map(self._place, attached)):
            self._joins[place].users += 1

    def number(self, attached: Attached, inner: bool) -> exp.Expr | None:
        """The child's number in a row; None where it is always 1."""
        place = self._place(attached)
        if not attached.message.is_relation:
            alias = self._aliases[place]
            return own_column(self._tables.messages[attached.message].column, alias)
        if inner:
            return None
        missing = exp.Is(this=self._joins[place].present.copy(), expression=exp.null())
        return exp.Case(ifs=[exp.If(this=missing, true=integer(0))], default=integer(1))

    def needed_by_all(self, attached: Attached, columns: int) -> bool:
        return self._joins[self._place(attached)].users == columns

    def add_to(self, select: exp.Select, columns: int) -> exp.Select:
        """The select with the joins; one that every column needs drops rows without a match."""
        for join in self._joins.values():
            kind = "INNER" if join.users == columns else "LEFT"
            if join.on:
                select = select.join(join.item, on=conjunction(join.on), join_type=kind, copy=False)
            else:
                select = select.join(join.item, join_type="CROSS", copy=False)
        return select

    def _place(self, attached: Attached) -> tuple[str, tuple[int, ...]]:
        message, at = attached
        if message.is_relation:
            shape = message.shape
            terms = tuple(at[arg] for arg in shape.args if arg is not None)
            place = (f"relation {shape.predicate}", terms)
            if place not in self._joins:
                alias = self._alias(place)
                item, columns = self._source.relation(shape.predicate)
                on = [
                    exp.EQ(this=column(name, alias), expression=self._values[term].copy())
                    for name, term in zip(columns, terms, strict=True)
                ]
                self._joins[place] = _Join(aliased(item, alias), on, column(columns[0], alias))
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


def aliased(item: exp.Expr, alias: str) -> exp.Expr:
    """A table or query under a name of ours."""
    return exp.alias_(item.copy(), alias, table=True)


@dataclass(frozen=True, slots=True)
class _Root:
    """The join of guard and root that all messages of a shape start from."""

    select: exp.Select
    values: dict[int, exp.Expr]
    constant_columns: list[exp.Expr]
    constant_types: list[str]


def _root(source: SqlSource, shape: Shape, guards: Mapping[Guard, str]) -> _Root:
    item, columns = source.relation(shape.predicate)
    types = source.schema.types_of(shape.predicate)
    values: dict[int, exp.Expr] = {}
    if shape.guard is not None:
        values = {number: own_column(f"k{number}", "g") for number in range(shape.anchors)}
    conditions: list[exp.Expr] = []
    constant_columns: list[exp.Expr] = []
    constant_types: list[str] = []
    for name, arg, type_name in zip(columns, shape.args, types, strict=True):
        here = column(name, "f")
        if arg is None:
            constant_columns.append(here)
            constant_types.append(type_name)
        elif arg in values:
            conditions.append(exp.EQ(this=here, expression=values[arg].copy()))
        else:
            values[arg] = here
    facts = aliased(item, "f")
    if shape.guard is None:
        select = exp.Select().from_(facts, copy=False)
        if conditions:
            select = select.where(*conditions, copy=False)
    else:
        select = exp.Select().from_(own_table(guards[shape.guard], "g"), copy=False)
        select = select.join(facts, on=conjunction(conditions), join_type="INNER", copy=False)
    return _Root(select, values, constant_columns, constant_types)


def message_query(
    source: SqlSource, dialect: Dialect, messages: Sequence[Message], tables: Tables
) -> exp.Select:
    """Messages of one shape in one pass: their keys ``k0 k1 ...`` and numbers ``n0 n1 ...``.

    Tables of the children and of the guard must be in ``tables``. Where one message has no row
    but another has, its number is NULL, which means 0.
    """
    shape = messages[0].shape
    root = _root(source, shape, tables.guards)
    joins = _Joins(source, tables, root.values)
    for message in messages:
        joins.use(message.children)
    one_choice = len({message.constants for message in messages}) == 1
    select = root.select
    if one_choice:
        for condition in _equal(source, root, messages[0].constants):
            select = select.where(condition, copy=False)
    select = joins.add_to(select, len(messages))
    keys = [root.values[number].copy() for number in range(shape.anchors)]
    rows_repeat = not one_choice or any(arg is not None and arg >= shape.anchors for arg in shape.args)
    summed = rows_repeat or not keys
    numbers = []
    for message in messages:
        factors = [
            number
            for child in message.children
            if (number := joins.number(child, joins.needed_by_all(child, len(messages)))) is not None
        ]
        wide = tables.largest[message] > INT64_MAX
        value = product(_widened(factors, dialect) if wide else factors)
        if not one_choice:
            chosen = conjunction(_equal(source, root, message.constants))
            value = exp.Case(ifs=[exp.If(this=chosen, true=value)])
        if summed:
            counts_rows = one_choice and not factors
            value = exp.Count(this=exp.Star()) if counts_rows else exp.Sum(this=value)
        if wide or summed:
            value = dialect.cast(value, wide)
        numbers.append(value)
    named = [exp.alias_(key, f"k{number}") for number, key in enumerate(keys)]
    named += [exp.alias_(value, f"n{number}") for number, value in enumerate(numbers)]
    select = select.select(*named, copy=False)
    if summed and keys:
        select = select.group_by(*(key.copy() for key in keys), copy=False)
    return select


def _equal(source: SqlSource, root: _Root, constants: Sequence[str]) -> list[exp.Expr]:
    conditions: list[exp.Expr] = []
    for here, type_name, name in zip(root.constant_columns, root.constant_types, constants, strict=True):
        literal = source.constant(type_name, name)
        conditions.append(exp.false() if literal is None else exp.EQ(this=here.copy(), expression=literal))
    return conditions


def _widened(factors: list[exp.Expr], dialect: Dialect) -> list[exp.Expr]:
    """Factors whose product does not overflow: the first is cast, the others follow."""
    first = factors[0] if factors else integer(1)
    return [dialect.cast(first, wide=True), *factors[1:]]


def projection_query(source: SqlSource, projection: Projection, guards: Mapping[Guard, str]) -> exp.Select:
    """The distinct values of some variables of a shape's join, as ``k0 k1 ...``."""
    root = _root(source, projection.of, guards)
    named = [
        exp.alias_(root.values[variable].copy(), f"k{number}")
        for number, variable in enumerate(projection.at)
    ]
    return root.select.select(*named, copy=False).distinct(copy=False)


def counts_query(
    source: SqlSource, dialect: Dialect, formulas: Sequence[Formula], head: tuple[int, ...], tables: Tables
) -> exp.Select:
    """True counts ``t0 t1 ...`` of clauses for each distinct binding of these head variables.

    A binding is known by its number ``example``; its values are ``k0 k1 ...`` of the guard's table.
    """
    values = {variable: own_column(f"k{number}", "b") for number, variable in enumerate(head)}
    joins = _Joins(source, tables, values)
    for formula in formulas:
        joins.use([factor for term in formula.terms for factor in term.factors])
    select = exp.Select().from_(own_table(tables.guards[Bindings(head)], "b"), copy=False)
    # Every binding keeps its row: no join may drop one, so none counts as needed by all.
    select = joins.add_to(select, -1)
    named = [exp.alias_(own_column("example", "b"), "example")]
    for number, formula in enumerate(formulas):
        count = _count(formula, joins, tables, dialect)
        named.append(exp.alias_(count, f"t{number}"))
    return select.select(*named, copy=False)


def _count(formula: Formula, joins: _Joins, tables: Tables, dialect: Dialect) -> exp.Expr:
    wide = formula_size(formula, tables.largest) > INT64_MAX
    result: exp.Expr | None = None
    for term in formula.terms:
        value = _term(term, joins, dialect, wide)
        result = value if result is None else exp.Add(this=result, expression=value)
    return dialect.cast(result or integer(0), wide)


def _term(term: Term, joins: _Joins, dialect: Dialect, wide: bool) -> exp.Expr:
    factors: list[exp.Expr] = []
    for factor in term.factors:
        number = joins.number(factor, inner=False)
        assert number is not None
        if not factor.message.is_relation:
            number = exp.Coalesce(this=number, expressions=[integer(0)])
        factors.append(number)
    if term.coefficient != 1 or not factors:
        factors.insert(0, integer(term.coefficient))
    return product(_widened(factors, dialect) if wide else factors)


def formula_size(formula: Formula, largest: Mapping[Message, int]) -> int:
    """An upper bound of every number that computing a formula meets."""
    result = 0
    for term in formula.terms:
        size = abs(term.coefficient)
        for factor in term.factors:
            size *= largest[factor.message]
        result += size
    return result
