"""The base class of all estimators: keys and a target in, predictions out.

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
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from hornbeam.data.database import Codes, Database, Examples
from hornbeam.data.ending import before_the_end
from hornbeam.data.keys import Names, is_frame, key_rows
from hornbeam.data.numbers import read_times
from hornbeam.engines.contract import Engine
from hornbeam.engines.registry import open_engine
from hornbeam.errors import DataError, HornbeamWarning, OptionError
from hornbeam.estimators.keys import with_keys_only
from hornbeam.estimators.parameters import option_names
from hornbeam.estimators.prepared import Prepared
from hornbeam.learning.learners import options_for
from hornbeam.learning.options import DEFAULT, PRESETS, Options
from hornbeam.loading.tables.learned import key_names
from hornbeam.model.choices import choices_of, numbers_of_choices
from hornbeam.model.clause_model import Model
from hornbeam.model.explain import SHOWN, Explanation, Explanations, explain, explain_choices
from hornbeam.model.files import LearnedModel, predictions_of, scale_of
from hornbeam.model.predict import codes_for, data_for

if TYPE_CHECKING:
    from hornbeam.data.numbers import Floats
    from hornbeam.model.scales import Integers


class RelationalEstimator(BaseEstimator):  # type: ignore[misc]
    """The base class of the estimators of all learners: parameters, keys and predictions."""

    options_class: ClassVar[type[Options]]
    database: Database | None
    target: str | None
    unknown: str
    engine: str
    memory: int
    n_jobs: int | None
    time_limit: float | None
    verbose: int
    model_: LearnedModel
    n_features_in_: int
    held_out_scores_: Floats
    _prepared: Prepared

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

    def __getstate__(self) -> dict[str, Any]:
        """The state without the engine that is kept for predictions."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_prepared"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._prepared = Prepared()

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

    def _training_names(self, X: Any, target: str) -> Names:
        """The keys to learn from, as text."""
        database = self._database(None)
        return self._names(X, database.origin, database.schema.arity(target), reset=True)

    def _examples(
        self, target: str, names: Names, weights: Floats | None, choices: Integers | None = None
    ) -> tuple[Engine, Examples]:
        """An engine on the data to learn from, and the examples that count, without labels."""
        database = self._database(None)
        empty = Model(target, database.schema, 0.0, ())
        keys, notices = codes_for(empty, database, names, self.unknown)
        examples = Examples(
            target, keys, np.zeros(len(keys), dtype=np.int8), weights=weights, choices=choices
        )
        examples = examples if weights is None else examples.at(weights > 0)
        database, examples = before_the_end(database, examples)
        engine = open_engine(self.engine, database, self.memory)
        warn(notices)
        self._prepared = Prepared()
        return engine, examples

    def _keep(
        self, fitted: LearnedModel, held_out: Floats | None, used: tuple[Engine, Examples, Floats | None]
    ) -> None:
        """Keep the model, and what is known of the rows that it was learned from."""
        engine, examples, weights = used
        self.model_ = fitted
        n_rows = len(examples) if weights is None else len(weights)
        rows = np.arange(n_rows) if weights is None else np.flatnonzero(weights > 0)
        given = np.full(len(rows), np.nan) if held_out is None else held_out
        self.held_out_scores_ = np.full((n_rows, *given.shape[1:]), np.nan)
        self.held_out_scores_[rows] = given
        self._measure(engine, examples.keys)

    def _measure(self, engine: Engine, keys: Codes) -> None:
        """Keep what is known of the parts of the model, if it has such parts."""

    def _predicted(self, X: Any, database: Database | None, choice: Any = None) -> Floats:
        """The predictions of the model for keys."""
        check_is_fitted(self)
        names, data = self._known_names(X), self._database(database)
        with self._prepared.opened(self.model_, data, self.engine, self.memory) as ready:
            keys, notices = codes_for(self.model_, ready.engine.database, names, self.unknown)
            choices = None if choice is None else numbers_of_choices(choice, len(keys))
            predicted = predictions_of(self.model_, ready.engine, keys, choices)
        warn(ready.notices + notices)
        return predicted

    def _seen(self, X: Any, database: Database | None) -> tuple[Database, Codes]:
        """The data under the model's schema, and the codes of keys in them."""
        names = self._known_names(X)
        seen, notices = data_for(self.model_, self._database(database))
        keys, more = codes_for(self.model_, seen, names, self.unknown)
        warn(notices + more)
        return seen, keys

    def _opened(self, X: Any, database: Database | None) -> tuple[Engine, Codes, Names]:
        """An engine on the data to predict on, and the keys as codes and as names."""
        check_is_fitted(self)
        seen, keys = self._seen(X, database)
        return open_engine(self.engine, seen, self.memory), keys, self._known_names(X)

    def explain(
        self, X: Any, database: Database | None = None, shown: int = SHOWN, choice: Any = None
    ) -> Explanations:
        """Explain each prediction: what each clause adds, with up to ``shown`` true groundings.

        For classes, the model of the most probable class is explained. With the loss ``choice``, each row is
        compared with the best other one of its choice in X. The result is a list that notebooks display, and
        ``to_frame()`` makes a data frame of it.
        """
        if scale_of(self.model_).of_choice:
            engine, keys, names = self._opened(X, database)
            given = None if choice is None else numbers_of_choices(choice, len(keys))
            choices = choices_of(self.model_, engine, keys, given)
            return Explanations(explain_choices(self.model_, engine, keys, names, choices, shown))
        return Explanations(self._explained(*self._opened(X, database), shown))

    def _explained(self, engine: Engine, keys: Codes, names: Names, shown: int) -> Iterable[Explanation]:
        """The explanation of each key."""
        return (explain(self.model_, engine, key, name, shown) for key, name in zip(keys, names, strict=True))

    def _asked(self, engine: Engine, keys: Codes, names: Names) -> Examples:
        """Keys to report on as examples without labels, with their cut-offs if they have any."""
        target, seen = self.model_.target, engine.database
        has_cutoffs = seen.has_times and names.shape[1] > seen.schema.arity(target)
        cutoffs = read_times(names[:, -1].tolist()) if has_cutoffs else None
        return Examples(target, keys, np.zeros(len(keys), dtype=np.int8), (), cutoffs)

    def _database(self, other: Database | None) -> Database:
        return checked_database(self.database if other is None else other)

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


def checked_database(database: object) -> Database:
    """The database that a user gives; anything else is refused."""
    if not isinstance(database, Database):
        raise OptionError(
            f"database={database!r} is refused: it must be a Database, as hornbeam.load returns it."
        )
    return database


def weights_of(given: Any, size: int) -> npt.NDArray[np.float64] | None:
    """The weights of examples; None if all of them count as one. An example of weight 0 is not there."""
    if given is None:
        return None
    weights = np.asarray(given, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(size, float(weights))
    if weights.shape != (size,):
        raise DataError(f"sample_weight has the shape {weights.shape}, but X has {size} rows: give one each.")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError("sample_weight must hold finite numbers of at least 0.")
    if weights.max(initial=0.0) > 1e100 or (weights[weights > 0] < 1e-100).any():
        # Squares of weights, and sums of these, must be finite and not 0.
        raise DataError("sample_weight must hold 0 or numbers from 1e-100 to 1e+100; scale them.")
    if not weights.any():
        raise DataError("every sample_weight is zero: nothing is left to learn from.")
    return None if (weights == 1.0).all() else weights


def warn(notices: Iterable[object]) -> None:
    """Show notices to the caller of the estimator."""
    for notice in notices:
        warnings.warn(str(notice), HornbeamWarning, stacklevel=4)
