"""The data sets by name: where they come from, their targets, and how they are divided into folds.

``checksums.json`` pins each file, not the archive that contains it: the same files in another archive are the
same data. The pinned files are those that the published study was reproduced with.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from hornbeam.errors import DataError, did_you_mean

_SRLEARN = "https://github.com/srlearn/datasets"
_RELEASE = _SRLEARN + "/releases/download/v0.0.6/{name}_v0.0.6.zip"
_GROUPLENS = "https://files.grouplens.org/datasets/movielens/ml-100k.zip"


@dataclass(frozen=True, slots=True)
class FoldFolders:
    """A folder for each fold, with training and test data inside."""

    pattern: str


@dataclass(frozen=True, slots=True)
class OneFolder:
    """One folder with training and test data."""


@dataclass(frozen=True, slots=True)
class RatingTables:
    """The tables of MovieLens 100K, converted to facts; users are divided into folds."""


@dataclass(frozen=True, slots=True)
class SmokersWorld:
    """A generated world of smokers; persons are divided into folds."""

    n_persons: int
    seed: int


@dataclass(frozen=True, slots=True)
class UniversityWorld:
    """A generated university; pairs of a student and a professor are divided into folds."""

    n_departments: int
    seed: int


Layout = FoldFolders | OneFolder | RatingTables | SmokersWorld | UniversityWorld


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set by name."""

    name: str
    title: str
    target: str
    n_folds: int
    layout: Layout
    folder: str = ""
    """its folder in ``HORNBEAM_DATA`` and in the cache; empty if it is generated"""
    homepage: str = ""
    licence: str = ""
    url: str = ""
    """the public archive; empty if none is known"""
    files: Mapping[str, str] = field(default_factory=dict, hash=False)
    """the SHA-256 of each file, by its path in the folder"""


@cache
def _checksums() -> dict[str, dict[str, str]]:
    text = files("hornbeam.datasets").joinpath("checksums.json").read_text(encoding="utf-8")
    checksums: dict[str, dict[str, str]] = json.loads(text)
    return checksums


def _srlearn(
    name: str, title: str, target: str, n_folds: int, layout: Layout, url: str = _RELEASE
) -> DataSet:
    pins = _checksums()[name]
    return DataSet(name, title, target, n_folds, layout, name, _SRLEARN, "MIT", url.format(name=name), pins)


@cache
def data_sets() -> Mapping[str, DataSet]:
    """Every data set by name."""
    each = (
        DataSet("smokes", "Smokes-Cancer-Friends", "cancer", 4, SmokersWorld(4000, seed=0)),
        _srlearn("imdb", "IMDB", "workedunder", 5, FoldFolders("Fold{}"), url=""),
        _srlearn("uwcse", "UW-CSE, by research area", "advisedby", 5, FoldFolders("fold{}")),
        DataSet(
            "movielens",
            "MovieLens 100K as facts",
            "female",
            5,
            RatingTables(),
            "movielens_100k",
            "https://grouplens.org/datasets/movielens/100k/",
            "research use, no redistribution",
            _GROUPLENS,
            _checksums()["movielens_100k"],
        ),
        _srlearn("webkb", "WebKB, by university", "faculty", 4, FoldFolders("fold{}")),
        _srlearn("toy_cancer", "toy: smoking friends", "cancer", 1, OneFolder()),
        _srlearn("toy_father", "toy: family relations", "father", 1, OneFolder()),
        _srlearn("toy_machines", "toy: worn parts of machines", "machine", 1, OneFolder()),
    )
    return MappingProxyType({data.name: data for data in each})


def data_set(name: str) -> DataSet:
    """The data set with this name; for an unknown name, the error lists the known ones.

    >>> data_set("uwcse").target
    'advisedby'
    >>> data_set("uwcs")
    Traceback (most recent call last):
    hornbeam.errors.DataError: no data set "uwcs". Data sets are: imdb, movielens, smokes, toy_cancer, \
toy_father, toy_machines, uwcse, webkb. Did you mean "uwcse"?
    """
    data = data_sets().get(name.lower())
    if data is None:
        raise DataError(f'no data set "{name}". {did_you_mean(name, data_sets(), "Data sets")}')
    return data
