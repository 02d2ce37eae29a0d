"""Why an effect adds what it adds for one example: its value, and the groundings that made the value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hornbeam.data.database import Codes, Database
from hornbeam.drawing.markup import percent_text
from hornbeam.engines.contract import Engine
from hornbeam.engines.questions import FeatureRequest
from hornbeam.logic import features as kinds
from hornbeam.logic.clauses import format_constant, format_value, variable_name
from hornbeam.logic.effects import Effect, has_dates, kind_of_type, new_variables_of, variable_types
from hornbeam.logic.english.clauses import text_of
from hornbeam.logic.english.effects import effect_sentence
from hornbeam.logic.english.nouns import plural_of
from hornbeam.logic.english.phrases import feature_pieces, some_examples, variable_nouns
from hornbeam.logic.english.wording import PLAIN, Wording
from hornbeam.logic.schema import DATE, Schema, value_of
from hornbeam.model.effects import levels_of, values_of
from hornbeam.model.readable.cards import Readers


class Rows(NamedTuple):
    """The groundings that made a value: how many there are, and the values of variables in some of them."""

    number: int
    variables: tuple[str, ...] = ()
    shown: tuple[tuple[str, ...], ...] = ()
    displayed: tuple[tuple[str, ...], ...] = ()
    """the same rows with display names in place of keys"""


@dataclass(frozen=True, slots=True)
class EffectReason:
    """What one effect adds to the log-odds of an example."""

    effect: Effect
    sentence: str
    """what the effect says, in English"""
    phrase: tuple[str | int, ...]
    """the feature as a noun phrase"""
    value: float | None
    """the value of the feature; None if it is missing"""
    value_text: str
    contribution: float
    """the level of the curve at the value"""
    n_groundings: int
    """number of groundings that made the value"""
    variables: tuple[str, ...]
    """names of the variables of the body that are not in the head"""
    groundings: tuple[tuple[str, ...], ...]
    """values of these variables in some of the groundings"""
    displayed: tuple[tuple[str, ...], ...] = ()
    """the same with display names in place of keys"""
    nouns: tuple[str, ...] = ()
    """what the values of each variable are; empty for a variable that has the same value in all groundings"""

    def as_dict(self) -> dict[str, object]:
        return {
            "effect": str(self.effect),
            "sentence": self.sentence,
            "feature": str(self.effect.feature),
            "value": self.value,
            "contribution": self.contribution,
            "n_groundings": self.n_groundings,
            "groundings": [dict(zip(self.variables, values, strict=True)) for values in self.groundings],
        }

    def shown_phrase(self, key: tuple[str, ...]) -> str:
        """The feature as a noun phrase about an example."""
        names = [*map(format_constant, key)]
        return "".join(
            piece
            if isinstance(piece, str)
            else (names[piece] if piece < len(names) else variable_name(piece))
            for piece in self.phrase
        )

    def because(self, key: tuple[str, ...]) -> str:
        """``the mean amount of its orders is 6, from 2 rows (order, amount): (o1, 4), (o2, 8)``."""
        phrase = self.shown_phrase(key)
        if phrase.startswith("whether "):
            return f"{phrase.removeprefix('whether ')}: {'yes' if self.value else 'no'}"
        text = f"{phrase} is {self.value_text}"
        nouns = self.nouns or ("value",) * len(self.variables)
        free = [place for place, noun in enumerate(nouns) if noun]
        single = len(free) == 1
        own_value = single and self.effect.feature.kind == kinds.VALUE
        if not self.n_groundings or not free or own_value:
            return text
        noun = nouns[free[0]] if single else "row"
        text += f", from {self.n_groundings:,} {noun if self.n_groundings == 1 else plural_of(noun)}"
        if not self.groundings:
            return text
        if not single:
            text += f" ({', '.join(nouns[place] for place in free)})"
        rows = [[row[place] for place in free] for row in self.displayed or self.groundings]
        values = [row[0] if single else f"({', '.join(row)})" for row in rows]
        if len(values) < self.n_groundings:
            values.append("...")
        return f"{text}: {', '.join(values)}"


def effect_reasons(
    effects: list[Effect], engine: Engine, key: Codes, shown: int, readers: Readers
) -> list[EffectReason]:
    """What each effect adds for one example, and why; at most ``shown`` groundings of each."""
    keys = key.reshape(1, -1)
    reasons = []
    for effect, values in zip(effects, values_of(engine, effects, keys), strict=True):
        rows = _rows(effect, engine, keys, shown)
        schema, dated, wording = engine.database.schema, readers.dated, readers.wording
        value = float(values[0])
        named = variable_nouns(effect, schema, wording)
        nouns = {variable_name(variable): noun for variable, noun in named.items()}
        reasons.append(
            EffectReason(
                effect=effect,
                sentence=text_of(effect_sentence(effect, schema, dated, wording)),
                phrase=tuple(feature_pieces(effect, schema, dated, wording)),
                value=None if np.isnan(value) else value,
                value_text=value_text(effect, schema, value, wording),
                contribution=float(levels_of(effect.curve, values)[0]),
                n_groundings=rows.number,
                variables=rows.variables,
                groundings=rows.shown,
                displayed=rows.displayed,
                nouns=tuple(nouns.get(each, "") for each in rows.variables),
            )
        )
    return reasons


def value_text(effect: Effect, schema: Schema, value: float, wording: Wording = PLAIN) -> str:
    """The value of an effect's feature, for readers."""
    if np.isnan(value):
        return "missing or does not apply" if some_examples(effect, schema, wording) else "missing"
    head, body, feature, _ = effect
    if has_dates(schema, head, body, feature):
        return format_value(value_of(value, DATE))
    if feature.kind == kinds.SHARE:
        return percent_text(value)
    if value == int(value) and abs(value) < 1e16:
        return f"{value:,.0f}"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e16 else f"{value:.4g}"


def _rows(effect: Effect, engine: Engine, keys: Codes, shown: int) -> Rows:
    """The groundings that made the value of an effect for one example."""
    head, body, (kind, _), _ = effect
    if kind == kinds.MONTH:
        return Rows(0)
    known = {term for term in head.args if isinstance(term, int)}
    variables: list[int] = []
    for step in body:
        variables += new_variables_of(step, known)
        known.update(variables)
    names = tuple(map(variable_name, variables))
    database = engine.database
    request = FeatureRequest(head, body, effect.feature)
    number, found = engine.groundings(request, tuple(variables), keys)
    if found is None:
        return Rows(number, names)
    types = variable_types(database.schema, head, body)
    columns = [_names(database, types[each], column) for each, column in zip(variables, found, strict=True)]
    rows = sorted(zip(*columns, strict=True))[:shown] if columns else []
    display = [database.display_names.get(types[each], {}) for each in variables]
    displayed = tuple(
        tuple(own.get(name, name) for own, name in zip(display, row, strict=True)) for row in rows
    )
    return Rows(number, names, tuple(rows), displayed)


def _names(database: Database, type_name: str, column: np.ndarray) -> list[str]:
    """The values of a variable as text."""
    kind = kind_of_type(database.schema, type_name)
    if kind is None:
        population = database.population(type_name)
        return [population.names[code] for code in column.tolist()]
    return [format_value(value_of(number, kind)) for number in column.tolist()]
