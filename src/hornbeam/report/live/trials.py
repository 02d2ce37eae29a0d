"""Edited versions of a model, scored on the same examples: the values of features are computed once."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hornbeam.data.database import Examples
from hornbeam.engines.contract import Engine
from hornbeam.model.class_model import ClassModel
from hornbeam.model.clause_model import Model
from hornbeam.model.editing.edits import effect_name
from hornbeam.model.effects import levels_of, values_of
from hornbeam.model.evaluate import evaluate, evaluate_classes, evaluate_numbers
from hornbeam.model.files import LearnedModel, predictions_of, scale_of
from hornbeam.model.predict import scores_of
from hornbeam.model.scales import Floats, softmax


class TrialLoss(NamedTuple):
    """How far predictions are from labels."""

    name: str
    value: float
    examples: int

    def __str__(self) -> str:
        return f"{self.name} {self.value:.4f}"


class Trials:
    """The examples on which edited versions of a model are scored; those without a label are left out."""

    def __init__(self, model: LearnedModel, engine: Engine, examples: Examples) -> None:
        self.examples = examples.labelled()
        self._engine = engine
        self._values: dict[str, Floats] = {}
        self._clauses: dict[object, Floats] = {}
        if isinstance(model, ClassModel) and model.is_together:
            model = replace(model.together()[0], clauses=())
        if isinstance(model, Model) and len(self.examples):
            keys = self.examples.keys
            effects = [fitted.effect for fitted in model.effects]
            self._values = dict(zip(map(effect_name, effects), values_of(engine, effects, keys), strict=True))
            added = replace(model, effects=()).contributions(engine, keys)
            self._clauses = dict(zip(model.clauses, added, strict=True))

    def loss(self, edited: LearnedModel) -> TrialLoss | None:
        """The loss of the model after some edits; None if no example has a label, or all have the same."""
        n = len(self.examples)
        if not n or (self.examples.values is None and len(np.unique(self.examples.labels)) < 2):
            return None
        if scale_of(edited).of_choice:
            choices = scores_of(edited, self._engine, self.examples).as_dict()
            return TrialLoss("log-loss", float(str(choices["log_loss"])), n)
        predicted = self.predictions(edited)
        if self.examples.values is not None:
            scores = evaluate_numbers(self.examples.values, predicted)
            absolute = getattr(edited, "loss", "") == "absolute"
            return TrialLoss("mae", scores.mae, n) if absolute else TrialLoss("rmse", scores.rmse, n)
        if isinstance(edited, ClassModel):
            labels = [self.examples.classes[label] for label in self.examples.labels]
            return TrialLoss("log-loss", evaluate_classes(labels, predicted, edited.classes).log_loss, n)
        return TrialLoss("log-loss", evaluate(self.examples.labels, predicted, draws=1).log_loss, n)

    def predictions(self, edited: LearnedModel) -> Floats:
        """What the model after some edits predicts for the examples, as from its file."""
        if isinstance(edited, ClassModel) and edited.is_together and not edited.together()[0].clauses:
            return softmax(np.column_stack([self._scores(member) for member in edited.together()]))
        if not isinstance(edited, Model):
            return predictions_of(edited, self._engine, self.examples.keys)
        return edited.scale.link(self._scores(edited))

    def _scores(self, edited: Model) -> Floats:
        scores = np.full(len(self.examples), edited.prior, dtype=np.float64)
        for weighted in edited.clauses:
            scores += self._clauses[weighted]
        for fitted in edited.effects:
            scores += levels_of(fitted.effect.curve, self._values[effect_name(fitted.effect)])
        return scores
