"""What neighbours do, in sentences: the terms of a joint model in the user's words."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp

from hornbeam.drawing.markup import factor_text, number_text, percent_text
from hornbeam.errors import plural
from hornbeam.joint.neighbours import COUNT, SHARE, Neighbours, Term, TermWeights
from hornbeam.joint.things import JointTarget
from hornbeam.logic import features as kinds
from hornbeam.logic.clauses import Clause
from hornbeam.logic.effects import Curve, Effect, Feature
from hornbeam.logic.english.clauses import text_of
from hornbeam.logic.english.nouns import capital
from hornbeam.logic.english.phrases import feature_pieces
from hornbeam.logic.english.wording import Wording
from hornbeam.logic.schema import Schema

MOST_PAIRS = 6
"""Maximum number of pairs of labels that are listed for a term."""
SMALL = 0.05
"""Weights that are smaller are not told in words."""
SchemaWords = tuple[Schema, Wording]
"""A schema, and the user's words for it."""
_CURVE = Curve((1.0,), (0.0, 1.0), 0.0)


def phrase_of(term: Term, schema: Schema, wording: Wording, labels: bool) -> str:
    """What a term reads, as a noun phrase: ``the share of its friends that smoke``, or ``its friends``.

    With ``labels`` it is the number or share of those for which the target is true.
    """
    phrases: dict[str, None] = {}
    for clause in term.clauses:
        phrases[_phrase(clause, term.reading, schema, wording, labels)] = None
    return " or ".join(phrases)


def _phrase(clause: Clause, reading: str, schema: Schema, wording: Wording, labels: bool) -> str:
    if labels:
        kind = kinds.SHARE if reading == SHARE and len(clause.body) > 1 else kinds.COUNT
        return text_of(feature_pieces(_effect(clause, len(clause.body), kind), schema, False, wording))
    if len(clause.body) == 1:
        return wording.noun(schema.types_of(clause.head.predicate)[0])
    counted = feature_pieces(_effect(clause, len(clause.body) - 1, kinds.COUNT), schema, False, wording)
    return text_of(counted).removeprefix("the number of ")


def _effect(clause: Clause, size: int, kind: str) -> Effect:
    return Effect(clause.head, clause.body[:size], Feature(kind), _CURVE)


def neighbours_text(
    entries: tuple[Neighbours, ...],
    targets: dict[str, JointTarget],
    of: JointTarget,
    words: SchemaWords,
) -> str:
    """What neighbours do to a target: the terms of the first entry that has some; a line for each other."""
    main = next((each for each in entries if each.used), None)
    if main is None:
        return f"Neighbours of {of.name} are not used: each {_thing(of, words)} is predicted alone."
    lines = [f"What neighbours do to {of.name} {_situation(main)}:"]
    for number, (term, weights) in enumerate(zip(main.terms, main.weights, strict=True), start=1):
        lines += [f"{number}. {term_sentence(term, weights, of, words)}"]
        lines += [f"     {line}" for line in _pairs(term, weights, targets[term.target], of)]
        lines.append(f"     {term}")
    if not main.terms:
        lines.append("Labels of neighbours are not used, because they do not help.")
    lines.append(
        f"{facts_of(main)} count {number_text(1.0 + main.own, 3)} times, by the score of {beside(main)}."
    )
    others = [each for each in entries if each is not main and each.losses is not None]
    lines += [f"{capital(_situation(each))}: {_use(each)}." for each in others]
    return "\n".join(lines)


def facts_of(entry: Neighbours) -> str:
    """Whose facts the score beside the neighbours is made of."""
    return "Its own facts and those of things around it" if entry.around else "Its own facts"


def beside(entry: Neighbours) -> str:
    """The model that gives the score beside the neighbours."""
    if entry.around:
        return "its surroundings model"
    return "a model that follows one link at most" if entry.inner else "its separate model"


