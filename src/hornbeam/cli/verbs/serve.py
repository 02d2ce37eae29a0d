"""The verb ``serve``: a page on which a model is tried and changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hornbeam.cli.command import verb
from hornbeam.cli.data import data_name, located
from hornbeam.cli.flags import Counting, ExampleSource, ModelFile
from hornbeam.cli.opened import examples_of
from hornbeam.cli.output import print_message, write_result
from hornbeam.errors import DataError, ModelError, Place

if TYPE_CHECKING:
    from hornbeam.model.files import LearnedModel
    from hornbeam.report.live.what_if import ChangeableTables


@verb
def serve(
    *,
    model: ModelFile,
    source: ExampleSource,
    of_class: Annotated[
        str | None, typer.Option("--class", metavar="CLASS", help="Class whose model is shown and edited.")
    ] = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, metavar="NUMBER", help="Port; 0 is any free one.")
    ] = 0,
    counting: Counting,
) -> None:
    """Try and change a model on a page in the browser.

    Choose an example, change a value or remove a row of its tables, and see what the model would say and
    which effect moved. Switch effects off, flatten or straighten curves, make them rise or fall, round their
    levels; the loss on DATA stands beside it. Undo, and save as a new model file in the working folder.

    The page is for this machine alone, and its address is a secret: whoever knows it can use the page.
    Ctrl-C ends it.

    \b
    Example: hornbeam serve m.json shop --examples test.csv
    """
    from hornbeam.model.files import load_model
    from hornbeam.report.live.server import LiveServer
    from hornbeam.report.live.session import LiveModel

    if model.suffix != ".json" and source.data.endswith(".json"):
        raise ModelError(f"the model comes first: hornbeam serve {source.data} {model}", Place(str(model)))
    learned = load_model(model)
    engine, examples = examples_of(learned, source, counting)
    session = LiveModel(learned, engine, examples, _tables(learned, source), Path.cwd(), of_class)
    try:
        server = LiveServer(session, port)
    except OSError as error:
        raise DataError(f"port {port} cannot be used ({error.strerror}); name another, or 0.") from None
    with server:
        print_message(f"{model} on {data_name(source.data)}; Ctrl-C ends it. Open this address in a browser:")
        write_result([f"{server.address}\n"], None)
        typer.echo("", nl=False)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print_message("ended.")


def _tables(learned: LearnedModel, source: ExampleSource) -> ChangeableTables | None:
    """The tables that what-if changes; None if the data are facts."""
    from hornbeam.cli.data import MadeFold
    from hornbeam.loading.kind_of_source import holds_facts
    from hornbeam.report.live.what_if import ChangeableTables

    place = located(source.data)
    if (
        "tables" not in learned.settings
        or isinstance(place, MadeFold)
        or holds_facts(Path(place), source.schema is not None)
    ):
        return None
    return ChangeableTables(place, learned.settings, source.table_options())
