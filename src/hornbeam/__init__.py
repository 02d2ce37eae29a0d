"""Relational logistic regression: readable clauses, exact counts, boosted."""

from importlib import import_module
from typing import TYPE_CHECKING

# Not late like the others: once imported, the package hornbeam.load would hide the function.
from hornbeam.load import load
from hornbeam.version import __version__

if TYPE_CHECKING:
    from hornbeam import datasets
    from hornbeam.database import Database
    from hornbeam.errors import HornbeamError, HornbeamWarning
    from hornbeam.estimators import (
        AggLRClassifier,
        IlpRLRClassifier,
        MLNBoostClassifier,
        RDNBoostClassifier,
        RLRClassifier,
    )
    from hornbeam.model import Model
    from hornbeam.model_json import load_model, save_model
    from hornbeam.options import FitOptions

__all__ = [
    "AggLRClassifier",
    "Database",
    "FitOptions",
    "HornbeamError",
    "HornbeamWarning",
    "IlpRLRClassifier",
    "MLNBoostClassifier",
    "Model",
    "RDNBoostClassifier",
    "RLRClassifier",
    "__version__",
    "datasets",
    "load",
    "load_model",
    "save_model",
]

_HOMES = {
    "AggLRClassifier": "hornbeam.estimators",
    "Database": "hornbeam.database",
    "FitOptions": "hornbeam.options",
    "HornbeamError": "hornbeam.errors",
    "HornbeamWarning": "hornbeam.errors",
    "IlpRLRClassifier": "hornbeam.estimators",
    "MLNBoostClassifier": "hornbeam.estimators",
    "Model": "hornbeam.model",
    "RDNBoostClassifier": "hornbeam.estimators",
    "RLRClassifier": "hornbeam.estimators",
    "load_model": "hornbeam.model_json",
    "save_model": "hornbeam.model_json",
}


def __getattr__(name: str) -> object:
    """Public names are imported when first used: scikit-learn alone takes a second."""
    if name == "datasets":
        return import_module("hornbeam.datasets")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
