"""Writing the report of a model: for the verb ``report``, and for ``fit --report``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hornbeam.data.database import Examples
    from hornbeam.engines.contract import Engine
    from hornbeam.model.files import LearnedModel
    from hornbeam.report.html.summary import About


def write_page(
    path: Path,
    learned: LearnedModel,
    engine: Engine,
    examples: Examples,
    about: About,
    of_class: str | None = None,
    shown: int | None = None,
) -> None:
    """Write the report of a model; for a model of classes, the report of one class."""
    from dataclasses import replace

    from hornbeam.errors import OptionError
    from hornbeam.model.class_model import ClassModel
    from hornbeam.model.predict import examples_for
    from hornbeam.report import report
    from hornbeam.report.numbers.classes import class_view
    from hornbeam.report.numbers.measurements import SHOWN

    examples = examples_for(learned, examples)
    if isinstance(learned, ClassModel):
        view = class_view(learned, engine, examples, of_class, about.held_out)
        notes, learned, examples = (*about.notes, *view.notes), view.model, view.examples
        about = replace(
            about,
            notes=notes,
            of_class=view.of_class,
            confusion=view.confusion,
            classes=view.classes,
            held_out=view.held_out,
        )
    elif of_class is not None:
        raise OptionError("--class is refused: the model has no classes.")
    report(learned, engine, examples, about, shown or SHOWN).save(path)


class Clock:
    """Measures the seconds that each phase takes."""

    def __init__(self) -> None:
        self._laps: list[tuple[str, float]] = []
        self._start = time.perf_counter()

    def lap(self, name: str) -> None:
        """End a phase: the time since the end of the previous one belongs to it."""
        now = time.perf_counter()
        self._laps.append((name, now - self._start))
        self._start = now

    def total(self) -> float:
        """The seconds of all phases that have ended."""
        return sum(seconds for _, seconds in self._laps)

    def laps(self) -> tuple[tuple[str, float], ...]:
        return tuple(self._laps)
