"""Random tables, random effects over them, and the same tables in every kind of source."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import polars as pl

from oracle import Column, Example, Facts, Table

START = datetime(2021, 1, 1)
CATEGORIES = ("red", "it's", 'say "so"', "a.b", "Élan", "x; y", "back\\slash")
MOMENTS, ZONE = ("date", "time"), "Europe/Lisbon"
"""The roles of columns of moments, and the zone of those that have one; all others are in UTC."""
CUTOFF, ASKED = "cutoff", "asked for"
"""The role of a column of cut-offs, which have no zone, and the table of examples."""
DATE_KINDS = ("value", "mean", "min", "max", "first", "last")
"""Kinds of features that dates have, too, beside the time since them."""


class World(NamedTuple):
    """Tables, which of them are views, how they are stated, and examples of users."""

    tables: list[Table]
    views: frozenset[str]
    schema: dict[str, dict[str, Any]]
    examples: list[Example]
    timed: bool
    at_cutoff: str
    zoned: bool = False
    """whether the moments in the tables have a time zone"""

    @property
    def users(self) -> Table:
        return self.tables[0]


class _Draw:
    """What is drawn for one world."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.odd = draw.random() < 0.5
        self.hours = draw.random() < 0.5

    def name(self, plain: str) -> str:
        if not self.odd:
            return plain
        return self.draw.choice(
            [f"{plain}.x", f"the {plain}", f"{plain}'s", f'"{plain}"', f"{plain};--", plain]
        )

    def day(self, days: int = 300) -> datetime:
        return START + timedelta(days=self.draw.randrange(days), hours=self.draw.randrange(24) * self.hours)

    def sometimes(self, value: Any, chance: float = 0.9) -> Any:
        return value if self.draw.random() < chance else None

    def number(self) -> float:
        return round(self.draw.uniform(-5, 20), self.draw.choice([0, 1, 2]))

    def keys(self, letter: str, size: int) -> list[Any]:
        if self.draw.random() < 0.4:
            return [7 * n + 3 for n in range(size)]
        return [f"{letter}'{n}" if self.odd else f"{letter}{n}" for n in range(size)]


def random_world(draw: random.Random) -> World:
    made = _Draw(draw)
    users, shops, profiles = made.name("users"), made.name("shops"), made.name("profiles")
    uids, sids = made.keys("u", draw.randint(12, 30)), made.keys("s", draw.randint(3, 8))
    # Keys that no table has, but of the same kind.
    lost = [10**6 if isinstance(uids[0], int) else "lost", 10**6 if isinstance(sids[0], int) else "gone"]
    timed = draw.random() < 0.75
    tables = [
        _users(made, users, uids),
        _shops(made, shops, sids),
        _profiles(made, profiles, users, uids),
        _orders(made, (users, shops), (uids, sids), lost, timed),
        _likes(made, (users, shops), (uids, sids), lost, timed),
    ]
    views = frozenset(table.name for table in tables[1:] if draw.random() < 0.2)
    cut = draw.random() < 0.8
    keys = [draw.choice(uids) for _ in range(40)] if cut else list(uids)
    asked = {(str(key), made.sometimes(made.day(320)) if cut else None): None for key in keys}
    examples = [Example(*each) for each in asked]
    schema = {table.name: _stated(table) for table in tables}
    at_cutoff, zoned = draw.choice(["before", "include"]), draw.random() < 0.2
    return World(tables, views, schema, examples, cut, at_cutoff, zoned)


def with_examples(world: World) -> World:
    """The world with a table of the examples that a query is asked for."""
    users = world.users
    columns = [Column(users.columns[0].name, "key")]
    columns += [Column("cutoff", CUTOFF)] if world.timed else []
    own = {str(row[0]): row[0] for row in users.rows}
    rows = [(own[each.key], each.cutoff)[: len(columns)] for each in world.examples]
    return world._replace(tables=[*world.tables, Table(ASKED, columns, rows)])


def _users(made: _Draw, name: str, uids: list[Any]) -> Table:
    draw = made.draw
    columns = [
        ("uid", "key"),
        ("age", "number"),
        ("town", "category"),
        ("vip", "flag"),
        ("born", "date"),
        ("boss", "link"),
    ]
    rows = [
        (
            uid,
            made.sometimes(draw.randint(18, 60)),
            made.sometimes(draw.choice(CATEGORIES)),
            draw.random() < 0.5,
            made.sometimes(made.day()),
            made.sometimes(draw.choice(uids), 0.7),
        )
        for uid in uids
    ]
    return Table(
        name, [Column(made.name(each), role, name if role == "link" else "") for each, role in columns], rows
    )


