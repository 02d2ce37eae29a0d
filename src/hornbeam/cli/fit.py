"""Verbs that learn: fit, demo."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hornbeam.cli.messages import progress, remark, say
from hornbeam.cli.options import (
    Dangling,
    Data,
    EngineName,
    ExamplesFile,
    Master,
    Memory,
    Negatives,
    SchemaFile,
    Scratch,
    Split,
    read_duration,
    read_size,
)
from hornbeam.cli.output import check_writable, json_text, write_result

if TYPE_CHECKING:
    from hornbeam.learning.classes import ClassFit
    from hornbeam.learning.options import Options
    from hornbeam.learning.problem import Fit
    from hornbeam.model.files import LearnedModel

_INTERRUPTED = 130


def fit(
    context: typer.Context,
    data: Data,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="NAME",
            help="Predicate to learn; of tables: users.premium, users.gender=F, users.occupation, ratings.",
        ),
    ] = None,
    model: Annotated[
        Path | None, typer.Option("--model", metavar="FILE", help="Write the model there, not to stdout.")
    ] = None,
    learner: Annotated[
        str,
        typer.Option(
            "--learner", metavar="LEARNER", help="rlr, agg-lr, ilp-rlr, mln-boost or rdn-boost; see above."
        ),
    ] = "rlr",
    preset: Annotated[
        str | None, typer.Option("--preset", metavar="PRESET", help="Values of all options: default, paper.")
    ] = None,
    split: Split = None,
    examples: ExamplesFile = None,
    schema: SchemaFile = None,
    negatives: Negatives = None,
    dangling: Dangling = "error",
    steps: Annotated[int | None, typer.Option("--steps", help="Steps of boosting, at most.")] = None,
    l2: Annotated[float | None, typer.Option("--l2", help="Strength of the ridge penalty.")] = None,
    max_literals: Annotated[
        int | None, typer.Option("--max-literals", help="Literals in a body, at most.")
    ] = None,
    beam_width: Annotated[
        int | None, typer.Option("--beam-width", help="Bodies kept at each length of the search.")
    ] = None,
    stop: Annotated[
        str | None,
        typer.Option("--stop", metavar="best|full", help="Best clause of any length, or always full length."),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option("--prior", metavar="NUMBER|base-rate", help="Log-odds before the first clause."),
    ] = None,
    neg_pos_ratio: Annotated[
        str | None,
        typer.Option("--neg-pos-ratio", metavar="NUMBER|all", help="Training negatives per positive."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Chooses negatives to keep, examples to hold out.")
    ] = None,
    negation: Annotated[bool | None, typer.Option("--negation", help="Allow negated literals.")] = None,
    thresholds: Annotated[
        int | None, typer.Option("--thresholds", help="Thresholds per numeric argument, 0 for none.")
    ] = None,
    populations: Annotated[
        str | None,
        typer.Option(
            "--populations", metavar="database|training", help="Where predictions take totals from."
        ),
    ] = None,
    false_counts: Annotated[
        str | None,
        typer.Option(
            "--false-counts", metavar="population|guarded", help="Of what false counts are the rest."
        ),
    ] = None,
    feature: Annotated[
        str | None,
        typer.Option("--feature", metavar="count|log|best", help="Weigh counts, ln(1 + count), or the best."),
    ] = None,
    refit: Annotated[
        bool | None, typer.Option("--refit/--no-refit", help="Fit all weights anew after each step.")
    ] = None,
    length_penalty: Annotated[
        float | None,
        typer.Option("--length-penalty", help="Share of its gain a clause loses per further literal."),
    ] = None,
    look_ahead: Annotated[
        bool | None,
        typer.Option("--look-ahead/--no-look-ahead", help="Extend literals that only lead on."),
    ] = None,
    per_constant: Annotated[
        bool | None,
        typer.Option("--per-constant/--no-per-constant", help="Allow clauses with a weight per constant."),
    ] = None,
    validate: Annotated[
        bool | None,
        typer.Option("--validate/--no-validate", help="Let examples held out choose length, l2 and steps."),
    ] = None,
    max_clauses: Annotated[
        int | None,
        typer.Option("--max-clauses", help="Clauses in the model, at most: those that say most."),
    ] = None,
    clauses_per_step: Annotated[
        int | None, typer.Option("--clauses-per-step", help="Clauses that a step adds (mln-boost).")
    ] = None,
    max_depth: Annotated[
        int | None, typer.Option("--max-depth", help="Tests from root to leaf, at most (rdn-boost).")
    ] = None,
    max_leaves: Annotated[
        int | None, typer.Option("--max-leaves", help="Leaves of a tree, at most (rdn-boost).")
    ] = None,
    min_examples: Annotated[
        int | None, typer.Option("--min-examples", help="Examples in a leaf, at least (rdn-boost).")
    ] = None,
    redraw: Annotated[
        bool | None,
        typer.Option("--redraw/--no-redraw", help="Draw negatives anew in each step (rdn-boost)."),
    ] = None,
    max_rounds: Annotated[
        int | None, typer.Option("--max-rounds", help="Rounds that make a bottom clause (ilp-rlr).")
    ] = None,
    max_recall: Annotated[
        int | None, typer.Option("--max-recall", help="Facts per mode in a bottom clause (ilp-rlr).")
    ] = None,
    max_bodies: Annotated[
        int | None, typer.Option("--max-bodies", help="Bodies looked at for one positive (ilp-rlr).")
    ] = None,
    engine: EngineName = "memory",
    scratch: Scratch = None,
    master: Master = None,
    history: Annotated[
        Path | None, typer.Option("--history", metavar="FILE", help="Write what each step did (JSON).")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write a page that explains it (HTML).")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint", metavar="FOLDER", help="Save after each step; the same command resumes."
        ),
    ] = None,
    memory: Memory = "2GB",
    time: Annotated[
        str | None,
        typer.Option("--time", metavar="DURATION", help="Stop after 30s, 10m, 2h; keep the steps."),
    ] = None,
) -> None:
    """Learn a model of a target from facts and examples, or tables.

    Without --model what was learned is printed. Ctrl-C keeps the steps done. The engines duckdb, postgres
    and spark count tables where they are; everything else is loaded first.

    \b
    Learners: rlr        boosted clauses, weights over true and false counts (the default)
              mln-boost  boosted clauses, one weight each
              rdn-boost  boosted relational regression trees
              ilp-rlr    clauses by covering, then weights
              agg-lr     logistic regression on aggregates
    An option that a learner does not have is refused.

    \b
    Example: hornbeam fit data/uwcse/fold1 --target advisedby --model m.json
    """
    from hornbeam.cli.report import Clock, data_name, split_name, write_page
    from hornbeam.engines.registry import open_engine
    from hornbeam.errors import DataError
    from hornbeam.in_place.load import load
    from hornbeam.learning.classes import fit_classes
    from hornbeam.learning.history import INTERRUPTED
    from hornbeam.learning.learners import learn
    from hornbeam.learning.loop import Control, time_limit
    from hornbeam.model.files import save_model

    given: dict[str, object] = {
        "n_steps": steps,
        "l2": l2,
        "max_literals": max_literals,
        "beam_width": beam_width,
        "stop": stop,
        "prior": None if prior is None else _number_or_word(prior),
        "seed": seed,
        "negation": negation,
        "n_thresholds": thresholds,
        "populations": populations,
        "false_counts": false_counts,
        "feature": feature,
        "refit": refit,
        "length_penalty": length_penalty,
        "look_ahead": look_ahead,
        "per_constant": per_constant,
        "validate": validate,
        "max_clauses": max_clauses,
        "clauses_per_step": clauses_per_step,
        "max_depth": max_depth,
        "max_leaves": max_leaves,
        "min_examples": min_examples,
        "redraw": redraw,
        "max_rounds": max_rounds,
        "max_recall": max_recall,
        "max_bodies": max_bodies,
    }
    explicit = {name: value for name, value in given.items() if value is not None}
    if neg_pos_ratio is not None:
        explicit["neg_pos_ratio"] = None if neg_pos_ratio == "all" else _number_or_word(neg_pos_ratio)
    options = _options(learner, preset, explicit, checkpoint is not None)
    seconds = None if time is None else read_duration(time)
    budget = read_size(memory)
    check_writable(model)
    check_writable(history)
    check_writable(report)

    clock = Clock()
    database = load(
        data,
        split,
        engine=engine,
        memory=budget,
        scratch=scratch,
        master=master,
        target=target,
        examples=examples,
        schema=schema,
        negatives=negatives,
        dangling=dangling,
        seed=seed or 0,
    )
    context.call_on_close(database.close)
    say(database.notices)
    clock.lap("load")
    name = database.target_named(target)
    found = database.examples_of(name).labelled()
    if not len(found):
        raise DataError(
            f'no example of "{target or name}" has a label; name a column that has them, or give them '
            'in a column "label" of --examples FILE.'
        )
    counting = open_engine(engine, database, budget, scratch=scratch, master=master)
    fitted: Fit[LearnedModel] | ClassFit
    with progress(getattr(options, "n_steps", None)) as on_step:
        if found.classes:
            control = Control(on_step, checkpoint)
            fitted = fit_classes(learner, counting, found, options, control, seconds)
        else:
            limit = None if seconds is None else time_limit(seconds)
            fitted = learn(learner, counting, found, options, Control(on_step, checkpoint, limit))
    clock.lap("learn")
    done = fitted.history
    interrupted = done.ended == INTERRUPTED
    if interrupted and not done.steps:
        say(["interrupted before the first step was done; nothing was written."])
        raise typer.Exit(_INTERRUPTED)
    say(done.notices())
    if model is None:
        write_result([f"{fitted.model}\n"], None)
    else:
        save_model(fitted.model, model)
        remark(f"{fitted.model.size_text} from {len(found):,} examples, in {model}")
    if history is not None:
        write_result([json_text(done.as_dict())], history)
    if report is not None:
        from hornbeam.report.html.summary import About

        about = About(
            data=data_name(data),
            split=split_name(data, split, "train"),
            of_training=True,
            history=done.as_dict(),
            phases=clock.laps(),
        )
        write_page(report, fitted.model, counting, found, about)
    if interrupted:
        raise typer.Exit(_INTERRUPTED)


def _options(learner: str, preset: str | None, explicit: dict[str, object], checkpoint: bool) -> Options:
    """The options of a learner; those that it does not have are refused as they were typed."""
    from hornbeam.errors import OptionError
    from hornbeam.learning.learners import home_of, options_class, options_for

    home = home_of(learner)
    known = options_class(learner).names()
    other = [_flag(name) for name in explicit if name not in known]
    other += ["--preset"] * (preset is not None and not home.presets)
    other += ["--checkpoint"] * (checkpoint and not home.checkpoint)
    if other:
        raise OptionError(
            f"{other[0]} is refused: learner {learner} has no such option; "
            f"it has {', '.join(sorted(map(_flag, known)))}."
        )
    try:
        return options_for(learner, preset, **explicit)
    except OptionError as error:
        name, equals, rest = str(error).partition("=")
        if equals and name in explicit:
            # As it is typed: what is None elsewhere is "all" here, or is not given; True goes without saying.
            rest = rest.replace(" or None", " or 'all'" if name == "neg_pos_ratio" else "")
            rest = rest.removeprefix("True ")
            raise OptionError(f"{_flag(name)} {rest}") from None
        raise


def _flag(name: str) -> str:
    """How an option is typed: ``n_steps`` as --steps, ``max_literals`` as --max-literals."""
    return f"--{name.removeprefix('n_').replace('_', '-')}"


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def demo(
    report: Annotated[Path, typer.Option("--report", metavar="FILE", help="Write the report there.")] = Path(
        "report.html"
    ),
) -> None:
    """Learn from a generated world, score, explain; needs no data.

    \b
    Example: hornbeam demo
    """
    from hornbeam.cli.demo import story

    check_writable(report)
    for part in story(report):
        write_result([f"{part}\n"], None)
