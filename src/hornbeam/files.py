"""Files: written as a whole or not at all, locked, in temporary folders, and their names quoted in SQL.

A reader, or a run after a crash, sees either the old content or the new content. Locks end with the process
that holds them.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from types import TracebackType
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


def quoted(name: str) -> str:
    """An identifier quoted as in standard SQL, whatever characters it contains.

    >>> print(quoted('a"; DROP TABLE users; --'))
    "a""; DROP TABLE users; --"
    """
    if "\0" in name:
        raise DataError(f"{name!r} cannot be the name of a table or column: it contains a zero character.")
    return '"' + name.replace('"', '""') + '"'


def quoted_path(names: Sequence[str]) -> str:
    """A name with its schema, each part quoted.

    >>> print(quoted_path(["public", "users"]))
    "public"."users"
    """
    return ".".join(map(quoted, names))


def quoted_text(text: str) -> str:
    """A text literal in standard SQL, for statements that take no parameters.

    >>> print(quoted_text("it's here"))
    'it''s here'
    """
    return "'" + text.replace("'", "''") + "'"


OWN_TABLES = "hornbeam_([0-9a-f]{12})_[0-9]+"
"""The names of tables that Hornbeam creates in a user's database: they are never read as data."""


def own_table(mark: str, number: int) -> str:
    """The name of a table of our own, by the mark of its connection.

    >>> own_table("00c0ffee0123", 7)
    'hornbeam_00c0ffee0123_7'
    """
    return f"hornbeam_{mark}_{number}"


NO_OTHER_FILES = "SET enable_external_access = false"
"""After it DuckDB reads only the files that it has attached, and its own temporary files."""
_PATTERN = re.compile(r"[*?[]")
"""Characters that make DuckDB take a path for a pattern of many files."""


def one_file(path: Path) -> str:
    """The path of one file for DuckDB's ``read_csv`` and ``read_parquet``, which take patterns of paths.

    >>> print(one_file(Path("/data[1]/users*.csv")))
    /data[[]1]/users[*].csv
    """
    text = _absolute(path)
    if not _PATTERN.search(text):
        return text
    if _has_backslash(text):
        raise DataError(
            f'DuckDB cannot read "{text}": a path must not contain a backslash together with *, ? or [; '
            "rename the file or its folder."
        )
    return _PATTERN.sub(lambda found: f"[{found[0]}]", text)


def database_file(path: Path) -> str:
    """The path of a database for DuckDB's ``ATTACH``, which takes \\ for / and ? for the end of the path."""
    text = _absolute(path)
    if "?" in text or _has_backslash(text):
        raise DataError(
            f'DuckDB cannot read "{text}": the path of a database must not contain a backslash or ?; '
            "rename the file or its folder."
        )
    return text


def _absolute(path: Path) -> str:
    """The absolute path: DuckDB takes ``~/a``, ``:memory:`` and ``md:a`` for something else than a file."""
    text = str(path.absolute())
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError(
            f"DuckDB cannot read {text!r}: the path is not UTF-8; rename the file or its folder."
        ) from None
    return text


def _has_backslash(path: str) -> bool:
    """Whether a name in a path has a backslash, which separates names on Windows."""
    return os.sep != "\\" and "\\" in path


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
