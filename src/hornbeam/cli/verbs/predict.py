"""The verbs ``predict`` and ``evaluate``: predictions for examples, and how good they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from hornbeam.cli.command import verb
from hornbeam.cli.flags import CountingInPlace, EvidenceFile, ExampleSource, Json, ModelFile, Out
from hornbeam.cli.messages import say_written
from hornbeam.cli.opened import open_examples
from hornbeam.cli.output import check_writable, csv_text, json_text, write_result
from hornbeam.cli.verbs.joint import evaluate_joint, joint_model, predict_joint, together
from hornbeam.errors import DataError, plural

if TYPE_CHECKING:
    from hornbeam.model.evaluate import ClassScores, NumberScores, Scores


@verb
def predict(
    *,
    context: typer.Context,
    source: ExampleSource,
    model: ModelFile,
    evidence: EvidenceFile = None,
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
    Example: hornbeam predict data/uwcse/fold1 --model m.json --out p.csv
    """
    from hornbeam.model.files import predictions_of
    from hornbeam.model.readable.predictions import prediction_table

    check_writable(out, model, source.data, source.examples, evidence)
    if (joint := joint_model(model, evidence)) is not None:
        database, found = together(joint, source, counting, evidence)
        predict_joint(database, found, out)
        return
    learned, engine, given = open_examples(model, source, counting)
    context.call_on_close(engine.database.close)
    examples = given.as_given()
    predicted = predictions_of(learned, engine, examples.keys)
    table = prediction_table(learned, engine.database, examples, predicted)
    write_result(csv_text(table.header, table.rows()), out, exact=True)
    say_written(out, plural(len(examples), "prediction"))


@verb
def evaluate(
    *,
    context: typer.Context,
    source: ExampleSource,
    model: ModelFile,
    evidence: EvidenceFile = None,
    json: Json = False,
    counting: CountingInPlace,
) -> None:
    """Score a model on all examples that have a label.

    auc_pr is the average precision over all negatives. auc_pr_2to1 is its mean over draws of two negatives
    per positive, only for comparison with published numbers. For a target with classes, the scores are
    accuracy, the mean auc_roc of each class against the others, log_loss and brier, with the number of
    examples of each class. For a numeric target they are mae, rmse and r2, and the same for the best constant
    of the training examples.

    \b
    Example: hornbeam evaluate data/uwcse/fold1 --model m.json --json
    """
    from hornbeam.model.class_model import ClassModel
    from hornbeam.model.evaluate import evaluate as scores_of
    from hornbeam.model.evaluate import evaluate_classes, evaluate_numbers
    from hornbeam.model.files import constant_of, predictions_of

    if (joint := joint_model(model, evidence)) is not None:
        database, found = together(joint, source, counting, evidence)
        evaluate_joint(database, found, json)
        return
    learned, engine, all_examples = open_examples(model, source, counting)
    context.call_on_close(engine.database.close)
    examples = all_examples.labelled()
    if not len(examples):
        raise DataError(f'no example of "{learned.target}" has a label, so the model cannot be scored.')
    predicted = predictions_of(learned, engine, examples.keys)
    scores: Scores | ClassScores | NumberScores
    if examples.values is not None:
        scores = evaluate_numbers(examples.values, predicted, constant_of(learned))
    elif isinstance(learned, ClassModel):
        labels = [examples.classes[label] for label in examples.labels]
        scores = evaluate_classes(labels, predicted, learned.classes)
    else:
        scores = scores_of(examples.labels, predicted)
    write_result([json_text(scores.as_dict()) if json else f"{scores}\n"], None)
