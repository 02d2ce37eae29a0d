"""Files that follow from the program: the references in docs, and the signatures of the classifiers.

python tools/reference.py            writes them
python tools/reference.py --check    fails if one of them is stale

docs/reference has a page for each public class. docs/command-line.md comes from the help of the command
line, docs/options.md and docs/paper.md from the declared options, docs/index.md from README.md, the tables of
benchmarks in docs from the recorded results, and estimators/learners.pyi spells out the parameters of the
classifiers for editors and type checkers.
"""

from __future__ import annotations

import html
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import typer.main

import hornbeam
from hornbeam.cli.app import app_of
from hornbeam.cli.command import heading_of
from hornbeam.cli.learner_flags import typed_text
from hornbeam.estimators import learners
from hornbeam.estimators.parameters import parameters_of, type_text
from hornbeam.estimators.regressor import RelationalRegressor
from hornbeam.learning.options import DEFAULT, OPTIONS, PRESETS, EffectOptions, Options, PaperOptions
from hornbeam.learning.options.option import Declared

sys.path.insert(0, str(Path(__file__).resolve().parent))
from result_tables import table_named

ROOT = Path(__file__).resolve().parents[1]
COMMAND_LINE = """\
# Command line

<!-- Written by tools/reference.py: change the help texts in src/hornbeam/cli and run `make reference`. -->

Results go to stdout, notes and errors to stderr. Exit status: 0 done, 2 a user's error (one sentence says
what to do; `--debug` shows the traceback), 130 interrupted by Ctrl-C, 143 by SIGTERM,
129 by the closing of the terminal (finished work is kept; temporary tables and files are removed). Every
command takes `-q` (print results and errors only) and `-v` (say more: progress, files, times, also in a
pipe).

`DATA` is a folder of facts and examples, a folder of tables (CSV or Parquet), a DuckDB or SQLite file, a
PostgreSQL connection string, or the name of a data set: `uwcse` is its first fold, `uwcse/fold3` the third.
If there is a file or folder of that name, it is used. `hornbeam datasets get uwcse` downloads a data set.
"""
OPTIONS_PAGE = """\
# Options

<!-- Written by tools/reference.py: change the declarations in src/hornbeam/learning/options and run
`make reference`. -->

These options change what a learner learns; a model file stores all of them. In Python they are parameters of
the classifier, on the command line they are flags. A value that is not allowed is refused, and so is a flag
that the learner does not have.

## rlr

Relational logistic regression: effects with curves, found along links. The old name `max_clauses` of
`max_effects` is accepted with a warning. `--preset paper` is the algorithm as it was published; it has
[options of its own](paper.md).
"""
PAPER_PAGE = """\
# The preset paper

<!-- Written by tools/reference.py: change the declarations in src/hornbeam/learning/options and run
`make reference`. -->

`--preset paper`, or `preset="paper"` in Python, is boosted relational logistic regression as it was published
(Ramanan and others, KR 2018): clauses with three weights over the numbers of their true and false groundings,
one clause in each step, no curves, nothing held out. It is there to reproduce and to compare;
[the published study](reproduction/REPORT.md) was run again with it. It learns from facts and from tables, and
its models predict, explain, report and become SQL like others, but it has none of what makes the default
preset short and honest: held-out examples that choose, bags, numbers beyond thresholds.

It has these options. `default` is the value of the default preset, where that has the option; the options of
the [default preset](options.md) that are not here are refused.
"""
SIGNATURES = """\
# Written by tools/reference.py from the declarations in hornbeam.learning.options: run `make reference`.

from hornbeam.data.database import Database
from hornbeam.estimators.classifier import RelationalClassifier
from hornbeam.estimators.columns import EffectsAsColumns
from hornbeam.estimators.regressor import RelationalRegressor
"""


def command_line() -> str:
    """The reference of the command line."""
    commands = dict(_commands(typer.main.get_command(app_of())))
    index = ["| command | what it does |", "|---|---|"]
    index += [
        f"| [`{name}`](#{name.replace(' ', '-')}) | {_paragraphs(each)[0]} |"
        for name, each in commands.items()
    ]
    sections = ["\n".join(_section(name, each)) for name, each in commands.items()]
    return "\n".join([COMMAND_LINE, *index, "", *sections])


