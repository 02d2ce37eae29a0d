"""Prints models and explanations as tables on a terminal. Files and pipes get plain text instead."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hornbeam.cli.output import printable

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from hornbeam.model.clause_model import Model
    from hornbeam.model.explain import Explanation
    from hornbeam.rivals.agg_lr.model import AggregateModel

_BAR = 12
"""Characters of the longest bar."""
_RISE, _FALL, _QUIET = "dark_orange3", "dodger_blue2", "bright_black"


def on_terminal() -> bool:
    """Whether stdout is a terminal."""
    return sys.stdout.isatty()


def print_model(model: Model | AggregateModel) -> None:
    """Print the prior, and each clause or feature with its weights; ``Model.words`` prints effects."""
    from rich.text import Text

    from hornbeam.logic.english.clauses import text_of
    from hornbeam.model.clause_model import Model
    from hornbeam.model.readable.clauses import WEIGHT_NAMES
    from hornbeam.report.numbers.parts import parts_of, weights_text

    clauses = isinstance(model, Model)
    parts = parts_of(model)
    names: Sequence[str] = ("weight", "mean")
    columns: Sequence[int] = (0, 1)
    if isinstance(model, Model):
        # Weights that are zero in all clauses are not shown.
        columns = model.weight_columns()
        names = [WEIGHT_NAMES[place] for place in columns]
    table = _table(["", *names], [*(["feature"] if clauses else []), _title(model)])
    for number, part in enumerate(parts, start=1):
        logic = text_of(part.formula) if part.clause is None else str(part.clause)
        weights = [_signed(part.weights[place][1]) if part.weights else Text("") for place in columns]
        table.add_row(
            Text(str(number), style=_QUIET),
            *weights,
            *([Text(part.feature, style=_QUIET)] if clauses else []),
            _logic(logic if part.each is None else f"{weights_text(part)} : {logic}"),
        )
    title = Text.assemble(
        (printable(model.target), "bold"), f", learner {model.learner}, prior {model.prior:+.4g}"
    )
    _print(title, table)


def _title(model: Model | AggregateModel) -> str:
    """The title of the column of clauses or aggregates: their number."""
    from hornbeam.errors import plural
    from hornbeam.model.clause_model import Model

    return plural(len(model.clauses), "clause") if isinstance(model, Model) else model.size_text


def print_explanation(explanation: Explanation) -> None:
    """Print what each clause, tree or feature adds and why, the strongest first, with bars."""
    from rich.text import Text

    table = _table(["adds"], ["", "because"])
    reasons = [(each.contribution, each.because(explanation.key)) for each in explanation.reasons]
    adding = [(added, because) for added, because in reasons if added]
    most = max(abs(added) for added in [explanation.prior, *(added for added, _ in adding)]) or 1.0
    for added, because in [*adding, (explanation.prior, "the prior")]:
        table.add_row(_signed(added), _bar(added / most), Text(printable(because)))
    if explanation.others_text:
        table.add_row(Text("0", style=_QUIET), "", Text(explanation.others_text, style=_QUIET))
    head = Text(printable(explanation.heading), style="bold")
    _print(Text.assemble(head, explanation.score_text), table)


def _table(numbers: Sequence[str], texts: Sequence[str]) -> Table:
    """An empty table without a frame: columns of numbers, then columns of text."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style=_QUIET)
    for name in numbers:
        table.add_column(Text(name), justify="right", no_wrap=True)
    for name in texts:
        table.add_column(Text(name), overflow="fold")
    return table


def _signed(value: float) -> Text:
    from rich.text import Text

    style = _RISE if value > 0 else _FALL if value < 0 else _QUIET
    return Text(f"{value:+.4g}" if value else "0", style=style)


def _bar(share: float) -> Text:
    from rich.text import Text

    eighths = round(abs(share) * _BAR * 8)
    last = " ▏▎▍▌▋▊▉"[eighths % 8].strip()
    return Text("█" * (eighths // 8) + last or "▏", style=_RISE if share >= 0 else _FALL)


def _logic(text: str) -> Text:
    """The text of a clause, which can be pasted into a command, with its variables coloured."""
    from rich.text import Text

    coloured = Text(printable(text))
    coloured.highlight_regex(r"(?<=[(,])[A-Z][0-9]*(?=[,)])", "green")
    return coloured


def _print(title: Text, *tables: Table) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    console.print(title)
    for table in tables:
        console.print(table)
