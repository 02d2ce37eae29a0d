"""The verb ``sql``: print a model as a SQL query."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from hornbeam.cli.command import verb
from hornbeam.cli.flags import ModelFlags, Out
from hornbeam.cli.output import check_writable, print_message, say_written, write_result
from hornbeam.errors import DataError, ModelError, OptionError, Place
from hornbeam.files import write_file

if TYPE_CHECKING:
    from hornbeam.data.numbers import TimeColumn
    from hornbeam.model.class_model import ClassModel
    from hornbeam.model.clause_model import Model


_DBT = "dbt"
"""The heading of the flags for projects of dbt."""


@dataclass(frozen=True, slots=True)
class DbtFlags:
    """The project of dbt to write the query to."""

    dbt: Annotated[
        Path | None,
        typer.Option(
            "--dbt",
            metavar="FOLDER",
            help="Write models/NAME.sql and models/NAME.yml to this dbt project, with descriptions and tests "
            "of the columns.",
            rich_help_panel=_DBT,
        ),
    ] = None
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Name of the model in the project. Default: that of the model file.",
            rich_help_panel=_DBT,
        ),
    ] = None
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="SOURCE",
            help="The tables are in this source of the project. Default: they are its models.",
            rich_help_panel=_DBT,
        ),
    ] = None

    def check(self, out: Path | None) -> None:
        """Refuse a folder that is none, and flags that need another one."""
        if self.dbt is None:
            for flag, value in (("--name", self.name), ("--source", self.source)):
                if value is not None:
                    raise OptionError(f"{flag} is refused without --dbt FOLDER.")
        elif out is not None:
            raise OptionError("--out and --dbt are refused together: --dbt names the folder of the files.")
        elif not self.dbt.is_dir():
            raise DataError("is no folder; name the folder of your dbt project.", Place(str(self.dbt)))


@dataclass(frozen=True, slots=True)
class TableFlags:
    """The tables that the query reads."""

    examples: Annotated[
        str | None,
        typer.Option(
            "--examples",
            metavar="TABLE",
            help="Table that holds the examples to score. Default: the table of the target's column, else "
            "examples.",
        ),
    ] = None
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key",
            metavar="COLUMN",
            help="Column of that table that holds an argument of the target; repeat it for each argument. "
            "Default: the keys of the model's tables, else arg1, arg2, ...",
        ),
    ] = None
    cutoff: Annotated[
        str | None,
        typer.Option("--cutoff", metavar="COLUMN", help="Column of that table that holds cut-off times."),
    ] = None
    tables: Annotated[
        Path | None,
        typer.Option(
            "--tables", metavar="FILE", help="JSON file: other tables and columns of predicates; see above."
        ),
    ] = None

    def examples_of(
        self, learned: Model | ClassModel
    ) -> tuple[str | tuple[str], list[str], None, str | None]:
        """The table of examples, the columns of its keys, and that of its cut-offs."""
        from hornbeam.loading.tables.learned import examples_table

        table, columns = examples_table(learned.settings, learned.schema.arity(learned.target))
        return self.examples or table, self.key or list(columns), None, self.cutoff


@verb
def sql(
    *,
    model: ModelFlags,
    dialect: Annotated[
        str,
        typer.Option(
            "--dialect", metavar="DIALECT", help="SQL dialect: duckdb, postgres, spark, snowflake, ..."
        ),
    ] = "duckdb",
    tables: TableFlags,
    dbt: DbtFlags,
    out: Out = None,
) -> None:
    """Print a model as a SQL query, or write it to a dbt project.

    The query scores a table of examples. For each example, it returns its keys, the counts of every clause
    (or the sum of the weights, if the clause has a weight for each constant), the value of every effect, the
    score and the probability. Classes that were learned together have a column each: what every effect adds,
    the score, and the probability.

    Each predicate is read from the table that the model was learned from. If that was not from tables, it is
    read from a table of its name with the columns arg1, arg2, .... --tables names others:
    {"friends": {"table": "social.friends", "columns": ["who", "whom"]}}. An entry may also have "true", a
    column that is true in the rows that are facts, and "time", the column with their times (or a list, as
    inspect --predicates prints it, of which the latest counts).

    With --dbt, a table in a schema, such as social.friends, is the table of a source.

    \b
    Example: hornbeam sql m.json --dialect postgres --examples people --key id
    """
    from hornbeam.report.dbt import DbtPlace, dbt_files

    dbt.check(out)
    check_writable(out, model.path, tables.tables)
    learned = _model(model.path)
    given, examples = _tables(tables.tables), tables.examples_of(learned)
    if dbt.dbt is None:
        write_result([learned.sql(dialect, given, examples)], out, exact=True)
        say_written(out, "the query")
    else:
        place = DbtPlace(dbt.name or model.path.stem, dialect, dbt.source)
        _write_project(dbt.dbt, dbt_files(learned, place, given, examples))


def _write_project(folder: Path, files: dict[str, str]) -> None:
    """Write the files of a dbt project; the folder models may be new."""
    (folder / "models").mkdir(exist_ok=True)
    for name, text in files.items():
        write_file(folder / name, text)
    print_message(f"wrote {' and '.join(files)} to {folder}")


def _model(path: Path) -> Model | ClassModel:
    """The model in a file, if it can be written as SQL."""
    from hornbeam.model.class_model import ClassModel
    from hornbeam.model.clause_model import Model
    from hornbeam.model.files import load_model

    learned = load_model(path)
    if isinstance(learned, ClassModel) and learned.is_together:
        return learned
    if not isinstance(learned, Model):
        raise ModelError(f"a model of learner {learned.learner} cannot be written as SQL.", Place(str(path)))
    return learned


def _tables(path: Path | None) -> dict[str, Any]:
    """The table and columns of each predicate, from a JSON file."""
    if path is None:
        return {}
    expected = 'expected {"predicate": {"table": "name", "columns": ["a", "b"]}, ...}.'
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        tables = {
            name: (entry["table"], entry["columns"], entry.get("true"), _time(entry.get("time")))
            for name, entry in document.items()
        }
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror}).", Place(str(path))) from None
    except (ValueError, AttributeError, KeyError, TypeError):
        raise DataError(f"does not map predicates to tables: {expected}", Place(str(path))) from None
    for table, columns, true, time in tables.values():
        words = [*(table if isinstance(table, list) else [table]), *filter(None, [true])]
        for column, links in [(time, ())] if isinstance(time, str) else time or ():
            words += [column, *(word for link in links for word in link)]
        if not (isinstance(columns, list) and all(isinstance(word, str) for word in [*words, *columns])):
            raise DataError(f"does not map predicates to tables: {expected}", Place(str(path)))
    return {name.lower(): entry for name, entry in tables.items()}


def _time(entry: Any) -> str | tuple[TimeColumn, ...] | None:
    """The column of times, or several of which the latest counts, as ``inspect --predicates`` writes them."""
    from hornbeam.data.numbers import TimeColumn

    if not isinstance(entry, list):
        return cast("str | None", entry)
    return tuple(
        TimeColumn(each["column"], tuple((link, table, key) for link, table, key in each["links"]))
        for each in entry
    )
