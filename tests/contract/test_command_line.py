"""Every verb is documented: a summary, an example that parses, and help for each option."""

import re
import shlex

import pytest
from typer.main import get_command

from hornbeam.cli.app import app, main

GROUP = get_command(app)
VERBS = sorted(GROUP.commands)


def help_of(verb, capsys):
    with pytest.raises(SystemExit) as left:
        main([verb, "--help"])
    assert left.value.code == 0
    return capsys.readouterr().out


def test_the_verbs_are_these():
    assert VERBS == [
        "count",
        "datasets",
        "demo",
        "evaluate",
        "explain",
        "fit",
        "inspect",
        "modes",
        "predict",
        "report",
        "reproduce",
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


def test_fit_has_the_options_it_should():
    options = {name for parameter in GROUP.commands["fit"].params for name in parameter.opts}
    assert options >= {
        "--target", "--model", "--preset", "--split", "--steps", "--l2", "--max-literals", "--beam-width",
        "--stop", "--prior", "--neg-pos-ratio", "--seed", "--engine", "--negation", "--history",
        "--checkpoint", "--memory", "--time", "--report",
    }  # fmt: skip
