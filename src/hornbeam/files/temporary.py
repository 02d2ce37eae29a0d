"""Temporary folders: what a killed process leaves behind, the next process removes."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import weakref
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from hornbeam.errors import DataError, Place
from hornbeam.files.locks import lock

FOLDER_PREFIX = "hornbeam-"
"""How the names of temporary folders begin."""
_IN_USE = "in-use"
"""A file in each temporary folder, locked as long as its process runs."""


class TemporaryFolder:
    """A new folder, removed at the end of a ``with`` block, by ``remove``, or at the end of the process."""

    def __init__(self, parent: Path | None = None) -> None:
        """``parent`` is where the folder is created (default: the temporary folder of the system)."""
        place = parent
        try:
            place = Path(tempfile.gettempdir()) if parent is None else parent
            place.mkdir(parents=True, exist_ok=True)
            remove_leftover_folders(place)
            self._keep(place)
        except OSError as error:
            if place is None:  # the system has no folder for temporary files at all
                raise DataError(
                    f"no temporary folder can be created ({error.strerror or error}); "
                    "set TMPDIR to a folder that you may write to."
                ) from error
            raise DataError(
                f"no temporary folder can be created there ({error.strerror or error}); "
                "name a folder that you may write to.",
                Place(str(place)),
            ) from error

    def _keep(self, parent: Path) -> None:
        """Create the folder and lock it."""
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX, dir=parent))
            try:
                file = (self.path / _IN_USE).open("xb")
            except FileNotFoundError:
                continue
            with contextlib.suppress(OSError):  # a file system without locks, where leftovers stay
                lock(file)
            if os.fstat(file.fileno()).st_nlink:
                self._end = weakref.finalize(self, _remove, self.path, file, os.getpid())
                return
            file.close()  # another process took it for a leftover before it was locked

    def remove(self) -> None:
        """Remove the folder and all that is in it."""
        self._end()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def _remove(folder: Path, file: BinaryIO, process: int) -> None:
    file.close()
    if os.getpid() == process:  # not in a process that was forked off
        shutil.rmtree(folder, ignore_errors=True)


@lru_cache(maxsize=16)
def remove_leftover_folders(parent: Path) -> None:
    """Remove the folders of killed processes of this user, once per process and place."""
    if os.name != "posix":
        return
    for folder in parent.glob(f"{FOLDER_PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.lstat().st_uid == os.getuid() and not folder.is_symlink():
                with (folder / _IN_USE).open("r+b") as file:
                    lock(file)
                    (folder / _IN_USE).unlink()
                    shutil.rmtree(folder, ignore_errors=True)
