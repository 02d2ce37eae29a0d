"""A small shop as tables, and the same tables in every kind of source."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pandas as pd
import polars as pl

from hornbeam.files import quoted

Rows = Mapping[str, Mapping[str, list[Any]]]


class Keys(NamedTuple):
    """Which column is the key of each table of things, and where the columns of link tables lead."""

    keys: Mapping[str, str]
    links: Mapping[str, Mapping[str, str]]

    def stated(self) -> dict[str, dict[str, object]]:
        """The same as a schema states it."""
        things: dict[str, dict[str, object]] = {table: {"key": key} for table, key in self.keys.items()}
        return things | {table: {"links": dict(links)} for table, links in self.links.items()}


SHOP_KEYS = Keys(
    {"users": "user_id", "movies": "movie_id"}, {"ratings": {"user_id": "users", "movie_id": "movies"}}
)


def shop(n_users: int = 60, n_movies: int = 25, seed: int = 0) -> dict[str, dict[str, list[Any]]]:
    """Users, movies and ratings: women watch romance; some values are missing, names are odd."""
    draw = np.random.default_rng(seed)
    genders = ["F" if draw.random() < 0.4 else "M" for _ in range(n_users)]
    romance = [bool(draw.random() < 0.4) for _ in range(n_movies)]
    users = {
        "user_id": [10 * number + 1 for number in range(n_users)],
        "gender": [None if draw.random() < 0.05 else gender for gender in genders],
        "job": [
            None if draw.random() < 0.1 else str(draw.choice(["nurse", "it's", "Élève"])) for _ in genders
        ],
        "age": [None if draw.random() < 0.1 else int(draw.integers(15, 70)) for _ in genders],
        "height": [round(float(draw.normal(170, 10)), 2) for _ in genders],
        "born": [date(1950 + int(draw.integers(50)), 1 + int(draw.integers(12)), 3) for _ in genders],
        "premium": [bool(draw.random() < 0.3) for _ in genders],
    }
    movies = {
        "movie_id": [f"m{number}" for number in range(n_movies)],
        "romance": romance,
        "length in min": [int(draw.integers(60, 200)) for _ in romance],
    }
    ratings: dict[str, list[Any]] = {"user_id": [], "movie_id": [], "stars": [], "rated_at": []}
    for user, gender in zip(users["user_id"], genders, strict=True):
        for movie, is_romance in zip(movies["movie_id"], romance, strict=True):
            if draw.random() < (0.6 if is_romance == (gender == "F") else 0.2):
                ratings["user_id"].append(user)
                ratings["movie_id"].append(movie)
                ratings["stars"].append(int(draw.integers(1, 6)))
                ratings["rated_at"].append(date(2020, 1, 1 + int(draw.integers(28))))
    return {"users": users, "movies": movies, "ratings": ratings}


def as_pandas(tables: Rows, folder: Path, keys: Keys = SHOP_KEYS) -> object:
    return {name: pd.DataFrame(columns) for name, columns in tables.items()}


def as_polars(tables: Rows, folder: Path, keys: Keys = SHOP_KEYS) -> object:
    return {name: pl.DataFrame(columns) for name, columns in tables.items()}


def as_arrow(tables: Rows, folder: Path, keys: Keys = SHOP_KEYS) -> object:
    return {name: pl.DataFrame(columns).to_arrow() for name, columns in tables.items()}


def as_csv(tables: Rows, folder: Path, keys: Keys = SHOP_KEYS) -> object:
    folder.mkdir(parents=True, exist_ok=True)
    for name, columns in tables.items():
        pl.DataFrame(columns).write_csv(folder / f"{name}.csv")
    return folder


def as_parquet(tables: Rows, folder: Path, keys: Keys = SHOP_KEYS) -> object:
    folder.mkdir(parents=True, exist_ok=True)
    for name, columns in tables.items():
        pl.DataFrame(columns).write_parquet(folder / f"{name}.parquet")
    return folder


_TYPES = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE PRECISION", str: "TEXT", date: "DATE"}


def create(
    tables: Rows,
    run: Callable[[str], object],
    insert: Callable[[str, list[Any]], object],
    mark: str,
    keys: Keys = SHOP_KEYS,
) -> None:
    """Tables in a database, with their keys as it states them."""
    for name in sorted(tables, key=lambda name: name in keys.links):
        columns = tables[name]
        parts = []
        for column, values in columns.items():
            kind = next(type(value) for value in values if value is not None)
            parts.append(f"{quoted(column)} {_TYPES[kind]}")
        if name in keys.links:
            parts.append(f"PRIMARY KEY ({', '.join(map(quoted, keys.links[name]))})")
            for column, other in keys.links[name].items():
                target = f"{quoted(other)} ({quoted(keys.keys[other])})"
                parts.append(f"FOREIGN KEY ({quoted(column)}) REFERENCES {target}")
        else:
            parts.append(f"PRIMARY KEY ({quoted(keys.keys[name])})")
        run(f"CREATE TABLE {quoted(name)} ({', '.join(parts)})")
        marks = ", ".join(mark if mark == "?" else f"{mark}{n + 1}" for n in range(len(columns)))
        for row in zip(*columns.values(), strict=True):
            insert(f"INSERT INTO {quoted(name)} VALUES ({marks})", list(row))


def as_duckdb(tables: Rows, folder: Path, keys: Keys = SHOP_KEYS) -> object:
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(str(folder / "shop.duckdb")) as made:
        create(tables, made.execute, made.execute, "?", keys)
    return folder / "shop.duckdb"


def as_sqlite(tables: Rows, folder: Path, keys: Keys = SHOP_KEYS) -> object:
    folder.mkdir(parents=True, exist_ok=True)
    made = sqlite3.connect(folder / "shop.sqlite")

    def plain(sql: str, row: list[Any]) -> object:
        return made.execute(sql, [value.isoformat() if isinstance(value, date) else value for value in row])

    create(tables, made.execute, plain, "?", keys)
    made.commit()
    made.close()
    return folder / "shop.sqlite"


SOURCES: dict[str, Callable[..., object]] = {
    "pandas": as_pandas,
    "polars": as_polars,
    "arrow": as_arrow,
    "csv": as_csv,
    "parquet": as_parquet,
    "duckdb": as_duckdb,
    "sqlite": as_sqlite,
}
"""All but PostgreSQL, which needs a server."""


# --- names and values that a careless program would take for something else --------------------

ODD_KEYS = Keys(
    {'my "users"': "from", "таблица": "sel'ect"}, {"order": {"it's": 'my "users"', "a.b=c": "таблица"}}
)


def oddly_named(number: int = 30, seed: int = 1) -> dict[str, dict[str, list[Any]]]:
    """Tables, columns and values with quotes, reserved words, spaces, signs of SQL and other alphabets."""
    draw = np.random.default_rng(seed)
    strange = [
        'Robert\'); DROP TABLE "order";--',
        '"quoted"',
        "a\\b",
        "back`tick",
        "two\nlines",
        "a,b;c|d\te",
    ]
    strange += [
        "NULL",
        "nan",
        " spaces ",
        "été",
        "名前",
        "🌲",
        "$1",
        "%s",
        "{x}",
        "?",
        ":name",
        "x' OR '1'='1",
    ]
    keys = [f"{strange[n % len(strange)]}#{n}" for n in range(number)]
    things = [f"вещь {n}" for n in range(12)]
    fond = [bool(draw.random() < 0.5) for _ in keys]
    wide = [bool(draw.random() < 0.5) for _ in things]
    users: dict[str, list[Any]] = {
        "from": keys,
        "naïve café": [None if draw.random() < 0.1 else str(draw.choice(strange)) for _ in keys],
        "x; DROP TABLE y; --": fond,
        "select": [int(draw.integers(9)) for _ in keys],
    }
    links: dict[str, list[Any]] = {"it's": [], "a.b=c": [], "100% 'sure'": []}
    for key, is_fond in zip(keys, fond, strict=True):
        for thing, is_wide in zip(things, wide, strict=True):
            if draw.random() < (0.7 if is_fond == is_wide else 0.2):
                links["it's"].append(key)
                links["a.b=c"].append(thing)
                links["100% 'sure'"].append(str(draw.choice(["yes'", 'no"'])))
    return {'my "users"': users, "таблица": {"sel'ect": things, "WHERE": wide}, "order": links}
