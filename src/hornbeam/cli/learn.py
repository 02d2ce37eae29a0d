"""Verbs that learn: fit, demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hornbeam.cli.options import Data, EngineName, Memory, Split, read_duration, read_size
from hornbeam.cli.output import check_writable, json_text, write_result
from hornbeam.cli.talk import progress, remark, say

_INTERRUPTED = 130


def fit(
    data: Data,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", metavar="NAME", help="Predicate to learn; needed where the data have several targets."
        ),
    ] = None,
    model: Annotated[
        Path | None, typer.Option("--model", metavar="FILE", help="Write the model there, not to stdout.")
    ] = None,
    preset: Annotated[
        str, typer.Option("--preset", metavar="PRESET", help="Values of all options: default, paper.")
    ] = "default",
    split: Split = None,
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
    seed: Annotated[int | None, typer.Option("--seed", help="Chooses the negatives that are kept.")] = None,
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
    feature: Annotated[
        str | None,
        typer.Option("--feature", metavar="count|log", help="Weigh counts, or ln(1 + count)."),
    ] = None,
    refit: Annotated[
        bool | None, typer.Option("--refit/--no-refit", help="Fit all weights anew after each step.")
    ] = None,
    length_penalty: Annotated[
        float | None,
        typer.Option("--length-penalty", help="Share of its gain a clause loses per further literal."),
    ] = None,
    diverse_beam: Annotated[
        bool | None,
        typer.Option("--diverse-beam/--no-diverse-beam", help="Equal counts take one place in the beam."),
    ] = None,
    engine: EngineName = "memory",
    history: Annotated[
        Path | None, typer.Option("--history", metavar="FILE", help="Write what each step did (JSON).")
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
    """Learn a model of a target from facts and examples.

    Without --model the clauses are printed. Ctrl-C keeps the steps done.

    \b
    Example: hornbeam fit data/uwcse/fold1 --target advisedby --model m.json
    """
    from hornbeam import boost
    from hornbeam.engines.registry import open_engine
    from hornbeam.history import INTERRUPTED
    from hornbeam.load import load
    from hornbeam.model_json import save_model
    from hornbeam.options import fit_options

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
        "feature": feature,
        "refit": refit,
        "length_penalty": length_penalty,
        "diverse_beam": diverse_beam,
    }
    explicit = {name: value for name, value in given.items() if value is not None}
    if neg_pos_ratio is not None:
        explicit["neg_pos_ratio"] = None if neg_pos_ratio == "all" else _number_or_word(neg_pos_ratio)
    options = fit_options(preset, **explicit)
    should_stop = None if time is None else boost.time_limit(read_duration(time))
    budget = read_size(memory)
    check_writable(model)
    check_writable(history)

    database = load(data, split)
    say(database.notices)
    name = database.target_named(target)
    examples = database.examples_of(name)
    counting = open_engine(engine, database, budget)
    with progress(options.n_steps) as on_step:
        fitted = boost.fit(
            counting, examples.keys, examples.labels, name, options, on_step, checkpoint, should_stop
        )
    interrupted = fitted.history.ended == INTERRUPTED
    if interrupted and not fitted.history.steps:
        say(["interrupted before the first step was done; nothing was written."])
        raise typer.Exit(_INTERRUPTED)
    say(fitted.history.notices())
    if model is None:
        write_result([f"{fitted.model}\n"], None)
    else:
        save_model(fitted.model, model)
        remark(f"{len(fitted.model.clauses)} clauses from {len(examples):,} examples, in {model}")
    if history is not None:
        write_result([json_text(fitted.history.as_dict())], history)
    if interrupted:
        raise typer.Exit(_INTERRUPTED)


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def demo() -> None:
    """Learn from a generated world, score, explain; needs no data.

    \b
    Example: hornbeam demo
    """
    from hornbeam.demo import story

    for part in story():
        write_result([f"{part}\n"], None)
