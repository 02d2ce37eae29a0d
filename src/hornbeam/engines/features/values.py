"""The values of features, from tallies of the groundings of bodies.

A value is a float, NaN where it is missing: a share, mean or time is missing if there are no groundings.
Counts and numbers of distinct values are never missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Database
from hornbeam.data.numbers import Floats
from hornbeam.data.rows import run_starts
from hornbeam.engines.features.sums import sums_by_row
from hornbeam.engines.questions import FeatureRequest
from hornbeam.engines.tally import DAY, Tally, TallyRequest
from hornbeam.errors import DataError
from hornbeam.logic import features as kinds
from hornbeam.logic.effects import atom_in
from hornbeam.logic.features import COUNT, DISTINCT, KINDS, MAXIMUM, MEAN, MINIMUM, SPREAD, SUM

Starts = npt.NDArray[np.intp]


def tallies_for(request: FeatureRequest) -> tuple[TallyRequest, ...]:
    """The tallies from which a feature is computed."""
    head, body, (kind, variable) = request
    variables = () if variable is None else (variable,)
    row = KINDS[kind]
    if row.needs == kinds.GUARD:
        return TallyRequest(head, body), TallyRequest(head, body[:-1])
    if row.needs == kinds.CUTOFF:
        return ()
    return (TallyRequest(head, body, variables, bool(row.edge)),)


def value_of_request(
    database: Database, request: FeatureRequest, tallies: Sequence[Tally], keys: Codes
) -> Floats:
    """The value of a feature for each row of keys, from its tallies."""
    kind, size = request.feature.kind, len(keys)
    needs = KINDS[kind].needs
    if needs == kinds.GUARD:
        return share_of(counts_of(tallies[0], size), counts_of(tallies[1], size))
    if needs in (kinds.CUTOFF, kinds.DATES, kinds.TIMES):
        cutoffs = cutoffs_for(database, request.head.predicate, keys)
        if needs == kinds.CUTOFF:
            return months_of(cutoffs)
        return since(tallies[0], kind, cutoffs, is_dated(database))
    try:
        return value_of_tally(tallies[0], kind, size)
    except DataError as error:
        raise DataError(about_numbers(request, error)) from None


def about_numbers(request: FeatureRequest, error: DataError) -> str:
    """The message of an error about numbers that are too large, with the predicate that has them."""
    atoms = [atom for step in request.body if (atom := atom_in(step)) is not None]
    own = [atom.predicate for atom in atoms if request.feature.variable in atom.args]
    return f'"{own[0]}": {error.message}' if own else error.message


def is_dated(database: Database) -> bool:
    """Whether times are dates, so that lengths of time are in days."""
    return database.origin.get("times") == "date"


def cutoffs_for(database: Database, target: str, keys: Codes) -> Floats:
    """The cut-off of each row of keys; NaN for one that sees every fact."""
    cutoffs = database.real_cutoffs_of(target, keys)
    if cutoffs is None:
        return np.full(len(keys), np.nan)
    return np.where(np.isfinite(cutoffs), cutoffs, np.nan)


def counts_of(tally: Tally, size: int) -> Floats:
    """The number of groundings of each example."""
    return np.bincount(tally.row, tally.number, minlength=size).astype(np.float64)


def counts_of_sides(tally: Tally, thresholds: Sequence[float], size: int) -> Iterator[tuple[Floats, Floats]]:
    """For each rising threshold, the groundings of each row below it, and the others that have a value."""
    values, width = tally.columns[0], len(thresholds) + 2
    # A missing value, which sorts behind all others, is on neither side.
    place = np.searchsorted(np.array([*thresholds, np.inf]), values, side="right")
    cells = np.bincount(tally.row * width + place, tally.number, minlength=size * width)
    upto = cells.reshape(size, width)[:, :-1].cumsum(axis=1)
    for number in range(len(thresholds)):
        yield upto[:, number], upto[:, -1] - upto[:, number]


def share_of(true: Floats, guard: Floats) -> Floats:
    """True counts divided by the guard's counts; missing where the guard has no grounding."""
    return np.where(guard > 0, true / np.maximum(guard, 1.0), np.nan)


