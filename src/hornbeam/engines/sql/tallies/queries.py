"""The SQL query of a tally: one common table expression for each step of a body, and a grouped count.

The first expression is the table of the examples' bindings. Each step reads the expression before it: an
atom joins the facts, a negation keeps groundings without a matching fact. The last facts, and numbers of
facts, are found once for each combination of values that they depend on, and then joined. The columns of a
grounding are ``example``, ``v0 v1 ...`` for the variables, ``moment`` for its time, and what facts are
compared with: ``upto`` for the cut-off, ``since0 since1 ...`` for links limited in time. Before a link,
groundings that differ only in variables that are not needed any more become one, with their number ``n``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy.typing as npt
from sqlglot import exp

from hornbeam.data.numbers import Floats
from hornbeam.engines.sql.expressions import (
    Dialect,
    SqlFacts,
    SqlRelation,
    SqlSource,
    aliased,
    conjunction,
    integer,
    join_to,
    numeric,
    own_alias,
    own_column,
    own_table,
    real,
)
from hornbeam.engines.tally import TallyRequest
from hornbeam.logic.clauses import AT_LEAST, Atom, Comparison, Not
from hornbeam.logic.effects import (
    NUMBER_OF_FACTS,
    Body,
    Equals,
    NumberOf,
    Recent,
    Step,
    atom_in,
    new_variables_of,
    step_variables,
)
from hornbeam.logic.schema import number_of


class StepSource(SqlFacts, Protocol):
    """Facts that steps can be written for: times in the form in which queries compare them."""

    def is_before(self, since: exp.Expr, moment: exp.Expr) -> exp.Expr:
        """The condition that the time of a fact is before a moment, or the moment is infinity."""

    def is_from(self, since: exp.Expr, moment: exp.Expr) -> exp.Expr:
        """The condition that the time of a fact is a moment or later."""

    def tallied_time(self, since: exp.Expr) -> exp.Expr:
        """The time of a fact in the form in which it is compared, grouped and fetched."""


class TallySource(StepSource, SqlSource, Protocol):
    """Facts whose groundings can be tallied: values and times in the form in which queries compare them."""

    def moments(self, times: Floats) -> npt.NDArray[Any]:
        """Values for times, as keys of type ``CUTOFF``; infinity is after all facts, its negative before."""

    def tallied(self, value: exp.Expr, type_name: str) -> exp.Expr:
        """The value of a column of this type in the form in which it is grouped and fetched."""

    def decoded(self, type_name: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Fetched values of a type: floats if it is numeric, else codes, or names if values are not coded."""

    def decoded_times(self, values: npt.NDArray[Any]) -> Floats:
        """Fetched times of facts."""

    def constants(self, type_name: str) -> str:
        """The table of a type's constants and their text, ``constant name``, if values are not coded."""


class Bindings(NamedTuple):
    """The table of the distinct keys of examples: ``example``, ``k0 k1 ...``."""

    table: str
    variables: tuple[int, ...]
    """the head variables in the first columns"""
    cutoff: bool
    """whether the next column is the cut-off, and one more follows for each of ``within``"""
    within: tuple[float, ...]
    identity: tuple[str, ...] = ("example",)
    """the columns that tell examples apart"""


class Groundings(NamedTuple):
    """A table of the groundings of the first steps of bodies, from which queries start."""

    table: str
    body: Body
    variables: tuple[int, ...]
    """the variables that have columns; the others are not needed any more"""
    has_moment: bool
    has_number: bool
    """whether rows stand for several groundings"""


class Expressions:
    """Collects common table expressions and names them."""

    def __init__(self) -> None:
        self.named: list[tuple[str, exp.Select]] = []

    def add(self, select: exp.Select, letter: str) -> str:
        """The name of an expression; ``letter`` tells what it holds."""
        name = f"{letter}{len(self.named)}"
        self.named.append((name, select))
        return name

    def around(self, query: exp.Select) -> exp.Select:
        """A query together with the expressions that it reads."""
        for name, expression in self.named:
            query = query.with_(exp.TableAlias(this=exp.to_identifier(name)), as_=expression, copy=False)
        return query


