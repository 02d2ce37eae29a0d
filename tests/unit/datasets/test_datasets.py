"""Named data sets: what there is, and its folds."""

import json

import numpy as np
import pytest

import hornbeam as hb
from folders import facts_of, write
from hornbeam.cli import main
from hornbeam.datasets.folds import dealt, stratified
from hornbeam.datasets.movielens import as_facts
from hornbeam.datasets.worlds import smokers
from hornbeam.errors import DataError, OptionError
from hornbeam.logic.clauses import Atom


def test_the_folds_of_a_generated_data_set_are_a_partition_of_its_examples():
    tested = [hb.datasets.load("smokes", fold).test.examples("cancer") for fold in (1, 2, 3, 4)]
    names = np.concatenate([keys[:, 0] for keys, _ in tested])
    assert len(set(names)) == len(names) == 4000
    train, test = hb.datasets.load("smokes", 3)
    assert set(train.examples("cancer")[0][:, 0]) == set(names) - set(test.examples("cancer")[0][:, 0])


@pytest.mark.parametrize("fold", [0, 5, -1])
def test_a_fold_that_is_not_there_is_refused(fold):
    with pytest.raises(OptionError, match=f'fold={fold} is refused: data set "smokes" has folds 1 to 4'):
        hb.datasets.load("smokes", fold)


def test_each_label_is_dealt_evenly():
    labels = np.repeat(np.array([1, 0], dtype=np.int8), [21, 58])
    folds = stratified(labels, 4)
    for label in (0, 1):
        sizes = np.bincount(folds[labels == label])
        assert sizes.max() - sizes.min() <= 1


def test_dealing_keeps_facts_and_populations():
    world = smokers(n_persons=50, seed=3)
    train, test = dealt(world, "cancer", 5, 2)
    assert facts_of(train) == facts_of(test) == facts_of(world)
    assert len(train.population("person")) == len(test.population("person")) == 50
    assert len(train.examples_of("cancer")) + len(test.examples_of("cancer")) == 50


def test_every_data_set_that_is_not_generated_is_pinned():
    for data in hb.datasets.data_sets().values():
        assert bool(data.files) == bool(data.folder) == bool(data.homepage)
        assert all(len(pin) == 64 for pin in data.files.values())


# --- MovieLens -----------------------------------------------------------------------------------

RAW = {
    "u.user": "1|24|M|technician|85711\n3|23|M|writer|32067\n4|56|F|other|1\n5|7|F|sci-fi|x\n",
    "u.genre": "unknown|0\nChildren's|1\n\n",
    "u.item": "1|Toy Story (1995)|01-Jan-1995||http://x|0|1\n2|?|||||0\n".replace("|||||0", "||||1|0"),
    "u.data": "9\t1\t1\t0\n4\t1\t4\t0\n4\t2\t3\t0\n3\t2\t5\t0\n5\t2\t5\t0\n5\t1\t1\t0\n",
}


def test_ratings_become_facts(tmp_path):
    made = as_facts(write(tmp_path, RAW), skipped=1)
    assert made.pos == "female(u4).\nfemale(u5).\n"
    assert made.neg == "female(u3).\n"
    assert made.facts.splitlines() == [
        "age(u3,a1).",
        "occupation(u3,writer).",
        "age(u4,a6).",
        "occupation(u4,other).",
        "age(u5,a0).",
        "occupation(u5,sci_fi).",
        "year(m1,d1990).",
        "genre(m1,children_s).",
        "genre(m2,unknown).",
        "rated(u4,m2).",
        "rated(u5,m1).",
    ]


def test_a_table_of_another_shape_is_refused(tmp_path):
    write(tmp_path, {**RAW, "u.user": "1|24|M|technician|85711\n3|23|M\n"})
    with pytest.raises(DataError, match=r"u\.user:2: the row has 3 columns, but this table .* has 5"):
        as_facts(tmp_path)


# --- the command line ----------------------------------------------------------------------------


def run(words, capsys):
    with pytest.raises(SystemExit) as left:
        main(words)
    return left.value.code, capsys.readouterr()


def test_the_list_says_what_is_here(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HORNBEAM_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))
    names = dict.fromkeys(hb.datasets.data_set("toy_father").files, "")
    write(tmp_path / "toy_father", names)
    status, printed = run(["datasets", "list", "--json"], capsys)
    rows = {row["name"]: row for row in json.loads(printed.out)}
    assert status == 0
    assert rows["toy_father"]["folder"] == str(tmp_path / "toy_father")
    assert rows["uwcse"]["folder"] is None
    status, printed = run(["datasets", "list"], capsys)
    lines = dict(line.split(maxsplit=1) for line in printed.out.splitlines())
    assert lines["toy_father"].endswith(str(tmp_path / "toy_father"))
    assert lines["uwcse"].endswith("not here; https://github.com/srlearn/datasets")
    assert lines["smokes"].endswith("generated")


def test_getting_something_unknown_is_one_sentence(capsys):
    status, printed = run(["datasets", "get", "webkp"], capsys)
    assert status == 2
    assert printed.err.startswith('hornbeam: no data set "webkp". Data sets are: ')
    assert printed.err.endswith('Did you mean "webkb"?\n')


def test_facts_of_the_toy_world_are_loaded_by_name(tmp_path, monkeypatch):
    data = hb.datasets.data_set("toy_cancer")
    texts = dict.fromkeys(data.files, "")
    texts |= {
        "background.txt": "smokes(+person).\ncancer(+person).\n",
        "train/train_pos.txt": "cancer(ann).",
        "train/train_neg.txt": "cancer(bob).",
        "train/train_facts.txt": "smokes(ann).",
        "test/test_pos.txt": "cancer(cat).",
        "test/test_neg.txt": "cancer(dan).",
        "test/test_facts.txt": "smokes(cat).",
    }
    write(tmp_path / "toy_cancer", texts)
    monkeypatch.setenv("HORNBEAM_DATA", str(tmp_path))
    train, test = hb.datasets.load("toy_cancer")
    assert facts_of(train) == {Atom("smokes", ("ann",))}
    assert facts_of(test) == {Atom("smokes", ("cat",))}
