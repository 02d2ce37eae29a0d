"""Many worlds as one database: names of objects are private to a world, and the schema is always the same.

The object ``a`` of the third world has the key ``2:a``. Each type has a link from its objects to their
world, so counts and shares of all objects of a type are counts inside one world. A predicate without
arguments, or with a value alone, is a fact of the world itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hornbeam.data.database import Database, Population, Relation
from hornbeam.data.numbers import Floats
from hornbeam.errors import DataError, OptionError
from hornbeam.logic.clauses import format_value
from hornbeam.logic.schema import NUMBER as NUMERIC
from hornbeam.logic.schema import Argument, Kind, Mode, Schema
from hornbeam.policies.language import CATEGORY, NUMBER, WORLD, State, WorldLanguage, typed_names

MOST_CONSTANTS = 50
"""Categories of a predicate with more different values are not compared with constants."""


def worlds(
    facts: Iterable[Any],
    *,
    predicates: Mapping[str, Sequence[str]],
    closures: Mapping[str, str] | None = None,
    targets: Mapping[str, Sequence[str]] | None = None,
) -> Database:
    """Many sets of facts as one database, in which objects of different worlds are never the same.

    ``facts`` has an entry for each world: tuples ``("on", "a", "b")``, a mapping ``{("age", "a"): 25.0}``, or
    a dict of data frames whose rows are facts. ``predicates`` names the types of the arguments of each
    predicate: ``{"on": ("block", "block"), "clear": ("block",), "age": ("person", "number")}``. The last
    argument may be a ``"number"``, or a ``"category"``, whose values all worlds share. A fact that is named
    after a type, such as ``("block", "a")``, says that an object exists. ``closures={"above": "on"}`` adds
    all chains of a link. ``targets`` has the predicates to learn about, with their types.

    The object ``a`` of the third world has the key ``2:a``; a target without arguments has the world as its
    key, ``2``.

    >>> database = worlds(
    ...     [[("on", "a", "b"), ("on", "b", "c")], [("on", "a", "b")]],
    ...     predicates={"on": ("block", "block"), "clear": ("block",)},
    ...     closures={"above": "on"},
    ...     targets={"move": ("block", "block")},
    ... )
    >>> database
    Database(12 facts, 4 predicates, 2 types, examples: none)
    >>> database.schema.types_of("above"), list(database.population("block").names)
    (('block', 'block'), ['0:a', '0:b', '0:c', '1:a', '1:b'])
    """
    language = WorldLanguage.of(predicates, closures)
    heads = typed_names(targets or {}, "targets")
    unknown = sorted({each for types in heads.values() for each in types} & {NUMBER, CATEGORY, WORLD})
    if unknown:
        raise OptionError(f'targets: "{unknown[0]}" is no type of objects; name types of the predicates.')
    language = language.with_types(each for types in heads.values() for each in types)
    for name in heads:
        if name in language.predicates:
            raise OptionError(f'the target "{name}" has the name of a predicate; give it another name.')
    if isinstance(facts, str | bytes | Mapping) or not isinstance(facts, Iterable):
        raise DataError("worlds takes a list with the facts of each world; put one world into a list too.")
    states = [language.state(each, f"world {number}") for number, each in enumerate(facts)]
    if not states:
        raise DataError("the list of worlds is empty; give the facts of at least one world.")
    return database_of(language, states, heads)


def schema_of(language: WorldLanguage, heads: Mapping[str, tuple[str, ...]]) -> Schema:
    """The schema of worlds: it depends on the language and the targets alone."""
    known: dict[str, tuple[str, ...]] = {in_world(name): (name, WORLD) for name in language.types}
    stated = {name: argument_types(name, types) for name, types in language.predicates.items()}
    stated |= {name: types or (WORLD,) for name, types in heads.items()}
    taken = sorted(known.keys() & stated.keys())
    if taken:
        raise OptionError(f'the name "{taken[0]}" is taken by the link to worlds; choose another name.')
    known |= stated
    numeric = {value_type(name): NUMERIC for name, types in language.predicates.items() if NUMBER in types}
    return Schema(known, numeric)


def argument_types(name: str, types: Sequence[str]) -> tuple[str, ...]:
    """The types of a predicate in the schema: a fact without objects is about its world."""
    own = tuple(value_type(name) if each in (NUMBER, CATEGORY) else each for each in types)
    return own if types and types[0] not in (NUMBER, CATEGORY) else (WORLD, *own)


def value_type(predicate: str) -> str:
    """The type of the numbers or categories of a predicate."""
    return f"{predicate}_value"


def in_world(type_name: str) -> str:
    """The predicate that links the objects of a type to their world."""
    return f"{type_name}_in"


def database_of(
    language: WorldLanguage, states: Sequence[State], heads: Mapping[str, tuple[str, ...]]
) -> Database:
    """The database of some states; the object ``a`` of state 2 has the key ``2:a``."""
    schema = schema_of(language, heads)
    codes: dict[str, dict[Any, int]] = {name: {} for name in schema.types()}
    rows: dict[str, list[list[int]]] = {name: [] for name in schema.predicates if name not in heads}
    codes[WORLD] = {str(number): number for number in range(len(states))}
    for number, state in enumerate(states):
        for type_name, names in state.objects.items():
            own, links = codes[type_name], rows[in_world(type_name)]
            for name in names:
                links.append([own.setdefault(f"{number}:{name}", len(own)), number])
        for predicate, facts in state.facts.items():
            _add(rows[predicate], facts, language.predicates[predicate], predicate, number, codes)
    populations, numbers = _populations(codes, schema)
    relations = {
        name: Relation.of(
            [np.array(column, dtype=np.int32) for column in zip(*own, strict=True)]
            or [np.empty(0, dtype=np.int32)] * schema.arity(name),
            [len(populations[each]) for each in schema.types_of(name)],
        )
        for name, own in rows.items()
    }
    modes = _modes(language, schema, heads, populations)
    return Database(schema, modes, populations, relations, numbers=numbers)


def _add(
    rows: list[list[int]],
    facts: Iterable[tuple[Any, ...]],
    types: Sequence[str],
    predicate: str,
    number: int,
    codes: Mapping[str, dict[Any, int]],
) -> None:
    """Add the facts of a predicate in one world as rows of codes."""
    values = codes.get(value_type(predicate), {})
    of_world = not types or types[0] in (NUMBER, CATEGORY)
    for fact in facts:
        row = [number] if of_world else []
        for value, type_name in zip(fact, types, strict=True):
            if type_name in (NUMBER, CATEGORY):
                row.append(values.setdefault(value, len(values)))
            else:
                row.append(codes[type_name][f"{number}:{value}"])
        rows.append(row)


def _populations(
    codes: Mapping[str, Mapping[Any, int]], schema: Schema
) -> tuple[dict[str, Population], dict[str, Floats]]:
    """The names of each type, and the values of numeric ones."""
    populations, numbers = {}, {}
    for type_name, own in codes.items():
        if type_name in schema.numeric:
            numbers[type_name] = np.array(list(own), dtype=np.float64)
            populations[type_name] = Population([format_value(value) for value in own])
        else:
            populations[type_name] = Population(list(own))
    return populations, numbers


def _modes(
    language: WorldLanguage,
    schema: Schema,
    heads: Mapping[str, tuple[str, ...]],
    populations: Mapping[str, Population],
) -> tuple[Mode, ...]:
    """Each argument in turn may be where a body enters; values are compared."""
    modes = [
        Mode(name, tuple(Argument(Kind.BOUND, each) for each in schema.types_of(name))) for name in heads
    ]
    for name, types in schema.predicates.items():
        if name in heads:
            continue
        stated = language.predicates.get(name, ())
        last: tuple[Kind, ...] = ()
        if NUMBER in stated:
            last = (Kind.NEW,)
        elif CATEGORY in stated:
            few = len(populations[value_type(name)]) <= MOST_CONSTANTS
            last = (Kind.CONSTANT if few else Kind.OPEN,)
        size = len(types) - len(last)
        for bound in range(size):
            kinds = [Kind.BOUND if place == bound else Kind.OPEN for place in range(size)]
            modes.append(Mode(name, tuple(map(Argument, [*kinds, *last], types))))
    return tuple(modes)
