"""A model measured on examples: probabilities, scores, and what each part of the model adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNLABELLED, Codes, Examples
from hornbeam.engines.contract import Engine
from hornbeam.logic.english.clauses import sentence
from hornbeam.logic.english.wording import Wording, wording_of
from hornbeam.model.choices import choices_of
from hornbeam.model.clause_model import Floats, Model
from hornbeam.model.evaluate import (
    ChoiceScores,
    NumberScores,
    Scores,
    evaluate,
    evaluate_choices,
    evaluate_numbers,
)
from hornbeam.model.files import constant_of, scale_of
from hornbeam.model.readable.cards import Readers
from hornbeam.model.scales import shares
from hornbeam.report.numbers.parts import AdditiveModel, ModelPart, parts_of

if TYPE_CHECKING:
    from hornbeam.engines.clauses.contract import Counts

SHOWN = 5_000
"""Maximum number of examples in the table of a report."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class Spread(NamedTuple):
    """Quantiles of contributions: 90 % lie between low and high, half between lower and upper."""

    low: float
    lower: float
    median: float
    upper: float
    high: float

    @classmethod
    def of(cls, values: Floats) -> Spread:
        if not len(values):
            return cls(0.0, 0.0, 0.0, 0.0, 0.0)
        quantiles = np.quantile(values, QUANTILES)
        # A zero with rounding errors is shown as zero.
        tiny = np.abs(quantiles) < 1e-9 * np.abs(quantiles).max()
        return cls(*np.where(tiny, 0.0, quantiles).tolist())


@dataclass(frozen=True, slots=True)
class PartSummary:
    """What one part adds, summarized over all examples."""

    all: Spread
    positives: Spread
    negatives: Spread
    extremes: tuple[float, float]
    """the smallest and the largest contribution"""
    strength: float
    """mean absolute deviation of the contribution from its mean: how much it separates examples"""


@dataclass(frozen=True, slots=True, eq=False)
class ShownExamples:
    """The examples in the table of a report, and what each part adds for them."""

    rows: Codes
    """their positions among all examples"""
    contributions: Floats
    """a row per example, a column per part"""
    counts: tuple[Counts, ...]
    """the counts of each part; empty if the parts are not clauses"""
    selection: str
    """how they were selected, as a sentence; empty if all examples are shown"""


@dataclass(frozen=True, slots=True, eq=False)
class Measurements:
    """A model, the examples it was measured on, and the results."""

    model: AdditiveModel
    parts: tuple[ModelPart, ...]
    examples: Examples
    log_odds: Floats
    probabilities: Floats
    scores: Scores | None
    """None unless there are examples of both labels, and for a model of choices"""
    numbers: NumberScores | None
    """for a numeric target, if some examples have numbers; ``probabilities`` are then the predictions"""
    choices: ChoiceScores | None
    """for a model of choices, if some examples are right"""
    summaries: tuple[PartSummary, ...]
    shown: ShownExamples
    wording: Wording
    held_out: Floats | None = None
    """for each example the score from models that were learned without it, by which scores and plots judge
    the model; NaN if there is no such model. None if they are those of the model itself"""

    @property
    def readers(self) -> Readers:
        """What cards of effects need to know; the average is that of these examples if the model has none."""
        if isinstance(self.model, Model):
            readers = replace(self.model.readers, wording=self.wording)
            if readers.average is not None or not len(self.log_odds) or readers.scale.of_choice:
                return readers
            return replace(readers, average=float(self.log_odds.mean()))
        return Readers(self.model.schema, False, self.wording)

    @property
    def labelled(self) -> npt.NDArray[np.bool_]:
        """Which examples judge the model: those with a label, if they are held out, with a held-out score."""
        return _judging(self.examples.labels, self.held_out)

    @property
    def judged_scores(self) -> Floats:
        """The scores by which the model is judged: held-out ones if they are known."""
        return self.log_odds if self.held_out is None else self.held_out

    @property
    def judged_predictions(self) -> Floats:
        """The predictions by which the model is judged."""
        if self.held_out is None:
            return self.probabilities
        predictions: Floats = scale_of(self.model).link(self.held_out)
        return predictions


def _judging(labels: npt.NDArray[np.int8], held_out: Floats | None) -> npt.NDArray[np.bool_]:
    known = np.asarray(labels != UNLABELLED)
    return known if held_out is None else known & ~np.isnan(held_out)


def usable(held_out: Floats | None, examples: Examples) -> Floats | None:
    """Held-out scores, if they are enough to judge a model: labels of both kinds, or two numbers."""
    if held_out is None or len(held_out) != len(examples):
        return None
    known = _judging(examples.labels, held_out)
    values = examples.labels if examples.values is None else examples.values
    return held_out if len(np.unique(values[known])) > 1 else None


