"""Data frames of pandas, polars, Arrow and others as tables, read through narwhals."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from hornbeam.data.database import Notice
from hornbeam.data.keys import key_text
from hornbeam.errors import DataError
from hornbeam.loading.tables.columns.column import Column, Table, of_table, unread_column
from hornbeam.loading.tables.columns.new_columns import (
    boolean_column,
    moment_column,
    number_column,
    value_column,
)

_FRAMES = "give a dict of table names and data frames, such as {'users': users, 'ratings': ratings}."


def read_frames(frames: Mapping[str, Any], unused: Mapping[str, Collection[str]]) -> list[Table]:
    """A table for each frame; columns named in ``unused`` are not read."""
    for name in frames:
        if not isinstance(name, str) or not name:
            raise DataError(f"{name!r} cannot be the name of a table; {_FRAMES}")
    return [read_frame(name, frame, unused.get(name, ())) for name, frame in frames.items()]


def read_frame(name: str, frame: Any, unused: Collection[str] = ()) -> Table:
    """One frame as a table, its columns in the order of the frame; a table that was read stays as it is."""
    if isinstance(frame, Table):
        return frame
    import narwhals as nw

    frame, about_index = _with_index(name, frame)
    try:
        native = nw.from_native(frame, eager_only=True)
    except (TypeError, ValueError) as error:
        if isinstance(error, ValueError) and _repeats_a_name(frame):
            raise DataError(f'table "{name}" has two columns of the same name; rename one of them.') from None
        raise DataError(
            f'table "{name}" is a {type(frame).__name__}, which cannot be read as a data frame; '
            f"collect it first if it is lazy, and {_FRAMES}"
        ) from None
    columns: dict[str, Column] = {}
    notices = about_index
    unread = []
    for position, label in enumerate(native.columns):
        text = label if isinstance(label, str) else key_text(label)
        if text in columns:
            raise DataError(f'table "{name}" has two columns "{text}"; rename one of them.')
        if text in unused:
            continue
        column, notice = _column(text, native[:, position])
        if column is not None:
            columns[text] = column
        elif notice is None:
            unread.append(unread_column(text, str(native[:, position].dtype)))
        if notice is not None:
            notices.append(of_table(name, notice))
    return Table(name, columns, native.shape[0], notices=tuple(notices), unread=tuple(unread))


def _with_index(name: str, frame: Any) -> tuple[Any, list[Notice]]:
    """A frame of pandas with its named index as columns, and a notice about an index that is not used."""
    if not hasattr(frame, "reset_index"):  # frames of other libraries have no index
        return frame, []
    index = frame.index
    if all(label is not None for label in index.names):
        taken = [label for label in index.names if label in frame.columns]
        # An index that repeats a column, as set_index(..., drop=False) makes it, says nothing new.
        repeats = all(frame[label].array.equals(index.get_level_values(label).array) for label in taken)
        if taken and not repeats:
            raise DataError(
                f'table "{name}" has an index and a column "{taken[0]}" that differ; rename one of them, or '
                "drop the index by reset_index(drop=True)."
            )
        return frame.reset_index([label for label in index.names if label not in taken]), []
    if len(index.names) > 1 or index.dtype.kind not in "iu":
        raise DataError(
            f'table "{name}" has an index without a name; if it holds the key, name it (frame.index.name = '
            '"id"), else drop it by reset_index(drop=True).'
        )
    if np.array_equal(index.to_numpy(), np.arange(len(index))):
        return frame, []
    return frame, [
        Notice(
            f'table "{name}": its index has no name and is not used; if it holds the key, name it '
            '(frame.index.name = "id").'
        )
    ]


def _repeats_a_name(frame: Any) -> bool:
    # Arrow's ``columns`` are the columns themselves, not their names.
    labels = list(getattr(frame, "column_names", getattr(frame, "columns", ())))
    return len(set(map(str, labels))) < len(labels)


def _column(name: str, series: Any) -> tuple[Column | None, Notice | None]:
    import narwhals as nw

    dtype = series.dtype
    if isinstance(dtype, nw.Unknown) and series.is_null().all():
        return value_column(name, [None] * len(series))
    if dtype.is_integer() or dtype.is_float():
        missing = series.is_null()
        if missing.any():
            return number_column(name, series.fill_null(0).to_numpy(), missing.to_numpy()), None
        return number_column(name, series.to_numpy()), None
    if dtype == nw.Boolean:
        missing = series.is_null()
        return boolean_column(name, series.fill_null(False).to_numpy(), missing.to_numpy()), None
    if dtype == nw.Date:
        return moment_column(name, series.cast(nw.Datetime("us")).to_numpy()), None
    if isinstance(dtype, nw.Datetime):
        if dtype.time_zone is not None:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return moment_column(name, np.asarray(series.to_numpy(), dtype="datetime64[us]")), None
    if isinstance(dtype, nw.String | nw.Categorical | nw.Enum | nw.Object | nw.Decimal):
        try:
            return value_column(name, series.to_list())
        except DataError as error:
            return None, Notice(f'column "{name}" is not used: {error.message}')
    return None, None
