"""Where data sets are on this machine: ``HORNBEAM_DATA``, then the user's cache."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from hornbeam.datasets.catalogue import DataSet

VARIABLE = "HORNBEAM_DATA"
"""The environment variable that names a folder with data sets."""


def cache_folder() -> Path:
    """The folder for downloads, in the system's place for a user's caches."""
    if sys.platform == "win32":
        home = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        home = Path.home() / "Library" / "Caches"
    else:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "hornbeam" / "datasets"


def roots() -> tuple[Path, ...]:
    """Folders that may hold data sets, in the order in which they are searched."""
    named = os.environ.get(VARIABLE)
    return (*((Path(named),) if named else ()), cache_folder())


def find(data: DataSet) -> Path | None:
    """The folder that has all files of a data set, or None; the content of the files is not checked."""
    for root in roots():
        folder = root / data.folder
        if data.folder and all((folder / name).is_file() for name in data.files):
            return folder
    return None


def differing(data: DataSet, folder: Path) -> Iterator[str]:
    """The files of a data set that are missing in a folder, or whose content is not the pinned one."""
    for name, pin in data.files.items():
        path = folder / name
        if not path.is_file() or sha256_of(path.read_bytes()) != pin:
            yield name


def sha256_of(content: bytes) -> str:
    """The SHA-256 of bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()
