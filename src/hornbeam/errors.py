"""The exceptions and warnings of Hornbeam.

HornbeamError
├── InputError            the user's input is wrong; ``place`` is its source and line, if known
│   ├── ParseError        text that cannot be read (facts, modes, clauses, models)
│   ├── SchemaError       names, arities, types or modes that do not fit each other
│   │   └── TargetError   a target that the tables do not have
│   ├── DataError         files, folders, examples or keys that cannot be used
│   ├── OptionError       an option whose value is not allowed
│   └── ModelError        a model file that is damaged, too new, or for other data
├── EngineError           a database or cluster that failed: gone, full, or without permission
└── LimitError            a result that is refused: too large for int64 or for the memory budget

HornbeamWarning           input that is accepted but may surprise; the command line prints it as a note
└── DataWarning           the same about data, when they are loaded

Every message is one sentence: what is wrong, where, what was expected, what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a text; lines and columns count from 1, and 0 means unknown."""

    source: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.source
        return f"{self.source}:{self.line}:{self.column}" if self.column else f"{self.source}:{self.line}"


class HornbeamError(Exception):
    """Base of all errors that Hornbeam raises on purpose."""


class InputError(HornbeamError):
    """Input that cannot be used."""

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.message = message
        self.place = place


class ParseError(InputError):
    """Text that is not in the language of facts, modes, clauses or models."""


class SchemaError(InputError):
    """Predicates, arities, types or modes that do not fit each other."""


class TargetError(SchemaError):
    """A target that the tables do not have."""


class DataError(InputError, ValueError):
    """Files, folders, examples or keys that cannot be used."""


class OptionError(InputError, ValueError):
    """An option whose value is not allowed.

    If one option of a learner is wrong, ``option`` is its name, ``value`` the given value and ``bound`` the
    allowed values. If the option belongs to another preset, ``preset`` is that preset, and ``successor`` the
    option to use in its place, if there is one.
    """

    def __init__(
        self,
        message: str,
        place: Place | None = None,
        *,
        option: str | None = None,
        value: object = None,
        bound: object = None,
        preset: str | None = None,
        successor: str | None = None,
    ) -> None:
        super().__init__(message, place)
        self.option = option
        self.value = value
        self.bound = bound
        self.preset = preset
        self.successor = successor


class ModelError(InputError):
    """A model that is damaged, has a newer format, or was learned from other data."""


class EngineError(HornbeamError):
    """A database or cluster that runs the queries failed or cannot be reached."""


class LimitError(HornbeamError):
    """A result that is refused because it would not be exact or would not fit into the memory budget."""


_NAMES = 3


def shown(names: Sequence[str]) -> str:
    """The first few names, and how many there are besides.

    >>> shown(["a", "b"]), shown(["a", "b", "c", "d"]), shown(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c, d', 'a, b, c and 2 more')
    """
    if len(names) <= _NAMES + 1:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMES])} and {len(names) - _NAMES:,} more"


def plural(number: int, noun: str) -> str:
    """A number with its noun.

    >>> plural(1, "argument"), plural(2, "argument")
    ('1 argument', '2 arguments')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


class HornbeamWarning(UserWarning):
    """Input that is accepted but may surprise: unknown keys, empty predicates, skipped candidates."""


class DataWarning(HornbeamWarning):
    """Data that are accepted but may surprise: keys that were inferred, rows that count once."""


MOST_NAMES = 20_000
"""Among more names than this, only those with the same beginning are compared."""


def listed(names: Sequence[str], most: int) -> str:
    """Names with commas; if there are too many, the first of them and the number of the others.

    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def near_names(name: str, known: Sequence[str], number: int = 3) -> list[str]:
    """The known names that are most similar to a name, the most similar first.

    >>> near_names("c4l", ["c41", "c4", "d7"])
    ['c4', 'c41']
    """
    if len(known) > MOST_NAMES:
        known = list(islice((each for each in known if each[:2] == name[:2]), MOST_NAMES))
    return difflib.get_close_matches(name, known, n=number, cutoff=0.6)


def did_you_mean(name: str, known: Iterable[str], kind: str) -> str:
    """A hint that lists the known names and suggests the most similar one, if there is one.

    >>> did_you_mean("frends", ["friends", "smokes"], "Predicates")
    'Predicates are: friends, smokes. Did you mean "friends"?'
    >>> did_you_mean("x", [], "Predicates")
    'There are none.'
    """
    names = sorted(known)
    if not names:
        return "There are none."
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    hint = f"{kind} are: {shown}."
    return f'{hint} Did you mean "{near[0]}"?' if near else hint


def size_text(size: int) -> str:
    """A number of bytes in words.

    >>> size_text(12_300_000_000), size_text(45_000)
    ('12.3 GB', '0.045 MB')
    """
    return f"{size / 1e9:,.3g} GB" if size >= 1e9 else f"{size / 1e6:,.3g} MB"
