"""Examples from events: each thing at each cut-off, labelled by what follows in a window of time.

A label sees the rows at or after the cut-off and before the end of its window. Features see the rows before
the cut-off alone, so the two never share a row. Cut-offs whose window is not over in the data are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.numbers import Floats, read_times
from hornbeam.errors import DataError, OptionError, did_you_mean, plural
from hornbeam.loading.events.label import (
    COUNT,
    DAY,
    LEAST,
    MEAN,
    MOST,
    NONE,
    SOME,
    SUM,
    Label,
    read_label,
    read_length,
)
from hornbeam.loading.options import TableOptions
from hornbeam.loading.tables.columns.column import MISSING, Column, Domain, places_in
from hornbeam.loading.tables.database import read_relational
from hornbeam.loading.tables.roles import Plan
from hornbeam.loading.tables.to_logic import times_of_rows
from hornbeam.logic.clauses import format_value
from hornbeam.logic.schema import DATE, NUMBER, value_of

if TYPE_CHECKING:
    import pandas

MOST_CUTOFFS = 10_000
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EventExamples:
    """Things at cut-offs with their labels, in order of the cut-offs, then of the things."""

    key: str
    """the column of the keys"""
    things: str
    label: Label
    keys: tuple[str, ...]
    cutoffs: tuple[str, ...]
    labels: tuple[str, ...]
    notices: tuple[str, ...] = field(default=())

    @property
    def target(self) -> str:
        """What to learn from these examples: a new predicate of the things."""
        return f"{_word(self.label)}({self.things})"

    def __len__(self) -> int:
        return len(self.keys)

    def columns(self) -> dict[str, list[str]]:
        """The keys, the cut-offs and the labels."""
        return {self.key: [*self.keys], "cutoff": [*self.cutoffs], "label": [*self.labels]}

    def to_frame(self) -> pandas.DataFrame:
        """The examples as a data frame, which ``hb.load`` takes as ``examples``."""
        from hornbeam.drawing.frames import frame_of

        return frame_of(self.columns())

    def __repr__(self) -> str:
        different = len(set(self.cutoffs))
        number = plural(len(self), "example")
        return f"EventExamples({number} of {self.target} at {plural(different, 'cut-off')})"


def examples(
    source: Any,
    things: str,
    every: str,
    label: str,
    *,
    start: str | None = None,
    end: str | None = None,
    active: str | None = None,
    schema: object = None,
    allow_outside: bool = False,
) -> EventExamples:
    """Examples of things at regular cut-offs, with a label from the window after each.

    ``label`` is one of the forms ``no orders within 90d``, ``any orders within 30d``,
    ``count(orders) within 30d >= 3`` (without the comparison a number), ``sum(orders.amount) within 90d``
    (also mean, min, max), or ``customers.left within 90d`` with a date of the things. ``every`` is the time
    between cut-offs. The last cut-off is the one whose window ends with the data, or with ``end``; the first
    one is at ``start``, or a window after the first row. A thing is an example once it has a row before the
    cut-off; with ``active``, only if it has one in that time before it.
    """
    asked = read_label(label)
    relational = read_relational(source, TableOptions(schema=schema, allow_outside=allow_outside))
    plans = {plan.name: plan for plan in relational.plans}
    thing = _plan(things, plans)
    events = _Events.of(asked, thing, plans)
    window = read_length(asked.length, events.dated, "within")
    step = read_length(every, events.dated, "every")
    recent = None if active is None else read_length(active, events.dated, "active")
    first, last = _span(events, window, start, end)
    count = int((last - first) // step) + 1 if last >= first else 0
    if count > MOST_CUTOFFS:
        raise OptionError(f"every {every} gives {count:,} cut-offs; at most {MOST_CUTOFFS:,} are allowed.")
    if not count:
        raise DataError(
            f'no window of {asked.length} is over in the data of "{asked.table}"; choose a shorter one.'
        )
    # The last window ends with the data, so cut-offs are counted backwards.
    cutoffs = [last - step * place for place in reversed(range(count))]
    keys, shown, labels = [], [], []
    texts = thing.table.columns[str(thing.key)].texts
    order = thing.table.columns[str(thing.key)].codes
    for cutoff in cutoffs:
        rows, values = events.at(cutoff, window, recent)
        text = format_value(value_of(cutoff, DATE if events.dated else NUMBER))
        for row, value in zip(rows.tolist(), asked.of(values).tolist(), strict=True):
            keys.append(texts[order[row]])
            shown.append(str(text))
            labels.append(_label_text(value, asked))
    if not keys:
        raise DataError(f'no row of "{things}" has a row of "{asked.table}" before a cut-off.')
    return EventExamples(str(thing.key), thing.name, asked, tuple(keys), tuple(shown), tuple(labels))


def _label_text(value: float, asked: Label) -> str:
    if np.isnan(value):
        return ""
    return f"{value:.17g}" if asked.is_number else str(int(value))


def _word(label: Label) -> str:
    """A name for what is learned: ``no_orders``, ``count_orders``."""
    words = [label.column, "soon"] if label.is_date else [label.measure, label.table, label.column]
    return "_".join(filter(None, words)).lower()


def _plan(name: str, plans: Mapping[str, Plan]) -> Plan:
    """The table of a name; upper and lower case may differ."""
    found = {each.lower(): each for each in plans}.get(name.lower())
    if found is None:
        raise OptionError(f'no table "{name}". {did_you_mean(name, list(plans), "Tables")}')
    return plans[found]


def _span(events: _Events, window: float, start: str | None, end: str | None) -> tuple[float, float]:
    """The earliest and the latest cut-off that may be used."""
    known = events.times[np.isfinite(events.times)]
    if not len(known):
        raise DataError(f'no row of "{events.name}" has a time.')
    # The last day of the data may not be complete: windows end before it, unless the user says more.
    latest = (_time(end, "end") if end else float(known.max())) - window
    earliest = _time(start, "start") if start else float(known.min()) + window
    if events.dated and end is None:
        latest = np.floor(latest / DAY) * DAY
    return earliest, latest


def _time(text: str, what: str) -> float:
    try:
        (time,) = read_times([text])
    except DataError:
        time = np.nan
    if not np.isfinite(time):
        raise OptionError(f"{what} {text} is refused: it must be a date such as 2024-12-31, or a number.")
    return float(time)


@dataclass(frozen=True, eq=False)
class _Events:
    """The rows that labels are made of: the place of the thing of each row, its time, what is measured."""

    name: str
    n_things: int
    places: Places
    times: Floats
    values: Floats
    label: Label
    dated: bool

    @classmethod
    def of(cls, label: Label, thing: Plan, plans: Mapping[str, Plan]) -> _Events:
        if thing.key is None or thing.key not in thing.table.columns:
            raise OptionError(f'the rows of "{thing.name}" have no key, so they cannot be examples.')
        plan = _plan(label.table, plans)
        if label.is_date or (label.measure == SOME and plan.name == thing.name):
            return cls._of_date(label, thing)
        if plan.time is None:
            raise OptionError(
                f'table "{plan.name}" has no time; state it, such as time = "day" in schema.toml.'
            )
        links = [column for column, linked in plan.links.items() if linked == thing.name]
        if len(links) != 1:
            ways = f"by {plural(len(links), 'column')}" if links else "by no column"
            raise OptionError(f'"{plan.name}" links to "{thing.name}" {ways}; a label needs one that does.')
        time, link = plan.table.columns[plan.time], plan.table.columns[links[0]]
        values = np.ones(plan.table.size)
        if label.column is not None:
            values = _numbers(plan, label.column)
        places = _places(link, thing.table.columns[thing.key])
        return cls(plan.name, thing.table.size, places, times_of_rows(time), values, label, _dated(time))

    @classmethod
    def _of_date(cls, label: Label, thing: Plan) -> _Events:
        """Things have one date each; a thing is an example until then."""
        name = label.column or ""
        if label.table.lower() != thing.name.lower() or name not in thing.table.columns:
            raise OptionError(
                f'the label "{label.text}" is refused: name a date of "{thing.name}", or a table that links '
                "to it."
            )
        column = thing.table.columns[name]
        if not _dated(column):
            raise OptionError(f'column "{column.name}" of "{thing.name}" holds no dates.')
        rows = np.arange(thing.table.size)
        return cls(thing.name, thing.table.size, rows, times_of_rows(column), np.ones(len(rows)), label, True)

    def at(self, cutoff: float, window: float, recent: float | None) -> tuple[Places, Floats]:
        """The things that are examples at a cut-off, and what is measured in the window after it."""
        before = self.times < cutoff
        inside = (self.times >= cutoff) & (self.times < cutoff + window) & (self.places >= 0)
        if self.label.is_date:
            measured = np.zeros(self.n_things)
            measured[inside] = 1.0
            return np.flatnonzero(~before), measured[~before]
        if recent is not None:
            before &= self.times >= cutoff - recent
        there = np.zeros(self.n_things, dtype=bool)
        there[self.places[before & (self.places >= 0)]] = True
        rows = np.flatnonzero(there)
        return rows, self._measured(inside)[rows]

    def _measured(self, inside: npt.NDArray[np.bool_]) -> Floats:
        """The measure of each thing's rows in the window."""
        measure = self.label.measure
        if measure in (COUNT, NONE, SOME):
            return np.bincount(self.places[inside], minlength=self.n_things).astype(np.float64)
        inside = inside & ~np.isnan(self.values)
        places, values = self.places[inside], self.values[inside]
        number = np.bincount(places, minlength=self.n_things)
        total = np.bincount(places, weights=values, minlength=self.n_things).astype(np.float64)
        if measure == SUM:
            return total
        if measure == MEAN:
            return np.where(number > 0, total / np.maximum(number, 1), np.nan)
        result = np.full(self.n_things, np.inf if measure == LEAST else -np.inf)
        (np.minimum if measure == LEAST else np.maximum).at(result, places, values)
        assert measure in (LEAST, MOST)
        return np.where(number > 0, result, np.nan)


