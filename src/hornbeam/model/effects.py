"""Effects in a model: what they add to the score, and what the training data say about them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hornbeam.data.database import Codes
from hornbeam.data.numbers import Floats
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.engines.counting.count import LEAST_KEYS
from hornbeam.engines.features.values import FeatureRequest, feature_values
from hornbeam.errors import EngineError, LimitError
from hornbeam.logic.effects import Curve, Effect, in_order_of_use
from hornbeam.logic.english import PLAIN, Wording, capital, curve_rows, effect_sentence, text_of
from hornbeam.logic.schema import Schema, kind_of, number_of

if TYPE_CHECKING:
    import pandas

LOGISTIC, POISSON = "logistic", "poisson"
"""The loss of models that predict probabilities, and the loss of those whose scores are logarithms."""
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

    def __str__(self) -> str:
        return str(self.effect)

    def to_frame(self) -> pandas.DataFrame:
        """The curve as a data frame with a row for each level."""
        rows = curve_rows(self.effect.curve, self.effect.feature)
        # Errors and examples begin with the missing values, rows end with them.
        missing = [0] if len(rows) > len(self.effect.curve.levels) else []
        places = [*range(1, len(self.effect.curve.levels) + 1), *missing]
        columns: dict[str, list[object]] = {
            "values": [row.values for row in rows],
            "log_odds": [row.level for row in rows],
            "odds": [row.odds for row in rows],
        }
        if self.errors:
            columns["error"] = [self.errors[place] for place in places]
        if self.examples:
            columns["examples"] = [self.examples[place] for place in places]
        return frame_of(columns)


def frame_of(columns: Mapping[str, Sequence[object]]) -> pandas.DataFrame:
    """A data frame of pandas, which is imported here because nothing else needs it."""
    try:
        import pandas
    except ImportError:
        raise EngineError(
            "a data frame needs pandas, which is not installed: run pip install pandas."
        ) from None
    return pandas.DataFrame(dict(columns))


def levels_of(curve: Curve, values: Floats) -> Floats:
    """The level of each value: ``levels[i]`` below ``cuts[i]``, and the level for missing where it is NaN.

    >>> levels_of(Curve((3.0, 7.0), (-1.0, 0.0, 1.0), 0.5), np.array([2.9, 3.0, 7.0, np.nan])).tolist()
    [-1.0, 0.0, 1.0, 0.5]
    """
    cuts = np.array([number_of(cut) for cut in curve.cuts], dtype=np.float64)
    levels = np.array([*curve.levels, curve.missing], dtype=np.float64)
    return np.asarray(levels[np.where(np.isnan(values), -1, np.searchsorted(cuts, values, side="right"))])


def values_of(engine: Engine, effects: Sequence[Effect], keys: Codes) -> Iterator[Floats]:
    """The value of each effect's feature for each example, in order; NaN is a missing value.

    Raises ``LimitError`` if an effect cannot be computed within the memory budget.
    """
    for start in range(0, len(effects), AT_ONCE):
        requests = [FeatureRequest(each.head, each.body, each.feature) for each in effects[start:][:AT_ONCE]]
        for request, values in zip(requests, feature_values(engine, requests, keys), strict=True):
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
        (values,) = feature_values(engine, [request], half)
        halves.append(_in_halves(engine, (request, values), half) if isinstance(values, Skipped) else values)
    return np.concatenate(halves)


def mean_level(fitted: FittedEffect) -> float:
    """What an effect adds to an average training example; 0 if their values are not known."""
    levels = (fitted.effect.curve.missing, *fitted.effect.curve.levels)
    total = sum(fitted.examples)
    if not total or len(fitted.examples) != len(levels):
        return 0.0
    return math.fsum(n * level for n, level in zip(fitted.examples, levels, strict=True)) / total


def by_importance(effects: Sequence[FittedEffect]) -> list[FittedEffect]:
    """The effects with the most important first; equally important ones keep their order."""
    return sorted(effects, key=lambda each: -each.importance)


def effects_frame(
    effects: Sequence[FittedEffect], schema: Schema, dated: bool, wording: Wording = PLAIN
) -> pandas.DataFrame:
    """Effects as a data frame with a row for each, the most important first."""
    ordered = by_importance(effects)
    return frame_of(
        {
            "importance": [fitted.importance for fitted in ordered],
            "feature": [str(fitted.effect.feature) for fitted in ordered],
            "sentence": [
                capital(text_of(effect_sentence(fitted.effect, schema, dated, wording))) for fitted in ordered
            ],
            "effect": [str(fitted) for fitted in ordered],
        }
    )


def merged(effects: Sequence[FittedEffect]) -> tuple[FittedEffect, ...]:
    """Equivalent effects in which each body with its feature appears once: curves of repeated ones are added.

    A merged effect keeps the place of the first and no errors; its importance is the sum of theirs.
    """
    groups: dict[tuple[object, ...], list[FittedEffect]] = {}
    for each in effects:
        head, body, feature, _ = in_order_of_use(each.effect)
        groups.setdefault((head, body, feature), []).append(each)
    return tuple(members[0] if len(members) == 1 else _sum(members) for members in groups.values())


def _sum(members: Sequence[FittedEffect]) -> FittedEffect:
    curves = [member.effect.curve for member in members]
    values = {cut for curve in curves for cut in curve.cuts}
    if len({kind_of(cut) for cut in values}) > 1:
        values = {number_of(cut) for cut in values}
    cuts = tuple(sorted(values, key=number_of))
    # A range begins with the cut below it, which has the level of the range.
    points = np.array([-np.inf, *map(number_of, cuts)])
    columns = [levels_of(curve, points).tolist() for curve in curves]
    curve = Curve(
        cuts,
        tuple(math.fsum(levels) for levels in zip(*columns, strict=True)),
        math.fsum(curve.missing for curve in curves),
    )
    same = all(member.effect.curve.cuts == cuts for member in members)
    return FittedEffect(
        members[0].effect._replace(curve=curve),
        math.fsum(member.importance for member in members),
        (),
        members[0].examples if same else (),
    )
