"""The language of worlds: predicates with the types of their arguments, and closures of links.

Facts are stated in one of three forms: tuples ``("on", "a", "b")``, a mapping ``{("age", "a"): 25.0}``, or a
dict of data frames with a row for each fact. ``WorldLanguage.state`` reads all of them as one ``State``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from hornbeam.data.keys import is_frame, key_text
from hornbeam.errors import DataError, OptionError, SchemaError, did_you_mean, plural

NUMBER, CATEGORY = "number", "category"
"""What the last argument may be instead of an object: a number, or a value that worlds share."""
WORLD = "world"
"""The type of worlds."""
STATE = "state_value"
"""The name of the model of what a state is worth, whichever action is taken there."""

Row = tuple[Any, ...]
"""The arguments of a fact: names of objects, and perhaps a number or a category at the end."""


class State(NamedTuple):
    """One world: the facts of each predicate, and the objects of each type in order of first use."""

    facts: Mapping[str, Sequence[Row]]
    objects: Mapping[str, Mapping[str, None]]


@dataclass(frozen=True)
class WorldLanguage:
    """Predicates by their logical names, which are in lower case and without hyphens.

    >>> blocks = WorldLanguage.of({"on": ("block", "block"), "hand-empty": ()}, {"above": "on"})
    >>> sorted(blocks.predicates)
    ['above', 'hand_empty', 'on']
    >>> blocks.state([("on", "a", "b"), ("on", "b", "c")]).facts["above"]
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """

    predicates: Mapping[str, tuple[str, ...]]
    """the types of the arguments of each predicate; closures are predicates too"""
    closures: Mapping[str, str]
    """the link of each closure"""
    more_types: tuple[str, ...] = ()
    """types of objects that no predicate has"""

    @classmethod
    def of(cls, predicates: object, closures: object = None) -> WorldLanguage:
        """The language that a user states; what cannot be one is refused."""
        known = typed_names(predicates, "predicates")
        if not known:
            raise OptionError('predicates is empty; state them, such as {"on": ("block", "block")}.')
        for name, types in known.items():
            _check_types(name, types)
        links = {} if closures is None else closures
        if not isinstance(links, Mapping):
            raise OptionError(f'closures={links!r} is refused: give a dict such as {{"above": "on"}}.')
        stated: dict[str, str] = {}
        for given, given_link in links.items():
            name, link = logical_name(given), logical_name(given_link)
            if link not in known or link in stated:
                raise OptionError(
                    f'the closure "{given}" is of "{given_link}", which is no predicate. '
                    f"{did_you_mean(link, known, 'Predicates')}"
                )
            types = known[link]
            if len(types) != 2 or types[0] != types[1] or types[0] in (NUMBER, CATEGORY):
                raise OptionError(
                    f'the closure "{given}" is of "{given_link}", which does not link objects of one type; '
                    "name a predicate of two arguments of the same type."
                )
            if name in known:
                raise OptionError(f'the closure "{given}" has the name of a predicate; choose another name.')
            stated[name] = link
        known |= {name: known[link] for name, link in stated.items()}
        taken = sorted(known.keys() & {each for types in known.values() for each in types})
        if taken:
            raise OptionError(f'"{taken[0]}" is a predicate and a type; give one of them another name.')
        return cls(known, stated)

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The types of objects, sorted."""
        values = (NUMBER, CATEGORY)
        own = {each for types in self.predicates.values() for each in types} - {*values}
        return tuple(sorted(own | {*self.more_types}))

    def with_types(self, more: Iterable[str]) -> WorldLanguage:
        """The language with these types of objects too; they may only be new ones of its own."""
        return replace(self, more_types=tuple(sorted({*self.more_types, *more} - {*self.predicates})))

    def state(self, facts: Any, where: str = "the state") -> State:
        """The facts of one world, whatever their form; ``where`` names the world in errors."""
        objects: dict[str, dict[str, None]] = {name: {} for name in self.types}
        known: dict[str, dict[Row, None]] = {name: {} for name in self.predicates}
        number = 0
        for number, (name, row) in enumerate(_rows_of(facts, where), start=1):  # noqa: B007
            self._add(name, row, known, objects, where)
        if not number:
            raise DataError(f"{where} has no facts; state at least which objects there are.")
        found: dict[str, Sequence[Row]] = {name: list(rows) for name, rows in known.items()}
        for name, link in self.closures.items():
            found[name] = list(dict.fromkeys([*found[name], *transitive(found[link])]))
        return State(found, objects)

    def _add(
        self,
        given: object,
        row: Row,
        known: Mapping[str, dict[Row, None]],
        objects: Mapping[str, dict[str, None]],
        where: str,
    ) -> None:
        """Add a fact and its objects; a fact of a type says that an object exists."""
        name = given if isinstance(given, str) and given in known else logical_name(given)
        types = (name,) if name in objects and name not in known else self.predicates.get(name)
        if types is None:
            hint = did_you_mean(name, [*self.predicates, *self.types], "Predicates and types")
            raise SchemaError(f'{where} has a fact of "{given}", which is no predicate. {hint}')
        if len(types) != len(row):
            raise SchemaError(
                f'{where} has a fact of "{given}" with {plural(len(row), "argument")}, but it takes '
                f"{len(types)}: {name}({', '.join(types)})."
            )
        made: list[Any] = []
        for value, type_name in zip(row, types, strict=True):
            if type_name == NUMBER:
                made.append(_number(value, name, where))
                continue
            text = value if type(value) is str else key_text(value)
            if type_name != CATEGORY:
                objects[type_name][text] = None
            made.append(text)
        if name in known:
            known[name][tuple(made)] = None


