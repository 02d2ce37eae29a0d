"""What the classifiers of all learners share: keys and labels in, probabilities out.

X holds keys, not features: one row per example, one column per argument of the target. What is
known about them is in the database, a parameter that is shared and never copied.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names, check_is_fitted, column_or_1d

from hornbeam.data.database import UNLABELLED, Database, Examples
from hornbeam.data.keys import Names, key_rows, key_text
from hornbeam.engines.registry import open_engine
from hornbeam.errors import DataError, HornbeamWarning, OptionError
from hornbeam.learning import loop
from hornbeam.learning.classes import MOST_CLASSES, fit_classes
from hornbeam.learning.history import History
from hornbeam.learning.learners import learn, options_for
from hornbeam.learning.loop import Control
from hornbeam.learning.options import Options
from hornbeam.model.class_model import ClassModel
from hornbeam.model.clause_model import Model
from hornbeam.model.explain import SHOWN, Explanation, explain
from hornbeam.model.files import LearnedModel
from hornbeam.model.predict import codes_for, data_for, predict

if TYPE_CHECKING:
    from hornbeam.report import Report


class RelationalClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What the classifiers of all learners share.

    ``target`` may be left out where the database has examples of one target only. ``time_limit`` is in
    seconds; a fit cut by it keeps its steps and warns.

    Labels are 0 and 1, or classes: then there is a model for each class against the others.

    After ``fit``: ``model_`` (print it to read what was learned), ``history_`` (by class, where there are
    classes), ``classes_``, ``n_features_in_`` (the number of arguments of the target).
    """

    learner: ClassVar[str]
    options_class: ClassVar[type[Options]]
    database: Database | None
    target: str | None
    unknown: str
    engine: str
    memory: int
    time_limit: float | None

    def _take(self, parameters: dict[str, Any]) -> None:
        """Keep the parameters of ``__init__`` as they are, each under its name; ``fit`` looks at them."""
        for name, value in parameters.items():
            if name != "self":
                setattr(self, name, value)

    def _options(self) -> Options:
        """What the learner is told."""
        names = self.options_class.names()
        return options_for(self.learner, **{name: getattr(self, name) for name in names})

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from keys and their labels: 0 and 1, or classes."""
        database = self._database(None)
        target = database.target_named(self.target)
        options = self._options()
        names = self._names(X, reset=True)
        classes, labels = _labels(y, len(names))
        empty = Model(target, database.schema, 0.0, ())
        keys, notices = codes_for(empty, database, names, self.unknown)
        engine = open_engine(self.engine, database, self.memory)
        _warn(notices)
        self.model_: LearnedModel
        self.history_: History | Mapping[str, History]
        if classes.tolist() == [0, 1]:
            limit = None if self.time_limit is None else loop.time_limit(self.time_limit)
            examples = Examples(target, keys, labels.astype(np.int8))
            fitted = learn(self.learner, engine, examples, options, Control(should_stop=limit))
            self.model_, self.history_ = fitted.model, fitted.history
            _warn(fitted.history.notices())
        else:
            texts = tuple(map(key_text, classes.tolist()))
            examples = Examples(target, keys, labels.astype(np.int8), texts)
            of_classes = fit_classes(self.learner, engine, examples, options, time_limit=self.time_limit)
            self.model_, self.history_ = of_classes.model, of_classes.history.by_class
            _warn(of_classes.history.notices())
        self.classes_ = classes
        self.n_features_in_ = names.shape[1]
        return self

    def predict_proba(self, X: Any, database: Database | None = None) -> npt.NDArray[np.float64]:
        """Probabilities of the labels in the order of ``classes_``, one row per key in the order given.

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
        if found.probabilities.ndim == 2:
            return found.probabilities
        return np.column_stack([1.0 - found.probabilities, found.probabilities])

    def predict(self, X: Any, database: Database | None = None) -> npt.NDArray[Any]:
        """The label with the highest probability; the first of those where several are equal."""
        best = self.predict_proba(X, database).argmax(axis=1)
        found: npt.NDArray[Any] = self.classes_[best]
        return found

    def explain(self, X: Any, database: Database | None = None, shown: int = SHOWN) -> list[Explanation]:
        """Why each prediction is what it is: the clauses' contributions, with some true groundings.

        Of classes, those of the most probable one's model.
        """
        check_is_fitted(self)
        names = self._names(X, reset=False)
        seen, notices = data_for(self.model_, self._database(database))
        keys, more = codes_for(self.model_, seen, names, self.unknown)
        _warn(notices + more)
        engine = open_engine(self.engine, seen, self.memory)
        if isinstance(self.model_, ClassModel):
            models = [self.model_.member(name) for name in self.model_.most_probable(engine, keys)]
        else:
            models = [self.model_] * len(keys)
        return [
            explain(model, engine, key, name, shown)
            for model, key, name in zip(models, keys, names, strict=True)
        ]

    def report(
        self, X: Any, y: Any = None, database: Database | None = None, of_class: str | None = None
    ) -> Report:
        """A page about the model and its predictions: it shows itself in a notebook; ``save`` writes it.

        With labels it tells how good they are. Of classes, the model of one is shown.
        """
        from hornbeam.report import About, report
        from hornbeam.report.numbers.classes import class_view

        check_is_fitted(self)
        names = self._names(X, reset=False)
        seen, notices = data_for(self.model_, self._database(database))
        keys, more = codes_for(self.model_, seen, names, self.unknown)
        _warn(notices + more)
        places = {value: place for place, value in enumerate(self.classes_.tolist())}
        given = [None] * len(names) if y is None else np.asarray(y).tolist()
        labels = np.array([places.get(each, UNLABELLED) for each in given], dtype=np.int8)
        target = self.model_.target
        cutoffs = seen.cutoffs_of(target, keys)
        engine = open_engine(self.engine, seen, self.memory)
        if isinstance(self.history_, History):
            told: dict[str, Any] = self.history_.as_dict()
        else:
            told = {name: each.as_dict() for name, each in self.history_.items()}
        if not isinstance(self.model_, ClassModel):
            examples = Examples(target, keys, labels, (), cutoffs)
            return report(self.model_, engine, examples, About(history=told), names=names)
        examples = Examples(target, keys, labels, self.model_.classes, cutoffs)
        view = class_view(self.model_, engine, examples, of_class)
        about = About(history=told, notes=view.notes, of_class=view.of_class)
        return report(view.model, engine, view.examples, about, names=names)

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
                f"X has {columns} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                f'features as input: one column per argument of "{self.model_.target}".'
            )
        return names

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _labels(y: Any, size: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """The classes, sorted, and for each row the position of its own."""
    if y is None:
        raise DataError("fit requires y to be passed, but the target y is None: give each row a label.")
    labels: npt.NDArray[Any] = column_or_1d(np.asarray(y), warn=True)
    if len(labels) != size:
        raise DataError(f"X has {size} rows, but y has {len(labels)} labels.")
    if labels.dtype.kind == "f" and not (np.isfinite(labels) & (labels == np.floor(labels))).all():
        raise DataError("Unknown label type: continuous, as y holds numbers that are not whole, or missing.")
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        raise DataError(
            "y mixes kinds of labels, or lacks some: give each row a label of one kind."
        ) from None
    if len(classes) == 1:
        raise DataError(f"y holds one class only, {classes[0]}: learning needs examples of two labels.")
    if len(classes) > MOST_CLASSES:
        raise DataError(
            f"Unknown label type: y holds {len(classes):,} labels, more than {MOST_CLASSES} classes."
        )
    return classes, codes.ravel()


def _warn(notices: Iterable[object]) -> None:
    for notice in notices:
        warnings.warn(str(notice), HornbeamWarning, stacklevel=3)
