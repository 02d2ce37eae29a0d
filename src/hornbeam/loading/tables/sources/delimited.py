"""Delimited text (CSV and its relatives) as tables.

The first row names the columns, unless the schema does. Every value is read as text; a column whose
values all are numbers, ISO dates or true and false then becomes one of those, so that 01234 stays a
code and 01/02/2020 is nobody's guess. Empty values are missing.
"""

from __future__ import annotations

import codecs
import csv
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np

from hornbeam.data.database import Notice
from hornbeam.errors import DataError, ParseError, Place, plural
from hornbeam.loading.files import read_text, reason
from hornbeam.loading.tables.column import Column, Domain, Table, moment_column, number_column
from hornbeam.loading.tables.schema_file import TextForm
from hornbeam.loading.tables.sources.duckdb import connection, text_of
from hornbeam.loading.tables.types import NUMBER, as_domain, inferred, nearly_numbers
from hornbeam.quoting import quoted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SEPARATORS = ",;\t|"
_CHUNK = 1 << 20
_NOT_A_TIME = np.iinfo(np.int64).min
"""how NumPy keeps NaT"""
_FIRST_LOOK = 1000
_IS_WHOLE = "TRY_CAST({0} AS BIGINT)::VARCHAR IS NOT DISTINCT FROM {0}"
# Whole numbers past int64 stay text: as floats they would lose their last digits.
_IS_REAL = f"regexp_full_match({{0}}, '{NUMBER}|NaN') AND NOT regexp_full_match({{0}}, '-?[0-9]{{{{16,}}}}')"

# Moments with an offset are left to Python, which heeds it.
_IS_MOMENT = (
    "regexp_full_match({0}, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]"
    "([.][0-9]{{1,6}})?)?)?') AND {0} >= '0001' AND TRY_CAST({0} AS TIMESTAMP) IS NOT NULL"
)


def read_delimited(name: str, path: Path, form: TextForm, unused: Collection[str] = ()) -> Table:
    """A text file as a table, its columns in their order."""
    import duckdb

    names, separator = shape_of(path, form)
    with _as_utf8(path, form.encoding) as readable, connection() as made:
        try:
            copy_rows(made, readable, separator, len(names), not form.columns, form.missing)
        except duckdb.Error as error:
            raise explained(path, form, separator, len(names), error) from None
        size: int = made.execute("SELECT count(*) FROM rows").fetchall()[0][0]
        columns, notices = columns_of_rows(made, names, unused)
    return Table(name, columns, size, notices=tuple(_of_table(name, notice) for notice in notices))


def copy_rows(
    made: DuckDBPyConnection,
    path: Path,
    separator: str,
    width: int,
    header: bool,
    missing: Sequence[str] = (),
) -> None:
    """Read a file of UTF-8 text into the table ``rows`` with the columns c0, c1, ... of text."""
    # The columns get numbers for names: those of the user never become part of a query.
    types = ", ".join(f"'c{number}': 'VARCHAR'" for number in range(width))
    made.execute(
        f"CREATE TABLE rows AS SELECT * FROM read_csv(?, auto_detect=false, delim=?, quote='\"', "
        f"escape='\"', header=?, nullstr=?, columns={{{types}}}, max_line_size=16777216)",
        [str(path), separator, header, ["", *missing]],
    )


def columns_of_rows(
    made: DuckDBPyConnection,
    names: Sequence[str],
    unused: Collection[str] = (),
    domains: Mapping[str, Domain] | None = None,
) -> tuple[dict[str, Column], list[Notice]]:
    """The columns of the table ``rows``; their domains are found out unless given.

    Long columns of numbers and moments are never text in Python.
    """
    used = [number for number, name in enumerate(names) if name not in unused]

    def open_to(domain: Domain, *taken: list[int]) -> list[int]:
        rest = [number for number in used if not any(number in numbers for numbers in taken)]
        return [number for number in rest if domains is None or domains[names[number]] is domain]

    whole = _where_all(made, open_to(Domain.NUMBER), _IS_WHOLE)
    real = _where_all(made, open_to(Domain.NUMBER, whole), _IS_REAL)
    moments = _where_all(made, open_to(Domain.MOMENT, whole, real), _IS_MOMENT)
    found: dict[str, Column] = {}
    notices = []
    for number in used:
        name = names[number]
        if number in whole or number in real:
            wanted = "BIGINT" if number in whole else "DOUBLE"
            query = f"SELECT CAST({quoted(f'c{number}')} AS {wanted}) AS value FROM rows"
            array = made.execute(query).fetchnumpy()["value"]
            found[name] = number_column(name, np.ma.getdata(array), np.ma.getmaskarray(array))
            continue
        if number in moments:
            query = f"SELECT epoch_us(CAST({quoted(f'c{number}')} AS TIMESTAMP)) AS value FROM rows"
            array = made.execute(query).fetchnumpy()["value"]
            found[name] = moment_column(name, np.ma.filled(array, _NOT_A_TIME).view("datetime64[us]"))
            continue
        text = text_of(made, "rows", f"c{number}")
        column = Column(name, text.domain, text.values, text.codes)
        if domains is not None:
            # Numbers that come here are too long for int64, unless there are none at all.
            long = domains[name] is Domain.NUMBER and column.n_values
            found[name] = column if long else as_domain(column, domains[name])
            continue
        found[name] = inferred(column)
        doubtful = nearly_numbers(found[name])
        if doubtful is not None:
            notices.append(doubtful)
    return found, notices