def _shops(made: _Draw, name: str, sids: list[Any]) -> Table:
    columns = [
        Column(made.name("sid"), "key"),
        Column(made.name("size"), "number"),
        Column(made.name("style"), "category"),
    ]
    return Table(name, columns, [(sid, made.number(), made.draw.choice(CATEGORIES[:3])) for sid in sids])


def _profiles(made: _Draw, name: str, users: str, uids: list[Any]) -> Table:
    """One row at most for each user."""
    columns = [
        Column(made.name("pid"), "key"),
        Column(made.name("owner"), "link", users),
        Column(made.name("income"), "number"),
    ]
    some = [uid for uid in uids if made.draw.random() < 0.8]
    return Table(name, columns, [(f"p{n}", uid, made.number()) for n, uid in enumerate(some)])


def _orders(
    made: _Draw, others: tuple[str, str], keys: tuple[list[Any], list[Any]], lost: list[Any], timed: bool
) -> Table:
    draw = made.draw
    columns = [
        ("oid", "key", ""),
        ("who", "link", others[0]),
        ("place", "link", others[1]),
        ("amount", "number", ""),
    ]
    columns += [("kind", "category", ""), ("paid", "flag", ""), ("due", "date", "")]
    columns += [("at", "time", "")] if timed else []
    rows = []
    for number in range(draw.randint(30, 90)):
        row: list[Any] = [number]
        row += [
            draw.choice(each) if draw.random() < 0.93 else gone for each, gone in zip(keys, lost, strict=True)
        ]
        row += [made.sometimes(made.number()), made.sometimes(draw.choice(CATEGORIES)), draw.random() < 0.5]
        row += [made.sometimes(made.day())]
        rows.append((*row, made.sometimes(made.day(), 0.97)) if timed else tuple(row))
    return Table(
        made.name("orders"), [Column(made.name(name), role, other) for name, role, other in columns], rows
    )


def _likes(
    made: _Draw, others: tuple[str, str], keys: tuple[list[Any], list[Any]], lost: list[Any], timed: bool
) -> Table:
    draw = made.draw
    timed = timed and draw.random() < 0.5
    columns = [Column(made.name("fan"), "link", others[0]), Column(made.name("liked"), "link", others[1])]
    columns += [Column(made.name("score"), "number")]
    columns += [Column(made.name("since_when"), "time")] if timed else []
    pairs = [
        (one, other) for one in [*keys[0], lost[0]] for other in [*keys[1], lost[1]] if draw.random() < 0.25
    ]
    rows = [(*pair, made.sometimes(float(draw.randint(1, 5)))) for pair in pairs]
    if timed:
        rows = [(*row, made.day()) for row in rows]
    return Table(made.name("likes"), columns, rows)


def _stated(table: Table) -> dict[str, Any]:
    stated: dict[str, Any] = {
        "key": next((each.name for each in table.columns if each.role == "key"), False),
        "time": next((each.name for each in table.columns if each.role == "time"), False),
        "links": {each.name: each.other for each in table.columns if each.role == "link"},
        "roles": {each.name: each.role for each in table.columns if each.role not in ("key", "link", "time")},
    }
    if not stated["key"]:
        stated["arguments"] = list(stated["links"])
    return stated


# --- random models -----------------------------------------------------------------------------


def quoted(name: str) -> str:
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


