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
from hornbeam.logic.guards import FALSE_COUNTS, POPULATION

BEST = "best"
"""The feature that is chosen for each clause as it is added."""
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
    words: tuple[None, ...] = ()

    def take(self, value: object) -> int | None:
        if isinstance(value, Integral) and not isinstance(value, bool):
            number = int(value)
            if self.least <= number <= self.most:
                return number
        elif value is None and value in self.words:
            return None
        raise ValueError

    def __str__(self) -> str:
        return f"a whole number from {self.least} to {self.most}" + " or None" * len(self.words)


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
class Share:
    """A number from 0 to less than 1."""

    def take(self, value: object) -> float:
        if isinstance(value, Real) and not isinstance(value, bool) and 0 <= float(value) < 1:
            return float(value) + 0.0
        raise ValueError

    def __str__(self) -> str:
        return "a number from 0 to less than 1"


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


def option(default: Any, bound: Bound, needs: Mapping[str, object] = MappingProxyType({})) -> Any:
    """A field of a class of options: its default, what it allows, and what else it does nothing without."""
    return field(default=default, metadata={"bound": bound, "needs": needs})


@dataclass(frozen=True, slots=True)
class Options:
    """What a learner may be told: every option that changes what is learned, and nothing else."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value, bound = getattr(self, each.name), each.metadata["bound"]
            try:
                taken = bound.take(value)
            except ValueError:
                raise OptionError(f"{each.name}={value!r} is refused: it must be {bound}.") from None
            object.__setattr__(self, each.name, taken)

    def settings(self) -> dict[str, object]:
        """The options by name, as a model file keeps them."""
        return asdict(self)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The options that there are."""
        return tuple(each.name for each in fields(cls))


STEPS = Whole(1, 1_000_000)
LITERALS = Whole(1, 20)
BEAM = Whole(1, 1_000_000)
STOP = OneOf(("best", "full"))
PENALTY = Number(above=0.0)
PRIOR = Number(words=(BASE_RATE,))
RATIO = Number(above=0.0, words=(None,))
SEED = Whole(0, 2**63 - 1)
POPULATIONS = OneOf(("database", "training"))
THRESHOLDS = Whole(0, 10_000)
CLAUSES = Whole(1, 1_000_000, words=(None,))
"""What the options allow that several learners have."""


@dataclass(frozen=True, slots=True)
class FitOptions(Options):
    """The options of the boosted learner of relational logistic regression.

    >>> FitOptions(l2=0)
    Traceback (most recent call last):
    hornbeam.errors.OptionError: l2=0 is refused: it must be a finite number above 0.
    """

    n_steps: int = option(40, STEPS)
    """steps of boosting: at most so many weighted clauses"""
    l2: float = option(10.0, PENALTY)
    """strength of the ridge penalty on a clause's weights"""
    max_literals: int = option(4, LITERALS)
    """additions to a body, at most: a literal each, an atom perhaps with a comparison (see ``refine``)"""
    beam_width: int = option(30, BEAM)
    """bodies kept at each length of the search"""
    stop: str = option("best", STOP)
    """``best`` takes the best clause of any length, ``full`` always extends to the greatest length"""
    prior: float | str = option(0.0, PRIOR)
    """log-odds before the first clause; a refit fits its own"""
    neg_pos_ratio: float | None = option(20.0, RATIO)
    """training negatives kept per positive; ``None`` keeps all"""
    seed: int = option(0, SEED)
    """chooses which negatives are kept, and which examples are held out together"""
    negation: bool = option(False, YesNo())
    """whether bodies may hold negated literals"""
    populations: str = option("training", POPULATIONS)
    """where prediction takes each clause's total from: the data at hand, or those of training"""
    n_thresholds: int = option(16, THRESHOLDS)
    """thresholds offered for each numeric argument of a predicate, at most; 0 offers no comparisons"""
    false_counts: str = option(POPULATION, OneOf(FALSE_COUNTS))
    """what false counts are the rest of: the population, or what the body leaves but for its last literal"""
    feature: str = option("count", OneOf(("count", "log", BEST)))
    """what of a clause's counts is weighted: the count, ln(1 + count), or the best of that and bounds"""
    refit: bool = option(False, YesNo())
    """whether all weights are fitted anew, jointly, after each step"""
    length_penalty: float = option(0.0, Share())
    """share of its gain that a clause loses for each literal after the first, against shorter ones"""
    look_ahead: bool = option(False, YesNo())
    """whether literals that only lead on to a new value are extended, whatever they gain themselves"""
    per_constant: bool = option(False, YesNo(), {"feature": BEST, "refit": True})
    """whether a clause may have a weight for each constant of a variable (with feature best and refit)"""
    validate: bool = option(False, YesNo(), {"refit": True})
    """whether examples held out choose l2, fewer steps and one literal less, where that helps (with refit)"""
    max_clauses: int | None = option(None, CLAUSES, {"refit": True})
    """clauses in the model: those of all steps that say most together (with refit); ``None`` keeps all"""


PRESETS: Mapping[str, FitOptions] = MappingProxyType(
    {
        "default": FitOptions(
            n_steps=30,
            l2=2.0,
            max_literals=3,
            beam_width=10,
            prior=BASE_RATE,
            neg_pos_ratio=50.0,
            feature=BEST,
            refit=True,
            length_penalty=0.2,
            look_ahead=False,
            per_constant=True,
            validate=True,
        ),
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
            false_counts=POPULATION,
            feature="count",
            refit=False,
            length_penalty=0.0,
            look_ahead=False,
            per_constant=False,
            validate=False,
        ),
    }
)
"""Named sets of values for all options. ``paper`` is the published algorithm."""


def fit_options(preset: str = "default", **explicit: object) -> FitOptions:
    """The options of a preset, with the explicit ones in their place.

    What a preset has and other options make idle stays idle; what is asked for and would be is refused.

    >>> fit_options("paper", n_steps=3).beam_width
    1
    >>> fit_options("paper", validate=True)
    Traceback (most recent call last):
    hornbeam.errors.OptionError: validate=True is refused: it does nothing without refit.
    """
    if preset not in PRESETS:
        raise OptionError(f'no preset "{preset}". {did_you_mean(preset, PRESETS, "Presets")}')
    for name in explicit:
        if name not in FitOptions.names():
            raise OptionError(f'no option "{name}". {did_you_mean(name, FitOptions.names(), "Options")}')
    options = replace(PRESETS[preset], **explicit)  # type: ignore[arg-type]
    for each in fields(options):
        needs = each.metadata["needs"].items()
        lacking = [_said(name, value) for name, value in needs if getattr(options, name) != value]
        if explicit.get(each.name) and lacking:
            raise OptionError(
                f"{each.name}={explicit[each.name]!r} is refused: it does nothing without "
                f"{' and '.join(lacking)}."
            )
    return options


def _said(name: str, value: object) -> str:
    """An option and its value in words."""
    return name if value is True else f"{name} {value}"
