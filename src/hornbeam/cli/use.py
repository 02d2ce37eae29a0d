"""Verbs that use a model on data: predict, evaluate, explain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hornbeam.cli.messages import say
from hornbeam.cli.options import (
    Dangling,
    Data,
    EngineName,
    ExamplesFile,
    Json,
    Master,
    Memory,
    ModelFile,
    Negatives,
    Out,
    SchemaFile,
    Scratch,
    Split,
    read_size,
)
from hornbeam.cli.output import check_writable, csv_text, json_text, write_result

if TYPE_CHECKING:
    from hornbeam.data.database import Codes, Database, Examples
    from hornbeam.engines.contract import Engine
    from hornbeam.model.evaluate import ClassScores, Scores
    from hornbeam.model.files import LearnedModel


def predict(
    context: typer.Context,
    data: Data,
    model: ModelFile,
    out: Out = None,
    split: Split = None,
    examples: ExamplesFile = None,
    schema: SchemaFile = None,
    negatives: Negatives = None,
    dangling: Dangling = "error",
    engine: EngineName = "memory",
    scratch: Scratch = None,
    master: Master = None,
    memory: Memory = "2GB",
) -> None:
    """Print the probability of every example.

    The result is CSV with the columns arg1..argk,label,probability: positives, then negatives, then
    those without a label, each in the order of the data. Of a target with classes there is a column
    of probabilities for each class, and where examples have cut-offs a column of these.

    \b
    Example: hornbeam predict data/uwcse/fold1 --model m.json --out p.csv
    """
    from hornbeam.model.class_model import ClassModel

    check_writable(out)
    tables = {"examples": examples, "schema": schema, "negatives": negatives, "dangling": dangling}
    where = {"scratch": scratch, "master": master}
    learned, counting, found = with_examples(data, model, split, engine, memory, tables, where)
    context.call_on_close(counting.database.close)
    database = counting.database
    probabilities = learned.probabilities(counting, found.keys)
    names = database.names_of(learned.target, found.keys)
    header = [f"arg{number + 1}" for number in range(names.shape[1])]
    columns: list[list[object]] = [*names.T.tolist()]
    if found.cutoffs is not None:
        header.append("cutoff")
        columns.append(list(database.cutoff_texts(found.cutoffs)))
    columns.append(_label_texts(found))
    if isinstance(learned, ClassModel):
        header += ["label", *(f"probability_{name}" for name in learned.classes)]
        columns += [list(map(repr, each)) for each in probabilities.T.tolist()]
    else:
        header += ["label", "probability"]
        columns.append(list(map(repr, probabilities.tolist())))
    write_result(csv_text(header, zip(*columns, strict=True)), out, exact=True)


def evaluate(
    context: typer.Context,
    data: Data,
    model: ModelFile,
    split: Split = None,
    examples: ExamplesFile = None,
    schema: SchemaFile = None,
    negatives: Negatives = None,
    dangling: Dangling = "error",
    json: Json = False,
    engine: EngineName = "memory",
    scratch: Scratch = None,
    master: Master = None,
    memory: Memory = "2GB",
) -> None:
    """Score a model on all examples that have a label.

    auc_pr is average precision over all negatives; auc_pr_2to1 the mean over draws of two negatives
    per positive, for comparison with published numbers only. Of a target with classes: accuracy, the
    mean of each class's auc_roc against the others, log_loss, brier, and how many there are of each.

    \b
    Example: hornbeam evaluate data/uwcse/fold1 --model m.json --json
    """
    from hornbeam.errors import DataError
    from hornbeam.model.class_model import ClassModel
    from hornbeam.model.evaluate import evaluate as score
    from hornbeam.model.evaluate import evaluate_classes

    tables = {"examples": examples, "schema": schema, "negatives": negatives, "dangling": dangling}
    where = {"scratch": scratch, "master": master}
    learned, counting, found = with_examples(data, model, split, engine, memory, tables, where)
    context.call_on_close(counting.database.close)
    found = found.labelled()
    if not len(found):
        raise DataError(f'no example of "{learned.target}" has a label, so there is nothing to compare with.')
    probabilities = learned.probabilities(counting, found.keys)
    scores: Scores | ClassScores
    if isinstance(learned, ClassModel):
        labels = [found.classes[label] for label in found.labels]
        scores = evaluate_classes(labels, probabilities, learned.classes)
    else:
        scores = score(found.labels, probabilities)
    write_result([json_text(scores.as_dict()) if json else f"{scores}\n"], None)


def explain(
    data: Data,
    model: ModelFile,
    example: Annotated[str, typer.Option("--example", metavar="ATOM", help='Such as "cancer(ann)".')],
    cutoff: Annotated[
        str | None,
        typer.Option("--cutoff", metavar="TIME", help="The last time of a fact that exists for it."),
    ] = None,
    split: Split = None,
    schema: SchemaFile = None,
    dangling: Dangling = "error",
    of_class: Annotated[
        str | None, typer.Option("--class", metavar="CLASS", help="Of classes: which (the most probable).")
    ] = None,
    shown: Annotated[int, typer.Option("--shown", min=0, help="True groundings shown per clause.")] = 5,
    json: Json = False,
    engine: EngineName = "memory",
    memory: Memory = "2GB",
) -> None:
    """Say why one example has its probability.

    What each clause, tree or feature of the model contributes, the strongest first, and why; for
    clauses and trees with some of the groundings that make them true.

    \b
    Example: hornbeam explain data/uwcse/fold1 --model m.json --example "advisedby(person1,person2)"
    """
    from hornbeam.cli.terminal import on_terminal, print_explanation
    from hornbeam.errors import OptionError
    from hornbeam.loading.kind_of_source import SourceKind, kind_of_source
    from hornbeam.model.class_model import ClassModel
    from hornbeam.model.explain import explain as reasons
    from hornbeam.model.files import load_model

    learned = load_model(model)
    tables = {"schema": schema, "dangling": dangling}
    if "tables" in learned.settings and kind_of_source(data, schema is not None) is not SourceKind.FACTS:
        tables["negatives"] = "none"
    counting, _ = _opened(learned, data, split, engine, memory, tables, where={})
    key, name = _example(learned, counting.database, example, cutoff)
    if isinstance(learned, ClassModel):
        if of_class is None:
            of_class = learned.most_probable(counting, key.reshape(1, -1))[0]
        say([f"the model of class {of_class}:"])
        learned = learned.member(of_class)
    elif of_class is not None:
        raise OptionError("--class is refused: the model has no classes.")
    explanation = reasons(learned, counting, key, name, shown)
    if not json and on_terminal():
        print_explanation(explanation)
        return
    write_result([json_text(explanation.as_dict()) if json else f"{explanation}\n"], None)


def with_examples(
    data: str,
    model: Path,
    split: str | None,
    engine: str,
    memory: str,
    tables: dict[str, Any],
    where: dict[str, Any] | None = None,
) -> tuple[LearnedModel, Engine, Examples]:
    """The model, an engine on the data as the model sees them, and their examples of its target."""
    from hornbeam.model.files import load_model

    learned = load_model(model)
    counting, database = _opened(learned, data, split, engine, memory, tables, where)
    # Asked of the data as they are: where there are none, the message names the targets they have.
    database.examples_of(learned.target)
    return learned, counting, counting.database.examples_of(learned.target)


def _opened(
    learned: LearnedModel,
    data: str,
    split: str | None,
    engine: str,
    memory: str,
    tables: dict[str, Any],
    where: dict[str, Any] | None = None,
) -> tuple[Engine, Database]:
    """An engine on the data as the model sees them, and the data as they are.

    ``where`` has the options of the engine's connection; without it tables are loaded, never counted in
    place.
    """
    from hornbeam.engines.registry import engine_module, open_engine
    from hornbeam.errors import SchemaError, TargetError
    from hornbeam.in_place.load import load
    from hornbeam.loading.facts.folder import MODES_INFERRED
    from hornbeam.model.predict import data_for

    engine_module(engine)  # refused before anything is loaded
    budget = read_size(memory)
    origin = learned.settings if "tables" in learned.settings else None
    # Tables know the target as it was named; facts know it as the model does.
    target = None if origin else learned.target
    try:
        tables = {**tables, "target": target, "origin": origin}
        in_place = None if where is None else engine
        database = load(data, split, "test", **tables, engine=in_place, memory=budget, **(where or {}))
    except TargetError:
        if target is None:
            raise
        raise SchemaError(
            f'the model is of "{target}", which these tables do not have; name the data that it is for.'
        ) from None
    # The model has its own types and modes.
    say(notice for notice in database.notices if notice != MODES_INFERRED)
    seen, notices = data_for(learned, database)
    say(notices)
    return open_engine(engine, seen, budget, **(where or {})), database


def _label_texts(examples: Examples) -> list[object]:
    """Labels as 0 and 1, or classes; empty where there is none."""
    from hornbeam.data.database import UNLABELLED

    names: Sequence[object] = examples.classes or (0, 1)
    return ["" if label == UNLABELLED else names[label] for label in examples.labels.tolist()]


def _example(
    learned: LearnedModel, database: Database, text: str, cutoff: str | None
) -> tuple[Codes, tuple[str, ...]]:
    """The codes and names of an example written as an atom of the model's target, at a cut-off if any."""
    import numpy as np

    from hornbeam.errors import DataError, OptionError
    from hornbeam.logic.parse import parse_fact
    from hornbeam.model.predict import codes_for

    types = learned.schema.types_of(learned.target)
    if "(" not in text:
        raise OptionError(
            f"--example {text} is refused: it must be an atom of what the model is of, "
            f"{learned.target}({','.join(types)})."
        )
    atom = parse_fact(text, "--example")
    if atom.predicate != learned.target:
        raise DataError(f'the example is of "{atom.predicate}", but the model is of "{learned.target}".')
    if len(atom.args) != len(types):
        raise DataError(
            f'the example has {len(atom.args)} arguments, but "{learned.target}" takes {len(types)}: '
            f"{learned.target}({','.join(types)})."
        )
    names = tuple(map(str, atom.args))
    if cutoff is not None and not database.has_times:
        raise DataError("--cutoff is refused: no table of the data has a time column, so nothing is cut.")
    row = names if cutoff is None else (*names, cutoff)
    keys, notices = codes_for(learned, database, np.array([row], dtype=object))
    say(notices)
    return keys[0], names
