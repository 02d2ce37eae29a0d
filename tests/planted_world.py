"""Worlds in which one feature is planted: a number of a thing's events, and noise beside it.

All worlds have the same three tables: things with columns of their own, events of things with times, and
examples with cut-offs. They differ in the feature that the labels depend on. Events go on after the cut-off,
so a feature that sees too much is not the planted one.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.datasets.worlds.building import Floats, check_limits
from hornbeam.errors import DataError, OptionError, Place, did_you_mean
from hornbeam.files import write_file
from hornbeam.model.scales import sigmoid

TARGET = "good(things)"
"""The target of all planted worlds: labels are in the table of examples."""
STRENGTH = 2.0
"""What one standard deviation of the planted feature adds to the log-odds."""
START = datetime(2020, 1, 1)
"""The first cut-off."""
CUTOFF_DAYS = 3 * 365
COLOURS = ("blue", "green", "red", "white", "yellow")
SORTS = tuple(f"sort{number}" for number in range(8))
N_NOISE = 4
"""Columns of noise in each table, half of them numbers."""

Columns = dict[str, list[Any]]


class Seen(NamedTuple):
    """What an example may see of its thing: events before the cut-off, by time. Times are days before it."""

    size: float
    month: int
    ago: Floats
    amounts: Floats
    sorts: npt.NDArray[np.int64]


class Planted(NamedTuple):
    """A feature that labels depend on: the log-odds grow with its distance from ``centre``."""

    sentence: str
    effect: str
    """the feature and its body, as the text of an effect has them"""
    value: Callable[[Seen], float]
    centre: float
    deviation: float
    """about the standard deviation of the values"""

    def score(self, value: float) -> float:
        """The log-odds at a value: even odds if it is missing."""
        return 0.0 if np.isnan(value) else STRENGTH * (value - self.centre) / self.deviation


_AMOUNTS = "good(A) :- thing_id(B,A), amount(B,C)."
FEATURES: Mapping[str, Planted] = {
    "sum": Planted(
        "the sum of the amounts of its events", f"sum C : {_AMOUNTS}", lambda seen: _sum(seen), 1030.0, 640.0
    ),
    "mean": Planted(
        "the mean amount of its events",
        f"mean C : {_AMOUNTS}",
        lambda seen: _of_any(np.mean, seen.amounts),
        50.0,
        13.5,
    ),
    "min": Planted(
        "the smallest amount of its events",
        f"min C : {_AMOUNTS}",
        lambda seen: _of_any(np.min, seen.amounts),
        20.0,
        22.0,
    ),
    "max": Planted(
        "the largest amount of its events",
        f"max C : {_AMOUNTS}",
        lambda seen: _of_any(np.max, seen.amounts),
        80.0,
        22.0,
    ),
    "spread": Planted(
        "the standard deviation of the amounts of its events",
        f"spread C : {_AMOUNTS}",
        lambda seen: _of_any(np.std, seen.amounts),
        16.5,
        8.0,
    ),
    "first": Planted(
        "the amount of its first event",
        f"first C : {_AMOUNTS}",
        lambda seen: _of_any(np.mean, seen.amounts[seen.ago == seen.ago.max(initial=0.0)]),
        50.0,
        23.0,
    ),
    "last": Planted(
        "the amount of its latest event",
        f"last C : {_AMOUNTS}",
        lambda seen: _of_any(np.mean, seen.amounts[seen.ago == seen.ago.min(initial=np.inf)]),
        50.0,
        23.0,
    ),
    "distinct": Planted(
        "the number of different sorts of its events",
        "distinct C : good(A) :- thing_id(B,A), sort(B,C).",
        lambda seen: float(len(set(seen.sorts.tolist()))),
        4.0,
        2.1,
    ),
    "own-number": Planted("its size", "value B : good(A) :- size(A,B).", lambda seen: seen.size, 10.0, 3.0),
    "window": Planted(
        "the number of its events in the last 90 days",
        "count : good(A) :- within 90 thing_id(B,A).",
        lambda seen: float((seen.ago <= 90.0).sum()),
        2.5,
        4.0,
    ),
    "last-5": Planted(
        "the mean amount of its last 5 events",
        "mean C : good(A) :- last 5 thing_id(B,A), amount(B,C).",
        lambda seen: _of_any(np.mean, seen.amounts[seen.ago <= seen.ago[-5:].max(initial=0.0)]),
        50.0,
        15.0,
    ),
    "since-first": Planted(
        "the time since its first event",
        "since first : good(A) :- thing_id(B,A).",
        lambda seen: _of_any(lambda ago: ago[0], seen.ago),
        570.0,
        270.0,
    ),
    "since-last": Planted(
        "the time since its latest event",
        "since last : good(A) :- thing_id(B,A).",
        lambda seen: _of_any(lambda ago: ago[-1], seen.ago),
        185.0,
        200.0,
    ),
    "month": Planted(
        "the month of the cut-off", "month : good(A) :- true.", lambda seen: float(seen.month), 6.5, 3.45
    ),
}
"""The features that can be planted, by name."""


def _of_any(of: Callable[[Floats], Any], values: Floats) -> float:
    """A number of the values of a thing's events; missing if it has none."""
    return float(of(values)) if len(values) else float("nan")


