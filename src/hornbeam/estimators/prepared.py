"""The data and the engine of a fitted estimator, kept between predictions.

To read the data under the schema of a model and to build the indexes of an engine takes much longer than to
predict one row. Only the engine in this process is kept: its memory is bounded, and it holds no connection.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import NamedTuple

from hornbeam.data.database import Database, Notice
from hornbeam.engines.contract import Engine
from hornbeam.engines.registry import DEFAULT_ENGINE, open_engine
from hornbeam.model.files import LearnedModel
from hornbeam.model.predict import data_for


class Ready(NamedTuple):
    """An engine on the data under the schema of a model, and what to tell the user of the data."""

    engine: Engine
    notices: tuple[Notice, ...]


class Prepared:
    """The last engine that predictions used. Threads take turns."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._asked: tuple[LearnedModel, Database, int] | None = None
        self._opened: Ready | None = None

    @contextmanager
    def opened(self, model: LearnedModel, database: Database, engine: str, memory: int) -> Iterator[Ready]:
        """The engine for a model on some data: the last one if it was for the same."""
        if engine != DEFAULT_ENGINE or database.tables is not None:
            yield _opened(model, database, engine, memory)
            return
        with self._lock:
            asked = self._asked
            if asked is None or asked[0] is not model or asked[1] is not database or asked[2] != memory:
                self._asked, self._opened = None, None
                self._opened = _opened(model, database, engine, memory)
                self._asked = (model, database, memory)
            assert self._opened is not None
            yield self._opened


def _opened(model: LearnedModel, database: Database, engine: str, memory: int) -> Ready:
    seen, notices = data_for(model, database)
    return Ready(open_engine(engine, seen, memory), notices)
