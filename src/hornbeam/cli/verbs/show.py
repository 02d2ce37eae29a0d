"""The verb ``show``: print a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeGuard

import typer

from hornbeam.cli.command import verb
from hornbeam.cli.flags import Json, ModelFlags, Out
from hornbeam.cli.output import check_writable, one_form, say_written, write_result
from hornbeam.errors import OptionError

if TYPE_CHECKING:
    from hornbeam.model.clause_model import Model
    from hornbeam.model.files import LearnedModel
    from hornbeam.rivals.agg_lr.model import AggregateModel


@verb
def show(
    *,
    model: ModelFlags,
    compact: Annotated[
        bool, typer.Option("--compact", help="For clauses: print each body once, with its weights added up.")
    ] = False,
    clauses: Annotated[
        bool, typer.Option("--clauses", help="For trees: print them as lists of clauses.")
    ] = False,
    logic: Annotated[
        bool, typer.Option("--logic", help="For effects: print one line of logic notation for each.")
    ] = False,
    svg: Annotated[bool, typer.Option("--svg", help="For trees: draw them (SVG).")] = False,
    of_class: Annotated[
        str | None,
        typer.Option("--class", metavar="CLASS", help="One class alone, if there are several."),
    ] = None,
    json: Json = False,
    out: Out = None,
) -> None:
    """Print a model: its prior, clauses, effects, trees or features.

    A clause is printed as [w0, w1, w2] : head :- body. with its bias, the weight of the true count and the
    weight of the false count. An effect is printed as a sentence and a table: what each range of values does
    to the odds, and the probability of an example that is average in everything else. The 20 most important
    effects are printed, and the others are counted; --json has all of them. Classes that were learned
    together are printed side by side, and one of them with --class. For a joint model, sentences say what the
    labels of neighbours do.

    \b
    Example: hornbeam show m.json --compact
    """
    from hornbeam.cli.terminal import on_terminal, print_model
    from hornbeam.model.files import load_model, model_text

    if json and of_class is not None:
        raise OptionError("--json and --class are refused together: the file has all classes.")
    one_form({"--svg": svg, "--clauses": clauses, "--json": json, "--logic": logic})
    check_writable(out, model.path)
    learned = _of_class(load_model(model.path), of_class)
    if compact:
        learned = _method(learned, "compact", "--compact")()
    if svg:
        text = _method(learned, "picture", "--svg")()
    elif clauses:
        text = f"{_method(learned, 'clause_text', '--clauses')()}\n"
    elif json:
        text = model_text(learned)
    elif not logic and _has_words(learned):
        text = f"{_method(learned, 'words', '--logic')()}\n"
    elif out is None and not logic and on_terminal() and _is_table(learned):
        print_model(learned)
        return
    else:
        text = f"{learned}\n"
    write_result([text], out, exact=svg or json)
    say_written(out, learned.size_text)


def _of_class(learned: LearnedModel, name: str | None) -> LearnedModel:
    """The model of one class, if one is named."""
    from hornbeam.model.class_model import ClassModel
    from hornbeam.model.clause_model import Model

    if name is None:
        return learned
    if not isinstance(learned, ClassModel):
        raise OptionError("--class is refused: the model has no classes.")
    member = learned.member(name)
    return member.shown_for(name) if isinstance(member, Model) else member


def _is_table(learned: LearnedModel) -> TypeGuard[Model | AggregateModel]:
    """Whether it is a list of clauses or of aggregates with weights."""
    from hornbeam.model.clause_model import Model

    return isinstance(learned, Model) or learned.learner == "agg-lr"


def _has_words(learned: LearnedModel) -> bool:
    """Whether a model or one of its classes has effects or weights per constant, or it is a joint model."""
    from hornbeam.model.class_model import ClassModel
    from hornbeam.model.files import JOINT

    if learned.learner == JOINT:
        return True
    models = [each for _, each in learned.members()] if isinstance(learned, ClassModel) else [learned]
    return any(
        getattr(model, "effects", ())
        or any(getattr(weighted, "each", None) is not None for weighted in getattr(model, "clauses", ()))
        for model in models
    )


def _method(learned: LearnedModel, name: str, flag: str) -> Callable[[], Any]:
    """The method that makes a form of output; it is an error if this kind of model does not have it."""
    method: Callable[[], Any] | None = getattr(learned, name, None)
    if method is None:
        raise OptionError(f"{flag} is refused: a model of learner {learned.learner} has no such form.")
    return method
