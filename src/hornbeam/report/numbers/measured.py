"""What a report says of a model on some data: probabilities, scores, and what each part adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNLABELLED, Codes, Examples
from hornbeam.engines.contract import Counts, Engine
from hornbeam.logic.english import sentence
from hornbeam.model.clause_model import Floats, Model, sigmoid
from hornbeam.model.evaluate import Scores, evaluate
from hornbeam.report.numbers.parts import AdditiveModel, Part, parts_of

SHOWN = 5_000
"""Examples in the table of a report, at most."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class Spread(NamedTuple):
    """Where contributions lie: nine in ten between low and high, half between the quartiles."""

    low: float
    lower: float
    median: float
    upper: float
    high: float

    @classmethod
    def of(cls, values: Floats) -> Spread:
        if not len(values):
            return cls(0.0, 0.0, 0.0, 0.0, 0.0)
        found = np.quantile(values, QUANTILES)
        # What rounding left of a zero is no number to show.
        return cls(*np.where(np.abs(found) < 1e-9 * np.abs(found).max(), 0.0, found).tolist())


@dataclass(frozen=True, slots=True)
class PartMeasured:
    """What one part adds over all examples."""

    all: Spread
    positives: Spread
    negatives: Spread
    extremes: tuple[float, float]
    """the least and the most it adds"""
    strength: float
    """mean distance of its contribution from its mean: how much it tells examples apart"""


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """The examples that the table shows, with what each part adds."""

    rows: Codes
    """their places among all examples"""
    contributions: Floats
    """a row per example, a column per part"""
    counts: tuple[Counts, ...]
    """of each part, where parts are clauses; else none"""
    how: str
    """how they were chosen, as a sentence; empty where they are all"""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A model on some examples."""

    model: AdditiveModel
    parts: tuple[Part, ...]
    examples: Examples
    log_odds: Floats
    probabilities: Floats
    scores: Scores | None
    """None where labels of both kinds are missing"""
    of_parts: tuple[PartMeasured, ...]
    shown: Shown

    @property
    def labelled(self) -> npt.NDArray[np.bool_]:
        """Which examples have a label."""
        return np.asarray(self.examples.labels != UNLABELLED)


def measure(model: AdditiveModel, engine: Engine, examples: Examples, shown: int = SHOWN) -> Measured:
    """Everything that a report shows of a model's predictions for some examples."""
    labels = examples.labels
    log_odds = np.full(len(examples), model.prior, dtype=np.float64)
    of_parts: list[PartMeasured] = []
    for contribution in model.contributions(engine, examples.keys):
        log_odds += contribution
        of_parts.append(
            PartMeasured(
                Spread.of(contribution),
                Spread.of(contribution[labels == 1]),
                Spread.of(contribution[labels == 0]),
                (float(contribution.min()), float(contribution.max())) if len(contribution) else (0.0, 0.0),
                float(np.abs(contribution - contribution.mean()).mean()) if len(contribution) else 0.0,
            )
        )
    probabilities = sigmoid(log_odds)
    rows, how = chosen(labels, probabilities, shown)
    # Asked again for the few that are shown: kept for all examples, contributions might not fit in memory.
    keys = examples.keys[rows]
    columns = list(model.contributions(engine, keys))
    table = np.column_stack(columns) if columns else np.zeros((len(rows), 0))
    counts = tuple(model.counts(engine, keys)) if isinstance(model, Model) else ()
    known = labels != UNLABELLED
    both = bool((labels == 1).any() and (labels == 0).any())
    return Measured(
        model=model,
        parts=_parts(model, counts),
        examples=examples,
        log_odds=log_odds,
        probabilities=probabilities,
        scores=evaluate(labels[known], probabilities[known]) if both else None,
        of_parts=tuple(of_parts),
        shown=Shown(rows, table, counts, how),
    )


def _parts(model: AdditiveModel, counts: Sequence[Counts]) -> tuple[Part, ...]:
    """How the parts read; of what is never there twice it is not said how often."""
    parts = parts_of(model)
    for place, (part, found) in enumerate(zip(parts, counts, strict=False)):
        if part.clause is None or part.each is not None or part.bound is not None:
            continue
        if part.clause.free_variables() and int(found.true.max(initial=0)) <= 1:
            said = sentence(part.clause, model.schema, part.rises, single=True)
            parts[place] = replace(part, saying=said)
    return tuple(parts)


def chosen(labels: npt.NDArray[np.int8], probabilities: Floats, most: int) -> tuple[Codes, str]:
    """Which examples a table shows, in their order, and how they were chosen.

    All where they are few. Else positives take up to half of the places, and all places are spread
    evenly over the examples in order of probability; of the negatives a half is the most probable.
    """
    size = len(labels)
    if size <= most:
        return np.arange(size, dtype=np.int32), ""
    order = np.argsort(-probabilities, kind="stable")
    positive = labels[order] == 1
    positives, others = order[positive], order[~positive]
    kept = _evenly(positives, max(most // 2, most - len(others)))
    places = most - len(kept)
    top = others[: places // 2]
    rest = _evenly(others[places // 2 :], places - len(top))
    rows = np.sort(np.concatenate([kept, top, rest])).astype(np.int32)
    every = "all" if len(kept) == len(positives) else f"{len(kept):,} of {len(positives):,}"
    how = (
        f"{most:,} of {size:,} examples: {every} positives, the {len(top):,} others of the highest "
        f"probability, and {len(rest):,} more, evenly spread in order of probability."
    )
    return rows, how


def _evenly(rows: Codes, most: int) -> Codes:
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).round().astype(np.int64)]
