"""Weights per constant for readers: the constants that raise and that lower the odds most."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hornbeam.drawing.markup import factor_text, signed_text
from hornbeam.logic.clauses import Clause, atoms_of
from hornbeam.logic.english import Wording, plural_of
from hornbeam.logic.english.nouns import plain_name
from hornbeam.logic.schema import Schema
from hornbeam.model.features import WeightedClause

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
    numeric: bool = False
    """whether weights add to a number instead of log-odds"""

    @property
    def words(self) -> tuple[str, str, str]:
        """The words for what positive and negative weights do, and for what a weight is."""
        return ("larger", "smaller", "adds") if self.numeric else ("likelier", "less likely", "odds")

    def text_of(self, weight: float) -> str:
        """A weight for readers."""
        return signed_text(weight, 3) if self.numeric else odds_factor(weight)

    @property
    def more(self) -> int:
        """Number of constants that are not shown."""
        return self.total - len(self.rising) - len(self.falling)


def noun_of_constants(clause: Clause, each: int, schema: Schema, wording: Wording) -> tuple[str, str]:
    """What the constants of a variable are, and through which predicates they are reached."""
    noun = wording.noun(schema.variable_types(clause)[each]).replace("_", " ")
    through = [plain_name(atom.predicate) for atom in atoms_of(clause.body)]
    others = dict.fromkeys(name for name in through if plural_of(name) != plural_of(noun))
    return noun, ", ".join(others)


def constants_title(bodies: Sequence[tuple[Clause, int]], schema: Schema, wording: Wording) -> str:
    """What constants are, and through which predicates they are reached: ``movies (ratings)``."""
    clause, each = bodies[0]
    noun = plural_of(wording.noun(schema.variable_types(clause)[each]).replace("_", " "))
    through = [plain_name(atom.predicate) for clause, _ in bodies for atom in atoms_of(clause.body)]
    others = ", ".join(dict.fromkeys(name for name in through if plural_of(name) != noun))
    return f"{noun} ({others})" if others else noun


def constants_card(
    bodies: Sequence[tuple[Clause, int]], constants: Weights, schema: Schema, wording: Wording
) -> ConstantsCard:
    """The constants that matter most, of clauses and their variables that share these weights."""
    type_name = schema.variable_types(bodies[0][0])[bodies[0][1]]
    ordered = sorted(constants, key=lambda entry: (-abs(entry[1]), entry[0]))
    named = [(wording.name(type_name, name), weight) for name, weight in ordered if weight]
    return ConstantsCard(
        constants_title(bodies, schema, wording),
        tuple(entry for entry in named if entry[1] > 0)[:STRONGEST],
        tuple(entry for entry in named if entry[1] < 0)[:STRONGEST],
        len(named),
        wording.numeric,
    )


def shown_names(
    clauses: Sequence[WeightedClause], schema: Schema, names: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """The display names of the constants that readers of a model are shown, by type."""
    shown: dict[str, dict[str, str]] = {}
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


def odds_factor(weight: float) -> str:
    """The factor by which a weight changes the odds, for readers."""
    return factor_text(math.exp(min(weight, 709.0)))


def constants_lines(card: ConstantsCard) -> list[str]:
    """A card as lines of text."""
    lines = [f"Weights of {card.total:,} {card.title}"]
    for title, entries in zip(card.words, (card.rising, card.falling), strict=False):
        if entries:
            texts = [f"{name} {card.text_of(weight)}" for name, weight in entries]
            lines.append(f"     {title} with {', '.join(texts)}")
    return lines
