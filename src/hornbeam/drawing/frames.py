"""Columns as a data frame, for notebooks and programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hornbeam.errors import EngineError

if TYPE_CHECKING:
    import pandas


def frame_of(columns: Mapping[str, Sequence[object]]) -> pandas.DataFrame:
    """A data frame of pandas, which is imported here because nothing else needs it."""
    try:
        import pandas
    except ImportError:
        raise EngineError(
            "a data frame needs pandas, which is not installed: run pip install pandas."
        ) from None
    return pandas.DataFrame(dict(columns))
