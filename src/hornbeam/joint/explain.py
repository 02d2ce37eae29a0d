"""Why a thing has its label in a joint model: its separate model, and its neighbours, known or guessed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hornbeam.data.keys import Names
from hornbeam.data.numbers import Floats
from hornbeam.joint.neighbours import LinkedThings, TermValues, term_added
from hornbeam.joint.predict import Together
from hornbeam.joint.words import value_text
from hornbeam.model.class_model import ClassModel
from hornbeam.model.explain import Explanation, explain

SHOWN = 10
"""Maximum number of neighbours that are listed for a term."""


class Neighbour(NamedTuple):
    """A neighbour, its most probable label, and how often the thing reaches it."""

    key: tuple[str, ...]
    label: str
    probability: float
    known: bool
    times: int
    shown: str = ""
    """its display name"""

    def __str__(self) -> str:
        name = self.shown or ", ".join(self.key)
        how = "known" if self.known else f"guessed, {self.probability:.2f}"
        return f"{name}: {self.label} ({how})" + (f", {self.times} times" if self.times > 1 else "")


class TermReason(NamedTuple):
    """What a term adds to the score of the explained label, relative to the mean of all labels."""

    term: str
    words: str
    """what the term reads for the thing, in words"""
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
    own: Explanation | None = None
    """what its own facts say, by the model that gives the score beside the neighbours"""
    around: tuple[tuple[str, float], ...] = ()
    """constants of the thing and of those around it, and what they add, by the surroundings model"""

    def __str__(self) -> str:
        name = f"{self.target}({','.join(self.key)})"
        if self.known:
            return f"{name} is {self.label}: this label is known."
        lines = [
            f"{name} is {self.label} with probability {self.probability:.3f}; "
            f"its separate model says {self.alone:.3f}."
        ]
        for reason in self.reasons:
            lines.append(f"  {reason.added:+.3f}  {reason.words}")
            lines += [f"          {neighbour}" for neighbour in reason.neighbours]
            hidden = reason.reached - len(reason.neighbours)
            if hidden > 0:
                lines.append(f"          and {hidden} more")
        if self.around:
            lines.append("Constants of it and of the things around it:")
            lines += [f"  {added:+.3f}  {constant}" for constant, added in self.around]
        elif not self.reasons:
            lines.append("  It reaches no other thing, so that its separate model alone decides.")
        if self.own is not None:
            lines += ["Its own facts:", *(f"  {line}" for line in str(self.own).splitlines())]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, object]:
        """The explanation as JSON values."""
        reasons = [
            {
                "term": reason.term,
                "words": reason.words,
                "added": reason.added,
                "reached": reason.reached,
                "neighbours": [_neighbour_fields(each) for each in reason.neighbours],
            }
            for reason in self.reasons
        ]
        own = {name: getattr(self, name) for name in ("target", "label", "probability", "alone", "known")}
        facts = None if self.own is None else self.own.as_dict()
        around = [{"constant": constant, "added": added} for constant, added in self.around]
        return own | {"key": list(self.key), "reasons": reasons, "own": facts, "around": around}


def _neighbour_fields(each: Neighbour) -> dict[str, object]:
    fields = each._asdict() | {"key": list(each.key)}
    return {name: value for name, value in fields.items() if name != "shown"}


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
    around: tuple[tuple[str, float], ...] = ()
    if place >= 0 and not known and linked.neighbours.around and linked.linked[place]:
        around = tuple(_around(together, name, place, label))
    own = None
    if not known and not around:
        own = _own_facts(together, name, key, label, inner=bool(reasons))
    of_label = float(chances[label])
    return NeighbourExplanation(
        name, key, member.target.label_text(label), of_label, alone, known, reasons, own, around
    )


def _around(together: Together, name: str, place: int, label: int) -> Iterator[tuple[str, float]]:
    """The constants that add most to the score of a label, by the surroundings model."""
    linked, model = together.world.linked[name], together.world.model.member(name).surroundings
    assert model is not None
    weight = 1.0 + linked.neighbours.own
    for constant, added in model.reasons(together.world.database, linked.things, place, label)[:SHOWN]:
        yield constant, round(weight * added, 6)


def _own_facts(
    together: Together, name: str, key: tuple[str, ...], label: int, inner: bool
) -> Explanation | None:
    """What the facts of a thing say by the model that gives its score; None if it has no probability."""
    member, engine = together.world.model.member(name), together.world.engine
    entry = together.world.linked[name].neighbours
    model = member.inner if inner and entry.inner and member.inner is not None else member.model
    row = np.empty((1, len(key)), dtype=object)
    row[0] = key
    codes = engine.database.encode_keys(name, row)[0]
    if isinstance(model, ClassModel):
        # Of two classes, the second has a model; its reasons, turned round, are those of the first.
        of_class = member.target.classes[max(label, member.target.size - len(model.models))]
        return explain(model.member(of_class), engine, codes, key).of_class(of_class)
    return explain(model, engine, codes, key)


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
            words = _words(together, values, at[0], label)
            reasons.append(TermReason(str(values.term), words, round(relative, 6), neighbours, reached))
    return sorted(_merged(reasons), key=lambda reason: -abs(reason.added))


def _merged(reasons: Sequence[TermReason]) -> list[TermReason]:
    """Reasons that say the same of the same neighbours are one: a link in both directions, for example."""
    merged: dict[object, TermReason] = {}
    for each in reasons:
        key = (each.words, each.neighbours, each.reached)
        if key in merged:
            before = merged[key]
            each = each._replace(term=f"{before.term} {each.term}", added=round(before.added + each.added, 6))
        merged[key] = each
    return list(merged.values())


def _words(together: Together, values: TermValues, at: Floats, label: int) -> str:
    """What a term reads: the number or share with the explained label, else with the most frequent one."""
    model, others = together.world.model, together.world.linked[values.term.target].things.target
    member = model.member(values.term.clauses[0].head.predicate)
    same = others.name == member.target.name and others.classes
    column = label if same else int(at.argmax())
    text = others.label_text(column + values.first)
    return value_text(values.term, float(at[column]), text, others, (model.schema, member.wording))


def _neighbours(together: Together, values: TermValues, place: int) -> tuple[tuple[Neighbour, ...], int]:
    """The neighbours that a thing reaches most often, and the number of all."""
    others = together.world.linked[values.term.target].things
    counts = np.sum([reach.row(place) for reach in values.reaches], axis=0)
    if values.heard is not None:
        counts *= values.heard
    ends = np.flatnonzero(counts > 0)
    shown = ends[np.argsort(-counts[ends], kind="stable")][:SHOWN]
    names = together.world.database.names_of(values.term.target, others.keys[shown])
    displayed = _display_names(together, values.term.target, names)
    beliefs = together.guesses.beliefs[values.term.target][shown]
    return tuple(
        Neighbour(
            tuple(map(str, name)),
            others.target.label_text(int(chances.argmax())),
            round(float(chances.max()), 6),
            bool(others.known[end]),
            int(counts[end]),
            title,
        )
        for name, title, chances, end in zip(names, displayed, beliefs, shown.tolist(), strict=True)
    ), len(ends)


def _display_names(together: Together, target: str, names: Names) -> list[str]:
    """The display names of keys."""
    database = together.world.database
    titles = [database.display_names.get(name, {}) for name in database.schema.types_of(target)]
    rows = [[title.get(name, str(name)) for title, name in zip(titles, row, strict=True)] for row in names]
    return [", ".join(row) for row in rows]
