"""A connection runs SQL in one system and owns the temporary tables that it makes there."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Protocol
from weakref import WeakSet

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from hornbeam.engines.sql.expressions import Dialect
from hornbeam.errors import EngineError
from hornbeam.files import own_table

Values = npt.NDArray[Any]
"""A column of integers, text, or other values of a database."""

_connections: WeakSet[Connection] = WeakSet()
_inherited: list[Connection] = []
"""Connections inherited through fork. They stay referenced: garbage collection would close the parent's."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _inherited.extend(_connections))


class KeptTables(Protocol):
    """Tables that are kept between questions."""

    def close(self) -> None:
        """Drop the tables."""


class Connection(ABC):
    """Runs SQL in one system. The tables that it makes are temporary and have generated names."""

    dialect: Dialect

    def __init__(self) -> None:
        self._mark = os.urandom(6).hex()
        self._names = 0
        self.kept: KeptTables | None = None
        """tables that the next question probably needs again; other questions replace them"""
        self._process = os.getpid()
        _connections.add(self)

    @property
    def inherited(self) -> bool:
        """Whether the connection was inherited through fork; then it must not be used in this process."""
        return self._process != os.getpid()

    def new_name(self) -> str:
        """A name that no other table has, of any connection or of the user."""
        self._names += 1
        return own_table(self._mark, self._names)

    @abstractmethod
    def create(self, name: str, query: exp.Select) -> None:
        """Create a table with the rows of a query."""

    @abstractmethod
    def view(self, query: exp.Select) -> str:
        """Create a view of the rows of a query; returns its name."""

    @abstractmethod
    def load(self, name: str, columns: Mapping[str, Values]) -> None:
        """Create a table from columns of integers or text."""

    @abstractmethod
    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query that returns few rows."""

    @abstractmethod
    def integers(self, query: str, columns: int) -> list[npt.NDArray[np.int64]]:
        """The columns of a query, given their number; all are int64 without NULL."""

    def arrays(self, query: str, columns: int) -> list[Values]:
        """The columns of a query, given their number, whatever their types; NULL is None."""
        rows = self.rows(query)
        listed: list[Any] = list(zip(*rows, strict=True)) if rows else [()] * columns
        # NumPy would make one more dimension of an empty column, or of values that are sequences.
        return [np.array([*column, None], dtype=object)[:-1] for column in listed]

    @abstractmethod
    def columns(self, query: str) -> list[tuple[str, str]]:
        """The names and types of a query's columns, as the system writes them; the query is not run."""

    @abstractmethod
    def drop(self, name: str) -> None:
        """Drop a table that this connection created, if it still exists."""

    def drop_all(self, names: Iterable[str]) -> None:
        """Drop tables at the end; a connection that was lost has dropped them already."""
        for name in names:
            with suppress(EngineError):
                self.drop(name)

    @abstractmethod
    def close(self) -> None:
        """Drop all tables that this connection created; close it unless the user opened it."""
