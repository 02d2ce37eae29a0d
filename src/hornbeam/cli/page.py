"""Writing the report of a model: for the verb ``report``, and for ``fit --report``."""

from __future__ import annotations

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
