"""Scores of actions in one state, in plain Python: a state is answered without making a database of it.

A body is followed step by step from the head's variables, over tables that map the variables which are still
needed to a number of groundings. The values are those of the engines, and so are the scores.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from hornbeam.errors import DataError
from hornbeam.logic import features as kinds
from hornbeam.logic.clauses import AT_LEAST, Atom, Comparison, Not
from hornbeam.logic.effects import (
    Body,
    Curve,
    Effect,
    Equals,
    NumberOf,
    Recent,
    Step,
    atom_in,
    new_variables_of,
    step_variables,
)
from hornbeam.logic.schema import number_of
from hornbeam.model.clause_model import Model
from hornbeam.policies.language import CATEGORY, NUMBER, WORLD, Row, State, WorldLanguage
from hornbeam.policies.worlds import in_world

Table = dict[tuple[Any, ...], int]
"""The number of groundings for each combination of values of some variables."""
Values = tuple[Any, ...]
HERE = "this world"
"""The name of the world of a single state."""
UNSUPPORTED = tuple(
    name
    for name, kind in kinds.KINDS.items()
    if kind.edge or kind.needs in (kinds.DATES, kinds.TIMES, kinds.CUTOFF)
)
"""Features of times, which worlds do not have."""


class StateFacts:
    """The facts of one state, indexed when they are asked for."""

    def __init__(self, language: WorldLanguage, state: State) -> None:
        self.state, self._language = state, language
        self._indexes: dict[tuple[Any, ...], dict[Any, list[Values]]] = {}
        self.values: dict[tuple[Any, ...], float] = {}
        """the values of features, by effect and head"""

    def rows(self, predicate: str) -> Iterable[Row]:
        """The facts of a predicate of the schema: those without objects are about the world."""
        types = self._language.predicates.get(predicate)
        if types is None:
            for name in self._language.types:
                if in_world(name) == predicate:
                    return [(each, HERE) for each in self.state.objects[name]]
            return ()
        rows = self.state.facts[predicate]
        of_world = not types or types[0] in (NUMBER, CATEGORY)
        return [(HERE, *row) for row in rows] if of_world else rows

    def index(self, access: Access) -> dict[Any, list[Values]]:
        """For each combination of known arguments, the new ones of the facts that match."""
        key = access.key
        found = self._indexes.get(key)
        if found is None:
            found = self._indexes[key] = {}
            known, new, same = access.known, access.new, access.same
            for row in self.rows(access.predicate):
                if all(row[one] == row[other] for one, other in same):
                    of = tuple([row[place] for place in known])
                    found.setdefault(of, []).append(tuple([row[place] for place in new]))
        return found


@dataclass(frozen=True, eq=False)
class Access:
    """How the facts of an atom are looked up: by some arguments, for others."""

    predicate: str
    known: tuple[int, ...]
    """places of arguments that are given: constants, and variables that are bound"""
    new: tuple[int, ...]
    """places of the first use of each new variable"""
    same: tuple[tuple[int, int], ...]
    """places that must be equal, because a new variable is there twice"""

    @cached_property
    def key(self) -> tuple[Any, ...]:
        return self.predicate, self.known, self.new, self.same


Getter = Callable[[Values], Values]


class _Follow(NamedTuple):
    """A step over facts: look them up by some values, and keep some of the old and new ones."""

    access: Access
    look_up: Getter
    keep: Getter
    form: str
    """``atom``, ``not`` or ``number``"""


class _Test(NamedTuple):
    """A step that keeps groundings whose value at a place passes a test."""

    place: int
    test: Callable[[Any], bool]
    keep: Getter


class Query:
    """A body compiled for tables: which head variables it starts from, and its steps."""

    def __init__(self, head: Atom, body: Body, wanted: tuple[int, ...]) -> None:
        arity = len(head.args)
        used = {each for step in body for each in step_variables(step)} | {*wanted}
        self.start = tuple(sorted(each for each in used if each < arity))
        """the head variables that the body uses"""
        self._steps: list[_Follow | _Test] = []
        live, known = self.start, set(self.start)
        for place, step in enumerate(body):
            needed = {each for later in body[place + 1 :] for each in step_variables(later)} | {*wanted}
            live = self._add(step, live, known, needed)
        self.place = live.index(wanted[0]) if wanted else -1
        """the place of the wanted variable in the last table"""

    def _add(self, step: Step, live: tuple[int, ...], known: set[int], needed: set[int]) -> tuple[int, ...]:
        """Compile a step; returns the variables of the table after it."""
        if isinstance(step, Comparison | Equals):
            after = tuple(each for each in live if each in needed)
            self._steps.append(_Test(live.index(step.variable), _test_of(step), _getter(live, after)))
            return after
        atom = atom_in(step)
        assert atom is not None
        form = "not" if isinstance(step, Not) else "number" if isinstance(step, NumberOf) else "atom"
        access, own = _access(atom, known)
        new = new_variables_of(step, known)
        known.update(new)
        wide = (*live, *(new if form == "number" else own if form == "atom" else ()))
        after = tuple(each for each in wide if each in needed)
        look_up = _getter(live, tuple(atom.args[place] for place in access.known))
        self._steps.append(_Follow(access, look_up, _getter(wide, after), form))
        return after

    def run(self, facts: StateFacts, start: Values) -> Table:
        """The groundings in a state, from values of the head variables that the body uses."""
        table: Table = {start: 1}
        for step in self._steps:
            if not table:
                break
            keep = step.keep
            after: Table = {}
            if isinstance(step, _Test):
                for binding, number in table.items():
                    if step.test(binding[step.place]):
                        kept = keep(binding)
                        after[kept] = after.get(kept, 0) + number
                table = after
                continue
            index, look_up, form = facts.index(step.access), step.look_up, step.form
            for binding, number in table.items():
                found = index.get(look_up(binding))
                if form == "atom":
                    if found is None:
                        continue
                    for new in found:
                        kept = keep(binding + new)
                        after[kept] = after.get(kept, 0) + number
                elif form == "number":
                    kept = keep((*binding, 0 if found is None else len(found)))
                    after[kept] = after.get(kept, 0) + number
                elif found is None:
                    kept = keep(binding)
                    after[kept] = after.get(kept, 0) + number
            table = after
        return table


def _access(atom: Atom, known: set[int]) -> tuple[Access, tuple[int, ...]]:
    """How an atom is looked up, and its new variables in the order in which they are found."""
    places: dict[int, int] = {}
    given, same = [], []
    for place, term in enumerate(atom.args):
        if isinstance(term, str) or term in known:
            given.append(place)
        elif term in places:
            same.append((places[term], place))
        else:
            places[term] = place
    return Access(atom.predicate, tuple(given), tuple(places.values()), tuple(same)), tuple(places)


def _getter(live: tuple[int, ...], wanted: tuple[int | str, ...]) -> Getter:
    """Takes the wanted values out of a row with the live variables; constants stand for themselves."""
    if any(isinstance(each, str) for each in wanted):
        parts = [(None, each) if isinstance(each, str) else (live.index(each), each) for each in wanted]
        return lambda row: tuple([each if place is None else row[place] for place, each in parts])
    places = tuple(live.index(each) for each in wanted if isinstance(each, int))
    if places == tuple(range(len(live))):
        return _whole
    if not places:
        return _nothing
    if len(places) == 1:
        (only,) = places
        return lambda row: (row[only],)
    return operator.itemgetter(*places)


def _whole(row: Values) -> Values:
    return row


def _nothing(row: Values) -> Values:
    return ()


def _test_of(step: Comparison | Equals) -> Callable[[Any], bool]:
    if isinstance(step, Equals):
        constant = step.constant
        return lambda value: bool(value == constant)
    threshold = number_of(step.value)
    if step.operator == AT_LEAST:
        return lambda value: bool(value >= threshold)
    return lambda value: bool(value < threshold)


class PreparedEffect:
    """An effect that can be computed for actions in a state."""

    def __init__(self, effect: Effect) -> None:
        kind, variable = effect.feature
        if kind in UNSUPPORTED or any(isinstance(each, Recent) for each in effect.body):
            raise DataError(f"{effect} needs times, which worlds do not have.")
        wanted = () if variable is None else (variable,)
        self.kind = kind
        self.query = Query(effect.head, effect.body, wanted)
        self.guard = Query(effect.head, effect.body[:-1], ()) if kind == kinds.SHARE else None
        self.level = level_function(effect.curve)
        self.key = (effect.head, effect.body, effect.feature)
        # A share without a step that uses a head variable still depends on what its guard uses.
        self.start = self.query.start
        self._of_head = _getter(tuple(range(len(effect.head.args))), self.start)
        self._of_guard = None if self.guard is None else _getter(self.start, self.guard.start)

    def value(self, facts: StateFacts, head: Values) -> float:
        """The value of the feature; NaN if it is missing."""
        start = self._of_head(head)
        key = (self.key, start)
        value = facts.values.get(key)
        if value is None:
            value = facts.values[key] = self._value(facts, start)
        return value

    def _value(self, facts: StateFacts, start: Values) -> float:
        table = self.query.run(facts, start)
        if self.kind == kinds.COUNT:
            return float(sum(table.values()))
        if self.guard is not None and self._of_guard is not None:
            within = sum(self.guard.run(facts, self._of_guard(start)).values())
            return sum(table.values()) / within if within else math.nan
        place = self.query.place
        if self.kind == kinds.DISTINCT:
            return float(len({row[place] for row in table}))
        numbers: dict[float, int] = {}
        for row, number in table.items():
            numbers[row[place]] = numbers.get(row[place], 0) + number
        return kinds.of_values(self.kind, numbers)


def level_function(curve: Curve) -> Callable[[float], float]:
    """The level of a curve at a value; NaN stands for a missing value."""
    cuts, levels, missing = [number_of(cut) for cut in curve.cuts], curve.levels, curve.missing
    if curve.slope:
        return lambda value: (
            missing if value != value else levels[bisect_right(cuts, value)] + curve.risen(value)
        )
    return lambda value: missing if value != value else levels[bisect_right(cuts, value)]


@dataclass(eq=False)
class PreparedModel:
    """A model that can be asked about actions in one state."""

    model: Model
    _effects: list[PreparedEffect] = field(init=False)

    def __post_init__(self) -> None:
        self._effects = [PreparedEffect(fitted.effect) for fitted in self.model.effects]

    def score(self, facts: StateFacts, head: Values) -> float:
        """The score of an action with these objects."""
        return math.fsum([self.model.prior, *self.contributions(facts, head)])

    def contributions(self, facts: StateFacts, head: Values) -> list[float]:
        """What each effect adds to the score, in the order of the model."""
        return [each.level(each.value(facts, head)) for each in self._effects]

    def values(self, facts: StateFacts, head: Values) -> list[float]:
        """The value of each effect's feature."""
        return [each.value(facts, head) for each in self._effects]


def head_of(types: Sequence[str], objects: Values) -> Values:
    """The values of a head's variables: an action without objects is about its world."""
    return objects if types and types != (WORLD,) else (HERE,)
