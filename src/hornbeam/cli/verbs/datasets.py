"""The verb ``datasets``: list the named data sets, or get one."""

from __future__ import annotations

from typing import Annotated

import typer

from hornbeam.cli.flags import Json
from hornbeam.cli.output import download_progress, json_text, remark, write_result

datasets = typer.Typer(
    rich_markup_mode=None,
    help="""List the named public data sets, or get one.

\b
Example: hornbeam datasets get uwcse
""",
    short_help="List the named public data sets, or get one.",
)


@datasets.command("list")
def list_all(json: Json = False) -> None:
    """List the data sets, with the folder of each on this machine.

    Data sets are looked for in the folder that HORNBEAM_DATA names, then in the user's cache. Every verb that
    takes DATA also takes their names: uwcse is the first fold, uwcse/fold3 the third.

    \b
    Example: hornbeam datasets list
    """
    from hornbeam.datasets import data_sets
    from hornbeam.datasets.places import find

    rows = [
        {
            "name": data.name,
            "title": data.title,
            "target": data.target,
            "folds": data.n_folds,
            "folder": str(find(data) or "") or None,
            "homepage": data.homepage or None,
            "licence": data.licence or None,
        }
        for data in data_sets().values()
    ]
    if json:
        write_result([json_text(rows)], None)
        return
    for row in rows:
        where = row["folder"] or (f"not here; {row['homepage']}" if row["homepage"] else "generated")
        line = f"{row['name']:<13} {row['target']:<12} folds: {row['folds']}  {row['title']}; {where}"
        write_result([line + "\n"], None)


@datasets.command("get")
def get(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Name of the data set, such as uwcse; see hornbeam datasets list."
        ),
    ],
) -> None:
    """Print the folder of a data set; download it if needed.

    \b
    Example: hornbeam datasets get uwcse
    """
    from hornbeam.datasets import data_set
    from hornbeam.datasets.archive import get as folder_of

    data = data_set(name)
    if data.licence:
        remark(f"{data.title}: {data.homepage} (licence: {data.licence})")
    with download_progress() as on_progress:
        folder = folder_of(data, on_progress)
    write_result([f"{folder}\n"], None)
