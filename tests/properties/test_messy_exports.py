"""Any messy export loads and is learned from without a schema file, or is refused in a sentence."""

from __future__ import annotations

import csv
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.errors import HornbeamError, HornbeamWarning
from hornbeam.in_place.load import load_quietly
from hornbeam.loading.inspect.inspectors import inspect_tables
from hornbeam.loading.options import TableOptions

WORDS = ["NA", "n/a", "?", "-", "NULL", "", "unknown", "NaN"]
SIZES = st.integers(0, 12)
NAMES = [
    "id",
    "user_id",
    "user",
    "users",
    "code",
    "at",
    "date",
    "year",
    "price",
    "name",
    "flag",
    "parent_id",
    "x y",
    "a.b",
    "NA",
]
KEYS = {
    "range": [str(n) for n in range(40)],
    "codes": [f"K{n:02}" for n in range(40)],
    "wide": [str(n * n * 97 + 5) for n in range(40)],
    "padded": [f" k{n} " for n in range(40)],
}
VALUES = {
    "numbers": ["1", "2.5", "-3", "1e300", "0", "7", "9007199254740993"],
    "money": ["$3,400", "1,200.50", "12", "$7"],
    "dates": ["2024-01-02", "2023-12-31", "2024-02-29"],
    "other dates": ["31.12.2001", "05.01.1999", "12/31/2001"],
    "mixed dates": ["2024-01-02", "31.12.2001", "yesterday"],
    "moments": ["2024-01-02T10:00:00Z", "2024-01-02 10:00", "2023-06-01T00:00:00+02"],
    "flags": ["true", "FALSE", "True"],
    "yes": ["Yes", "yes", "Y", "TRUE", "no"],
    "codes": ["DE", "NA", "US"],
    "texts": ["a", "b", "c'", 'd"', "e,f", "ü", "a\nb", "x" * 300],
    "constant": ["same"],
}


@st.composite
def columns(draw: st.DrawFn, size: int) -> list[str]:
    """The cells of a column: keys of some table, or values with words for nothing among them."""
    kind = draw(st.sampled_from([*KEYS, *VALUES]))
    if kind in KEYS and draw(st.booleans()):
        start = draw(st.integers(0, 10))
        return [KEYS[kind][(start + n) % 40] for n in range(size)]
    few = st.sampled_from((KEYS | VALUES)[kind])
    cell = st.one_of(few, few, few, few, st.sampled_from(WORDS)) if draw(st.booleans()) else few
    return draw(st.lists(cell, min_size=size, max_size=size))


@st.composite
def exports(draw: st.DrawFn) -> dict[str, tuple[list[str], list[list[str]]]]:
    """The header and the columns of each table."""
    tables = {}
    for name in draw(
        st.lists(st.sampled_from(["users", "visits", "codes", "a.b"]), min_size=1, max_size=3, unique=True)
    ):
        size = draw(SIZES)
        header = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
        tables[name] = header, [draw(columns(size)) for _ in header]
    return tables


def targets(header: Sequence[str], column: Sequence[str]) -> st.SearchStrategy[str]:
    """Ends of targets: a column, one of its values, a threshold."""
    values = [value for value in column if value] or ["x"]
    ends = st.sampled_from(["", ">2", "<=2024-01-02", *(f"={value}" for value in values[:2])])
    return st.tuples(st.sampled_from(header), ends).map("".join)


@given(exports(), st.data(), st.sampled_from([None, None, "duckdb"]))
@settings(max_examples=20, deadline=None)
def test_a_messy_export_is_learned_from_or_refused_in_a_sentence(
    tables: dict[str, tuple[list[str], list[list[str]]]], data: st.DataObject, engine: str | None
) -> None:
    name = data.draw(st.sampled_from(sorted(tables)))
    header, cells = tables[name]
    target = f"{name}.{data.draw(targets(header, cells[0]))}"
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        for table, (names, by_column) in tables.items():
            with (Path(folder) / f"{table}.csv").open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([names, *zip(*by_column, strict=True)])
        try:
            warnings.simplefilter("ignore", HornbeamWarning)
            str(inspect_tables(folder, TableOptions()))
            with load_quietly(folder, target=target, engine=engine) as database:
                assert all(len(str(notice)) <= 600 for notice in database.notices)
                examples, labels = database.examples()
                learner = hb.RLRRegressor if labels.dtype.kind == "f" else hb.RLRClassifier
                learned = learner(database=database, n_bags=1, n_steps=3).fit(examples, labels)
                predicted = learned.predict(examples)
                assert len(predicted) == len(labels)
        except HornbeamError as error:
            assert str(error).endswith((".", ")", "]", "}", '"', "?")) and "\n" not in str(error).strip()
