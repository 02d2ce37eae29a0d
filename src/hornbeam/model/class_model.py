"""Models of targets with several classes: one model for each class against all others.

The probabilities of all classes sum to one. That of a class is in proportion to the probability from its
model, or to a product of powers of that probability and of its odds (``ClassWeights``).
With two classes there is one model, for the second class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hornbeam.data.database import Codes
from hornbeam.engines.contract import Engine
from hornbeam.errors import ModelError, OptionError, did_you_mean
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import Floats, Model
from hornbeam.model.fields import Fields
from hornbeam.model.files import (
    Common,
    LearnedModel,
    ModelKind,
    fields_of,
    read_fields,
    register_kind,
)
from hornbeam.model.training import Training

if TYPE_CHECKING:
    import pandas

    from hornbeam.model.editing.edits import Edit

LEARNER = "one-vs-rest"


class ClassWeights(NamedTuple):
    """How the log-odds of the classes become probabilities that sum to one.

    The probability of a class is in proportion to ``p**chance * (p / (1 - p))**odds``, where p is the
    probability from its model. It rises with p.
    """

    chance: float = 1.0
    odds: float = 0.0

    @property
    def rise(self) -> bool:
        """Whether the probability of a class rises with that from its model."""
        return self.odds >= 0.0 and self.chance + self.odds > 0.0

    def probabilities(self, scores: Floats) -> Floats:
        """The probability of each class, from log-odds: a row per example, a column per class."""
        logs = self.odds * scores - self.chance * np.logaddexp(0.0, -scores)
        chances: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        return chances


PLAIN_WEIGHTS = ClassWeights()
"""Probabilities from the models, divided by their sum."""


@dataclass(frozen=True)
class ClassModel:
    """The classes of a target, and a model for each; with two classes, for the second only."""

    target: str
    schema: Schema
    classes: tuple[str, ...]
    models: tuple[LearnedModel, ...]
    settings: Mapping[str, object] = field(default_factory=dict)
    learner: str = LEARNER
    weights: ClassWeights = PLAIN_WEIGHTS

    def __repr__(self) -> str:
        return f"ClassModel({self.target}, {self.size_text})"

    def words(self) -> str:
        """The models of all classes for people."""
        texts = [
            model.shown_for(name).words() if isinstance(model, Model) else f"class {name}\n{model}"
            for name, model in self.members()
        ]
        if len(self.models) < len(self.classes):
            texts.append(f"Every other example has the class {self.classes[0]}.")
        return "\n\n".join(texts)

    def to_frame(self) -> pandas.DataFrame:
        """The effects of all classes as a data frame, with the class of each."""
        from hornbeam.drawing.frames import frame_of

        frames = [
            (name, model.shown_for(name).to_frame())
            for name, model in self.members()
            if isinstance(model, Model)
        ]
        columns: dict[str, list[object]] = {
            "class": [name for name, each in frames for _ in range(len(each))]
        }
        for title in frames[0][1].columns if frames else ():
            columns[title] = [value for _, each in frames for value in each[title]]
        return frame_of(columns)

    def _repr_html_(self) -> str:
        from hornbeam.drawing.markup import element

        parts = [
            element("p", element("b", f"class {name}"))
            + (
                model.shown_for(name)._repr_html_()
                if isinstance(model, Model)
                else element("pre", str(model))
            )
            for name, model in self.members()
        ]
        return "".join(parts)

    def __str__(self) -> str:
        texts = [f"class {name}\n{model}" for name, model in self.members()]
        if len(self.models) < len(self.classes):
            texts.append(f"class {self.classes[0]}\nevery other example")
        if self.weights != PLAIN_WEIGHTS:
            chance, odds = self.weights
            texts.append(f"probability of a class: in proportion to p^{chance:g} (p / (1 - p))^{odds:g}")
        return "\n\n".join(texts)

    @property
    def prior(self) -> float:
        """Zero: each model has its own prior."""
        return 0.0

    @property
    def size_text(self) -> str:
        return f"{len(self.classes)} classes ({'; '.join(model.size_text for model in self.models)})"

    @property
    def training(self) -> Training | None:
        """The fingerprint of the training keys, if all models have the same one."""
        fingerprints = {getattr(model, "training", None) for model in self.models}
        return fingerprints.pop() if len(fingerprints) == 1 else None

    def members(self) -> list[tuple[str, LearnedModel]]:
        """Each class that has a model, with its model."""
        return list(zip(self.classes[-len(self.models) :], self.models, strict=True))

    def member(self, name: str) -> LearnedModel:
        """The model of a class."""
        models = dict(self.members())
        if name in models:
            return models[name]
        known = list(models)
        raise OptionError(f'no model of class "{name}". {did_you_mean(name, known, "Classes with a model")}')

    def edited(self, *edits: str | Edit, by: str = "", of_class: str | None = None) -> ClassModel:
        """The model after edits of one class's model (see ``Model.edited``); of two classes, the second."""
        if of_class is None and len(self.models) > 1:
            raise OptionError(f"name the class to edit; it is one of: {', '.join(self.classes)}.")
        chosen = self.member(of_class or self.classes[-1])
        models = tuple(with_edits(each, edits, by) if each is chosen else each for each in self.models)
        return replace(self, models=models)

    def most_probable(self, engine: Engine, keys: Codes) -> list[str]:
        """For each example, the most probable class that has a model; with two classes, always the second."""
        if len(self.models) == 1:
            return [self.classes[1]] * len(keys)
        return [self.classes[place] for place in self.probabilities(engine, keys).argmax(axis=1)]

    def predicates(self) -> tuple[str, ...]:
        """The predicates whose facts the models read, sorted."""
        return tuple(sorted({name for model in self.models for name in model.predicates()}))

    def scores(self, engine: Engine, keys: Codes) -> Floats:
        """The log-odds from each model: a row per example, a column per model."""
        return np.column_stack([model.scores(engine, keys) for model in self.models])

    def probabilities(self, engine: Engine, keys: Codes) -> Floats:
        """The probability of each class: a row per example, a column per class; rows sum to one."""
        if self.weights != PLAIN_WEIGHTS:
            return self.weights.probabilities(self.scores(engine, keys))
        each = [model.probabilities(engine, keys) for model in self.models]
        if len(each) == 1:
            return np.column_stack([1.0 - each[0], each[0]])
        unscaled = np.column_stack(each)
        sums = unscaled.sum(axis=1, keepdims=True)
        # If every model gives probability 0, all classes are equally probable.
        unscaled = np.where(sums > 0.0, unscaled, 1.0)
        scaled: Floats = unscaled / unscaled.sum(axis=1, keepdims=True)
        return scaled