class Bodies:
    """Random bodies over facts, as text."""

    def __init__(self, draw: random.Random, facts: Facts, users: str) -> None:
        self.draw, self.facts, self.users = draw, facts, users
        self.names: Iterator[str] = iter(())

    def _begin(self) -> tuple[dict[str, str], list[str]]:
        self.names = iter(
            f"{letter}{number}" for number in ("", "1") for letter in "BCDEFGHIJKLMNOPQRSTUVWXYZ"
        )
        return {"A": self.users}, []

    def body(self) -> tuple[str, dict[str, str]]:
        """A body, and the type of each variable that it binds."""
        types, steps = self._begin()
        for _ in range(self.draw.choice([1, 1, 2, 2, 3, 3, 4])):
            steps.append(self._step(types, bool(steps)))
        return ", ".join(steps), types

    def plain(self) -> str:
        """A body of atoms and comparisons, which clauses may have, too."""
        types, steps = self._begin()
        for _ in range(self.draw.choice([1, 2, 3])):
            steps.append(self._atom(types))
            numbers = self._of(types, "number")
            if numbers and self.draw.random() < 0.3:
                steps.append(self._comparison(self.draw.choice(numbers), types))
        return ", ".join(steps)

    def _step(self, types: dict[str, str], later: bool) -> str:
        kind, compared = self.draw.random(), self._of(types, "number", "date", "count")
        if later and kind < 0.15 and compared:
            return self._comparison(self.draw.choice(compared), types)
        named = self._of(types, "category")
        if later and kind < 0.25 and named:
            return f"{self.draw.choice(named)} = {quoted(self.draw.choice(CATEGORIES))}"
        numbers = self._of(types, "number")
        if later and kind < 0.3 and numbers:
            return self._same_number(self.draw.choice(numbers), types)
        if kind < 0.35:
            return f"not {self._atom(dict(types))}"
        if kind < 0.45:
            variable = next(self.names)
            text = f"{variable} = number of {self._atom({**types, variable: 'count'})}"
            types[variable] = "count"
            return text
        recent = ""
        if self.draw.random() < 0.25:
            recent = self.draw.choice(
                ["last 1 ", "last 2 ", "last 5 ", "within 30 ", "within 100 ", "within 100 last 3 "]
            )
        return recent + self._atom(types)

    def _of(self, types: dict[str, str], *roles: str) -> list[str]:
        return [each for each, name in types.items() if name.rpartition(":")[2] in roles]

    def _same_number(self, variable: str, types: dict[str, str]) -> str:
        """An equality with a number of the data, spelled in one of several ways."""
        known = [fact.args[-1] for fact in self.facts.of[types[variable].rpartition(":")[0]]] or [0.5]
        number = self.draw.choice(known)
        return f"{variable} = {quoted(self.draw.choice(['{:g}', '{:.3f}', '{:e}', '{!r}']).format(number))}"

    def _comparison(self, variable: str, types: dict[str, str]) -> str:
        role = types[variable].rpartition(":")[2]
        value = f"{self.draw.randint(-2, 40) / 2:g}" if role == "number" else str(self.draw.randint(0, 3))
        if role == "date":
            value = (START + timedelta(days=self.draw.randrange(300))).date().isoformat()
        return f"{variable} {self.draw.choice(['>=', '<'])} {value}"

    def _atom(self, types: dict[str, str]) -> str:
        """An atom that shares a variable with what is before it, or now and then none."""
        draw = self.draw
        joined = [name for name, of in self.facts.types.items() if {*of} & {*types.values()}]
        predicate = draw.choice(joined if draw.random() < 0.97 else sorted(self.facts.types))
        args: list[str] = []
        start = [n for n, each in enumerate(self.facts.types[predicate]) if each in types.values()]
        forced = draw.choice(start) if start and draw.random() < 0.97 else None
        for place, name in enumerate(self.facts.types[predicate]):
            known = [each for each, of in types.items() if of == name]
            if known and (place == forced or draw.random() < 0.1):
                args.append(draw.choice(known))
            elif name.endswith(":category") and draw.random() < 0.2:
                args.append(quoted(draw.choice(CATEGORIES)))
            else:
                variable = next(self.names)
                types[variable] = name
                args.append(variable)
        return f"{quoted(predicate)}({','.join(args)})"

    def feature(
        self, kind: str, needs_variable: bool, needs_dates: bool, numbers: bool, types: dict[str, str]
    ) -> str | None:
        """A feature of this kind of a body; None if no variable fits."""
        if not needs_variable:
            return kind
        roles = ["date"] if needs_dates else ["number", "count"] if numbers else [""]
        if numbers and kind in DATE_KINDS:
            roles.append("date")
        fitting = self._of(types, *roles) if roles != [""] else list(types)
        return f"{kind} {self.draw.choice(fitting)}" if fitting else None


# --- sources -----------------------------------------------------------------------------------