def measure(
    model: AdditiveModel,
    engine: Engine,
    examples: Examples,
    shown: int = SHOWN,
    wording: Wording | None = None,
    held_out: Floats | None = None,
) -> Measurements:
    """Measure a model on examples: everything that a report shows about its predictions.

    ``held_out`` are scores from models that were learned without the example (NaN: there is none).
    """
    labels = examples.labels
    log_odds = np.full(len(examples), model.prior, dtype=np.float64)
    summaries: list[PartSummary] = []
    for contribution in model.contributions(engine, examples.keys):
        log_odds += contribution
        summaries.append(
            PartSummary(
                Spread.of(contribution),
                Spread.of(contribution[labels == 1]),
                Spread.of(contribution[labels == 0]),
                (float(contribution.min()), float(contribution.max())) if len(contribution) else (0.0, 0.0),
                float(np.abs(contribution - contribution.mean()).mean()) if len(contribution) else 0.0,
            )
        )
    scale = scale_of(model)
    choices = choices_of(model, engine, examples.keys, examples.choices) if scale.of_choice else None
    if scale.of_class:  # of several classes, whose probabilities are shares among all
        probabilities = model.probabilities(engine, examples.keys)
    else:
        probabilities = scale.link(log_odds) if choices is None else shares(log_odds, choices)
    rows, selection = choose_examples(labels, probabilities, shown)
    # Computed again for the examples shown: the contributions for all examples might not fit in memory.
    keys = examples.keys[rows]
    columns = list(model.contributions(engine, keys))
    table = np.column_stack(columns) if columns else np.zeros((len(rows), 0))
    counts = tuple(model.counts(engine, keys)) if isinstance(model, Model) else ()
    held_out = None if scale.of_choice else usable(held_out, examples)
    judged = probabilities if held_out is None else scale.link(held_out)
    known = _judging(labels, held_out)
    both = len(np.unique(labels[known])) > 1
    return Measurements(
        model=model,
        parts=_parts(model, counts),
        examples=examples,
        log_odds=log_odds,
        probabilities=probabilities,
        scores=evaluate(labels[known], judged[known]) if both and choices is None else None,
        choices=None
        if choices is None or not (labels == 1).any()
        else evaluate_choices(labels[known], probabilities[known], choices[known]),
        numbers=None
        if examples.values is None or not known.any()
        else evaluate_numbers(examples.values[known], judged[known], constant_of(model)),
        summaries=tuple(summaries),
        shown=ShownExamples(rows, table, counts, selection),
        wording=wording or wording_of(model.target, model.schema, model.settings),
        held_out=held_out,
    )


def _parts(model: AdditiveModel, counts: Sequence[Counts]) -> tuple[ModelPart, ...]:
    """The parts. If a clause has at most one grounding, its sentence does not mention how many it has."""
    parts = parts_of(model)
    for place, (part, counted) in enumerate(zip(parts, counts, strict=False)):
        if part.clause is None or part.each is not None or part.bound is not None:
            continue
        if part.clause.free_variables() and int(counted.true.max(initial=0)) <= 1:
            text = sentence(part.clause, model.schema, part.rises, single=True)
            parts[place] = replace(part, sentence=text)
    return tuple(parts)


def choose_examples(labels: npt.NDArray[np.int8], probabilities: Floats, most: int) -> tuple[Codes, str]:
    """The positions of the examples that a table shows, in their order, and a sentence on the selection.

    If there are at most ``most`` examples, all are shown and the sentence is empty. Otherwise,
    positives get up to half of the rows, spread evenly in order of probability. Half of the remaining rows
    show the other examples with the highest probability; the last rows are spread evenly over the others.
    """
    size = len(labels)
    if size <= most:
        return np.arange(size, dtype=np.int32), ""
    order = np.argsort(-probabilities, kind="stable")
    positive = labels[order] == 1
    positives, others = order[positive], order[~positive]
    shown_positives = _evenly(positives, max(most // 2, most - len(others)))
    free_rows = most - len(shown_positives)
    top = others[: free_rows // 2]
    spread = _evenly(others[free_rows // 2 :], free_rows - len(top))
    rows = np.sort(np.concatenate([shown_positives, top, spread])).astype(np.int32)
    n_shown, n_all = len(shown_positives), len(positives)
    selection = (
        f"{most:,} of {size:,} examples: {'all' if n_shown == n_all else f'{n_shown:,} of {n_all:,}'} "
        f"positives, the {len(top):,} others with the highest probability, and {len(spread):,} more, "
        "spread evenly in order of probability."
    )
    return rows, selection


def _evenly(rows: Codes, most: int) -> Codes:
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).round().astype(np.int64)]
