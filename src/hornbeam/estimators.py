"""The scikit-learn face: keys and labels in, probabilities out, everything else as scikit-learn has it.

X holds keys, not features: one row per example, one column per argument of the target. What is
known about them is in the database, a parameter that is shared and never copied.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names, check_is_fitted, column_or_1d

from hornbeam import boost
from hornbeam.database import Database
from hornbeam.engines.contract import DEFAULT_MEMORY
from hornbeam.engines.registry import open_engine
from hornbeam.errors import DataError, HornbeamWarning, OptionError
from hornbeam.explain import SHOWN, Explanation, explain
from hornbeam.history import History
from hornbeam.keys import Names, key_rows
from hornbeam.model import Model
from hornbeam.options import fit_options
from hornbeam.predict import codes_for, data_for, predict

PRESET = "preset"
"""The value of an option that is left to the preset."""
_OPTIONS = (
    "n_steps",
    "l2",
    "max_literals",
    "beam_width",
    "stop",
    "prior",
    "neg_pos_ratio",
    "seed",
    "negation",
    "populations",
    "n_thresholds",
    "feature",
    "refit",
    "length_penalty",
    "diverse_beam",
)


class RLRClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Boosted relational logistic regression as a scikit-learn classifier.

    An option left at ``"preset"`` has the value of the preset; ``hornbeam.options.FitOptions`` says
    what each one means and allows. ``target`` may be left out where the database has examples of one
    target only. ``time_limit`` is in seconds; a fit cut by it keeps its steps and warns.

    After ``fit``: ``model_`` (print it to read the clauses), ``history_``, ``classes_`` (0 and 1),
    ``n_features_in_`` (the number of arguments of the target).

    >>> from hornbeam.generate import smokers
    >>> database = smokers(n_persons=200)
    >>> X, y = database.examples("cancer")
    >>> classifier = RLRClassifier(database=database, target="cancer", n_steps=2, max_literals=2)
    >>> classifier.fit(X, y).predict_proba(X).shape
    (200, 2)
    """

    def __init__(
        self,
        database: Database | None = None,
        target: str | None = None,
        preset: str = "default",
        n_steps: Any = PRESET,
        l2: Any = PRESET,
        max_literals: Any = PRESET,
        beam_width: Any = PRESET,
        stop: Any = PRESET,
        prior: Any = PRESET,
        neg_pos_ratio: Any = PRESET,
        seed: Any = PRESET,
        negation: Any = PRESET,
        populations: Any = PRESET,
        n_thresholds: Any = PRESET,
        feature: Any = PRESET,
        refit: Any = PRESET,
        length_penalty: Any = PRESET,
        diverse_beam: Any = PRESET,
        unknown: str = "warn",
        engine: str = "memory",
        memory: int = DEFAULT_MEMORY,
        time_limit: float | None = None,
    ) -> None:
        self.database = database
        self.target = target
        self.preset = preset
        self.n_steps = n_steps
        self.l2 = l2
        self.max_literals = max_literals
        self.beam_width = beam_width
        self.stop = stop
        self.prior = prior
        self.neg_pos_ratio = neg_pos_ratio
        self.seed = seed
        self.negation = negation
        self.populations = populations
        self.n_thresholds = n_thresholds
        self.feature = feature
        self.refit = refit
        self.length_penalty = length_penalty
        self.diverse_beam = diverse_beam
        self.unknown = unknown
        self.engine = engine
        self.memory = memory
        self.time_limit = time_limit

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from keys and their labels, 0 or 1."""
        database = self._database(None)
        target = database.target_named(self.target)
        given = {name: getattr(self, name) for name in _OPTIONS}
        options = fit_options(
            self.preset, **{name: value for name, value in given.items() if value != PRESET}
        )
        names = self._names(X, reset=True)
        labels = _labels(y, len(names))
        empty = Model(target, database.schema, 0.0, ())
        keys, notices = codes_for(empty, database, names, self.unknown)
        fitted = boost.fit(
            open_engine(self.engine, database, self.memory),
            keys,
            labels,
            target,
            options,
            should_stop=None if self.time_limit is None else boost.time_limit(self.time_limit),
        )
        _warn(notices)
        _warn(fitted.history.notices())
        self.model_: Model = fitted.model
        self.history_: History = fitted.history
        self.classes_ = np.array([0, 1])
        self.n_features_in_ = keys.shape[1]
        return self

    def predict_proba(self, X: Any, database: Database | None = None) -> npt.NDArray[np.float64]:
        """Probabilities of label 0 and of label 1, one row per key in the order given.

        Keys are looked up in ``database``, or in the one the estimator has.
        """
        check_is_fitted(self)
        found = predict(
            self.model_,
            self._database(database),
            self._names(X, reset=False),
            unknown=self.unknown,
            engine=self.engine,
            memory=self.memory,
        )
        _warn(found.notices)
        return np.column_stack([1.0 - found.probabilities, found.probabilities])

    def predict(self, X: Any, database: Database | None = None) -> npt.NDArray[np.int64]:
        """The label with the higher probability; 0 where both are equal."""
        positive = self.predict_proba(X, database)[:, 1] > 0.5
        return self.classes_[positive.astype(np.intp)]

    def explain(self, X: Any, database: Database | None = None, shown: int = SHOWN) -> list[Explanation]:
        """Why each prediction is what it is: the clauses' contributions, with some true groundings."""
        check_is_fitted(self)
        names = self._names(X, reset=False)
        seen, notices = data_for(self.model_, self._database(database))
        keys, more = codes_for(self.model_, seen, names, self.unknown)
        _warn(notices + more)
        engine = open_engine(self.engine, seen, self.memory)
        return [explain(self.model_, engine, key, name, shown) for key, name in zip(keys, names, strict=True)]

    def _database(self, other: Database | None) -> Database:
        database = self.database if other is None else other
        if not isinstance(database, Database):
            raise OptionError(
                f"database={database!r} is refused: it must be a Database, as hornbeam.load gives it."
            )
        return database

    def _names(self, X: Any, reset: bool) -> Names:
        """Keys as text, shape and column names checked with the words scikit-learn's users know."""
        names = key_rows(X)
        rows, columns = names.shape
        if not rows or not columns:
            empty = "sample" if not rows else "feature"
            raise DataError(
                f"Found array with 0 {empty}(s) (shape={names.shape}) while a minimum of 1 is required."
            )
        _check_feature_names(self, X, reset=reset)
        if not reset and columns != self.n_features_in_:
            raise DataError(
                f"X has {columns} features, but RLRClassifier is expecting {self.n_features_in_} features as "
                f'input: one column per argument of "{self.model_.target}".'
            )
        return names

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _labels(y: Any, size: int) -> npt.NDArray[np.int8]:
    """Labels as 0 and 1; anything else is refused."""
    if y is None:
        raise DataError(
            "fit requires y to be passed, but the target y is None: give each row a label 0 or 1."
        )
    labels: npt.NDArray[Any] = column_or_1d(np.asarray(y), warn=True)
    if len(labels) != size:
        raise DataError(f"X has {size} rows, but y has {len(labels)} labels.")
    values = list(dict.fromkeys(labels.tolist()))
    wrong = [value for value in values if value not in (0, 1)]
    if wrong:
        raise DataError(f"labels must be 0 or 1, found {wrong[0]!r}{_kind(values)}.")
    if len(values) == 1:
        raise DataError(
            f"y holds one class only, {values[0]}: learning needs examples of label 0 and of label 1."
        )
    return labels.astype(np.int8)


def _kind(values: list[Any]) -> str:
    """What scikit-learn says of a classifier that does not take labels of this kind."""
    if any(isinstance(value, float) and not value.is_integer() for value in values):
        return " (Unknown label type: continuous)"
    if len(values) > 2:
        return " (Only binary classification is supported. The type of the target is multiclass.)"
    return ""


def _warn(notices: Iterable[object]) -> None:
    for notice in notices:
        warnings.warn(str(notice), HornbeamWarning, stacklevel=3)
