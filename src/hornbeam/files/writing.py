"""Output files, written as a whole or not at all.

A reader, or a run after a crash, sees either the old content or the new content.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from hornbeam.errors import DataError, Place
from hornbeam.files.locks import lock

TEMPORARY = ".hornbeam-tmp"
"""The suffix of files that are being written. What a killed run leaves, the next writer removes."""


def write_file(path: str | Path, content: str | bytes | Iterable[str]) -> None:
    """Write a file atomically: write a new file in the same folder, sync it, rename it over the old one.

    Text is written as UTF-8, with line ends as given; an iterable of texts is written piece by piece. A path
    that is not a plain file (a pipe, ``/dev/stdout``) is written directly. A failure leaves the old file
    as it was.
    """
    try:
        # Renaming over a link would replace the link, not the file behind it.
        place = resolved(Path(path))
        if place.exists() and not place.is_file():
            if place.is_dir():
                raise IsADirectoryError("it is a folder")
            with place.open("wb") as file:
                _write(file, content)
            return
        _replace(place, content)
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(
            f"cannot be written ({reason}); name a file in an existing folder that you may write to.",
            Place(str(path)),
        ) from error


def resolved(path: Path) -> Path:
    """The path with all links followed; a circle of links is an ``OSError`` in every version of Python."""
    try:
        return path.resolve(strict=False)
    except RuntimeError:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None


def _replace(place: Path, content: str | bytes | Iterable[str]) -> None:
    remove_leftovers(place.parent, place.name)
    file, temporary = _new_temporary(place)
    try:
        with file:
            _write(file, content)
            file.flush()
            os.fsync(file.fileno())
            if place.exists():
                temporary.chmod(place.stat().st_mode & 0o7777)
            if os.name == "posix":
                # Renamed before the lock ends, so that nobody takes it for a leftover.
                temporary.replace(place)
        if os.name != "posix":
            temporary.replace(place)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(place.parent)


def _new_temporary(place: Path) -> tuple[BinaryIO, Path]:
    """A new file next to a place, locked as long as it is open, and its path."""
    while True:
        temporary = place.with_name(f".{place.name}.{os.urandom(4).hex()}{TEMPORARY}")
        # Not tempfile: only their owner could read the files that it creates.
        file = temporary.open("xb")
        if os.name != "posix":
            return file, temporary
        taken = False
        try:
            lock(file)
        except BlockingIOError:
            taken = True
        except OSError:  # a file system without locks, where nobody removes leftovers
            pass
        if not taken and os.fstat(file.fileno()).st_nlink:
            return file, temporary
        file.close()  # another process took it for a leftover before it was locked, and removes it


def _write(file: BinaryIO, content: str | bytes | Iterable[str]) -> None:
    if isinstance(content, bytes):
        file.write(content)
    elif isinstance(content, str):
        file.write(content.encode())
    else:
        for piece in content:
            file.write(piece.encode())


def _sync_folder(folder: Path) -> None:
    """Make the rename itself survive a crash, where the system can sync a folder."""
    if os.name != "posix":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(number)
    finally:
        os.close(number)


def remove_leftovers(folder: Path, name: str) -> None:
    """Remove temporary files that killed runs left when they wrote ``name`` in a folder.

    A file that another process is writing is locked, and stays.
    """
    for leftover in folder.glob(f".{glob.escape(name)}.*{TEMPORARY}"):
        with contextlib.suppress(OSError), leftover.open("ab") as file:
            lock(file)
            leftover.unlink()
