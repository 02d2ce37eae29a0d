"""What all learners share: labels to learn from, a language, a prior, gradients, and what a fit gives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Database
from hornbeam.errors import DataError, SchemaError
from hornbeam.learning.history import History
from hornbeam.learning.options import BASE_RATE
from hornbeam.learning.search.ridge import GRADIENT_BITS, Integers, round_weight
from hornbeam.logic.clauses import head_atom
from hornbeam.logic.refine import Language, additions
from hornbeam.model.clause_model import Floats, sigmoid

Labels = npt.NDArray[np.int8]
Learned = TypeVar("Learned", covariant=True)


@dataclass(frozen=True, eq=False)
class Fit(Generic[Learned]):
    """A learned model and how it came about."""

    model: Learned
    history: History


def check_labels(labels: Labels, target: str) -> None:
    """Labels are 0 and 1, and there are some of each."""
    values, counts = np.unique(labels, return_counts=True)
    wrong = [value for value in values.tolist() if value not in (0, 1)]
    if wrong:
        raise DataError(f'labels of "{target}" must be 0 or 1, found {wrong[0]!r}.')
    for value, name in ((1, "positive"), (0, "negative")):
        if value not in values:
            raise DataError(
                f'no {name} example of "{target}" among {int(counts.sum())}; '
                "learning needs at least one of each label."
            )


def language_for(
    database: Database, target: str, negation: bool, n_thresholds: int, keys: Codes | None = None
) -> Language:
    """What a search for clauses of the target may say; where it can say nothing, an error.

    What happened after the last cut-off of the keys to learn from has no say in where thresholds are.
    """
    head = head_atom(target, database.schema.arity(target))
    until = math.inf if keys is None else database.last_cutoff(target, keys)
    thresholds = database.thresholds(target, n_thresholds, until)
    language = Language(head, database.schema, database.modes, database.constants, negation, thresholds)
    if next(additions(language.empty(), language), None) is None:
        types = " or ".join(dict.fromkeys(database.schema.types_of(target)))
        if "tables" in database.origin:
            raise SchemaError(
                f"no literal can be added to {head}: no other column tells something of "
                f"{types}, and no table links to it; hornbeam inspect shows what tables are taken for."
            )
        raise SchemaError(
            f"no literal can be added to {head}; give a mode with a + argument of type "
            f"{types} for a predicate that has facts."
        )
    return language


def prior_of(labels: Labels, prior: float | str) -> float:
    """The log-odds before the first step: as given, or those of the base rate."""
    if prior == BASE_RATE:
        positives = int(np.count_nonzero(labels))
        return round_weight(math.log(positives / (len(labels) - positives)))
    return float(prior)


def gradients(labels: Labels, scores: Floats) -> Integers:
    """``y - P`` of each example, rounded to whole multiples of 2**-30."""
    return whole_gradients(labels - sigmoid(scores))


def whole_gradients(values: Floats) -> Integers:
    units: Floats = np.rint(values * 2.0**GRADIENT_BITS)
    return units.astype(np.int64)


def losses(labels: Labels, scores: Floats) -> Floats:
    """``-log P(label)`` of each example, without overflow."""
    return np.logaddexp(0.0, np.where(labels == 1, -scores, scores))


def log_loss(labels: Labels, scores: Floats) -> float:
    """The mean of ``-log P(label)``."""
    return float(np.mean(losses(labels, scores)))
