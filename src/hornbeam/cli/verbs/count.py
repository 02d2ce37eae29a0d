"""The verb ``count``: count a clause."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from hornbeam.cli.command import verb
from hornbeam.cli.data import load_data
from hornbeam.cli.flags import Counting, ExampleSource, Out, TableTarget
from hornbeam.cli.messages import say, say_written
from hornbeam.cli.output import check_writable, csv_text, write_result
from hornbeam.errors import OptionError, plural
from hornbeam.learning.options.declared import FALSE_GROUNDINGS
from hornbeam.logic.guards import FALSE_COUNTS, GUARDED, POPULATION

if TYPE_CHECKING:
    from hornbeam.data.database import Database
    from hornbeam.logic.clauses import Clause

_MANY = 1000
"""If there are more names than this, no similar name is suggested."""


@verb
def count(
    *,
    source: ExampleSource,
    clause: Annotated[
        str, typer.Argument(metavar="CLAUSE", help="The clause, such as 'cancer(A) :- friends(A,B).'")
    ],
    out: Out = None,
    target: TableTarget = None,
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
    """Count a clause for every example of its head.

    The result is CSV, a row for each example in the order of --examples or of the data. Its columns are the
    keys under their names in the tables (arg1..argk for facts), true and false. If examples have cut-offs,
    there is a column for them. For tables, the head may be the name of a table; the clause is then counted
    for each key of that table.

    \b
    Example: hornbeam count data/toy_cancer "cancer(A) :- friends(A,B), smokes(B)."
    """
    from hornbeam.data.database import Notice
    from hornbeam.engines.counting.count import count_all
    from hornbeam.engines.counting.guarded import count_guarded
    from hornbeam.engines.registry import open_engine
    from hornbeam.logic.parse import parse_clause
    from hornbeam.model.readable.predictions import key_columns

    budget = counting.budget
    check_writable(out, source.data, source.examples)
    if false_counts not in FALSE_COUNTS:
        raise OptionError(
            f"--false-counts {false_counts} is refused: it must be {' or '.join(FALSE_COUNTS)}."
        )
    database = load_data(source, counting, target=target or parse_clause(clause).head.predicate)
    say(database.notices)
    parsed = parse_clause(clause, database.schema)
    if not parsed.touches_head():
        say([Notice("the body shares no variable with the head: the counts of all examples are equal.")])
    say(_unknown_constants(parsed, database))
    examples = database.examples_of(parsed.head.predicate).as_given()
    count_clauses = count_guarded if false_counts == GUARDED and parsed.body else count_all
    (counts,) = count_clauses(open_engine(counting.engine, database, budget), [parsed], examples.keys)
    columns = key_columns(database, examples, database.origin, ["true", "false"])
    rows = (
        (*key, int(counts.true[place]), counts.false_of(place))
        for place, key in enumerate(zip(*columns.values(), strict=True))
    )
    write_result(csv_text([*columns, "true", "false"], rows), out, exact=True)
    say_written(out, f"the counts of {plural(len(examples), 'example')}")


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
