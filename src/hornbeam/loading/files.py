"""Reading files and folders: their text or entries, or one sentence that says why not."""

from __future__ import annotations

import errno
import os
import stat
from codecs import BOM_UTF8
from pathlib import Path

from hornbeam.errors import DataError, ParseError, Place

_REASONS = {
    errno.ENOENT: "it does not exist",
    errno.ENOTDIR: "it does not exist",
    errno.EISDIR: "it is a folder",
    errno.EACCES: "you may not read it",
    errno.ELOOP: "its links lead in a circle",
    errno.ENAMETOOLONG: "the name is too long",
}


def reason(error: OSError | ValueError) -> str:
    """Why a file or folder cannot be read; a ValueError means that no file can have this name."""
    number = error.errno if isinstance(error, OSError) else None
    return _REASONS.get(number or 0, str(error))


def is_file(path: Path) -> bool:
    """Like ``Path.is_file``, but False where that raises: for a name too long or a folder not readable."""
    return stat.S_ISREG(_mode(path))


def is_folder(path: Path) -> bool:
    """Like ``Path.is_dir``, but False where that raises."""
    return stat.S_ISDIR(_mode(path))


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


def entries(folder: Path) -> list[Path]:
    """The paths in a folder, sorted; empty if it cannot be listed."""
    try:
        return sorted(folder.iterdir())
    except (OSError, ValueError):
        return []


ALLOW_OUTSIDE = "allow_outside=True (--allow-outside)"
"""How a user allows files that are not part of the data."""


def check_inside(folder: Path, path: Path, written_in: Place | None = None) -> None:
    """Refuse a path, written in a file of the data, that leads out of a folder and its parent.

    Someone else may have written the data. Links are not resolved: what they lead to may be anywhere.
    """
    around = Path(os.path.normpath(folder.absolute())).parent
    if not Path(os.path.normpath(path.absolute())).is_relative_to(around):
        raise DataError(
            f'"{path}" is not read, because it is neither in "{folder}" nor in the folder above; move it '
            f"there, or allow such paths by {ALLOW_OUTSIDE}.",
            written_in,
        )


def read_text(path: Path, asked_by: Place | None = None) -> str:
    """The text of a UTF-8 file, without a byte order mark; line ends stay as they are.

    ``asked_by`` is the place that names the file; it is shown if the file cannot be read.
    """
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        raise DataError(
            f'cannot read "{path}": {reason(error)}; name a text file that can be read.', asked_by
        ) from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The decoder counts bytes after the byte order mark.
        offset = error.start + (len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0)
        raise ParseError(_not_utf8(data, offset), _place(path, data, offset)) from None


def _not_utf8(data: bytes, offset: int) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "the file is UTF-16, not UTF-8 text; save it as UTF-8."
    return f"byte {offset + 1} of the file, 0x{data[offset]:02x}, is not UTF-8 text; save the file as UTF-8."


def _place(path: Path, data: bytes, offset: int) -> Place:
    line_start = data.rfind(b"\n", 0, offset) + 1
    column = len(data[line_start:offset].decode("utf-8-sig")) + 1
    return Place(str(path), data.count(b"\n", 0, offset) + 1, column)
