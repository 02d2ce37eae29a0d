"""Cells of text files: Python and SQL read them alike, so a loaded file equals a file in place."""

from __future__ import annotations

import csv
import tempfile
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlglot import exp

import hornbeam as hb
from hornbeam.data.database import Database
from hornbeam.engines.sql.expressions import aliased, numeric
from hornbeam.errors import HornbeamError
from hornbeam.in_place.source import as_text
from hornbeam.loading.tables.columns.cells import KINDS, CellKind, beside_words, reads, stands_for_nothing
from hornbeam.loading.tables.sources.duckdb import connection
from hornbeam.loading.tables.sources.text_rows import columns_of_cells, read_by_duckdb
from hornbeam.logic.schema import DATE, read_value
from hornbeam.model.files import model_text
from strategies import CASES

WHOLE = st.one_of(
    st.integers(-3, 12),
    st.integers(2**53 - 3, 2**53 + 3),
    st.integers(2**63 - 2, 2**63 + 2),
    st.integers(1234567890123456789, 1234567890123456795),
    st.just(10**30),
).map(str)
REAL = st.one_of(
    st.sampled_from(
        ["0.5", "-0.0", "-0", "2.0", "1e3", "1E-400", "1e400", "9007199254740993.0", "1.", ".5", "00"]
    ),
    st.floats(allow_nan=False).map(repr),
)
ODD = st.sampled_from(
    ["NaN", "nan", "tRue", "FALSE", "false", "yes", "?", "n/a", "01234", "+1", " 1", "it's"]
)
DAYS = st.sampled_from(
    ["2024-12-02", "2024-13-02", "2023-02-29", "0000-01-01", "0001-01-01", "9999-12-31", "2024-1-1"]
)
CLOCKS = st.sampled_from(
    ["10:00:00", "00:00", "99:00", "24:00:00", "23:59:59.123456", "10:00:60", "02:30", "7"]
)
OFFSETS = st.sampled_from(["", "", "Z", "z", "+02", "+0230", "-02:30", "+24:00", " Z"])
MOMENTS = st.tuples(DAYS, st.sampled_from("T "), CLOCKS, OFFSETS).map("".join)
WORDS = st.sampled_from(["NA", "NA", "na", "N/A", "-", "?", "NULL", "null", "<NA>", ".", "none"])
CODES = st.sampled_from(["DE", "NA", "US", "low"])
FAMILIES = (WHOLE, REAL, ODD, DAYS, MOMENTS, CODES, st.text("01-:.eTZaN \n\"',", max_size=6))
CELLS = st.one_of(*FAMILIES)


# --- one cell --------------------------------------------------------------------------------


@cache
def duck() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def in_sql(template: str, word: str) -> Any:
    return duck().execute(f"SELECT {template.format('x')} FROM (SELECT ? AS x)", [word]).fetchall()[0][0]


def same(kind: CellKind, word: str) -> bool:
    """Whether Python and SQL give the same value of a cell."""
    value, other = kind.read(word), in_sql(kind.value, word)
    if isinstance(value, np.datetime64):
        moment = np.datetime64(other, "us")
        return bool(value == moment)
    return (other is None and value != value) or (value == other and isinstance(other, bool | int | float))


