"""The verb ``demo``: the commands of a first hour, run on a made-up shop."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from hornbeam.cli.app import app_of
from hornbeam.cli.command import verb
from hornbeam.cli.output import check_writable, write_result
from hornbeam.errors import DataError, Place

COMMANDS = (
    "fit shop --target customers.churned --examples train.csv --effects 2 --no-per-constant "
    "--model churn.json",
    "show churn.json",
    "evaluate shop churn.json --examples test.csv",
    "explain shop churn.json c401",
)
"""What is run, in the folder with the shop."""
REPORT = "report shop churn.json --examples test.csv --out"


@verb
def demo(
    *,
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep",
            metavar="FOLDER",
            help="Leave the shop, the model and the report in this new folder.",
        ),
    ] = None,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Instead, learn from a university who advises whom.")
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write the report to this file.  [default: report.html; with --keep, in FOLDER]",
        ),
    ] = None,
) -> None:
    """Learn who leaves a made-up shop, score, explain; needs no files.

    The commands are printed and run. Without --keep, only the report is left.

    \b
    Example: hornbeam demo --keep try
    """
    if keep is not None and keep.exists():
        raise DataError("is there already; name a new folder.", Place(str(keep)))
    page = report or (Path("report.html") if keep is None else keep / "report.html")
    if keep is None or report is not None:
        check_writable(page)
    if pairs:
        _pairs(keep, page)
        return
    with _shop(keep) as folder:
        own = keep is not None and report is None
        shown = page.name if own else str(page)
        written = shown if own else str(Path.cwd() / page)
        _told(f"A shop in three tables, made up: customers, products and orders. Who leaves?\n{_where(keep)}")
        with _inside(folder):
            for command in COMMANDS:
                _run(command, command)
            _run(f"{REPORT} {shlex.quote(shown)}", f"{REPORT} {shlex.quote(written)}")
    _told("For your own data: hornbeam fit DATA lists what may be learned. More: hornbeam demo --pairs.")


def _pairs(keep: Path | None, page: Path) -> None:
    if keep is not None:
        keep.mkdir()
    for part in _story(page):
        _told(part)


def _where(keep: Path | None) -> str:
    return "" if keep is None else f"To run these commands yourself: cd {shlex.quote(str(keep))}\n"


@contextmanager
def _shop(keep: Path | None) -> Iterator[Path]:
    """A folder with the shop: a new one that stays, or a temporary one."""
    from hornbeam.datasets.worlds import write_shop

    if keep is not None:
        try:
            keep.mkdir()
        except OSError as error:
            raise DataError(f"cannot be made ({error.strerror}).", Place(str(keep))) from None
        write_shop(keep)
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="hornbeam-") as folder:
        write_shop(Path(folder))
        yield Path(folder)


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Run what follows in a folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _run(shown: str, command: str) -> None:
    """Print a command, and run it as if it had been typed."""
    _told(f"$ hornbeam {shown}", end="")
    words = shlex.split(command)
    app_of(words[:1])(words, prog_name="hornbeam", standalone_mode=False)
    _told("", end="")


def _told(text: str, end: str = "\n") -> None:
    write_result([f"{text}\n{end}"], None)


def _story(page: Path) -> Iterator[str]:
    """The demonstration of pairs, part by part: who advises whom? The report goes to ``page``."""
    from hornbeam.datasets.worlds import UNIVERSITY_TRUTH, university
    from hornbeam.engines.registry import open_engine
    from hornbeam.learning.effects.learner import fit
    from hornbeam.learning.options import EffectOptions
    from hornbeam.model.evaluate import evaluate
    from hornbeam.model.explain import explain
    from hornbeam.report import About, report

    training, testing = university(seed=0), university(seed=1)
    examples = training.examples_of("advisedby")
    positives = int(examples.labels.sum())
    yield (
        "A generated university. Who publishes together is likelier to advise each other, by\n"
        f"  {UNIVERSITY_TRUTH.clauses[0]}\n"
        f"  {training}\n"
        f"  {positives:,} positive and {len(examples) - positives:,} negative examples\n"
    )
    fitted = fit(open_engine("memory", training), examples, EffectOptions(neg_pos_ratio=None, max_effects=3))
    model = fitted.model
    yield f"Learned:\n{_indented(model.words())}\n\n  {fitted.history.score}\n"
    engine = open_engine("memory", testing)
    unseen = testing.examples_of("advisedby")
    probabilities = model.probabilities(engine, unseen.keys)
    scores = evaluate(unseen.labels, probabilities)
    yield f"Scores on another university, not used for learning:\n{_indented(scores)}\n"
    (key,) = unseen.keys[[int(probabilities.argmax())]]
    (names,) = testing.names_of("advisedby", key.reshape(1, -1)).tolist()
    explanation = explain(model, engine, key, names)
    yield f"Explanation of the highest probability:\n{_indented(explanation)}\n"
    about = About("a generated university, not used for learning", history=fitted.history.as_dict())
    report(model, engine, unseen, about).save(page)
    yield f"A report with every example and its explanation: {page}\n"
    yield "For your own data: hornbeam fit DATA --target NAME --model m.json (see hornbeam fit --help)."


def _indented(value: object) -> str:
    return "\n".join(f"  {line}".rstrip() for line in str(value).splitlines())