def with_edits(model: LearnedModel, edits: Sequence[str | Edit], by: str = "") -> Model:
    """A model after some edits; an error if its kind has no curves to edit."""
    if not isinstance(model, Model):
        raise OptionError(f"a model of learner {model.learner} has no effects that can be edited.")
    return model.edited(*edits, by=by)


def _fields(model: ClassModel) -> dict[str, object]:
    members = [
        {"class": name, "learner": member.learner, **fields_of(member)} for name, member in model.members()
    ]
    weights = {} if model.weights == PLAIN_WEIGHTS else {"weights": list(model.weights)}
    return {"classes": list(model.classes), "models": members, **weights}


def _read(common: Common, fields: Fields) -> ClassModel:
    classes = fields.texts("classes")
    models, names = [], []
    for member in fields.objects("models", "model"):
        names.append(member.text("class"))
        learner = member.text("learner")
        if learner == LEARNER:
            raise member.wrong("learner", "a learner of one class", learner)
        models.append(read_fields(common._replace(learner=learner), member))
        member.close()
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise fields.wrong("classes", "at least two different texts", list(classes))
    if tuple(names) != (classes[1:] if len(classes) == 2 else classes):
        raise ModelError(f"the models are of the classes {', '.join(names)}; the file is damaged.")
    weights = _read_weights(fields, len(classes)) if fields.has("weights") else PLAIN_WEIGHTS
    return ClassModel(common.target, common.schema, classes, tuple(models), common.settings, weights=weights)


def _read_weights(fields: Fields, n_classes: int) -> ClassWeights:
    numbers = fields.numbers("weights")
    weights = ClassWeights(*numbers) if len(numbers) == len(PLAIN_WEIGHTS) else PLAIN_WEIGHTS
    if n_classes == 2 or weights == PLAIN_WEIGHTS or not weights.rise:
        expected = "two numbers for three classes or more, with which probabilities rise"
        raise fields.wrong("weights", expected, list(numbers))
    return weights


register_kind(LEARNER, ModelKind(_fields, _read))