def typed_names(given: object, what: str) -> dict[str, tuple[str, ...]]:
    """Names with the types of their arguments, as a user states predicates and actions."""
    if not isinstance(given, Mapping):
        raise OptionError(f'{what}={given!r} is refused: give a dict such as {{"on": ("block", "block")}}.')
    known: dict[str, tuple[str, ...]] = {}
    for name, types in given.items():
        parts = (types,) if isinstance(types, str) else types
        if not isinstance(parts, Sequence) or not all(isinstance(each, str) and each for each in parts):
            raise OptionError(
                f'{what}: the types of "{name}" are {types!r}; give a tuple of names such as ("block",).'
            )
        own = logical_name(name)
        if own in known:
            raise OptionError(f'{what}: "{name}" is there twice, because case and hyphens do not count.')
        known[own] = tuple(logical_name(each) for each in parts)
    return known


def logical_name(name: object) -> str:
    """The name of a predicate or type in clauses.

    >>> logical_name("Hand-Empty")
    'hand_empty'
    """
    if not isinstance(name, str) or not name:
        raise OptionError(f"{name!r} is refused as a name; names of predicates and types are text.")
    return name.lower().replace("-", "_")


def transitive(links: Iterable[Row]) -> list[Row]:
    """All pairs that a chain of links connects.

    >>> transitive([("a", "b"), ("b", "a")])
    [('a', 'b'), ('a', 'a'), ('b', 'a'), ('b', 'b')]
    """
    after: dict[Any, list[Any]] = {}
    for one, other in links:
        after.setdefault(one, []).append(other)
    pairs: list[Row] = []
    for start, first in after.items():
        seen, waiting = dict.fromkeys(first), list(first)
        while waiting:
            for each in after.get(waiting.pop(), ()):
                if each not in seen:
                    seen[each] = None
                    waiting.append(each)
        pairs += [(start, each) for each in seen]
    return pairs


def _check_types(name: str, types: tuple[str, ...]) -> None:
    if WORLD in types or name == WORLD:
        raise OptionError(f'"{name}" uses the name "{WORLD}", which stands for worlds; choose another name.')
    if any(each in (NUMBER, CATEGORY) for each in types[:-1]):
        raise OptionError(
            f'predicates: a {NUMBER} or {CATEGORY} may only be the last argument of "{name}"; move it there.'
        )


def _rows_of(facts: Any, where: str) -> Iterable[tuple[object, Row]]:
    """Each fact as its predicate and its arguments."""
    if isinstance(facts, Mapping):
        for name, value in facts.items():
            if isinstance(name, tuple) and name:
                # A mapping tells which number a fact has, or whether it is true.
                if value is False or value is None:
                    continue
                yield name[0], (*name[1:], *(() if value is True else (value,)))
            elif isinstance(name, str) and is_frame(value):
                import narwhals as nw

                for row in nw.from_native(value, eager_only=True).rows():
                    yield name, tuple(row)
            else:
                raise DataError(
                    f'{where} has the entry {name!r}; give tuples such as ("age", "a"): 25.0, or names with '
                    "data frames."
                )
        return
    if isinstance(facts, str | bytes) or not isinstance(facts, Iterable):
        raise DataError(f'{where} is {facts!r}; give facts, such as [("on", "a", "b")].')
    for fact in facts:
        if not isinstance(fact, tuple | list) or not fact or not isinstance(fact[0], str):
            raise DataError(f'{where} has the fact {fact!r}; write it as a tuple such as ("on", "a", "b").')
        yield fact[0], tuple(fact[1:])


def _number(value: object, name: str, where: str) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = float("nan")
    if number != number or number in (float("inf"), float("-inf")):
        raise DataError(f'{where} has a fact of "{name}" with {value!r}, where a number must be.')
    return number + 0.0
