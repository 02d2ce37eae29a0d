"""The list of models that must not change: it has every fit, and it was right when it was written."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "identity"


@pytest.fixture
def compare(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    for name in ("compare", "fits", "generated"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import compare

    return compare


def test_the_list_has_every_fit_once(compare):
    names = [fit.name for fit in compare.fits()]
    assert list(compare.recorded()) == names
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "names",
    [
        ("shop default", "shop duckdb"),
        ("shop paper", "shop paper duckdb"),
        ("world mean", "world mean duckdb"),
        ("mutagenesis default", "mutagenesis duckdb"),
        ("uwcse/fold1 default", "uwcse/fold1 jobs"),
    ],
    ids=" and ".join,
)
def test_engines_and_processes_give_one_model_in_the_list(compare, names):
    one, other = (compare.recorded()[name] for name in names)
    assert one == other


def test_where_a_model_comes_from_is_no_part_of_it(compare):
    document = {
        "format_version": 1,
        "settings": {"seed": 1},
        "prior": 0.5,
        "models": [{"training": 1, "w": 2}],
    }
    assert compare.learned(document) == {"prior": 0.5, "models": [{"w": 2}]}


def test_a_fit_that_changed_is_named_and_recorded(compare, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(compare, "LIST", tmp_path / "list.txt")
    words = ["--only", "shop paper guarded", "--keep", str(tmp_path / "kept")]
    assert compare.main([*words, "--record"]) == 0
    assert compare.main(words) == 0
    model = tmp_path / "kept" / "shop paper guarded.json"
    document = json.loads(model.read_text())
    assert document["clauses"] and document["prior"] == 0.0
    (name,) = compare.recorded()
    compare.record({name: (compare.recorded()[name][0], "0" * 16)})
    capsys.readouterr()
    assert compare.main(words) == 1
    assert "DIFFERS: model\n" in capsys.readouterr().out


def test_predictions_differ_from_the_twelfth_digit_on(compare):
    assert compare.rounded("0.1234567890121") == compare.rounded("0.12345678901209")
    assert compare.rounded("0.123456789012") != compare.rounded("0.123456789013")
    assert compare.rounded("p1") == "p1" and compare.rounded("12") == "12"