def _commands(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every command by what is typed for it; the name of a group comes before those of its commands."""
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
    options = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
    words = ["hornbeam", name, *(each.make_metavar(context).strip("{}") for each in arguments)]
    yield f"## {name}\n"
    yield _as_text(" ".join([*words, *["[OPTIONS]"] * bool(options)]))
    for part in _paragraphs(command):
        if part.startswith("\b"):
            yield _as_text(part.replace("\b", "").strip("\n").removeprefix("Example: "))
        else:
            yield " ".join(line.strip() for line in part.splitlines()) + "\n"
    headings = dict.fromkeys(heading_of(each) for each in options)
    for heading in headings:
        yield f"| {heading if len(headings) > 1 else 'option'} | meaning |\n|---|---|"
        grouped = [each for each in options if heading_of(each) == heading]
        yield from (_row([_code(_typed(each, context)), _meaning(each)]) for each in grouped)
        yield ""


def _as_text(text: str) -> str:
    return f"```text\n{text}\n```\n"


def _typed(option: Any, context: Any) -> str:
    names = " / ".join([*option.opts, *option.secondary_opts])
    return names if option.is_flag else f"{names} {option.make_metavar(context)}"


def _meaning(option: Any) -> str:
    default = option.default
    plain = default is None or isinstance(default, bool) or default == ""
    sentences = [option.help or "", *([] if plain else [f"Default: {default}."])]
    return " ".join([*sentences, *["Required."] * bool(option.required)])


def _code(text: str) -> str:
    # Not in backticks: programs that show Markdown tables disagree about a bar within them.
    return f"<code>{html.escape(text, quote=False).replace('|', '&#124;')}</code>"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def options_page() -> str:
    """The reference of options: those of the default preset of rlr, then those of the other learners."""
    lines = [OPTIONS_PAGE, _row(["option", "meaning", "allowed", DEFAULT]), "|---|---|---|---|"]
    default = PRESETS[DEFAULT]
    lines += [_row([*_cells(each), _value(default, each)]) for each in EffectOptions.declared().values()]
    for learner, options in OPTIONS.items():
        if options.preset is not None:
            continue
        summary = f"{options.summary[0].upper()}{options.summary[1:]}."
        lines += ["", f"## {learner}", "", summary, ""]
        lines += [_row(["option", "meaning", "allowed", DEFAULT]), "|---|---|---|---|"]
        lines += [_row([*_cells(each), _value(options(), each)]) for each in options.declared().values()]
    return "\n".join(lines) + "\n"


def paper_page() -> str:
    """The options of the preset paper, beside the values that the default preset has."""
    lines = [PAPER_PAGE, _row(["option", "meaning", "allowed", "paper", DEFAULT]), "|---|---|---|---|---|"]
    for each in PaperOptions.declared().values():
        values = [_value(PRESETS[name], each) for name in ("paper", DEFAULT)]
        lines.append(_row([*_cells(each), *values]))
    return "\n".join(lines) + "\n"


def _value(preset: Options, each: Declared) -> str:
    """The value of an option in a preset; empty if the preset does not have it."""
    return typed_text(getattr(preset, each.name), each.option.none) if each.name in preset.names() else ""


def _cells(each: Declared) -> list[str]:
    word = each.option.none
    none = f"In Python, {word} is None." if None in each.bound.words else ""
    meaning = " ".join(filter(None, [each.option.help, each.note, none]))
    allowed = "yes or no" if each.type is bool else each.bound.text(lambda text: typed_text(text, word))
    return [f"`{each.name}`<br>`{each.flag}`", meaning, allowed]


def signatures() -> str:
    """The classifiers and the regressor with all their parameters."""
    made = (each for each in vars(learners).values() if hasattr(each, "options_class"))
    return SIGNATURES + "".join(map(_class, made))


def _class(estimator: Any) -> str:
    numeric = issubclass(estimator, RelationalRegressor)
    described = parameters_of(estimator.options_class, numeric)
    lines = [
        f"class {estimator.__name__}({', '.join(base.__name__ for base in estimator.__bases__)}):",
        '    """' + textwrap.indent(estimator.__doc__, "    ").lstrip(),
        '    """',
        "",
        *(f"    {each.name}: {type_text(each.type)}" for each in described),
        "    def __init__(",
        "        self,",
        *(f"        {each.name}: {type_text(each.type)} = {_literal(each.default)}," for each in described),
        "    ) -> None: ...",
    ]
    return "\n" + "\n".join(lines) + "\n"


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


