"""Reads plain facts, one per line, by array operations: the fast reader for long files.

A plain line is ``name(word,word).`` in ASCII, with nothing before or after it and at most spaces after a
comma; the full stop may be missing if another plain line follows. This reader stops at any other line, and
another reader continues.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Coded
from hornbeam.data.rows import fold
from hornbeam.logic.parse import MOST_ARGUMENTS

_Integers = npt.NDArray[np.int64]
_Hashes = npt.NDArray[np.uint64]

_LINE, _OPEN, _COMMA, _CLOSE, _SPACE, _RETURN, _OTHER = range(1, 8)
"""classes of characters that separate words"""
_CLASS = np.full(256, _OTHER, dtype=np.uint8)
_CLASS[list(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-")] = 0
for _class, _character in enumerate(b"\n(,) \r", start=_LINE):
    _CLASS[_character] = _class
_FOLLOWS = np.zeros((8, 8, 3), dtype=bool)
"""whether a class may follow another with no, one or more characters of a word between them"""
_FOLLOWS[_LINE, _OPEN, 1:] = True
_FOLLOWS[_LINE, [_LINE, _RETURN], 0] = True
_FOLLOWS[_RETURN, _LINE, 0] = True
_FOLLOWS[[[_OPEN], [_COMMA], [_SPACE]], [[_COMMA, _CLOSE]], 1:] = True
_FOLLOWS[[_COMMA, _SPACE], _SPACE, 0] = True
_FOLLOWS[_CLOSE, [_LINE, _RETURN], :2] = True  # the one character must be a full stop
_PREDICATE = re.compile(r"[A-Za-z][\w-]*", re.ASCII)
_WINDOW = 8
_LONGEST = 32 * _WINDOW
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(_WINDOW + 1)], dtype=np.uint64)
"""for each number of bytes up to eight, a mask that keeps that many bytes"""


class NotPlainError(Exception):
    """The text holds something that only the careful reader can decide."""


def read_plain(text: str, signs: bool = True) -> tuple[list[tuple[str, tuple[Coded, ...]]], int]:
    """The facts of the plain lines at the start of an ASCII text, and the number of characters read.

    Facts are in columns, by predicate and arity. Without ``signs``, no word may begin with + or -,
    because it may be an argument of a mode.

    >>> (predicate, (column,)), = read_plain("p(a).\\np(b).\\n% the end")[0]
    >>> predicate, [column.names[code] for code in column.codes]
    ('p', ['a', 'b'])
    """
    data = text.encode("ascii") + bytes(_WINDOW + _LONGEST)
    characters = np.frombuffer(data, dtype=np.uint8)[: len(text)]
    classes = _CLASS[characters]
    # The text begins as if after the end of a line.
    separators = np.concatenate([[-1], np.flatnonzero(classes != 0)])
    kinds = np.concatenate([[_LINE], classes[separators[1:]]])
    separators, kinds = _plain_lines(characters, separators, kinds)
    taken = int(separators[-1]) + 1
    if text.find("..", 0, taken) >= 0:
        raise NotPlainError
    return list(_columns(_Words(text, data), separators, kinds, signs)), taken


def _plain_lines(
    characters: npt.NDArray[np.uint8], separators: _Integers, kinds: npt.NDArray[np.uint8]
) -> tuple[_Integers, npt.NDArray[np.uint8]]:
    """The separators up to the end of the last line before one that is not plain."""
    between = np.minimum(np.diff(separators) - 1, 2)
    fits = _FOLLOWS[kinds[:-1], kinds[1:], between]
    stops = np.flatnonzero((kinds[:-1] == _CLOSE) & (between == 1))
    fits[stops] &= characters[separators[stops] + 1] == ord(".")
    wrong = np.flatnonzero(~fits)
    end = int(wrong[0]) + 1 if len(wrong) else len(kinds)
    end = int(np.flatnonzero(kinds[:end] == _LINE)[-1]) + 1
    closes = np.flatnonzero(kinds[:end] == _CLOSE)
    if len(closes) and between[closes[-1]] == 0:
        # The last fact has no full stop. Leave it out, because the next line decides whether it is a fact.
        end = int(np.flatnonzero(kinds[: closes[-1]] == _LINE)[-1]) + 1
    return separators[:end], kinds[:end]


def _columns(
    words: _Words, separators: _Integers, kinds: npt.NDArray[np.uint8], signs: bool
) -> Iterator[tuple[str, tuple[Coded, ...]]]:
    opens = np.flatnonzero(kinds == _OPEN)
    # A word of arguments ends at a comma or a parenthesis, and begins after the separator before that.
    ends = np.flatnonzero((kinds == _COMMA) | (kinds == _CLOSE))
    starts = separators[ends - 1] + 1
    sizes = separators[ends] - starts
    words.check(starts, sizes, signs)
    last_words = np.flatnonzero(kinds[ends] == _CLOSE)
    first_words = np.concatenate([[0], last_words[:-1] + 1]) if len(last_words) else last_words
    arities = last_words - first_words + 1
    if arities.max(initial=0) > MOST_ARGUMENTS:
        raise NotPlainError
    spelled = words.coded(separators[opens - 1] + 1, separators[opens] - separators[opens - 1] - 1)
    if not all(map(_PREDICATE.fullmatch, spelled.names)):
        raise NotPlainError
    names = [name.lower() for name in spelled.names]
    places: dict[str, int] = {}
    numbers = [places.setdefault(name, place) for place, name in enumerate(names)]
    predicates = np.array(numbers, dtype=np.int64)[spelled.codes]
    signatures, _ = fold((predicates, arities), (len(names), int(arities.max(initial=0)) + 1))
    order = np.argsort(signatures, kind="stable")
    ends_of_runs = np.flatnonzero(np.diff(signatures[order])) + 1
    groups = np.split(order, ends_of_runs) if len(order) else []
    for rows in sorted(groups, key=lambda rows: int(rows[0])):
        first = first_words[rows]
        yield (
            names[predicates[rows[0]]],
            tuple(
                words.coded(starts[first + number], sizes[first + number])
                for number in range(int(arities[rows[0]]))
            ),
        )


class _Words:
    """The words of a text, given by start and size."""

    def __init__(self, text: str, data: bytes) -> None:
        self.text = text
        # For each position, the eight characters from there on as one integer.
        self.windows: _Hashes = np.ndarray((len(text) + _LONGEST,), dtype="<u8", buffer=data, strides=(1,))
        self.characters = np.frombuffer(data, dtype=np.uint8)

    def check(self, starts: _Integers, sizes: _Integers, signs: bool) -> None:
        """Refuse words that are not constants: ``_``, and those that end in a full stop."""
        firsts = self.characters[starts]
        lasts = self.characters[starts + sizes - 1]
        alone = (sizes == 1) & (lasts == ord("_"))
        if alone.any() or (lasts == ord(".")).any() or sizes.max(initial=0) > _LONGEST:
            raise NotPlainError
        if not signs and ((firsts == ord("+")) | (firsts == ord("-"))).any():
            raise NotPlainError

    def coded(self, starts: _Integers, sizes: _Integers) -> Coded:
        """The words at the given starts: the distinct names, and for each word the code of its name."""
        parts = [
            self.windows[starts + offset] & _MASKS[np.clip(sizes - offset, 0, _WINDOW)]
            for offset in range(0, int(sizes.max(initial=1)), _WINDOW)
        ]
        hashes = parts[0]
        for part in parts[1:]:
            hashes = (hashes ^ (hashes >> np.uint64(29))) * _FACTOR + part
        order = np.argsort(hashes)
        fresh = np.ones(len(order), dtype=bool)
        sorted_hashes = hashes[order]
        np.not_equal(sorted_hashes[1:], sorted_hashes[:-1], out=fresh[1:])
        codes = np.empty(len(order), dtype=np.int32)
        codes[order] = np.cumsum(fresh, dtype=np.int32) - 1
        firsts = order[fresh]
        for part in parts if len(parts) > 1 else ():
            if not np.array_equal(part, part[firsts][codes]):
                raise NotPlainError  # two words with one hash
        begins, ends = starts[firsts].tolist(), (starts + sizes)[firsts].tolist()
        return Coded([self.text[begin:end] for begin, end in zip(begins, ends, strict=True)], codes)