def _sum(seen: Seen) -> float:
    return _of_any(np.sum, seen.amounts)


@dataclass(frozen=True, eq=False)
class PlantedWorld:
    """The tables of a world with one planted feature, and the truth about its examples."""

    planted: Planted
    tables: Mapping[str, Columns]
    values: Floats
    """the planted feature of each example, in the order of the table of examples"""
    probabilities: Floats
    """the true probability of each example"""

    def write(self, folder: str | Path) -> None:
        """Write the tables as CSV files, with a schema.toml that says how they are read.

        The folder is made; one that has files already is refused.
        """
        place = Path(folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
            if any(place.iterdir()):
                raise DataError("has files already; name a new folder.", Place(str(folder)))
        except OSError as error:
            reason = error.strerror or str(error)
            raise DataError(f"cannot be made ({reason}); name another folder.", Place(str(folder))) from error
        for name, columns in self.tables.items():
            write_file(place / f"{name}.csv", _csv(columns))
        write_file(place / "schema.toml", _SCHEMA_TEXT)


_SCHEMA_TEXT = """\
[things]
key = "thing_id"

[events]
key = "event_id"
links = { thing_id = "things" }
time = "at"

[examples]
use = false
"""


def planted(feature: str, n_examples: int = 500, seed: int = 0) -> PlantedWorld:
    """A world whose labels depend on one feature; ``FEATURES`` has their names.

    Another seed gives other things and events with the same truth.

    >>> planted("mean", 200).planted.effect
    'mean C : good(A) :- thing_id(B,A), amount(B,C).'
    """
    if feature not in FEATURES:
        raise OptionError(f'no feature "{feature}". {did_you_mean(feature, FEATURES, "Features")}')
    check_limits("n_examples", n_examples, 1, 1_000_000)
    random = np.random.default_rng(seed)
    names = [f"t{number}" for number in range(n_examples)]
    cutoffs = random.integers(0, CUTOFF_DAYS, n_examples)
    sizes = random.normal(10.0, 3.0, n_examples).round(2)
    things: Columns = {"thing_id": names, "size": sizes.tolist()}
    things |= _noise(random, n_examples, "own")
    of_thing, events = _events(random, cutoffs)
    chosen = FEATURES[feature]
    values = np.array([chosen.value(each) for each in _seen(sizes, cutoffs, of_thing, events)])
    probabilities = sigmoid(np.array([chosen.score(value) for value in values.tolist()]))
    labels = random.random(n_examples) < probabilities
    days = [START + timedelta(days=day) for day in cutoffs.tolist()]
    tables: dict[str, Columns] = {
        "things": things,
        "events": {
            "event_id": [f"e{number}" for number in range(len(of_thing))],
            "thing_id": [names[thing] for thing in of_thing.tolist()],
            "at": [(START + timedelta(minutes=at)).isoformat() for at in events["at"].tolist()],
            "amount": events["amount"].tolist(),
            "sort": [SORTS[sort] for sort in events["sort"].tolist()],
            **_noise(random, len(of_thing), "event"),
        },
        "examples": {
            "thing_id": names,
            "cutoff": [day.date().isoformat() for day in days],
            "label": labels.astype(int).tolist(),
        },
    }
    return PlantedWorld(chosen, tables, values, probabilities)


def is_same_order(values: Floats, others: Floats) -> bool:
    """Whether two features say the same: each is a strictly monotone function of the other.

    They are missing for the same examples. Values that differ by rounding alone are equal.

    >>> is_same_order(np.array([1.0, 2.0, np.nan]), np.array([-3.0, -7.0, np.nan]))
    True
    """
    if not np.array_equal(np.isnan(values), np.isnan(others)):
        return False
    known = ~np.isnan(values)
    one, other = (np.unique(each[known].round(6), return_inverse=True)[1] for each in (values, others))
    return np.array_equal(one, other) or np.array_equal(one, other.max(initial=0) - other)


def _events(
    random: np.random.Generator, cutoffs: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], dict[str, npt.NDArray[Any]]]:
    """The thing, time in minutes, amount and sort of each event.

    Half of the things had no event for some time before the cut-off, and a few had none at all.
    """
    n = len(cutoffs)
    before = np.where(random.random(n) < 0.03, 0, random.integers(2, 41, n))
    after = random.poisson(3.0, n)
    pause = np.where(random.random(n) < 0.5, random.uniform(0.0, 600.0, n), 0.0)
    age = random.uniform(100.0, 800.0, n)
    mean, deviation = random.normal(50.0, 12.0, n), random.uniform(5.0, 30.0, n)
    liked = random.integers(1, len(SORTS) + 1, n)
    of_thing = np.concatenate([np.repeat(np.arange(n), before), np.repeat(np.arange(n), after)])
    is_past = np.arange(len(of_thing)) < before.sum()
    days = random.random(len(of_thing)) * np.where(is_past, -age[of_thing], 180.0)
    days -= np.where(is_past, pause[of_thing], 0.0)
    at = cutoffs[of_thing] * 1440 + np.floor(days * 1440.0).astype(np.int64)
    amount = (mean[of_thing] + deviation[of_thing] * random.normal(size=len(of_thing))).round(2)
    sort = (of_thing + random.integers(0, liked[of_thing])) % len(SORTS)
    order = random.permutation(len(of_thing))
    return of_thing[order], {"at": at[order], "amount": amount[order], "sort": sort[order]}


