"""The parts of a database: constants with a code for each, facts in columns of codes, examples.

Codes are an implementation detail: no count, score or model depends on their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.names import UNKNOWN, Codes, MadeNames
from hornbeam.data.numbers import Floats
from hornbeam.data.rows import Integers, by_first, grouped, row_numbers, sorted_distinct
from hornbeam.errors import DataError, Place

MOST_CLASSES = 100
"""Targets with more classes are refused."""
UNLABELLED = -1
"""The label of an example whose label is unknown."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A note about data that were accepted: what was ignored, merged or empty. It is shown once."""

    message: str
    place: Place | None = None
    is_guess: bool = False
    """what was inferred: a matter of course where nobody stated it, and no warning"""

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


@dataclass(frozen=True, eq=False)
class Population:
    """The constants of a type; a constant's code is its position in ``names``."""

    names: Sequence[str]
    values: Floats | None = field(default=None, kw_only=True)
    """of a numeric type, the value of each constant"""

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {name: code for code, name in enumerate(self.names)}

    def code(self, name: str) -> int:
        """The code of a constant, ``UNKNOWN`` for one that is not in the population.

        A number may be spelled in any way.

        >>> Population(["7", "0.5"], values=np.array([7.0, 0.5])).code("0.50")
        1
        """
        if isinstance(self.names, MadeNames):
            found = int(self.names.places([name])[0])
        else:
            found = self._codes.get(name, UNKNOWN)
        return self._code_of_number(name) if found == UNKNOWN and self.values is not None else found

    def _code_of_number(self, text: str) -> int:
        """The code of the only constant that spells this number, too."""
        number = _number_in(text)
        same = [] if number is None else np.flatnonzero(self.values == number).tolist()
        return same[0] if len(same) == 1 and _number_in(self.names[same[0]]) == number else UNKNOWN

    def encode(self, names: Iterable[str]) -> Codes:
        """Codes of many names, ``UNKNOWN`` for those not in the population."""
        if isinstance(self.names, MadeNames):
            return self.names.places(names)
        codes = self._codes
        return np.array([codes.get(name, UNKNOWN) for name in names], dtype=np.int32)

    def encode_known(self, names: Sequence[str]) -> Codes:
        """Codes of many names of constants, which are known to be in the population."""
        return self.encode(names)

    def decode(self, codes: Codes) -> list[str]:
        names = self.names
        return (
            names.texts(codes) if isinstance(names, MadeNames) else [names[code] for code in codes.tolist()]
        )


def _number_in(text: str) -> float | None:
    """The number that a text spells; None for other text, such as a date."""
    try:
        return float(text)
    except ValueError:
        return None


@dataclass(frozen=True, eq=False)
class Relation:
    """The facts of one predicate: equally long columns of codes, rows sorted and distinct."""

    columns: tuple[Codes, ...]

    def __len__(self) -> int:
        return len(self.columns[0])

    @classmethod
    def of(cls, columns: Sequence[npt.NDArray[Any]], sizes: Sequence[int]) -> Relation:
        """A relation from rows in any order, which may repeat; column i has codes below ``sizes[i]``."""
        if len(columns[0]) == 0:
            return cls(tuple(np.empty(0, dtype=np.int32) for _ in columns))
        return cls(sorted_distinct(columns, sizes))

    @classmethod
    def timed(cls, columns: Sequence[npt.NDArray[Any]], times: Floats) -> tuple[Relation, Floats]:
        """``of`` for rows with times; a fact that is given at several times exists from the earliest one."""
        if len(columns[0]) == 0:
            return cls(tuple(np.empty(0, dtype=np.int32) for _ in columns)), times
        in_order = by_first([*columns, times])
        if in_order is not None:
            return cls(tuple(column.astype(np.int32, copy=False) for column in in_order[:-1])), in_order[-1]
        order, starts = grouped(row_numbers(columns, len(times)))
        first = order[starts]
        earliest = np.minimum.reduceat(times[order], starts)
        return cls(tuple(column[first].astype(np.int32) for column in columns)), earliest


@dataclass(frozen=True, eq=False)
class Examples:
    """Groundings of a target and their labels: positives first, then negatives, in file order."""

    target: str
    keys: Codes
    """one row per example, one column of codes per head argument; if examples have cut-offs and facts have
    times, one more column with the codes of the cut-offs (``Database.cutoff_codes``)"""
    labels: npt.NDArray[np.int8]
    """0 and 1, or positions in ``classes``; ``UNLABELLED`` where the label is not known"""
    classes: tuple[str, ...] = ()
    """the values that labels stand for, if the target has classes instead of true and false"""
    cutoffs: Floats | None = None
    """the cut-off of each example, as given: facts after it do not exist for the example. Infinity means that
    all facts exist. None if examples have no cut-offs"""
    places: npt.NDArray[np.intp] | None = None
    """the row of each example in the data that it was given in; None if they are in that order"""
    values: Floats | None = field(default=None, kw_only=True)
    """the number of each example, if the target is numeric; NaN where it is not known. Known ones have
    label 0"""
    weights: Floats | None = None
    """how much each example counts in a fit; None if all count the same"""
    label_texts: tuple[str, str] = ("0", "1")
    """what the data have for the labels 0 and 1 of a target without classes"""
    choices: Integers | None = None
    """the number of the choice that each example is an alternative of; None if they were not given"""
    elsewhere: Floats | None = None
    """for each example two numbers about the alternatives of its choice that are not among the examples: the
    logarithm of the sum of the exponentials of their scores, and how many of them are right; None if there
    are no others"""

    def __len__(self) -> int:
        return len(self.labels)

    def labelled(self) -> Examples:
        """The examples whose label is known, in the same order."""
        known = self.labels != UNLABELLED
        return self if known.all() else self.at(known)

    def at(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Examples:
        """The examples at some positions, or where a mask is true."""
        cutoffs, values, weights = (
            None if each is None else each[rows] for each in (self.cutoffs, self.values, self.weights)
        )
        choices = None if self.choices is None else self.choices[rows]
        elsewhere = None if self.elsewhere is None else self.elsewhere[rows]
        places = None if self.places is None else self.places[rows]
        taken = replace(self, keys=self.keys[rows], labels=self.labels[rows], places=places)
        return replace(
            taken, cutoffs=cutoffs, values=values, weights=weights, choices=choices, elsewhere=elsewhere
        )

    def as_given(self) -> Examples:
        """The examples in the order of the data that they were given in."""
        if self.places is None:
            return self
        return replace(self.at(np.argsort(self.places, kind="stable")), places=None)

    def as_numbers(self) -> Examples:
        """The same examples with labels 0 and 1 as numbers; unchanged if they have numbers or classes."""
        if self.values is not None or self.classes:
            return self
        known = self.labels != UNLABELLED
        values = np.where(known, self.labels, np.nan).astype(np.float64)
        return replace(self, labels=np.where(known, 0, UNLABELLED).astype(np.int8), values=values)

    def as_classes(self) -> Examples:
        """The same examples with each number as a class; unchanged if they have labels."""
        if self.values is None:
            return self
        distinct = np.unique(self.values[~np.isnan(self.values)])
        if len(distinct) > MOST_CLASSES:
            raise DataError(
                f'"{self.target}" holds {len(distinct):,} different numbers, more than the limit of '
                f"{MOST_CLASSES} classes; learn them as numbers."
            )
        labels = np.where(np.isnan(self.values), UNLABELLED, np.searchsorted(distinct, self.values))
        classes = tuple(str(int(each)) if each.is_integer() else str(each) for each in distinct.tolist())
        return replace(self, labels=labels.astype(np.int8), classes=classes, values=None)