POLARS = {
    "number": pl.Float64,
    "flag": pl.Boolean,
    "date": pl.Datetime,
    "time": pl.Datetime,
    "category": pl.String,
}
SQL = {
    "number": "DOUBLE PRECISION",
    "flag": "BOOLEAN",
    "date": "TIMESTAMP",
    "time": "TIMESTAMP",
    "category": "TEXT",
    CUTOFF: "TIMESTAMP",
}


def frame(world: World, table: Table) -> pl.DataFrame:
    made = pl.DataFrame(
        {
            column.name: pl.Series([row[n] for row in table.rows], dtype=POLARS.get(column.role))
            for n, column in enumerate(table.columns)
        }
    )
    zoned = [each.name for each in table.columns if world.zoned and each.role in MOMENTS]
    return made.with_columns(
        pl.col(name).dt.replace_time_zone("UTC").dt.convert_time_zone(ZONE) for name in zoned
    )


def _kind_in_sql(world: World, table: Table, place: int) -> str:
    role = table.columns[place].role
    if world.zoned and role in MOMENTS:
        return "TIMESTAMP WITH TIME ZONE"
    whole = any(isinstance(row[place], int) for row in table.rows)
    return SQL.get(role, "BIGINT" if whole else "TEXT")


def name_in_sql(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def create(world: World, run: Callable[[str, list[Any]], object], mark: str = "?") -> None:
    """The tables in a database; a view reads a table beside it, which is not used."""
    for table in world.tables:
        kinds = [_kind_in_sql(world, table, n) for n in range(len(table.columns))]
        own = f"{table.name} stored" if table.name in world.views else table.name
        declared = ", ".join(
            f"{name_in_sql(c.name)} {kind}" for c, kind in zip(table.columns, kinds, strict=True)
        )
        run(f"CREATE TABLE {name_in_sql(own)} ({declared})", [])
        if table.rows:
            run(*_inserted(world, own, table, mark))
        if own != table.name:
            run(f"CREATE VIEW {name_in_sql(table.name)} AS SELECT * FROM {name_in_sql(own)}", [])


def _inserted(world: World, name: str, table: Table, mark: str) -> tuple[str, list[Any]]:
    """All rows in one statement, and the values of its parameters."""
    moments = [world.zoned and column.role in MOMENTS for column in table.columns]
    values = [
        cell.replace(tzinfo=UTC) if zoned and cell is not None else cell
        for row in table.rows
        for cell, zoned in zip(row, moments, strict=True)
    ]
    marks = iter([mark] * len(values) if mark == "?" else [f"{mark}{n + 1}" for n in range(len(values))])
    rows = ", ".join(f"({', '.join(next(marks) for _ in table.columns)})" for _ in table.rows)
    return f"INSERT INTO {name_in_sql(name)} VALUES {rows}", values


def plain(values: list[Any]) -> list[Any]:
    """Values as SQLite keeps them: moments as text."""
    return [str(each) if isinstance(each, datetime) else each for each in values]


def as_frames(world: World, folder: Path) -> object:
    return {table.name: frame(world, table) for table in world.tables}


def as_csv(world: World, folder: Path) -> object:
    for table in world.tables:
        frame(world, table).write_csv(folder / f"{table.name}.csv")
    return folder


def as_parquet(world: World, folder: Path) -> object:
    for table in world.tables:
        frame(world, table).write_parquet(folder / f"{table.name}.parquet")
    return folder


def as_duckdb(world: World, folder: Path) -> object:
    with duckdb.connect(str(folder / "world.duckdb")) as made:
        create(world, made.execute)
    return folder / "world.duckdb"


def as_sqlite(world: World, folder: Path) -> object:
    made = sqlite3.connect(folder / "world.sqlite")
    create(world, lambda sql, values: made.execute(sql, plain(values)))
    made.commit()
    made.close()
    return folder / "world.sqlite"


SOURCES: dict[str, Callable[[World, Path], object]] = {
    "frames": as_frames,
    "csv": as_csv,
    "parquet": as_parquet,
    "duckdb": as_duckdb,
    "sqlite": as_sqlite,
}


def schema_for(world: World, source: str) -> dict[str, dict[str, Any]]:
    """How the tables are stated; in a database, the tables behind views are left out."""
    if source not in ("duckdb", "sqlite", "postgres"):
        return world.schema
    unused = [f"{name} stored" for name in world.views] + [ASKED] * (source == "postgres")
    return world.schema | {name: {"use": False} for name in unused}
