"""A model with effects on the command line: show, explain, report, SQL."""

import json
from pathlib import Path

import pytest

from hornbeam.cli import main
from hornbeam.cli.terminal import print_explanation
from hornbeam.model.effects import SHOWN_EFFECTS
from hornbeam.model.explain import Explanation

GOLDEN = Path(__file__).parents[1] / "golden" / "models"
DATA, MODEL = GOLDEN / "data", GOLDEN / "rlr_effects.json"
LARGEST = (
    "max C [missing: -0.5; < 2: 0.1; else: 0.6] : cancer(A) :- friends(B,A), C = number of friends(B,D)."
)


@pytest.fixture
def run(capsys):
    def call(*words):
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        return left.value.code, out, err

    return call


def test_show_prints_effects_as_sentences_and_tables(run):
    code, out, _ = run("show", MODEL)
    assert code == 0
    assert out.startswith("For which persons is cancer true?\n1 clause and 8 effects, prior -0.8086\n")
    assert "1. Cancer is likelier if the mean age of the person's friends is 60.5 or more" in out
    assert "     value             log-odds    ±    odds  examples\n" in out
    assert "     35 to below 60.5     +0.05  0.3  × 1.05        15\n" in out
    assert LARGEST in out
    assert "bias" not in out


def test_show_prints_each_effect_as_a_line_of_logic(run):
    code, out, _ = run("show", MODEL, "--logic")
    lines = out.splitlines()
    assert code == 0
    assert len(lines) == 1 + 1 + 8
    assert lines[2].startswith("mean C [missing: -0.2; < 35: -0.1; < 60.5: 0.05; else: 0.7] : cancer(A) :- ")
    assert LARGEST in lines
    assert run("show", MODEL, "--compact", "--logic")[1] == out
    assert run("show", MODEL, "--json")[1] == MODEL.read_text()


def test_explain_shows_values_and_rows(run):
    code, out, _ = run("explain", DATA, "--model", MODEL, "--example", "cancer(p0)", "--shown", 1)
    assert code == 0
    rows = "from 2 rows (friend, age): (p3, 51), ...\n"
    assert f"+0.05 because the mean age of the person's friends is 40.5, {rows}" in out
    assert "-0.3 because the person's age is 33\n" in out
    assert "+0 from 2 other effects\n" in out
    _, text, _ = run("explain", DATA, "--model", MODEL, "--example", "cancer(p0)", "--json")
    reasons = json.loads(text)["reasons"]
    largest = next(reason for reason in reasons if reason.get("effect") == LARGEST)
    assert (largest["value"], largest["contribution"], largest["n_groundings"]) == (4.0, 0.6, 1)
    assert largest["groundings"] == [{"B": "p13", "C": "4"}]


def test_an_explanation_on_a_terminal_counts_what_adds_nothing(capsys):
    print_explanation(Explanation("cancer", ("p0",), -1.0, -1.0, 0.25, ()))
    assert "other" not in capsys.readouterr().out


def test_a_report_describes_effects(run, tmp_path):
    out = tmp_path / "report.html"
    assert run("report", DATA, "--model", MODEL, "--out", out)[0] == 0
    text = out.read_text()
    assert "the mean age of the person&#39;s friends" in text
    assert "1 clause and 8 effects" in text


def test_a_long_model_is_cut_in_text_only(run, tmp_path):
    document = json.loads(MODEL.read_text())
    document["effects"] = [document["effects"][1]] * 30
    path = tmp_path / "m.json"
    path.write_text(json.dumps(document))
    assert run("show", path)[1].endswith("\n\nand 10 more effects\n")
    lines = run("show", path, "--logic")[1].splitlines()
    assert len(lines) == 1 + 1 + SHOWN_EFFECTS + 1
    assert lines[-1] == "and 10 more effects"
    assert run("show", path, "--compact", "--logic")[1].count("value B [< 40: -9; else: 10] : ") == 1
