"""Columns of data frames of every kind become the same values, and what cannot be used is said."""

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hornbeam as hb
from hornbeam.errors import DataError, HornbeamError, OptionError
from hornbeam.loading.tables.columns.column import Domain
from hornbeam.loading.tables.sources.frames import read_frame

HALF_PAST = datetime(2024, 2, 29, 10, 30)
EAST = timezone(timedelta(hours=2))


def texts(table, name="x"):
    column = table.columns[name]
    return [None if code < 0 else column.texts[code] for code in column.codes.tolist()]


@pytest.mark.parametrize(
    ("frame", "domain", "expected"),
    [
        (pd.DataFrame({"x": [1, 2]}), Domain.NUMBER, ["1", "2"]),
        (pd.DataFrame({"x": [1.0, None]}), Domain.NUMBER, ["1", None]),
        (pd.DataFrame({"x": pd.array([1, None], dtype="Int64")}), Domain.NUMBER, ["1", None]),
        (pd.DataFrame({"x": np.array([0.1, 2.5], dtype="float32")}), Domain.NUMBER, ["0.1", "2.5"]),
        (pd.DataFrame({"x": [1, "1", 2.0]}, dtype=object), Domain.TEXT, ["1", "1", "2"]),
        (pd.DataFrame({"x": [Decimal("1.50"), Decimal(2)]}), Domain.NUMBER, ["1.5", "2"]),
        (pd.DataFrame({"x": [True, None]}, dtype=object), Domain.BOOLEAN, ["true", None]),
        (pd.DataFrame({"x": pd.array([True, None], dtype="boolean")}), Domain.BOOLEAN, ["true", None]),
        (pd.DataFrame({"x": pd.Categorical(["b", None, "a"])}), Domain.TEXT, ["b", None, "a"]),
        (pd.DataFrame({"x": pd.to_datetime(["2024-02-29", None])}), Domain.DATE, ["2024-02-29", None]),
        (pd.DataFrame({"x": [date(2024, 2, 29), None]}), Domain.DATE, ["2024-02-29", None]),
        (pd.DataFrame({"x": [HALF_PAST.replace(tzinfo=EAST)]}), Domain.MOMENT, ["2024-02-29T08:30:00"]),
        (pl.DataFrame({"x": ["", None, "a"]}), Domain.TEXT, [None, None, "a"]),
        (pl.DataFrame({"x": [None, None]}), Domain.TEXT, [None, None]),
        (pl.DataFrame({"x": [HALF_PAST, None]}), Domain.MOMENT, ["2024-02-29T10:30:00", None]),
        (pl.DataFrame({"x": [2**63 + 1, 1]}, schema={"x": pl.UInt64}), Domain.TEXT, [str(2**63 + 1), "1"]),
        (pl.DataFrame({"x": [1.5, float("nan")]}), Domain.NUMBER, ["1.5", None]),
        (pl.DataFrame({"x": ["a", "b"]}, schema={"x": pl.Enum(["b", "a"])}), Domain.TEXT, ["a", "b"]),
        (pa.table({"x": pa.array(["a", None]).dictionary_encode()}), Domain.TEXT, ["a", None]),
        (pa.table({"x": pa.array([1, None], pa.int8())}), Domain.NUMBER, ["1", None]),
        (pa.table({"x": pa.array([Decimal("0.10")])}), Domain.NUMBER, ["0.1"]),
    ],
)
def test_a_column_of_a_frame(frame, domain, expected):
    table = read_frame("t", frame)
    assert table.columns["x"].domain is domain
    assert texts(table) == expected


def test_columns_that_hold_no_values_of_a_kind_we_know_are_left_out_and_said():
    table = read_frame("t", pl.DataFrame({"id": [1], "tags": [["a", "b"]], "raw": [b"x"]}))
    assert list(table.columns) == ["id"]
    assert table.unread == ("tags (List(String))", "raw (Binary)")


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"t": pl.DataFrame({"x": [float("inf")]})}, 'column "x" holds infinity, which is not allowed;'),
        ({"t": pl.LazyFrame({"x": [1]})}, 'table "t" is a LazyFrame, which cannot be read as a data frame;'),
        ({"t": [1, 2]}, 'table "t" is a list, which cannot be read as a data frame;'),
        ({"t": pd.DataFrame([[1, 2]], columns=["a", "a"])}, 'table "t" has two columns of the same name;'),
        ({"t": pd.DataFrame([[1, 2]], columns=[1, "1"])}, 'table "t" has two columns "1";'),
        ({3: pl.DataFrame({"x": [1]})}, "3 cannot be the name of a table;"),
        ({}, "there is no table in the dict;"),
        (
            {"Users": pl.DataFrame({"x": [1]}), "users": pl.DataFrame({"x": [1]})},
            'two tables are named "Users" and "users", which differ in case only;',
        ),
    ],
)
def test_frames_that_cannot_be_used_are_refused(tables, message):
    with pytest.raises(HornbeamError) as caught:
        hb.load(tables)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "source", [pd.DataFrame({"a": [1]}), [1, 2], 3, None], ids=["frame", "list", "int", "none"]
)
def test_what_is_neither_a_place_nor_tables_by_name_is_refused(source):
    with pytest.raises(OptionError, match=r'load does not take a \w+: .* such as \{"users": frame\}'):
        hb.load(source)


def test_an_option_of_tables_is_refused_for_facts(tmp_path):
    (tmp_path / "facts.txt").write_text("smokes(ann).")
    (tmp_path / "pos.txt").write_text("cancer(ann).")
    (tmp_path / "neg.txt").write_text("cancer(bob).")
    with pytest.raises(HornbeamError, match="negatives is for tables, but there are no tables in"):
        hb.load(tmp_path, negatives="all")


def test_a_link_table_as_target_draws_its_negatives_by_seed():
    users = pl.DataFrame({"user_id": range(40)})
    movies = pl.DataFrame({"movie_id": [f"m{n}" for n in range(30)]})
    seen = pl.DataFrame(
        {"user_id": [n % 40 for n in range(60)], "movie_id": [f"m{n % 29}" for n in range(60)]}
    )
    tables = {"users": users, "movies": movies, "seen": seen}
    drawn = [hb.load(tables, target="seen", negatives=2, seed=seed).examples() for seed in (0, 0, 1)]
    X, y = drawn[0]
    assert (y == 1).sum() == len(seen.unique())
    assert (y == 0).sum() == 2 * (y == 1).sum()
    linked = {tuple(map(str, row)) for row in seen.iter_rows()}
    assert linked.isdisjoint(map(tuple, X[y == 0]))
    assert X.tolist() == drawn[1][0].tolist()
    assert X.tolist() != drawn[2][0].tolist()
    every, _ = hb.load(tables, target="seen", negatives="all").examples()
    assert len(every) == 40 * 30
    with pytest.raises(DataError, match="has no row that links two keys"):
        hb.load(
            tables | {"seen": seen.head(0)},
            target="seen",
            schema={"seen": {"links": {"user_id": "users", "movie_id": "movies"}, "key": False}},
        )
