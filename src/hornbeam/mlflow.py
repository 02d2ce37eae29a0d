"""Models in MLflow: save, log and load them, and predict through ``mlflow.pyfunc``.

Needs the extra ``mlflow``. The folder of a model holds the model file, its card, the query in SQL and, if
there are examples, the report. A model asks tables:
``mlflow.pyfunc.load_model(uri, model_config={"data": tables})`` says which, as a dict of data frames or as an
address that ``hb.load`` takes; ``predict`` then takes keys.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from hornbeam.data.keys import is_frame, key_rows
from hornbeam.engines.contract import DEFAULT_MEMORY
from hornbeam.errors import DataError, OptionError
from hornbeam.estimators.base import RelationalEstimator, warn
from hornbeam.estimators.keys import with_keys_only
from hornbeam.estimators.prepared import Prepared
from hornbeam.files import write_file
from hornbeam.in_place.load import load
from hornbeam.loading.tables.learned import key_names
from hornbeam.model import files
from hornbeam.model.clause_model import Model
from hornbeam.model.files import JOINT, LearnedModel, predictions_of
from hornbeam.model.predict import codes_for
from hornbeam.report.card import model_card
from hornbeam.version import __version__

FLAVOR = "hornbeam"
DATA = "data"
"""The entry of ``model_config`` with the tables."""
_MODEL, _REQUIREMENTS, _ENVIRONMENT = "model.json", "requirements.txt", "python_env.yaml"
_METRICS = {"held_out_loss": "held_out_loss", "base_loss": "held_out_loss_of_base_rate"}


def save_model(
    model: Any,
    path: str | Path,
    *,
    X: Any = None,
    y: Any = None,
    data: str | None = None,
    mlflow_model: Any = None,
) -> None:
    """Write a model as a folder that MLflow loads.

    ``model`` is a fitted estimator or its model. With an estimator and the keys ``X``, the folder has a
    signature (what ``predict`` takes and returns) and a report, which shows scores if there are labels ``y``.
    ``data`` is an address of the tables that predictions ask unless a loader names others: without
    passwords, since it is written into the folder.
    """
    with _needed():
        from mlflow.models import Model as Packed
        from mlflow.models import infer_signature
        from mlflow.models.model import MLMODEL_FILE_NAME
        from mlflow.pyfunc import add_to_model

    learned = _learned(model)
    folder = Path(path)
    if folder.exists() and any(folder.iterdir()):
        raise DataError(f'"{folder}" exists and is not empty; name a new folder.')
    folder.mkdir(parents=True, exist_ok=True)
    packed = Packed() if mlflow_model is None else mlflow_model
    files.save_model(learned, folder / _MODEL)
    write_file(folder / "card.md", model_card(learned))
    if isinstance(learned, Model):
        write_file(folder / "model.sql", learned.sql() + "\n")
    if X is not None:
        if not isinstance(model, RelationalEstimator):
            raise OptionError("X is refused without the estimator, which knows the tables of its keys.")
        arity = learned.schema.arity(learned.target)
        keys = with_keys_only(X, key_names(learned.settings, arity), "times" in learned.settings)
        shown = keys if is_frame(keys) else np.asarray(keys)
        packed.signature = infer_signature(shown, _shown(model._predicted(X, None), learned))
        model.report(X, y).save(folder / "report.html")
    write_file(folder / _REQUIREMENTS, f"hornbeam=={__version__}\n")
    python = ".".join(map(str, sys.version_info[:3]))
    write_file(folder / _ENVIRONMENT, f"python: {python}\ndependencies:\n- -r {_REQUIREMENTS}\n")
    packed.add_flavor(FLAVOR, hornbeam_version=__version__, data=_MODEL)
    add_to_model(
        packed,
        loader_module=__name__,
        data=_MODEL,
        python_env=_ENVIRONMENT,
        model_config={DATA: data or ""},
    )
    packed.save(str(folder / MLMODEL_FILE_NAME))


def log_model(
    model: Any, name: str = "model", *, registered_model_name: str | None = None, **given: Any
) -> Any:
    """Log a model to the active run, with what ``save_model`` writes, and its losses on held-out examples.

    The other arguments are those of ``save_model``. Returns the ``ModelInfo`` of MLflow.
    """
    with _needed():
        import mlflow
        from mlflow.models import Model as Packed

    learned = _learned(model)
    info = Packed.log(
        artifact_path=None,
        name=name,
        flavor=sys.modules[__name__],
        registered_model_name=registered_model_name,
        model=model,
        **given,
    )
    found = {_METRICS[key]: value for key, value in learned.settings.items() if key in _METRICS}
    metrics = {key: float(value) for key, value in found.items() if isinstance(value, int | float)}
    if metrics:
        mlflow.log_metrics(metrics, model_id=info.model_id)
    return info


def load_model(model_uri: str) -> LearnedModel:
    """The model of Hornbeam behind an address of MLflow, as ``hb.load_model`` gives it."""
    with _needed():
        from mlflow.artifacts import download_artifacts

    return files.load_model(Path(download_artifacts(artifact_uri=model_uri)) / _MODEL)


def _load_pyfunc(path: str, model_config: Mapping[str, Any] | None = None) -> Predictor:
    """What ``mlflow.pyfunc`` calls to load a model."""
    return Predictor(files.load_model(path), (model_config or {}).get(DATA) or None)


class Predictor:
    """A model and the tables that it asks; ``predict`` takes keys, as the estimators do."""

    def __init__(self, learned: LearnedModel, data: Any) -> None:
        self._learned, self._data = learned, data
        self._database: Any = None
        self._prepared = Prepared()

    def predict(self, model_input: Any, params: Mapping[str, Any] | None = None) -> Any:
        """Probabilities of the label, one column for each class, or numbers: one row for each key."""
        learned = self._learned
        arity, settings = learned.schema.arity(learned.target), learned.settings
        names = key_rows(with_keys_only(model_input, key_names(settings, arity), "times" in settings))
        with self._prepared.opened(learned, self._opened(), "memory", DEFAULT_MEMORY) as ready:
            keys, notices = codes_for(learned, ready.engine.database, names)
            predicted = predictions_of(learned, ready.engine, keys)
        warn(notices)
        return _shown(predicted, learned)

    def _opened(self) -> Any:
        """The database of the tables, opened once."""
        if self._data is None:
            raise DataError(
                "the model has no tables to ask; load it with model_config={'data': tables}, "
                "a dict of data frames or an address."
            )
        if self._database is None:
            origin = self._learned.settings if "tables" in self._learned.settings else None
            target = None if origin else self._learned.target
            self._database = load(self._data, target=target, origin=origin)
        return self._database


@contextmanager
def _needed() -> Iterator[None]:
    """Says what to install if MLflow is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise OptionError(
            f'MLflow needs the package {error.name}, which is not installed: pip install "hornbeam[mlflow]".'
        ) from None


def _learned(model: Any) -> LearnedModel:
    """The model of a fitted estimator, or the model itself."""
    learned: LearnedModel = getattr(model, "model_", model)
    if not hasattr(learned, "learner") or learned.learner == JOINT:
        raise OptionError("name a fitted classifier or regressor, or its model; joint models are refused.")
    return learned


def _shown(predicted: Any, learned: LearnedModel) -> Any:
    """Predictions as MLflow shows them: a frame with a column for each class, else one column of numbers."""
    classes = getattr(learned, "classes", None)
    if np.ndim(predicted) < 2 or classes is None:
        return predicted
    import pandas as pd

    return pd.DataFrame(predicted, columns=list(classes))