def _numbers(plan: Plan, name: str) -> Floats:
    column = plan.table.columns.get(name)
    if column is None:
        raise OptionError(f'table "{plan.name}" has no column "{name}". '
                          f"{did_you_mean(name, list(plan.table.columns), 'Columns')}")  # fmt: skip
    if column.domain is not Domain.NUMBER:
        raise OptionError(f'column "{name}" of "{plan.name}" holds no numbers.')
    return column.numbers()


def _places(link: Column, key: Column) -> Places:
    """For each row of a link the row of the thing with the key; -1 if there is none."""
    rows = np.full(key.n_values + 1, -1, dtype=np.int64)
    known = np.flatnonzero(key.codes != MISSING)
    rows[key.codes[known]] = known
    of_values = np.append(rows[np.append(places_in(link, key), MISSING)], -1)
    found: Places = of_values[link.codes]
    return found


def _dated(column: Column) -> bool:
    return column.domain in (Domain.DATE, Domain.MOMENT)


def summary(made: EventExamples) -> Sequence[str]:
    """How many examples and cut-offs there are, and the share or the mean of the labels, in a line."""
    numbers = np.array([float(text) for text in made.labels if text])
    said = f"{len(made):,} examples at {plural(len(set(made.cutoffs)), 'cut-off')}"
    said += f" from {made.cutoffs[0]} to {made.cutoffs[-1]}"
    if not len(numbers):
        return [f"{said}; no label is known."]
    mean = float(numbers.mean())
    return [f"{said}; {'mean' if made.label.is_number else 'share'} of the label {mean:.3g}."]
