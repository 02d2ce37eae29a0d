"""The named data sets as they are on this machine: the pinned files, the folds, the conversion."""

import pytest

import hornbeam as hb
from hornbeam.datasets.archive import get
from hornbeam.datasets.movielens import as_facts
from public_data import DATA, needs

pytestmark = needs()

FILED = [data for data in hb.datasets.data_sets().values() if data.folder]


@pytest.fixture(autouse=True)
def _data(monkeypatch):
    monkeypatch.setenv("HORNBEAM_DATA", str(DATA))


@pytest.mark.parametrize("data", FILED, ids=lambda data: data.name)
def test_the_files_are_the_pinned_ones_and_every_fold_has_examples(data):
    assert get(data) == DATA / data.folder
    for fold in (1, data.n_folds):
        for part in hb.datasets.load(data.name, fold):
            labels = part.examples_of(data.target).labels
            assert labels.any()
            # The machines are all given with the class they are of: there are no negatives.
            assert labels.all() == (data.name == "toy_machines")


def test_movielens_is_what_the_published_study_counted():
    made = as_facts(DATA / "movielens_100k")
    assert made.facts.count("rated(") == 79_779
    assert (made.pos.count("\n"), made.neg.count("\n")) == (272, 669)
    for name, text in made._asdict().items():
        published = (DATA / "movielens_paper" / f"{name}.txt").read_text()
        assert sorted(text.split()) == sorted(published.split())
