"""A small shop as tables, and the same tables in every kind of source."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl

Rows = Mapping[str, Mapping[str, list[Any]]]


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


def as_pandas(tables: Rows, folder: Path) -> object:
    return {name: pd.DataFrame(columns) for name, columns in tables.items()}


def as_polars(tables: Rows, folder: Path) -> object:
    return {name: pl.DataFrame(columns) for name, columns in tables.items()}


def as_arrow(tables: Rows, folder: Path) -> object:
    return {name: pl.DataFrame(columns).to_arrow() for name, columns in tables.items()}


def as_csv(tables: Rows, folder: Path) -> object:
    folder.mkdir(parents=True, exist_ok=True)
    for name, columns in tables.items():
        pl.DataFrame(columns).write_csv(folder / f"{name}.csv")
    return folder


def as_parquet(tables: Rows, folder: Path) -> object:
    folder.mkdir(parents=True, exist_ok=True)
    for name, columns in tables.items():
        pl.DataFrame(columns).write_parquet(folder / f"{name}.parquet")
    return folder


_TYPES = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE PRECISION", str: "TEXT", date: "DATE"}


def create(
    tables: Rows, run: Callable[[str], object], insert: Callable[[str, list[Any]], object], mark: str
) -> None:
    """Tables with keys as a database states them; the first column is the key, unless links say otherwise."""
    for name in sorted(tables, key=lambda name: name == "ratings"):
        columns = tables[name]
        parts = []
        for column, values in columns.items():
            kind = next(type(value) for value in values if value is not None)
            parts.append(f'"{column}" {_TYPES[kind]}')
        if name == "ratings":
            parts.append('PRIMARY KEY ("user_id", "movie_id")')
            parts.append('FOREIGN KEY ("user_id") REFERENCES "users" ("user_id")')
            parts.append('FOREIGN KEY ("movie_id") REFERENCES "movies" ("movie_id")')
        else:
            parts.append(f'PRIMARY KEY ("{next(iter(columns))}")')
        run(f'CREATE TABLE "{name}" ({", ".join(parts)})')
        marks = ", ".join([mark] * len(columns))
        for row in zip(*columns.values(), strict=True):
            insert(f'INSERT INTO "{name}" VALUES ({marks})', list(row))


def as_duckdb(tables: Rows, folder: Path) -> object:
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(str(folder / "shop.duckdb")) as made:
        create(tables, made.execute, made.execute, "?")
    return folder / "shop.duckdb"


def as_sqlite(tables: Rows, folder: Path) -> object:
    folder.mkdir(parents=True, exist_ok=True)
    made = sqlite3.connect(folder / "shop.sqlite")

    def plain(sql: str, row: list[Any]) -> object:
        return made.execute(sql, [value.isoformat() if isinstance(value, date) else value for value in row])

    create(tables, made.execute, plain, "?")
    made.commit()
    made.close()
    return folder / "shop.sqlite"


SOURCES: dict[str, Callable[[Rows, Path], object]] = {
    "pandas": as_pandas,
    "polars": as_polars,
    "arrow": as_arrow,
    "csv": as_csv,
    "parquet": as_parquet,
    "duckdb": as_duckdb,
    "sqlite": as_sqlite,
}
"""All but PostgreSQL, which needs a server."""
