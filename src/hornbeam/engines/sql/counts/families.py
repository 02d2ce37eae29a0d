"""Families of clauses: clauses whose plans differ in one constant only, which one query counts together.

A search adds each literal with all its constants, so most candidates belong to a family. Its counts are
rows of a table, one for each binding and constant whose count is not 0, instead of a column for each clause:
most counts are 0 if there are many constants.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlglot import exp

from hornbeam.engines.sql.expressions import (
    Dialect,
    SqlSource,
    integer,
    join_to,
    or_zero,
    own_alias,
    own_column,
    own_table,
    product,
)
from hornbeam.engines.sql.plan import Attached, Formula, Projection, SqlMessage
from hornbeam.engines.sql.queries import HeadBindingTable, Joins, Tables, joined_roots, row_conditions
from hornbeam.logic.clauses import Clause
from hornbeam.logic.schema import Schema

LEAST_MEMBERS = 8
"""Fewer clauses are counted together with others, a column for each."""
MOST_MEMBERS = 1_000
"""A larger family is counted in parts."""
_VARIED = "\0"
"""Stands for the constant in which the plans of a family differ; no constant of the user has this name."""


class ClauseFamily(NamedTuple):
    """Clauses whose plans differ in one constant only."""

    plan: Formula
    """the plan that they share; the factor with the varied constant comes first, as do such children"""
    constants: Mapping[Clause, str]

    def parts(self, most: int) -> Iterator[ClauseFamily]:
        """The family in parts of at most this many clauses."""
        clauses, size = list(self.constants), max(1, most)
        for start in range(0, len(clauses), size):
            part = clauses[start : start + size]
            yield ClauseFamily(self.plan, {clause: self.constants[clause] for clause in part})

    def varied_type(self, schema: Schema) -> str:
        """The type of the varied constant."""
        predicate, place = self.varied_argument()
        return schema.types_of(predicate)[place]

    def varied_argument(self) -> tuple[str, int]:
        """The predicate that has the varied constant, and its place among the arguments."""
        message = self.varied_message()
        ((predicate, args, _),) = message.shape.roots
        places = [place for place, arg in enumerate(args) if arg is None]
        return predicate, places[message.constants.index(_VARIED)]

    def varied_message(self) -> SqlMessage:
        """The message whose root has the varied constant."""
        message = self.plan.terms[0].factors[0].message
        while _VARIED not in message.constants:
            message = message.children[0].message
        return message

    def others(self) -> Iterator[SqlMessage]:
        """The messages without the varied constant that the query reads."""
        first, *factors = self.plan.terms[0].factors
        yield from (factor.message for factor in factors)
        message = first.message
        while _VARIED not in message.constants:
            yield from (child.message for child in message.children[1:])
            message = message.children[0].message
        yield from (child.message for child in message.children)


def families(plans: Mapping[Clause, Formula]) -> Iterator[ClauseFamily]:
    """The families among clauses, the largest first; a clause belongs to one at most."""
    groups: dict[Formula, dict[Clause, str]] = {}
    for clause, plan in plans.items():
        for template, constant in _templates(plan):
            groups.setdefault(template, {})[clause] = constant
    taken: set[Clause] = set()
    for template, members in sorted(groups.items(), key=lambda group: -len(group[1])):
        free = [clause for clause in members if clause not in taken]
        if len(free) >= LEAST_MEMBERS:
            taken.update(free)
            yield from ClauseFamily(template, {clause: members[clause] for clause in free}).parts(
                MOST_MEMBERS
            )


def _templates(plan: Formula) -> Iterator[tuple[Formula, str]]:
    """The plan with each of its constants varied, and the constant."""
    if len(plan.terms) != 1 or plan.terms[0].coefficient <= 0:
        return
    (term,) = plan.terms
    for factors, constant in _varied_first(term.factors):
        yield Formula((term._replace(factors=factors),), plan.head), constant


def _varied(message: SqlMessage) -> Iterator[tuple[SqlMessage, str]]:
    if isinstance(message.shape.guard, Projection) or len(message.shape.roots) != 1:
        return
    constants = message.constants
    for place, constant in enumerate(constants):
        varied = (*constants[:place], _VARIED, *constants[place + 1 :])
        yield message._replace(constants=varied), constant
    for children, constant in _varied_first(message.children):
        yield message._replace(children=children), constant


def _varied_first(attached: Sequence[Attached]) -> Iterator[tuple[tuple[Attached, ...], str]]:
    """Children or factors with one constant varied in one of them, which comes first."""
    for place, (message, at) in enumerate(attached):
        for varied, constant in _varied(message):
            yield (Attached(varied, at), *attached[:place], *attached[place + 1 :]), constant


class FamilyQuery:
    """Writes the query of the counts of a family.

    ``constants`` is the table of its constants: the ``value`` of each, and its number ``member``.
    """

    def __init__(self, source: SqlSource, dialect: Dialect, tables: Tables, constants: str) -> None:
        self._source = source
        self._dialect = dialect
        self._tables = tables
        self._constants = constants

    def write(self, plan: Formula, bindings: HeadBindingTable) -> exp.Select:
        """The counts ``t0`` that are not 0, by binding and by number ``member`` of the constant."""
        select, numbers = self._joined(plan, bindings)
        numbers = self._number_of(plan.terms[0].factors[0].message) + numbers
        # A small literal would be a 32-bit integer.
        count = own_alias(self._dialect.cast(or_zero(product(numbers))), "t0")
        others = [own_column(name, "b") for name in bindings.others]
        return select.select(*others, own_column("member", "v"), count, copy=False)

    def _joined(self, plan: Formula, bindings: HeadBindingTable) -> tuple[exp.Select, list[exp.Expr]]:
        """The bindings joined with all messages of the plan, and the factors without the varied constant."""
        (term,) = plan.terms
        first, *factors = term.factors
        values: dict[int, exp.Expr] = {
            variable: own_column(f"k{number}", "b") for number, variable in enumerate(bindings.head)
        }
        joins = Joins(self._source, self._tables, values, 1)
        joins.use(factors)
        select = exp.Select().from_(own_table(bindings.name, "b"), copy=False)
        self._join(select, first, values)
        joins.add_to(select)
        coefficient = term.coefficient
        for range_ in term.populations:
            size = self._tables.population(range_)
            assert isinstance(size, int)
            coefficient *= size
        numbers = [joins.condition(condition) for condition in term.conditions]
        numbers += [number for factor in factors if (number := joins.number(factor)) is not None]
        if coefficient != 1:
            numbers.append(self._dialect.cast(integer(coefficient)))
        return select, numbers

    def _join(self, select: exp.Select, attached: Attached, values: Mapping[int, exp.Expr]) -> None:
        """Join a message with the varied constant, under the alias ``v``."""
        on = [
            exp.EQ(this=own_column(f"k{number}", "v"), expression=values[variable].copy())
            for number, variable in enumerate(attached.at)
        ]
        join_to(select, self._message(attached.message).subquery("v", copy=False), "INNER", on)

    def _message(self, message: SqlMessage) -> exp.Select:
        """The numbers of a message with the varied constant, by its keys ``k0 k1 ...``."""
        shape, given_message = message.shape, message
        root = joined_roots(self._source, shape, self._tables.guards)
        here = _VARIED in message.constants
        children = message.children if here else message.children[1:]
        joins = Joins(self._source, self._tables, root.values, 1)
        joins.use(children)
        select = root.select
        if here:
            place = message.constants.index(_VARIED)
            value = root.constant_columns.pop(place)
            fixed = message.constants[:place] + message.constants[place + 1 :]
            message = message._replace(constants=fixed)
            given = self._source.comparable(value, root.constant_types.pop(place))
            same = exp.EQ(this=given, expression=own_column("value", "v"))
            join_to(select, own_table(self._constants, "v"), "INNER", [same])
        else:
            self._join(select, message.children[0], root.values)
        for condition in row_conditions(self._source, root, message):
            select = select.where(condition, copy=False)
        joins.add_to(select)
        keys = [root.values[number].copy() for number in range(shape.anchors)]
        factors = [number for child in children if (number := joins.number(child)) is not None]
        return self._summed(select, keys, factors, given_message)

    def _summed(
        self, select: exp.Select, keys: list[exp.Expr], factors: list[exp.Expr], message: SqlMessage
    ) -> exp.Select:
        """The number ``n`` by key and ``member``: the sum of the factors' products with the varied child."""
        names = [*(f"k{number}" for number in range(len(keys))), "member"]
        keys = [*keys, own_column("member", "v")]
        select = select.select(*map(own_alias, keys, names), copy=False)
        if not self._number_of(message):
            return select
        if _VARIED not in message.constants:
            factors = self._number_of(message.children[0].message) + factors
        # Counting rows is faster than a sum.
        number = exp.Sum(this=product(factors)) if factors else exp.Count(this=exp.Star())
        select = select.select(own_alias(self._dialect.cast(number), "n"), copy=False)
        return select.group_by(*(key.copy() for key in keys), copy=False)

    def _number_of(self, message: SqlMessage) -> list[exp.Expr]:
        """The number of a message with the varied constant, which the alias ``v`` has; nothing if it is 1."""
        here = _VARIED in message.constants
        is_one = here and not message.shape.sums_out and not message.children
        return [] if is_one else [own_column("n", "v")]