def _where_all(made: DuckDBPyConnection, numbers: Sequence[int], condition: str) -> list[int]:
    """Columns that have values, all of which meet the condition."""
    holding = list(numbers)
    # A look at a few rows spares most columns of text the look at all.
    for rows in (f"(SELECT * FROM rows LIMIT {_FIRST_LOOK})", "rows"):
        if not holding:
            break
        columns = [quoted(f"c{number}") for number in holding]
        tests = ", ".join(f"bool_and({condition.format(column)})" for column in columns)
        answer = made.execute(f"SELECT {tests} FROM {rows}").fetchall()[0]
        holding = [number for number, holds in zip(holding, answer, strict=True) if holds is not False]
    return [number for number in holding if _has_values(made, number)]


def _has_values(made: DuckDBPyConnection, number: int) -> bool:
    found = made.execute(f"SELECT 1 FROM rows WHERE {quoted(f'c{number}')} IS NOT NULL LIMIT 1").fetchall()
    return bool(found)


def _of_table(name: str, notice: Notice) -> Notice:
    return Notice(f'table "{name}": {notice.message}')


# --- the header ------------------------------------------------------------------------------


def shape_of(path: Path, form: TextForm) -> tuple[tuple[str, ...], str]:
    """The names of a file's columns, those stated or those in its first row, and the separator."""
    header, separator = _header(path, form)
    if not form.columns:
        _check_header(path, header)
    elif len(header) != len(form.columns):
        raise DataError(
            f"the file has {plural(len(header), 'column')}, but the schema names {len(form.columns)} "
            f"({', '.join(form.columns)}); make them agree.",
            Place(str(path), 1),
        )
    return form.columns or tuple(header), separator


def _header(path: Path, form: TextForm) -> tuple[list[str], str]:
    """The values of the first row, and the separator: the stated one, or what the row has most of."""
    with _opened(path, form.encoding) as file:
        line = file.readline()
        if not line.strip():
            raise DataError(
                "the file is empty; a table needs at least a row of column names.", Place(str(path))
            )
        separator = form.separator or max(_SEPARATORS, key=lambda mark: _outside_quotes(line).count(mark))
        file.seek(0)
        try:
            return next(csv.reader(file, delimiter=separator)), separator
        except csv.Error as error:
            raise DataError(
                f"the row of column names cannot be read ({error}); correct the first line.",
                Place(str(path), 1),
            ) from None


def _outside_quotes(line: str) -> str:
    return "".join(line.split('"')[::2])


def _check_header(path: Path, header: Sequence[str]) -> None:
    place = Place(str(path), 1)
    seen: set[str] = set()
    for number, name in enumerate(header, start=1):
        if not name:
            raise DataError(f"column {number} has no name; give it one in the first row.", place)
        if name in seen:
            raise DataError(f'two columns are named "{name}"; rename one of them.', place)
        seen.add(name)


# --- encodings and errors --------------------------------------------------------------------


@contextmanager
def _opened(path: Path, encoding: str) -> Iterator[TextIO]:
    try:
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise _no_encoding(encoding) from None
    try:
        with path.open(encoding="utf-8-sig" if name == "utf-8" else name, newline="") as file:
            yield file
    except LookupError:  # Python has encodings that are not of text
        raise _no_encoding(encoding) from None
    except OSError as error:
        raise DataError(
            f'cannot read "{path}": {reason(error)}; name a text file that can be read.'
        ) from None
    except UnicodeError:
        place = _not_utf8(path) if name == "utf-8" else None
        raise _wrong_encoding(place or Place(str(path)), encoding) from None


def _no_encoding(encoding: str) -> DataError:
    return DataError(f'no encoding "{encoding}"; use a name such as utf-8, latin-1 or utf-16.')


def _not_utf8(path: Path) -> Place | None:
    """Where a file stops being UTF-8."""
    try:
        read_text(path)
    except ParseError as wrong:
        return wrong.place
    return None


def _wrong_encoding(place: Place, encoding: str) -> DataError:
    return DataError(
        f'the file is not {encoding} text; state its encoding in schema.toml, such as encoding = "latin-1".',
        place,
    )


@contextmanager
def _as_utf8(path: Path, encoding: str) -> Iterator[Path]:
    """The file itself if it is UTF-8, else a temporary copy that is."""
    if codecs.lookup(encoding).name == "utf-8":
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="hornbeam-") as folder:
        copy = Path(folder) / "rows.csv"
        with _opened(path, encoding) as source, copy.open("w", encoding="utf-8", newline="") as target:
            while chunk := source.read(_CHUNK):
                target.write(chunk)
        yield copy


def explained(path: Path, form: TextForm, separator: str, width: int, error: Exception) -> DataError:
    """Where and why a file could not be read: the row is looked for by a careful reader."""
    place = _not_utf8(path) if codecs.lookup(form.encoding).name == "utf-8" else None
    if place is not None:
        return _wrong_encoding(place, form.encoding)
    with _opened(path, form.encoding) as file:
        rows = csv.reader(file, delimiter=separator, strict=True)
        before = 0
        try:
            for row in rows:
                if row and len(row) != width:
                    return DataError(
                        f"this row has {plural(len(row), 'value')}, but there are {plural(width, 'column')}; "
                        f"quote values that hold {separator!r}, or state another separator in schema.toml.",
                        Place(str(path), before + 1),
                    )
                before = rows.line_num
        except csv.Error as wrong:
            message = (
                "a quote is opened and never closed; close it, or double quotes that are part of a value."
                if "unexpected end" in str(wrong)
                else "a quote is closed in the middle of a value; double the quotes inside a quoted value."
            )
            return DataError(message, Place(str(path), before + 1))
    return DataError(f"cannot be read as a table ({str(error).splitlines()[0]}).", Place(str(path)))
