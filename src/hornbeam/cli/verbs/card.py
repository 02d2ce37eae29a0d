"""The verb ``card``: a model as a page of Markdown."""

from __future__ import annotations

from hornbeam.cli.command import verb
from hornbeam.cli.flags import ModelFlags, Out
from hornbeam.cli.output import check_writable, say_written, write_result


@verb
def card(*, model: ModelFlags, out: Out = None) -> None:
    """Write the card of a model (Markdown).

    It has the question, the data, scores, effects, limits and edits, all from the model file.

    \b
    Example: hornbeam card m.json --out card.md
    """
    from hornbeam.model.files import load_model
    from hornbeam.report.card import model_card

    check_writable(out, model.path)
    learned = load_model(model.path)
    write_result([model_card(learned)], out)
    say_written(out, "the card of the model")
