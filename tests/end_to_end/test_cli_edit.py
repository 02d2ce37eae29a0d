"""The verb ``edit``: edits in order, beside their losses; the edited model is a file like any other."""

import json
import re

import pytest

import hornbeam as hb
from hornbeam.datasets.worlds import university, write_shop
from hornbeam.in_place.load import load_quietly
from hornbeam.model.clause_model import Model

TEST = ("--examples", "test.csv")


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A model file, and a folder of examples that it was not learned from."""
    folder = tmp_path_factory.mktemp("edit")
    write_shop(folder)
    database = load_quietly(folder / "shop", target="customers.churned", examples=folder / "train.csv")
    classifier = hb.RLRClassifier(database=database, n_bags=2, max_effects=4, per_constant=False)
    hb.save_model(classifier.fit(*database.examples()).model_, folder / "m.json")
    return folder


def test_the_file_of_the_edited_model_predicts_as_the_model_in_python(learned, run, monkeypatch):
    monkeypatch.chdir(learned)
    ran = run("edit", "m.json", "straighten 1", "off 2", "round all to 0.2", "--by", "Ann", "--out", "e.json")
    assert ran.status == 0
    assert "wrote the model after 3 edits to e.json" in ran.err
    model, edited = hb.load_model("m.json"), hb.load_model("e.json")
    assert isinstance(model, Model)
    assert edited == model.edited("straighten 1", "off 2", "round all to 0.2", by="Ann")
    predicted = [row["probability"] for row in run("predict", "shop", "e.json", *TEST).rows()]
    assert predicted != [row["probability"] for row in run("predict", "shop", "m.json", *TEST).rows()]
    again = run("edit", "m.json", "--like", "e.json", "--out", "again.json")
    assert again.status == 0
    assert (learned / "again.json").read_bytes() == (learned / "e.json").read_bytes()


def test_each_edit_has_the_loss_that_evaluate_prints(learned, run, monkeypatch):
    monkeypatch.chdir(learned)
    ran = run("edit", "m.json", "off 1", "flatten 2", "--data", "shop", *TEST, "--out", "e.json")
    losses = [float(line.split()[1]) for line in ran.out.splitlines()]
    assert "learned from these examples" not in ran.err
    run("edit", "m.json", "off 1", "--out", "one.json")
    for file, loss in zip(("m.json", "one.json", "e.json"), losses, strict=True):
        scores = json.loads(run("evaluate", "shop", file, *TEST, "--json").out)
        assert loss == pytest.approx(scores["log_loss"], abs=5e-5)
    assert ran.out.splitlines()[0].endswith("on 200 examples  the model as it is")
    assert (
        "learned from these examples"
        in run("edit", "m.json", "off 1", "--data", "shop", "--examples", "train.csv").err
    )


def test_show_and_report_say_that_the_model_was_edited(learned, run, monkeypatch):
    monkeypatch.chdir(learned)
    run("edit", "m.json", "rise 1", "--by", "<b>Ann</b>", "--out", "e.json")
    assert re.search(r"Edited:\n     made to rise: .* \(by <b>Ann</b>\)", run("show", "e.json").out)
    assert run("report", "shop", "e.json", *TEST, "--out", "e.html").status == 0
    page = (learned / "e.html").read_text(encoding="utf-8")
    assert "This model was edited by hand after it was learned, in 1 step:" in page
    assert "(by &lt;b&gt;Ann&lt;/b&gt;)" in page
    assert "<b>Ann" not in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), 'no edit is named; name one, such as "rise 1" (see hornbeam show m.json).'),
        (("off 99",), "there is no effect 99"),
        (("delete 1",), "must be one of off, flatten"),
        (("--like", "m.json"), "has no edits that could be repeated"),
        (("off 1", "--class", "a"), "--class is refused: the model has no classes."),
        (("off 1", "--out", "m.json"), "this command reads the file"),
    ],
)
def test_what_cannot_be_edited_is_said_in_one_sentence(words, message, learned, run, monkeypatch):
    monkeypatch.chdir(learned)
    ran = run("edit", "m.json", *words)
    assert (ran.status, ran.out) == (2, "")
    assert message in ran.err


def test_only_models_with_effects_can_be_edited(tmp_path, run):
    world = university(n_departments=2)
    trees = hb.RDNBoostClassifier(database=world, target="advisedby", n_steps=1)
    hb.save_model(trees.fit(*world.examples("advisedby")).model_, tmp_path / "t.json")
    ran = run("edit", tmp_path / "t.json", "off 1")
    assert ran.status == 2
    assert "a model of learner rdn-boost has no effects that can be edited" in ran.err
