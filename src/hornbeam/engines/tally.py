"""Tallies: the groundings of a body, grouped by example and by the values of some variables.

Engines answer one question about a body with a tally, and every feature is computed from tallies by the same
code (``feature_values``), so all engines give the same values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.numbers import Floats
from hornbeam.data.rows import Integers, grouped, row_numbers
from hornbeam.logic.clauses import Atom
from hornbeam.logic.effects import Body, body_text

Rows = npt.NDArray[np.int64]
DAY = 86_400_000_000.0
"""Microseconds in a day."""


class TallyRequest(NamedTuple):
    """A body, the variables whose values are asked for, and whether times are asked for.

    ``times`` asks for the time of the fact that makes the last step with times true: minus infinity for a
    fact without a time.
    """

    head: Atom
    body: Body
    variables: tuple[int, ...] = ()
    times: bool = False

    def __str__(self) -> str:
        return body_text(self.head, self.body)


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """The groundings of a body for some examples, in groups; rows are distinct, and sorted by ``row``.

    Examples without groundings have no row.
    """

    row: Rows
    """position of the example"""
    columns: tuple[npt.NDArray[Any], ...]
    """one column for each variable asked for: values (float64) if its type is numeric or if it is a number of
    facts, else codes (int32)"""
    number: Rows
    """number of groundings in the group"""
    times: Floats | None = None


def spread(tally: Tally, of_example: Integers) -> Tally:
    """The tally of examples from a tally of their distinct keys, of which each example has one.

    The rows of the given tally may be in any order and repeat groups.
    """
    ranked = [np.unique(values, return_inverse=True)[1].ravel() for values in _values_of(tally)]
    order, starts = grouped(row_numbers([tally.row, *ranked], len(tally.row)))
    first = order[starts]
    number = np.add.reduceat(tally.number[order], starts) if len(starts) else tally.number[:0]
    row = tally.row[first]
    edges = np.searchsorted(row, np.arange(int(of_example.max(initial=-1)) + 2))
    begin, lengths = edges[of_example], edges[of_example + 1] - edges[of_example]
    examples = np.repeat(np.arange(len(of_example)), lengths)
    places = np.arange(len(examples)) + np.repeat(begin - (np.cumsum(lengths) - lengths), lengths)
    taken = first[places]
    return Tally(
        examples,
        tuple(column[taken] for column in tally.columns),
        number[places],
        None if tally.times is None else tally.times[taken],
    )


def _values_of(tally: Tally) -> list[npt.NDArray[Any]]:
    return [*tally.columns, *([] if tally.times is None else [tally.times])]
