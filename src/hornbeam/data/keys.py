"""Keys of examples as text, by one rule for arrays, lists and data frames.

A key consists of names of constants. Whole numbers are written without a decimal point, so that 1, 1.0 and
"1" are the same key; text stays as it is; a missing value is refused. Data frames of pandas, polars, Arrow
and others are read through narwhals, which is imported only for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.errors import DataError

Names = npt.NDArray[np.object_]


def key_text(value: object) -> str:
    """The text of one value of a key.

    >>> [key_text(value) for value in (1, 1.0, "1", -0.0, 2.5, "Ann", True)]
    ['1', '1', '1', '0', '2.5', 'Ann', 'true']
    >>> key_text(None)
    Traceback (most recent call last):
    hornbeam.errors.DataError: a key is None: None, NaN and infinity cannot be keys; give each example a key.
    """
    if type(value) is str:
        return value
    if _is_missing(value):
        raise _no_value(value)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real | Decimal):
        return _number_text(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, np.datetime64):
        return str(value)
    raise DataError(f"a key cannot be made of {value!r} ({type(value).__name__}); give text or numbers.")


def _no_value(value: object) -> DataError:
    return DataError(f"a key is {value}: None, NaN and infinity cannot be keys; give each example a key.")


def _is_missing(value: object) -> bool:
    """Whether this is None, NaN, NaT, or NA of pandas, which cannot be compared."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def _number_text(value: Real | Decimal) -> str:
    number = float(value)
    if not np.isfinite(number):
        raise _no_value(value)
    if isinstance(value, Decimal):
        return str(int(value)) if value == value.to_integral_value() else format(value.normalize(), "f")
    return str(int(number)) if number.is_integer() else str(value)


def key_rows(X: Any) -> Names:
    """Rows of keys as text, one column per argument, from an array, a list of rows or a data frame.

    >>> key_rows([[1, "x"], [2.0, "y"]]).tolist()
    [['1', 'x'], ['2', 'y']]
    """
    size, columns = _frame_columns(X) if is_frame(X) else _array_columns(X)
    rows = np.empty((size, len(columns)), dtype=object)
    for position, column in enumerate(columns):
        rows[:, position] = _texts(column)
    return rows


def is_frame(X: Any) -> bool:
    """Whether this is a data frame; the test imports no library of data frames."""
    if isinstance(X, np.ndarray | list | tuple) or type(X).__module__.startswith("scipy."):
        return False
    # Look at the type, not at the frame: a lazy frame warns if it is asked for its columns.
    return any(hasattr(type(X), name) for name in ("__narwhals_dataframe__", "columns", "column_names"))


def _frame_columns(X: Any) -> tuple[int, list[Iterable[object]]]:
    """The number of rows, and the columns."""
    import narwhals as nw

    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError:
        raise DataError(
            f"X is a {type(X).__name__}, which cannot be read as a data frame; "
            "collect it first, or give an array."
        ) from None
    return frame.shape[0], [frame[:, position].to_list() for position in range(frame.shape[1])]


def _array_columns(X: Any) -> tuple[int, list[Iterable[object]]]:
    """The number of rows, and the columns."""
    if type(X).__module__.startswith("scipy.sparse"):
        raise DataError("X is a sparse matrix, but keys must be a dense array with one column per argument.")
    if isinstance(X, np.ndarray):
        array = X
    else:
        # As objects: NumPy would turn a row of numbers and text into text by its own rule.
        try:
            array = np.array(X if hasattr(X, "__array__") else list(X), dtype=object)
            ragged = array.ndim == 1 and any(isinstance(row, list | tuple) for row in array)
        except (TypeError, ValueError):
            ragged = True
        if ragged:
            raise DataError("X must be rows of equal length, with one column per argument.")
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported: a key is text or a number.")
    if array.ndim != 2:
        raise DataError(
            f"X has {array.ndim} dimensions, but must have two: one row per example and one column per "
            "argument. Reshape your data, for one argument with X.reshape(-1, 1)."
        )
    return array.shape[0], list(array.T)


def _texts(column: Iterable[object]) -> list[str]:
    # Python's own values are faster; short floats and dates keep their type, which decides their text.
    plain = isinstance(column, np.ndarray) and (column.dtype.kind in "iubOU" or column.dtype == np.float64)
    values = column.tolist() if isinstance(column, np.ndarray) and plain else column
    return [value if type(value) is str else _exact_text(value) for value in values]


def _exact_text(value: object) -> str:
    """The text of a key; a float that may stand for several whole numbers is an error."""
    if isinstance(value, float | np.floating):
        digits = np.finfo(value.dtype).nmant + 1 if isinstance(value, np.floating) else 53
        if 2.0 ** min(digits, 53) <= abs(float(value)) < np.inf:
            raise DataError(
                f"a key is {value!r}, a floating-point number too large to tell neighbouring whole numbers "
                "apart; give whole numbers or text."
            )
    return key_text(value)
