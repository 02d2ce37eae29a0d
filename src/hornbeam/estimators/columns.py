"""A model as a transformer: what it computes of each example, as columns for another model."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.database import Codes, Database
from hornbeam.engines.contract import Engine
from hornbeam.engines.registry import open_engine
from hornbeam.errors import ModelError, OptionError
from hornbeam.logic.english.clauses import text_of
from hornbeam.logic.english.phrases import feature_pieces
from hornbeam.model.class_model import ClassModel
from hornbeam.model.clause_model import Model
from hornbeam.model.effects import values_of
from hornbeam.model.files import LearnedModel

LOG_ODDS, VALUES = KINDS = ("log-odds", "values")
"""What the columns of ``transform`` hold: what is added to the score, or the values of features."""


class EffectsAsColumns(TransformerMixin):  # type: ignore[misc]
    """The columns of an estimator whose model has effects or clauses.

    After ``fit``: ``feature_importances_`` (for each column its share of the importance of all).
    """

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    def transform(
        self: Any, X: Any, database: Database | None = None, kind: str = LOG_ODDS
    ) -> npt.NDArray[np.float64]:
        """The effects as columns for another model, one row per key in the order given.

        By default, a column holds what an effect or a clause adds to the log-odds (or to the score of a
        number), as in ``predict_contributions``: no value is missing. With ``kind="values"``, the column of
        an effect holds the value of its feature, NaN where that is missing. Keys are looked up in
        ``database``; by default, in the estimator's own database.

        What is added was learned from the labels of the rows given to ``fit``. A model that learns from the
        same rows again trusts these columns too much: give it other rows, or ``held_out_scores_``.
        """
        if kind not in KINDS:
            raise OptionError(f"kind={kind!r} is refused: it is one of {', '.join(map(repr, KINDS))}.")
        check_is_fitted(self)
        seen, keys = self._seen(X, database)
        engine = open_engine(self.engine, seen, self.memory)
        return (added_columns if kind == LOG_ODDS else effect_columns)(self.model_, engine, keys)

    def predict_contributions(self: Any, X: Any, database: Database | None = None) -> npt.NDArray[np.float64]:
        """What each effect and clause adds to the score, one row per key in the order given.

        The columns have the names of ``get_feature_names_out``, and no value is missing. With the prior of
        the model, a row adds up to the log-odds, or to the score of a number; of several classes, the columns
        of each class add up to its own.
        """
        columns: npt.NDArray[np.float64] = self.transform(X, database)
        return columns

    def _measure(self: Any, engine: Engine, keys: Codes) -> None:
        self.feature_importances_ = importances(self.model_, engine, keys)

    def get_feature_names_out(self: Any, input_features: object = None) -> npt.NDArray[np.object_]:
        """The names of the columns of ``transform``: what each holds, in words."""
        check_is_fitted(self)
        return np.array(column_names(self.model_), dtype=object)


def added_columns(model: LearnedModel, engine: Engine, keys: Codes) -> npt.NDArray[np.float64]:
    """What each part of a model adds to the score, in the order of ``column_names``."""
    columns = [added for _, member in _members(model) for added in member.contributions(engine, keys)]
    return np.column_stack(columns) if columns else np.empty((len(keys), 0))


def importances(model: LearnedModel, engine: Engine, keys: Codes) -> npt.NDArray[np.float64]:
    """The importance of each part of a model, as its share of their sum, in the order of ``column_names``.

    The importance is the mean absolute difference from its mean of what a part adds.
    """
    found: list[float] = []
    for _, member in _members(model):
        added = islice(member.contributions(engine, keys), len(member.clauses))
        found += [float(np.abs(each - each.mean()).mean()) for each in added]
        found += [fitted.importance for fitted in member.effects]
    return np.array(found) / (sum(found) or 1.0)


def effect_columns(model: LearnedModel, engine: Engine, keys: Codes) -> npt.NDArray[np.float64]:
    """A column for each part of a model, in the order of ``column_names``.

    The column of an effect holds the value of its feature, NaN where that is missing; the column of a clause
    holds what the clause adds to the log-odds.
    """
    columns: list[npt.NDArray[np.float64]] = []
    for _, member in _members(model):
        effects = [fitted.effect for fitted in member.effects]
        columns += islice(member.contributions(engine, keys), len(member.clauses))
        columns += list(values_of(engine, effects, keys))
    return np.column_stack(columns) if columns else np.empty((len(keys), 0))


def column_names(model: LearnedModel) -> list[str]:
    """The names of the columns: what is computed, in words; each name is there once."""
    names: dict[str, None] = {}
    for of_class, member in _members(model):
        for text in _texts(member):
            first = name = f"{of_class}: {text}" if of_class else text
            number = 1
            while name in names:
                number += 1
                name = f"{first} ({number})"
            names[name] = None
    return list(names)


def _texts(model: Model) -> Iterator[str]:
    for weighted in model.clauses:
        yield str(weighted.clause)
    for fitted in model.effects:
        phrase = text_of(feature_pieces(fitted.effect, model.schema, model.dated, model.wording))
        yield phrase.removeprefix("the ")


def _members(model: LearnedModel) -> list[tuple[str, Model]]:
    members = model.members() if isinstance(model, ClassModel) else [("", model)]
    models = [(name, member) for name, member in members if isinstance(member, Model)]
    if len(models) < len(members):
        raise ModelError(
            f"transform is for models of clauses and effects, not of learner {members[0][1].learner}."
        )
    return models
