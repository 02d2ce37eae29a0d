"""The verbs ``predict`` and ``evaluate``: predictions for examples, and how good they are."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from hornbeam.cli.command import verb
from hornbeam.cli.flags import DATA, CountingInPlace, EvidenceFile, ExampleSource, Json, ModelFlags, Out
from hornbeam.cli.messages import say_written
from hornbeam.cli.opened import open_examples
from hornbeam.cli.output import check_writable, csv_text, json_text, write_result
from hornbeam.cli.verbs.joint import evaluate_joint, joint_model, predict_joint, together
from hornbeam.errors import DataError, OptionError, plural

if TYPE_CHECKING:
    from hornbeam.data.database import Notice
    from hornbeam.data.relations import Examples
    from hornbeam.engines.contract import Engine
    from hornbeam.model.files import LearnedModel
BY_TIME = "time"

Unknown = Annotated[
    str,
    typer.Option(
        "--unknown",
        metavar="warn|error",
        help="If keys of examples are not in the data: say how many and treat them as without facts, or stop "
        "with an error.",
        rich_help_panel=DATA,
    ),
]


@verb
def predict(
    *,
    context: typer.Context,
    source: ExampleSource,
    model: ModelFlags,
    evidence: EvidenceFile = None,
    unknown: Unknown = "warn",
    out: Out = None,
    counting: CountingInPlace,
) -> None:
    """Print the probability of every example.

    The result is CSV, a row for each example in the order of --examples or of the data. Its columns are the
    keys under their names in the tables, label, predicted and probability; from facts, they are arg1..argk,
    label (0 or 1) and probability. For a target with classes, there is a column of probabilities for each
    class; for a numeric target, the column prediction alone. If examples have cut-offs, there is a column for
    them. evaluate --examples reads this file. A joint model of several targets gives rows
    target,arg1..argk,label,class,probability.

    \b
    Example: hornbeam predict data/uwcse/fold1 m.json --out p.csv
    """
    from hornbeam.model.files import chosen_of, predictions_of
    from hornbeam.model.predict import UNKNOWN_KEYS
    from hornbeam.model.readable.predictions import prediction_table

    check_writable(out, model.path, source.data, source.examples, evidence)
    if unknown not in UNKNOWN_KEYS:
        raise OptionError(f"--unknown {unknown} is refused: it must be {' or '.join(UNKNOWN_KEYS)}.")
    if (joint := joint_model(model.path, evidence)) is not None:
        database, found = together(joint, source, counting, evidence)
        predict_joint(database, found, out)
        return
    learned, engine, given = open_examples(model.path, source, counting)
    context.call_on_close(engine.database.close)
    if unknown == "error":
        _refuse_unknown(engine.database.notices)
    examples = given.as_given()
    predicted = predictions_of(learned, engine, examples.keys, examples.choices)
    chosen = chosen_of(learned, engine, examples.keys, predicted, examples.choices)
    table = prediction_table(learned, engine.database, examples, predicted, chosen)
    write_result(csv_text(table.header, table.rows()), out, exact=True)
    say_written(out, plural(len(examples), "prediction"))


def _refuse_unknown(notices: Iterable[Notice]) -> None:
    """Stop if some examples have keys that are not in the data."""
    from hornbeam.data.codes import UnknownKeys

    for notice in notices:
        if isinstance(notice, UnknownKeys):
            raise DataError(f"{notice} Remove them, or leave --unknown error out.")


@verb
def evaluate(
    *,
    context: typer.Context,
    source: ExampleSource,
    model: ModelFlags,
    evidence: EvidenceFile = None,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="time", help="Score the examples of each cut-off on their own (CSV)."),
    ] = None,
    json: Json = False,
    counting: CountingInPlace,
) -> None:
    """Score a model on all examples that have a label.

    auc_pr is the average precision over all negatives. auc_pr_2to1 is its mean over draws of two negatives
    per positive, only for comparison with published numbers. For a target with classes, the scores are
    accuracy, the mean auc_roc of each class against the others, log_loss and brier, with the number of
    examples of each class. For a numeric target they are mae, rmse and r2, and the same for the best constant
    of the training examples. For choices they are hit_rate, log_loss and mean_reciprocal_rank.

    \b
    Example: hornbeam evaluate data/uwcse/fold1 m.json --json
    """
    from hornbeam.model.predict import scores_of

    if by not in (None, BY_TIME):
        raise OptionError(f"--by {by} is refused: it must be {BY_TIME}.")
    if (joint := joint_model(model.path, evidence)) is not None:
        if by is not None:
            raise OptionError("--by is refused: it is not for joint models.")
        database, found = together(joint, source, counting, evidence)
        evaluate_joint(database, found, json)
        return
    learned, engine, examples = open_examples(model.path, source, counting)
    context.call_on_close(engine.database.close)
    if by is not None:
        _write_by_time(learned, engine, examples, json)
        return
    scores = scores_of(learned, engine, examples)
    write_result([json_text(scores.as_dict()) if json else f"{scores}\n"], None)


def _write_by_time(learned: LearnedModel, engine: Engine, examples: Examples, json: bool) -> None:
    """The scores of the examples of each cut-off, the earliest first; empty where they cannot be scored."""
    import numpy as np

    from hornbeam.model.predict import scores_of

    if examples.cutoffs is None:
        raise OptionError("--by time is refused: the examples have no cut-offs.")
    examples = examples.labelled()
    rows: list[dict[str, object]] = []
    for cutoff in [] if examples.cutoffs is None else np.unique(examples.cutoffs).tolist():
        places = np.flatnonzero(examples.cutoffs == cutoff)
        (text,) = engine.database.cutoff_texts(np.array([cutoff]))
        row: dict[str, object] = {"cutoff": text, "examples": len(places)}
        # All examples of a cut-off may have the same label: then there is nothing to rank.
        with suppress(DataError):
            scores = scores_of(learned, engine, examples.at(places)).as_dict()
            row |= {name: value for name, value in scores.items() if not isinstance(value, dict)}
        rows.append(row)
    names = list(dict.fromkeys(name for row in rows for name in row))
    if json:
        write_result([json_text(rows)], None)
        return
    lines = ([_short(row.get(name, "")) for name in names] for row in rows)
    write_result(csv_text(names, lines), None, exact=True)


def _short(value: object) -> object:
    """A score with as many digits as evaluate prints."""
    return f"{value:.6f}" if isinstance(value, float) else value
