"""Learning targets with several classes: any learner, once for each class against the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Notice
from hornbeam.engines.contract import Engine
from hornbeam.errors import DataError
from hornbeam.learning import loop
from hornbeam.learning.history import INTERRUPTED, History, Record
from hornbeam.learning.learners import learn
from hornbeam.learning.loop import ShouldStop
from hornbeam.learning.options import Options
from hornbeam.model.class_model import ClassModel
from hornbeam.model.files import LearnedModel

MOST_CLASSES = 100
"""more are hardly classes"""


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
