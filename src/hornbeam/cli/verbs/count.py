"""The verb ``count``: count a clause, or compute the value of an effect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hornbeam.cli.command import verb
from hornbeam.cli.data import load_data
from hornbeam.cli.flags import Counting, ExampleSource, Out, TableTarget
from hornbeam.cli.opened import open_model
from hornbeam.cli.output import check_writable, csv_text, say, say_written, write_result
from hornbeam.errors import OptionError, plural
from hornbeam.learning.options.declared import FALSE_GROUNDINGS
from hornbeam.logic.clauses import FALSE_COUNTS, GUARDED, POPULATION

if TYPE_CHECKING:
    from hornbeam.data.database import Database, Examples
    from hornbeam.engines.contract import Engine
    from hornbeam.logic.clauses import Clause
    from hornbeam.logic.parse_effect import ShownFeature

    CsvRows = tuple[list[str], Iterable[Sequence[object]]]

_MANY = 1000
"""If there are more names than this, no similar name is suggested."""


@verb
def count(
    *,
    source: ExampleSource,
    line: Annotated[
        str,
        typer.Argument(
            metavar="LINE",
            help="A clause, such as 'cancer(A) :- friends(A,B).', or any line of logic that show prints.",
        ),
    ],
    out: Out = None,
    target: TableTarget = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", metavar="FILE", help="Read the data as for this model, with its target."),
    ] = None,
    false_counts: Annotated[
        str,
        typer.Option(
            "--false-counts",
            metavar="|".join(FALSE_COUNTS),
            help=FALSE_GROUNDINGS.help,
        ),
    ] = POPULATION,
    counting: Counting,
) -> None:
    """Count a clause or compute an effect for every example.

    The result is CSV, a row for each example in the order of --examples or of the data. Its columns are the
    keys under their names in the tables (arg1..argk for facts), and true and false for a clause. If examples
    have cut-offs, there is a column for them. For an effect, the columns are the keys, the value of its
    feature (empty if it is missing) and, if the line has a curve, log_odds: what it adds.

    For tables, the head may be the name of a table; the clause is then counted for each key of that table.

    \b
    Example: hornbeam count data/toy_cancer "cancer(A) :- friends(A,B), smokes(B)."
    """
    from hornbeam.logic.clauses import Clause
    from hornbeam.logic.parse_effect import parse_shown

    check_writable(out, source.data, source.examples, model)
    if false_counts not in FALSE_COUNTS:
        raise OptionError(
            f"--false-counts {false_counts} is refused: it must be {' or '.join(FALSE_COUNTS)}."
        )
    engine = _engine(line, source, counting, target, model)
    parsed = parse_shown(line, engine.database.schema)
    examples = engine.database.examples_of(parsed.head.predicate).as_given()
    guarded = false_counts == GUARDED
    if isinstance(parsed, Clause):
        what, (columns, rows) = "counts", _counts(parsed, engine, examples, guarded)
    else:
        what, (columns, rows) = "values", _values(parsed, engine, examples, guarded)
    write_result(csv_text(columns, rows), out, exact=True)
    say_written(out, f"the {what} of {plural(len(examples), 'example')}")


def _engine(
    line: str, source: ExampleSource, counting: Counting, target: str | None, model: Path | None
) -> Engine:
    """An engine on the data, which are read as for a model, or for a target."""
    from hornbeam.engines.registry import open_engine
    from hornbeam.logic.parse_effect import parse_shown

    if model is not None:
        if target is not None:
            raise OptionError("--target is refused beside --model: the model has its own target.")
        return open_model(model, source, counting).engine
    budget, head = counting.budget, parse_shown(line).head.predicate
    database = load_data(source, counting, target=target or head)
    say(database.notices)
    return open_engine(counting.engine_name, database, budget)


def _counts(clause: Clause, engine: Engine, examples: Examples, guarded: bool) -> CsvRows:
    """The columns and the rows with true and false counts."""
    from hornbeam.data.database import Notice
    from hornbeam.engines.clauses.counters import counter_of
    from hornbeam.engines.clauses.counting.count import count_all
    from hornbeam.engines.clauses.counting.guarded import count_guarded
    from hornbeam.model.readable.predictions import key_columns

    database = engine.database
    if not clause.touches_head():
        say([Notice("the body shares no variable with the head: the counts of all examples are equal.")])
    say(_unknown_constants(clause, database))
    count_clauses = count_guarded if guarded and clause.body else count_all
    (counts,) = count_clauses(counter_of(engine), [clause], examples.keys)
    columns = key_columns(database, examples, database.origin, ["true", "false"])
    rows = (
        (*key, int(counts.true[place]), counts.false_of(place))
        for place, key in enumerate(zip(*columns.values(), strict=True))
    )
    return [*columns, "true", "false"], rows


def _values(asked: ShownFeature, engine: Engine, examples: Examples, guarded: bool) -> CsvRows:
    """The columns and the rows with the values of a feature and, if there is a curve, what it adds."""
    from hornbeam.logic.effects import Curve, Effect, has_dates
    from hornbeam.model.effects import levels_of, values_of
    from hornbeam.model.readable.predictions import key_columns

    if guarded:
        raise OptionError("--false-counts is refused: an effect has no false counts.")
    head, body, feature, curve = asked
    database = engine.database
    (values,) = values_of(engine, [Effect(head, body, feature, curve or Curve((), (0.0,)))], examples.keys)
    dates = has_dates(database.schema, head, body, feature)
    names = ["value", *(["log_odds"] if curve else [])]
    columns = dict(key_columns(database, examples, database.origin, names))
    columns["value"] = [_value_text(value, dates) for value in values.tolist()]
    if curve:
        columns["log_odds"] = levels_of(curve, values).tolist()
    return list(columns), zip(*columns.values(), strict=True)


def _value_text(value: float, dates: bool) -> object:
    """A value of a feature: whole numbers without a point, dates as dates, nothing if it is missing."""
    from hornbeam.logic.clauses import format_value
    from hornbeam.logic.schema import DATE, value_of

    if value != value:
        return ""
    if dates:
        return format_value(value_of(value, DATE))
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _unknown_constants(clause: Clause, database: Database) -> Iterator[str]:
    """Notes about constants that the data do not have. Other data may have them, so this is not an error."""
    from hornbeam.errors import did_you_mean
    from hornbeam.logic.clauses import atoms_of

    for atom in atoms_of(clause.body):
        for term, type_name in zip(atom.args, database.schema.types_of(atom.predicate), strict=True):
            names = database.population(type_name).names
            if isinstance(term, str) and term not in names:
                hint = f" {did_you_mean(term, names, 'Constants')}" if len(names) <= _MANY else ""
                yield f'no "{term}" is among the constants of {type_name}, so it matches nothing.{hint}'
