"""Downloads a data set and checks its files; the folder appears when it is complete, or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hornbeam.datasets.catalogue import DataSet
from hornbeam.datasets.download import OnProgress, download
from hornbeam.datasets.places import VARIABLE, cache_folder, differing, find, sha256_of
from hornbeam.errors import DataError
from hornbeam.files import TEMPORARY, locked


def get(data: DataSet, on_progress: OnProgress | None = None, *, pause: float = 1.0) -> Path:
    """The folder of a data set on this machine: an existing one is checked, a missing one downloaded.

    If a file in ``HORNBEAM_DATA`` differs from the published one, that is an error; if one in the cache
    differs, the data set is downloaded again.
    """
    if not data.folder:
        raise DataError(f'data set "{data.name}" is generated: there is nothing to download.')
    folder = find(data)
    if folder is not None:
        wrong = next(differing(data, folder), None)
        if wrong is None:
            return folder
        if folder.parent != cache_folder():
            raise DataError(
                f'{folder / wrong} has another SHA-256 than the published file of data set "{data.name}"; '
                f"replace it, or remove {VARIABLE} from the environment to download a copy."
            )
    if not data.url:
        raise DataError(
            f'data set "{data.name}" is not on this machine, and Hornbeam knows no archive of it; get it '
            f"from {data.homepage} and set {VARIABLE} to the folder that holds its folder {data.folder}."
        )
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    archive = cache / f"{data.folder}.zip"
    with locked(cache / f".{data.folder}.lock", f'data set "{data.name}" is being downloaded'):
        try:
            download(data.url, archive, on_progress, pause=pause)
        except DataError as error:
            raise DataError(
                f'data set "{data.name}" is not on this machine, and {error.message.rstrip(".")}; or get it '
                f"from {data.homepage} and set {VARIABLE} to the folder that holds its folder {data.folder}."
            ) from None
        try:
            _unpack(data, archive, cache / data.folder)
        finally:
            # Delete the archive: otherwise the next call would use the same wrong content.
            archive.unlink(missing_ok=True)
    return cache / data.folder


def _unpack(data: DataSet, archive: Path, folder: Path) -> None:
    with _appearing(folder) as unfinished:
        try:
            with zipfile.ZipFile(archive) as content:
                names = content.namelist()
                for name, pin in data.files.items():
                    member = content.read(_member(names, name, data))
                    if sha256_of(member) != pin:
                        raise DataError(
                            f"{name} in {data.url} has the SHA-256 {sha256_of(member)}, not {pin}: it is not "
                            f'the published file of data set "{data.name}"; nothing was kept.'
                        )
                    path = unfinished / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(member)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise DataError(
                f"{data.url} is damaged or not an archive ({error}); nothing was kept: try again."
            ) from None


def _member(names: list[str], wanted: str, data: DataSet) -> str:
    """The name of a file inside the archive, which may put folders of its own around it."""
    matching = [name for name in names if f"/{name}".endswith(f"/{wanted}")]
    if len(matching) != 1:
        how_many = "lacks" if not matching else "has more than one"
        raise DataError(
            f'{data.url} {how_many} {wanted}: it is not the published archive of data set "{data.name}"; '
            "nothing was kept."
        )
    return matching[0]


@contextmanager
def _appearing(folder: Path) -> Iterator[Path]:
    """A new folder to fill: it replaces ``folder`` at the end, and is removed if an error occurs."""
    unfinished = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}{TEMPORARY}")
    unfinished.mkdir()
    try:
        yield unfinished
        if folder.exists():
            replaced = unfinished.with_name(unfinished.name + ".old")
            os.rename(folder, replaced)  # noqa: PTH104 - a folder, and not to be moved into another
            os.rename(unfinished, folder)  # noqa: PTH104
            shutil.rmtree(replaced)
        else:
            os.rename(unfinished, folder)  # noqa: PTH104
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
