"""Effects in a model: what they add to the score, and what the training data say about them."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from hornbeam.data.database import Codes
from hornbeam.data.numbers import Floats
from hornbeam.engines.contract import LEAST_KEYS, Engine, Skipped
from hornbeam.engines.questions import FeatureRequest
from hornbeam.errors import InputError, LimitError
from hornbeam.logic.clauses import Value, format_value
from hornbeam.logic.effects import Curve, Effect, body_text, in_order_of_use
from hornbeam.logic.schema import Schema, kind_of, number_of, read_value
from hornbeam.model.fields import Fields

if TYPE_CHECKING:
    import pandas

    from hornbeam.logic.english.wording import Wording


SHOWN_EFFECTS = 20
"""Maximum number of effects that the text of a model shows; the others are counted."""
AT_ONCE = 16
"""Number of effects whose values are computed together."""


@dataclass(frozen=True, slots=True)
class FittedEffect:
    """An effect of a model; the numbers beside it are for readers, and no prediction uses them."""

    effect: Effect
    importance: float = 0.0
    """mean absolute difference from the mean of what it adds to the score of the training examples"""
    errors: tuple[float, ...] = ()
    """standard error of the level for missing, then of each level of the curve; empty without bags"""
    examples: tuple[int, ...] = ()
    """number of training examples with a missing value, then at each level of the curve"""
    centre: float | None = None
    """mean value of the training examples between the ends of the slope; None without a slope"""

    def __str__(self) -> str:
        return str(self.effect)

    @property
    def is_weak(self) -> bool:
        """Whether its highest and lowest level differ by less than the standard error of their difference."""
        if not self.errors:
            return False
        curve = self.effect.curve
        ends = zip(curve.ends, self.errors[1:], strict=True)
        levels = [(level, error) for both, error in ends for level in both]
        levels += [(curve.missing, self.errors[0])] if curve.missing else []
        (high, of_high), (low, of_low) = max(levels), min(levels)
        return 0.0 < high - low < math.hypot(of_high, of_low)

    def to_frame(self) -> pandas.DataFrame:
        """The curve as a data frame with a row for each level."""
        from hornbeam.drawing.frames import frame_of
        from hornbeam.logic.english.curves import curve_rows

        rows = curve_rows(self.effect.curve, self.effect.feature)
        # Errors and examples begin with the missing values, rows end with them.
        missing = [0] if len(rows) > len(self.effect.curve.levels) else []
        places = [*range(1, len(self.effect.curve.levels) + 1), *missing]
        columns: dict[str, list[object]] = {
            "values": [row.values for row in rows],
            "log_odds": [row.level for row in rows],
            "odds": [row.odds for row in rows],
        }
        if self.effect.curve.slope:
            columns["log_odds_at_end"] = [row.level if row.end is None else row.end for row in rows]
        if self.errors:
            columns["error"] = [self.errors[place] for place in places]
        if self.examples:
            columns["examples"] = [self.examples[place] for place in places]
        return frame_of(columns)


def levels_of(curve: Curve, values: Floats) -> Floats:
    """The level of each value: ``levels[i]`` below ``cuts[i]``, and the level for missing where it is NaN.

    >>> levels_of(Curve((3.0, 7.0), (-1.0, 0.0, 1.0), 0.5), np.array([2.9, 3.0, 7.0, np.nan])).tolist()
    [-1.0, 0.0, 1.0, 0.5]
    >>> levels_of(Curve((), (1.0,), 0.0, 0.5, 2.0, 4.0), np.array([1.0, 3.0, 9.0, np.nan])).tolist()
    [1.0, 1.5, 2.0, 0.0]
    """
    cuts = np.array([number_of(cut) for cut in curve.cuts], dtype=np.float64)
    levels = np.array([*curve.levels, curve.missing], dtype=np.float64)
    missing = np.isnan(values)
    added = np.asarray(levels[np.where(missing, -1, np.searchsorted(cuts, values, side="right"))])
    if not curve.slope:
        return added
    risen = curve.slope * (np.clip(values, curve.low, curve.high) - curve.low)
    return added + np.where(missing, 0.0, risen)


def values_of(engine: Engine, effects: Sequence[Effect], keys: Codes) -> Iterator[Floats]:
    """The value of each effect's feature for each example, in order; NaN is a missing value.

    Raises ``LimitError`` if an effect cannot be computed within the memory budget.
    """
    for start in range(0, len(effects), AT_ONCE):
        requests = [FeatureRequest(each.head, each.body, each.feature) for each in effects[start:][:AT_ONCE]]
        for request, values in zip(requests, engine.features(requests, keys), strict=True):
            yield _in_halves(engine, (request, values), keys) if isinstance(values, Skipped) else values


def _in_halves(engine: Engine, refused: tuple[FeatureRequest, Skipped], keys: Codes) -> Floats:
    """The values of a feature that needs too much memory for all examples at once."""
    request, skipped = refused
    if len(keys) <= LEAST_KEYS:
        raise LimitError(
            f"{request.feature} of {skipped.clause} cannot be computed: {skipped.reason} "
            f"(estimate {skipped.estimate:,}, limit {skipped.budget:,})."
        )
    middle = len(keys) // 2
    halves = []
    for half in (keys[:middle], keys[middle:]):
        (values,) = engine.features([request], half)
        halves.append(_in_halves(engine, (request, values), half) if isinstance(values, Skipped) else values)
    return np.concatenate(halves)


def mean_level(fitted: FittedEffect) -> float:
    """What an effect adds to an average training example; 0 if their values are not known."""
    levels = (fitted.effect.curve.missing, *fitted.effect.curve.levels)
    total = sum(fitted.examples)
    if not total or len(fitted.examples) != len(levels):
        return 0.0
    added = math.fsum(n * level for n, level in zip(fitted.examples, levels, strict=True))
    if fitted.centre is not None:
        added += sum(fitted.examples[1:]) * fitted.effect.curve.risen(fitted.centre)
    return added / total


def by_importance(effects: Sequence[FittedEffect]) -> list[FittedEffect]:
    """The effects with the most important first; equally important ones keep their order."""
    return sorted(effects, key=lambda each: -each.importance)


def effects_frame(
    effects: Sequence[FittedEffect], schema: Schema, dated: bool, wording: Wording
) -> pandas.DataFrame:
    """Effects as a data frame with a row for each, the most important first."""
    from hornbeam.drawing.frames import frame_of
    from hornbeam.logic.english.clauses import text_of
    from hornbeam.logic.english.effects import effect_sentence
    from hornbeam.logic.english.nouns import capital

    ordered = by_importance(effects)
    return frame_of(
        {
            "importance": [fitted.importance for fitted in ordered],
            "feature": [str(fitted.effect.feature) for fitted in ordered],
            "sentence": [
                capital(text_of(effect_sentence(fitted.effect, schema, dated, wording, fitted.is_weak)))
                for fitted in ordered
            ],
            "effect": [str(fitted) for fitted in ordered],
        }
    )


def merged(effects: Sequence[FittedEffect]) -> tuple[FittedEffect, ...]:
    """Equivalent effects in which each body with its feature appears once: curves of repeated ones are added.

    One with a slope appears once for each range of the slope.

    A merged effect keeps the place of the first and no errors; its importance is the sum of theirs.
    """
    groups: dict[tuple[object, ...], list[FittedEffect]] = {}
    sloped = {
        in_order_of_use(each.effect)[:3]: each.effect.curve for each in effects if each.effect.curve.slope
    }
    for each in effects:
        head, body, feature, curve = in_order_of_use(each.effect)
        # Slopes between different ends have no sum with one slope; steps have one with any slope.
        ends = curve if curve.slope else sloped.get((head, body, feature), curve)
        groups.setdefault((head, body, feature, ends.low, ends.high), []).append(each)
    return tuple(members[0] if len(members) == 1 else _sum(members) for members in groups.values())


def _sum(members: Sequence[FittedEffect]) -> FittedEffect:
    curves = [member.effect.curve for member in members]
    values = {cut for curve in curves for cut in curve.cuts}
    if len({kind_of(cut) for cut in values}) > 1:
        values = {number_of(cut) for cut in values}
    cuts = tuple(sorted(values, key=number_of))
    # A range begins with the cut below it, which has the level of the range.
    points = np.array([-np.inf, *map(number_of, cuts)])
    columns = [levels_of(curve._replace(slope=0.0), points).tolist() for curve in curves]
    levels = tuple(math.fsum(levels) for levels in zip(*columns, strict=True))
    curve = Curve(cuts, levels, math.fsum(curve.missing for curve in curves))
    slope = math.fsum(curve.slope for curve in curves)
    if slope:
        (ends, *_) = [each for each in curves if each.slope]
        curve = ends._replace(cuts=cuts, levels=levels, missing=curve.missing, slope=slope)
    same = all(member.effect.curve.cuts == cuts for member in members)
    return FittedEffect(
        members[0].effect._replace(curve=curve),
        math.fsum(member.importance for member in members),
        (),
        members[0].examples if same else (),
        next((each.centre for each in members if each.centre is not None), None) if curve.slope else None,
    )


# --- effects as JSON values of a model file; levels are read back exactly ---------------------------

LARGEST_FLOAT = sys.float_info.max


def effect_fields(fitted: FittedEffect) -> dict[str, object]:
    """An effect as JSON values; its variables are numbered by first use."""
    effect = in_order_of_use(fitted.effect)
    curve = effect.curve
    return {
        "feature": str(effect.feature),
        "clause": body_text(effect.head, effect.body),
        "cuts": [format_value(cut) if isinstance(cut, datetime) else cut for cut in curve.cuts],
        "levels": list(curve.levels),
        "missing": curve.missing,
        **_slope_fields(fitted),
        "importance": fitted.importance,
        "errors": list(fitted.errors),
        "examples": list(fitted.examples),
    }


def _slope_fields(fitted: FittedEffect) -> dict[str, object]:
    """The slope of a curve, if it has one."""
    curve = fitted.effect.curve
    if not curve.slope:
        return {}
    centre = {} if fitted.centre is None else {"centre": fitted.centre}
    return {"slope": curve.slope, "low": curve.low, "high": curve.high, **centre}


def read_effect(target: str, schema: Schema, fields: Fields) -> FittedEffect:
    """The effect that ``effect_fields`` wrote."""
    from hornbeam.logic.parse_effect import cut_misfit, parse_feature

    feature, clause = fields.text("feature"), fields.text("clause")
    try:
        head, body, parsed = parse_feature(feature, clause, schema, "clause")
    except InputError as error:
        named = "feature" if error.place is not None and error.place.source == "feature" else "clause"
        value = feature if named == "feature" else clause
        raise fields.wrong(named, f"a {named} of the model's schema ({error})", value) from None
    if head.predicate != target:
        raise fields.wrong("clause", f'a clause with head "{target}"', clause)
    cuts, levels = _read_cuts(fields), fields.numbers("levels")
    if len(levels) != len(cuts) + 1:
        raise fields.wrong("levels", f"{len(cuts) + 1} numbers, one more than cuts", list(levels))
    curve = Curve(cuts, levels, fields.number("missing"))
    centre = None
    if fields.has("slope"):
        curve, centre = _read_slope(fields, curve)
    effect = Effect(head, body, parsed, curve)
    problem = cut_misfit(schema, effect)
    if problem is not None:
        raise fields.wrong("cuts", f"numbers ({problem})", list(map(str, cuts)))
    importance = fields.number("importance")
    if importance < 0:
        raise fields.wrong("importance", "a number of at least 0", importance)
    errors, examples = fields.numbers("errors"), fields.wholes("examples")
    _check_numbers(fields, "errors", errors, len(levels))
    _check_numbers(fields, "examples", examples, len(levels))
    fields.close()
    return FittedEffect(effect, importance, errors, examples, centre)


def _read_slope(fields: Fields, curve: Curve) -> tuple[Curve, float | None]:
    """The curve with its slope, and the mean value of the training examples between its ends, if known."""
    slope, centre = fields.number("slope"), fields.number("centre") if fields.has("centre") else None
    low, high = fields.number("low"), fields.number("high")
    if any(isinstance(cut, datetime) for cut in curve.cuts):
        raise fields.wrong("slope", "no slope where cuts are dates", slope)
    if not low < high:
        raise fields.wrong("high", "a number above that of low", high)
    if centre is not None and not low <= centre <= high:
        raise fields.wrong("centre", "a number from low to high", centre)
    return curve._replace(slope=slope, low=low, high=high), centre


def _read_cuts(fields: Fields) -> tuple[Value, ...]:
    cuts: list[Value] = []
    for value in fields.values("cuts"):
        # Cuts are only compared with values, so they may be as large as any value of the data.
        cut = read_value(value) if isinstance(value, str) else fields.as_number("cuts", value, LARGEST_FLOAT)
        if cut is None or (isinstance(value, str) and not isinstance(cut, datetime)):
            raise fields.wrong("cuts", "numbers, or dates such as 2001-12-31", value)
        cuts.append(cut)
    if len({kind_of(cut) for cut in cuts}) > 1:
        raise fields.wrong("cuts", "all numbers or all dates", list(map(str, cuts)))
    if any(number_of(one) >= number_of(other) for one, other in pairwise(cuts)):
        raise fields.wrong("cuts", "in ascending order, each once", list(map(str, cuts)))
    return tuple(cuts)


def _check_numbers(fields: Fields, name: str, numbers: Sequence[float], n_levels: int) -> None:
    """Refuse numbers that do not belong to the levels: one for missing values, then one for each level."""
    if numbers and (len(numbers) != n_levels + 1 or min(numbers) < 0):
        expected = f"empty, or {n_levels + 1} numbers of at least 0: for missing values, then for each level"
        raise fields.wrong(name, expected, list(numbers))
