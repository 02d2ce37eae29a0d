"""How an option is declared, and what a learner's class of options does with the declarations.

An option is described only in its declaration. The check of its value, the flag on the command line, the
parameter of the classifier and the documents are made from it. A bound says which values are allowed, in
words that complete "it must be ...", and brings them to one form: ``l2=10`` and ``l2=10.0`` give one file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import Field, asdict, dataclass, field, fields
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Protocol, get_type_hints

from hornbeam.errors import OptionError


@dataclass(frozen=True, slots=True)
class Option:
    """An option, for all learners that have it."""

    help: str
    """sentences that say what it does"""
    group: str
    """the heading under which the command line lists it"""
    bound: Bound
    flag: str = ""
    """its flag on the command line, if not its name with hyphens"""
    none: str = "all"
    """the word for None on the command line"""
    successor: str = ""
    """for an option of the preset ``paper``, the option of the default preset that has its purpose"""

    def default(self, value: object, bound: Bound | None = None, note: str = "") -> Any:
        """A field of a learner's class of options, with its default value.

        ``bound`` is for a learner that allows other values, ``note`` for what it does differently.
        """
        return field(default=value, metadata={"option": self, "bound": bound or self.bound, "note": note})


class Declared(NamedTuple):
    """An option as one learner has it."""

    name: str
    option: Option
    bound: Bound
    note: str
    type: Any
    default: Any

    @property
    def flag(self) -> str:
        """The option's flag on the command line."""
        return self.option.flag or f"--{self.name.replace('_', '-')}"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a learner: everything that changes what is learned, and nothing else."""

    learner: ClassVar[str]
    preset: ClassVar[str | None] = None
    """the preset that has these options, if the learner has presets"""
    summary: ClassVar[str]
    """what the learner is, in a few words"""

    def __post_init__(self) -> None:
        for each in fields(self):
            value, bound = getattr(self, each.name), each.metadata["bound"]
            try:
                taken = bound.take(value)
            except ValueError:
                raise OptionError(
                    f"{each.name}={value!r} is refused: it must be {bound.text()}.",
                    option=each.name,
                    value=value,
                    bound=bound,
                ) from None
            object.__setattr__(self, each.name, taken)

    def settings(self) -> dict[str, object]:
        """The options by name, as a model file stores them."""
        return asdict(self)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of the options."""
        return tuple(each.name for each in fields(cls))

    @classmethod
    def declared(cls) -> dict[str, Declared]:
        """The declarations of the options by name."""
        types = get_type_hints(cls)
        return {each.name: _declared(each, types[each.name]) for each in fields(cls)}


def _declared(each: Field[Any], type_: Any) -> Declared:
    given = each.metadata
    return Declared(each.name, given["option"], given["bound"], given["note"], type_, each.default)


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
