"""From a body to a part: what one fact at most can tell is a test or a lookup, all else is a link.

The steps of a body are taken as they are written, as far as that says what is known to which step. Then the
order no longer matters: a step is put at the first row at which all that it needs is known, and steps that
share a variable which is not known there stay together behind one link.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

from hornbeam.engines.plan.parts import (
    HERE,
    Absent,
    Arg,
    Cell,
    Compare,
    Exists,
    FactNumber,
    Facts,
    Found,
    Here,
    Input,
    IsConstant,
    ManyLink,
    New,
    RowPart,
    Test,
    Value,
)
from hornbeam.logic.clauses import Atom, Comparison, Not
from hornbeam.logic.effects import (
    Body,
    Equals,
    NumberOf,
    Recent,
    Step,
    atom_in,
    new_variables_of,
    step_variables,
    variable_types,
)
from hornbeam.logic.schema import Schema, number_of

Single = Callable[[str, tuple[int, ...]], bool]
"""Whether at most one fact of a predicate has given values at some arguments."""
Made = TypeVar("Made")


class _Placed(NamedTuple):
    """A step with what its place in the body says about it."""

    step: Step
    number: int
    """its place in the body"""
    bound: frozenset[int]
    """the variables that it needs"""
    new: tuple[int, ...]
    """the variables that it binds"""


class _Wanted(NamedTuple):
    """What a request asks of the groundings of its body."""

    types: Mapping[int, str]
    variable: int | None
    """the variable whose values are asked for"""
    timed: int | None
    """the place of the step whose fact has the time of a grounding"""


class Compiler:
    """Makes plans for bodies; equal parts are made once.

    ``single`` says where at most one fact matches; ``timed`` are the predicates whose facts have times.
    """

    def __init__(self, schema: Schema, single: Single, timed: Collection[str] = ()) -> None:
        self._schema = schema
        self._single = single
        self._timed = timed
        self._made: dict[Hashable, object] = {}
        self._plans: dict[Hashable, RowPart] = {}

    def part_of(self, head: Atom, body: Body, variable: int | None = None, times: bool = False) -> RowPart:
        """The part for an example; ``times`` asks for the times of groundings, too.

        The arguments of the head are its inputs.
        """
        request = (head, body, variable, times)
        if request not in self._plans:
            types = variable_types(self._schema, head, body)
            placed = _placed(body, set(range(len(head.args))))
            at = [each.number for each in placed if self._has_time(each.step)] if times else []
            known: dict[int, Value] = {place: Input(place, types[place]) for place in range(len(head.args))}
            self._plans[request] = self._part(
                placed, known, _Wanted(types, variable, max(at, default=None)), None
            )
        return self._plans[request]

    def _has_time(self, step: Step) -> bool:
        atom = atom_in(step)
        return isinstance(step, Atom | Recent) and atom is not None and atom.predicate in self._timed

    def _part(
        self, steps: Sequence[_Placed], known: dict[int, Value], asked: _Wanted, reached: int | None
    ) -> RowPart:
        """The part for a row; ``reached`` is the place of the step whose fact the row is."""
        tests: list[Test] = []
        time: Here | Facts | None = HERE if reached is not None and reached == asked.timed else None
        rest, waiting = list(steps), True
        while waiting:
            waiting = False
            left = []
            for each in rest:
                if not each.bound <= known.keys() or not self._is_test(each, known):
                    left.append(each)
                    continue
                found = self._test(each, known, asked.types)
                tests += [] if found is None else [found]
                if each.number == asked.timed:
                    assert isinstance(found, Exists)
                    time = found.facts
                waiting = True
            rest = left
        value = None if asked.variable is None else known.get(asked.variable)
        below = asked if value is None else asked._replace(variable=None)
        links = tuple(self._link(group, known, below) for group in _groups(rest, known))
        has_value = value is not None or any(link.below.has_value for link in links)
        has_time = time is not None or any(link.below.has_time for link in links)
        distinct = tuple(dict.fromkeys(tests))
        own = (*(_asked_of_test(test) for test in distinct), _asked_of_value(value))
        predicates = frozenset(chain(*own, *(link.predicates for link in links)))
        identity = (RowPart, distinct, links, value, time)
        return self._once(
            identity, lambda: RowPart(distinct, links, value, time, has_value, has_time, predicates)
        )

    def _is_test(self, placed: _Placed, known: Mapping[int, Value]) -> bool:
        """Whether a step is about one fact at most, or about none."""
        step = placed.step
        if not isinstance(step, Atom | Recent):
            return True
        atom = step.atom if isinstance(step, Recent) else step
        if not placed.new:
            return True
        places = tuple(
            place for place, term in enumerate(atom.args) if isinstance(term, str) or term in placed.bound
        )
        return bool(places) and self._single(atom.predicate, places)

    def _test(self, placed: _Placed, known: dict[int, Value], types: Mapping[int, str]) -> Test | None:
        """The test that a step is; what it binds is then known. A number of facts tests nothing."""
        step = placed.step
        if isinstance(step, Comparison):
            return Compare(known[step.variable], step.operator, number_of(step.value))
        if isinstance(step, Equals):
            return IsConstant(known[step.variable], step.constant)
        facts = self._facts(placed, known)
        if isinstance(step, NumberOf):
            known[step.variable] = FactNumber(facts)
            return None
        if isinstance(step, Not):
            return Absent(facts)
        atom = atom_in(step)
        assert atom is not None
        for variable in placed.new:
            known[variable] = Found(facts, atom.args.index(variable), types[variable])
        return Exists(facts)

    def _facts(self, placed: _Placed, known: Mapping[int, Value]) -> Facts:
        """The facts that match a step's atom."""
        step = placed.step
        atom = atom_in(step)
        assert atom is not None
        args: list[Arg] = [
            term
            if isinstance(term, str)
            else known[term]
            if term in placed.bound
            else New(atom.args.index(term))
            for term in atom.args
        ]
        within = step.within if isinstance(step, Recent) else None
        last = (
            step.last
            if isinstance(step, Recent) and placed.new and not self._is_test(placed, known)
            else None
        )
        if atom.predicate not in self._timed:
            last = within = None
        key = (Facts, atom.predicate, tuple(args), last, within)
        return self._once(key, lambda: Facts(atom.predicate, tuple(args), last, within))

    def _link(self, group: Sequence[_Placed], known: Mapping[int, Value], asked: _Wanted) -> ManyLink:
        """The link that the first step of a group is; the other steps are below it."""
        first, *rest = group
        atom = atom_in(first.step)
        assert atom is not None
        facts = self._facts(first, known)
        needed = {variable for each in rest for variable in each.bound}
        carried: dict[Value, Input] = {}
        below: dict[int, Value] = {}
        for variable in sorted(needed | set(first.new)):
            if variable in atom.args:
                below[variable] = Cell(atom.args.index(variable), asked.types[variable])
            elif variable in known:
                value = known[variable]
                below[variable] = carried.setdefault(value, Input(len(carried), asked.types[variable]))
        part = self._part(rest, below, asked, first.number)
        key = (ManyLink, facts, tuple(carried), part)
        return self._once(key, lambda: ManyLink(facts, tuple(carried), part))

    def _once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """The part, link or facts with these members, which is made at first use."""
        made = self._made.get(key)
        if made is None:
            self._made[key] = made = make()
        return made  # type: ignore[return-value]


