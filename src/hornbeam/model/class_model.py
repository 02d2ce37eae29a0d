"""Models of targets with several classes, in one of two ways.

*Together*: all classes have the same effects, with levels of their own, and the probabilities are the softmax
of their scores. *Apart*: each class has a model against all others, by a learner that knows labels only; the
probabilities of the models are divided by their sum. With two classes there is one model, for the second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from hornbeam.data.database import Codes
from hornbeam.engines.contract import Engine
from hornbeam.errors import ModelError, OptionError, did_you_mean
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import Floats, Model, scores_of_all
from hornbeam.model.fields import Fields
from hornbeam.model.files import (
    Common,
    LearnedModel,
    ModelKind,
    fields_of,
    read_fields,
    register_kind,
)
from hornbeam.model.scales import softmax
from hornbeam.model.training import Training

if TYPE_CHECKING:
    import pandas

    from hornbeam.engines.export.scoring import ScoringModel
    from hornbeam.engines.export.user_tables import Table
    from hornbeam.model.editing.edits import Edit
    from hornbeam.model.readable.class_cards import ClassReaders

APART, TOGETHER = "one-vs-rest", "softmax"
"""The two ways, which stand in model files in place of a learner."""


@dataclass(frozen=True)
class ClassModel:
    """The classes of a target, and a model for each; with two classes, for the second only."""

    target: str
    schema: Schema
    classes: tuple[str, ...]
    models: tuple[LearnedModel, ...]
    settings: Mapping[str, object] = field(default_factory=dict)
    learner: str = APART
    averages: tuple[float, ...] = ()
    """together: for each class, the logarithm of its probability for an average example; empty if unknown"""

    def __repr__(self) -> str:
        return f"ClassModel({self.target}, {self.size_text})"

    @property
    def is_together(self) -> bool:
        """Whether all classes have the same effects, and their scores are those of one softmax."""
        return self.learner == TOGETHER

    def words(self) -> str:
        """The model for people: of classes that were learned together, each effect with all of them."""
        if self.is_together:
            from hornbeam.model.readable.class_cards import together_text

            return together_text(self.readers)
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

        if self.is_together:
            from hornbeam.model.readable.class_cards import together_html

            return together_html(self.readers)
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
        return "\n\n".join(texts)

    @property
    def prior(self) -> float:
        """Zero: each model has its own prior."""
        return 0.0

    @property
    def size_text(self) -> str:
        if self.is_together:
            return f"{self.models[0].size_text} on {len(self.classes)} classes"
        return f"{len(self.classes)} classes ({'; '.join(model.size_text for model in self.models)})"

    @property
    def training(self) -> Training | None:
        """The fingerprint of the training keys, if all models have the same one."""
        fingerprints = {getattr(model, "training", None) for model in self.models}
        return fingerprints.pop() if len(fingerprints) == 1 else None

    def members(self) -> list[tuple[str, LearnedModel]]:
        """Each class that has a model, with its model."""
        models: list[LearnedModel] = list(self.models)
        if self.is_together:
            models = [_beside(self.models, place) for place in range(len(self.models))]
        return list(zip(self.classes[-len(self.models) :], models, strict=True))

    def member(self, name: str) -> LearnedModel:
        """The model of a class."""
        models = dict(self.members())
        if name in models:
            return models[name]
        known = list(models)
        raise OptionError(f'no model of class "{name}". {did_you_mean(name, known, "Classes with a model")}')

    def edited(self, *edits: str | Edit, by: str = "", of_class: str | None = None) -> ClassModel:
        """The model after edits of one class (see ``Model.edited``); of two classes, the second.

        Of classes that were learned together, all are edited if none is named.
        """
        if of_class is None and len(self.models) > 1 and not self.is_together:
            raise OptionError(f"name the class to edit; it is one of: {', '.join(self.classes)}.")
        if of_class is not None or len(self.models) == 1:
            self.member(of_class or self.classes[-1])
        every = of_class is None and self.is_together
        names = self.classes[-len(self.models) :]
        chosen = [every or name == (of_class or self.classes[-1]) for name in names]
        if self.is_together:
            from hornbeam.model.together import edited_together

            settings = {name: value for name, value in self.settings.items() if name != "held_out_loss"}
            edited = edited_together(self.together(), edits, by, chosen)
            return learned_together(self.classes, [replace(each, settings=settings) for each in edited])
        models = tuple(
            with_edits(each, edits, by) if own else each
            for each, own in zip(self.models, chosen, strict=True)
        )
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
        """The score from each model: a row per example, a column per model."""
        if self.is_together:
            return scores_of_all(self.together(), engine, keys)
        return np.column_stack([model.scores(engine, keys) for model in self.models])

    def probabilities(self, engine: Engine, keys: Codes) -> Floats:
        """The probability of each class: a row per example, a column per class; rows sum to one."""
        if self.is_together:
            return softmax(self.scores(engine, keys))
        each = [model.probabilities(engine, keys) for model in self.models]
        if len(each) == 1:
            return np.column_stack([1.0 - each[0], each[0]])
        unscaled = np.column_stack(each)
        sums = unscaled.sum(axis=1, keepdims=True)
        # If every model gives probability 0, all classes are equally probable.
        unscaled = np.where(sums > 0.0, unscaled, 1.0)
        scaled: Floats = unscaled / unscaled.sum(axis=1, keepdims=True)
        return scaled

    def together(self) -> list[Model]:
        """The models of classes that were learned together."""
        return [model for model in self.models if isinstance(model, Model)]

    def sql(
        self,
        dialect: str = "duckdb",
        tables: Mapping[str, Table] | None = None,
        examples: Table | None = None,
    ) -> str:
        """One SQL query with a row for each example: see ``Model.sql``.

        Each class has a column of its own for the probability, and for what each effect adds to its score.
        """
        from hornbeam.engines.export.scoring import scoring_query

        facts, asked = self.together()[0].places(tables, examples)
        return scoring_query(self.as_scored(), dialect, facts, asked)

    def as_scored(self) -> ScoringModel:
        """Classes that were learned together, as the query computes them."""
        from hornbeam.model.together import scored_together

        return scored_together(self.classes, self.together())

    @property
    def readers(self) -> ClassReaders:
        """What cards of effects need to know about classes that were learned together."""
        from hornbeam.model.readable.class_cards import ClassReaders

        models = self.together()
        return ClassReaders(
            self.target,
            self.schema,
            self.settings,
            models[0].wording,
            models[0].dated,
            self.size_text,
            self.classes,
            self.averages,
            list(zip(*(model.effects for model in models), strict=True)),
            models[0].clauses,
            [model.edit_lines() for model in models],
        )


def _beside(models: Sequence[LearnedModel], place: int) -> LearnedModel:
    """One of the models of classes that were learned together, which knows the others."""
    own = models[place]
    assert isinstance(own, Model)
    others = tuple(each for at, each in enumerate(models) if at != place and isinstance(each, Model))
    return replace(own, others=others)


def learned_together(
    classes: Sequence[str], models: Sequence[Model], averages: Sequence[float] = ()
) -> ClassModel:
    """The model of classes that have the same effects in the same order."""
    first = models[0]
    settings = {name: value for name, value in first.settings.items() if name != "average_score"}
    of_classes = [{**settings, "average_score": average} for average in averages] or [settings] * len(models)
    members = tuple(replace(each, settings=own) for each, own in zip(models, of_classes, strict=True))
    return ClassModel(
        first.target, first.schema, tuple(classes), members, settings, TOGETHER, tuple(averages)
    )


def with_edits(model: LearnedModel, edits: Sequence[str | Edit], by: str = "") -> Model:
    """A model after some edits; an error if its kind has no curves to edit."""
    if not isinstance(model, Model):
        raise OptionError(f"a model of learner {model.learner} has no effects that can be edited.")
    return model.edited(*edits, by=by)


def _fields(model: ClassModel) -> dict[str, object]:
    members = [
        {"class": name, "learner": member.learner, **fields_of(member)} for name, member in model.members()
    ]
    return {"classes": list(model.classes), "models": members}


def _read(common: Common, fields: Fields) -> ClassModel:
    classes = _read_classes(fields)
    models, names = [], []
    for member in fields.objects("models", "model"):
        names.append(member.text("class"))
        learner = member.text("learner")
        if learner in (APART, TOGETHER):
            raise member.wrong("learner", "a learner of one class", learner)
        models.append(read_fields(common._replace(learner=learner), member))
        member.close()
    if tuple(names) != (classes[1:] if len(classes) == 2 else classes):
        raise ModelError(f"the models are of the classes {', '.join(names)}; the file is damaged.")
    return ClassModel(common.target, common.schema, classes, tuple(models), common.settings)


def _read_classes(fields: Fields) -> tuple[str, ...]:
    """The names of the classes."""
    classes = fields.texts("classes")
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise fields.wrong("classes", "at least two different texts", list(classes))
    return classes


def _fields_together(model: ClassModel) -> dict[str, object]:
    from hornbeam.model.together import fields_together

    averages = {"averages": list(model.averages)} if model.averages else {}
    return {"classes": list(model.classes), **fields_together(model.classes, model.together()), **averages}


def _read_together(common: Common, fields: Fields) -> ClassModel:
    from hornbeam.model.together import numbers_of_classes, read_together

    classes = _read_classes(fields)
    averages = numbers_of_classes(fields, "averages", len(classes)) if fields.has("averages") else ()
    return learned_together(classes, read_together(common, fields, classes), averages)


register_kind(APART, ModelKind(_fields, _read))
register_kind(TOGETHER, ModelKind(_fields_together, _read_together))
