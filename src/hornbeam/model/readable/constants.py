"""Weights per constant for readers: the constants that raise and that lower the odds most."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hornbeam.logic.clauses import Clause, atoms_of
from hornbeam.logic.effects import Effect, Equals, atom_in, variable_types
from hornbeam.logic.english.nouns import listed, plural_of
from hornbeam.logic.english.wording import Wording
from hornbeam.logic.schema import Schema
from hornbeam.model.features import WeightedClause
from hornbeam.model.scales import LOG_ODDS, Scale

STRONGEST = 8
"""Number of constants in each direction that readers are shown."""
Weights = Sequence[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class ConstantsCard:
    """The weights of one variable's constants, for readers."""

    title: str
    """``movies (ratings)``"""
    rising: tuple[tuple[str, float], ...]
    """display names and weights, the strongest first"""
    falling: tuple[tuple[str, float], ...]
    total: int
    """number of constants with a weight"""
    n_rising: int
    """number of constants with a weight above zero"""
    scale: Scale = LOG_ODDS
    """what the scores stand for that weights add to"""

    @property
    def words(self) -> tuple[str, str, str]:
        """The words for what positive and negative weights do, and for what a weight is."""
        more, less = ("larger", "smaller") if self.scale.numeric else ("likelier", "less likely")
        return more, less, self.scale.factor or self.scale.adds

    def text_of(self, weight: float) -> str:
        """A weight for readers."""
        from hornbeam.drawing.markup import signed_text

        return odds_factor(weight) if self.scale.factor else signed_text(weight, 3)

    @property
    def more(self) -> int:
        """Number of constants that are not shown."""
        return self.total - len(self.rising) - len(self.falling)


def noun_of_constants(clause: Clause, each: int, schema: Schema, wording: Wording) -> tuple[str, str]:
    """What the constants of a variable are, and through which predicates they are reached."""
    noun = wording.noun(schema.variable_types(clause)[each])
    through = [wording.column(atom.predicate) for atom in atoms_of(clause.body)]
    others = dict.fromkeys(name for name in through if plural_of(name) != plural_of(noun))
    return noun, ", ".join(others)


def constants_title(bodies: Sequence[tuple[Clause, int]], schema: Schema, wording: Wording) -> str:
    """What constants are, and through which predicates they are reached: ``movies (ratings)``."""
    clause, each = bodies[0]
    noun = plural_of(wording.noun(schema.variable_types(clause)[each]))
    through = [wording.column(atom.predicate) for clause, _ in bodies for atom in atoms_of(clause.body)]
    others = ", ".join(dict.fromkeys(name for name in through if plural_of(name) != noun))
    return f"{noun} ({others})" if others else noun


def constants_card(
    bodies: Sequence[tuple[Clause, int]], constants: Weights, schema: Schema, wording: Wording, scale: Scale
) -> ConstantsCard:
    """The constants that matter most, of clauses and their variables that share these weights."""
    type_name = schema.variable_types(bodies[0][0])[bodies[0][1]]
    ordered = sorted(constants, key=lambda entry: (-abs(entry[1]), entry[0]))
    named = [(wording.name(type_name, name), weight) for name, weight in ordered if weight]
    seen = [entry for entry in named if not scale.factor or odds_factor(entry[1]) != odds_factor(0.0)]
    return ConstantsCard(
        constants_title(bodies, schema, wording),
        tuple(entry for entry in seen if entry[1] > 0)[:STRONGEST],
        tuple(entry for entry in seen if entry[1] < 0)[:STRONGEST],
        len(named),
        sum(weight > 0 for _, weight in named),
        scale,
    )


def shown_names(
    clauses: Sequence[WeightedClause],
    effects: Iterable[Effect],
    schema: Schema,
    names: Mapping[str, Mapping[str, str]],
    of_target: tuple[str, str] | None = None,
) -> dict[str, dict[str, str]]:
    """The display names of the constants that readers of a model are shown, by type."""
    shown: dict[str, dict[str, str]] = {}
    for type_name, key in (*_constants_in(effects, schema), *filter(None, [of_target])):
        if key in names.get(type_name, {}):
            shown.setdefault(type_name, {})[key] = names[type_name][key]
    for weighted in clauses:
        if weighted.each is None:
            continue
        type_name = schema.variable_types(weighted.clause)[weighted.each]
        for direction in (1.0, -1.0):
            entries = [
                each for each in weighted.strongest(len(weighted.constants)) if each[1] * direction > 0
            ]
            for key, _ in entries[:STRONGEST]:
                if key in names.get(type_name, {}):
                    shown.setdefault(type_name, {})[key] = names[type_name][key]
    return shown


def _constants_in(effects: Iterable[Effect], schema: Schema) -> Iterator[tuple[str, str]]:
    """The constants that effects name, with their types."""
    for effect in effects:
        types = variable_types(schema, effect.head, effect.body)
        for step in effect.body:
            atom = atom_in(step)
            if isinstance(step, Equals):
                yield types[step.variable], step.constant
            elif atom is not None:
                for term, type_name in zip(atom.args, schema.types_of(atom.predicate), strict=True):
                    if isinstance(term, str):
                        yield type_name, term


def odds_factor(weight: float) -> str:
    """The factor by which a weight changes the odds, for readers."""
    from hornbeam.drawing.markup import factor_text

    return factor_text(math.exp(min(weight, 709.0)))


def constants_lines(card: ConstantsCard) -> list[str]:
    """A card as lines of text."""
    lines = [f"Weights of {card.total:,} {card.title}"]
    numbers = (card.n_rising, card.total - card.n_rising)
    for title, entries, number in zip(card.words, (card.rising, card.falling), numbers, strict=False):
        if entries:
            texts = [f"{name} {card.text_of(weight)}" for name, weight in entries]
            lines.append(f"     {title} with {listed(texts, number)}")
    return lines
