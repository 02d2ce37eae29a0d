"""Verbs that look at models and data: count, show, modes, inspect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
    Memory,
    Negatives,
    Out,
    SchemaFile,
    Split,
    read_size,
)
from hornbeam.cli.output import check_writable, csv_text, json_text, write_result
from hornbeam.errors import OptionError
from hornbeam.logic.guards import FALSE_COUNTS, GUARDED, POPULATION

if TYPE_CHECKING:
    from hornbeam.data.database import Database
    from hornbeam.logic.clauses import Clause
    from hornbeam.model.files import LearnedModel

_MANY = 1000
"""Among more names than this a similar one is not looked for."""

TableTarget = Annotated[
    str | None,
    typer.Option(
        "--target", metavar="NAME", help="Of tables: what is to be learned, such as users.gender=F."
    ),
]


def count(
    data: Data,
    clause: Annotated[str, typer.Argument(metavar="CLAUSE", help="Such as 'cancer(A) :- friends(A,B).'")],
    out: Out = None,
    split: Split = None,
    target: TableTarget = None,
    examples: ExamplesFile = None,
    schema: SchemaFile = None,
    negatives: Negatives = None,
    dangling: Dangling = "error",
    false_counts: Annotated[
        str,
        typer.Option(
            "--false-counts", metavar="population|guarded", help="What false counts are the rest of."
        ),
    ] = POPULATION,
    engine: EngineName = "memory",
    memory: Memory = "2GB",
) -> None:
    """Count a clause for every example of its head.

    The result is CSV with the columns arg1..argk,true,false: positives, then negatives, each in the
    order of the data; where examples have cut-offs there is a column of these. With tables the head
    may be a table: it is counted for each of its keys. False counts are the rest of all combinations
    of constants or, guarded, of what the body leaves but for its last literal.

    \b
    Example: hornbeam count data/toy_cancer "cancer(A) :- friends(A,B), smokes(B)."
    """
    from hornbeam.data.database import Notice
    from hornbeam.engines.count import count_all
    from hornbeam.engines.guarded import count_guarded
    from hornbeam.engines.registry import engine_module, open_engine
    from hornbeam.loading import load
    from hornbeam.logic.parse import parse_clause

    budget = read_size(memory)
    check_writable(out)
    if false_counts not in FALSE_COUNTS:
        raise OptionError(
            f"--false-counts {false_counts} is refused: it must be {' or '.join(FALSE_COUNTS)}."
        )
    engine_module(engine)  # refused before anything is loaded
    database = load(
        data,
        split,
        target=target or parse_clause(clause).head.predicate,
        examples=examples,
        schema=schema,
        negatives=negatives,
        dangling=dangling,
    )
    say(database.notices)
    parsed = parse_clause(clause, database.schema)
    if not parsed.touches_head():
        say([Notice("the body shares no variable with the head: the counts of all examples are equal.")])
    say(_unknown_constants(parsed, database))
    head = parsed.head.predicate
    found = database.examples_of(head)
    count = count_guarded if false_counts == GUARDED and parsed.body else count_all
    (counts,) = count(open_engine(engine, database, budget), [parsed], found.keys)
    names = database.names_of(head, found.keys)
    header = [f"arg{number + 1}" for number in range(names.shape[1])]
    columns: list[list[object]] = [*names.T.tolist()]
    if found.cutoffs is not None:
        header.append("cutoff")
        columns.append(list(database.cutoff_texts(found.cutoffs)))
    rows = (
        (*key, int(counts.true[place]), counts.false_of(place))
        for place, key in enumerate(zip(*columns, strict=True))
    )
    write_result(csv_text([*header, "true", "false"], rows), out, exact=True)


def _unknown_constants(clause: Clause, database: Database) -> Iterator[str]:
    """A misspelt constant is no error, as it may be in other data; but here it counts nothing."""
    from hornbeam.errors import did_you_mean
    from hornbeam.logic.clauses import atoms_of

    for atom in atoms_of(clause.body):
        for term, type_name in zip(atom.args, database.schema.types_of(atom.predicate), strict=True):
            names = database.population(type_name).names
            if isinstance(term, str) and term not in names:
                hint = f" {did_you_mean(term, names, 'Constants')}" if len(names) <= _MANY else ""
                yield f'no "{term}" is among the constants of {type_name}, so it matches nothing.{hint}'


def show(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file (JSON).")],
    compact: Annotated[bool, typer.Option("--compact", help="Each body once, its weights added.")] = False,
    clauses: Annotated[bool, typer.Option("--clauses", help="Trees as lists of clauses.")] = False,
    svg: Annotated[bool, typer.Option("--svg", help="Trees as a picture (SVG).")] = False,
    json: Json = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write there, not to stdout.")
    ] = None,
) -> None:
    """Print a model: its prior and its clauses, trees or features.

    A clause is printed as [w0, w1, w2] : head :- body. with the weights of 1, true count, false count.
    --compact is for models of clauses, --clauses and --svg are for models of trees.

    \b
    Example: hornbeam show m.json --compact
    """
    from hornbeam.cli.terminal import on_terminal, print_model
    from hornbeam.errors import OptionError
    from hornbeam.model.clause_model import Model
    from hornbeam.model.files import load_model, model_text
    from hornbeam.study.agg_lr.model import AggregateModel

    forms = [flag for flag, wanted in (("--svg", svg), ("--clauses", clauses), ("--json", json)) if wanted]
    if len(forms) > 1:
        raise OptionError(f"{' and '.join(forms)} are refused together: name one form.")
    check_writable(out)
    learned = load_model(model)
    if compact:
        learned = _having(learned, "compact", "--compact")()
    if svg:
        text = _having(learned, "picture", "--svg")()
    elif clauses:
        text = f"{_having(learned, 'clause_text', '--clauses')()}\n"
    elif json:
        text = model_text(learned)
    elif out is None and on_terminal() and isinstance(learned, Model | AggregateModel):
        print_model(learned)
        return
    else:
        text = f"{learned}\n"
    write_result([text], out, exact=svg or json)


def _having(learned: LearnedModel, ability: str, flag: str) -> Callable[[], Any]:
    """What only some kinds of models can do."""
    from hornbeam.errors import OptionError

    if not hasattr(learned, ability):
        raise OptionError(f"{flag} is refused: a model of learner {learned.learner} has no such form.")
    found: Callable[[], Any] = getattr(learned, ability)
    return found


def inspect(
    data: Data,
    target: TableTarget = None,
    split: Split = None,
    schema: SchemaFile = None,
    json: Json = False,
    toml: Annotated[
        bool, typer.Option("--toml", help="Print what was found as a schema.toml, to be corrected.")
    ] = False,
    predicates: Annotated[
        bool, typer.Option("--predicates", help="Print where facts are (JSON), for hornbeam sql --tables.")
    ] = False,
) -> None:
    """Print what the data are: tables, keys, links and roles.

    With --target also columns that alone tell the label. Of facts: predicates, populations, examples.

    \b
    Example: hornbeam inspect data/movielens --target users.gender=F
    """
    from hornbeam.errors import OptionError
    from hornbeam.loading.inspect.inspectors import inspect_facts, inspect_tables
    from hornbeam.loading.kind_of_source import kind_of_source
    from hornbeam.loading.tables.database import TableOptions

    flags = {"--json": json, "--toml": toml, "--predicates": predicates}
    forms = [flag for flag, wanted in flags.items() if wanted]
    if len(forms) > 1:
        raise OptionError(f"{' and '.join(forms)} are refused together: name one form.")
    if kind_of_source(data, schema is not None).holds_tables:
        if split is not None:
            raise OptionError("--split is refused: tables have no splits.")
        options = TableOptions(target=target, schema=schema)
        inspected = inspect_tables(data, options)
        if toml or predicates:
            write_result([inspected.toml() if toml else json_text(dict(inspected.places))], None, exact=True)
            return
        say(inspected.notices)
        write_result([json_text(inspected.as_dict()) if json else f"{inspected}\n"], None)
        return
    from hornbeam.loading import load

    database = load(data, split, schema=schema)
    if toml or predicates or target is not None:
        refused = "--toml" if toml else "--predicates" if predicates else "--target"
        raise OptionError(f"{refused} is refused: it is for tables, not for facts.")
    say(database.notices)
    facts = inspect_facts(database)
    write_result([json_text(facts.as_dict()) if json else f"{facts}\n"], None)


def modes(
    data: Data,
    split: Split = None,
    target: TableTarget = None,
    schema: SchemaFile = None,
    dangling: Dangling = "error",
) -> None:
    """Print the modes, inferred where the data give none.

    \b
    Example: hornbeam modes data/movielens_paper
    """
    from hornbeam.loading import load, modes_text

    database = load(data, split, target=target, schema=schema, dangling=dangling)
    say(database.notices)
    write_result([modes_text(database)], None, exact=True)
