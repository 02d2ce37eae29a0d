"""Delimited text (CSV and its relatives) as tables.

The first row names the columns, unless the schema does. Every value is read as text. A column becomes
one of numbers, dates or booleans only if all of its values are written so: 01234 stays a code, and
01/02/2020 stays text because it may be January or February. Empty values are missing.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from hornbeam.errors import DataError, ParseError, Place, plural
from hornbeam.files import TemporaryFolder
from hornbeam.loading.files import read_text, reason
from hornbeam.loading.tables.columns.cells import read_moment, read_number, reads
from hornbeam.loading.tables.columns.column import Table, of_table
from hornbeam.loading.tables.schema_file import TextForm
from hornbeam.loading.tables.sources.text_rows import (
    SMALL_FILE,
    TextRows,
    columns_of_cells,
    columns_of_rows,
    number_of_rows,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SEPARATORS = ",;\t|"
_ROWS_LOOKED_AT = 20
"""rows at the beginning of a file, its names included, that show which separator it has"""
_CHUNK = 1 << 20


def read_delimited(
    name: str, path: Path, form: TextForm, unused: Collection[str], duck: DuckDBPyConnection
) -> Table:
    """A text file as a table, its columns in file order."""
    import duckdb

    names, separator = shape_of(path, form)
    with _as_utf8(path, form.encoding) as readable:
        text = TextRows(readable, separator, len(names), not form.columns, form.empty_words)
        is_small = readable.stat().st_size <= SMALL_FILE
        try:
            rows = text.fetch(duck) if is_small else text.copy(duck)
        except duckdb.Error as error:
            raise explained(path, form, separator, len(names), error) from None
    if rows is not None:
        size = len(rows)
        columns, notices = columns_of_cells(rows, names, unused, form.reads_words)
    else:
        size = number_of_rows(duck)
        columns, notices = columns_of_rows(duck, names, unused, words=form.reads_words)
        duck.execute("DROP TABLE rows")
    return Table(name, columns, size, notices=tuple(of_table(name, notice) for notice in notices))


# --- the header ------------------------------------------------------------------------------


def shape_of(path: Path, form: TextForm) -> tuple[tuple[str, ...], str]:
    """The names of the columns, as stated or as in the first row, and the separator."""
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
    """The values of the first row, and the separator: as stated, or as the first rows have it."""
    with _opened(path, form.encoding) as file:
        line = file.readline()
        if not line.strip():
            raise DataError(
                "the file is empty; a table needs at least a row of column names.", Place(str(path))
            )
        separator = form.separator or _separator(file, _outside_quotes(line))
        file.seek(0)
        try:
            return next(csv.reader(file, delimiter=separator)), separator
        except csv.Error as error:
            raise DataError(
                f"the row of column names cannot be read ({error}); correct the first line.",
                Place(str(path), 1),
            ) from None


def _separator(file: TextIO, header: str) -> str:
    """The most frequent separator in the row of names with which the next rows are as long as that row.

    Names may hold another one: ``id,a;b;c``. If no separator makes all rows equally long, it is the most
    frequent one.
    """
    by_frequency = sorted(_SEPARATORS, key=header.count, reverse=True)
    for separator in by_frequency:
        file.seek(0)
        with contextlib.suppress(csv.Error):
            rows = islice(csv.reader(file, delimiter=separator), _ROWS_LOOKED_AT)
            lengths = {len(row) for row in rows if row}
            if separator in header and len(lengths) == 1:
                return separator
    return by_frequency[0]


def _outside_quotes(line: str) -> str:
    return "".join(line.split('"')[::2])


def _check_header(path: Path, header: Sequence[str]) -> None:
    place = Place(str(path), 1)
    if header[0] and _is_data(header[0]):
        raise DataError(
            f'the first row should name the columns, but begins with "{header[0]}", as a row of data does; '
            'add a row of names, or state them in schema.toml, such as columns = ["id", "name"].',
            place,
        )
    seen: set[str] = set()
    for number, name in enumerate(header, start=1):
        if not name:
            raise DataError(f"column {number} has no name; give it one in the first row.", place)
        if name in seen:
            raise DataError(f'two columns are named "{name}"; rename one of them.', place)
        seen.add(name)


def _is_data(name: str) -> bool:
    """Whether a name is a number or a date."""
    return reads(read_number, name) or reads(read_moment, name)


# --- encodings and errors --------------------------------------------------------------------


@contextlib.contextmanager
def _opened(path: Path, encoding: str) -> Iterator[TextIO]:
    try:
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise _no_encoding(encoding) from None
    try:
        with path.open(encoding="utf-8-sig" if name == "utf-8" else name, newline="") as file:
            yield file
    except LookupError:  # Python also has codecs that do not decode text
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
    """The place of the first bytes that are not UTF-8."""
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


@contextlib.contextmanager
def _as_utf8(path: Path, encoding: str) -> Iterator[Path]:
    """The file itself if it is UTF-8, else a temporary copy in UTF-8."""
    if codecs.lookup(encoding).name == "utf-8":
        yield path
        return
    with TemporaryFolder() as folder:
        copy = folder / "rows.csv"
        with _opened(path, encoding) as source, copy.open("w", encoding="utf-8", newline="") as target:
            while chunk := source.read(_CHUNK):
                target.write(chunk)
        yield copy


def explained(path: Path, form: TextForm, separator: str, width: int, error: Exception) -> DataError:
    """The error for a file that DuckDB could not read: a second pass finds the row and the reason."""
    place = _not_utf8(path) if codecs.lookup(form.encoding).name == "utf-8" else None
    if place is not None:
        return _wrong_encoding(place, form.encoding)
    with _opened(path, form.encoding) as file:
        lines = _Lines(file)
        rows = csv.reader(lines, delimiter=separator, strict=True)
        before = 0
        try:
            for row in rows:
                if row and len(row) != width:
                    return DataError(
                        f"this row has {plural(len(row), 'value')}, but the table has "
                        f"{plural(width, 'column')}; quote values that hold {separator!r}, or state another "
                        "separator in schema.toml.",
                        Place(str(path), before + 1),
                    )
                before = rows.line_num
        except csv.Error:
            message = (
                "a quote is opened and never closed; close it, or double quotes that are part of a value."
                if lines.ended
                else "a quote is closed in the middle of a value; double the quotes inside a quoted value."
            )
            return DataError(message, Place(str(path), before + 1))
    if len(lines.ends) > 1:
        (usual, _), (other, number), *_ = lines.ends.items()
        return DataError(
            f"this line ends with {_shown_end(other)}, but the lines before it with {_shown_end(usual)}; "
            "give all lines the same end.",
            Place(str(path), number),
        )
    return DataError(f"cannot be read as a table ({str(error).splitlines()[0]}).", Place(str(path)))


def _shown_end(end: str) -> str:
    return repr(end).strip("'")


class _Lines:
    """The lines of a file, whether more were asked for than it has, and the first line with each line end."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.ended = False
        self.ends: dict[str, int] = {}

    def __iter__(self) -> Iterator[str]:
        for number, line in enumerate(self._file, start=1):
            end = line[len(line.rstrip("\r\n")) :][-2:]
            if end:
                self.ends.setdefault("\r\n" if end == "\r\n" else end[-1], number)
            yield line
        self.ended = True
