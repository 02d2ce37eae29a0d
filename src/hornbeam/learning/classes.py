"""Targets with several classes: learned together by the default learner, else one model for each class."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np

from hornbeam.data.database import Notice
from hornbeam.data.relations import Examples
from hornbeam.engines.contract import Engine
from hornbeam.errors import DataError, OptionError
from hornbeam.learning import loop
from hornbeam.learning.history import INTERRUPTED, History, Record, ended_of
from hornbeam.learning.learners import learn
from hornbeam.learning.loop import NO_CONTROL, Control, ShouldStop
from hornbeam.learning.numbers import Floats
from hornbeam.learning.options import AUTO, EffectOptions, Options
from hornbeam.learning.problem import Fit
from hornbeam.model.class_model import ClassModel
from hornbeam.model.files import LearnedModel
from hornbeam.model.scales import NUMERIC_LOSSES


@dataclass(frozen=True, slots=True)
class ClassHistory:
    """The history of each model's fit, by class."""

    by_class: Mapping[str, History]

    @property
    def steps(self) -> tuple[Record, ...]:
        return tuple(step for history in self.by_class.values() for step in history.steps)

    @property
    def ended(self) -> str:
        """Why the fits ended: interrupted or by the time limit if any was, otherwise as the last one."""
        return ended_of(self.by_class.values())

    def scores(self) -> tuple[str, ...]:
        """For each model, a line that says how well it predicts held-out examples."""
        return tuple(
            f"class {name}: {line}" for name, history in self.by_class.items() for line in history.scores()
        )

    def notices(self) -> tuple[Notice, ...]:
        """Messages for the user, with the class they belong to."""
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
    """A model of classes and the history of its fit."""

    model: ClassModel
    history: ClassHistory | History
    held_out: Floats | None = None
    """for each model, a column of what ``Fit.held_out`` says; None if the learner does not know it"""


def fit_classes(
    learner: str,
    engine: Engine,
    examples: Examples,
    options: Options,
    control: Control = NO_CONTROL,
    time_limit: float | None = None,
) -> ClassFit:
    """Learn the classes, by their places in the examples' classes: together, if the learner can do that.

    Otherwise each class has a model, which gets an equal share of what is left of the time limit, in seconds,
    and its own folder for checkpoints. Ctrl-C keeps the steps of the current model; later models then get no
    steps. Of two classes, the second has a model.
    """
    _check(examples, options)
    if len(examples.classes) > 2 and isinstance(options, EffectOptions):
        limit = None if time_limit is None else loop.time_limit(time_limit)
        control = replace(control, should_stop=_first_of(control.should_stop, limit))
        fitted = cast("Fit[ClassModel]", learn(learner, engine, examples, options, control))
        return ClassFit(fitted.model, fitted.history, fitted.held_out)
    return _fit_apart(learner, engine, examples, options, control, time_limit)


def _check(examples: Examples, options: Options) -> None:
    target, classes = examples.target, examples.classes
    loss = getattr(options, "loss", AUTO)
    if loss in NUMERIC_LOSSES:
        raise OptionError(f'loss "{loss}" is refused: "{target}" has classes, not numbers; leave it out.')
    if len(classes) < 2:
        raise DataError(f'"{target}" has only one class; learning needs at least two.')
    counts = np.bincount(examples.labels, minlength=len(classes))
    if not counts.all():
        raise DataError(f'no example of "{target}" has class "{classes[int(counts.argmin())]}".')


def _fit_apart(
    learner: str,
    engine: Engine,
    examples: Examples,
    options: Options,
    control: Control,
    time_limit: float | None,
) -> ClassFit:
    """Learn a model for each class against all others."""
    target, classes, labels = examples.target, examples.classes, examples.labels
    models: list[LearnedModel] = []
    histories: dict[str, History] = {}
    held_out: list[Floats | None] = []
    wanted = range(1, 2) if len(classes) == 2 else range(len(classes))
    end = time.monotonic() + (time_limit or 0.0)
    for number in wanted:
        interrupted = any(history.ended == INTERRUPTED for history in histories.values())
        of_class = replace(examples, labels=(labels == number).astype(np.int8), classes=())
        left = 0.0 if time_limit is None else max(end - time.monotonic(), 0.0) / (wanted.stop - number)
        limit = None if time_limit is None else loop.time_limit(left)
        stop = _stop_at_once if interrupted else _first_of(control.should_stop, limit)
        folder = None if control.checkpoint is None else Path(control.checkpoint) / f"class{number + 1}"
        own = replace(control, checkpoint=folder, should_stop=stop)
        fitted = learn(learner, engine, of_class, options, own)
        models.append(fitted.model)
        histories[classes[number]] = fitted.history
        held_out.append(fitted.held_out)
    settings = dict(models[0].settings)
    if any("cut" in model.settings for model in models):
        settings["cut"] = next(model.settings["cut"] for model in models if "cut" in model.settings)
    model = ClassModel(target, engine.database.schema, classes, tuple(models), settings)
    known = [each for each in held_out if each is not None]
    columns = np.column_stack(known) if len(known) == len(models) else None
    return ClassFit(model, ClassHistory(histories), columns)


def _stop_at_once() -> str:
    return INTERRUPTED


def _first_of(one: ShouldStop | None, other: ShouldStop | None) -> ShouldStop | None:
    """Stop as soon as one of the two asks for it."""
    if one is None or other is None:
        return one or other
    return lambda: one() or other()
