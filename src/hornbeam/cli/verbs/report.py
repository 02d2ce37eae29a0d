"""The verb ``report``: write an HTML page about a model and its predictions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hornbeam.cli.command import verb
from hornbeam.cli.data import TEST, data_name, split_name
from hornbeam.cli.flags import OUTPUT, Counting, ExampleSource, ModelFlags
from hornbeam.cli.opened import named_target, open_targets
from hornbeam.cli.output import check_writable, say_written
from hornbeam.errors import DataError, Place, plural


@verb
def report(
    *,
    source: ExampleSource,
    model: ModelFlags,
    history: Annotated[
        Path | None,
        typer.Option(
            "--history", metavar="FILE", help="Also show the steps in this file, which fit --history wrote."
        ),
    ] = None,
    of_class: Annotated[
        str | None,
        typer.Option(
            "--class",
            metavar="CLASS",
            help="Class to report (default: the most frequent); for joint models also TARGET=CLASS.",
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FILE", help="Write the page to this file.", rich_help_panel=OUTPUT),
    ] = Path("report.html"),
    shown: Annotated[
        int,
        typer.Option(
            "--shown",
            min=1,
            metavar="NUMBER",
            help="Maximum number of examples in the page.",
            rich_help_panel=OUTPUT,
        ),
    ] = 5000,
    counting: Counting,
) -> None:
    """Write an HTML page about a model and its predictions.

    The page is one file that works offline. It shows scores, each clause as a sentence with what it adds,
    curves, the schema, and a table of examples, each with its explanation.

    \b
    Example: hornbeam report data/uwcse/fold1 m.json --out report.html
    """
    from hornbeam.cli.output import Clock
    from hornbeam.cli.page import write_page
    from hornbeam.report.html.summary import About

    check_writable(out, model.path, source.data, source.examples, history)
    steps = None if history is None else _history(history)
    clock = Clock()
    about = About(data=data_name(source.data), split=split_name(source, TEST), history=steps)
    opened, of_class = named_target(open_targets(model.path, source, counting), of_class)
    clock.lap("load")
    notes = (opened.note,) if opened.note else ()
    about = replace(about, phases=clock.laps(), notes=(*about.notes, *notes))
    examples = opened.unknown()
    write_page(out, opened.learned, opened.engine, examples, about, of_class, shown)
    say_written(out, f"the report of {plural(len(examples), 'example')}")


def _history(path: Path) -> dict[str, Any]:
    """Read the history that ``fit --history`` wrote: one history, or one for each class."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror}).", Place(str(path))) from None
    except ValueError:
        document = None
    histories = document.values() if isinstance(document, dict) and "steps" not in document else [document]
    complete = all(isinstance(each, dict) and isinstance(each.get("steps"), list) for each in histories)
    if not document or not complete:
        raise DataError(
            "is not a history: expected a file that hornbeam fit --history wrote.", Place(str(path))
        )
    return dict(document)
