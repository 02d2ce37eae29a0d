"""Every verb is documented: a summary, an example that parses, and help for each option."""

import os
import re
import shlex
import subprocess
import sys

import pytest
from typer.main import get_command

from hornbeam.cli.app import app_of, main
from hornbeam.cli.learner_flags import DECLARED, OF_OTHERS, typed_text

GROUP = get_command(app_of())
VERBS = sorted(GROUP.commands)


def help_of(verb, capsys):
    with pytest.raises(SystemExit) as left:
        main([verb, "--help"])
    assert left.value.code == 0
    return capsys.readouterr().out


def test_the_verbs_are_these():
    assert VERBS == [
        "card",
        "count",
        "datasets",
        "demo",
        "edit",
        "evaluate",
        "examples",
        "explain",
        "fit",
        "inspect",
        "modes",
        "predict",
        "report",
        "serve",
        "show",
        "sql",
    ]


@pytest.mark.parametrize("verb", VERBS)
def test_help_carries_an_example_of_options_that_exist(verb, capsys):
    text = help_of(verb, capsys)
    (example,) = re.findall(r"^\s*Example: hornbeam (.*)$", text, re.MULTILINE)
    first, *words = shlex.split(example)
    assert first == verb
    GROUP.commands[verb].make_context(verb, list(words))


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_has_help(verb):
    without = [
        parameter.name for parameter in GROUP.commands[verb].params if not getattr(parameter, "help", "")
    ]
    assert without == []


def test_the_list_of_verbs_is_not_cut_short(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "..." not in capsys.readouterr().out.partition("Commands:")[2]


def test_the_help_of_fit_shows_the_default_of_every_option_for_every_learner():
    helps = {name: parameter.help for parameter in GROUP.commands["fit"].params for name in parameter.opts}
    for name, by_learner in DECLARED.items():
        for learner, declared in by_learner.items():
            _, _, defaults = helps[declared.flag].rpartition("  [")
            shown = [part.rpartition(": ") for part in defaults.removesuffix("]").split("; ")]
            values = {each: value for learners, _, value in shown for each in learners.split(", ")}
            assert values.get(learner, values.get("default")) == typed_text(
                declared.default, declared.option.none
            ), name


@pytest.mark.parametrize("verb", VERBS)
def test_help_fits_on_a_narrow_screen(verb, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = [line for line in help_of(verb, capsys).splitlines() if "Example: " not in line]
    assert max(map(len, lines)) <= 80


def test_fit_has_the_options_it_should():
    options = {name for parameter in GROUP.commands["fit"].params for name in parameter.opts}
    assert options >= {
        "--target", "--model", "--preset", "--split", "--steps", "--l2", "--max-literals", "--beam-width",
        "--stop", "--prior", "--neg-pos-ratio", "--seed", "--engine", "--negation", "--history",
        "--checkpoint", "--memory", "--time", "--report",
    }  # fmt: skip


def test_the_help_of_fit_names_the_options_of_the_default_before_those_of_others(capsys):
    text = help_of("fit", capsys)
    headings = [line.rstrip(":") for line in text.splitlines() if line[:1].isupper() and line.endswith(":")]
    assert headings.index("What a model may contain") < headings.index(OF_OTHERS)
    defaults, others = text.split(f"\n{OF_OTHERS}:\n")
    assert "--bags NUMBER" in defaults and "[default: 10]" in defaults
    assert "--beam-width NUMBER" in others and "--beam-width" not in defaults


def test_commands_have_one_thread_for_matrix_products_unless_the_environment_says_how_many():
    code = (
        "import os, sys\n"
        "from hornbeam.cli import main\n"
        "assert 'numpy' not in sys.modules\n"
        "try:\n    main(['--version'])\n"
        "finally:\n    print(os.environ['OPENBLAS_NUM_THREADS'])"
    )
    plain = {name: value for name, value in os.environ.items() if not name.endswith("NUM_THREADS")}
    for given, expected in (({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")):
        ran = subprocess.run([sys.executable, "-c", code], env=plain | given, capture_output=True, text=True)
        assert ran.stdout.split()[-1] == expected, ran.stderr
