"""The app with all verbs. Errors are printed as one sentence, with a traceback only if --debug is given.

Exit status: 0 for success, 1 if the output cannot be written (the reader closed the pipe, the disk is full),
2 for a user's error, 130 if interrupted (finished work is kept), 143 if SIGTERM and 129 if the closing of the
terminal interrupted it.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated

import typer

from hornbeam.cli.command import CANNOT_WRITE, INTERRUPTED, USER_ERROR, SectionedCommand, check_verb
from hornbeam.cli.output import (
    NORMAL,
    QUIET,
    VERBOSE,
    forget_stdout,
    open_closed_streams,
    print_error,
    set_level,
)
from hornbeam.errors import HornbeamError
from hornbeam.learning.workers import ONE_THREAD
from hornbeam.version import __version__

# typer has its own copy of click, and no public name for the errors that a wrong command line raises.
_CommandLineError: type[Exception] = typer.BadParameter.__mro__[2]

VERBS = {
    "fit": "fit",
    "predict": "predict",
    "evaluate": "predict",
    "count": "count",
    "show": "show",
    "explain": "explain",
    "report": "report",
    "card": "card",
    "edit": "edit",
    "serve": "serve",
    "examples": "examples",
    "modes": "inspect",
    "inspect": "inspect",
    "sql": "sql",
    "demo": "demo",
    "datasets": "datasets",
}
"""The module of each verb, in the order of the help. It is imported when the verb is needed."""


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"hornbeam {__version__}")
        raise typer.Exit


def hornbeam(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print results and errors only.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Say more: progress, files, times, even in a pipe.")
    ] = False,
) -> None:
    """Learn a model that you can read from linked tables, predict with it, and explain its predictions.

    Results go to stdout, messages to stderr. To try it without data of your own, run `hornbeam demo`.
    """


def app_of(verbs: Iterable[str] = VERBS) -> typer.Typer:
    """The command line with the given verbs. Building the flags of all verbs takes noticeable time."""
    app = typer.Typer(
        name="hornbeam",
        callback=hornbeam,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    for name in verbs:
        verb = getattr(import_module(f"hornbeam.cli.verbs.{VERBS[name]}"), name)
        if isinstance(verb, typer.Typer):
            app.add_typer(verb, name=name)
        else:
            app.command(cls=SectionedCommand)(verb)
    return app


def main(arguments: list[str] | None = None) -> None:
    """Run a command line and exit with its status."""
    # The process ends after one command: collecting garbage as often as usual takes a tenth of a small fit.
    gc.set_threshold(50_000, 20, 50)
    # No command gains by threads of matrix products, which take as long to start as a tenth of a small fit.
    os.environ.update(ONE_THREAD | os.environ)
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    set_level(_level(given))
    words = [word for word in given if word not in ("--debug", *_QUIET, *_VERBOSE)]
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    if not words or words == ["datasets"]:
        words.append("--help")
    app = app_of(words[:1] if words[0] in VERBS else VERBS)
    open_closed_streams()
    signals: list[int] = []
    with interrupted_by_signals(signals):
        try:
            status = _status(app, words, debug)
        except Exception:
            # An import that is interrupted raises ImportError.
            if debug or not signals:
                raise
            status = INTERRUPTED
            _print_error("interrupted.")
    if signals and status == INTERRUPTED:
        status = 128 + signals[0]
    sys.exit(status if isinstance(status, int) else 0)


@contextmanager
def interrupted_by_signals(received: list[int]) -> Iterator[None]:
    """SIGTERM, and SIGHUP of a closed terminal, interrupt a command as Ctrl-C does.

    So temporary tables and files are removed, and finished work is kept. A second signal changes nothing.
    """

    def interrupt(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        received.append(number)
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # A thread cannot handle signals; nohup has them ignored.
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    numbers = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in set(numbers) - set(received):
            signal.signal(number, signal.SIG_DFL)


def _status(app: typer.Typer, words: list[str], debug: bool) -> object:
    """Run a command; its exit status, after an error has been printed as one sentence."""
    try:
        check_verb(words[0], VERBS)
        status: object = app(words, prog_name="hornbeam", standalone_mode=False)
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
        # The reader closed the pipe, and does not want to hear of it.
        forget_stdout()
        status = CANNOT_WRITE
    except OSError as error:
        # Errors of files have a name and become errors of Hornbeam.
        if debug or error.filename is not None:
            raise
        forget_stdout()
        status = CANNOT_WRITE
        reason = error.strerror or error
        _print_error(f"cannot write to stdout ({reason}); send the output to a place that can be written.")
    return status


_QUIET, _VERBOSE = ("-q", "--quiet"), ("-v", "--verbose")
"""Flags that every verb takes, anywhere."""


def _level(words: list[str]) -> int:
    """How much is said; the last flag counts."""
    level = NORMAL
    for word in words:
        level = QUIET if word in _QUIET else VERBOSE if word in _VERBOSE else level
    return level


def _sentence(error: Exception) -> str:
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    return " ".join(text.split())


def _print_error(sentence: str) -> None:
    print_error(f"hornbeam: {sentence}")