def _situation(entry: Neighbours) -> str:
    share = f"if about {percent_text(entry.known_share)} of the labels are known"
    if entry.only_known:
        return f"in other data than those of training, {share}"
    return share if entry.anywhere else f"on the data of training, {share}"


def _use(entry: Neighbours) -> str:
    assert entry.losses is not None
    alone, together = (f"{loss:.3f}" for loss in entry.losses)
    if not entry.used:
        return "neighbours are not used, because they do not help"
    if not entry.terms:
        return f"{beside(entry)} without labels of neighbours, log-loss {together} and {alone} alone"
    heard = " by known labels only" if entry.only_known else ""
    return f"{plural(len(entry.terms), 'term')}{heard}, log-loss {alone} alone and {together} with neighbours"


def _thing(target: JointTarget, words: SchemaWords) -> str:
    schema, wording = words
    return " and ".join(wording.noun(name) for name in schema.types_of(target.name))


def term_sentence(term: Term, weights: TermWeights, of: JointTarget, words: SchemaWords) -> str:
    """What a term says, in one sentence or two."""
    schema, wording = words
    share = term.reading == SHARE
    changes = "from none to all changes {} odds by" if share else "each one more changes {} odds by"
    if weights.same:
        reached = phrase_of(term, schema, wording, labels=False)
        likelier = "likelier" if weights.same > 0 else "less likely"
        larger = f"the larger its share among {reached}" if share else f"the more of {reached} have it"
        return f"A label is {likelier}, {larger}: {changes.format('its')} {_times(weights.same)}."
    if of.classes or len(weights.pairs) != 1:
        reached = phrase_of(term, schema, wording, labels=False)
        return f"The {'shares' if share else 'numbers'} of labels among {reached} matter."
    phrase, weight = phrase_of(term, schema, wording, labels=True), weights.pairs[0][0]
    rises = "rises" if weight > 0 else "falls"
    if phrase.startswith("whether "):
        condition = phrase.removeprefix("whether ")
        return f"The probability {rises} if {condition}: the odds change by {_times(weight)}."
    return f"The probability {rises} with {phrase}: {changes.format('the')} {_times(weight)}."


def _pairs(term: Term, weights: TermWeights, others: JointTarget, of: JointTarget) -> Iterator[str]:
    """The strongest weights of pairs of labels; none for a single weight, which the sentence tells."""
    if not weights.pairs or (len(weights.pairs) == 1 and not of.classes):
        return
    read = others.classes or ("true",)
    free = of.classes or ("true",)
    found = [
        (weight, neighbour, label)
        for neighbour, row in zip(read, weights.pairs, strict=True)
        for label, weight in zip(free, row, strict=True)
        if abs(weight) >= SMALL
    ]
    steps = "from none to all" if term.reading == SHARE else "for each of them"
    for weight, neighbour, label in sorted(found, key=lambda each: -abs(each[0]))[:MOST_PAIRS]:
        yield f"neighbours {neighbour}: odds of {label} {_times(weight)} {steps}"
    if len(found) > MOST_PAIRS:
        yield f"and {plural(len(found) - MOST_PAIRS, 'weaker pair')} of labels"


def _times(weight: float) -> str:
    """The factor by which odds change."""
    return factor_text(exp(max(min(weight, 700.0), -700.0)))


def value_text(term: Term, value: float, label: str, others: JointTarget, words: SchemaWords) -> str:
    """What a term reads for one thing: ``62 % of the paper's links are db``."""
    schema, wording = words
    if term.near:
        noun = phrase_of(term, schema, wording, labels=False)
        return f"{term.target} of the {noun} is {label} with probability {percent_text(value)}"
    number = number_text(value, 3) if term.reading == COUNT else percent_text(value)
    if not others.classes:
        return f"{phrase_of(term, schema, wording, labels=True)} is {number}"
    return f"{number} of {phrase_of(term, schema, wording, labels=False)} are {label}"
