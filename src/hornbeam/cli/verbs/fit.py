"""The verb ``fit``: learn a model."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from hornbeam.cli.command import INTERRUPTED, NOTHING_LEARNED, verb
from hornbeam.cli.data import TRAIN, data_name, load_data, split_name
from hornbeam.cli.flags import DATA, LEARNING, OUTPUT, CountingInPlace, ExampleSource, read_duration
from hornbeam.cli.learner_flags import LearnerFlags, chosen_options
from hornbeam.cli.output import (
    check_writable,
    detail,
    json_text,
    print_message,
    progress,
    remark,
    say,
    write_result,
)
from hornbeam.errors import LimitError, OptionError, plural
from hornbeam.learning.options import OPTIONS, PRESETS

if TYPE_CHECKING:
    from hornbeam.cli.output import Clock
    from hornbeam.data.database import Database, Examples
    from hornbeam.engines.contract import Engine
    from hornbeam.joint.fitting.learner import JointFit, JointHistory
    from hornbeam.learning.classes import ClassFit, ClassHistory
    from hornbeam.learning.history import History
    from hornbeam.learning.options import Options
    from hornbeam.learning.problem import Fit
    from hornbeam.model.files import LearnedModel

Targets = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        metavar="NAME",
        help="Predicate to learn; for tables a column (users.premium, users.occupation, users.age), a value "
        "(users.gender=F), a threshold (users.age>30) or a link table (ratings). With --joint, it may be "
        "given several times, or left out: then all targets that have examples are learned.",
        rich_help_panel=DATA,
    ),
]
Joint = Annotated[
    bool,
    typer.Option(
        "--joint",
        help="Learn targets that depend on each other: labels of linked things, known or guessed, count too.",
        rich_help_panel=LEARNING,
    ),
]
Learner = Annotated[
    str,
    typer.Option(
        "--learner",
        metavar="LEARNER",
        help=f"Learner: {', '.join(OPTIONS)}; see above.",
        rich_help_panel=LEARNING,
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="|".join(PRESETS),
        help="For rlr: default learns effects with curves; paper is the published algorithm, with options of "
        "its own.  [default: default]",
        rich_help_panel=LEARNING,
    ),
]


@dataclass(frozen=True, slots=True)
class Output:
    """The files that a fit writes."""

    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            metavar="FILE",
            help="Write the model to this file (JSON). Without it, the model is printed.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    history: Annotated[
        Path | None,
        typer.Option(
            "--history",
            metavar="FILE",
            help="Write a record of the steps to this file (JSON).",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write a report about the model to this file (HTML).",
            rich_help_panel=OUTPUT,
        ),
    ] = None

    def check(self, *read: object) -> None:
        """Refuse a file that cannot be written, or that is read, before anything is learned."""
        for path in (self.model, self.history, self.report):
            check_writable(path, *read)


@dataclass(frozen=True, slots=True)
class Limits:
    """When a fit saves its steps, when it ends, and how many processes it uses."""

    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            metavar="FOLDER",
            help="Save the steps in this folder; the same command resumes from there.",
            rich_help_panel=LEARNING,
        ),
    ] = None
    time: Annotated[
        str | None,
        typer.Option(
            "--time",
            metavar="DURATION",
            help="Stop after this time, such as 30s, 10m or 2h, loading included; keep the steps so far.",
            rich_help_panel=LEARNING,
        ),
    ] = None

    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            metavar="NUMBER",
            help="Processes that learn at the same time; -1 is one for each processor. The model is the same "
            "for every number. For the default preset of rlr.  [default: 1]",
            rich_help_panel=LEARNING,
        ),
    ] = None

    def check(self) -> None:
        """Refuse a duration or a number of jobs that cannot be read, before anything is loaded."""
        _ = self.seconds, self.processes

    @property
    def processes(self) -> int:
        """The number of processes."""
        from hornbeam.learning.workers import number_of_jobs

        return number_of_jobs(self.jobs, "--jobs ")

    @property
    def seconds(self) -> float | None:
        """The time limit in seconds."""
        return None if self.time is None else read_duration(self.time)


@verb
def fit(
    *,
    context: typer.Context,
    target: Targets = None,
    joint: Joint = False,
    source: ExampleSource,
    output: Output,
    learner: Learner = "rlr",
    preset: Preset = None,
    limits: Limits,
    flags: LearnerFlags,
    counting: CountingInPlace,
) -> None:
    """Learn a model from facts and examples, or from tables.

    With --joint, labels of linked things count too, and the unknown ones are guessed together.

    Ctrl-C ends the fit and keeps the steps done so far. The engines duckdb, postgres and spark count tables
    in place; other data are loaded, without --engine only tables that fit the memory.

    LEARNERS

    \b
    Example: hornbeam fit data/uwcse/fold1 --target advisedby --model m.json
    """
    from hornbeam.cli.output import Clock
    from hornbeam.engines.registry import open_engine

    options = chosen_options(learner, preset, flags, limits.checkpoint is not None)
    limits.check()
    output.check(source.data, source.examples)
    first = target[0] if target else None
    _check_targets(joint, target or [], options, output, limits)
    # A file with labels of several targets is no list of examples of the first.
    labels = source.examples if target and len(target) > 1 else None
    loaded = replace(source, examples=None) if labels else source
    clock = Clock()
    with _time_for_loading(limits):
        database = load_data(loaded, counting.loading(joint), target=first, seed=flags.seed or 0)
    context.call_on_close(database.close)
    say(database.notices)
    clock.lap("load")
    if joint:
        _fit_joint(database, target or [], labels, options, limits, output, clock)
        return
    database, examples = _labelled(database, first, options, source)
    engine = open_engine(counting.engine_name, database, counting.budget, **counting.place())
    fitted = _learned(engine, examples, options, limits, clock)
    clock.lap("learn")
    detail(", ".join(f"{name} {seconds:.1f} s" for name, seconds in clock.laps()))
    interrupted = _was_interrupted(fitted.history, limits)
    say(fitted.history.notices())
    for line in (*fitted.history.scores(), *_explained(fitted, examples)):
        print_message(line)
    _write(fitted, output, len(examples))
    if output.report is not None:
        _write_report(output.report, fitted, engine, examples, source, clock)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


class _TimeOverError(BaseException):
    """Interrupts loading; no handler of errors on the way takes it for one of its own."""


@contextmanager
def _time_for_loading(limits: Limits) -> Iterator[None]:
    """End the command if loading alone takes longer than the time limit."""
    seconds = limits.seconds
    can_interrupt = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    if not seconds or not can_interrupt:
        yield
        return
    over: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        over.append(number)
        raise _TimeOverError

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except BaseException:
        # The error may have changed on its way: an import that is interrupted raises ImportError.
        if not over:
            raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    # The error may also be lost on its way: Python ignores errors of callbacks that collect garbage.
    if over:
        raise LimitError(
            f"loading was not done after --time {limits.time}, so nothing was learned; allow more time, or "
            "leave out tables and columns by schema.toml."
        )


def _check_targets(joint: bool, targets: list[str], options: Options, output: Output, limits: Limits) -> None:
    """Refuse several targets without --joint, and what joint models cannot do."""
    if joint:
        from hornbeam.cli.opened import check_joint

        check_joint(options, {"--report": output.report, "--checkpoint": limits.checkpoint})
    elif len(targets) > 1:
        raise OptionError("--target is given several times: targets are learned together only with --joint.")


def _fit_joint(
    database: Database,
    targets: list[str],
    labels: Path | None,
    options: Options,
    limits: Limits,
    output: Output,
    clock: Clock,
) -> None:
    """Learn a joint model, say how good it is, and write it."""
    from hornbeam.cli.opened import learn_joint
    from hornbeam.learning.loop import Control, time_limit

    seconds = _time_left(limits, clock)
    stop = None if seconds is None else time_limit(seconds)
    with progress(getattr(options, "n_steps", None)) as on_step:
        fitted = learn_joint(database, targets, labels, options, Control(on_step, None, stop))
    _was_interrupted(fitted.history, limits)
    say(fitted.history.notices())
    for line in fitted.history.scores():
        print_message(line)
    _write(fitted, output, sum(len(each.keys) for each in fitted.model.known))


def _name_targets(database: Database, source: ExampleSource) -> None:
    """If a target must be named, stop, and say which columns and tables it may be."""
    from hornbeam.loading.inspect.inspectors import inspect_tables
    from hornbeam.loading.inspect.targets import possible_targets
    from hornbeam.loading.options import TableOptions

    if database.example_sets or "tables" not in database.origin or "target" in database.origin:
        return
    options = TableOptions(schema=source.schema, allow_outside=source.allow_outside)
    found = possible_targets(inspect_tables(source.data, options))
    raise OptionError(f"name what to learn by --target; the tables have {found or 'no column to learn'}.")


def _labelled(
    database: Database, target: str | None, options: Options, source: ExampleSource
) -> tuple[Database, Examples]:
    """The examples that have a label, and the data up to their last cut-off; numbers are classes for the loss
    logistic.
    """
    from hornbeam.data.ending import before_the_end
    from hornbeam.errors import DataError
    from hornbeam.model.scales import LOGISTIC

    if target is None:
        _name_targets(database, source)
    name = database.target_named(target)
    examples = database.examples_of(name).labelled()
    if not len(examples):
        raise DataError(
            f'no example of "{target or name}" has a label; name a column that has labels, or give them in a '
            'column "label" of --examples FILE.'
        )
    as_classes = getattr(options, "loss", "") == LOGISTIC
    return before_the_end(database, examples.as_classes() if as_classes else examples)


def _learned(
    engine: Engine, examples: Examples, options: Options, limits: Limits, clock: Clock
) -> Fit[LearnedModel] | ClassFit:
    """Learn, with a progress bar if stderr is a terminal."""
    from hornbeam.learning.learners import learn
    from hornbeam.learning.loop import Control, time_limit

    learner = options.learner
    seconds = _time_left(limits, clock)
    with progress(getattr(options, "n_steps", None)) as on_step:
        control = Control(on_step, limits.checkpoint, jobs=limits.processes)
        if examples.classes:
            from hornbeam.learning.classes import fit_classes

            return fit_classes(learner, engine, examples, options, control, seconds)
        if seconds is not None:
            control = replace(control, should_stop=time_limit(seconds))
        return learn(learner, engine, examples, options, control)


def _explained(fitted: Fit[LearnedModel] | ClassFit, examples: Examples) -> list[str]:
    """What the losses mean, if examples were held out."""
    from hornbeam.learning.held_out import explained_text

    if examples.classes:
        from hornbeam.learning.classes import ClassFit

        assert isinstance(fitted, ClassFit)
        text = explained_text(fitted.model.models, fitted.held_out, examples)
    else:
        alone = cast("Fit[LearnedModel]", fitted)
        text = explained_text([alone.model], alone.held_out, examples)
    return [text] if text else []


def _time_left(limits: Limits, clock: Clock) -> float | None:
    """The seconds of the time limit that loading has left; None without a limit."""
    return None if limits.seconds is None else max(limits.seconds - clock.total(), 0.0)


def _was_interrupted(history: History | ClassHistory | JointHistory, limits: Limits) -> bool:
    """Whether Ctrl-C ended the fit. If that, or the time limit, was before any step, the command ends."""
    from hornbeam.learning.history import INTERRUPTED as STOPPED
    from hornbeam.learning.history import TIME_LIMIT

    if history.ended == STOPPED and not history.steps:
        say(["interrupted before the first step was done; nothing was written."])
        raise typer.Exit(INTERRUPTED)
    if history.ended == TIME_LIMIT and not history.steps:
        why = f"nothing was learned within --time {limits.time}, so nothing was written"
        say([f"{why}; allow more time, or leave out tables and columns by schema.toml."])
        raise typer.Exit(NOTHING_LEARNED)
    return history.ended == STOPPED


def _write(fitted: Fit[LearnedModel] | ClassFit | JointFit, output: Output, n_examples: int) -> None:
    """Write the model and the history, or print the model."""
    from hornbeam.model.files import save_model

    if output.model is None:
        write_result([f"{fitted.model}\n"], None)
    else:
        save_model(fitted.model, output.model)
        examples = plural(n_examples, "example")
        remark(f"wrote {fitted.model.size_text}, learned from {examples}, to {output.model}")
    if output.history is not None:
        write_result([json_text(fitted.history.as_dict())], output.history)
        remark(f"wrote the history to {output.history}")


def _write_report(
    path: Path,
    fitted: Fit[LearnedModel] | ClassFit,
    engine: Engine,
    examples: Examples,
    source: ExampleSource,
    clock: Clock,
) -> None:
    from hornbeam.cli.page import write_page
    from hornbeam.report.html.summary import About

    about = About(
        data=data_name(source.data),
        split=split_name(source, TRAIN),
        of_training=True,
        history=fitted.history.as_dict(),
        phases=clock.laps(),
        held_out=fitted.held_out,
    )
    write_page(path, fitted.model, engine, examples, about)
    remark(f"wrote the report to {path}")


def _learners() -> str:
    """A line about each learner; help does not wrap these lines."""
    width = max(map(len, OPTIONS))
    first, *others = (f"{name:<{width}}  {options.summary}" for name, options in OPTIONS.items())
    lines = ["\b", f"Learners: {first}", *(f"          {line}" for line in others)]
    return "\n".join([*lines, "An option that a learner does not have is refused."])


fit.__doc__ = cleandoc(fit.__doc__ or "").replace("LEARNERS", _learners())
