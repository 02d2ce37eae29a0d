"""The name of a data set in place of a path, on every verb that takes data."""

import json
from pathlib import Path

import pytest

from folders import flat
from public_data import DATA, needs

SMALL = ("--steps", 1, "--max-literals", 2, "--no-validate")


@pytest.fixture(autouse=True)
def _nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder to work in, and no data sets on this machine."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HORNBEAM_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def _public_data(_nothing_here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HORNBEAM_DATA", str(DATA))


@needs()
@pytest.mark.usefixtures("_public_data")
@pytest.mark.parametrize(
    ("name", "path", "target"),
    [
        ("uwcse", "uwcse/fold1", "advisedby"),
        ("uwcse/fold3", "uwcse/fold3", "advisedby"),
        ("imdb/fold2", "imdb/Fold2", "workedunder"),
        ("Toy_Cancer", "toy_cancer", "cancer"),
    ],
)
def test_a_name_stands_for_the_folder_of_its_fold(name, path, target, run):
    words = ("--target", target, *SMALL)
    named, located = run("fit", name, *words), run("fit", DATA / path, *words)
    assert named == located
    assert named.status == 0


@needs()
@pytest.mark.usefixtures("_public_data")
def test_every_verb_that_takes_data_takes_a_name(run):
    assert run("fit", "uwcse", "--target", "advisedby", *SMALL, "--model", "m.json").status == 0
    folder = DATA / "uwcse" / "fold1"
    clause = "advisedby(A,B) :- publication(C,A), publication(C,B)."
    example = ("--example", "advisedby(person416,person401)")
    for words in (
        ("predict", "DATA", "--model", "m.json"),
        ("evaluate", "DATA", "--model", "m.json", "--json"),
        ("explain", "DATA", "--model", "m.json", *example),
        ("count", "DATA", clause),
        ("modes", "DATA"),
        ("inspect", "DATA"),
    ):
        named = run(*("uwcse" if word == "DATA" else word for word in words))
        assert named == run(*(folder if word == "DATA" else word for word in words))
        assert (named.status, bool(named.out)) == (0, True)


def test_a_generated_data_set_has_training_and_test_data(run):
    assert run("fit", "smokes", *SMALL, "--model", "m.json").status == 0
    scores = json.loads(run("evaluate", "smokes", "--model", "m.json", "--json").out)
    assert scores["n_pos"] + scores["n_neg"] == 1001
    of_training = json.loads(run("evaluate", "smokes", "--model", "m.json", "--split", "train", "--json").out)
    assert of_training["n_pos"] + of_training["n_neg"] == 2999
    assert len(run("predict", "smokes/fold2", "--model", "m.json").rows()) == 1001
    assert "friends(person,person)" in run("inspect", "smokes").out
    assert run("explain", "smokes", "--model", "m.json", "--example", "cancer(p1)").status == 0


@needs()
@pytest.mark.usefixtures("_public_data")
def test_a_data_set_that_is_made_from_tables(run):
    rows = run("count", "movielens/fold1", "female(A) :- rated(A,B).").rows()
    assert 700 < len(rows) < 800


def test_a_path_wins_over_the_name_of_a_data_set(run):
    flat(Path("smokes"), "smokes(ann).")
    assert [row["arg1"] for row in run("count", "smokes", "cancer(A) :- smokes(A).").rows()] == ["ann", "bob"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "fit uwcse",
            'data set "uwcse" is not on this machine; to get it, run: hornbeam datasets get uwcse',
        ),
        ("inspect webkb/fold2", "to get it, run: hornbeam datasets get webkb"),
        (
            "fit uwcse/fold6",
            'no "uwcse/fold6": data set "uwcse" has the folds uwcse/fold1 to uwcse/fold5.',
        ),
        ("modes smokes/fold0", 'data set "smokes" has the folds smokes/fold1 to smokes/fold4.'),
        ("modes smokes/train", 'data set "smokes" has the folds smokes/fold1 to smokes/fold4.'),
        (
            "modes toy_cancer/fold2",
            'no "toy_cancer/fold2": data set "toy_cancer" has the folds toy_cancer/fold1.',
        ),
        ("fit uwcs", 'cannot read "uwcs": it does not exist; '),
        ("fit uwcs", 'Did you mean the data set "uwcse"?'),
        ("modes web_kb/fold1", 'Did you mean the data set "webkb"?'),
        ("fit smokes --split dev", 'data set "smokes" has no split "dev"; it has: test, train.'),
        (
            "fit smokes --examples e.csv",
            '--examples is refused: data set "smokes" has its own facts and examples.',
        ),
        ("fit smokes --negatives all", "--negatives is refused: data set"),
        ("modes smokes --dangling drop", "--dangling is refused: data set"),
    ],
)
def test_a_name_that_cannot_be_used_is_one_sentence(words, sentence, run):
    status, out, err = run(*words.split())
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert sentence in err


def test_a_name_like_no_data_set_is_answered_as_before(run):
    assert "data set" not in run("fit", "nowhere").err
    Path("uwcs").mkdir()
    assert "Did you mean" not in run("fit", "uwcs").err
