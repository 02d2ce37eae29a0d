"""Modes and ranges from the statements that are not facts, and notices about statements that are not used."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from hornbeam.data.database import Notice
from hornbeam.errors import Place, SchemaError
from hornbeam.loading.facts.imports import SourceFile
from hornbeam.loading.facts.reader import Contents
from hornbeam.loading.facts.statements import Directive, ModeStatement, RangeStatement, Rule, Statement
from hornbeam.logic.schema import Mode

_USED_WORDS = ("mode", "range", "import")
_UNUSED = {
    "setparam": "settings are options of fit",
    "setparameter": "settings are options of fit",
    "importlibrary": "libraries are not supported",
    "querypred": "the target is an option of fit",
    "useprologvariables": "in facts every word is a constant, in upper or lower case",
    "usestdlogicvariables": "in facts every word is a constant, in upper or lower case",
    "useleadingquestionmarkvariables": "in facts every word is a constant, in upper or lower case",
    "okifunknown": "a predicate without facts is always accepted",
    "bridger": "the search adds one literal at a time",
    "range": "only {a, b, c} is understood",
    "! in a mode": "the search does not limit how often a literal is added",
    "settings after a mode": "only the predicate and its arguments are understood",
}
MOST_SHOWN = 12
"""the most names that a notice lists"""
_Where = tuple[Contents, Statement]
_RULES = "rules are not applied; write what they derive as facts"


@dataclass(frozen=True, slots=True)
class Background:
    """The modes in file order with the place of each, constants declared for types, and notices."""

    modes: dict[Mode, Place]
    ranges: dict[str, tuple[str, ...]]
    range_places: dict[str, Place]
    notices: tuple[Notice, ...]


def background_of(sources: Iterable[SourceFile]) -> Background:
    """The modes, ranges and notices of all files; modes of one predicate that disagree are an error."""
    modes: dict[Mode, Place] = {}
    leading: dict[str, Mode] = {}
    ranges: dict[str, dict[str, None]] = {}
    range_places: dict[str, Place] = {}
    unused = _Unused()
    for source in sources:
        for statement in source.contents.others:
            where = (source.contents, statement)
            if isinstance(statement, ModeStatement):
                mode = statement.mode
                # Finding a line takes a pass over the text, so it is done once for each distinct mode.
                if mode not in modes:
                    place = source.contents.place(statement)
                    _check_agreement(leading.setdefault(mode.predicate, mode), mode, modes, place)
                    modes[mode] = place
                for extra in statement.extras:
                    unused.add(extra, mode.predicate, where)
            elif isinstance(statement, RangeStatement):
                ranges.setdefault(statement.type, {}).update(dict.fromkeys(statement.names))
                if statement.type not in range_places:
                    range_places[statement.type] = source.contents.place(statement)
            elif isinstance(statement, Rule):
                unused.add(statement.word or "rules", statement.name, where)
            elif isinstance(statement, Directive):
                unused.add(statement.word, _first_part(statement.value), where)
    named = {type_name: tuple(names) for type_name, names in ranges.items()}
    return Background(modes, named, range_places, unused.notices())


def _first_part(value: str) -> str:
    """What a directive is about: ``treeDepth`` for ``treeDepth=3``, else the start of its value."""
    return " ".join(value.split("=")[0].split())[:40].strip("\"'")


def _check_agreement(first: Mode, mode: Mode, places: dict[Mode, Place], here: Place) -> None:
    known = [arg.type for arg in first.args]
    types = [arg.type for arg in mode.args]
    if known != types:
        raise SchemaError(
            f"this mode says {mode.predicate}({','.join(types)}), but the one at {places[first]} says "
            f"{mode.predicate}({','.join(known)}); make number and types of arguments the same.",
            here,
        )


class _Unused:
    """Statements that are not used, by kind; for each name its first statement."""

    def __init__(self) -> None:
        self._by_kind: dict[str, tuple[str, dict[str, _Where]]] = {}

    def add(self, word: str, name: str, where: _Where) -> None:
        self._by_kind.setdefault(word.lower(), (word, {}))[1].setdefault(name, where)

    def notices(self) -> tuple[Notice, ...]:
        notices = []
        for word, names in self._by_kind.values():
            # Finding a line takes a pass over the text, so it is done only for the names that are shown.
            places = {
                name: contents.place(statement)
                for name, (contents, statement) in islice(names.items(), MOST_SHOWN)
            }
            notices.append(Notice(f"{_not_used(word)}: {named_places(places, len(names))}.", first(places)))
        return tuple(notices)


def _not_used(word: str) -> str:
    kind = word.lower()
    if kind == "rules" or kind.startswith("precompute"):
        return f"{word} not used ({_RULES})"
    if kind in _UNUSED:
        return f"{word} not used ({_UNUSED[kind]})"
    near = difflib.get_close_matches(kind, _USED_WORDS, n=1)
    hint = f'did you mean "{near[0]}"?' if near else f"known words are {', '.join(_USED_WORDS)}"
    return f"{word} not used (unknown word; {hint})"


def named_places(places: Mapping[str, Place], number: int) -> str:
    """Names, each with its line, and with its file if that differs from the file of the first name.

    >>> places = {"treeDepth": Place("bk.txt", 3, 1), "nodeSize": Place("facts.txt", 7, 2)}
    >>> named_places(places, 4)
    'treeDepth (line 3), nodeSize (facts.txt:7) and 2 more'
    """
    source = first(places).source
    shown = [
        f"{name} ({f'line {place.line}' if place.source == source else f'{place.source}:{place.line}'})"
        for name, place in islice(places.items(), MOST_SHOWN)
    ]
    more = f" and {number - len(shown)} more" if number > len(shown) else ""
    return ", ".join(shown) + more


def first(places: Mapping[str, Place]) -> Place:
    return next(iter(places.values()))
