"""The verb ``explain``: why one example has its probability."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Annotated

import typer

from hornbeam.cli.command import verb
from hornbeam.cli.flags import CountingInPlace, EvidenceFile, Json, LinkedSource, ModelFile
from hornbeam.cli.messages import say
from hornbeam.cli.opened import open_model
from hornbeam.cli.output import json_text, write_result
from hornbeam.cli.verbs.joint import explain_joint, joint_model, together
from hornbeam.errors import DataError, OptionError

if TYPE_CHECKING:
    from hornbeam.data.database import Codes, Database
    from hornbeam.model.files import LearnedModel


@verb
def explain(
    *,
    source: LinkedSource,
    model: ModelFile,
    example: Annotated[
        str,
        typer.Option(
            "--example", metavar="KEY", help='The example: its key, or an atom such as "cancer(ann)".'
        ),
    ],
    cutoff: Annotated[
        str | None,
        typer.Option("--cutoff", metavar="TIME", help="Ignore facts that are not before this time."),
    ] = None,
    of_class: Annotated[
        str | None,
        typer.Option("--class", metavar="CLASS", help="Class to explain (default: the most probable)."),
    ] = None,
    shown: Annotated[
        int,
        typer.Option(
            "--shown", min=0, metavar="NUMBER", help="Maximum number of true groundings to show per clause."
        ),
    ] = 5,
    evidence: EvidenceFile = None,
    json: Json = False,
    counting: CountingInPlace,
) -> None:
    """Explain the probability of one example.

    Lists what each clause, tree or feature of the model adds to the log-odds and why, the strongest first.
    For clauses and trees, it shows some of the groundings that make them true.

    \b
    Example: hornbeam explain data/uwcse/fold1 --model m.json --example "person1, person2"
    """
    from hornbeam.cli.terminal import on_terminal, print_explanation
    from hornbeam.model.class_model import ClassModel
    from hornbeam.model.explain import explain as explanation_of

    if (joint := joint_model(model, evidence)) is not None:
        _, found = together(joint, source, counting, evidence)
        explain_joint(found, example, json)
        return
    learned, engine, _ = open_model(model, source, counting, negatives=False)
    key, names = _example(learned, engine.database, example, cutoff)
    if isinstance(learned, ClassModel):
        if of_class is None:
            of_class = learned.most_probable(engine, key.reshape(1, -1))[0]
        learned = learned.member(of_class)
    elif of_class is not None:
        raise OptionError("--class is refused: the model has no classes.")
    explanation = explanation_of(learned, engine, key, names, shown)
    if of_class is not None:
        explanation = explanation.of_class(of_class)
    if not json and on_terminal():
        print_explanation(explanation)
        return
    write_result([json_text(explanation.as_dict()) if json else f"{explanation}\n"], None)


def _example(
    learned: LearnedModel, database: Database, text: str, cutoff: str | None
) -> tuple[Codes, tuple[str, ...]]:
    """The codes and names of an example of the model's target."""
    import numpy as np

    from hornbeam.model.predict import codes_for

    names = _names(learned, text)
    if cutoff is not None and not database.has_times:
        raise DataError("--cutoff is refused: no table of the data has a time column.")
    row = names if cutoff is None else (*names, cutoff)
    keys, notices = codes_for(learned, database, np.array([row], dtype=object))
    say(notices)
    return keys[0], names


def _names(learned: LearnedModel, text: str) -> tuple[str, ...]:
    """The names of an example, from an atom of the target or from its keys alone: ``c401``, ``ann, bob``."""
    from hornbeam.errors import plural
    from hornbeam.logic.parse import parse_fact

    arity = learned.schema.arity(learned.target)
    form = f"{learned.target}({','.join(learned.schema.types_of(learned.target))})"
    if re.match(r"\s*[^\s(),]+\(", text) is None:
        keys = [text.strip()] if arity == 1 else next(csv.reader([text], skipinitialspace=True), [])
        if len(keys) != arity or not all(keys):
            raise OptionError(
                f"--example {text} is refused: it must be {plural(arity, 'key')} separated by commas, or an "
                f"atom of the form {form}."
            )
        return tuple(keys)
    fact = parse_fact(text, "--example")
    if fact.predicate != learned.target:
        raise DataError(f'the example is of "{fact.predicate}", but the model predicts "{learned.target}".')
    if len(fact.args) != arity:
        raise DataError(
            f'the example has {plural(len(fact.args), "argument")}, but "{learned.target}" takes {arity}: '
            f"{form}."
        )
    return tuple(map(str, fact.args))
