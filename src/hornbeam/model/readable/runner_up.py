"""Why an alternative and not the runner-up: what each part of a model adds for one and for the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hornbeam.drawing.markup import percent_text
from hornbeam.model.readable.reasons import EffectReason

NEGLIGIBLE = 0.005
"""Differences of less than this share of all differences are not listed."""


class AnyReason(Protocol):
    """A reason of an explanation."""

    @property
    def contribution(self) -> float: ...
    def because(self, key: tuple[str, ...]) -> str: ...


@dataclass(frozen=True, slots=True)
class Difference:
    """What a part of a model adds to the score of an alternative, less what it adds to the runner-up's."""

    adds: float
    because: str


@dataclass(frozen=True, slots=True)
class RunnerUp:
    """The best of the other alternatives of a choice, and how the explained one differs from it."""

    key: tuple[str, ...]
    probability: float
    alternatives: int
    """number of alternatives of the choice"""
    differences: tuple[Difference, ...]

    @property
    def heading(self) -> str:
        others = "the only other alternative" if self.alternatives == 2 else "the best of the others"
        return f"compared with {', '.join(self.key)}, {others} ({percent_text(self.probability, 1)})"

    def as_dict(self) -> dict[str, object]:
        """The comparison as JSON values."""
        return {
            "key": list(self.key),
            "probability": self.probability,
            "alternatives": self.alternatives,
            "differences": [{"adds": each.adds, "because": each.because} for each in self.differences],
        }

    def lines(self) -> list[str]:
        """The comparison as text."""
        added = [f"    {each.adds:+.4g} because {each.because}" for each in self.differences]
        return [f"  {self.heading}:", *(added or ["    no difference"])]


def compared(
    own: Sequence[AnyReason], key: tuple[str, ...], other: Sequence[AnyReason], other_key: tuple[str, ...]
) -> tuple[Difference, ...]:
    """The differences of reasons that are in the same order, the largest first."""
    found = [
        Difference(one.contribution - two.contribution, _because(one, key, two, other_key))
        for one, two in zip(own, other, strict=True)
    ]
    return largest(found)


def largest(found: Sequence[Difference]) -> tuple[Difference, ...]:
    """The differences that matter, the largest first."""
    total = sum(abs(each.adds) for each in found)
    kept = [each for each in found if abs(each.adds) > NEGLIGIBLE * total]
    return tuple(sorted(kept, key=lambda each: -abs(each.adds)))


def _because(one: Any, key: tuple[str, ...], two: Any, other_key: tuple[str, ...]) -> str:
    if isinstance(one, EffectReason) and isinstance(two, EffectReason):
        phrase = one.shown_phrase(key)
        if phrase.startswith("whether "):
            words = ["yes" if each.value else "no" for each in (one, two)]
            return f"{phrase.removeprefix('whether ')}: {words[0]}, not {words[1]}"
        return f"{phrase} is {one.value_text}, not {two.value_text}"
    return f"{one.because(key)}, and there {two.because(other_key)}"
