"""The verb that takes a model elsewhere: sql."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from hornbeam.cli.options import ModelFile
from hornbeam.cli.output import check_writable, write_result


def sql(
    model: ModelFile,
    dialect: Annotated[
        str, typer.Option("--dialect", metavar="DIALECT", help="duckdb, postgres, spark, snowflake, ...")
    ] = "duckdb",
    examples: Annotated[
        str, typer.Option("--examples", metavar="TABLE", help="Table of the examples to score.")
    ] = "examples",
    key: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="COLUMN", help="Its column for each argument (arg1 arg2 ...)."),
    ] = None,
    cutoff: Annotated[
        str | None, typer.Option("--cutoff", metavar="COLUMN", help="Its column of cut-off times, if any.")
    ] = None,
    tables: Annotated[
        Path | None,
        typer.Option("--tables", metavar="FILE", help="JSON: predicate to table and columns; see above."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the query there, not to stdout.")
    ] = None,
) -> None:
    """Print a model as one SQL query that scores a table of examples.

    The query gives for each example its keys, the true and false counts of every clause (where constants
    have weights, their sum), the score and the probability. Facts are expected in tables named as their
    predicates with the columns arg1 arg2 ..., unless --tables maps them:
    {"friends": {"table": "social.friends", "columns": ["who", "whom"]}}; there "true" names a column that
    must be true for a row to be a fact, "time" the one that says since when.

    \b
    Example: hornbeam sql --model m.json --dialect postgres --examples people --key id
    """
    from hornbeam.errors import ModelError, Place
    from hornbeam.model.clause_model import Model
    from hornbeam.model.files import load_model

    check_writable(out)
    learned = load_model(model)
    if not isinstance(learned, Model):
        raise ModelError(f"a model of learner {learned.learner} cannot be written as SQL.", Place(str(model)))
    columns = key or [f"arg{number + 1}" for number in range(learned.schema.arity(learned.target))]
    write_result([learned.sql(dialect, _tables(tables), (examples, columns, None, cutoff))], out, exact=True)


def _tables(path: Path | None) -> dict[str, Any]:
    """Where the facts are, from a JSON file."""
    from hornbeam.errors import DataError, Place

    if path is None:
        return {}
    wanted = 'expected {"predicate": {"table": "name", "columns": ["a", "b"]}, ...}.'
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        found = {
            name: (entry["table"], entry["columns"], entry.get("true"), entry.get("time"))
            for name, entry in document.items()
        }
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror}).", Place(str(path))) from None
    except (ValueError, AttributeError, KeyError, TypeError):
        raise DataError(f"is no mapping of tables: {wanted}", Place(str(path))) from None
    for table, columns, *others in found.values():
        words = [*(table if isinstance(table, list) else [table]), *filter(None, others)]
        if not (isinstance(columns, list) and all(isinstance(word, str) for word in [*words, *columns])):
            raise DataError(f"is no mapping of tables: {wanted}", Place(str(path)))
    return {name.lower(): entry for name, entry in found.items()}