class StepsQuery:
    """Writes the groundings of the body of a request: one expression for each step."""

    def __init__(
        self,
        source: StepSource,
        request: TallyRequest,
        types: Mapping[int, str],
        bindings: Bindings,
        expressions: Expressions,
    ) -> None:
        self._source = source
        self._request = request
        self._types = types
        self._bindings = bindings
        self._known = [*bindings.variables]
        self._has_moment = False
        self._has_number = False
        self._others = (
            ["upto", *(f"since{n}" for n in range(len(bindings.within)))] if bindings.cutoff else []
        )
        self._expressions = expressions
        self._last = ""

    def fetched(self) -> tuple[int, ...]:
        """The wanted variables that the query returns; the key of an example has the others."""
        arity = len(self._request.head.args)
        return tuple(variable for variable in self._request.variables if variable >= arity)

    @property
    def has_moment(self) -> bool:
        """Whether the query, which must be written, returns times."""
        return self._has_moment and self._request.times

    def write_steps(self, dialect: Dialect, start: Groundings | None = None) -> None:
        """Write the expressions of all steps, or of those after the steps of a table of groundings."""
        done = 0
        if start is None:
            self._begin()
        else:
            done, self._last = len(start.body), start.table
            self._known = [*start.variables]
            self._has_moment, self._has_number = start.has_moment, start.has_number
        for place, step in enumerate(self._request.body[done:], done):
            self._add(step)
            if isinstance(step, Atom | Recent):
                self._collapse(self._request.body[place + 1 :], dialect)

    def _begin(self) -> None:
        """Write the expression of the examples' bindings."""
        keys = own_table(self._bindings.table, "s")
        names = [*(f"v{variable}" for variable in self._known), *self._others]
        identity = [own_column(name, "s") for name in self._bindings.identity]
        select = exp.Select().from_(keys, copy=False).select(*identity, copy=False)
        for number, name in enumerate(names):
            select = select.select(own_alias(own_column(f"k{number}", "s"), name), copy=False)
        self._follow(select)

    def grouped(self, groups: Sequence[exp.Expr], names: Sequence[str], dialect: Dialect) -> exp.Select:
        """The groundings in groups of equal values, under these names, with the number in each group."""
        named = [own_alias(group.copy(), name) for group, name in zip(groups, names, strict=True)]
        select = self._from_last().select(*named, self._number(dialect), copy=False)
        return select.group_by(*groups, copy=False)

    def _collapse(self, rest: Body, dialect: Dialect) -> None:
        """Make groundings that are the same for the other steps one, if a link follows."""
        known = set(self._known)
        needed = {variable for step in rest for variable in step_variables(step)} | {*self._wanted()}
        has_link = any(isinstance(step, Atom | Recent) and new_variables_of(step, known) for step in rest)
        if not has_link or all(
            variable in needed or variable in self._bindings.variables for variable in known
        ):
            return
        later = [atom_in(step) for step in rest if isinstance(step, Atom | Recent)]
        is_replaced = any(atom and self._source.relation(atom.predicate).time is not None for atom in later)
        self._merge(needed, self._request.times and not is_replaced, dialect)

    def _wanted(self) -> tuple[int, ...]:
        """The variables that are needed after the last step."""
        return self.fetched()

    def _merge(self, needed: Collection[int], moment: bool, dialect: Dialect) -> None:
        """Make groundings that differ only in other variables one."""
        self._known = [variable for variable in self._known if variable in needed]
        self._has_moment = self._has_moment and moment
        columns = [column for column in self._columns() if column.name != "n"]
        select = self._from_last().select(*columns, self._number(dialect), copy=False)
        self._follow(select.group_by(*(column.copy() for column in columns), copy=False))
        self._has_number = True

    def _number(self, dialect: Dialect) -> exp.Expr:
        """The number of groundings in a group."""
        number = exp.Sum(this=own_column("n", "s")) if self._has_number else exp.Count(this=exp.Star())
        return own_alias(dialect.cast(number), "n")

    def _add(self, step: Step) -> None:
        if isinstance(step, Comparison):
            self._keep([self._compared(step)])
            return
        if isinstance(step, Equals):
            column = own_column(f"v{step.variable}", "s")
            self._keep([self._source.equals(column, self._types[step.variable], step.constant)])
            return
        atom = atom_in(step)
        assert atom is not None
        relation = self._source.relation(atom.predicate)
        on = self._matching(atom, relation)
        if isinstance(step, Not):
            facts = exp.Select().select(integer(1), copy=False).from_(aliased(relation.item, "f"), copy=False)
            if on:
                facts = facts.where(conjunction(on), copy=False)
            self._keep([exp.Not(this=exp.Exists(this=facts))])
        elif isinstance(step, NumberOf):
            self._count(step.variable, atom, relation, on)
        elif isinstance(step, Recent) and relation.time is not None:
            self._join_recent(step, atom, relation, on)
        else:
            self._join(step, atom, relation, on)

    def _join(self, step: Step, atom: Atom, relation: SqlRelation, on: list[exp.Expr]) -> None:
        """Join the facts of an atom to the groundings."""
        timed = relation.time is not None
        select = self._from_last().select(*self._columns(moment=not timed), copy=False)
        select = select.select(*self._found(step, atom, relation), copy=False)
        join_to(select, aliased(relation.item, "f"), "INNER", on)
        self._follow(select)
        self._bind(step, timed)

    def _join_recent(self, step: Recent, atom: Atom, relation: SqlRelation, on: list[exp.Expr]) -> None:
        """Join the facts that a recent atom takes to the groundings."""
        depends = self._depends(atom, timed=True)
        if step.within is not None and self._bindings.cutoff:
            earliest = f"since{self._bindings.within.index(step.within)}"
            on = [*on, self._source.is_from(relation.since("f"), own_column(earliest, "s"))]
            depends.append(earliest)
        if step.last is None:
            self._join(step, atom, relation, on)
            return
        latest = exp.Ordered(this=self._source.tallied_time(relation.since("f")), desc=True, nulls_first=True)
        place = exp.Window(
            this=exp.Anonymous(this="RANK"),
            partition_by=[own_column(name, "s") for name in depends],
            order=exp.Order(expressions=[latest]),
        )
        facts = self._facts_of(depends, relation, on)
        facts = facts.select(*self._found(step, atom, relation), own_alias(place, "place"), copy=False)
        taken = self._name(facts, "t")
        names = [f"v{variable}" for variable in new_variables_of(step, set(self._known))]
        select = self._from_last().select(*self._columns(moment=False), copy=False)
        select = select.select(*(own_column(name, "t") for name in (*names, "moment")), copy=False)
        is_last = exp.LTE(this=own_column("place", "t"), expression=integer(step.last))
        join_to(select, own_table(taken, "t"), "INNER", [*_same(depends), is_last])
        self._follow(select)
        self._bind(step, timed=True)

    def _count(self, variable: int, atom: Atom, relation: SqlRelation, on: list[exp.Expr]) -> None:
        """Add the number of facts that match an atom to the groundings."""
        depends = self._depends(atom, relation.time is not None)
        facts = self._facts_of(depends, relation, on)
        facts = facts.select(own_alias(exp.Count(this=exp.Star()), "number"), copy=False)
        if depends:
            facts = facts.group_by(*(own_column(name, "s") for name in depends), copy=False)
        counted = self._name(facts, "t")
        number = exp.Coalesce(this=own_column("number", "t"), expressions=[integer(0)])
        select = self._from_last().select(*self._columns(), own_alias(number, f"v{variable}"), copy=False)
        join_to(select, own_table(counted, "t"), "LEFT", _same(depends))
        self._follow(select)
        self._known.append(variable)

    def _depends(self, atom: Atom, timed: bool) -> list[str]:
        """The columns of a grounding on which the facts that match an atom depend."""
        known = [term for term in dict.fromkeys(atom.args) if isinstance(term, int) and term in self._known]
        return [*(f"v{term}" for term in known), *(["upto"] if timed and self._bindings.cutoff else [])]

    def _facts_of(self, depends: Sequence[str], relation: SqlRelation, on: Sequence[exp.Expr]) -> exp.Select:
        """The matching facts for each combination of values of some columns of the groundings."""
        item = aliased(relation.item, "f")
        if not depends:
            select = exp.Select().from_(item, copy=False)
            return select.where(*on, copy=False) if on else select
        columns = [own_column(name, "s") for name in depends]
        distinct = self._name(self._from_last().select(*columns, copy=False).distinct(copy=False), "d")
        select = exp.Select().from_(own_table(distinct, "s"), copy=False)
        select = select.select(*(column.copy() for column in columns), copy=False)
        join_to(select, item, "INNER", on)
        return select

    def _found(self, step: Step, atom: Atom, relation: SqlRelation) -> list[exp.Expr]:
        """The columns that a joined fact adds to a grounding."""
        found: list[exp.Expr] = [
            own_alias(relation.column(atom.args.index(variable), "f"), f"v{variable}")
            for variable in new_variables_of(step, set(self._known))
        ]
        return found if relation.time is None else [*found, own_alias(relation.since("f"), "moment")]

    def _bind(self, step: Step, timed: bool) -> None:
        self._known += new_variables_of(step, set(self._known))
        self._has_moment = self._has_moment or timed

    def _matching(self, atom: Atom, relation: SqlRelation) -> list[exp.Expr]:
        """The conditions that a fact matches an atom in a grounding and exists for the example."""
        types = self._source.schema.types_of(atom.predicate)
        conditions: list[exp.Expr] = []
        for position, (term, type_name) in enumerate(zip(atom.args, types, strict=True)):
            value = relation.column(position, "f")
            first = atom.args.index(term)
            if isinstance(term, str):
                conditions.append(self._source.equals(value, type_name, term))
            elif term in self._known:
                conditions.append(exp.EQ(this=value, expression=own_column(f"v{term}", "s")))
            elif first < position:
                conditions.append(exp.EQ(this=value, expression=relation.column(first, "f")))
        if relation.time is not None and self._bindings.cutoff:
            conditions.append(self._source.is_before(relation.since("f"), own_column("upto", "s")))
        return conditions

    def _compared(self, step: Comparison) -> exp.Expr:
        value, type_name = own_column(f"v{step.variable}", "s"), self._types[step.variable]
        if type_name != NUMBER_OF_FACTS:
            return self._source.compares(value, type_name, step.operator, step.value)
        side = exp.GTE if step.operator == AT_LEAST else exp.LT
        return side(this=numeric(value, date=False), expression=real(number_of(step.value)))

    def _keep(self, conditions: Sequence[exp.Expr]) -> None:
        """Keep the groundings that satisfy conditions."""
        select = self._from_last().select(*self._columns(), copy=False)
        self._follow(select.where(*conditions, copy=False))

    def _follow(self, select: exp.Select) -> None:
        """Add an expression with the groundings that the next step starts from."""
        self._last = self._name(select, "s")

    def _name(self, select: exp.Select, letter: str) -> str:
        return self._expressions.add(select, letter)

    def _from_last(self) -> exp.Select:
        return exp.Select().from_(own_table(self._last, "s"), copy=False)

    def _columns(self, moment: bool = True) -> list[exp.Expr]:
        """The columns of the groundings so far."""
        names = [*self._bindings.identity, *(f"v{variable}" for variable in self._known), *self._others]
        names += ["moment"] if moment and self._has_moment else []
        names += ["n"] if self._has_number else []
        return [own_column(name, "s") for name in names]


def _same(names: Sequence[str]) -> list[exp.Expr]:
    """The conditions that groundings and what was found for them have equal values."""
    return [exp.EQ(this=own_column(name, "s"), expression=own_column(name, "t")) for name in names]
