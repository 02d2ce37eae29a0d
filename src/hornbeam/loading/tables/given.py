"""Examples by name, as a table or a user gives them: keys, labels or numbers, and cut-offs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNLABELLED, Coded
from hornbeam.data.relations import Examples
from hornbeam.data.rows import Integers
from hornbeam.errors import DataError

Labels = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class GivenExamples:
    """Examples by name: a column of keys per argument, labels, and the classes that the labels number."""

    keys: Sequence[Coded]
    labels: Labels
    classes: tuple[str, ...] = ()
    cutoffs: npt.NDArray[np.float64] | None = None
    closed: bool = False
    """whether every key that is not listed is known to be negative"""
    values: npt.NDArray[np.float64] | None = None
    """for a numeric target its numbers; labels are then 0, or ``UNLABELLED`` where the number is missing"""
    label_texts: tuple[str, str] = ("0", "1")
    """what the data have for the labels 0 and 1 of a target without classes"""
    choices: Integers | None = None
    """the number of the choice of each example, -1 if it has none; None if choices are not given"""

    @classmethod
    def of_numbers(
        cls,
        keys: Sequence[Coded],
        values: npt.NDArray[np.float64],
        cutoffs: npt.NDArray[np.float64] | None = None,
    ) -> GivenExamples:
        """Examples of a numeric target; NaN is a missing number."""
        labels = np.where(np.isnan(values), UNLABELLED, 0).astype(np.int8)
        return cls(keys, labels, (), cutoffs, values=values)

    def labelled(self, examples: Examples) -> Examples:
        """The same examples, with keys as codes, with the classes or numbers that these have.

        Merging duplicates handles only positive and negative examples, so the others are set afterwards.
        """
        plain = not self.classes and self.values is None
        if plain and self.choices is None:
            return replace(examples, label_texts=self.label_texts)
        if len(examples) != len(self.labels):
            kind = "numbers" if self.values is not None else "classes" if self.classes else "choices"
            raise DataError(f"an example is given twice; for a target with {kind}, list each example once.")
        if plain and self.choices is not None:
            choices = self.choices if examples.places is None else self.choices[examples.places]
            return replace(examples, label_texts=self.label_texts, choices=choices)
        return replace(examples, labels=self.labels, classes=self.classes, values=self.values)

    def to_merge(self) -> Labels:
        """The labels by which duplicates are merged: all alike if there are classes or numbers."""
        plain = not self.classes and self.values is None
        return self.labels if plain else np.zeros(len(self.labels), dtype=np.int8)
