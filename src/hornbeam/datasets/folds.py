"""The training and test data of a fold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Database
from hornbeam.datasets.catalogue import (
    DataSet,
    FoldFolders,
    OneFolder,
    RatingTables,
    SmokersWorld,
    UniversityWorld,
)
from hornbeam.datasets.movielens import as_facts
from hornbeam.datasets.worlds import smokers, university
from hornbeam.errors import OptionError
from hornbeam.files import TemporaryFolder
from hornbeam.loading import load


class Fold(NamedTuple):
    """Data to learn from, and data to test on."""

    train: Database
    test: Database


def fold_of(data: DataSet, number: int, folder: Path | None) -> Fold:
    """One fold, counted from 1; ``folder`` holds the files of the data set, if it has any."""
    if number not in range(1, data.n_folds + 1):
        raise OptionError(f'fold={number} is refused: data set "{data.name}" has folds 1 to {data.n_folds}.')
    match data.layout:
        case SmokersWorld(n_persons, seed):
            return dealt(smokers(n_persons, seed), data.target, data.n_folds, number)
        case UniversityWorld(n_departments, seed):
            return dealt(university(n_departments, seed), data.target, data.n_folds, number)
        case RatingTables():
            assert folder is not None
            return dealt(_movielens(folder), data.target, data.n_folds, number)
        case FoldFolders(pattern):
            assert folder is not None
            return _splits(folder / pattern.format(number))
        case OneFolder():
            assert folder is not None
            return _splits(folder)


def dealt(database: Database, target: str, n_folds: int, number: int) -> Fold:
    """Test data with one share of the examples, training data with the others; both have all facts."""
    examples = database.examples_of(target)
    tested = stratified(examples.labels, n_folds) == number - 1

    def only(rows: npt.NDArray[np.bool_]) -> Database:
        chosen = replace(examples, keys=examples.keys[rows], labels=examples.labels[rows])
        return replace(database, example_sets=MappingProxyType({examples.target: chosen}))

    return Fold(only(~tested), only(tested))


def stratified(labels: npt.NDArray[np.int8], n_folds: int, seed: int = 0) -> npt.NDArray[np.int64]:
    """The fold of each example, counted from 0; both labels are spread evenly over the folds.

    >>> stratified(np.array([1, 1, 0, 0, 0, 0], dtype=np.int8), 2).tolist()
    [1, 0, 0, 0, 1, 1]
    """
    folds = np.empty(len(labels), dtype=np.int64)
    rng = np.random.default_rng(seed)
    for label in (0, 1):
        rows = np.flatnonzero(labels == label)
        folds[rows] = rng.permutation(len(rows)) % n_folds
    return folds


def _splits(folder: Path) -> Fold:
    return Fold(load(folder, "train"), load(folder, "test"))


def _movielens(tables: Path) -> Database:
    """MovieLens as a database; the facts go through files, so that they are read like all other facts."""
    with TemporaryFolder() as folder:
        for name, text in as_facts(tables)._asdict().items():
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")
        return load(folder)