@given(CELLS)
@settings(max_examples=max(CASES // 8, 1))
def test_python_and_sql_read_a_cell_alike(word: str) -> None:
    for kind in (*KINDS, *map(beside_words, KINDS)):
        if kind.nothing and stands_for_nothing(word):
            assert in_sql(kind.condition, word) is None and in_sql(kind.value, word) is None
            continue
        assert in_sql(kind.condition, word) == reads(kind.read, word)
        assert not reads(kind.read, word) or same(kind, word)


def test_a_missing_cell_is_of_no_kind() -> None:
    for kind in (*KINDS, *map(beside_words, KINDS)):
        query = f"SELECT {kind.condition.format('x')} FROM (SELECT NULL::VARCHAR AS x)"
        assert duck().execute(query).fetchall() == [(None,)]


# --- one column, read by Python or by DuckDB ---------------------------------------------------


@given(
    st.lists(st.sampled_from(FAMILIES), min_size=1, max_size=3).flatmap(
        lambda families: st.tuples(
            *(
                st.lists(st.one_of(family, family, WORDS, st.just("")), min_size=4, max_size=4)
                for family in families
            )
        )
    )
)
def test_small_files_read_by_python_equal_large_ones_read_by_duckdb(cells: tuple[list[str], ...]) -> None:
    names = [f"column {number}" for number in range(len(cells))]
    with connection() as own:
        types = ", ".join(f"c{number} VARCHAR" for number in range(len(cells)))
        own.execute(f"CREATE TABLE rows ({types})")
        rows = [tuple(cell or None for cell in row) for row in zip(*cells, strict=True)]
        own.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(cells))})", rows)
        by_duckdb, told = read_by_duckdb(own, dict(enumerate(names)))
    by_python, also_told = columns_of_cells(rows, names)
    assert told == also_told
    for name in names:
        one, other = by_python[name], by_duckdb[name]
        assert (one.name, one.domain, one.values.dtype) == (other.name, other.domain, other.values.dtype)
        assert (list(one.texts), one.codes.tolist()) == (list(other.texts), other.codes.tolist())
        assert one.exact_below == other.exact_below


# --- whole files -----------------------------------------------------------------------------


@st.composite
def columns(draw: st.DrawFn, size: int) -> list[str]:
    """A column of cells, most often all of one family, so that it may be numbers or dates."""
    family = draw(st.sampled_from(FAMILIES))
    few = draw(
        st.lists(st.one_of(family, family, family, family, WORDS, CELLS, st.just("")), min_size=1, max_size=3)
    )
    return [few[draw(st.integers(0, len(few) - 1))] for _ in range(size)]


USERS, ORDERS = 8, 12


@given(columns(USERS), columns(USERS), columns(ORDERS), st.booleans())
@settings(max_examples=25, deadline=None)
@example(["2024-01-01T10:00:00Z", "NaN"] * 4, ["1234567890123456789", "NaN"] * 4, ["tRue", "false"] * 6, True)
@example(
    ["2024-13-02", "2024-12-02"] * 4, ["99:00", "10:00"] * 4, ["2024-01-02T00:00Z", "2024-01-01"] * 6, True
)
@example(["2.0", "1"] * 4, ["1.0", "0"] * 4, ["9007199254740993", "0.5"] * 6, False)
def test_a_loaded_file_equals_a_file_in_place(
    first: Sequence[str], second: Sequence[str], third: Sequence[str], stated: bool
) -> None:
    schema = (
        {"users": {"key": "id"}, "orders": {"key": "id", "links": {"user_id": "users"}}} if stated else None
    )
    users = [(number, number % 3 % 2, *cells) for number, cells in enumerate(zip(first, second, strict=True))]
    orders = [(100 + number, number % USERS, cell) for number, cell in enumerate(third)]
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder) / "users.csv", [("id", "y", "a", "b"), *users])
        _write(Path(folder) / "orders.csv", [("id", "user_id", "c"), *orders])
        results = [_result(folder, schema if stated else None, engine) for engine in (None, "duckdb")]
    assert results[0] == results[1]


FLOATS = st.one_of(
    st.integers(-2, 3).map(float),
    st.sampled_from([0.1, 0.5, np.nan, 2.0**24, 2.0**24 - 1, 2.0**53, 2.0**53 - 1, 1e18, -0.0, np.inf]),
)
WHOLES = st.one_of(st.integers(0, 3), st.sampled_from([2**53, 2**53 + 1, 2**63 - 1, 2**63]))
DECIMALS = st.sampled_from(["0.0", "1.0", "2.5", "9007199254740993.0", "123456789012345678.9"]).map(Decimal)
TYPES = {
    "DOUBLE": FLOATS,
    "FLOAT": FLOATS,
    "DECIMAL(20,1)": DECIMALS,
    "DECIMAL(38,0)": WHOLES,
    "HUGEINT": WHOLES,
    "UBIGINT": WHOLES,
}


