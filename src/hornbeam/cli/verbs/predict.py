"""The verbs ``predict`` and ``evaluate``: probabilities of examples, and how good they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from hornbeam.cli.command import verb
from hornbeam.cli.flags import CountingInPlace, EvidenceFile, ExampleSource, Json, ModelFile, Out
from hornbeam.cli.opened import open_examples
from hornbeam.cli.output import check_writable, csv_text, json_text, key_columns, write_result
from hornbeam.cli.verbs.joint import evaluate_joint, joint_model, predict_joint, together

if TYPE_CHECKING:
    from hornbeam.data.database import Examples
    from hornbeam.model.evaluate import ClassScores, Scores


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

    The result is CSV with the columns arg1..argk,label,probability. Positives come first, then negatives,
    then examples without a label, each in the order of the data. For a target with classes, there is a
    column of probabilities for each class. If examples have cut-offs, there is a column for them. A joint
    model of several targets gives rows target,arg1..argk,label,class,probability.

    \b
    Example: hornbeam predict data/uwcse/fold1 --model m.json --out p.csv
    """
    from hornbeam.model.class_model import ClassModel

    check_writable(out)
    if (joint := joint_model(model, evidence)) is not None:
        database, found = together(joint, source, counting, evidence)
        predict_joint(database, found, out)
        return
    learned, engine, examples = open_examples(model, source, counting)
    context.call_on_close(engine.database.close)
    probabilities = learned.probabilities(engine, examples.keys)
    header, columns = key_columns(engine.database, examples)
    columns.append(_label_texts(examples))
    if isinstance(learned, ClassModel):
        header += ["label", *(f"probability_{name}" for name in learned.classes)]
        columns += [list(map(repr, each)) for each in probabilities.T.tolist()]
    else:
        header += ["label", "probability"]
        columns.append(list(map(repr, probabilities.tolist())))
    write_result(csv_text(header, zip(*columns, strict=True)), out, exact=True)


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
    examples of each class.

    \b
    Example: hornbeam evaluate data/uwcse/fold1 --model m.json --json
    """
    from hornbeam.errors import DataError
    from hornbeam.model.class_model import ClassModel
    from hornbeam.model.evaluate import evaluate as scores_of
    from hornbeam.model.evaluate import evaluate_classes

    if (joint := joint_model(model, evidence)) is not None:
        database, found = together(joint, source, counting, evidence)
        evaluate_joint(database, found, json)
        return
    learned, engine, all_examples = open_examples(model, source, counting)
    context.call_on_close(engine.database.close)
    examples = all_examples.labelled()
    if not len(examples):
        raise DataError(f'no example of "{learned.target}" has a label, so the model cannot be scored.')
    probabilities = learned.probabilities(engine, examples.keys)
    scores: Scores | ClassScores
    if isinstance(learned, ClassModel):
        labels = [examples.classes[label] for label in examples.labels]
        scores = evaluate_classes(labels, probabilities, learned.classes)
    else:
        scores = scores_of(examples.labels, probabilities)
    write_result([json_text(scores.as_dict()) if json else f"{scores}\n"], None)


def _label_texts(examples: Examples) -> list[object]:
    """Labels as 0 and 1 or as classes; empty for examples without a label."""
    from hornbeam.data.database import UNLABELLED

    names: Sequence[object] = examples.classes or (0, 1)
    return ["" if label == UNLABELLED else names[label] for label in examples.labels.tolist()]
