"""References written from the program itself: docs/command-line.md and docs/options.md.

python tools/reference.py            writes them
python tools/reference.py --check    fails where one is stale
"""

from __future__ import annotations

import ast
import html
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer.main

from hornbeam.cli.app import app
from hornbeam.learning.learners import LEARNERS, options_class
from hornbeam.learning.options import PRESETS, FitOptions, Options

DOCS = Path(__file__).resolve().parents[1] / "docs"
COMMAND_LINE = """\
# Command line

<!-- Written by tools/reference.py: change the help texts in src/hornbeam/cli and run `make reference`. -->

Every verb mirrors a Python call. Results go to stdout, notes and errors to stderr. Exit status: 0 done, 2 a
user's error (one sentence says what to do; `--debug` shows the traceback), 130 interrupted, what was done is
kept.

`DATA` is a folder of facts and examples, a folder of tables (CSV, Parquet), a DuckDB or SQLite file, or a
PostgreSQL connection string.
"""
OPTIONS = """\
# Options and presets

<!-- Written by tools/reference.py: change the options in src/hornbeam and run `make reference`. -->

What a learner may be told. In Python the options are parameters of the classifier, on the command line the
flags below them. A value outside its bound is refused with the option, the value and the bound; so is a flag
that a learner does not have. All of them change what is learned, and all of them are in the model file.

## rlr: relational logistic regression

`--preset`, or `preset=`, names a set of values for all options; an explicit option wins. `default` was chosen
by cross-validation inside training data, `paper` is the algorithm as it was published.
"""


def command_line() -> str:
    """The reference of the command line."""
    commands = dict(_commands(typer.main.get_command(app)))
    index = ["| command | what it does |", "|---|---|"]
    index += [
        f"| [`{name}`](#{name.replace(' ', '-')}) | {_paragraphs(each)[0]} |"
        for name, each in commands.items()
    ]
    sections = ["\n".join(_section(name, each)) for name, each in commands.items()]
    return "\n".join([COMMAND_LINE, *index, "", *sections])


def _commands(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every command by what is typed for it, those of groups after their group's name."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{prefix}{name} ")
        else:
            yield prefix + name, command


def _paragraphs(command: Any) -> list[str]:
    return [part.strip("\n") for part in (command.help or "").split("\n\n")]


def _section(name: str, command: Any) -> Iterator[str]:
    context = typer.Context(command)
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option"]
    words = ["hornbeam", name, *(each.make_metavar(context).strip("{}") for each in arguments)]
    yield f"## {name}\n"
    yield _as_text(" ".join([*words, *["[OPTIONS]"] * bool(options)]))
    for part in _paragraphs(command):
        if part.startswith("\b"):
            yield _as_text(part.replace("\b", "").strip("\n").removeprefix("Example: "))
        else:
            yield " ".join(line.strip() for line in part.splitlines()) + "\n"
    if options:
        yield "| option | meaning |\n|---|---|"
        yield from (_row([_code(_typed(each, context)), _meaning(each)]) for each in options)
        yield ""


def _as_text(text: str) -> str:
    return f"```text\n{text}\n```\n"


def _typed(option: Any, context: Any) -> str:
    names = " / ".join([*option.opts, *option.secondary_opts])
    return names if option.is_flag else f"{names} {option.make_metavar(context)}"


def _meaning(option: Any) -> str:
    default = option.default
    plain = default is None or isinstance(default, bool) or default == ""
    said = [option.help or "", *([] if plain else [f"Default: {default}."])]
    return " ".join([*said, *["Required."] * bool(option.required)])


def _code(text: str) -> str:
    # Not in backticks: a bar within them is read in two ways by those who show Markdown tables.
    return f"<code>{html.escape(text, quote=False).replace('|', '&#124;')}</code>"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def options_page() -> str:
    """The reference of options: those of the default learner with both presets, then the others'."""
    lines = [OPTIONS, _row(["option", "meaning", "allowed", *PRESETS]), "|---|---|---|---|---|"]
    meanings = _meanings(FitOptions)
    for each in fields(FitOptions):
        values = [_value(getattr(preset, each.name)) for preset in PRESETS.values()]
        lines.append(_row([*_cells(each, meanings), *values]))
    for learner in LEARNERS:
        options = options_class(learner)
        if options is FitOptions:
            continue
        summary = (inspect.getdoc(options) or "").splitlines()[0]
        lines += ["", f"## {learner}", "", summary, ""]
        lines += [_row(["option", "meaning", "allowed", "default"]), "|---|---|---|---|"]
        meanings = _meanings(options)
        lines += [_row([*_cells(each, meanings), _value(each.default)]) for each in fields(options)]
    return "\n".join(lines) + "\n"


def _cells(each: Any, meanings: Mapping[str, str]) -> list[str]:
    flag = f"--{each.name.removeprefix('n_').replace('_', '-')}"
    allowed = str(each.metadata["bound"]).replace("'", "")
    return [f"`{each.name}`<br>`{flag}`", meanings.get(each.name, ""), allowed]


def _meanings(options: type[Options]) -> dict[str, str]:
    """The text below each field of a class."""
    (found,) = ast.parse(inspect.getsource(options)).body
    assert isinstance(found, ast.ClassDef)
    meanings = {}
    for field, below in zip(found.body, found.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
            assert isinstance(field.target, ast.Name) and isinstance(below.value, ast.Constant)
            meanings[field.target.id] = " ".join(str(below.value.value).split()).replace("``", "`")
    return meanings


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "all" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


PAGES = {"command-line.md": command_line, "options.md": options_page}


def main() -> None:
    for name, written in PAGES.items():
        page, text = DOCS / name, written()
        if "--check" not in sys.argv[1:]:
            page.write_text(text, encoding="utf-8")
        elif not page.exists() or page.read_text(encoding="utf-8") != text:
            sys.exit(f"docs/{name} is stale: run make reference")


if __name__ == "__main__":
    main()