def _placed(body: Body, head: set[int]) -> list[_Placed]:
    """The steps of a body; each binds the variables that no step before it has."""
    placed, known = [], set(head)
    for number, step in enumerate(body):
        new = new_variables_of(step, known)
        used = {step.variable} if isinstance(step, Comparison | Equals) else set(step_variables(step))
        bound = frozenset((used - set(new)) & known)
        placed.append(_Placed(step, number, bound, new))
        known |= set(new)
    return placed


def _groups(steps: Sequence[_Placed], known: Mapping[int, Value]) -> list[list[_Placed]]:
    """Steps that share variables which are not known; steps of different groups share none."""
    groups: list[tuple[set[int], list[_Placed]]] = []
    for each in steps:
        own = (set(each.bound) | set(each.new)) - known.keys()
        touched = [group for group in groups if group[0] & own]
        variables = own.union(*(group[0] for group in touched))
        members = [step for group in touched for step in group[1]]
        groups = [group for group in groups if group not in touched]
        groups.append((variables, sorted([*members, each], key=lambda step: step.number)))
    return [members for _, members in sorted(groups, key=lambda group: group[1][0].number)]


def _asked_of_value(value: Arg | None) -> Iterator[str]:
    """The predicates that a value asks for."""
    if isinstance(value, Found | FactNumber):
        yield from _asked_of_facts(value.facts)


def _asked_of_facts(facts: Facts) -> Iterator[str]:
    yield facts.predicate
    for arg in facts.args:
        yield from _asked_of_value(arg)


def _asked_of_test(test: Test) -> Iterator[str]:
    if isinstance(test, Exists | Absent):
        yield from _asked_of_facts(test.facts)
    else:
        yield from _asked_of_value(test.value)
