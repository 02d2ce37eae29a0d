"""Targets with several classes: a model for each class against the others, any learner's.

The probability of a class is what its model says, divided by the sum of what all of them say; with
two classes one model says it all. A model of classes is a kind of its own in model files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hornbeam import loop
from hornbeam.baselines.learners import learn
from hornbeam.database import Codes, Notice
from hornbeam.engines.contract import Engine
from hornbeam.errors import DataError, ModelError, OptionError, did_you_mean
from hornbeam.history import INTERRUPTED, History, Record
from hornbeam.json_fields import Fields
from hornbeam.loop import ShouldStop
from hornbeam.model import Floats
from hornbeam.model_json import Common, LearnedModel, ModelKind, fields_of, read_fields, register_kind
from hornbeam.options import Options
from hornbeam.schema import Schema

LEARNER = "one-vs-rest"
MOST_CLASSES = 100
"""more are hardly classes"""


@dataclass(frozen=True)
class ClassModel:
    """Classes of one target, and a model for each; of two classes, for the second only."""

    target: str
    schema: Schema
    classes: tuple[str, ...]
    models: tuple[LearnedModel, ...]
    settings: Mapping[str, object] = field(default_factory=dict)
    learner: str = LEARNER

    def __str__(self) -> str:
        parts = [f"class {name}\n{model}" for name, model in self.members()]
        if len(self.models) < len(self.classes):
            parts.append(f"class {self.classes[0]}\nthe rest")
        return "\n\n".join(parts)

    @property
    def prior(self) -> float:
        """Of classes there is no one prior: each model has its own."""
        return 0.0

    @property
    def size_text(self) -> str:
        return f"{len(self.classes)} classes ({'; '.join(model.size_text for model in self.models)})"

    def members(self) -> list[tuple[str, LearnedModel]]:
        """Each model with its class."""
        return list(zip(self.classes[-len(self.models) :], self.models, strict=True))

    def member(self, name: str) -> LearnedModel:
        """The model of a class."""
        for own, model in self.members():
            if own == name:
                return model
        known = [own for own, _ in self.members()]
        raise OptionError(f'no model of class "{name}". {did_you_mean(name, known, "Classes with a model")}')

    def most_probable(self, engine: Engine, keys: Codes) -> list[str]:
        """For each example its most probable class that has a model: of two classes, the second."""
        if len(self.models) == 1:
            return [self.classes[1]] * len(keys)
        return [self.classes[place] for place in self.probabilities(engine, keys).argmax(axis=1)]

    def predicates(self) -> tuple[str, ...]:
        """The predicates that the models read facts of, sorted."""
        return tuple(sorted({name for model in self.models for name in model.predicates()}))

    def scores(self, engine: Engine, keys: Codes) -> Floats:
        """The log-odds of each class by its own model: a row per example, a column per model."""
        return np.column_stack([model.scores(engine, keys) for model in self.models])

    def probabilities(self, engine: Engine, keys: Codes) -> Floats:
        """The probability of each class: a row per example, a column per class; rows sum to one."""
        each = [model.probabilities(engine, keys) for model in self.models]
        if len(each) == 1:
            return np.column_stack([1.0 - each[0], each[0]])
        found = np.column_stack(each)
        sums = found.sum(axis=1, keepdims=True)
        # Where every model is certain of its "no", nothing is known.
        found = np.where(sums > 0.0, found, 1.0)
        shares: Floats = found / found.sum(axis=1, keepdims=True)
        return shares


@dataclass(frozen=True, slots=True)
class ClassHistory:
    """What happened in the fit of each model, by class."""

    by_class: Mapping[str, History]

    @property
    def steps(self) -> tuple[Record, ...]:
        return tuple(step for history in self.by_class.values() for step in history.steps)

    @property
    def ended(self) -> str:
        """Why the fits ended: that somebody interrupted one, or else why the last one did."""
        endings = [history.ended for history in self.by_class.values()]
        return INTERRUPTED if INTERRUPTED in endings else endings[-1]

    def notices(self) -> tuple[Notice, ...]:
        """What the owner of the fits should hear once."""
        return tuple(
            Notice(f"class {name}: {notice.message}")
            for name, history in self.by_class.items()
            for notice in history.notices()
        )

    def as_dict(self) -> dict[str, object]:
        """The histories as JSON values."""
        return {name: history.as_dict() for name, history in self.by_class.items()}


@dataclass(frozen=True, eq=False)
class ClassFit:
    """A model of classes and how it came about."""

    model: ClassModel
    history: ClassHistory


def fit_classes(
    learner: str,
    engine: Engine,
    keys: Codes,
    labels: npt.NDArray[np.integer],
    classes: Sequence[str],
    target: str,
    options: Options,
    on_step: Callable[[Record], None] | None = None,
    checkpoint: str | Path | None = None,
    time_limit: float | None = None,
) -> ClassFit:
    """Learn a model of each class; labels are positions in ``classes``.

    A time limit, in seconds, is shared by the models in equal parts. Checkpoints are kept in a folder
    per class. Ctrl-C keeps the steps of the model at hand and ends the others before their first.
    """
    if len(classes) < 2:
        raise DataError(f'"{target}" has one class only; learning needs two at least.')
    counts = np.bincount(labels, minlength=len(classes))
    if not counts.all():
        raise DataError(f'no example of "{target}" is of class "{classes[int(counts.argmin())]}".')
    models: list[LearnedModel] = []
    histories: dict[str, History] = {}
    wanted = range(1, 2) if len(classes) == 2 else range(len(classes))
    for number in wanted:
        interrupted = any(history.ended == INTERRUPTED for history in histories.values())
        fitted = learn(
            learner,
            engine,
            keys,
            (labels == number).astype(np.int8),
            target,
            options,
            on_step,
            None if checkpoint is None else Path(checkpoint) / f"class{number + 1}",
            _stop_at_once if interrupted else _limit(time_limit, len(wanted)),
        )
        models.append(fitted.model)
        histories[classes[number]] = fitted.history
    settings = dict(models[0].settings)
    if any("cut" in model.settings for model in models):
        settings["cut"] = next(model.settings["cut"] for model in models if "cut" in model.settings)
    model = ClassModel(target, engine.database.schema, tuple(classes), tuple(models), settings)
    return ClassFit(model, ClassHistory(histories))


def _stop_at_once() -> str:
    return INTERRUPTED


def _limit(seconds: float | None, parts: int) -> ShouldStop | None:
    return None if seconds is None else loop.time_limit(seconds / parts)


# --- as JSON ---------------------------------------------------------------------------------


def _fields(model: ClassModel) -> dict[str, object]:
    members = [
        {"class": name, "learner": member.learner, **fields_of(member)} for name, member in model.members()
    ]
    return {"classes": list(model.classes), "models": members}


def _read(common: Common, fields: Fields) -> ClassModel:
    classes = fields.texts("classes")
    models, names = [], []
    for member in fields.objects("models", "model"):
        names.append(member.text("class"))
        learner = member.text("learner")
        if learner == LEARNER:
            raise member.wrong("learner", "that of one class", learner)
        models.append(read_fields(common._replace(learner=learner), member))
        member.close()
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise fields.wrong("classes", "two different texts at least", list(classes))
    if tuple(names) != (classes[1:] if len(classes) == 2 else classes):
        raise ModelError(f"the models are of the classes {', '.join(names)}; the file is damaged.")
    return ClassModel(common.target, common.schema, classes, tuple(models), common.settings)


register_kind(LEARNER, ModelKind(_fields, _read))
