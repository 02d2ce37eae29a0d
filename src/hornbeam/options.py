"""What a fit may be told, what each option allows, and the named sets of values.

The bound of an option stands next to it, as data. A value outside is refused with the option, the
value and the bound; a value inside is brought to one form, so that ``l2=10`` and ``l2=10.0`` give
the same model file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, Protocol

from hornbeam.errors import OptionError, did_you_mean

BASE_RATE = "base-rate"
"""The prior that is the log-odds of the training examples' base rate."""


class Bound(Protocol):
    """What an option allows; its text finishes the sentence "must be ..."."""

    def take(self, value: object) -> object:
        """The value in its one form; ``ValueError`` where it is outside."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number within limits, both included."""

    least: int
    most: int

    def take(self, value: object) -> int:
        if isinstance(value, Integral) and not isinstance(value, bool):
            number = int(value)
            if self.least <= number <= self.most:
                return number
        raise ValueError

    def __str__(self) -> str:
        return f"a whole number from {self.least} to {self.most}"


@dataclass(frozen=True, slots=True)
class Number:
    """A finite number, above a limit where one is given; or one of some words."""

    above: float = -math.inf
    words: tuple[str | None, ...] = ()

    def take(self, value: object) -> float | str | None:
        if isinstance(value, Real) and not isinstance(value, bool):
            number = float(value)
            if math.isfinite(number) and number > self.above:
                return number + 0.0
        elif (value is None or isinstance(value, str)) and value in self.words:
            return value
        raise ValueError

    def __str__(self) -> str:
        limit = f" above {self.above:g}" if math.isfinite(self.above) else ""
        words = "".join(f" or {word if word is None else repr(word)}" for word in self.words)
        return f"a finite number{limit}{words}"


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of some words."""

    words: tuple[str, ...]

    def take(self, value: object) -> str:
        if isinstance(value, str) and value in self.words:
            return value
        raise ValueError

    def __str__(self) -> str:
        return " or ".join(map(repr, self.words))


@dataclass(frozen=True, slots=True)
class YesNo:
    """True or False."""

    def take(self, value: object) -> bool:
        if isinstance(value, bool):
            return value
        raise ValueError

    def __str__(self) -> str:
        return "True or False"


def _option(default: Any, bound: Bound) -> Any:
    return field(default=default, metadata={"bound": bound})


@dataclass(frozen=True, slots=True)
class FitOptions:
    """Every option that changes what is learned, and nothing else.

    >>> FitOptions(l2=0)
    Traceback (most recent call last):
    hornbeam.errors.OptionError: l2=0 is refused: it must be a finite number above 0.
    """

    n_steps: int = _option(20, Whole(1, 1_000_000))
    """steps of boosting: at most so many weighted clauses"""
    l2: float = _option(10.0, Number(above=0.0))
    """strength of the ridge penalty on a clause's weights"""
    max_literals: int = _option(4, Whole(1, 20))
    """literals in a body, at most"""
    beam_width: int = _option(10, Whole(1, 1_000_000))
    """bodies kept at each length of the search"""
    stop: str = _option("best", OneOf(("best", "full")))
    """``best`` takes the best clause of any length, ``full`` always extends to the greatest length"""
    prior: float | str = _option(0.0, Number(words=(BASE_RATE,)))
    """log-odds before the first clause"""
    neg_pos_ratio: float | None = _option(10.0, Number(above=0.0, words=(None,)))
    """training negatives kept per positive; ``None`` keeps all"""
    seed: int = _option(0, Whole(0, 2**63 - 1))
    """chooses which negatives are kept"""
    negation: bool = _option(False, YesNo())
    """whether bodies may hold negated literals"""
    populations: str = _option("training", OneOf(("database", "training")))
    """where prediction takes each clause's total from: the data at hand, or those of training"""

    def __post_init__(self) -> None:
        for option in fields(self):
            value, bound = getattr(self, option.name), option.metadata["bound"]
            try:
                taken = bound.take(value)
            except ValueError:
                raise OptionError(f"{option.name}={value!r} is refused: it must be {bound}.") from None
            object.__setattr__(self, option.name, taken)

    def settings(self) -> dict[str, object]:
        """The options by name, as a model file keeps them."""
        return asdict(self)


PRESETS: Mapping[str, FitOptions] = MappingProxyType(
    {
        "default": FitOptions(),
        "paper": FitOptions(
            n_steps=10,
            l2=1000.0,
            max_literals=4,
            beam_width=1,
            stop="full",
            prior=0.0,
            neg_pos_ratio=None,
            negation=False,
            populations="database",
        ),
    }
)
"""Named sets of values for all options. ``paper`` is the published algorithm."""


def fit_options(preset: str = "default", **explicit: object) -> FitOptions:
    """The options of a preset, with the explicit ones in their place.

    >>> fit_options("paper", n_steps=3).beam_width
    1
    """
    if preset not in PRESETS:
        raise OptionError(f'no preset "{preset}". {did_you_mean(preset, PRESETS, "Presets")}')
    known = [option.name for option in fields(FitOptions)]
    for name in explicit:
        if name not in known:
            raise OptionError(f'no option "{name}". {did_you_mean(name, known, "Options")}')
    return replace(PRESETS[preset], **explicit)  # type: ignore[arg-type]
