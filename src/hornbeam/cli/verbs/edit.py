"""The verb ``edit``: change the effects of a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hornbeam.cli.command import verb
from hornbeam.cli.flags import DATA, Counting, ExampleSource, ModelFile, Out
from hornbeam.cli.opened import examples_of
from hornbeam.cli.output import check_writable, say, say_written, write_result
from hornbeam.errors import OptionError, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hornbeam.model.editing.edits import Edit
    from hornbeam.model.files import LearnedModel

Edits = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="EDITS",
        help='Edits in order, such as "off 3", "rise 2" or "round all to 0.1"; see above.',
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class EditFlags:
    """Which edits are made, and who makes them."""

    like: Annotated[
        Path | None,
        typer.Option("--like", metavar="FILE", help="First repeat the edits of this model file."),
    ] = None
    by: Annotated[
        str, typer.Option("--by", metavar="NAME", help="Who makes the edits; the model keeps the name.")
    ] = ""
    of_class: Annotated[
        str | None,
        typer.Option("--class", metavar="CLASS", help="Class to edit, if there are several."),
    ] = None


@dataclass(frozen=True, slots=True)
class OptionalSource(ExampleSource):
    """Data to score edits on, if they are named."""

    data: Annotated[
        str,
        typer.Option(
            "--data", metavar="DATA", help="Score the model on these data before and after each edit.",
            rich_help_panel=DATA,
        ),
    ] = ""  # fmt: skip


@verb
def edit(
    *,
    model: ModelFile,
    edits: Edits = None,
    flags: EditFlags,
    source: OptionalSource,
    out: Out = None,
    counting: Counting,
) -> None:
    """Change effects of a model, which keeps the list of edits.

    An edit is a word and an effect: its number in hornbeam show MODEL, its feature and clause, or all.
    Numbers are those of MODEL, before the first edit. The model that is written keeps the edits in order,
    with the name given by --by.

    \b
    off         the effect adds its mean to every example
    flatten     one level for all values; missing values keep theirs
    straighten  the nearest straight line
    rise, fall  the nearest curve that never falls, or never rises
    round       multiples of 0.1, or of the number after "to": "round 3 to 0.25"

    \b
    Example: hornbeam edit m.json "off 3" "rise 1" --by Ann --out edited.json
    """
    from hornbeam.model.files import load_model, save_model

    check_writable(out, model, flags.like, source.data, source.examples)
    learned = load_model(model)
    asked: list[str | Edit] = [*_edits_of(flags.like, flags.of_class), *(edits or [])]
    if not asked:
        raise OptionError(f'no edit is named; name one, such as "rise 1" (see hornbeam show {model}).')
    steps = list(_steps(learned, asked, flags))
    lines = [line for _, line in steps]
    if source.data:
        lines = _with_losses(learned, steps, source, counting)
    write_result([f"{line}\n" for line in lines], None)
    if out is not None:
        save_model(steps[-1][0], out)
        say_written(out, f"the model after {plural(len(steps) - 1, 'edit')}")
    else:
        say(["the edited model was not written; name a file for it by --out."])


def _edits_of(path: Path | None, of_class: str | None) -> tuple[Edit, ...]:
    """The edits that a model file lists."""
    from hornbeam.model.class_model import ClassModel
    from hornbeam.model.files import load_model

    if path is None:
        return ()
    learned = load_model(path)
    if isinstance(learned, ClassModel):
        learned = learned.member(of_class or learned.classes[-1])
    edits: tuple[Edit, ...] = getattr(learned, "edits", ())
    if not edits:
        raise OptionError(f'the model of --like "{path}" has no edits that could be repeated.')
    return edits


def _steps(
    learned: LearnedModel, asked: list[str | Edit], flags: EditFlags
) -> Iterator[tuple[LearnedModel, str]]:
    """The model as it is, then after each edit, each with a line that says what was done."""
    from hornbeam.model.class_model import ClassModel, with_edits

    yield learned, "the model as it is"
    if isinstance(learned, ClassModel):
        wanted = learned.edited(*asked, by=flags.by, of_class=flags.of_class)
        name = flags.of_class or learned.classes[-1]
        before, after = learned.member(name), wanted.member(name)
        every = learned.is_together and flags.of_class is None
    elif flags.of_class is not None:
        raise OptionError("--class is refused: the model has no classes.")
    else:
        before, after = learned, with_edits(learned, asked, flags.by)
    new = getattr(after, "edits", ())[len(getattr(before, "edits", ())) :]
    shown = with_edits(before, new).shown_for(flags.of_class or "").edit_lines()[-len(new) :]
    for number, line in enumerate(shown, start=1):
        if isinstance(learned, ClassModel):
            yield learned.edited(*new[:number], of_class=None if every else name), line
        else:
            yield with_edits(learned, new[:number]), line


def _with_losses(
    learned: LearnedModel, steps: list[tuple[LearnedModel, str]], source: ExampleSource, counting: Counting
) -> list[str]:
    """The lines, each with the loss on the data; a note if the model was learned from these examples."""
    from hornbeam.model.training import is_training_data, key_names
    from hornbeam.report.live.trials import Trials

    engine, examples = examples_of(learned, source, counting)
    trials = Trials(learned, engine, examples)
    losses = [trials.loss(edited) for edited, _ in steps]
    if losses[0] is None:
        raise OptionError(f'the data have no labels of "{learned.target}" to score edits on.')
    if is_training_data(learned, key_names(engine.database, examples)):
        say(["the model was learned from these examples, so the losses are too small; give other data."])
    texts = [f"{each} on {trials.examples.keys.shape[0]:,} examples" for each in losses]
    width = max(map(len, texts))
    return [f"{text:<{width}}  {line}" for text, (_, line) in zip(texts, steps, strict=True)]
