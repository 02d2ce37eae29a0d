"""Random worlds of tables whose rows have times, and the same worlds with another future.

``world(seed)`` draws a schema: customers, their events (some with two dates), one-to-one profiles, lines of
events that take over their times, shops that customers are linked to, with times or without, views of events,
and numeric times. Keys, links, roles and times are stated. ``with_another_future`` changes, adds and removes
what is at or after a time, and nothing else.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import hornbeam as hb
import servers
from hornbeam.model.files import save_model

Draw = np.random.Generator
START = datetime(2020, 1, 1)
DAYS = 60
"""Times are whole days from 0 to this."""
ATTRIBUTES = ("number", "few", "many", "flag", "date", "known")
TARGET = "churned(customers)"


@dataclass(frozen=True)
class Table:
    """The columns of a table, with times as days; ``day`` is the day of each row, NaN where it has none."""

    columns: Mapping[str, list[Any]]
    schema: Mapping[str, Any]
    day: tuple[float, ...] | None
    """None for a table without times"""
    dates: tuple[str, ...] = ()
    """columns of days that are missing until they come"""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


@dataclass(frozen=True)
class World:
    """Tables, examples with their cut-offs as days, and whether days are written as dates."""

    tables: Mapping[str, Table]
    examples: pd.DataFrame
    dated: bool

    @property
    def last(self) -> int:
        return int(self.examples.cutoff.max())

    def frames(self) -> dict[str, pd.DataFrame]:
        return {name: self._frame(table) for name, table in self.tables.items()}

    def _frame(self, table: Table) -> pd.DataFrame:
        frame = pd.DataFrame(dict(table.columns))
        for name, values in table.columns.items():
            if name in ("at", *table.dates) or name.endswith("_known"):
                frame[name] = [self.written(value) for value in values]
                if self.dated:
                    frame[name] = pd.to_datetime(frame[name]).astype("datetime64[us]")
                else:
                    frame[name] = frame[name].astype("float64")
        return frame

    def written(self, day: float | None) -> Any:
        """A day as users write it: a moment, or a number."""
        if day is None or day != day:
            return None
        return START + timedelta(days=float(day)) if self.dated else float(day)

    def loaded(self, source: Any = None, engine: str | None = None) -> hb.Database:
        """The world as a database, loaded, or in place where an engine finds its tables."""
        examples = self.examples.assign(cutoff=[self.written(day) for day in self.examples.cutoff])
        schema = {name: dict(table.schema) for name, table in self.tables.items()}
        source = self.frames() if source is None else source
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return hb.load(source, target=TARGET, examples=examples, schema=schema, engine=engine)

    @contextmanager
    def in_place(self, engine: str) -> Iterator[hb.Database]:
        """The world in Parquet files, or in the tables of a PostgreSQL server."""
        with tempfile.TemporaryDirectory() as folder:
            source: Any = folder
            if engine == "postgres":
                source = _on_server(self.frames())
            else:
                for name, frame in self.frames().items():
                    frame.to_parquet(Path(folder) / f"{name}.parquet")
            with self.loaded(source, engine) as database:
                yield database


def _on_server(frames: Mapping[str, pd.DataFrame]) -> str:
    """The connection string of a server that holds these tables and no others."""
    import psycopg

    server = servers.postgres()
    with psycopg.connect(server, autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = 'futures'").fetchall():
            connection.execute("CREATE DATABASE futures")
    server += " dbname=futures"
    kinds = {"f": "double precision", "i": "bigint", "b": "boolean", "M": "timestamp"}
    with psycopg.connect(server) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
        for name, frame in frames.items():
            types = (f'"{each}" {kinds.get(frame[each].dtype.kind, "text")}' for each in frame)
            connection.execute(f"CREATE TABLE {name} ({', '.join(types)})".encode())
            rows = frame.astype(object).where(frame.notna(), None).itertuples(index=False)
            with connection.cursor().copy(f"COPY {name} FROM STDIN".encode()) as copy:
                for row in rows:
                    copy.write_row(row)
    return server


def world(seed: int) -> World:
    """A random world."""
    draw = np.random.default_rng(seed)
    dated = bool(draw.random() < 0.8)
    n = int(draw.integers(24, 50))
    keys = [f"c{number}" for number in range(n)]
    tables = {"customers": _things(draw, dated, "customers", keys, {}, draw.random() < 0.3)}
    links = {"customer": ("customers", keys)}
    if draw.random() < 0.6:
        shops = [f"s{number}" for number in range(int(draw.integers(3, 9)))]
        tables["shops"] = _things(draw, dated, "shops", shops, {}, False)
        links["shop"] = ("shops", shops)
    events = _rows(draw, dated, "events", links, int(n * draw.uniform(1, 5)), two_dates=draw.random() < 0.5)
    tables["events"] = events
    if draw.random() < 0.5:
        tables["lines"] = _lines(draw, dated, events, links)
    if draw.random() < 0.5:
        some = [key for key in keys if draw.random() < 0.8]
        tables["profiles"] = _things(draw, dated, "profiles", some, {"profiles_key": "customers"}, True)
    if "shop" in links and draw.random() < 0.6:
        tables["joined"] = _pairs(draw, dated, links, draw.random() < 0.6)
    if draw.random() < 0.3:
        tables["view"] = replace(events, schema={**events.schema, "unused": []})
    cutoffs = draw.integers(DAYS // 4, 3 * DAYS // 4, int(draw.integers(1, 6)))
    examples = pd.DataFrame({"customer": draw.permutation(keys), "cutoff": draw.choice(cutoffs, n)})
    examples["label"] = (draw.random(n) < 0.5).astype(int)
    return World(tables, examples, dated)


def _attributes(draw: Draw, dated: bool, name: str, size: int) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """Random columns of a table, some with missing cells, and their roles."""
    columns: dict[str, list[Any]] = {}
    roles: dict[str, str] = {}
    for kind in ATTRIBUTES:
        if draw.random() < 0.45 and (dated or kind not in ("date", "known")):
            column = f"{name}_{kind}"
            values = _values(draw, kind, size)
            missing = draw.random(size) < (0.2 if draw.random() < 0.5 else 0.0)
            columns[column] = [None if gone else each for gone, each in zip(missing, values, strict=True)]
            roles[column] = {"few": "category", "many": "category", "known": "date"}.get(kind, kind)
            if kind == "flag":
                columns[column] = values
    return columns, roles


def _values(draw: Draw, kind: str, size: int) -> list[Any]:
    if kind == "number":
        return [round(each, 1) for each in draw.normal(0, 5, size).tolist()]
    if kind == "flag":
        return (draw.random(size) < 0.5).tolist()
    if kind in ("date", "known"):
        return draw.integers(0, DAYS, size).tolist()
    names = "abc" if kind == "few" else [f"w{number}" for number in range(60)]
    return draw.choice(list(names), size).tolist()


def _schema(roles: Mapping[str, str], **more: Any) -> dict[str, Any]:
    known = [name for name in roles if name.endswith("_known")]
    return {"roles": dict(roles), **({"known": known} if known else {}), **more}


def _things(
    draw: Draw, dated: bool, name: str, keys: list[str], links: Mapping[str, str], timed: bool
) -> Table:
    columns, roles = _attributes(draw, dated, name, len(keys))
    dates = tuple(each for each in columns if each.endswith("_date"))
    days = tuple(draw.integers(0, DAYS, len(keys)).astype(float).tolist()) if timed else None
    columns = {f"{name}_key": keys, **columns, **({"at": list(days)} if days else {})}
    time: Any = "at" if timed else False
    return Table(columns, _schema(roles, key=f"{name}_key", links=dict(links), time=time), days, dates)


def _rows(
    draw: Draw, dated: bool, name: str, links: Mapping[str, tuple[str, list[str]]], size: int, two_dates: bool
) -> Table:
    columns, roles = _attributes(draw, dated, name, size)
    if two_dates and dated:
        columns[f"{name}_date"], roles[f"{name}_date"] = draw.integers(0, 2 * DAYS, size).tolist(), "date"
    dates = tuple(each for each in columns if each.endswith("_date"))
    days = tuple(draw.integers(0, DAYS, size).astype(float).tolist())
    linked = {link: draw.choice(keys, size).tolist() for link, (_, keys) in links.items()}
    named = {f"{name}_key": [f"{name[0]}{number}" for number in range(size)], **linked}
    to = {link: table for link, (table, _) in links.items()}
    columns = {**named, **columns, "at": list(days)}
    return Table(columns, _schema(roles, key=f"{name}_key", links=to, time="at"), days, dates)


def _lines(draw: Draw, dated: bool, events: Table, links: Mapping[str, tuple[str, list[str]]]) -> Table:
    """Rows that take over the times of events; some are linked to a customer too."""
    size = int(len(events) * draw.uniform(0.5, 2))
    of = draw.integers(0, len(events), size)
    columns, roles = _attributes(draw, dated, "lines", size)
    dates = tuple(each for each in columns if each.endswith("_date"))
    to = {"event": "events"}
    linked = {"event": [events.columns["events_key"][place] for place in of.tolist()]}
    if draw.random() < 0.5:
        linked["customer"], to["customer"] = draw.choice(links["customer"][1], size).tolist(), "customers"
    assert events.day is not None
    days = tuple(events.day[place] for place in of.tolist())
    columns = {"lines_key": [f"l{number}" for number in range(size)], **linked, **columns}
    return Table(columns, _schema(roles, key="lines_key", links=to, time_of=["event"]), days, dates)


def _pairs(draw: Draw, dated: bool, links: Mapping[str, tuple[str, list[str]]], timed: bool) -> Table:
    """Links of customers and shops, each pair once."""
    pairs = [(c, s) for c in links["customer"][1] for s in links["shop"][1] if draw.random() < 0.25]
    pairs = pairs or [(links["customer"][1][0], links["shop"][1][0])]
    columns, roles = _attributes(draw, dated, "joined", len(pairs))
    dates = tuple(each for each in columns if each.endswith("_date"))
    days = tuple(draw.integers(0, DAYS, len(pairs)).astype(float).tolist()) if timed else None
    columns = {"customer": [c for c, _ in pairs], "shop": [s for _, s in pairs], **columns}
    columns |= {"at": list(days)} if days else {}
    to = {"customer": "customers", "shop": "shops"}
    schema = _schema(roles, key=False, links=to, rows=False, time="at" if timed else False)
    return Table(columns, schema, days, dates)


# --- another future ---------------------------------------------------------------------------


def with_another_future(given: World, day: int, seed: int) -> World:
    """The same world up to a day, with other facts from that day on."""
    draw = np.random.default_rng(seed)
    gone = {
        key
        for key, at in zip(
            given.tables["events"].columns["events_key"], _days(given.tables["events"]), strict=True
        )
        if at >= day and draw.random() < 0.4
    }
    tables = {name: _changed(draw, name, table, day, gone) for name, table in given.tables.items()}
    if "view" in tables:
        tables["view"] = replace(tables["view"], columns=tables["events"].columns, day=tables["events"].day)
    return replace(given, tables=tables)


def _days(table: Table) -> tuple[float, ...]:
    return table.day if table.day is not None else (-1.0,) * len(table)


def _changed(draw: Draw, name: str, table: Table, day: int, gone: set[str]) -> Table:
    columns = {column: list(values) for column, values in table.columns.items()}
    days = list(_days(table))
    for column in table.dates:
        for row, value in enumerate(columns[column]):
            if value is not None and value >= day and draw.random() < 0.5:
                columns[column][row] = None if draw.random() < 0.3 else int(draw.integers(day, 3 * DAYS))
    if table.day is None:
        return replace(table, columns=columns)
    fixed = {f"{name}_key", "customer", "shop", "event", "profiles_key", "at", *table.dates}
    for row, at in enumerate(days):
        if at < day:
            continue
        for column, values in table.columns.items():
            if column not in fixed and draw.random() < 0.6:
                kind = column.rpartition("_")[2]
                columns[column][row] = _new(draw, kind, values)
        if "at" in columns and name != "events":
            columns["at"][row] = days[row] = float(draw.integers(day, DAYS + 9))
    keep = [row for row, at in enumerate(days) if not _is_gone(draw, name, columns, row, at >= day, gone)]
    columns = {column: [values[row] for row in keep] for column, values in columns.items()}
    days = [days[row] for row in keep]
    if name == "events":
        _add_events(draw, columns, days, day)
    order = _shuffled(draw, days, day)
    columns = {column: [values[row] for row in order] for column, values in columns.items()}
    return replace(table, columns=columns, day=tuple(days[row] for row in order))


def _new(draw: Draw, kind: str, values: list[Any]) -> Any:
    """Another value, perhaps a missing or an unheard-of one."""
    if kind == "flag":
        return bool(draw.random() < 0.5)
    if draw.random() < 0.3:
        return None
    if kind in ("few", "many"):
        return f"new{draw.integers(0, 80)}"
    return 1000.0 * float(draw.normal()) if kind == "number" else int(draw.integers(0, 3 * DAYS))


def _is_gone(
    draw: Draw, name: str, columns: Mapping[str, list[Any]], row: int, late: bool, gone: set[str]
) -> bool:
    if name in ("events", "view"):
        return columns["events_key"][row] in gone
    if name == "lines" and columns["event"][row] in gone:
        return True
    return late and name != "customers" and bool(draw.random() < 0.3)


def _add_events(draw: Draw, columns: dict[str, list[Any]], days: list[float], day: int) -> None:
    """More events at or after a day: second visits of everybody, with new values."""
    size = len(days)
    for number in range(int(draw.integers(0, 30)) if size else 0):
        like = int(draw.integers(0, size))
        for column, values in columns.items():
            values.append(values[like])
            if column.endswith("_date"):
                values[-1] = int(draw.integers(day, 3 * DAYS))
            elif column not in ("customer", "shop", "at") and not column.endswith("_key"):
                values[-1] = _new(draw, column.rpartition("_")[2], values)
        columns["events_key"][-1] = f"later{number}"
        columns["at"][-1] = float(draw.integers(day, DAYS + 9))
        days.append(columns["at"][-1])


def _shuffled(draw: Draw, days: list[float], day: int) -> list[int]:
    """The rows with the late ones in other places; the others keep their order."""
    early = [row for row, at in enumerate(days) if at < day]
    for row in draw.permutation([row for row, at in enumerate(days) if at >= day]).tolist():
        early.insert(int(draw.integers(0, len(early) + 1)), row)
    return early


# --- what is compared -------------------------------------------------------------------------

LEARNERS: Mapping[str, Mapping[str, Any]] = {
    "default": {"n_bags": 1, "n_steps": 8, "validate": False, "min_support": 2, "n_thresholds": 3},
    "two conditions": {
        "n_bags": 2, "n_steps": 12, "validate": False, "min_support": 3, "learning_rate": 0.5,
        "n_thresholds": 3,
    },
    "judged": {"n_bags": 2, "n_steps": 6, "min_support": 2, "max_links": 1},
    "paper": {"preset": "paper", "n_steps": 2, "l2": 1.0, "max_literals": 2},
    "paper with negation": {
        "preset": "paper", "n_steps": 2, "l2": 1.0, "max_literals": 2, "negation": True,
    },
}  # fmt: skip


def fitted(database: hb.Database, learner: str) -> hb.RLRClassifier:
    keys, labels = database.examples()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hb.RLRClassifier(database=database, **LEARNERS[learner]).fit(keys, labels)


def model_bytes(model: hb.RLRClassifier) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        save_model(model.model_, path)
        return path.read_bytes()


def law_holds(seed: int, learner: str = "default", engine: str | None = None) -> list[str]:
    """What breaks the law of the future in one random world; nothing, if it holds.

    Models are learned in memory; with duckdb or postgres, from the other future in place there, too. With
    naive, predictions are made by the definition of features, too.
    """
    one = world(seed)
    other = with_another_future(one, one.last, seed + 1)
    faults = []
    first = one.loaded()
    model = fitted(first, learner)
    learned = model_bytes(model)
    if model_bytes(fitted(other.loaded(), learner)) != learned:
        faults.append("another model")
    if engine in ("duckdb", "postgres"):
        with other.in_place(engine) as placed:
            if model_bytes(fitted(placed, learner)) != learned:
                faults.append(f"another model in place in {engine}")
    if not LEARNERS[learner].get("negation"):
        # In a clause, what is not there is counted among all constants of the data at hand.
        faults += _predicted_otherwise(one, model, first, seed)
        if engine == "naive":
            faults += _predicted_otherwise(one, model.set_params(engine="naive"), first, seed)
    return faults


def _predicted_otherwise(one: World, model: hb.RLRClassifier, first: hb.Database, seed: int) -> list[str]:
    """Whether an example's prediction depends on what is at or after its own cut-off."""
    faults = []
    keys = first.examples()[0]
    own = model.predict_proba(keys, database=first)[:, 1]
    for cutoff in sorted(set(one.examples.cutoff.tolist()))[:2]:
        third = with_another_future(one, cutoff, seed + 2).loaded()
        rows = np.flatnonzero(keys[:, -1] == _cutoff_texts(first, one, cutoff))
        again = model.predict_proba(keys[rows], database=third)[:, 1]
        if not np.array_equal(again, own[rows]):
            faults.append(f"another prediction at {cutoff} by {model.engine}")
    return faults


def _cutoff_texts(database: hb.Database, one: World, cutoff: int) -> str:
    value = one.written(cutoff)
    number = (value - datetime(1970, 1, 1)) / timedelta(microseconds=1) if one.dated else value
    return database.cutoff_texts(np.array([number]))[0]
