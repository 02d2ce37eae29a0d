"""Columns as values of another domain: what is read, what is refused, and what a notice says."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.errors import DataError
from hornbeam.loading.tables.columns import types as module
from hornbeam.loading.tables.columns.column import Column, Domain
from hornbeam.loading.tables.columns.new_columns import (
    boolean_column,
    moment_column,
    number_column,
    text_column,
)
from hornbeam.loading.tables.columns.types import as_domain, inferred, nearly_numbers


def cells(column: Column) -> list[object]:
    """The text of each row; None where it is missing."""
    return [None if code < 0 else column.texts[code] for code in column.codes.tolist()]


def numbers(*values: float) -> Column:
    return number_column("n", np.array(values), np.full(len(values), False))


@pytest.mark.parametrize(
    ("words", "domain", "expected"),
    [
        (["3", None, "10"], Domain.NUMBER, ["3", None, "10"]),
        (["2.5", "10", "NaN"], Domain.NUMBER, ["2.5", "10", None]),
        (["true", None, "False"], Domain.BOOLEAN, ["true", None, "false"]),
        (["2001-02-03", "1999-12-31", None], Domain.DATE, ["2001-02-03", "1999-12-31", None]),
        (
            ["2001-02-03", "1999-12-31T10:00:00"],
            Domain.MOMENT,
            ["2001-02-03T00:00:00", "1999-12-31T10:00:00"],
        ),
        (["01234", "5678"], Domain.TEXT, ["01234", "5678"]),
        ([None, None], Domain.TEXT, [None, None]),
    ],
)
def test_text_has_the_type_of_all_its_values(
    words: list[str | None], domain: Domain, expected: list[str | None]
) -> None:
    found = inferred(text_column("c", words))
    assert (found.domain, cells(found)) == (domain, expected)
    assert inferred(found) is found, "known types stay"


def test_a_stated_type_is_read() -> None:
    assert cells(as_domain(numbers(10.0, 9.0, 2.5, 10.0), Domain.TEXT)) == ["10", "9", "2.5", "10"]
    ones = number_column("n", np.array([1, 0, 1]), np.array([False, False, True]))
    assert cells(as_domain(ones, Domain.TEXT)) == ["1", "0", None]
    flags = as_domain(ones, Domain.BOOLEAN)
    assert (flags.domain, cells(flags)) == (Domain.BOOLEAN, ["true", "false", None])
    dated = as_domain(text_column("d", ["24.12.1970", None, "01.02.1985"]), Domain.DATE, "%d.%m.%Y")
    assert cells(dated) == ["1970-12-24", None, "1985-02-01"]
    with_zone = as_domain(text_column("d", ["1970-01-01 10:00 +0200"]), Domain.MOMENT, "%Y-%m-%d %H:%M %z")
    assert cells(with_zone) == ["1970-01-01T08:00:00"]
    days = moment_column("d", np.array([datetime(2001, 2, 3)], dtype="datetime64[us]"))
    assert days.domain is Domain.DATE and as_domain(days, Domain.MOMENT) is days


@pytest.mark.parametrize(
    ("column", "domain", "date_format", "sentence"),
    [
        (
            text_column("c", ["3", "x"]),
            Domain.NUMBER,
            None,
            '"c" is stated to hold numbers, but "x" is not a number',
        ),
        (text_column("c", ["yes"]), Domain.BOOLEAN, None, r'but "yes" is not true or false \\(or 1 and 0\\)'),
        (
            text_column("c", ["2024-13-01"]),
            Domain.DATE,
            None,
            r'but "2024-13-01" is not a date such as 2024-12-31;',
        ),
        (text_column("c", ["noon"]), Domain.MOMENT, None, "or a moment such as 2024-12-31T23:59:59; correct"),
        (
            text_column("c", ["1.2.3"]),
            Domain.DATE,
            "%d.%m.%Y",
            r'but "1.2.3" is not a date of the form %d.%m.%Y',
        ),
        (numbers(1.0, 0.0, 7.0), Domain.BOOLEAN, None, 'but "7" is not true or false'),
        (numbers(5.0), Domain.DATE, None, 'hold dates, but "5" is not a date'),
        (
            boolean_column("b", np.array([True]), np.array([False])),
            Domain.NUMBER,
            None,
            'but "true" is not a number',
        ),
    ],
)
def test_a_value_of_another_type_is_refused(
    column: Column, domain: Domain, date_format: str | None, sentence: str
) -> None:
    with pytest.raises(DataError, match=sentence.replace("\\\\", "\\")):
        as_domain(column, domain, date_format)


def message(words: Sequence[str | None]) -> str:
    notice = nearly_numbers(text_column("age", words))
    return "" if notice is None else notice.message


def test_columns_of_other_words_get_no_notice() -> None:
    assert message(["x", "y"]) == ""
    assert nearly_numbers(numbers(1.0, 2.0)) is None, "not text"


def test_words_for_nothing_are_missing_where_a_type_is_stated() -> None:
    column = as_domain(text_column("age", ["-", "NA", "?"]), Domain.NUMBER)
    assert (column.domain, column.n_values, column.n_missing) == (Domain.NUMBER, 0, 3)


def test_a_column_that_is_nearly_of_numbers_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    nearly = [*map(str, range(95)), *["few"] * 4, "none of it"]
    assert '5 values of 100 are not numbers ("few", "none of it")' in message(nearly)
    assert message([*map(str, range(91)), *["x"] * 9]) != "", "less than a tenth of the rows"
    assert message([*map(str, range(90)), *["x"] * 10]) == "", "a tenth of the rows"
    assert message([*["x"] * 60, *map(str, range(40))]) == ""
    # Large columns are sampled first: the same answer, unless the sample is mostly text.
    monkeypatch.setattr(module, "_SAMPLE", 5)
    assert '5 values of 100 are not numbers ("few", "none of it")' in message(nearly)
    assert message([*(f"w{number}" for number in range(50)), *map(str, range(50))]) == ""


@given(
    st.sampled_from([1, 7, 86_400_000_000, 2**40]),
    st.lists(st.integers(-3, 9), min_size=1, max_size=30),
    st.sampled_from([np.int64, np.float64]),
    st.sampled_from([0.0, 0.5, 0.01, 0.1, 1 / 3]),
)
def test_distinct_numbers_are_found_by_counting_as_by_sorting(
    step: int, wholes: list[int], dtype: type, more: float
) -> None:
    values = np.array(wholes, dtype=dtype) * step
    if dtype is np.float64:
        values = values / 100 + more
    column = number_column("n", values)
    distinct, places = np.unique(values, return_inverse=True)
    assert column.values.tolist() == distinct.tolist()
    assert column.codes.tolist() == places.tolist()
