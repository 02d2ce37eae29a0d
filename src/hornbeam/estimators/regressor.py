"""The scikit-learn regressor: keys and numbers in, numbers out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import column_or_1d

from hornbeam.data.database import UNLABELLED, Database
from hornbeam.errors import DataError
from hornbeam.estimators.base import RelationalEstimator, warn, weights_of
from hornbeam.estimators.progress import progress
from hornbeam.learning import loop
from hornbeam.learning.history import History
from hornbeam.learning.learners import learn
from hornbeam.learning.loop import Control
from hornbeam.learning.problem import check_values
from hornbeam.learning.workers import number_of_jobs

if TYPE_CHECKING:
    from hornbeam.report import Report


class RelationalRegressor(RegressorMixin, RelationalEstimator):  # type: ignore[misc]
    """The base class of regressors.

    After ``fit``: ``model_`` (print it to read what was learned), ``history_``, ``n_features_in_`` (the
    number of arguments of the target), ``held_out_scores_`` (for each row of X the score from models that
    were learned without it; NaN where there is none).
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from keys and their numbers.

        ``sample_weight`` says how much each row counts; an example of weight 2 counts as two.
        """
        target = self._database(None).target_named(self.target)
        options = self._options()
        names = self._training_names(X, target)
        weights = weights_of(sample_weight, len(names))
        values = _numbers(y, len(names))
        values = values if weights is None else values[weights > 0]
        check_values(target, values)
        engine, examples = self._examples(target, names, weights)
        examples = replace(examples, values=values)
        limit = None if self.time_limit is None else loop.time_limit(self.time_limit)
        control = Control(progress(self.verbose), should_stop=limit, jobs=number_of_jobs(self.n_jobs))
        fitted = learn(options.learner, engine, examples, options, control)
        self._keep(fitted.model, fitted.held_out, (engine, examples, weights))
        self.history_: History = fitted.history
        warn(fitted.history.notices())
        self.n_features_in_ = names.shape[1]
        return self

    def predict(self, X: Any, database: Database | None = None) -> npt.NDArray[np.float64]:
        """The number for each key, in the order given.

        Keys are looked up in ``database``; by default, in the estimator's own database.
        """
        return self._predicted(X, database)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # X holds keys: numbers that are not keys of the database predict nothing.
        tags.regressor_tags.poor_score = True
        return tags

    def report(self, X: Any, y: Any = None, database: Database | None = None) -> Report:
        """An HTML page about the model and its predictions. Notebooks display it; ``save`` writes it.

        With numbers, the page shows how good the predictions are.
        """
        from hornbeam.report import About, report

        engine, keys, names = self._opened(X, database)
        values = np.full(len(names), np.nan) if y is None else _numbers(y, len(names))
        labels = np.where(np.isnan(values), UNLABELLED, 0).astype(np.int8)
        examples = replace(self._asked(engine, keys, names), labels=labels, values=values)
        return report(self.model_, engine, examples, About(history=self.history_.as_dict()), names=names)


def _numbers(y: Any, size: int) -> npt.NDArray[np.float64]:
    """The number of each row; the learner refuses those that it cannot learn."""
    if y is None:
        raise DataError("fit requires y to be passed, but the target y is None: give each row a number.")
    given = column_or_1d(np.asarray(y), warn=True)
    if given.dtype.kind == "c":
        raise DataError("Complex data not supported: y must hold real numbers.")
    try:
        values: npt.NDArray[np.float64] = given.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError("y holds something that is not a number: give each row a number.") from None
    if len(values) != size:
        raise DataError(f"X has {size} rows, but y has {len(values)} numbers.")
    return values
