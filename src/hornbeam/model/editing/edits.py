"""Edits of a model by a person: effects switched off, curves made simpler. The model keeps the list of them.

An edit is an action on an effect. The effect is named by its feature and its clause, so the same edits can be
made in another model that has the effect, such as one that is learned from newer data.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hornbeam.errors import InputError, ModelError, OptionError, plural
from hornbeam.logic.canonical import canonical
from hornbeam.logic.effects import Curve, Effect, body_text, in_order_of_use
from hornbeam.logic.english.clauses import clause_pieces, text_of
from hornbeam.logic.english.phrases import feature_pieces
from hornbeam.logic.english.wording import Wording
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.parse_effect import parse_line
from hornbeam.logic.schema import Schema
from hornbeam.model.editing.curves import CHANGES, FALL, FLATTEN, RISE, STRAIGHTEN, changed, rounded
from hornbeam.model.effects import FittedEffect, by_importance, mean_level
from hornbeam.model.features import WeightedClause
from hornbeam.model.fields import Fields

OFF, ROUND = "off", "round"
ACTIONS = {
    OFF: "switched off",
    FLATTEN: "flattened",
    STRAIGHTEN: "straightened",
    RISE: "made to rise",
    FALL: "made to fall",
    ROUND: "rounded",
}
"""What can be done to an effect, and the words for what was done."""
EVERY = "all"
"""The word for all effects in the text of an edit."""
STEP = 0.1
"""Levels are rounded to multiples of this number unless another one is given."""
_TEXT = re.compile(r"\s*(?P<action>[a-z]+)\s+(?P<effect>.+?)(?:\s+to\s+(?P<step>[0-9.eE+-]+))?\s*", re.DOTALL)
_FORM = f'it must be one of {", ".join(ACTIONS)} and an effect, such as "rise 2" or "round 3 to 0.1"'


class Edit(NamedTuple):
    """One edit of a model."""

    action: str
    effect: str
    """the effect, as ``effect_name`` writes it; or a clause; or ``all``"""
    step: float | None = None
    """for ``round``: levels become multiples of it"""
    by: str = ""
    """the name of who made the edit"""

    def __str__(self) -> str:
        return f"{self.action} {self.effect}" + ("" if self.step is None else f" to {self.step:.12g}")


class Editable(NamedTuple):
    """What edits change in a model."""

    prior: float
    clauses: tuple[WeightedClause, ...]
    effects: tuple[FittedEffect, ...]


def effect_name(effect: Effect) -> str:
    """An effect without its curve: ``mean C : bad(A) :- orders(A,B), amount(B,C).``"""
    head, body, feature, _ = in_order_of_use(effect)
    return f"{feature} : {body_text(head, body)}"


def read_edits(texts: Iterable[str | Edit], parts: Editable, schema: Schema, by: str = "") -> list[Edit]:
    """The edits that texts such as ``rise 2`` ask for; numbers are those that ``show`` prints.

    An edit that is given as one, from another model, keeps the name of who made it.
    """
    edits = []
    for given in texts:
        action, named, step, own = given if isinstance(given, Edit) else _read(given)
        edits.append(Edit(action, _name_of(named, parts, schema), step, own or " ".join(by.split())))
    return edits


def apply_edits(edits: Sequence[Edit], parts: Editable) -> Editable:
    """The parts of the model after the edits, which are made in order."""
    for edit in edits:
        if edit.effect not in (EVERY, *_known(parts)):
            raise ModelError(
                f'the model has no effect "{edit.effect}", so it cannot be {ACTIONS[edit.action]}.'
            )
        parts = _applied(edit, parts)
    return parts


def _applied(edit: Edit, parts: Editable) -> Editable:
    prior, effects = parts.prior, []
    clauses = [each for each in parts.clauses if str(canonical(each.clause)) != edit.effect]
    if len(clauses) < len(parts.clauses) and edit.action != OFF:
        raise OptionError(f'"{edit}" is refused: a clause has no curve; it can be switched off.')
    for fitted in parts.effects:
        if edit.effect not in (EVERY, effect_name(fitted.effect)):
            effects.append(fitted)
        elif edit.action == OFF:
            prior += mean_level(fitted)
        else:
            change = rounded(edit.step) if edit.step is not None else CHANGES[edit.action]
            effects.append(changed(fitted, change))
    return Editable(prior, tuple(clauses), tuple(effects))


def _read(text: str) -> Edit:
    """The edit that a text asks for; its effect is still as the user named it."""
    match = _TEXT.fullmatch(text)
    if match is None or match["action"] not in ACTIONS:
        raise OptionError(f'the edit "{text}" is refused: {_FORM}.')
    action, step = match["action"], STEP if match["action"] == ROUND else None
    if match["step"] is not None:
        step = _step(match["step"])
        if action != ROUND or step is None:
            raise OptionError(f'the edit "{text}" is refused: {ROUND} alone takes "to" and a number above 0.')
    return Edit(action, match["effect"], step)


def _step(text: str) -> float | None:
    try:
        step = float(text)
    except ValueError:
        return None
    return step if 0 < step < math.inf else None


def _name_of(named: str, parts: Editable, schema: Schema) -> str:
    """The name of the effect that a number, or any text of the effect, stands for."""
    ordered = [effect_name(fitted.effect) for fitted in by_importance(parts.effects)]
    if named == EVERY:
        return EVERY
    if named.isdecimal():
        if not 1 <= int(named) <= len(ordered):
            raise OptionError(f"there is no effect {named}: the model has {plural(len(ordered), 'effect')}.")
        return ordered[int(named) - 1]
    name = _name(named, schema)
    if name not in _known(parts):
        example = ordered[0] if ordered else "count : head(A) :- body(A,B)."
        raise ModelError(
            f'the model has no effect "{named}"; name one by its number in hornbeam show, or by its feature '
            f'and clause, such as "{example}".'
        )
    return name


def _name(text: str, schema: Schema) -> str:
    """The name of an effect or a clause, from any text of it."""
    try:
        if ":-" in text and ":" not in text.partition(":-")[0]:
            return str(canonical(parse_clause(text, schema)))
        head, body, feature, _ = parse_line(text, schema)
    except InputError as error:
        raise OptionError(f'"{text}" names no effect ({error}); {_FORM}.') from None
    return effect_name(Effect(head, body, feature, Curve((), (0.0,))))


def _known(parts: Editable) -> set[str]:
    clauses = {str(canonical(weighted.clause)) for weighted in parts.clauses}
    return clauses | {effect_name(fitted.effect) for fitted in parts.effects}


# --- edits in words and in model files ------------------------------------------------------------


def edit_words(edit: Edit, schema: Schema, dated: bool, wording: Wording) -> str:
    """What was done, for readers: ``made to rise: the number of its orders (by Ann)``."""
    if edit.effect == EVERY:
        what = "all effects"
    elif ":" in edit.effect.partition(":-")[0]:
        head, body, feature, _ = parse_line(edit.effect, schema)
        named = Effect(head, body, feature, Curve((), (0.0,)))
        what = text_of(feature_pieces(named, schema, dated, wording))
    else:
        what = text_of(clause_pieces(parse_clause(edit.effect, schema)))
    done = ACTIONS[edit.action] + ("" if edit.step is None else f" to multiples of {edit.step:.6g}")
    return f"{done}: {what}" + (f" (by {edit.by})" if edit.by else "")


def edit_fields(edit: Edit) -> dict[str, object]:
    """An edit as JSON values of a model file; fields that are empty are left out."""
    return {name: value for name, value in edit._asdict().items() if value not in (None, "")}


def read_edit(schema: Schema, fields: Fields) -> Edit:
    """The edit that ``edit_fields`` wrote."""
    action, effect = fields.text("action"), fields.text("effect")
    if action not in ACTIONS:
        raise fields.wrong("action", " or ".join(ACTIONS), action)
    try:
        name = effect if effect == EVERY else _name(effect, schema)
    except OptionError as error:
        raise fields.wrong("effect", f"an effect of the model's schema ({error})", effect) from None
    if name != effect:
        raise fields.wrong("effect", f'written as "{name}"', effect)
    step = fields.number("step") if fields.has("step") else None
    if (action == ROUND) != (step is not None) or (step is not None and step <= 0):
        raise fields.wrong("step", f"a number above 0, for {ROUND} only", step)
    by = fields.text("by") if fields.has("by") else ""
    fields.close()
    return Edit(action, effect, step, by)
