"""Relational logistic regression: readable clauses, exact counts, boosted."""

from importlib import import_module
from typing import TYPE_CHECKING

from hornbeam.version import __version__

if TYPE_CHECKING:
    from hornbeam import datasets
    from hornbeam.data.database import Database
    from hornbeam.errors import HornbeamError, HornbeamWarning
    from hornbeam.estimators.functions import count, evaluate
    from hornbeam.estimators.joint import JointClassifier
    from hornbeam.estimators.learners import (
        AggLRClassifier,
        IlpRLRClassifier,
        MLNBoostClassifier,
        RDNBoostClassifier,
        RLRClassifier,
        RLRRegressor,
    )
    from hornbeam.in_place.load import load
    from hornbeam.learning.options import EffectOptions, PaperOptions
    from hornbeam.loading.events.examples import examples
    from hornbeam.model.clause_model import Model
    from hornbeam.model.files import load_model, save_model
    from hornbeam.policies.environments.named import environment
    from hornbeam.policies.policy import RelationalPolicy
    from hornbeam.policies.worlds import worlds

__all__ = [
    "AggLRClassifier",
    "Database",
    "EffectOptions",
    "HornbeamError",
    "HornbeamWarning",
    "IlpRLRClassifier",
    "JointClassifier",
    "MLNBoostClassifier",
    "Model",
    "PaperOptions",
    "RDNBoostClassifier",
    "RLRClassifier",
    "RLRRegressor",
    "RelationalPolicy",
    "__version__",
    "count",
    "datasets",
    "environment",
    "evaluate",
    "examples",
    "load",
    "load_model",
    "save_model",
    "worlds",
]

_HOMES = {
    "AggLRClassifier": "hornbeam.estimators.learners",
    "Database": "hornbeam.data.database",
    "EffectOptions": "hornbeam.learning.options",
    "HornbeamError": "hornbeam.errors",
    "HornbeamWarning": "hornbeam.errors",
    "IlpRLRClassifier": "hornbeam.estimators.learners",
    "JointClassifier": "hornbeam.estimators.joint",
    "MLNBoostClassifier": "hornbeam.estimators.learners",
    "Model": "hornbeam.model.clause_model",
    "PaperOptions": "hornbeam.learning.options",
    "RDNBoostClassifier": "hornbeam.estimators.learners",
    "RLRClassifier": "hornbeam.estimators.learners",
    "RLRRegressor": "hornbeam.estimators.learners",
    "RelationalPolicy": "hornbeam.policies.policy",
    "count": "hornbeam.estimators.functions",
    "environment": "hornbeam.policies.environments.named",
    "evaluate": "hornbeam.estimators.functions",
    "examples": "hornbeam.loading.events.examples",
    "load": "hornbeam.in_place.load",
    "load_model": "hornbeam.model.files",
    "save_model": "hornbeam.model.files",
    "worlds": "hornbeam.policies.worlds",
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
