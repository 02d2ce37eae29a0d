"""Turns functions into commands: groups of flags, headings in help, suggestions of what was meant."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, get_type_hints

from typer.core import TyperCommand

from hornbeam.errors import OptionError

USER_ERROR, INTERRUPTED, CANNOT_WRITE, NOTHING_LEARNED = 2, 130, 1, 1
"""Exit statuses; 0 means success."""
_ARGUMENTS, _OTHERS = "Arguments", "Options"
"""Headings of arguments, and of options that are in no group."""


ALWAYS = [
    ("-q, --quiet", "Print results and errors only."),
    ("-v, --verbose", "Say more: progress, files, times, even in a pipe."),
]
"""Flags that every verb takes, for its help."""


def verb(function: Callable[..., None]) -> Callable[..., None]:
    """A function in the form that typer expects: each group of flags becomes one parameter per flag."""
    types = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: type_ for name, type_ in types.items() if is_dataclass(type_)}
    parameters = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in groups:
            parameters += list(_flags(groups[name]))
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=types[name]))

    @wraps(function)
    def command(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{each.name: given.pop(each.name) for each in fields(group)})
        function(**given)

    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return command


def _flags(group: Any) -> Iterator[Parameter]:
    types = get_type_hints(group, include_extras=True)
    for each in fields(group):
        default = Parameter.empty if each.default is MISSING else each.default
        yield Parameter(each.name, Parameter.KEYWORD_ONLY, default=default, annotation=types[each.name])


class SectionedCommand(TyperCommand):
    """A command whose help lists arguments, then the verb's own options, then those in groups.

    An argument too many gets a hint at the flag that was probably meant.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.allow_extra_args = True
        rest: list[str] = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            flags = {flag for parameter in self.get_params(ctx) for flag in parameter.opts}
            raise extra_word(rest[0], str(ctx.info_name), flags)
        return rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {_ARGUMENTS: [], _OTHERS: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections.setdefault(heading_of(parameter), []).append(record)
        sections.setdefault("Help", [])[:0] = ALWAYS
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


def heading_of(parameter: Any) -> str:
    """The heading of an argument or option in the help."""
    if parameter.param_type_name == "argument":
        return _ARGUMENTS
    if parameter.name == "help":
        return "Help"
    return getattr(parameter, "rich_help_panel", None) or _OTHERS


OTHER_WORDS = {
    "train": "fit",
    "learn": "fit",
    "apply": "predict",
    "infer": "predict",
    "score": "evaluate",
    "test": "evaluate",
    "print": "show",
    "view": "show",
    "why": "explain",
    "describe": "inspect",
    "schema": "inspect",
    "html": "report",
    "change": "edit",
    "export": "sql",
    "dbt": "sql",
    "example": "demo",
    "tutorial": "demo",
}
"""Verbs of other programs, and the verb that does the same here."""
_TARGET = re.compile(r"[^\W\d]\w*\.[^\W\d]\w*(=.*)?")
"""What a column as a target looks like."""
_FLAGS_OF_ENDINGS = {
    ".json": ("--model",),
    ".csv": ("--examples", "--out"),
    ".parquet": ("--examples",),
    ".html": ("--out", "--report"),
    ".toml": ("--schema",),
}


def looks_like_target(text: str) -> bool:
    """Whether a text is a column of a table, such as a target has, and no file.

    >>> looks_like_target("customers.churned"), looks_like_target("users.gender=F")
    (True, True)
    >>> looks_like_target("model.json"), looks_like_target("shop/train.csv")
    (False, False)
    """
    ending = Path(text).suffix.lower()
    return _TARGET.fullmatch(text) is not None and ending not in _FLAGS_OF_ENDINGS and not Path(text).exists()


def check_verb(word: str, verbs: Collection[str]) -> None:
    """Refuse a word that is no verb, and name the one that was probably meant."""
    if word.startswith("-") or word in verbs:
        return
    words = [*verbs, *OTHER_WORDS]
    near = difflib.get_close_matches(word.lower(), words, n=1, cutoff=0.6)
    meant = OTHER_WORDS.get(near[0], near[0]) if near else None
    hint = f'Did you mean "hornbeam {meant}"?' if meant else f"Commands are: {', '.join(verbs)}."
    raise OptionError(f'no command "{word}". {hint}')


def extra_word(word: str, verb: str, flags: Collection[str]) -> OptionError:
    """The error about an argument that a verb does not take; ``flags`` are the flags that it has."""
    meant = next((flag for flag in _meant(word) if flag in flags), None)
    hint = f"Did you mean {meant} {word}?" if meant else f"Run hornbeam {verb} --help to see what it takes."
    return OptionError(f'"{word}" is one argument too many for hornbeam {verb}. {hint}')


def _meant(word: str) -> tuple[str, ...]:
    """The flags that may be meant by a word without a flag."""
    if looks_like_target(word):
        return ("--target",)
    return _FLAGS_OF_ENDINGS.get(Path(word).suffix.lower(), ())
