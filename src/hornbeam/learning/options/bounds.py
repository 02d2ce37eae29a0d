"""Bounds: which values an option allows.

A bound also converts values to a standard form, so that ``l2=10`` and ``l2=10.0`` give the same model
file. Its text completes the sentence "it must be ...".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Protocol

Word = str | None
WordText = Callable[[Word], str]
"""Writes a word of a bound: ``repr`` for Python, another function for the command line."""


class Bound(Protocol):
    """The values that an option allows."""

    @property
    def words(self) -> tuple[Word, ...]:
        """Words that are allowed, in place of a number where the bound also allows numbers."""

    def take(self, value: object) -> object:
        """The value in its standard form; ``ValueError`` for a value out of bounds."""

    def text(self, word_text: WordText = repr) -> str:
        """What the value must be."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number between two limits, both included; or one of some words."""

    least: int
    most: int
    words: tuple[Word, ...] = ()

    def take(self, value: object) -> int | str | None:
        if isinstance(value, Integral) and not isinstance(value, bool):
            number = int(value)
            if self.least <= number <= self.most:
                return number
        elif (value is None or isinstance(value, str)) and value in self.words:
            return value
        raise ValueError

    def text(self, word_text: WordText = repr) -> str:
        return " or ".join([f"a whole number from {self.least} to {self.most}", *map(word_text, self.words)])


@dataclass(frozen=True, slots=True)
class Number:
    """A finite number, above a limit and of a limited size if so stated; or one of some words."""

    above: float = -math.inf
    words: tuple[Word, ...] = ()
    most: float = math.inf

    def take(self, value: object) -> float | str | None:
        if isinstance(value, Real) and not isinstance(value, bool):
            number = float(value)
            if math.isfinite(number) and number > self.above and abs(number) <= self.most:
                return number + 0.0
        elif (value is None or isinstance(value, str)) and value in self.words:
            return value
        raise ValueError

    def text(self, word_text: WordText = repr) -> str:
        limit = f" above {self.above:g}" if math.isfinite(self.above) else ""
        joined = "and at most" if limit else "of a size of at most"
        most = f" {joined} {self.most:g}" if math.isfinite(self.most) else ""
        return " or ".join([f"a finite number{limit}{most}", *map(word_text, self.words)])


@dataclass(frozen=True, slots=True)
class Share:
    """A number from 0 to less than 1."""

    words: tuple[()] = ()

    def take(self, value: object) -> float:
        if isinstance(value, Real) and not isinstance(value, bool) and 0 <= float(value) < 1:
            return float(value) + 0.0
        raise ValueError

    def text(self, word_text: WordText = repr) -> str:
        return "a number from 0 to less than 1"


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of some words."""

    words: tuple[str, ...]

    def take(self, value: object) -> str:
        if isinstance(value, str) and value in self.words:
            return value
        raise ValueError

    def text(self, word_text: WordText = repr) -> str:
        return " or ".join(map(word_text, self.words))


@dataclass(frozen=True, slots=True)
class NameOrNone:
    """A name, or None."""

    words: tuple[Word, ...] = (None,)

    def take(self, value: object) -> str | None:
        if value is None or (isinstance(value, str) and value):
            return value
        raise ValueError

    def text(self, word_text: WordText = repr) -> str:
        return f"a name or {word_text(None)}"


@dataclass(frozen=True, slots=True)
class Phrases:
    """Any number of phrases; a phrase alone stands for a list of it."""

    words: tuple[()] = ()

    def take(self, value: object) -> tuple[str, ...]:
        phrases = (value,) if isinstance(value, str) else value
        if isinstance(phrases, list | tuple) and all(isinstance(p, str) and p.strip() for p in phrases):
            return tuple(phrases)
        raise ValueError

    def text(self, word_text: WordText = repr) -> str:
        return "phrases, in a list or a tuple"


@dataclass(frozen=True, slots=True)
class YesNo:
    """True or False."""

    words: tuple[()] = ()

    def take(self, value: object) -> bool:
        if isinstance(value, bool):
            return value
        raise ValueError

    def text(self, word_text: WordText = repr) -> str:
        return "True or False"
