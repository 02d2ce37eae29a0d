"""A target of a joint model on some data, as a model like any other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hornbeam.data.database import Codes
from hornbeam.data.keys import Names
from hornbeam.data.numbers import Floats
from hornbeam.engines.contract import Engine
from hornbeam.errors import plural
from hornbeam.joint.model import JointMember
from hornbeam.joint.neighbours import LEAST_CHANCE, LinkedThings, Term, TermValues, TermWeights, term_added
from hornbeam.joint.predict import Together
from hornbeam.joint.words import beside, term_sentence, value_text
from hornbeam.logic.clauses import atoms_of
from hornbeam.logic.schema import Schema
from hornbeam.model.class_model import ClassModel
from hornbeam.model.explain import SHOWN, Explanation, explain, explanation
from hornbeam.model.files import JOINT, LearnedModel
from hornbeam.report.numbers.parts import ModelPart

OWN, OTHERS = "of its own facts", "of the scores of other labels"


@dataclass(frozen=True, slots=True)
class PartReason:
    """What one part adds to the log-odds of an example."""

    words: str
    contribution: float
    neighbours: tuple[Mapping[str, object], ...] = ()
    """the neighbours that a term reaches most often: their keys, their labels, and whether these are known"""
    reached: int = 0
    """the number of all neighbours"""
    details: tuple[tuple[float, str], ...] = ()
    """what own facts add by the model that gives the score beside the neighbours, and why"""

    def as_dict(self) -> dict[str, object]:
        fields: dict[str, object] = {"part": self.words, "contribution": self.contribution}
        if self.neighbours:
            fields |= {"reached": self.reached, "neighbours": [dict(each) for each in self.neighbours]}
        if self.details:
            fields["details"] = [{"contribution": added, "because": text} for added, text in self.details]
        return fields

    def because(self, key: tuple[str, ...]) -> str:
        """The part in words, with neighbours in the same line and own facts in lines of their own."""
        shown = [_neighbour_text(each) for each in self.neighbours]
        shown += ["..."] if self.reached > len(shown) else []
        lines = [f"{self.words}: {', '.join(shown)}" if shown else self.words]
        return "\n".join([*lines, *(f"      {added:+.4g} because {text}" for added, text in self.details)])


def _neighbour_text(fields: Mapping[str, object]) -> str:
    how = "known" if fields["known"] else f"guessed, {fields['probability']:.2f}"
    times = f", {fields['times']} times" if fields["times"] != 1 else ""
    return f"{fields['name']} {fields['label']} ({how}{times})"


def view_of(together: Together, name: str) -> LearnedModel:
    """A target as a model of its labels, or of its classes."""
    member = together.world.model.member(name)
    if not member.target.classes:
        return LabelView(together, member, 1)
    views = tuple(LabelView(together, member, label) for label in range(member.target.size))
    model = together.world.model
    return ClassesView(name, model.schema, member.target.classes, views, model.settings, JOINT)


@dataclass(frozen=True, repr=False)
class ClassesView(ClassModel):
    """The classes of a target; their probabilities sum to one as they are."""

    def probabilities(self, engine: Engine, keys: Codes) -> Floats:
        view = self.models[0]
        assert isinstance(view, LabelView)
        return view.chances(engine, keys)


@dataclass(frozen=True, eq=False)
class LabelView:
    """The guesses of a label: its own facts, the labels of neighbours, and what other labels change."""

    together: Together
    member: JointMember
    label: int
    prior: float = 0.0
    learner: str = JOINT

    @property
    def target(self) -> str:
        return self.member.target.name

    @property
    def schema(self) -> Schema:
        return self.together.world.model.schema

    @property
    def settings(self) -> Mapping[str, object]:
        return self.together.world.model.settings

    @property
    def size_text(self) -> str:
        return plural(len(self._linked.values), "term") + " over neighbours"

    @property
    def _linked(self) -> LinkedThings:
        return self.together.world.linked[self.target]

    def predicates(self) -> tuple[str, ...]:
        """The predicates whose facts it reads, sorted."""
        return self.together.world.model.predicates()

    def chances(self, engine: Engine, keys: Codes) -> Floats:
        """The probability of each label of each key; keys that the data do not have reach nothing."""
        return self.together.chances(self.target, keys)

    def scores(self, engine: Engine, keys: Codes) -> Floats:
        """The log-odds of the label."""
        return _log_odds(self.chances(engine, keys)[:, self.label])

    def probabilities(self, engine: Engine, keys: Codes) -> Floats:
        """The probability of the label."""
        return self.chances(engine, keys)[:, self.label]

    def contributions(self, engine: Engine, keys: Codes) -> Iterator[Floats]:
        """What each part adds to the log-odds of the label of each key; unknown keys have their own facts."""
        linked, beliefs = self._linked, self.together.inferred.beliefs
        places = linked.things.places_of(keys)
        here = np.maximum(places, 0)
        reached = linked.linked[here] & (places >= 0)
        alone = np.where(reached[:, None], linked.own.first[here], linked.own.chances[here])
        if (places < 0).any():
            alone[places < 0] = self.member.chances(self.together.world.engine, keys[places < 0])
        own = _log_odds(alone[:, self.label])
        yield own
        remainder = self.scores(engine, keys) - own
        for values, weights in zip(linked.values, linked.neighbours.weights, strict=True):
            added = self._relative(weights, values.values(beliefs)[here])
            added = np.where(reached, added, 0.0)
            remainder = remainder - added
            yield added
        yield remainder

    def _relative(self, weights: TermWeights, values: Floats) -> Floats:
        """What a term adds to the score of the label, relative to the mean of all other labels."""
        free = self.member.target.columns
        added = np.zeros((len(values), self.member.target.size))
        added[:, -free:] = term_added(weights, values, free)
        own = added[:, self.label]
        result: Floats = own - (added.sum(axis=1) - own) / (added.shape[1] - 1)
        return result

    def reasons(self, key: Codes, name: Sequence[str], shown: int) -> Iterator[PartReason]:
        """What each part adds for one key, in words."""
        added = [
            float(each[0]) for each in self.contributions(self.together.world.engine, key.reshape(1, -1))
        ]
        place = int(self._linked.things.places_of(key.reshape(1, -1))[0])
        if place >= 0 and self._linked.things.known[place]:
            yield PartReason("its label is known", sum(added))
            return
        yield PartReason(OWN, added[0], details=tuple(self._own_facts(key, place, name, shown)))
        for values, each in zip(self._linked.values, added[1:], strict=False):
            neighbours, reached = _neighbours(self.together, values, max(place, 0), shown)
            reached *= place >= 0
            yield PartReason(self._words(values, max(place, 0)), each, neighbours[:reached], reached)
        yield PartReason(OTHERS, added[-1])

    def _words(self, values: TermValues, place: int) -> str:
        """What a term reads: the number or share with the label, else with the most frequent one."""
        others = self.together.world.linked[values.term.target].things.target
        at = values.values(self.together.inferred.beliefs)[place]
        same = others.classes and others.name == self.target
        column = self.label if same else int(at.argmax())
        text = others.label_text(column + values.first)
        return value_text(values.term, float(at[column]), text, others, (self.schema, self.member.wording))

    def _own_facts(
        self, key: Codes, place: int, name: Sequence[str], shown: int
    ) -> Iterator[tuple[float, str]]:
        """What its own facts say, by the model that gives its score."""
        linked, member, world = self._linked, self.member, self.together.world
        reaches = place >= 0 and bool(linked.linked[place])
        if reaches and linked.neighbours.around and member.surroundings is not None:
            found = member.surroundings.reasons(world.database, linked.things, place, self.label)
            yield from ((added, f"of {constant}") for constant, added in found[:shown])
            return
        inside = reaches and linked.neighbours.inner and bool(linked.values)
        model = member.inner if inside and member.inner is not None else member.model
        if isinstance(model, ClassModel):
            # Of two classes, the second has a model.
            _, model = model.members()[max(self.label - member.target.size + len(model.models), 0)]
        own = explain(model, world.engine, key, name, shown)
        yield from ((each.contribution, each.because(own.key)) for each in own.reasons)
        yield own.prior, "of the prior"

    def report_parts(self) -> list[ModelPart]:
        """The parts in the order of ``contributions``."""
        name, neighbours = self.target, self._linked.neighbours
        whose = "each thing itself and of things around it" if neighbours.around else "each thing itself"
        parts = [
            _part("own facts", f"What the facts of {whose} say about {name}, by {beside(neighbours)}.", ())
        ]
        words = (self.schema, self.member.wording)
        for number, (term, weights) in enumerate(
            zip(neighbours.terms, neighbours.weights, strict=True), start=1
        ):
            text = term_sentence(term, weights, self.member.target, words)
            parts.append(_part(f"neighbours {number}", text, (term,)))
        rest = "How the weight of own facts beside neighbours, and the other labels, change the odds."
        return [*parts, _part("balance", rest, ())]


@explain.register
def _explain(
    model: LabelView, engine: Engine, key: Codes, name: Sequence[str], shown: int = SHOWN
) -> Explanation:
    found = explanation(model, engine, key, name, model.reasons(key, name, shown))
    alone = float(model.member.chances(model.together.world.engine, key.reshape(1, -1))[0, model.label])
    probability = float(model.probabilities(engine, key.reshape(1, -1))[0])
    return replace(found, probability=probability, alone=alone)


def explain_target(together: Together, name: str, names: Names, shown: int = SHOWN) -> list[Explanation]:
    """Why each key has its most probable label, or how probable it is that a target is true."""
    world, view = together.world, view_of(together, name)
    found = []
    for key, row in zip(world.database.encode_keys(name, names), names.tolist(), strict=True):
        if isinstance(view, ClassModel):
            of_class = view.most_probable(world.engine, key.reshape(1, -1))[0]
            found.append(explain(view.member(of_class), world.engine, key, row, shown).of_class(of_class))
        else:
            found.append(explain(view, world.engine, key, row, shown))
    return found


def _neighbours(
    together: Together, values: TermValues, place: int, most: int
) -> tuple[tuple[Mapping[str, object], ...], int]:
    """The neighbours that a thing reaches most often, and the number of all."""
    database, others = together.world.database, together.world.linked[values.term.target].things
    counts = np.sum([reach.row(place) for reach in values.reaches], axis=0)
    if values.heard is not None:
        counts *= values.heard
    ends = np.flatnonzero(counts > 0)
    shown = ends[np.argsort(-counts[ends], kind="stable")][:most]
    titles = [database.display_names.get(each, {}) for each in database.schema.types_of(values.term.target)]
    found = []
    for end, key in zip(
        shown.tolist(), database.names_of(values.term.target, others.keys[shown]), strict=True
    ):
        chances = together.inferred.beliefs[values.term.target][end]
        known = [title.get(each, str(each)) for title, each in zip(titles, key, strict=False)]
        found.append(
            {
                "key": list(map(str, key)),
                "name": ", ".join(known),
                "label": others.target.label_text(int(chances.argmax())),
                "probability": round(float(chances.max()), 6),
                "known": bool(others.known[end]),
                "times": int(counts[end]),
            }
        )
    return tuple(found), len(ends)


def _log_odds(chances: Floats) -> Floats:
    kept = np.clip(chances, LEAST_CHANCE, 1.0 - LEAST_CHANCE)
    result: Floats = np.log(kept) - np.log1p(-kept)
    return result


def _part(name: str, sentence: str, terms: tuple[Term, ...]) -> ModelPart:
    return ModelPart(
        name=name,
        sentence=[sentence],
        formula=[str(term) for term in terms],
        weights=(),
        note="",
        clause=None,
        predicates=frozenset(
            atom.predicate for term in terms for clause in term.clauses for atom in atoms_of(clause.body)
        ),
    )
