"""One label of one target of a joint model: the view that a report shows, with parts that add up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.data.database import Codes
from hornbeam.data.numbers import Floats
from hornbeam.engines.contract import Engine
from hornbeam.errors import plural
from hornbeam.joint.model import JointMember
from hornbeam.joint.neighbours import LEAST_CHANCE, LinkedThings, Term, TermWeights, term_added
from hornbeam.joint.predict import Together
from hornbeam.joint.words import beside, term_sentence, value_text
from hornbeam.logic.clauses import atoms_of
from hornbeam.logic.schema import Schema
from hornbeam.model.explain import SHOWN, Explanation, explain, explanation
from hornbeam.model.files import JOINT
from hornbeam.model.scales import sigmoid
from hornbeam.report.numbers.parts import ModelPart


@dataclass(frozen=True, slots=True)
class PartReason:
    """What one part adds to the log-odds of an example."""

    words: str
    contribution: float

    def as_dict(self) -> dict[str, object]:
        return {"part": self.words, "contribution": self.contribution}

    def because(self, key: tuple[str, ...]) -> str:
        return self.words


@dataclass(frozen=True, eq=False)
class JointView:
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

    def scores(self, engine: Engine, keys: Codes) -> Floats:
        """The log-odds of the label."""
        result: Floats = np.sum(list(self.contributions(engine, keys)), axis=0)
        return result

    def probabilities(self, engine: Engine, keys: Codes) -> Floats:
        """The probability of the label."""
        return sigmoid(self.scores(engine, keys))

    def contributions(self, engine: Engine, keys: Codes) -> Iterator[Floats]:
        """What each part adds to the log-odds of the label of each key; unknown keys have their own facts."""
        linked, guesses = self._linked, self.together.guesses
        places = linked.things.places_of(keys)
        here = np.maximum(places, 0)
        reached = linked.linked[here] & (places >= 0)
        alone = np.where(reached[:, None], linked.own.first[here], linked.own.chances[here])
        if (places < 0).any():
            alone[places < 0] = self.member.chances(self.together.world.engine, keys[places < 0])
        own = _log_odds(alone[:, self.label])
        terms = []
        for values, weights in zip(linked.values, linked.neighbours.weights, strict=True):
            every = self._relative(weights, values.values(guesses.beliefs)[here])
            terms.append(np.where(reached, every, 0.0))
        final = np.where(places >= 0, guesses.chances[self.target][here, self.label], alone[:, self.label])
        yield own
        yield from terms
        remainder = _log_odds(final) - own
        for each in terms:
            remainder = remainder - each
        yield remainder

    def _relative(self, weights: TermWeights, values: Floats) -> Floats:
        """What a term adds to the score of the label, relative to the mean of all other labels."""
        free = self.member.target.columns
        added = np.zeros((len(values), self.member.target.size))
        added[:, -free:] = term_added(weights, values, free)
        own = added[:, self.label]
        result: Floats = own - (added.sum(axis=1) - own) / (added.shape[1] - 1)
        return result

    def reasons(self, key: Codes) -> Iterator[PartReason]:
        """What each part adds for one key, in words."""
        linked = self._linked
        place = int(linked.things.places_of(key.reshape(1, -1))[0])
        texts = ["own facts"]
        for values in linked.values:
            others = self.together.world.linked[values.term.target].things.target
            at = values.values(self.together.guesses.beliefs)[max(place, 0)]
            same = others.classes and others.name == self.target
            column = self.label if same else int(at.argmax())
            text = others.label_text(column + values.first)
            words = (self.schema, self.member.wording)
            texts.append(value_text(values.term, float(at[column]), text, others, words))
        added = self.contributions(self.together.world.engine, key.reshape(1, -1))
        for words_of, each in zip([*texts, "balance with the other labels"], added, strict=True):
            yield PartReason(words_of, float(each[0]))

    def report_parts(self) -> list[ModelPart]:
        """The parts in the order of ``contributions``."""
        name, neighbours = self.target, self._linked.neighbours
        whose = "each thing itself and of things around it" if neighbours.around else "each thing itself"
        text = f"What the facts of {whose} say about {name}, by {beside(neighbours)}."
        parts = [_part("own facts", text, ())]
        for number, (term, weights) in enumerate(
            zip(neighbours.terms, neighbours.weights, strict=True), start=1
        ):
            words = (self.schema, self.member.wording)
            text = term_sentence(term, weights, self.member.target, words)
            parts.append(_part(f"neighbours {number}", text, (term,)))
        rest = "How the weight of own facts beside neighbours, and the other labels, change the odds."
        return [*parts, _part("balance", rest, ())]


@explain.register
def _explain(
    model: JointView, engine: Engine, key: Codes, name: Sequence[str], shown: int = SHOWN
) -> Explanation:
    return explanation(model, engine, key, name, model.reasons(key))


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
