"""A connection runs SQL in one system and owns the temporary tables that it makes there."""

from __future__ import annotations

import os
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any
from weakref import WeakSet

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from hornbeam.engines.sql.expressions import Dialect
from hornbeam.errors import EngineError

Values = npt.NDArray[Any]


_connections: WeakSet[Connection] = WeakSet()
_inherited: list[Connection] = []
"""What a forked process found: not even to be forgotten, which would close what is another's."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _inherited.extend(_connections))


class Connection(ABC):
    """Runs SQL somewhere. Tables that it makes are temporary and have names of our own."""

    dialect: Dialect

    def __init__(self) -> None:
        self._prefix = f"hornbeam_{uuid.uuid4().hex[:12]}"
        self._names = 0
        self._process = os.getpid()
        _connections.add(self)

    @property
    def inherited(self) -> bool:
        """Whether it belongs to a process that this one was forked from: then it is not for use here."""
        return self._process != os.getpid()

    def new_name(self) -> str:
        """A name that no other table has, of this connection, of another one, or of the user."""
        self._names += 1
        return f"{self._prefix}_{self._names}"

    @abstractmethod
    def create(self, name: str, query: exp.Select) -> None:
        """A table with the rows of a query."""

    @abstractmethod
    def load(self, name: str, columns: Mapping[str, Values]) -> None:
        """A table from columns of integers or text."""

    @abstractmethod
    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query that has few."""

    @abstractmethod
    def integers(self, query: str, columns: int) -> list[npt.NDArray[np.int64]]:
        """The columns of a query, so many, all of int64 and without NULL."""

    @abstractmethod
    def columns(self, query: str) -> list[tuple[str, str]]:
        """The names and types of the columns of a query, as the system writes them; nothing is run."""

    @abstractmethod
    def drop(self, name: str) -> None:
        """Remove a table of ours, if it is there."""

    def give_back(self, names: Iterable[str]) -> None:
        """Remove tables at the end; a connection that is gone has removed them itself."""
        for name in names:
            with suppress(EngineError):
                self.drop(name)

    @abstractmethod
    def close(self) -> None:
        """Remove every table of ours and let go of the connection where it is our own."""
