"""Types and modes for facts that state none: arguments that share a constant have the same type."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hornbeam.data.database import Notice
from hornbeam.errors import SchemaError
from hornbeam.loading.modes import MOST_CONSTANTS, target_mode
from hornbeam.logic.schema import Argument, Kind, Mode

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")

Names = Mapping[str, Sequence[frozenset[str]]]
"""The distinct constants at each argument of each predicate."""
_Position = tuple[str, int]


def is_number(name: str) -> bool:
    """Whether a constant is a bare number: ``3``, ``-0.5``, ``1e6``."""
    return name[:1] in "+-.0123456789" and _NUMBER.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Inferred:
    """Modes, sorted by predicate, and notices about doubtful types."""

    modes: tuple[Mode, ...]
    notices: tuple[Notice, ...]


def infer_modes(facts: Names, targets: Names) -> Inferred:
    """Modes for every predicate of the facts, and one for each target.

    Each argument in turn is ``+`` and the others are ``-``. An argument with few constants whose type is
    not that of a target is also ``#``.

    >>> people, films = frozenset(["ann", "bob"]), frozenset(["m1", "m2"])
    >>> facts = {"rated": [people, films], "genre": [films, frozenset(["comedy"])]}
    >>> for mode in infer_modes(facts, {"female": [people]}).modes:
    ...     print(mode)
    female(+female_1).
    genre(+genre_1,-genre_2).
    genre(-genre_1,+genre_2).
    genre(#genre_1,+genre_2).
    genre(+genre_1,#genre_2).
    rated(+female_1,-genre_1).
    rated(-female_1,+genre_1).
    rated(+female_1,#genre_1).
    """
    columns = {
        (predicate, index): names
        for predicate, arguments in sorted([*facts.items(), *targets.items()])
        for index, names in enumerate(arguments)
    }
    types, notices = _types(columns)
    head_types = {types[target, index] for target in targets for index in range(len(targets[target]))}
    modes: list[Mode] = []
    for predicate in sorted({*facts, *targets}):
        if predicate in targets:
            own = [types[predicate, index] for index in range(len(targets[predicate]))]
            modes.append(target_mode(predicate, own))
            continue
        own = [types[predicate, index] for index in range(len(facts[predicate]))]
        few = [
            index
            for index, names in enumerate(facts[predicate])
            if len(names) <= MOST_CONSTANTS and own[index] not in head_types
        ]
        modes.extend(_modes(predicate, own, few))
    return Inferred(tuple(modes), tuple(notices))


def _modes(predicate: str, types: Sequence[str], few: Sequence[int]) -> Iterator[Mode]:
    def mode(bound: int, fixed: int | None) -> Mode:
        kinds = [Kind.BOUND if i == bound else Kind.CONSTANT if i == fixed else Kind.OPEN for i in places]
        return Mode(predicate, tuple(map(Argument, kinds, types)))

    places = range(len(types))
    for bound in places:
        yield mode(bound, None)
    for fixed in few:
        for bound in places:
            if bound != fixed:
                yield mode(bound, fixed)


def _types(columns: Mapping[_Position, frozenset[str]]) -> tuple[dict[_Position, str], list[Notice]]:
    """A type for each argument, named after the first argument that has it."""
    parents = {position: position for position in columns}

    def root(position: _Position) -> _Position:
        while parents[position] != position:
            parents[position] = parents[parents[position]]
            position = parents[position]
        return position

    def join(names_of: Mapping[_Position, Iterable[str]]) -> Iterator[tuple[_Position, _Position, str]]:
        owners: dict[str, _Position] = {}
        for position, names in names_of.items():
            for name in names:
                owner = owners.setdefault(name, position)
                if owner is not position and root(owner) != root(position):
                    one, other = sorted([root(owner), root(position)])
                    parents[other] = one
                    yield owner, position, name

    # Join by words first: a later join by numbers is then justified by numbers alone.
    numbers = {position: sorted(filter(is_number, names)) for position, names in columns.items()}
    words = {position: names.difference(numbers[position]) for position, names in columns.items()}
    deque(join(words), maxlen=0)
    joins = list(join(numbers))
    types = {position: "{}_{}".format(*_counted(root(position))) for position in columns}
    return types, [_join_notice(joins)] if joins else []


def _counted(position: _Position) -> tuple[str, int]:
    return position[0], position[1] + 1


def _join_notice(joins: Sequence[tuple[_Position, _Position, str]]) -> Notice:
    shown = ", ".join(
        "argument {3} of {2} with argument {1} of {0} (both have {4})".format(
            *_counted(one), *_counted(other), number
        )
        for one, other, number in joins[:6]
    )
    more = f" and {len(joins) - 6} more" if len(joins) > 6 else ""
    return Notice(
        f"arguments were given the same type only because they share numbers: {shown}{more}; "
        "if they mean different things, write modes with types of your own."
    )


def infer_target_types(
    target: str, arguments: Sequence[frozenset[str]], populations: Mapping[str, frozenset[str]]
) -> tuple[str, ...]:
    """The types of a target without a mode: for each argument the type that has most of its constants.

    >>> people, films = frozenset(["ann", "cat"]), frozenset(["m1"])
    >>> infer_target_types("happy", [frozenset(["ann", "bob"])], {"person": people, "film": films})
    ('person',)
    """
    types = []
    for index, names in enumerate(arguments):
        shared = {type_name: len(names & known) for type_name, known in populations.items()}
        most = max(shared.values(), default=0)
        best = sorted(type_name for type_name, number in shared.items() if number == most)
        if most == 0 or len(best) > 1:
            why = (
                f"shares as many constants with {' as with '.join(best)}"
                if most
                else "shares no constant with a type of the other modes"
            )
            mode = target_mode(target, [f"type{number + 1}" for number in range(len(arguments))])
            raise SchemaError(
                f'"{target}" has examples but no mode, and its argument {index + 1} {why}; '
                f'add a mode such as "mode: {mode}" to the background.'
            )
        types.append(best[0])
    return tuple(types)
