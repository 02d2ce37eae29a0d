"""Locks on files: they end with the process that holds them, even by a crash."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from hornbeam.errors import DataError, Place

if sys.platform == "win32":

    def lock(file: BinaryIO) -> None:
        """Lock an open file, until it is closed; ``OSError`` if another process holds the lock."""
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:

    def lock(file: BinaryIO) -> None:
        """Lock an open file, until it is closed; ``OSError`` if another process holds the lock."""
        import fcntl

        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Hold a lock file that only one process can hold at a time.

    If another process holds it, raise a ``DataError`` whose message starts with ``busy``. The lock is
    released when the block or the process ends, even by a crash. The empty lock file stays.
    """
    with path.open("ab") as file:
        try:
            lock(file)
        except OSError:
            raise DataError(f"{busy} by another process; wait for it to end.", Place(str(path))) from None
        yield
