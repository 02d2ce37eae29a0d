"""Delimited text: what columns are, wherever their values are read, and how files may be written."""

import numpy as np
import pytest

from hornbeam.errors import DataError
from hornbeam.loading.tables.columns.column import Domain, Table
from hornbeam.loading.tables.schema_file import TextForm
from hornbeam.loading.tables.sources.delimited import read_delimited
from hornbeam.loading.tables.sources.duckdb import connection
from hornbeam.loading.tables.sources.text_rows import SMALL


def read(folder, text, **form) -> Table:
    path = folder / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with connection() as duck:
        return read_delimited("t", path, TextForm(**form), (), duck)


def rows(table, name):
    column = table.columns[name]
    return [None if code < 0 else column.texts[code] for code in column.codes.tolist()]


@pytest.mark.parametrize("repeats", [1, SMALL])
@pytest.mark.parametrize(
    ("words", "domain", "texts"),
    [
        (["1", "", "-3"], Domain.NUMBER, ["1", None, "-3"]),
        (["1", "2.50", ""], Domain.NUMBER, ["1", "2.5", None]),
        (["1", "1.0", "1e0"], Domain.NUMBER, ["1", "1", "1"]),
        (["9007199254740993", "1"], Domain.NUMBER, ["9007199254740993", "1"]),
        (["92233720368547758079", "1"], Domain.TEXT, ["92233720368547758079", "1"]),
        (["01234", "5678"], Domain.TEXT, ["01234", "5678"]),
        (["true", "", "False"], Domain.BOOLEAN, ["true", None, "false"]),
        (["2024-02-29", "", "2023-01-01"], Domain.DATE, ["2024-02-29", None, "2023-01-01"]),
        (["2024-02-30", "2023-01-01"], Domain.TEXT, ["2024-02-30", "2023-01-01"]),
        (["0000-01-01", "2023-01-01"], Domain.TEXT, ["0000-01-01", "2023-01-01"]),
        (["2024-02-29 10:30", ""], Domain.MOMENT, ["2024-02-29T10:30:00", None]),
        (["2024-02-29T24:00", "2024-02-29T01:00"], Domain.TEXT, ["2024-02-29T24:00", "2024-02-29T01:00"]),
        (["2024-02-29 10:30:01.5", "2024-02-29"], Domain.MOMENT, None),
        (["2024-02-29 10:30+02:00", "2024-02-29 08:30"], Domain.MOMENT, ["2024-02-29T08:30:00"] * 2),
        (["01/02/2020", ""], Domain.TEXT, ["01/02/2020", None]),
        (["Rome", "", "it's"], Domain.TEXT, ["Rome", None, "it's"]),
        (["", ""], Domain.TEXT, [None, None]),
    ],
)
def test_a_column_is_what_all_its_values_are(tmp_path, words, domain, texts, repeats):
    """Few rows are coded in one way, many that repeat in another."""
    table = read(tmp_path, "number,x\n" + "".join(f"0,{word}\n" for word in words * repeats))
    assert table.columns["x"].domain is domain
    assert table.size == len(words) * repeats
    if texts is not None:
        assert rows(table, "x") == texts * repeats


@pytest.mark.parametrize("n_distinct", [3, 2000])
def test_text_is_coded_alike_however_often_it_repeats(tmp_path, n_distinct):
    draw = np.random.default_rng(0)
    words = [None if n % 7 == 0 else f"w'{n}é" for n in draw.integers(0, n_distinct, 3000).tolist()]
    table = read(tmp_path, "x,y\n" + "".join(f"{word or ''},0\n" for word in words))
    assert rows(table, "x") == words
    values = table.columns["x"].values.tolist()
    assert values == sorted(set(filter(None, words)))


def test_a_stated_word_stands_for_no_value(tmp_path):
    table = read(tmp_path, "age\n30\nn/a\n40\n", missing=("n/a",))
    assert rows(table, "age") == ["30", None, "40"]
    assert not table.notices


def test_a_column_that_is_nearly_numbers_is_told(tmp_path):
    table = read(tmp_path, "age\n" + "".join(f"{n}\n" for n in range(50)) + "unknown\n")
    assert [str(notice) for notice in table.notices] == [
        'table "t": column "age" is read as text, because 1 value of 51 is not a number ("unknown"); '
        'if it stands for a missing value, state missing = ["unknown"] in schema.toml.'
    ]


@pytest.mark.parametrize("number", [5, 5000])
def test_a_column_that_is_nothing_like_numbers_is_not_told(tmp_path, number):
    table = read(tmp_path, "name\n" + "".join(f"w{n}\n" for n in range(number)) + "7\n")
    assert table.columns["name"].domain is Domain.TEXT
    assert not table.notices


def test_names_may_hold_another_separator(tmp_path):
    table = read(tmp_path, "id,a;b;c;d\n1,x\n2,y\n")
    assert rows(table, "a;b;c;d") == ["x", "y"]
    # Rows of other lengths are refused with the separator of the row of names.
    with pytest.raises(DataError, match="this row has 1 value, but the table has 2 columns"):
        read(tmp_path, "id,a\n1\n2,y\n")


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found_out(tmp_path, separator):
    table = read(tmp_path, f'a{separator}b\n1{separator}"x{separator}y"\n')
    assert rows(table, "b") == [f"x{separator}y"]


def test_a_headerless_latin_1_file_as_stated(tmp_path):
    table = read(
        tmp_path,
        "1|Élise\n2|b\n".encode("latin-1"),
        columns=("id", "name"),
        encoding="latin-1",
        separator="|",
    )
    assert rows(table, "name") == ["Élise", "b"]


def test_line_ends_and_a_mark_of_utf_8_are_no_part_of_values(tmp_path):
    table = read(tmp_path, b"\xef\xbb\xbfid,name\r\n1,a\r\n2,b\r\n")
    assert list(table.columns) == ["id", "name"]
    assert rows(table, "name") == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t.csv: the file is empty; a table needs at least a row of column names."),
        ("a,a\n1,2\n", 't.csv:1: two columns are named "a"; rename one of them.'),
        ("a,,b\n1,2,3\n", "t.csv:1: column 2 has no name; give it one in the first row."),
        (
            "a,b\n1,2\n1,2,3\n",
            "t.csv:3: this row has 3 values, but the table has 2 columns; quote values that hold ',', or "
            "state another separator in schema.toml.",
        ),
        (
            'a,b\n1,2\n3,"x\n4,y\n',
            "t.csv:3: a quote is opened and never closed; close it, or double quotes that are part of a "
            "value.",
        ),
        (
            "a,b\n1,Élise\n".encode("latin-1"),
            "t.csv:2:3: the file is not utf-8 text; state its encoding in schema.toml, such as encoding = "
            '"latin-1".',
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_its_place(tmp_path, text, message):
    with pytest.raises(DataError) as caught:
        read(tmp_path, text)
    assert str(caught.value).replace(f"{tmp_path}/", "") == message
