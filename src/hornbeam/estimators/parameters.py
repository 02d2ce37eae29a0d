"""The parameters of an estimator: the common ones, and the options that its learner declares.

``takes_options_of`` gives a class its ``__init__``, with real defaults and types in the signature, and the
list of parameters in its docstring.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator
from inspect import Parameter, Signature
from types import NoneType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin

from hornbeam.data.database import Database
from hornbeam.engines.contract import DEFAULT_MEMORY
from hornbeam.learning.options import DEFAULT, PAPER, PRESETS, Options, PaperOptions, new_name
from hornbeam.learning.options.option import Declared
from hornbeam.model.scales import NUMERIC_LOSSES, SQUARED

_WIDTH = 96
"""Columns of a docstring, without its indentation."""
Estimator = TypeVar("Estimator", bound=type)


class Described(NamedTuple):
    """A parameter as the signature and the docstring show it."""

    name: str
    type: Any
    default: Any
    help: str


DATA = (
    Described("database", Database | None, None, "The facts about the keys, as hornbeam.load returns them."),
    Described(
        "target",
        str | None,
        None,
        "The predicate to learn. It may be left out if the database has examples of one target only.",
    ),
)
PRESET = Described(
    "preset",
    str,
    DEFAULT,
    f"What is learned: {' or '.join(PRESETS)}. An option that is not given has the value of the preset. The "
    "defaults shown here are those of the default preset. An option of the other preset is refused.",
)
RUN = (
    Described(
        "unknown",
        str,
        "warn",
        "What to do about keys that are not in the database: 'warn' counts them as having no facts, 'error' "
        "refuses them.",
    ),
    Described("engine", str, "memory", "The engine that counts: memory, duckdb, postgres, spark or naive."),
    Described("memory", int, DEFAULT_MEMORY, "Budget for partial results, in bytes."),
    Described(
        "n_jobs",
        int | None,
        None,
        "Number of processes that learn at the same time: None is 1, -1 one for each processor. The model is "
        "the same for every number. Used by the default preset.",
    ),
    Described(
        "time_limit",
        float | None,
        None,
        "Seconds after which a fit ends. It keeps the steps done so far, and warns.",
    ),
    Described(
        "verbose",
        int,
        0,
        "Whether a fit writes its progress to stderr: 1 a line each second, 2 a line for each step.",
    ),
)


LOSS = Described(
    "loss",
    str,
    SQUARED,
    f"What is minimised: {' or '.join(NUMERIC_LOSSES)}. squared predicts means; absolute predicts medians, "
    "and outliers count little; huber predicts means in which outliers count little; poisson is for counts, "
    "and effects multiply.",
)
"""The parameter of regressors."""
ONLY_LABELS = ("neg_pos_ratio", "choice")
"""Options that numeric targets do not have."""


def parameters_of(options: type[Options], numeric: bool = False) -> list[Described]:
    """All parameters of the estimator that takes these options, in order."""
    own = options.declared()
    if numeric:
        described = [
            Described(each.name, each.type, each.default, _help(each))
            for each in own.values()
            if each.name not in (LOSS.name, *ONLY_LABELS)
        ]
        return [*DATA, LOSS, *described, *RUN]
    paper = PaperOptions.declared() if options.preset == DEFAULT else {}
    declared = [
        Described(each.name, each.type, each.default, _help(each, paper.get(each.name)))
        for each in own.values()
    ]
    declared += [
        Described(each.name, each.type, each.default, f"{_help(each)} Belongs to preset {PAPER}.")
        for each in paper.values()
        if each.name not in own
    ]
    return [*DATA, *([PRESET] if options.preset == DEFAULT else []), *declared, *RUN]


def option_names(options: type[Options]) -> tuple[str, ...]:
    """The names of the options of a learner, in all its presets."""
    more = PaperOptions.names() if options.preset == DEFAULT else ()
    return tuple(dict.fromkeys((*options.names(), *more)))


def takes_options_of(options: type[Options], numeric: bool = False) -> Callable[[Estimator], Estimator]:
    """A class decorator that gives an estimator the common parameters and these options.

    ``numeric``: its target is a number.
    """
    described = parameters_of(options, numeric)

    def decorate(estimator: Estimator) -> Estimator:
        estimator.options_class = options  # type: ignore[attr-defined]
        estimator.__init__ = _initialiser(described, options)  # type: ignore[misc]
        estimator.__doc__ = "\n".join([inspect.cleandoc(estimator.__doc__ or ""), "", *_section(described)])
        return estimator

    return decorate


def _initialiser(described: list[Described], options: type[Options]) -> Callable[..., None]:
    kind = Parameter.POSITIONAL_OR_KEYWORD
    shown = [Parameter(each.name, kind, default=each.default, annotation=each.type) for each in described]
    signature = Signature([Parameter("self", kind), *shown], return_annotation=None)
    names = option_names(options)
    always = {each.name: each.default for each in described if each.name not in names or each is LOSS}

    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        kwargs = {new_name(name, names): value for name, value in kwargs.items()}
        given = signature.bind(self, *args, **kwargs).arguments
        del given["self"]
        # An option that is not given is not stored: it follows the preset, which may still change.
        vars(self).update(always | given)

    initialise.__name__ = "__init__"
    initialise.__signature__ = signature  # type: ignore[attr-defined]
    return initialise


# --- the docstring ---------------------------------------------------------------------------


def _help(each: Declared, paper: Declared | None = None) -> str:
    """What an option does and allows, as sentences for Python; ``paper`` is the option in that preset."""
    words = [each.option.help, each.note]
    if each.type is not bool:
        none = f"; None is {each.option.none}" if None in each.bound.words else ""
        words.append(f"Must be {each.bound.text()}{none}.")
    if paper is not None and paper.default != each.default:
        words.append(f"Preset {PAPER}: {paper.default!r}.")
    return " ".join(filter(None, words))


def _section(described: list[Described]) -> Iterator[str]:
    """The section of parameters, in the style of numpydoc."""
    yield "Parameters"
    yield "----------"
    for each in described:
        yield f"{each.name} : {type_text(each.type)}, default={each.default!r}"
        yield textwrap.indent(textwrap.fill(each.help, _WIDTH - 4, break_on_hyphens=False), "    ")


def type_text(type_: Any) -> str:
    """A type as it is written in a signature.

    >>> type_text(float | None), type_text(int)
    ('float | None', 'int')
    """
    if get_origin(type_) is tuple:
        return "tuple[str, ...]"
    parts = get_args(type_) or (type_,)
    return " | ".join("None" if each is NoneType else each.__name__ for each in parts)
