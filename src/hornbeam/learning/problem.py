"""Shared by all learners: checked labels, the language of clauses, the prior, and the result of a fit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from hornbeam.data.database import Codes, Database
from hornbeam.data.relations import Examples
from hornbeam.errors import DataError, SchemaError
from hornbeam.learning.history import History
from hornbeam.learning.numbers import Floats, Labels, round_weight
from hornbeam.learning.options import BASE_RATE
from hornbeam.logic.clauses import head_atom

if TYPE_CHECKING:
    from hornbeam.logic.refine import Language

LARGEST_TARGET = 1e100
"""The largest number that can be learned: its square and sums of squares must stay finite."""
Learned = TypeVar("Learned", covariant=True)


@dataclass(frozen=True, eq=False)
class Fit(Generic[Learned]):
    """A learned model and the history of its fit."""

    model: Learned
    history: History
    held_out: Floats | None = None
    """for each example the log-odds from models that were learned without it; NaN if there is no such model.
    None if the learner does not know"""


def check_labels(examples: Examples) -> None:
    """Raise an error unless labels are 0 and 1 and both occur."""
    labels, target = examples.labels, examples.target
    if examples.values is not None:
        raise DataError(
            f'"{target}" holds numbers, and labels or classes are needed here; name one value, or state '
            'the role "category".'
        )
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


def check_values(target: str, values: Floats) -> None:
    """Raise an error unless the numbers to learn are finite and not all the same."""
    wrong = values[~np.isfinite(values)]
    if len(wrong):
        raise DataError(
            f'"{target}" holds {wrong[0]}: NaN and infinity cannot be learned; give each training example a '
            "finite number."
        )
    largest = float(np.abs(values).max(initial=0.0))
    if largest > LARGEST_TARGET:
        raise DataError(
            f'"{target}" holds {largest:g}, which is too large to learn: numbers up to {LARGEST_TARGET:g} '
            "are allowed; if it stands for a missing value, remove these examples."
        )
    if values.min(initial=np.inf) >= values.max(initial=-np.inf):
        found = (
            f"{len(values):,} examples that all have the value {values[0]:g}"
            if len(values) > 1
            else "one sample"
        )
        raise DataError(f'"{target}" cannot be learned from {found}: learning needs at least two values.')


def language_for(
    database: Database, target: str, negation: bool, n_thresholds: int, keys: Codes | None = None
) -> Language:
    """The language of clauses for the target; an error if no literal can be added to its head.

    Facts after the last cut-off of the keys to learn from do not influence thresholds.
    """
    from hornbeam.logic.refine import Language, additions

    head = head_atom(target, database.schema.arity(target))
    until = math.inf if keys is None else database.last_cutoff(target, keys)
    thresholds = database.thresholds(target, n_thresholds, until)
    language = Language(head, database.schema, database.modes, database.constants, negation, thresholds)
    if next(additions(language.empty(), language), None) is None:
        types = list(dict.fromkeys(database.schema.types_of(target)))
        if "tables" in database.origin:
            tables = " or ".join(f'"{each}"' for each in types)
            raise SchemaError(
                f"nothing to learn from: {tables} has no other usable column, and no table links to it; "
                "run hornbeam inspect to check how the tables are read."
            )
        raise SchemaError(
            f"no literal can be added to {head}; give a mode with a + argument of type "
            f"{' or '.join(types)} for a predicate that has facts."
        )
    return language


def prior_of(labels: Labels, prior: float | str) -> float:
    """The log-odds before the first step: the given number, or the log-odds of the base rate."""
    if prior == BASE_RATE:
        positives = int(np.count_nonzero(labels))
        return round_weight(math.log(positives / (len(labels) - positives)))
    return float(prior)
