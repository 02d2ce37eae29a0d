"""All verbs together, and the handling of errors: one sentence, and a traceback only with --debug.

Exit status: 0 done, 2 a user's error, 130 interrupted (finished work is kept), 1 the reader of the output
has left.
"""

from __future__ import annotations

import gc
import os
import sys
from copy import copy
from typing import Annotated

import typer

from hornbeam.cli.command import BROKEN_PIPE, INTERRUPTED, USER_ERROR, SectionedCommand
from hornbeam.cli.printable import printable
from hornbeam.cli.verbs.count import count
from hornbeam.cli.verbs.datasets import datasets
from hornbeam.cli.verbs.demo import demo
from hornbeam.cli.verbs.explain import explain
from hornbeam.cli.verbs.fit import fit
from hornbeam.cli.verbs.inspect import inspect, modes
from hornbeam.cli.verbs.predict import evaluate, predict
from hornbeam.cli.verbs.report import report
from hornbeam.cli.verbs.reproduce import reproduce
from hornbeam.cli.verbs.show import show
from hornbeam.cli.verbs.sql import sql
from hornbeam.errors import HornbeamError
from hornbeam.version import __version__

# typer has its own copy of click, and no public name for the errors that a wrong command line raises.
_CommandLineError: type[Exception] = typer.BadParameter.__mro__[2]

VERBS = (fit, predict, evaluate, count, show, explain, report, modes, inspect, sql, reproduce, demo)

app = typer.Typer(
    name="hornbeam",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for _verb in VERBS:
    app.command(cls=SectionedCommand)(_verb)
app.add_typer(datasets, name="datasets")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"hornbeam {__version__}")
        raise typer.Exit


@app.callback()
def hornbeam(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Learn readable clauses over the counts of their groundings, predict with them, and explain predictions.

    Results go to stdout, everything else to stderr. `hornbeam demo` needs no data.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run a command line and exit with its status."""
    # The process ends after one command: collecting garbage as often as usual takes a tenth of a small fit.
    gc.set_threshold(50_000, 20, 50)
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    words = [word for word in given if word != "--debug"]
    if not words or words in [[group.name] for group in app.registered_groups]:
        words.append("--help")
    try:
        status = _app_for(words)(words, prog_name="hornbeam", standalone_mode=False)
        sys.stdout.flush()
    except (HornbeamError, _CommandLineError) as error:
        if debug:
            raise
        status = USER_ERROR
        _print_error(_sentence(error))
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
        _print_error("interrupted.")
    except BrokenPipeError:
        # The reader of the output has left. Python would report the error again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = BROKEN_PIPE
    sys.exit(status if isinstance(status, int) else 0)


def _app_for(words: list[str]) -> typer.Typer:
    """The app with only the verb that the words begin with: building the options of all verbs takes time."""
    for command in app.registered_commands:
        if words and command.callback is not None and command.callback.__name__ == words[0]:
            alone = copy(app)
            alone.registered_commands, alone.registered_groups = [command], []
            return alone
    return app


def _sentence(error: Exception) -> str:
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    return " ".join(text.split())


def _print_error(sentence: str) -> None:
    print(f"hornbeam: {printable(sentence)}", file=sys.stderr)
