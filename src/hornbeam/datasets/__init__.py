"""Public data sets by name. They are looked up on this machine, else downloaded, and loaded fold by fold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hornbeam.datasets.catalogue import DataSet, data_set, data_sets
from hornbeam.datasets.folds import Fold
from hornbeam.datasets.folds import fold_of as _fold_of
from hornbeam.datasets.places import find as _find

if TYPE_CHECKING:
    from hornbeam.datasets.download import OnProgress as _OnProgress

__all__ = ["DataSet", "Fold", "data_set", "data_sets", "load"]


def load(name: str, fold: int = 1, on_progress: _OnProgress | None = None) -> Fold:
    """The training and the test data of one fold of a data set; folds are counted from 1.

    Files come from the folder that the environment variable ``HORNBEAM_DATA`` names, or from the user's
    cache. If neither has them, they are downloaded into the cache and checked.

    >>> train, test = load("smokes", fold=2)
    >>> train
    Database(59,583 facts, 2 predicates, 1 type, examples: cancer (2999))
    >>> test
    Database(59,583 facts, 2 predicates, 1 type, examples: cancer (1001))
    """
    data = data_set(name)
    folder = _find(data) if data.folder else None
    if data.folder and folder is None:
        # Imported late: most commands download nothing, and the modules for it take long to import.
        from hornbeam.datasets.archive import get

        folder = get(data, on_progress)
    return _fold_of(data, fold, folder)