@st.composite
def numbers(draw: st.DrawFn, size: int) -> tuple[str, list[Any]]:
    """A type of DuckDB, and a column of its values."""
    type_name = draw(st.sampled_from(sorted(TYPES)))
    few = draw(st.lists(st.one_of(TYPES[type_name], TYPES[type_name], st.none()), min_size=1, max_size=3))
    return type_name, [few[draw(st.integers(0, len(few) - 1))] for _ in range(size)]


@given(numbers(USERS), numbers(USERS), st.sampled_from(["DOUBLE", "DECIMAL(9,1)", "HUGEINT"]), st.booleans())
@settings(max_examples=20, deadline=None)
@example(("DOUBLE", [0.0, 1.0] * 4), ("FLOAT", [0.1, np.nan] * 4), "DOUBLE", False)
def test_loaded_numbers_of_any_type_equal_those_in_place(
    first: tuple[str, list[Any]], second: tuple[str, list[Any]], key_type: str, parquet: bool
) -> None:
    schema = {"users": {"key": "id"}, "orders": {"key": "id", "links": {"user_id": "users"}}}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shop.duckdb"
        with duckdb.connect(str(path)) as own:
            own.execute(f"CREATE TABLE users (id {key_type}, y INTEGER, a {first[0]}, b {second[0]})")
            rows = [(n, n % 3 % 2, a, b) for n, (a, b) in enumerate(zip(first[1], second[1], strict=True))]
            own.executemany("INSERT INTO users VALUES (?, ?, ?, ?)", rows)
            own.execute(
                "CREATE TABLE orders AS SELECT i AS id, CAST(i % 8 AS DOUBLE) AS user_id FROM range(9) t(i)"
            )
            if parquet:
                for table in schema:
                    own.execute(f"COPY {table} TO '{folder}/{table}.parquet'")
        if parquet:
            path.unlink()
        source = folder if parquet else str(path)
        results = [_result(source, schema, engine) for engine in (None, "duckdb")]
    if isinstance(results[0], str):
        # Both refuse infinity; their sentences differ in the name of the table.
        assert "holds infinity" in results[0] and "holds infinity" in str(results[1])
    else:
        assert results[0] == results[1]


def _write(path: Path, rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def _result(folder: str, schema: object, engine: str | None) -> object:
    """The logic, the facts and the model of a folder, or the error of one that is refused."""
    try:
        with hb.load(folder, target="users.y", schema=schema, engine=engine) as database:
            learner = hb.RLRClassifier(database, preset="paper", n_steps=2, max_literals=1)
            model = learner.fit(*database.examples()).model_
            facts = {name: _facts(database, name) for name in sorted(database.schema.predicates)}
            sizes = {name: len(each) for name, each in database.populations.items()}
            return database.schema, database.modes, database.origin, sizes, facts, model_text(model)
    except HornbeamError as error:
        return str(error)


def _facts(database: Database, predicate: str) -> Counter[tuple[object, ...]]:
    """The facts of a predicate, numbers and dates by value."""
    types = database.schema.types_of(predicate)
    kinds = [database.schema.numeric.get(type_name) for type_name in types]
    if not database.has_facts(predicate):
        return Counter()
    if database.tables is None:
        codes = database.relation(predicate).columns
        named = [database.population(name).decode(column) for name, column in zip(types, codes, strict=True)]
        valued = [
            names if kind is None else [read_value(name) for name in names]
            for names, kind in zip(named, kinds, strict=True)
        ]
        return Counter(zip(*valued, strict=True))
    source: Any = database.tables.source  # type: ignore[attr-defined]
    relation = source.relation(predicate)
    places = [relation.column(place, "f") for place in range(len(types))]
    wanted = [
        as_text(value) if kind is None else numeric(value, kind == DATE)
        for value, kind in zip(places, kinds, strict=True)
    ]
    return Counter(source.run(exp.select(*wanted).from_(aliased(relation.item, "f"))))
