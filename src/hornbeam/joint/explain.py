"""Why a thing has its label in a joint model: its separate model, and its neighbours, known or guessed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hornbeam.joint.neighbours import LinkedThings, TermValues, term_added
from hornbeam.joint.predict import Together

SHOWN = 10
"""Maximum number of neighbours that are listed for a term."""


class Neighbour(NamedTuple):
    """A neighbour, its most probable label, and how often the thing reaches it."""

    key: tuple[str, ...]
    label: str
    probability: float
    known: bool
    times: int

    def __str__(self) -> str:
        name = ", ".join(self.key)
        how = "known" if self.known else f"guessed, {self.probability:.2f}"
        return f"{name}: {self.label} ({how})" + (f", {self.times} times" if self.times > 1 else "")


class TermReason(NamedTuple):
    """What a term adds to the score of the explained label, relative to the mean of all labels."""

    term: str
    added: float
    neighbours: tuple[Neighbour, ...]
    reached: int


@dataclass(frozen=True)
class NeighbourExplanation:
    """Why a thing has its most probable label."""

    target: str
    key: tuple[str, ...]
    label: str
    probability: float
    alone: float
    """the probability of the label from the separate model"""
    known: bool
    reasons: tuple[TermReason, ...]

    def __str__(self) -> str:
        name = f"{self.target}({','.join(self.key)})"
        if self.known:
            return f"{name} is {self.label}: this label is known."
        lines = [
            f"{name} is {self.label} with probability {self.probability:.3f}; "
            f"its separate model says {self.alone:.3f}."
        ]
        for reason in self.reasons:
            lines.append(f"  {reason.added:+.3f}  {reason.term}")
            lines += [f"          {neighbour}" for neighbour in reason.neighbours]
            hidden = reason.reached - len(reason.neighbours)
            if hidden > 0:
                lines.append(f"          and {hidden} more")
        if not self.reasons:
            lines.append("  It reaches no other thing, so that its separate model alone decides.")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, object]:
        """The explanation as JSON values."""
        reasons = [
            {
                "term": reason.term,
                "added": reason.added,
                "reached": reason.reached,
                "neighbours": [each._asdict() | {"key": list(each.key)} for each in reason.neighbours],
            }
            for reason in self.reasons
        ]
        own = {name: getattr(self, name) for name in ("target", "label", "probability", "alone", "known")}
        return own | {"key": list(self.key), "reasons": reasons}


def explain_together(together: Together, name: str, names: Sequence[str]) -> NeighbourExplanation:
    """Explain the most probable label of one key, given as names."""
    database, linked = together.world.database, together.world.linked[name]
    member = together.world.model.member(name)
    row = np.empty((1, len(names)), dtype=object)
    row[0] = names
    chances = together.probabilities(name, row)[0]
    label = int(chances.argmax())
    alone = float(member.chances(together.world.engine, database.encode_keys(name, row))[0, label])
    place = int(linked.things.places_of(database.encode_keys(name, row))[0])
    known = place >= 0 and bool(linked.things.known[place])
    reasons: tuple[TermReason, ...] = ()
    if place >= 0 and not known and linked.values and linked.linked[place]:
        reasons = tuple(_reasons(together, linked, place, label))
    key = tuple(map(str, names))
    return NeighbourExplanation(
        name, key, member.target.label_text(label), float(chances[label]), alone, known, reasons
    )


def _reasons(together: Together, linked: LinkedThings, place: int, label: int) -> list[TermReason]:
    reasons = []
    free = len(linked.neighbours.bias)
    first = linked.things.target.size - free
    for values, weights in zip(linked.values, linked.neighbours.weights, strict=True):
        at = values.values(together.guesses.beliefs)[place : place + 1]
        added = np.concatenate([np.zeros(first), term_added(weights, at, free)[0]])
        # A score matters only beside those of the other labels.
        relative = float(added[label] - (added.sum() - added[label]) / (len(added) - 1))
        neighbours, reached = _neighbours(together, values, place)
        if reached:
            reasons.append(TermReason(str(values.term), round(relative, 6), neighbours, reached))
    return sorted(reasons, key=lambda reason: -abs(reason.added))


def _neighbours(together: Together, values: TermValues, place: int) -> tuple[tuple[Neighbour, ...], int]:
    """The neighbours that a thing reaches most often, and the number of all."""
    others = together.world.linked[values.term.target].things
    counts = np.sum([reach.row(place) for reach in values.reaches], axis=0)
    if values.heard is not None:
        counts *= values.heard
    ends = np.flatnonzero(counts > 0)
    shown = ends[np.argsort(-counts[ends], kind="stable")][:SHOWN]
    names = together.world.database.names_of(values.term.target, others.keys[shown])
    beliefs = together.guesses.beliefs[values.term.target][shown]
    return tuple(
        Neighbour(
            tuple(map(str, name)),
            others.target.label_text(int(chances.argmax())),
            round(float(chances.max()), 6),
            bool(others.known[end]),
            int(counts[end]),
        )
        for name, chances, end in zip(names, beliefs, shown.tolist(), strict=True)
    ), len(ends)
