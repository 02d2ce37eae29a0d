"""The verb ``sql``: print a model as a SQL query."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hornbeam.cli.command import verb
from hornbeam.cli.flags import ModelFile, Out
from hornbeam.cli.messages import say_written
from hornbeam.cli.output import check_writable, write_result

if TYPE_CHECKING:
    from hornbeam.model.clause_model import Model


@verb
def sql(
    *,
    model: ModelFile,
    dialect: Annotated[
        str,
        typer.Option(
            "--dialect", metavar="DIALECT", help="SQL dialect: duckdb, postgres, spark, snowflake, ..."
        ),
    ] = "duckdb",
    examples: Annotated[
        str | None,
        typer.Option(
            "--examples",
            metavar="TABLE",
            help="Table that holds the examples to score. Default: the table of the target's column, else "
            "examples.",
        ),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key",
            metavar="COLUMN",
            help="Column of that table that holds an argument of the target; repeat it for each argument. "
            "Default: the keys of the model's tables, else arg1, arg2, ...",
        ),
    ] = None,
    cutoff: Annotated[
        str | None,
        typer.Option("--cutoff", metavar="COLUMN", help="Column of that table that holds cut-off times."),
    ] = None,
    tables: Annotated[
        Path | None,
        typer.Option(
            "--tables", metavar="FILE", help="JSON file: other tables and columns of predicates; see above."
        ),
    ] = None,
    out: Out = None,
) -> None:
    """Print a model as one SQL query that scores a table of examples.

    For each example, the query returns its keys, the counts of every clause (or the sum of the weights, if
    the clause has a weight for each constant), the value of every effect, the score and the probability.

    Each predicate is read from the table that the model was learned from. If that was not from tables, it is
    read from a table of its name with the columns arg1, arg2, .... --tables names others:
    {"friends": {"table": "social.friends", "columns": ["who", "whom"]}}. An entry may also have "true", a
    column that is true in the rows that are facts, and "time", the column with their times.

    \b
    Example: hornbeam sql --model m.json --dialect postgres --examples people --key id
    """
    from hornbeam.loading.tables.learned import examples_table

    check_writable(out, model, tables)
    learned = _model(model)
    table, columns = examples_table(learned.settings, learned.schema.arity(learned.target))
    asked = (examples or table, key or columns, None, cutoff)
    write_result([learned.sql(dialect, _tables(tables), asked)], out, exact=True)
    say_written(out, "the query")


def _model(path: Path) -> Model:
    """The model in a file, if it can be written as SQL."""
    from hornbeam.errors import ModelError, Place
    from hornbeam.model.clause_model import Model
    from hornbeam.model.files import load_model

    learned = load_model(path)
    if not isinstance(learned, Model):
        raise ModelError(f"a model of learner {learned.learner} cannot be written as SQL.", Place(str(path)))
    return learned


def _tables(path: Path | None) -> dict[str, Any]:
    """The table and columns of each predicate, from a JSON file."""
    from hornbeam.errors import DataError, Place

    if path is None:
        return {}
    expected = 'expected {"predicate": {"table": "name", "columns": ["a", "b"]}, ...}.'
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        tables = {
            name: (entry["table"], entry["columns"], entry.get("true"), entry.get("time"))
            for name, entry in document.items()
        }
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror}).", Place(str(path))) from None
    except (ValueError, AttributeError, KeyError, TypeError):
        raise DataError(f"does not map predicates to tables: {expected}", Place(str(path))) from None
    for table, columns, *others in tables.values():
        words = [*(table if isinstance(table, list) else [table]), *filter(None, others)]
        if not (isinstance(columns, list) and all(isinstance(word, str) for word in [*words, *columns])):
            raise DataError(f"does not map predicates to tables: {expected}", Place(str(path)))
    return {name.lower(): entry for name, entry in tables.items()}
