"""The verbs ``predict`` and ``evaluate``: predictions for examples, and how good they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from hornbeam.cli.command import verb
from hornbeam.cli.flags import DATA, CountingInPlace, EvidenceFile, ExampleSource, Json, ModelFlags, Out
from hornbeam.cli.opened import OpenedTarget, open_targets
from hornbeam.cli.output import check_writable, csv_text, json_text, say_written, write_result
from hornbeam.errors import DataError, OptionError, plural

if TYPE_CHECKING:
    from hornbeam.data.database import Notice

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
    targets = open_targets(model.path, source, counting, evidence)
    context.call_on_close(targets[0].engine.database.close)
    if unknown == "error":
        _refuse_unknown(targets[0].engine.database.notices)
    if len(targets) > 1:
        header, rows = _of_several(targets)
        write_result(csv_text(header, rows), out, exact=True)
        say_written(out, plural(len(rows), "row"))
        return
    learned, engine, given, *_ = targets[0]
    examples = given.as_given()
    predicted = predictions_of(learned, engine, examples.keys, examples.choices)
    chosen = chosen_of(learned, engine, examples.keys, predicted, examples.choices)
    table = prediction_table(learned, engine.database, examples, predicted, chosen)
    write_result(csv_text(table.header, table.rows()), out, exact=True)
    say_written(out, plural(len(examples), "prediction"))


def _of_several(targets: Sequence[OpenedTarget]) -> tuple[list[str], list[list[object]]]:
    """A row for each target, key and class; for a target that is true or false, only for true."""
    from hornbeam.model.files import predictions_of

    arity = max(each.learned.schema.arity(each.learned.target) for each in targets)
    rows: list[list[object]] = []
    for learned, engine, examples, *_ in targets:
        names = engine.database.names_of(learned.target, examples.keys).tolist()
        classes = getattr(learned, "classes", ("1",))
        chances = predictions_of(learned, engine, examples.keys).reshape(len(names), -1).tolist()
        texts = examples.classes or (0, 1)
        for key, label, row in zip(names, examples.labels.tolist(), chances, strict=True):
            padded = [learned.target, *key, *[""] * (arity - len(key)), "" if label < 0 else texts[label]]
            rows += [[*padded, text, repr(chance)] for text, chance in zip(classes, row, strict=True)]
    header = ["target", *(f"arg{n + 1}" for n in range(arity)), "label", "class", "probability"]
    return header, rows


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
    targets = open_targets(model.path, source, counting, evidence)
    context.call_on_close(targets[0].engine.database.close)
    if by is not None:
        if targets[0].known is not None:
            raise OptionError("--by is refused: it is not for joint models.")
        _write_by_time(targets[0], json)
        return
    scores = {each.learned.target: scores_of(each.learned, each.engine, each.unknown()) for each in targets}
    if json:
        values = {name: each.as_dict() for name, each in scores.items()}
        write_result([json_text(values if len(values) > 1 else next(iter(values.values())))], None)
        return
    for name, each in scores.items():
        write_result([f"target {name}\n" * (len(scores) > 1), f"{each}\n"], None)


def _write_by_time(target: OpenedTarget, json: bool) -> None:
    """The scores of the examples of each cut-off, the earliest first; empty where they cannot be scored."""
    import numpy as np

    from hornbeam.model.predict import scores_of

    learned, engine, examples, *_ = target
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
