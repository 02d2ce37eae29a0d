"""The verbs ``inspect`` and ``modes``: descriptions of the data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hornbeam.cli.command import verb
from hornbeam.cli.data import MadeFold, load_data, located
from hornbeam.cli.flags import OUTPUT, ExamplesFile, Json, LinkedSource, Source, TableTarget
from hornbeam.cli.output import json_text, one_form, say, write_result
from hornbeam.errors import OptionError


@verb
def inspect(
    *,
    source: Source,
    target: TableTarget = None,
    examples: ExamplesFile = None,
    json: Json = False,
    toml: Annotated[
        bool,
        typer.Option(
            "--toml", help="For tables: print a schema.toml that you can correct.", rich_help_panel=OUTPUT
        ),
    ] = False,
    predicates: Annotated[
        bool,
        typer.Option(
            "--predicates",
            help="For tables: print the table and columns of each predicate (JSON), for sql --tables.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
) -> None:
    """Describe the data: tables, keys, links and roles of columns.

    With --target, it also lists columns that determine the label on their own. With --examples whose rows
    have cut-offs, it says for each table since when its rows are known. For facts, it prints predicates,
    populations and examples.

    \b
    Example: hornbeam inspect data/movielens --target users.gender=F
    """
    from hornbeam.loading.kind_of_source import kind_of_source

    form = one_form({"--json": json, "--toml": toml, "--predicates": predicates})
    place = located(source.data)
    if not isinstance(place, MadeFold) and kind_of_source(place, source.schema is not None).holds_tables:
        _inspect_tables(place, source, target, examples, form)
        return
    refused = form if form in ("--toml", "--predicates") else "--target" if target is not None else None
    refused = refused or ("--examples" if examples is not None else None)
    database = load_data(source)
    if refused is not None:
        raise OptionError(f"{refused} is refused: it is for tables, not for facts.")
    from hornbeam.loading.inspect.inspectors import inspect_facts

    say(database.notices)
    facts = inspect_facts(database)
    write_result([json_text(facts.as_dict()) if json else f"{facts}\n"], None)


def _inspect_tables(
    place: str, source: Source, target: str | None, examples: Path | None, form: str | None
) -> None:
    from hornbeam.loading.inspect.inspectors import inspect_tables
    from hornbeam.loading.options import TableOptions

    if source.split is not None:
        raise OptionError("--split is refused: tables have no splits.")
    if examples is not None and target is None:
        raise OptionError("--examples is refused without --target, which says what they are examples of.")
    options = TableOptions(
        target,
        source.schema,
        examples,
        allow_outside=source.allow_outside,
        missing=source.missing,
        views=source.views,
    )
    inspected = inspect_tables(place, options)
    if form == "--toml":
        write_result([inspected.toml()], None, exact=True)
    elif form == "--predicates":
        write_result([json_text(dict(inspected.places))], None, exact=True)
    else:
        say(inspected.notices)
        write_result([json_text(inspected.as_dict()) if form else f"{inspected}\n"], None)


@verb
def modes(*, source: LinkedSource, target: TableTarget = None) -> None:
    """Print the modes of the data, stated or inferred.

    \b
    Example: hornbeam modes data/movielens_paper
    """
    from hornbeam.loading import modes_text

    database = load_data(source, target=target)
    say(database.notices)
    write_result([modes_text(database)], None, exact=True)
