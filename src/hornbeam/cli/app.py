"""The verbs together, and what becomes of an error: one sentence, and never a traceback unasked.

Exit status: 0 done, 2 a user's error, 130 interrupted (what was done is kept), 1 nobody reads it.
"""

from __future__ import annotations

import gc
import os
import sys
from copy import copy
from typing import Annotated

import typer

from hornbeam.cli import fit, look, report, sql, use
from hornbeam.cli.data_sets import datasets
from hornbeam.cli.printable import printable
from hornbeam.cli.reproduce import reproduce
from hornbeam.errors import HornbeamError
from hornbeam.version import __version__

# typer has its own copy of click and no public name for the errors that a wrong command line raises.
_CommandLineError: type[Exception] = typer.BadParameter.__mro__[2]

USER_ERROR, INTERRUPTED, BROKEN_PIPE = 2, 130, 1

app = typer.Typer(
    name="hornbeam",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for verb in (
    fit.fit,
    use.predict,
    use.evaluate,
    look.count,
    look.show,
    use.explain,
    report.report,
    look.modes,
    look.inspect,
    sql.sql,
    reproduce,
    fit.demo,
):
    app.command()(verb)
app.add_typer(datasets, name="datasets")


def _say_version(wanted: bool) -> None:
    if wanted:
        print(f"hornbeam {__version__}")
        raise typer.Exit


@app.callback()
def hornbeam(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Learn readable clauses over the counts of their groundings, predict with them, and see why.

    Results go to stdout, everything else to stderr. `hornbeam demo` needs no data.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run a command line and exit with its status."""
    # One job and then the end: looking for cycles to free as often as usual takes a tenth of a small fit.
    gc.set_threshold(50_000, 20, 50)
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    words = [word for word in given if word != "--debug"]
    if not words or words in [[group.name] for group in app.registered_groups]:
        words.append("--help")
    try:
        status = _of_verb(words)(words, prog_name="hornbeam", standalone_mode=False)
        sys.stdout.flush()
    except (HornbeamError, _CommandLineError) as error:
        if debug:
            raise
        status = USER_ERROR
        _complain(_sentence(error))
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
        _complain("interrupted.")
    except BrokenPipeError:
        # Whoever read the output has left; Python would complain once more when closing it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = BROKEN_PIPE
    sys.exit(status if isinstance(status, int) else 0)


def _of_verb(words: list[str]) -> typer.Typer:
    """The verb that a command line begins with, alone: to read the options of all takes a while."""
    for command in app.registered_commands:
        if words and command.callback is not None and command.callback.__name__ == words[0]:
            alone = copy(app)
            alone.registered_commands, alone.registered_groups = [command], []
            return alone
    return app


def _sentence(error: Exception) -> str:
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    return " ".join(text.split())


def _complain(sentence: str) -> None:
    print(f"hornbeam: {printable(sentence)}", file=sys.stderr)