def _seen(
    sizes: Floats,
    cutoffs: npt.NDArray[np.int64],
    of_thing: npt.NDArray[np.int64],
    events: Mapping[str, npt.NDArray[Any]],
) -> list[Seen]:
    """What each example may see: the definition of a cut-off, apart from any engine."""
    places: list[list[int]] = [[] for _ in cutoffs]
    for place in np.argsort(events["at"], kind="stable").tolist():
        thing = of_thing[place]
        if events["at"][place] < cutoffs[thing] * 1440:
            places[thing].append(place)
    result = []
    for size, cutoff, each in zip(sizes.tolist(), cutoffs.tolist(), places, strict=True):
        ago = (cutoff * 1440 - events["at"][each]) / 1440
        month = (START + timedelta(days=cutoff)).month
        result.append(Seen(size, month, ago, events["amount"][each], events["sort"][each]))
    return result


def _noise(random: np.random.Generator, rows: int, prefix: str) -> Columns:
    """Columns that say nothing."""
    columns: Columns = {}
    for number in range(N_NOISE):
        if number % 2:
            columns[f"{prefix}_number{number}"] = random.normal(size=rows).round(2).tolist()
        else:
            columns[f"{prefix}_colour{number}"] = random.choice(COLOURS, rows).tolist()
    return columns


def _csv(columns: Mapping[str, Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
