"""The verb ``generate``: tables of a world in which one feature is planted."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from hornbeam.cli.command import verb
from hornbeam.cli.messages import say_written
from hornbeam.cli.output import write_result


@verb
def generate(
    *,
    feature: Annotated[
        str,
        typer.Argument(
            metavar="FEATURE",
            help="Feature that the labels depend on: sum, mean, min, max, spread, first, last, distinct, "
            "own-number, window, last-5, since-first, since-last or month.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Write the tables to this new folder.")
    ],
    size: Annotated[int, typer.Option("--size", metavar="N", help="Number of examples.")] = 500,
    seed: Annotated[int, typer.Option("--seed", help="Another seed gives another world.", min=0)] = 0,
) -> None:
    """Write tables whose labels depend on one feature.

    Each thing has events with times, amounts and sorts, before and after the cut-off of its example, and
    there are columns of noise. The
    same arguments give the same tables. With another seed, they are test data with the same truth.

    \b
    Example: hornbeam generate mean --out world
    """
    from hornbeam.datasets.worlds.planted import TARGET, planted

    world = planted(feature, size, seed)
    world.write(out)
    say_written(out, f"{', '.join(f'{name}.csv' for name in world.tables)} and schema.toml")
    folder, examples = (shlex.quote(str(place)) for place in (out, out / "examples.csv"))
    write_result(
        [
            f"The label of a thing depends on {world.planted.sentence}:\n  {world.planted.effect}\n",
            f'To learn it: hornbeam fit {folder} --target "{TARGET}" --examples {examples} --model m.json\n',
        ],
        None,
    )
