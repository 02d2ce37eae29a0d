"""Effects for people: what the curve says about the feature, as a sentence."""

from __future__ import annotations

from datetime import datetime

from hornbeam.logic.clauses import Value, format_value
from hornbeam.logic.effects import Effect
from hornbeam.logic.english.clauses import Pieces, literal_pieces
from hornbeam.logic.english.curves import (
    DIPS,
    FALLS,
    FLAT,
    PEAKS,
    RISES,
    jump_of,
    near_extreme,
    range_of,
    shape_of,
    step_of,
)
from hornbeam.logic.english.nouns import plural_of
from hornbeam.logic.english.phrases import WHETHER, feature_pieces, some_examples
from hornbeam.logic.english.wording import PLAIN, Wording
from hornbeam.logic.features import KINDS, SHARE
from hornbeam.logic.schema import Schema

LIKELY = ("likelier", "less likely", "likeliest", "least likely")
NUMERIC = ("larger", "smaller", "largest", "smallest")
"""The words for more, less, most and least of what is predicted."""


def effect_sentence(
    effect: Effect, schema: Schema, dated: bool = False, wording: Wording = PLAIN, weak: bool = False
) -> Pieces:
    """How an effect changes the probability of its head. ``dated``: lengths of time are in days.

    Small turns of the curve are left out of the sentence. ``weak``: the curve changes by less than its
    standard error, so that its direction is not said.

    >>> from hornbeam.logic.english.clauses import text_of
    >>> from hornbeam.logic.parse_effect import parse_effect
    >>> types = {"bad": ("users",), "user": ("orders", "users"), "amount": ("orders", "amount_value")}
    >>> schema = Schema(types, {"amount_value": "number"})
    >>> body = "bad(A) :- within 365 user(B,A), amount(B,C)."
    >>> rising = parse_effect(f"mean C [< 3: -1; < 7: 0; else: 1] : {body}")
    >>> text_of(effect_sentence(rising, schema, dated=True))
    'bad(A) is likelier the larger the mean amount of its orders in the last 365 days.'
    >>> peak = parse_effect(f"count [< 3: -1; < 7: 0; else: -2] : {body}")
    >>> text_of(effect_sentence(peak, schema, dated=True))
    'bad(A) is likeliest if the number of its orders in the last 365 days with a known amount is 3 to 6.'
    >>> line = parse_effect("count [slope: .12 from 0 to 25; else: -1] : bad(A) :- user(B,A).")
    >>> text_of(effect_sentence(line, schema)).partition(": ")[2]
    'each further one adds 0.12 to the log-odds, up to 25.'
    """
    phrase = feature_pieces(effect, schema, dated, wording)
    head: Pieces = [wording.subject] if wording.subject else literal_pieces(effect.head)
    if weak:
        return _without_seams([*head, " hardly depends on ", *phrase, _WEAK])
    curve, whole = effect.curve, KINDS[effect.feature.kind].whole
    shape = shape_of([level for both in curve.ends for level in both] if curve.slope else curve.levels)
    more, less, most, least = NUMERIC if wording.numeric else LIKELY
    unit = "the score" if wording.numeric else wording.unit
    how = more if shape == RISES else less
    if phrase[0] == WHETHER and shape in (RISES, FALLS):
        text = [*head, f" is {how} if ", *phrase[1:]]
    elif shape == FLAT:
        text = [*head, " does not depend on ", *phrase]
    elif shape in (RISES, FALLS) and curve.slope:
        text = [*head, f" is {how} the larger ", *phrase, _further(effect, unit)]
    elif shape in (RISES, FALLS) and jump_of(curve.levels) is not None:
        above = range_of(effect.feature, _short(curve.cuts[jump_of(curve.levels) or 0]), None, whole)
        text = [*head, f" is {how} if ", *phrase, f" is {above}"]
    elif shape in (RISES, FALLS):
        text = [*head, f" is {how} the larger ", *phrase]
    elif shape in (PEAKS, DIPS):
        extreme = most if shape == PEAKS else least
        text = [*head, f" is {extreme} if ", *phrase, f" is {_extreme(effect, shape == PEAKS, whole)}"]
    else:
        text = [*head, " depends on ", *phrase]
    if curve.missing:
        what, ending = "a missing value", "s"
        if some_examples(effect, schema, wording):
            others = "pairs" if len(effect.head.args) == 2 else plural_of(wording.example or "example")
            what, ending = f"other {others} and missing values", ""
        change = "raise" if curve.missing > 0 else "lower"
        text.append(f"; {what} {change}{ending} {unit} by {abs(curve.missing):.3g}")
    return _without_seams([*text, "."])


def _further(effect: Effect, unit: str) -> str:
    """``: each further one adds 0.12 to the log-odds, up to 25``; empty unless the curve is one line."""
    curve = effect.curve
    if curve.cuts:
        return ""
    step = step_of(curve)
    change = f"{'adds' if curve.slope > 0 else 'takes'} {abs(curve.slope * step):.3g}"
    ending = f"{'to' if curve.slope > 0 else 'from'} {unit}"
    if effect.feature.kind == SHARE:
        low, high = (f"{100 * end:.3g}" for end in (curve.low, curve.high))
        return f": each {100 * step:.3g} % more {change} {ending}, from {low} % to {high} %"
    if KINDS[effect.feature.kind].whole:
        what = "each further one" if step == 1.0 else f"each {step:,.0f} more"
        return f": {what} {change} {ending}, up to {curve.high:,.6g}"
    ends = " to ".join(format_value(float(f"{end:.6g}")) for end in (curve.low, curve.high))
    return f": each {format_value(step)} more {change} {ending}, from {ends}"


_WEAK = ": what it changes is smaller than its standard error."


def _short(cut: Value) -> Value:
    """A cut in a sentence: fractions have at most six digits in all; the table of the curve has the others.

    >>> _short(109164.44877603318), _short(5285715.0)
    (109164.0, 5285715.0)
    """
    return cut if isinstance(cut, datetime) or cut == int(cut) else float(f"{cut:.6g}")


def _without_seams(pieces: Pieces) -> Pieces:
    """The pieces with neighbouring strings joined."""
    joint: Pieces = []
    for piece in pieces:
        last = joint[-1] if joint else None
        if isinstance(piece, str) and isinstance(last, str):
            joint[-1] = last + piece
        else:
            joint.append(piece)
    return joint


def _extreme(effect: Effect, peak: bool, whole: bool) -> str:
    """The range of values with the highest level or the lowest, and those beside it that are as good."""
    levels = [max(both) if peak else min(both) for both in effect.curve.ends]
    places = near_extreme(levels, peak)
    bounds = [None, *map(_short, effect.curve.cuts), None]
    return range_of(effect.feature, bounds[places[0]], bounds[places[-1] + 1], whole)
