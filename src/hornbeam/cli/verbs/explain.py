"""The verb ``explain``: why one example has its probability."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Annotated

import typer

from hornbeam.cli.command import verb
from hornbeam.cli.flags import CountingInPlace, EvidenceFile, Json, LinkedSource, ModelFlags
from hornbeam.cli.opened import open_explained
from hornbeam.cli.output import json_text, say, write_result
from hornbeam.errors import DataError, OptionError, near_names

if TYPE_CHECKING:
    from hornbeam.data.database import Codes, Database
    from hornbeam.engines.contract import Engine
    from hornbeam.model.explain import Explanation
    from hornbeam.model.files import LearnedModel


@verb
def explain(
    *,
    source: LinkedSource,
    model: ModelFlags,
    given_key: Annotated[
        str | None,
        typer.Argument(
            metavar="KEY", help='The example: its key, or an atom such as "cancer(ann)".', show_default=False
        ),
    ] = None,
    example: Annotated[
        str | None, typer.Option("--example", metavar="KEY", help="The example; the same as KEY.")
    ] = None,
    cutoff: Annotated[
        str | None,
        typer.Option("--cutoff", metavar="TIME", help="Ignore facts that are not before this time."),
    ] = None,
    of_class: Annotated[
        str | None,
        typer.Option("--class", metavar="CLASS", help="Class to explain (default: the most probable)."),
    ] = None,
    shown: Annotated[
        int, typer.Option("--shown", min=0, metavar="NUMBER", help="Most true groundings per clause.")
    ] = 5,
    evidence: EvidenceFile = None,
    json: Json = False,
    counting: CountingInPlace,
) -> None:
    """Explain the probability of one example.

    Lists what each clause, tree or feature of the model adds to the log-odds and why, the strongest first.
    For clauses and trees, it shows some of the groundings that make them true. For a choice, it compares the
    example with the best of the other alternatives in the data.

    \b
    Example: hornbeam explain data/uwcse/fold1 m.json "person1, person2"
    """
    from hornbeam.cli.terminal import on_terminal, print_explanation
    from hornbeam.model.class_model import ClassModel

    asked = _one_key(given_key, example)
    learned, engine = open_explained(model.path, source, counting, evidence, asked)
    key, names = _example(learned, engine.database, asked, cutoff)
    if isinstance(learned, ClassModel):
        of_class = of_class or learned.most_probable(engine, key.reshape(1, -1))[0]
        explanation = _explained(learned.member(of_class), engine, key, names, shown).of_class(of_class)
    elif of_class is not None:
        raise OptionError("--class is refused: the model has no classes.")
    else:
        explanation = _explained(learned, engine, key, names, shown)
    if not json and on_terminal():
        print_explanation(explanation)
        return
    write_result([json_text(explanation.as_dict()) if json else f"{explanation}\n"], None)


def _one_key(given: str | None, example: str | None) -> str:
    """The key that was asked for: as an argument, or by --example."""
    asked = example if given is None else given
    if asked is None or None not in (example, given):
        raise OptionError("name the key of one example after the model, such as c401, or by --example KEY.")
    return asked


def _explained(
    learned: LearnedModel, engine: Engine, key: Codes, names: tuple[str, ...], shown: int
) -> Explanation:
    """The explanation of an example, for a choice with the other alternatives of the data."""
    from hornbeam.model.choices import SETTING, choices_in_data
    from hornbeam.model.explain import explain as explanation_of
    from hornbeam.model.explain import explain_choices
    from hornbeam.model.files import scale_of

    database = engine.database
    if not scale_of(learned).of_choice or SETTING not in learned.settings:
        return explanation_of(learned, engine, key, names, shown)
    keys, choices = choices_in_data(learned, database, engine, key)
    known = database.names_of(learned.target, keys)
    return next(iter(explain_choices(learned, engine, keys, known, choices, shown)))


def _example(
    learned: LearnedModel, database: Database, text: str, cutoff: str | None
) -> tuple[Codes, tuple[str, ...]]:
    """The codes and names of an example of the model's target."""
    import numpy as np

    from hornbeam.data.database import UNKNOWN
    from hornbeam.model.predict import codes_for

    names = _names(learned, text)
    if cutoff is not None and not database.has_times:
        raise DataError("--cutoff is refused: no table of the data has a time column.")
    row = names if cutoff is None else (*names, cutoff)
    keys, notices = codes_for(learned, database, np.array([row], dtype=object))
    types = learned.schema.types_of(learned.target)
    for name, code, type_name in zip(names, keys[0].tolist(), types, strict=False):
        if code == UNKNOWN:
            near = near_names(name, database.population(type_name).names)
            hint = f" Near it: {', '.join(near)}." if near else ""
            raise DataError(f'the data have no key "{name}" of {type_name}.{hint}')
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
