"""The verb ``examples``: examples with labels, made from events."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from hornbeam.cli.command import verb
from hornbeam.cli.data import MadeFold, located
from hornbeam.cli.flags import Out, Source
from hornbeam.cli.output import check_writable, csv_text, print_message, write_result
from hornbeam.errors import OptionError


@dataclass(frozen=True, slots=True)
class AskedFlags:
    """What the examples are, and when."""

    things: Annotated[
        str, typer.Option("--things", metavar="TABLE", help="Table whose rows are the examples.")
    ]
    every: Annotated[
        str, typer.Option("--every", metavar="TIME", help="Time between cut-offs: 30d, 2w, 12h.")
    ]
    label: Annotated[
        str, typer.Option("--label", metavar="LABEL", help="What happens after a cut-off; see above.")
    ]
    start: Annotated[
        str | None,
        typer.Option(
            "--start", metavar="DATE", help="No cut-off is earlier. Default: a window after the first row."
        ),
    ] = None
    end: Annotated[
        str | None,
        typer.Option("--end", metavar="DATE", help="Windows end by this time. Default: the last row's."),
    ] = None
    active: Annotated[
        str | None,
        typer.Option(
            "--active", metavar="TIME", help="Only things with a row in this time before the cut-off."
        ),
    ] = None


@verb
def examples(*, source: Source, asked: AskedFlags, out: Out = None) -> None:
    """Make examples from events: things at cut-offs, with labels.

    The result is CSV: keys, cut-offs and labels, for --examples of fit and evaluate. A label sees the rows
    at or after its cut-off; features see the rows before it, so they share none. Cut-offs whose window is
    not over in the data are left out. A thing is an example once it has a row before the cut-off.

    \b
    no orders within 90d            1 if there is none
    any orders within 30d           1 if there is one
    count(orders) within 30d >= 3   without the comparison, a number
    sum(orders.amount) within 90d   also mean, min, max, or compared
    customers.left within 90d       a date of the things, until it comes

    \b
    Example: hornbeam examples shop --things customers --every 30d --label "no orders within 90d"
    """
    from hornbeam.loading.events.examples import examples as made_from
    from hornbeam.loading.events.examples import summary
    from hornbeam.loading.kind_of_source import holds_facts

    check_writable(out, source.data)
    place = located(source.data)
    if (
        isinstance(place, MadeFold)
        or source.split is not None
        or holds_facts(Path(place), source.schema is not None)
    ):
        raise OptionError("examples are made from tables with times; these data are facts.")
    given = asdict(asked) | {"schema": source.schema, "allow_outside": source.allow_outside}
    made = made_from(place, **given)
    columns = made.columns()
    write_result(csv_text(list(columns), zip(*columns.values(), strict=True)), out, exact=True)
    for line in summary(made):
        print_message(line)
    if out is not None:
        words = ["hornbeam", "fit", source.data, "--target", made.target, "--examples", str(out)]
        print_message(f"to learn from them: {shlex.join(words)}")
