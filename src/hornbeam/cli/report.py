"""The verb that writes a page about a model, and what fit needs to write one."""

from __future__ import annotations

import json as json_module
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hornbeam.cli.messages import remark
from hornbeam.cli.options import (
    Dangling,
    Data,
    EngineName,
    ExamplesFile,
    Memory,
    ModelFile,
    Negatives,
    SchemaFile,
    Split,
)
from hornbeam.cli.output import check_writable
from hornbeam.cli.use import with_examples

if TYPE_CHECKING:
    from hornbeam.data.database import Examples
    from hornbeam.engines.contract import Engine
    from hornbeam.model.files import LearnedModel
    from hornbeam.report.html.summary import About


def report(
    data: Data,
    model: ModelFile,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Write the page there.")] = Path(
        "report.html"
    ),
    history: Annotated[
        Path | None,
        typer.Option("--history", metavar="FILE", help="What fit --history wrote: the page shows it too."),
    ] = None,
    split: Split = None,
    examples: ExamplesFile = None,
    schema: SchemaFile = None,
    negatives: Negatives = None,
    dangling: Dangling = "error",
    of_class: Annotated[
        str | None, typer.Option("--class", metavar="CLASS", help="Of classes: which (the most frequent).")
    ] = None,
    shown: Annotated[int, typer.Option("--shown", min=1, help="Examples in the page, at most.")] = 5000,
    engine: EngineName = "memory",
    memory: Memory = "2GB",
) -> None:
    """Write a page about a model and its predictions (HTML).

    One file that needs nothing else: scores, clauses as sentences and what they add, curves, the schema,
    and a table of examples, each with its explanation. It asks nothing of the network.

    \b
    Example: hornbeam report data/uwcse/fold1 --model m.json --out report.html
    """
    from hornbeam.report.html.summary import About

    check_writable(out)
    told = None if history is None else _history(history)
    clock = Clock()
    tables = {"examples": examples, "schema": schema, "negatives": negatives, "dangling": dangling}
    learned, counting, found = with_examples(data, model, split, engine, memory, tables)
    clock.lap("load")
    about = About(
        data=data_name(data), split=split_name(data, split, "test"), history=told, phases=clock.laps()
    )
    write_page(out, learned, counting, found, about, of_class, shown)


def write_page(
    path: Path,
    learned: LearnedModel,
    engine: Engine,
    examples: Examples,
    about: About,
    of_class: str | None = None,
    shown: int | None = None,
) -> None:
    """Write the report of a model; of a model of classes, that of one class."""
    from dataclasses import replace

    from hornbeam.errors import OptionError
    from hornbeam.model.class_model import ClassModel
    from hornbeam.report import report as page
    from hornbeam.report.numbers.classes import class_view
    from hornbeam.report.numbers.measurements import SHOWN

    if isinstance(learned, ClassModel):
        learned, examples, notes, name = class_view(learned, engine, examples, of_class)
        about = replace(about, notes=(*about.notes, *notes), of_class=name)
    elif of_class is not None:
        raise OptionError("--class is refused: the model has no classes.")
    page(learned, engine, examples, about, shown or SHOWN).save(path)
    remark(f"report in {path}")


class Clock:
    """Seconds by phase."""

    def __init__(self) -> None:
        self._laps: list[tuple[str, float]] = []
        self._start = time.perf_counter()

    def lap(self, name: str) -> None:
        """What passed since the last lap belongs to that phase."""
        now = time.perf_counter()
        self._laps.append((name, now - self._start))
        self._start = now

    def laps(self) -> tuple[tuple[str, float], ...]:
        return tuple(self._laps)


def data_name(data: str) -> str:
    """What a page calls the data: the end of their path; a connection may hold a password, so never that.

    >>> data_name("postgresql://me:secret@here/shop")
    'a database'
    """
    place = Path(data)
    try:
        if place.exists():
            return "/".join(place.resolve().parts[-2:]).lstrip("/")
    except OSError:
        pass
    return "a database"


def split_name(data: str, split: str | None, usual: str) -> str:
    """The split that was read: the one named, or the usual one where there are splits."""
    if split is not None:
        return split
    return usual if (Path(data) / usual / f"{usual}_facts.txt").exists() else ""


def _history(path: Path) -> dict[str, Any]:
    from hornbeam.errors import DataError, Place

    try:
        found = json_module.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror}).", Place(str(path))) from None
    except ValueError:
        found = None
    known = found.values() if isinstance(found, dict) and "steps" not in found else [found]
    if not all(isinstance(each, dict) and isinstance(each.get("steps"), list) for each in known) or not found:
        raise DataError("is no history: expected what hornbeam fit --history writes.", Place(str(path)))
    return dict(found)
