"""The keys in what users pass as X: a list of keys, rows of keys, or a data frame that has them somewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hornbeam.data.keys import is_frame
from hornbeam.errors import DataError

CUTOFF = "cutoff"
"""The column of a frame that holds cut-offs, if the facts have times."""


def with_keys_only(X: Any, names: Sequence[str], has_times: bool) -> Any:
    """X with one column per argument of the target, whose key columns have these names.

    A list of keys becomes one column. A data frame may have more columns, or have the keys in its index: the
    columns with the names of the keys are taken, and ``cutoff`` if the facts have times.
    """
    if is_frame(X):
        return _of_frame(X, names, has_times)
    if len(names) != 1 or isinstance(X, str | bytes) or not hasattr(X, "__len__") or not len(X):
        return X
    array = X if isinstance(X, np.ndarray) else np.array(X, dtype=object) if _is_flat(X) else None
    if array is None or array.ndim != 1 or not _are_keys(array):
        return X
    return array.reshape(-1, 1)


def _is_flat(X: Any) -> bool:
    """Whether these are single values, not rows."""
    return hasattr(X, "__array__") or not any(
        hasattr(row, "__len__") and not isinstance(row, str) for row in X
    )


def _are_keys(array: np.ndarray) -> bool:
    """Whether these are texts or whole numbers: a list of other numbers is rather one row of features."""
    if array.dtype.kind in "iuUT":
        return True
    whole = (str, int, np.integer)
    return array.dtype.kind == "O" and all(isinstance(value, whole) for value in array)


def _of_frame(X: Any, names: Sequence[str], has_times: bool) -> Any:
    import narwhals as nw

    index = [name for name in getattr(getattr(X, "index", None), "names", ()) if name is not None]
    columns = _columns(X)
    if len(set(names)) == len(names) and not set(names) <= {*columns} and set(names) <= {*columns, *index}:
        X = X.reset_index([name for name in index if name in names and name not in columns])
        columns = _columns(X)
    if len(set(names)) == len(names) and set(names) <= {*columns}:
        wanted = [*names, *([CUTOFF] if has_times and CUTOFF in columns and CUTOFF not in names else [])]
        return X if columns == wanted else nw.from_native(X, eager_only=True).select(wanted).to_native()
    if len(columns) not in (len(names), len(names) + has_times):
        shown = ", ".join([*map(str, columns[:8]), *(["..."] if len(columns) > 8 else [])])
        missing = " and ".join(names)
        raise DataError(f"X has the columns {shown}, but no {missing}; give the key columns these names.")
    return X


def _columns(X: Any) -> list[Any]:
    # Arrow's ``columns`` are the columns themselves, not their names.
    return list(getattr(X, "column_names", getattr(X, "columns", ())))
