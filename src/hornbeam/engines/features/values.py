"""The values of features, from tallies of the groundings of bodies.

A value is a float, NaN where it is missing: a share, mean or time is missing if there are no groundings.
Counts and numbers of distinct values are never missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes
from hornbeam.data.numbers import Floats
from hornbeam.data.rows import run_starts
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.engines.features.sums import sums_by_row
from hornbeam.engines.tally import DAY, Tally, TallyRequest
from hornbeam.errors import DataError
from hornbeam.logic import effects as kinds
from hornbeam.logic.clauses import Atom
from hornbeam.logic.effects import Body, Feature, atom_in


class FeatureRequest(NamedTuple):
    """A body and one feature of its groundings."""

    head: Atom
    body: Body
    feature: Feature


def feature_values(engine: Engine, requests: Sequence[FeatureRequest], keys: Codes) -> list[Floats | Skipped]:
    """The values of each feature, one per row of keys."""
    asked = list(dict.fromkeys(tally for request in requests for tally in tallies_for(request)))
    tallies = dict(zip(asked, engine.tally(asked, keys), strict=True))
    answers: list[Floats | Skipped] = []
    for request in requests:
        found = [tallies[tally] for tally in tallies_for(request)]
        skipped = [each for each in found if isinstance(each, Skipped)]
        known = [each for each in found if isinstance(each, Tally)]
        answers.append(skipped[0] if skipped else _value(engine, request, known, keys))
    return answers


def tallies_for(request: FeatureRequest) -> tuple[TallyRequest, ...]:
    """The tallies from which a feature is computed."""
    head, body, (kind, variable) = request
    variables = () if variable is None else (variable,)
    if kind == kinds.SHARE:
        return TallyRequest(head, body), TallyRequest(head, body[:-1])
    if kind == kinds.MONTH:
        return ()
    return (TallyRequest(head, body, variables, kind in (kinds.FIRST, kinds.LAST, *kinds.OF_TIMES)),)


def _value(engine: Engine, request: FeatureRequest, tallies: list[Tally], keys: Codes) -> Floats:
    kind, size = request.feature.kind, len(keys)
    if kind == kinds.SHARE:
        return share_of(counts_of(tallies[0], size), counts_of(tallies[1], size))
    if kind in (kinds.MONTH, kinds.SINCE, *kinds.OF_TIMES):
        cutoffs = cutoffs_for(engine, request.head.predicate, keys)
        if kind == kinds.MONTH:
            return months_of(cutoffs)
        return since(tallies[0], kind, cutoffs, is_dated(engine))
    return value_of_request(request, tallies[0], size)


def value_of_request(request: FeatureRequest, tally: Tally, size: int) -> Floats:
    """A feature of one tally; if a sum is too large, the error names the predicate of the numbers."""
    try:
        return value_of_tally(tally, request.feature.kind, size)
    except DataError as error:
        atoms = [atom for step in request.body if (atom := atom_in(step)) is not None]
        own = [atom.predicate for atom in atoms if request.feature.variable in atom.args]
        raise DataError(f'"{own[0]}": {error.message}' if own else error.message) from None


def is_dated(engine: Engine) -> bool:
    """Whether times are dates, so that lengths of time are in days."""
    return engine.database.origin.get("times") == "date"


def cutoffs_for(engine: Engine, target: str, keys: Codes) -> Floats:
    """The cut-off of each row of keys; NaN for one that sees every fact."""
    cutoffs = engine.database.real_cutoffs_of(target, keys)
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
    if kind == kinds.COUNT:
        return counts_of(tally, size)
    if kind == kinds.DISTINCT:
        return np.bincount(tally.row, minlength=size).astype(np.float64)
    values = tally.columns[0]
    tally = at_rows(tally, ~np.isnan(values)) if np.isnan(values).any() else tally
    if kind in (kinds.FIRST, kinds.LAST):
        tally = at_edge(tally, kind == kinds.LAST)
    row, values, number = tally.row, tally.columns[0], tally.number
    result = np.full(size, np.nan)
    if not len(row):
        return result
    starts = run_starts(row)
    there = row[starts]
    if kind in (kinds.MINIMUM, kinds.MAXIMUM):
        edge = np.minimum if kind == kinds.MINIMUM else np.maximum
        result[there] = edge.reduceat(values, starts)
        return result
    counts = counts_of(tally, size)[there]
    if kind == kinds.SPREAD:
        result[there] = _spread(tally, starts, counts)
        return result
    sums = sums_by_row(row, values, number, size)[there]
    result[there] = sums if kind == kinds.SUM else sums / counts
    return result


def _spread(tally: Tally, starts: npt.NDArray[np.intp], counts: Floats) -> Floats:
    """The standard deviation of the values of each example, whose rows start at ``starts``."""
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


def since(tally: Tally, kind: str, cutoffs: Floats, dated: bool) -> Floats:
    """The time from the first or last fact, or from the earliest value of a date, to the cut-off."""
    result = np.full(len(cutoffs), np.nan)
    at = tally.columns[0] if kind == kinds.SINCE else tally.times
    assert at is not None
    if len(tally.row):
        starts = run_starts(tally.row)
        edge = np.maximum if kind == kinds.SINCE_LAST else np.minimum
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