_TABLE = re.compile(
    r"^<!-- table: ([a-z0-9 -]+) -->\n(?:.*?^<!-- end of table -->\n)?", re.MULTILINE | re.DOTALL
)


def with_tables(name: str) -> str:
    """A document with the tables that its comments name, written from the recorded results."""

    def filled(comment: re.Match[str]) -> str:
        return f"<!-- table: {comment[1]} -->\n\n{table_named(comment[1])}\n\n<!-- end of table -->\n"

    return _TABLE.sub(filled, (ROOT / name).read_text(encoding="utf-8"))


START = """\
## Where to begin

- **You have tables**: [ten minutes, from tables to a model](tutorial.md), [the gallery](gallery.md), or
  [for people who know SQL](howto/for-sql-people.md).
- **You have BoostSRL files or srlearn code**: [what maps to what](boostsrl.md).
- **You want to know what the numbers mean**: [how to read a model](reading.md), [questions](faq.md),
  [concepts](concepts.md), then [how it works inside](inside.md).
- **You want to know whether it is for you**: [compared with others](comparison.md),
  [benchmarks](benchmarks.md), [the published study, reproduced](reproduction/REPORT.md).

"""
INSTALL = """\
## Install

Python 3.11 or newer; from a clone of the project:

```text
pip install .                    # the command hornbeam, and the package
pip install ".[postgres]"        # counting in a PostgreSQL server
pip install ".[spark]"           # counting on Spark
pip install ".[environments]"    # planning problems and decision processes of other packages
pip install ".[mlflow]"          # models in MLflow
```
"""


def front_page() -> str:
    """The first page of the site: README.md up to its list of documents, with links that hold there."""
    text = with_tables("README.md").partition("## Documentation\n")[0]
    text = re.sub(r"<!-- (?:table: [a-z0-9 -]+|end of table) -->\n\n?", "", text)
    text = text.replace("](docs/", "](").replace("](benchmarks/README.md)", "](benchmarks.md)")
    text = text.replace("<!-- world: docs/", "<!-- world: ")
    title, rest = text.split("\n", 1)
    origin = "<!-- Written by tools/reference.py from README.md: run `make reference`. -->"
    return f"{title}\n\n{origin}\n{rest}{START}{INSTALL}"


def class_page(name: str) -> str:
    """The page of a public class: its parameters and methods, from its docstrings."""
    home = getattr(hornbeam, name).__module__
    return (
        f"# {name}\n\n<!-- Written by tools/reference.py: run `make reference`. -->\n\n"
        f"::: {home}.{name}\n    options:\n      heading_level: 2\n      show_root_heading: false\n"
        "      inherited_members: true\n"
    )


def class_list() -> str:
    """The page that lists the public classes."""
    lines = [f"- [{name}]({name}.md): {_summary(name)}" for name in CLASSES]
    title = "# Classes\n\n<!-- Written by tools/reference.py: run `make reference`. -->\n\n"
    return (
        f"{title}The classes of `import hornbeam as hb`. [Python](../python.md) has the functions.\n\n"
        + "\n".join(lines)
        + "\n"
    )


def _summary(name: str) -> str:
    return (inspect.getdoc(getattr(hornbeam, name)) or "").partition("\n\n")[0].replace("\n", " ")


CLASSES = [
    name
    for name in hornbeam.__all__
    if inspect.isclass(getattr(hornbeam, name)) and not issubclass(getattr(hornbeam, name), Exception)
]


WRITTEN: dict[str, Callable[[], str]] = {
    "docs/reference/index.md": class_list,
    **{f"docs/reference/{name}.md": partial(class_page, name) for name in CLASSES},
    "docs/index.md": front_page,
    "docs/command-line.md": command_line,
    "docs/options.md": options_page,
    "docs/paper.md": paper_page,
    "src/hornbeam/estimators/learners.pyi": signatures,
    **{
        name: partial(with_tables, name)
        for name in ("README.md", "docs/benchmarks.md", "docs/comparison.md", "docs/cluster.md")
    },
}


def main() -> None:
    for name, content in WRITTEN.items():
        path, text = ROOT / name, content()
        if "--check" not in sys.argv[1:]:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.exit(f"{name} is stale: run make reference")


if __name__ == "__main__":
    main()
