"""Turns functions into commands: parameters may be groups of flags, and help has headings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature
from typing import Any, get_type_hints

from typer.core import TyperCommand

from hornbeam.cli.suggestions import extra_word

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
