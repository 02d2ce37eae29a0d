"""The data that a command names: a path, a connection, or a data set by name.

A path that exists takes precedence over a name. ``uwcse`` is the first fold of a data set, and
``uwcse/fold3`` the third.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hornbeam.cli.command import looks_like_target
from hornbeam.cli.flags import Counting, CountingInPlace, Source
from hornbeam.errors import DataError, OptionError

if TYPE_CHECKING:
    from hornbeam.data.database import Database
    from hornbeam.datasets import DataSet

TRAIN, TEST = "train", "test"
_NAME = re.compile(r"(?P<name>[^/]+)(?:/fold(?P<fold>[0-9]+))?", re.IGNORECASE)


@dataclass(frozen=True)
class MadeFold:
    """A fold that is not a folder of facts: it is generated, or converted from tables."""

    data: DataSet
    number: int
    folder: Path | None

    def __str__(self) -> str:
        return f"{self.data.name}/fold{self.number}"

    def load(self, split: str, options: dict[str, Any]) -> Database:
        """The training or the test data of the fold."""
        from hornbeam.datasets.folds import fold_of

        if split not in (TRAIN, TEST):
            raise OptionError(f'data set "{self.data.name}" has no split "{split}"; it has: {TEST}, {TRAIN}.')
        unusable: dict[str, object] = {"schema": None, "examples": None, "negatives": None}
        unusable |= {"dangling": None, "at_cutoff": None, "as_of": None, "allow_outside": False}
        unusable |= {"missing": None, "views": False}
        for name, usual in unusable.items():
            if options.get(name, usual) not in (usual, "none"):
                flag = name.replace("_", "-")
                raise OptionError(
                    f'--{flag} is refused: data set "{self.data.name}" has its own facts and examples.'
                )
        fold = fold_of(self.data, self.number, self.folder)
        return fold.train if split == TRAIN else fold.test


def located(data: str) -> str | MadeFold:
    """The path or connection of the data that a command names, or a fold to generate or convert."""
    if _exists(data):
        return data
    from hornbeam.datasets import data_sets
    from hornbeam.datasets.places import find

    known = data_sets().get(data.partition("/")[0].lower())
    if known is None:
        return data
    number = _fold_number(known, data)
    folder = find(known)
    if known.folder and folder is None:
        raise DataError(
            f'data set "{known.name}" is not on this machine; to get it, run: '
            f"hornbeam datasets get {known.name}"
        )
    return _fold(known, number, folder)


def _exists(data: str) -> bool:
    try:
        return Path(data).exists()
    except (OSError, ValueError):
        return False


def _fold_number(known: DataSet, data: str) -> int:
    named = _NAME.fullmatch(data)
    number = int(named["fold"] or 1) if named else 0
    if number not in range(1, known.n_folds + 1):
        last = f" to {known.name}/fold{known.n_folds}" if known.n_folds > 1 else ""
        raise DataError(f'no "{data}": data set "{known.name}" has the folds {known.name}/fold1{last}.')
    return number


def _fold(known: DataSet, number: int, folder: Path | None) -> str | MadeFold:
    from hornbeam.datasets.catalogue import FoldFolders, OneFolder

    match known.layout:
        case FoldFolders(pattern) if folder is not None:
            return str(folder / pattern.format(number))
        case OneFolder() if folder is not None:
            return str(folder)
        case _:
            return MadeFold(known, number, folder)


def load_data(
    source: Source, counting: Counting | None = None, usual_split: str = TRAIN, **options: Any
) -> Database:
    """The data of a source: used in place if the verb and the engine allow it, else loaded.

    ``usual_split`` is the split to read if none is named; ``options`` are passed to ``load``.
    """
    from hornbeam.engines.registry import engine_module

    if counting is not None:
        engine_module(counting.engine_name)  # an unknown engine is refused before anything is loaded
    place = located(source.data)
    options = source.table_options() | options
    if isinstance(place, MadeFold):
        return place.load(source.split or usual_split, options)
    with _hint_at_what_was_meant(source.data):
        from hornbeam.in_place.load import load_quietly

        if isinstance(counting, CountingInPlace):
            _ = counting.budget
            options |= {"engine": counting.engine, "memory": counting.stated, **counting.place()}
        return load_quietly(place, source.split, usual_split, **options)


@contextmanager
def _hint_at_what_was_meant(data: str) -> Iterator[None]:
    """If there are no data of this name, add to the error what was probably meant."""
    try:
        yield
    except DataError as error:
        from hornbeam.datasets import data_sets

        if not _exists(data) and looks_like_target(data):
            raise DataError(f"{error} Did you mean --target {data}? DATA comes before it.") from None
        near = difflib.get_close_matches(data.partition("/")[0].lower(), data_sets(), n=1)
        if _exists(data) or not near:
            raise
        raise DataError(f'{error} Did you mean the data set "{near[0]}"?') from None


def data_name(data: str) -> str:
    """The name of the data in a report: the end of the path. A connection is hidden: it may hold a password.

    >>> data_name("postgresql://me:secret@here/shop")
    'a database'
    """
    place = located(data)
    if isinstance(place, MadeFold):
        return str(place)
    return "/".join(Path(place).resolve().parts[-2:]).lstrip("/") if _exists(place) else "a database"


def split_name(source: Source, usual: str) -> str:
    """The split that was read: the one given, else the usual one; empty if the data have no splits."""
    if source.split is not None:
        return source.split
    place = located(source.data)
    has_splits = isinstance(place, MadeFold) or (Path(place) / usual / f"{usual}_facts.txt").exists()
    return usual if has_splits else ""
