"""The scikit-learn classifier of joint models: one target or several, predicted together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.database import Database
from hornbeam.data.keys import Names, is_frame, key_rows, key_text
from hornbeam.errors import DataError, OptionError, did_you_mean
from hornbeam.estimators.base import checked_database, warn
from hornbeam.estimators.classifier import labels_of
from hornbeam.estimators.keys import with_keys_only
from hornbeam.joint.fitting.learner import fit_joint
from hornbeam.joint.predict import Together, predict_together, world_of
from hornbeam.joint.targets import predicate_of
from hornbeam.joint.things import JointTarget, JointTask, KnownKeys, NamedEvidence, codes_of, hidden
from hornbeam.joint.view import explain_target
from hornbeam.learning.learners import options_for
from hornbeam.model.explain import Explanations
from hornbeam.model.predict import NO_FACTS, unknown_keys


class _Asked(NamedTuple):
    """A target as the user names it, and what was learned about its labels."""

    predicate: str
    classes: npt.NDArray[Any]


class JointClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Targets that depend on each other, predicted together.

    A thing is predicted from its own facts, by an ordinary model, and from the labels of the things that it
    is linked to. Known labels are evidence; unknown ones are guessed together. The labels given to ``fit``
    are the evidence at prediction, unless others are given. Labels in the database are never looked at.

    After ``fit``: ``model_`` (print it to read what was learned), ``classes_`` (for several targets, a dict)
    and ``history_``; after a prediction, ``convergence_`` says how the guesses settled.

    Parameters
    ----------
    database : Database | None, default=None
        The facts about the keys, as hornbeam.load returns them. They must be in memory.
    target : str | None, default=None
        The target, if there is one.
    targets : Sequence[str] | None, default=None
        The targets, if there are several. ``fit`` then takes a dict with ``(X, y)`` for each, and
        ``predict_proba`` a dict of keys. If X has one column fewer than a target has arguments, the last
        argument is the class.
    max_links : int, default=2
        Maximum number of links to many things between a thing and its neighbours.
    options : Mapping[str, object] | None, default=None
        Options of the separate models, such as ``{"n_bags": 5, "seed": 1}``; see ``RLRClassifier``.

    >>> from hornbeam.datasets.worlds import smokers
    >>> database = smokers(n_persons=400)
    >>> X, y = database.examples("cancer")
    >>> joint = JointClassifier(database=database, target="cancer", options={"n_bags": 3})
    >>> joint.fit(X[:300], y[:300]).predict_proba(X[300:]).shape
    (100, 2)
    """

    def __init__(
        self,
        database: Database | None = None,
        target: str | None = None,
        targets: Sequence[str] | None = None,
        max_links: int = 2,
        options: Mapping[str, object] | None = None,
    ) -> None:
        self.database = database
        self.target = target
        self.targets = targets
        self.max_links = max_links
        self.options = options

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from keys and their labels; for several targets, X is a dict with ``(X, y)`` for each."""
        database = self._database(None)
        options = options_for("rlr", None, **dict(self.options or {}))
        given = self._given(X, y)
        asked: dict[str, _Asked] = {}
        tasks = []
        for name, (keys, labels) in given.items():
            predicate = predicate_of(database, name)
            if predicate in [each.predicate for each in asked.values()]:
                raise OptionError(f'targets= names "{predicate}" twice; name each target once.')
            names = _names_of(keys)
            classes, numbers = labels_of(labels, len(names))
            truth = classes.tolist() == [0, 1]
            target = JointTarget(predicate, () if truth else tuple(map(key_text, classes.tolist())))
            codes = _codes(database, predicate, names)
            tasks.append(JointTask(target, KnownKeys(codes, numbers.astype(np.int64))))
            asked[name] = _Asked(predicate, classes)
        fitted = fit_joint(database, tasks, options, self.max_links)
        warn(fitted.history.notices())
        self.model_ = fitted.model
        self.history_ = fitted.history
        self.asked_ = asked
        self.classes_: Any = {name: each.classes for name, each in asked.items()}
        self.evidence_ = self._named(given)
        if self.targets is None:
            self.classes_ = next(iter(self.classes_.values()))
        return self

    def predict_proba(self, X: Any, evidence: Any = None, database: Database | None = None) -> Any:
        """Probabilities of the labels in the order of ``classes_``, one row per key in the order given.

        ``evidence`` is ``(X, y)``: keys with known labels, instead of those given to ``fit``; for several
        targets, a dict. On another database there is no evidence unless it is given. A key whose label is
        known has probability 1 for it.
        """
        names = self._asked_names(X)
        together = self._together(names, evidence, database)
        found = {
            name: together.probabilities(self.asked_[name].predicate, rows) for name, rows in names.items()
        }
        return found if self.targets is not None else next(iter(found.values()))

    def predict(self, X: Any, evidence: Any = None, database: Database | None = None) -> Any:
        """The label with the highest probability; if several are equal, the first of them."""
        found = self.predict_proba(X, evidence, database)
        if self.targets is None:
            return self.classes_[found.argmax(axis=1)]
        return {name: self.classes_[name][each.argmax(axis=1)] for name, each in found.items()}

    def explain(self, X: Any, evidence: Any = None, database: Database | None = None) -> Explanations:
        """For each key, what its own facts and its neighbours, known or guessed, add to its label."""
        names = self._asked_names(X)
        together = self._together(names, evidence, database)
        return Explanations(
            explanation
            for name, rows in names.items()
            for explanation in explain_target(together, self.asked_[name].predicate, rows)
        )

    # --- what is given -----------------------------------------------------------------------

    def _together(self, names: Mapping[str, Names], evidence: Any, database: Database | None) -> Together:
        own = database is None or database is self.database
        known: NamedEvidence = self.evidence_ if own else {}
        if evidence is not None:
            pairs = evidence if self.targets is not None else {self._names()[0]: evidence}
            known = self._named(pairs)
        asked = {self.asked_[name].predicate: rows for name, rows in names.items()}
        world = world_of(self.model_, self._database(database), asked, known)
        together = predict_together(world)
        warn(together.notices)
        self.convergence_ = together.inferred.convergence
        return together

    def _named(self, pairs: Mapping[str, Any]) -> NamedEvidence:
        """Evidence by predicate: keys as text, and labels as numbers of classes."""
        found = {}
        for name, pair in pairs.items():
            if name not in self.asked_:
                raise DataError(f'no target "{name}". {did_you_mean(name, list(self.asked_), "Targets")}')
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise DataError(f'the evidence of "{name}" must be a pair (X, y): keys, and their labels.')
            names, values = _names_of(pair[0]), np.asarray(pair[1]).tolist()
            if len(names) != len(values):
                raise DataError(f'the evidence of "{name}" has {len(names)} keys, but {len(values)} labels.')
            predicate, classes = self.asked_[name]
            numbers = {value: number for number, value in enumerate(classes.tolist())}
            strange = [value for value in values if value not in numbers]
            if strange:
                raise DataError(
                    f'label {strange[0]!r} of "{name}" is not one of those that the model knows: '
                    f"{', '.join(map(str, numbers))}."
                )
            found[predicate] = (names, np.array([numbers[v] for v in values], dtype=np.int64))
        return found

    def _given(self, X: Any, y: Any) -> dict[str, tuple[Any, Any]]:
        """Keys and labels of each target."""
        names = self._names()
        if self.targets is None:
            return {names[0]: (X, y)}
        if y is not None or not isinstance(X, Mapping) or set(X) != set(names):
            raise DataError(f"with targets=, fit takes one dict with (X, y) for each of: {', '.join(names)}.")
        return {name: X[name] for name in names}

    def _asked_names(self, X: Any) -> dict[str, Names]:
        check_is_fitted(self)
        if self.targets is None:
            return {self._names()[0]: _names_of(X)}
        if not isinstance(X, Mapping) or set(X) - set(self.asked_):
            raise DataError(f"with targets=, give a dict of keys for some of: {', '.join(self.asked_)}.")
        return {name: _names_of(keys) for name, keys in X.items()}

    def _names(self) -> list[str]:
        if self.targets is None:
            database = self._database(None)
            return [self.target if self.target is not None else database.target_named(None)]
        if self.target is not None or not self.targets or isinstance(self.targets, str):
            raise OptionError("give target= for one target, or targets= with a list of names.")
        return list(self.targets)

    def _database(self, other: Database | None) -> Database:
        return checked_database(self.database if other is None else other)


def _names_of(X: Any) -> Names:
    """Keys as text: rows of keys, or a list of keys of one column."""
    return key_rows(X if is_frame(X) else with_keys_only(X, ("key",), has_times=False))


def _codes(database: Database, predicate: str, names: Names) -> npt.NDArray[np.int32]:
    """The codes of training keys, with a warning if the data do not have all of them."""
    arity = database.schema.arity(predicate)
    columns = names.shape[1] if names.shape[1] == arity - 1 else arity
    keys = codes_of(hidden(database, {predicate: columns}), predicate, names)
    missing = unknown_keys(keys, names)
    warn([f"{missing}; {NO_FACTS}"] if missing else [])
    return keys
