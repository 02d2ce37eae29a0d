"""The base class of all classifiers: keys and labels in, probabilities out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import column_or_1d

from hornbeam.data.database import UNLABELLED, Codes, Database, Examples
from hornbeam.data.keys import Names, key_text
from hornbeam.data.relations import MOST_CLASSES
from hornbeam.engines.contract import Engine
from hornbeam.errors import DataError, OptionError
from hornbeam.estimators.base import RelationalEstimator, warn, weights_of
from hornbeam.estimators.progress import progress
from hornbeam.learning import loop
from hornbeam.learning.classes import ClassFit, fit_classes
from hornbeam.learning.history import History
from hornbeam.learning.learners import learn
from hornbeam.learning.loop import Control
from hornbeam.learning.options import Options
from hornbeam.learning.problem import Fit
from hornbeam.learning.workers import number_of_jobs
from hornbeam.model.choices import numbers_of_choices
from hornbeam.model.class_model import ClassModel
from hornbeam.model.explain import Explanation, explain
from hornbeam.model.files import LearnedModel, chosen_of, scale_of
from hornbeam.model.scales import CHOICE, NUMERIC_LOSSES

if TYPE_CHECKING:
    from hornbeam.report import Report


class RelationalClassifier(ClassifierMixin, RelationalEstimator):  # type: ignore[misc]
    """The base class of the classifiers of all learners.

    Labels are 0 and 1, or classes. The default learner learns classes together, with the same effects; the
    others learn a model for each class against the others.

    After ``fit``: ``model_`` (print it to read what was learned), ``history_`` (one for each class if there
    is a model for each), ``classes_``, ``n_features_in_`` (the number of arguments of the target),
    ``held_out_scores_`` (for each row of X the log-odds from models that were learned without it; for
    classes, a column for each; NaN where there is no such model, as with the learners and presets that hold
    nothing out).
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None, choice: Any = None) -> Self:
        """Learn from keys and their labels: 0 and 1, or classes.

        ``sample_weight`` says how much each row counts; an example of weight 2 counts as two. With the
        loss ``choice``, rows with equal values of ``choice`` are one choice, unless a column says so.
        """
        target = self._database(None).target_named(self.target)
        options = self._options()
        loss = getattr(options, "loss", "")
        if loss in NUMERIC_LOSSES:
            raise OptionError(f'loss="{loss}" is refused: it predicts numbers; use RLRRegressor.')
        if choice is not None and loss != CHOICE:
            raise OptionError('choice is refused: only loss="choice" learns which of several is right.')
        names = self._training_names(X, target)
        weights = weights_of(sample_weight, len(names))
        classes, labels = labels_of(y, len(names), weights)
        if loss == CHOICE and classes.tolist() != [0, 1]:
            raise DataError('loss="choice" needs the labels 0 and 1: whether an alternative is right.')
        choices = None if choice is None else numbers_of_choices(choice, len(names))
        engine, examples = self._examples(target, names, weights, choices)
        examples = replace(examples, labels=labels.astype(np.int8))
        fitted = self._learned(engine, examples, classes, options)
        self._keep(fitted.model, fitted.held_out, (engine, examples, weights))
        self.history_: History | Mapping[str, History]
        self.history_ = fitted.history if isinstance(fitted.history, History) else fitted.history.by_class
        warn(fitted.history.notices())
        self.classes_ = classes
        self.n_features_in_ = names.shape[1]
        return self

    def _learned(
        self, engine: Engine, examples: Examples, classes: npt.NDArray[Any], options: Options
    ) -> Fit[LearnedModel] | ClassFit:
        learner, seconds = options.learner, self.time_limit
        control = Control(progress(self.verbose), jobs=number_of_jobs(self.n_jobs))
        if classes.tolist() == [0, 1]:
            limit = None if seconds is None else loop.time_limit(seconds)
            return learn(learner, engine, examples, options, replace(control, should_stop=limit))
        texts = tuple(map(key_text, classes.tolist()))
        examples = replace(examples, classes=texts)
        return fit_classes(learner, engine, examples, options, control, seconds)

    def predict_proba(
        self, X: Any, database: Database | None = None, choice: Any = None
    ) -> npt.NDArray[np.float64]:
        """Probabilities of the labels in the order of ``classes_``, one row per key in the order given.

        Keys are looked up in ``database``; by default, in the estimator's own database. With the loss
        ``choice``, the probabilities are those among the rows of X that are one choice: those with equal
        values in the column that the model was learned with, or in ``choice``.
        """
        predicted = self._predicted(X, database, choice)
        return predicted if predicted.ndim == 2 else np.column_stack([1.0 - predicted, predicted])

    def decision_function(self, X: Any, database: Database | None = None) -> npt.NDArray[np.float64]:
        """The log-odds of the second label; for more than two classes, ln(probability) of each class."""
        engine, keys, _ = self._opened(X, database)
        if isinstance(self.model_, ClassModel):
            if len(self.model_.models) == 1:
                return self.model_.models[0].scores(engine, keys)
            return np.log(np.maximum(self.model_.probabilities(engine, keys), np.finfo(np.float64).tiny))
        return self.model_.scores(engine, keys)

    def predict(self, X: Any, database: Database | None = None, choice: Any = None) -> npt.NDArray[Any]:
        """The label with the highest probability; if several are equal, the first of them.

        With the loss ``choice``, the most probable row of each choice has the label 1.
        """
        probabilities = self.predict_proba(X, database, choice)
        labels: npt.NDArray[Any]
        if not scale_of(self.model_).of_choice:
            labels = self.classes_[probabilities.argmax(axis=1)]
            return labels
        choices = None if choice is None else numbers_of_choices(choice, len(probabilities))
        engine, keys, _ = self._opened(X, database)
        chosen = chosen_of(self.model_, engine, keys, probabilities[:, 1], choices)
        labels = self.classes_[np.asarray(chosen, dtype=np.intp)]
        return labels

    def _explained(self, engine: Engine, keys: Codes, names: Names, shown: int) -> Iterable[Explanation]:
        if not isinstance(self.model_, ClassModel):
            return super()._explained(engine, keys, names, shown)
        model, classes = self.model_, self.model_.most_probable(engine, keys)
        return (
            explain(model.member(each), engine, key, name, shown).of_class(each)
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

        engine, keys, names = self._opened(X, database)
        places = {value: place for place, value in enumerate(self.classes_.tolist())}
        given = [None] * len(names) if y is None else np.asarray(y).tolist()
        labels = np.array([places.get(each, UNLABELLED) for each in given], dtype=np.int8)
        examples = replace(self._asked(engine, keys, names), labels=labels)
        if isinstance(self.history_, History):
            history: dict[str, Any] = self.history_.as_dict()
        else:
            history = {name: each.as_dict() for name, each in self.history_.items()}
        if not isinstance(self.model_, ClassModel):
            return report(self.model_, engine, examples, About(history=history), names=names)
        view = class_view(self.model_, engine, replace(examples, classes=self.model_.classes), of_class)
        about = About(
            history=history,
            notes=view.notes,
            of_class=view.of_class,
            confusion=view.confusion,
            classes=view.classes,
        )
        return report(view.model, engine, view.examples, about, names=names)


def labels_of(
    y: Any, size: int, weights: npt.NDArray[np.float64] | None = None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """The classes, sorted, and for each row that counts the position of its class."""
    if y is None:
        raise DataError("fit requires y to be passed, but the target y is None: give each row a label.")
    labels: npt.NDArray[Any] = column_or_1d(np.asarray(y), warn=True)
    if len(labels) != size:
        raise DataError(f"X has {size} rows, but y has {len(labels)} labels.")
    if weights is not None:
        labels = labels[weights > 0]
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
