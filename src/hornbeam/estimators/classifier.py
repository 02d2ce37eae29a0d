"""The base class of all classifiers: keys and labels in, probabilities out.

X holds keys, not features: one row per example, one column per argument of the target. The facts about
the keys are in the database, a parameter that is shared and never copied.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names, check_is_fitted, column_or_1d

from hornbeam.data.database import UNLABELLED, Codes, Database, Examples
from hornbeam.data.keys import Names, is_frame, key_rows, key_text
from hornbeam.data.numbers import read_times
from hornbeam.engines.contract import Engine
from hornbeam.engines.registry import open_engine
from hornbeam.errors import DataError, HornbeamWarning, OptionError
from hornbeam.estimators.keys import with_keys_only
from hornbeam.estimators.parameters import option_names
from hornbeam.estimators.progress import progress
from hornbeam.learning import loop
from hornbeam.learning.classes import MOST_CLASSES, ClassFit, fit_classes
from hornbeam.learning.history import History
from hornbeam.learning.learners import learn, options_for
from hornbeam.learning.loop import Control
from hornbeam.learning.options import DEFAULT, PRESETS, Options
from hornbeam.learning.problem import Fit
from hornbeam.loading.tables.learned import key_names
from hornbeam.model.class_model import ClassModel
from hornbeam.model.clause_model import Model
from hornbeam.model.explain import SHOWN, Explanations, explain
from hornbeam.model.files import LearnedModel
from hornbeam.model.predict import codes_for, data_for, predict

if TYPE_CHECKING:
    from hornbeam.report import Report


class RelationalClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The base class of the classifiers of all learners.

    Labels are 0 and 1, or classes. For classes, a model is learned for each class against the others.

    After ``fit``: ``model_`` (print it to read what was learned), ``history_`` (for classes, one for each
    class), ``classes_``, ``n_features_in_`` (the number of arguments of the target).
    """

    options_class: ClassVar[type[Options]]
    database: Database | None
    target: str | None
    unknown: str
    engine: str
    memory: int
    time_limit: float | None
    verbose: int

    def __getattr__(self, name: str) -> Any:
        """The value of an option that was not given: the preset's value, or the learner's default."""
        options = type(self).options_class
        if name not in option_names(options):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if options.preset is None:
            return getattr(options(), name)
        preset = PRESETS.get(vars(self).get("preset", DEFAULT), PRESETS[DEFAULT])
        owner = preset if name in preset.names() else next(p for p in PRESETS.values() if name in p.names())
        return getattr(owner, name)

    def __sklearn_clone__(self) -> Self:
        """A copy with the same parameters given; the others still follow the preset."""
        given = {name: value for name, value in vars(self).items() if name in self.get_params(deep=False)}
        return type(self)(**{name: clone(value, safe=False) for name, value in given.items()})

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """The parameters that were given, or that differ from their defaults."""
        names, stored = option_names(type(self).options_class), vars(self)
        shown = [
            f"{name}={stored[name]!r}"
            for name, parameter in signature(type(self)).parameters.items()
            if name in stored and (name in names or stored[name] is not parameter.default)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"[:N_CHAR_MAX]

    def _options(self) -> Options:
        """The options of the learner: given values, else those of the preset or of the learner."""
        names, preset = option_names(self.options_class), vars(self).get("preset")
        given = {name: value for name, value in vars(self).items() if name in names}
        if isinstance(preset, str) and preset in PRESETS:
            # A copy by get_params also names the options of the other preset, with their defaults.
            own = PRESETS[preset].names()
            given = {
                name: value for name, value in given.items() if name in own or not _is_default(name, value)
            }
        return options_for(self.options_class.learner, preset, **given)

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from keys and their labels: 0 and 1, or classes."""
        database = self._database(None)
        target = database.target_named(self.target)
        options = self._options()
        names = self._names(X, database.origin, database.schema.arity(target), reset=True)
        classes, labels = _labels(y, len(names))
        empty = Model(target, database.schema, 0.0, ())
        keys, notices = codes_for(empty, database, names, self.unknown)
        engine = open_engine(self.engine, database, self.memory)
        _warn(notices)
        fitted = self._learned(engine, keys, labels, classes, target, options)
        self.model_: LearnedModel = fitted.model
        self.history_: History | Mapping[str, History]
        self.history_ = fitted.history if isinstance(fitted.history, History) else fitted.history.by_class
        _warn(fitted.history.notices())
        self.classes_ = classes
        self.n_features_in_ = names.shape[1]
        return self

    def _learned(
        self,
        engine: Engine,
        keys: Codes,
        labels: npt.NDArray[np.intp],
        classes: npt.NDArray[Any],
        target: str,
        options: Options,
    ) -> Fit[LearnedModel] | ClassFit:
        learner, seconds = options.learner, self.time_limit
        on_step = progress(self.verbose)
        if classes.tolist() == [0, 1]:
            limit = None if seconds is None else loop.time_limit(seconds)
            examples = Examples(target, keys, labels.astype(np.int8))
            return learn(learner, engine, examples, options, Control(on_step, should_stop=limit))
        texts = tuple(map(key_text, classes.tolist()))
        examples = Examples(target, keys, labels.astype(np.int8), texts)
        return fit_classes(learner, engine, examples, options, Control(on_step), seconds)

    def predict_proba(self, X: Any, database: Database | None = None) -> npt.NDArray[np.float64]:
        """Probabilities of the labels in the order of ``classes_``, one row per key in the order given.

        Keys are looked up in ``database``; by default, in the estimator's own database.
        """
        check_is_fitted(self)
        predicted = predict(
            self.model_,
            self._database(database),
            self._known_names(X),
            unknown=self.unknown,
            engine=self.engine,
            memory=self.memory,
        )
        _warn(predicted.notices)
        if predicted.probabilities.ndim == 2:
            return predicted.probabilities
        return np.column_stack([1.0 - predicted.probabilities, predicted.probabilities])

    def predict(self, X: Any, database: Database | None = None) -> npt.NDArray[Any]:
        """The label with the highest probability; if several are equal, the first of them."""
        best = self.predict_proba(X, database).argmax(axis=1)
        labels: npt.NDArray[Any] = self.classes_[best]
        return labels

    def explain(self, X: Any, database: Database | None = None, shown: int = SHOWN) -> Explanations:
        """Explain each prediction: what each clause adds, with up to ``shown`` true groundings.

        For classes, the model of the most probable class is explained. The result is a list that notebooks
        display, and ``to_frame()`` makes a data frame of it.
        """
        check_is_fitted(self)
        seen, keys = self._seen(X, database)
        names = self._known_names(X)
        engine = open_engine(self.engine, seen, self.memory)
        if not isinstance(self.model_, ClassModel):
            return Explanations(
                explain(self.model_, engine, key, name, shown) for key, name in zip(keys, names, strict=True)
            )
        classes = self.model_.most_probable(engine, keys)
        return Explanations(
            explain(self.model_.member(each), engine, key, name, shown).of_class(each)
            for each, key, name in zip(classes, keys, names, strict=True)
        )

    def report(
        self, X: Any, y: Any = None, database: Database | None = None, of_class: str | None = None
    ) -> Report:
        """An HTML page about the model and its predictions. Notebooks display it; ``save`` writes it.

        With labels, the page shows how good the predictions are. For classes, it shows one class.
        """
        from hornbeam.report import About, report
        from hornbeam.report.numbers.classes import class_view

        check_is_fitted(self)
        names = self._known_names(X)
        seen, notices = data_for(self.model_, self._database(database))
        keys, more = codes_for(self.model_, seen, names, self.unknown)
        _warn(notices + more)
        places = {value: place for place, value in enumerate(self.classes_.tolist())}
        given = [None] * len(names) if y is None else np.asarray(y).tolist()
        labels = np.array([places.get(each, UNLABELLED) for each in given], dtype=np.int8)
        target = self.model_.target
        has_cutoffs = seen.has_times and names.shape[1] > seen.schema.arity(target)
        cutoffs = read_times(names[:, -1].tolist()) if has_cutoffs else None
        engine = open_engine(self.engine, seen, self.memory)
        if isinstance(self.history_, History):
            history: dict[str, Any] = self.history_.as_dict()
        else:
            history = {name: each.as_dict() for name, each in self.history_.items()}
        if not isinstance(self.model_, ClassModel):
            examples = Examples(target, keys, labels, (), cutoffs)
            return report(self.model_, engine, examples, About(history=history), names=names)
        examples = Examples(target, keys, labels, self.model_.classes, cutoffs)
        view = class_view(self.model_, engine, examples, of_class)
        about = About(history=history, notes=view.notes, of_class=view.of_class)
        return report(view.model, engine, view.examples, about, names=names)

    def _database(self, other: Database | None) -> Database:
        database = self.database if other is None else other
        if not isinstance(database, Database):
            raise OptionError(
                f"database={database!r} is refused: it must be a Database, as hornbeam.load returns it."
            )
        return database

    def _seen(self, X: Any, database: Database | None) -> tuple[Database, Codes]:
        """The data under the model's schema, and the codes of keys in them."""
        names = self._known_names(X)
        seen, notices = data_for(self.model_, self._database(database))
        keys, more = codes_for(self.model_, seen, names, self.unknown)
        _warn(notices + more)
        return seen, keys

    def _known_names(self, X: Any) -> Names:
        """Keys as text, after ``fit``."""
        return self._names(X, self.model_.settings, self.model_.schema.arity(self.model_.target))

    def _names(self, X: Any, settings: Mapping[str, object], arity: int, reset: bool = False) -> Names:
        """Keys as text. Shape and column names are checked, with the error messages of scikit-learn.

        ``settings`` describe the tables, whose key columns a data frame may have among others.
        """
        given, X = X, with_keys_only(X, key_names(settings, arity), "times" in settings)
        names = key_rows(X)
        rows, width = names.shape
        if not rows or not width:
            empty = "sample" if not rows else "feature"
            raise DataError(
                f"Found array with 0 {empty}(s) (shape={names.shape}) while a minimum of 1 is required."
            )
        if reset or X is given or is_frame(X):
            # A list of keys has no column that could have another name than in fit.
            _check_feature_names(self, X, reset=reset)
        if not reset and width != self.n_features_in_:
            raise DataError(
                f"X has {width} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                f'features as input: one column per argument of "{self.model_.target}".'
            )
        return names

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _is_default(name: str, value: object) -> bool:
    """Whether a value is the default of an option in a preset that has the option."""
    return any(name in each.names() and getattr(each, name) == value for each in PRESETS.values())


def _labels(y: Any, size: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """The classes, sorted, and for each row the position of its class."""
    if y is None:
        raise DataError("fit requires y to be passed, but the target y is None: give each row a label.")
    labels: npt.NDArray[Any] = column_or_1d(np.asarray(y), warn=True)
    if len(labels) != size:
        raise DataError(f"X has {size} rows, but y has {len(labels)} labels.")
    if labels.dtype.kind == "f" and not (np.isfinite(labels) & (labels == np.floor(labels))).all():
        raise DataError(
            "Unknown label type: continuous; y has numbers that are not whole, or missing values."
        )
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        raise DataError(
            "y has labels of different types, or missing labels: give each row a label of one type."
        ) from None
    if len(classes) == 1:
        raise DataError(f"y has one class only, {classes[0]}: learning needs examples of two labels.")
    if len(classes) > MOST_CLASSES:
        raise DataError(
            f"Unknown label type: y has {len(classes):,} different labels; at most {MOST_CLASSES} classes "
            "are allowed."
        )
    return classes, codes.ravel()


def _warn(notices: Iterable[object]) -> None:
    for notice in notices:
        warnings.warn(str(notice), HornbeamWarning, stacklevel=3)
