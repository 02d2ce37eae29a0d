"""One model of effects for each lifted action, learned from what its ground actions are worth in states."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hornbeam.data.database import Database, Examples
from hornbeam.data.numbers import Floats
from hornbeam.engines.contract import DEFAULT_MEMORY
from hornbeam.engines.registry import open_engine
from hornbeam.learning.effects.learner import fit
from hornbeam.learning.options import EffectOptions
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import Model
from hornbeam.model.effects import FittedEffect, by_importance, merged
from hornbeam.model.scales import CHOICE
from hornbeam.policies.language import STATE, WORLD, State, WorldLanguage
from hornbeam.policies.worlds import database_of, schema_of

FEW = 8
"""With fewer examples of an action, or with examples that are all worth the same, its score is a constant."""
SWEEPS = 2
"""How often the model of each action is fitted, beside the scores of the other actions."""


class Worth(NamedTuple):
    """What a ground action is worth in a state: 1 or 0 for good or not, or a return."""

    state: int
    action: tuple[str, ...]
    """the name of the action, then its objects"""
    value: float
    times: float = 1.0
    """how much it counts"""


def fitted_models(
    language: WorldLanguage,
    actions: Mapping[str, tuple[str, ...]],
    states: Sequence[State],
    worths: Sequence[Worth],
    options: EffectOptions,
) -> dict[str, Model]:
    """A model for each action.

    With the loss ``choice``, all ground actions of a state are alternatives of one choice, whichever model
    gives their scores: the models are fitted one after the other, each beside the scores of the others.
    Otherwise a model of its own says what the state is worth, and those of actions what they add to it:
    worlds differ more than actions in one world do, and effects should be spent on what actions differ in.
    """
    if options.loss == CHOICE:
        database = database_of(language, states, actions)
        data = _by_action(actions, worths, database)
        return _models_of_choices(data, schema_of(language, actions), len(states), options)
    heads = {STATE: (), **actions}
    database, schema = database_of(language, states, heads), schema_of(language, heads)
    state = _OfAction(STATE, (), [each._replace(action=(STATE,)) for each in worths], database)
    models = {STATE: _of_returns(state, schema, 0.0, options)}
    worth = state.scores(models[STATE]).tolist()
    added = [each._replace(value=each.value - own) for each, own in zip(worths, worth, strict=True)]
    least = min(each.value for each in added)
    return models | {
        own.name: _of_returns(own, schema, least, options) for own in _by_action(actions, added, database)
    }


def summed(choices: Mapping[str, Model], worths: Mapping[str, Model], unit: float) -> dict[str, Model]:
    """Models whose scores are those of models of choices and, in some unit, of models of worths."""
    return {name: _sum(model, worths[name], 1.0 / unit) for name, model in choices.items()}


def _sum(choice: Model, worth: Model, scale: float) -> Model:
    effects = merged([*choice.effects, *(_scaled(each, scale) for each in worth.effects)])
    return replace(choice, prior=choice.prior + worth.prior * scale, effects=tuple(by_importance(effects)))


def _scaled(fitted: FittedEffect, scale: float) -> FittedEffect:
    curve = fitted.effect.curve
    levels = tuple(scale * level for level in curve.levels)
    curve = curve._replace(levels=levels, missing=scale * curve.missing, slope=scale * curve.slope)
    return replace(
        fitted,
        effect=fitted.effect._replace(curve=curve),
        importance=scale * fitted.importance,
        errors=tuple(scale * error for error in fitted.errors),
    )


def _by_action(
    actions: Mapping[str, tuple[str, ...]], worths: Sequence[Worth], database: Database
) -> list[_OfAction]:
    return [
        _OfAction(name, types, [each for each in worths if each.action[0] == name], database)
        for name, types in actions.items()
    ]


def _of_returns(own: _OfAction, schema: Schema, unknown: float, options: EffectOptions) -> Model:
    """The model of what an action is worth, or of a state; ``unknown`` if it was never tried."""
    if own.is_enough:
        return own.fitted(own.examples(values=own.values), options)
    return _constant(own.name, schema, float(own.values.mean()) if own.number else unknown, options.loss)


class _OfAction:
    """What is known about the ground actions of one lifted action."""

    def __init__(
        self, name: str, types: tuple[str, ...], worths: Sequence[Worth], database: Database
    ) -> None:
        self.name, self.number = name, len(worths)
        self.values = np.array([each.value for each in worths])
        self.states = np.array([each.state for each in worths], dtype=np.int64)
        self._times = np.array([each.times for each in worths])
        self._engine = open_engine("memory", database, DEFAULT_MEMORY)
        self.keys = np.zeros((0, 1), dtype=np.int32)
        if worths:
            names = np.array([key_of(each, types) for each in worths], dtype=object)
            self.keys = database.encode_keys(name, names)

    @property
    def is_enough(self) -> bool:
        """Whether effects can be learned."""
        return self.number >= FEW and bool(self.values.min() < self.values.max())

    def examples(self, **more: Any) -> Examples:
        labels = np.zeros(self.number, dtype=np.int8)
        return Examples(self.name, self.keys, labels, **({"weights": self._times} | more))

    def fitted(self, examples: Examples, options: EffectOptions) -> Model:
        return fit(self._engine, examples, options).model

    def scores(self, model: Model) -> Floats:
        return model.scores(self._engine, self.keys)


def _models_of_choices(
    data: Sequence[_OfAction], schema: Schema, n_states: int, options: EffectOptions
) -> dict[str, Model]:
    """The models whose scores share out the probability of each state among all its ground actions."""
    # Before anything is known, an action is as probable as it is often good.
    models = {
        own.name: _constant(own.name, schema, math.log((own.values.sum() + 0.5) / (own.number + 1.0)), CHOICE)
        for own in data
    }
    scores = [own.scores(models[own.name]) for own in data]
    learned = [place for place, own in enumerate(data) if own.is_enough]
    for place in learned * (SWEEPS if len(learned) > 1 else 1):
        own = data[place]
        others = [(data[each], scores[each]) for each in range(len(data)) if each != place]
        examples = replace(
            own.examples(weights=None),
            labels=own.values.astype(np.int8),
            choices=own.states,
            elsewhere=_elsewhere(others, n_states)[own.states],
        )
        models[own.name] = own.fitted(examples, options)
        scores[place] = own.scores(models[own.name])
    return models


def _elsewhere(others: Sequence[tuple[_OfAction, Floats]], n_states: int) -> Floats:
    """For each state, what ``Examples.elsewhere`` says about the ground actions of other lifted actions."""
    states = np.concatenate([own.states for own, _ in others]) if others else np.zeros(0, dtype=np.int64)
    scores = np.concatenate([each for _, each in others]) if others else np.zeros(0)
    right = np.concatenate([own.values for own, _ in others]) if others else np.zeros(0)
    most = np.full(n_states, -np.inf)
    np.maximum.at(most, states, scores)
    sums = np.bincount(states, np.exp(scores - most[states]), minlength=n_states)
    with np.errstate(divide="ignore"):
        mass = np.where(sums > 0, most, 0.0) + np.log(sums)
    return np.column_stack([mass, np.bincount(states, right, minlength=n_states)])


def _constant(name: str, schema: Schema, score: float, loss: str) -> Model:
    """The model of an action of which too little is known to learn effects."""
    return Model(name, schema, score, (), loss=loss)


def key_of(worth: Worth, types: tuple[str, ...]) -> list[str]:
    """The key of an action in the database of its states."""
    return [f"{worth.state}:{each}" for each in worth.action[1:]] if types else [str(worth.state)]


def group_of(states: Sequence[State]) -> str | None:
    """What examples stay together by: the actions of one state, if there are several states."""
    return WORLD if len(states) > 1 else None