def value_of_tally(tally: Tally, kind: str, size: int) -> Floats:
    """A feature of one tally: of its counts, or of the values in its first column."""
    _, _, measure, *_ = row = KINDS[kind]
    if measure in OF_GROUNDINGS:
        return OF_GROUNDINGS[measure](tally, size)
    values = tally.columns[0]
    tally = at_rows(tally, ~np.isnan(values)) if np.isnan(values).any() else tally
    if row.edge:
        tally = at_edge(tally, row.edge == kinds.LAST)
    result = np.full(size, np.nan)
    if len(tally.row):
        starts = run_starts(tally.row)
        result[tally.row[starts]] = OF_VALUES[measure](tally, starts)
    return result


def _distinct(tally: Tally, size: int) -> Floats:
    return np.bincount(tally.row, minlength=size).astype(np.float64)


def _minimum(tally: Tally, starts: Starts) -> Floats:
    return np.minimum.reduceat(tally.columns[0], starts)


def _maximum(tally: Tally, starts: Starts) -> Floats:
    return np.maximum.reduceat(tally.columns[0], starts)


def _sum(tally: Tally, starts: Starts) -> Floats:
    sums: Floats = sums_by_row(tally.row, tally.columns[0], tally.number, int(tally.row[-1]) + 1)
    return sums[tally.row[starts]]


def _mean(tally: Tally, starts: Starts) -> Floats:
    return _sum(tally, starts) / np.add.reduceat(tally.number, starts)


def _spread(tally: Tally, starts: Starts) -> Floats:
    """The standard deviation."""
    counts = np.add.reduceat(tally.number, starts)
    lengths = np.diff(starts, append=len(tally.row))
    values = tally.columns[0]
    # Scaled to below 1 by a power of two, so that no square is too large or too small for a float.
    scale = np.frexp(np.maximum.reduceat(np.abs(values), starts))[1]
    values = np.ldexp(values, -np.repeat(scale, lengths))
    above = values - np.repeat(np.minimum.reduceat(values, starts), lengths)
    place = np.repeat(np.arange(len(starts)), lengths)
    first = sums_by_row(place, above, tally.number, len(starts))
    second = sums_by_row(place, above * above, tally.number, len(starts))
    spread: Floats = np.ldexp(np.sqrt(np.maximum(second - first * first / counts, 0.0) / counts), scale)
    return spread


OF_GROUNDINGS: Mapping[str, Callable[[Tally, int], Floats]] = {COUNT: counts_of, DISTINCT: _distinct}
"""Measures of all groundings, for each of so many examples."""
OF_VALUES: Mapping[str, Callable[[Tally, Starts], Floats]] = {
    MINIMUM: _minimum,
    MAXIMUM: _maximum,
    MEAN: _mean,
    SUM: _sum,
    SPREAD: _spread,
}
"""Measures of the values in the first column of a tally, for each example; its rows start at ``starts``."""


def since(tally: Tally, kind: str, cutoffs: Floats, dated: bool) -> Floats:
    """The time from the first or last fact, or from the earliest value of a date, to the cut-off."""
    result = np.full(len(cutoffs), np.nan)
    row = KINDS[kind]
    at = tally.columns[0] if row.needs == kinds.DATES else tally.times
    assert at is not None
    if len(tally.row):
        starts = run_starts(tally.row)
        edge = np.maximum if row.measure == MAXIMUM else np.minimum
        result[tally.row[starts]] = edge.reduceat(at, starts)
    result[~np.isfinite(result)] = np.nan
    lengths: Floats = (cutoffs - result) / (DAY if dated else 1.0)
    return lengths


def months_of(cutoffs: Floats) -> Floats:
    """The month of each cut-off, 1 to 12."""
    known = np.isfinite(cutoffs)
    whole = np.where(known, cutoffs, 0.0).astype("datetime64[us]").astype("datetime64[M]").astype(np.int64)
    return np.where(known, whole % 12 + 1.0, np.nan)


def at_rows(tally: Tally, keep: np.ndarray) -> Tally:
    """The tally with some of its rows."""
    times = None if tally.times is None else tally.times[keep]
    return Tally(tally.row[keep], tuple(each[keep] for each in tally.columns), tally.number[keep], times)


def at_edge(tally: Tally, last: bool) -> Tally:
    """The rows whose time is the latest of their example, or the earliest."""
    assert tally.times is not None
    if not len(tally.row):
        return tally
    starts = run_starts(tally.row)
    edge = (np.maximum if last else np.minimum).reduceat(tally.times, starts)
    return at_rows(tally, tally.times == np.repeat(edge, np.diff(starts, append=len(tally.row))))
