"""Keys become text by one rule, whatever they come in."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from hornbeam.data.keys import key_rows, key_text
from hornbeam.errors import DataError


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"), (1.0, "1"), ("1", "1"), ("1.0", "1.0"), (np.int8(1), "1"), (np.uint64(2**63), str(2**63)),
        (np.float32(0.1), "0.1"), (0.1, "0.1"), (1e20, "100000000000000000000"), (Decimal("2.50"), "2.5"),
        (Decimal("7.0"), "7"), (True, "true"), (np.bool_(False), "false"), (np.str_("Ann"), "Ann"),
        (" ann ", " ann "), (date(2024, 5, 1), "2024-05-01"), (np.datetime64("2024-05-01"), "2024-05-01"),
        (-3, "-3"), ("", ""),
    ],
)  # fmt: skip
def test_one_value_has_one_text(value, text):
    assert key_text(value) == text


@pytest.mark.parametrize(
    "value", [None, float("nan"), np.nan, pd.NaT, pd.NA, float("inf"), np.float32("nan")]
)
def test_no_value_is_refused(value):
    with pytest.raises(DataError, match="cannot be keys; give each example a key"):
        key_text(value)


@pytest.mark.parametrize("value", [["ann"], b"ann", object()])
def test_what_is_neither_text_nor_number_is_refused(value):
    with pytest.raises(DataError, match=r"a key cannot be made of .*; give text or numbers"):
        key_text(value)


ROWS = [["1", "ann"], ["2", "bob"]]


@pytest.mark.parametrize(
    "X",
    [
        [[1, "ann"], [2, "bob"]],
        [("1", "ann"), (2.0, "bob")],
        ([1, "ann"], [2, "bob"]),
        np.array([[1, "ann"], [2, "bob"]], dtype=object),
        np.array([["1", "ann"], ["2", "bob"]]),
        pd.DataFrame({"a": [1, 2], "b": ["ann", "bob"]}),
        pd.DataFrame({"a": pd.array([1, 2], dtype="Int64"), "b": pd.Categorical(["ann", "bob"])}),
        pd.DataFrame({"a": [1.0, 2.0], "b": ["ann", "bob"]}, index=[7, 3]),
        pl.DataFrame({"a": [1, 2], "b": ["ann", "bob"]}),
    ],
    ids=lambda X: type(X).__module__.split(".")[0] + "." + type(X).__name__,
)
def test_arrays_lists_and_frames_give_the_same_rows(X):
    assert key_rows(X).tolist() == ROWS


def test_arrow_tables_give_the_same_rows():
    arrow = pytest.importorskip("pyarrow")
    assert key_rows(arrow.table({"a": [1, 2], "b": ["ann", "bob"]})).tolist() == ROWS


def test_numeric_arrays_become_text():
    assert key_rows(np.array([[1.0, 2.5], [3.0, 4.0]])).tolist() == [["1", "2.5"], ["3", "4"]]
    assert key_rows(np.array([[1, 2]], dtype=np.uint8)).tolist() == [["1", "2"]]


def test_no_rows_are_no_rows():
    assert key_rows(np.empty((0, 2), dtype=object)).shape == (0, 2)


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (
            ["ann", "bob"],
            "X has 1 dimensions, but must have two: one row per example and one column per argument.",
        ),
        (np.zeros((2, 2, 2)), "X has 3 dimensions, but must have two"),
        ([["ann"], ["bob", "cat"]], "X must be rows of equal length, with one column per argument."),
        (sparse.csr_matrix([[1]]), "X is a sparse matrix, but keys must be a dense array"),
        (sparse.csr_array([[1]]), "X is a sparse matrix, but keys must be a dense array"),
        (
            pl.LazyFrame({"a": [1]}),
            "X is a LazyFrame, which cannot be read as a data frame; collect it first",
        ),
        (
            pd.DataFrame({"a": [1, None]}),
            "a key is nan: None, NaN and infinity cannot be keys; give each example a key.",
        ),
        (
            pl.DataFrame({"a": [1, None]}),
            "a key is None: None, NaN and infinity cannot be keys; give each example a key.",
        ),
        (np.array([[1j]]), "Complex data not supported: a key is text or a number."),
        (5, "X must be rows of equal length, with one column per argument."),
    ],
)
def test_what_is_not_rows_of_keys_is_one_sentence(X, sentence):
    with pytest.raises(DataError) as caught:
        key_rows(X)
    assert sentence in str(caught.value)
