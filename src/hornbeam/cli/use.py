"""Verbs that use a model on data: predict, evaluate, explain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hornbeam.cli.options import Data, EngineName, Json, Memory, ModelFile, Out, Split, read_size
from hornbeam.cli.output import check_writable, csv_text, json_text, write_result
from hornbeam.cli.talk import say

if TYPE_CHECKING:
    from hornbeam.database import Codes, Database, Examples
    from hornbeam.engines.contract import Engine
    from hornbeam.model_json import LearnedModel


def predict(
    data: Data,
    model: ModelFile,
    out: Out = None,
    split: Split = None,
    engine: EngineName = "memory",
    memory: Memory = "2GB",
) -> None:
    """Print the probability of every example.

    The result is CSV with the columns arg1..argk,label,probability: positives, then negatives, each in
    the order of the data.

    \b
    Example: hornbeam predict data/uwcse/fold1 --model m.json --out p.csv
    """
    check_writable(out)
    learned, counting, examples = _with_examples(data, model, split, engine, memory)
    database = counting.database
    probabilities = learned.probabilities(counting, examples.keys)
    names = database.names_of(learned.target, examples.keys)
    header = [f"arg{number + 1}" for number in range(names.shape[1])]
    rows = (
        (*key, label, repr(probability))
        for key, label, probability in zip(
            names.tolist(), examples.labels.tolist(), probabilities.tolist(), strict=True
        )
    )
    write_result(csv_text([*header, "label", "probability"], rows), out)


def evaluate(
    data: Data,
    model: ModelFile,
    split: Split = None,
    json: Json = False,
    engine: EngineName = "memory",
    memory: Memory = "2GB",
) -> None:
    """Score a model on all examples.

    auc_pr is average precision over all negatives; auc_pr_2to1 the mean over draws of two negatives
    per positive, for comparison with published numbers only.

    \b
    Example: hornbeam evaluate data/uwcse/fold1 --model m.json --json
    """
    from hornbeam.evaluate import evaluate as score

    learned, counting, examples = _with_examples(data, model, split, engine, memory)
    scores = score(examples.labels, learned.probabilities(counting, examples.keys))
    write_result([json_text(scores.as_dict()) if json else f"{scores}\n"], None)


def explain(
    data: Data,
    model: ModelFile,
    example: Annotated[str, typer.Option("--example", metavar="ATOM", help='Such as "cancer(ann)".')],
    split: Split = None,
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
    from hornbeam.explain import explain as reasons
    from hornbeam.model_json import load_model

    learned = load_model(model)
    counting, _ = _opened(learned, data, split, engine, memory)
    key, name = _example(learned, counting.database, example)
    explanation = reasons(learned, counting, key, name, shown)
    write_result([json_text(explanation.as_dict()) if json else f"{explanation}\n"], None)


def _with_examples(
    data: str, model: Path, split: str | None, engine: str, memory: str
) -> tuple[LearnedModel, Engine, Examples]:
    """The model, an engine on the data as the model sees them, and their examples of its target."""
    from hornbeam.model_json import load_model

    learned = load_model(model)
    counting, database = _opened(learned, data, split, engine, memory)
    # Asked of the data as they are: where there are none, the message names the targets they have.
    database.examples_of(learned.target)
    return learned, counting, counting.database.examples_of(learned.target)


def _opened(
    learned: LearnedModel, data: str, split: str | None, engine: str, memory: str
) -> tuple[Engine, Database]:
    """An engine on the data as the model sees them, and the data as they are."""
    from hornbeam.engines.registry import open_engine
    from hornbeam.load import load
    from hornbeam.predict import data_for

    budget = read_size(memory)
    database = load(data, split, default_split="test")
    say(database.notices)
    seen, notices = data_for(learned, database)
    say(notices)
    return open_engine(engine, seen, budget), database


def _example(learned: LearnedModel, database: Database, text: str) -> tuple[Codes, tuple[str, ...]]:
    """The codes and names of an example written as an atom of the model's target."""
    import numpy as np

    from hornbeam.errors import DataError
    from hornbeam.predict import codes_for
    from hornbeam.syntax import parse_fact

    atom = parse_fact(text, "--example")
    if atom.predicate != learned.target:
        raise DataError(f'the example is of "{atom.predicate}", but the model is of "{learned.target}".')
    types = learned.schema.types_of(learned.target)
    if len(atom.args) != len(types):
        raise DataError(
            f'the example has {len(atom.args)} arguments, but "{learned.target}" takes {len(types)}: '
            f"{learned.target}({','.join(types)})."
        )
    names = tuple(map(str, atom.args))
    keys, notices = codes_for(learned, database, np.array([names], dtype=object))
    say(notices)
    return keys[0], names
