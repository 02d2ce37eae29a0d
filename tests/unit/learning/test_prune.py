"""Fewer clauses at the end: which are kept, and the models that come of it."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from hornbeam.datasets import worlds as generate
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.sql.drivers.duckdb import DuckDBEngine
from hornbeam.errors import OptionError
from hornbeam.learning.boosting.boost import fit
from hornbeam.learning.boosting.prune import strongest
from hornbeam.learning.loop import Control
from hornbeam.learning.losses.dense import fit_weights
from hornbeam.learning.losses.logistic import log_loss
from hornbeam.learning.options import fit_options
from hornbeam.model.clause_model import Model
from hornbeam.model.files import model_text


def test_what_the_others_say_already_leaves_although_it_came_first() -> None:
    rng = np.random.default_rng(0)
    one, two = rng.normal(size=(2, 800))
    labels = (rng.random(800) < 1 / (1 + np.exp(-2 * (one + two)))).astype(np.int8)
    features = np.stack([one + two + rng.normal(size=800), one, two])
    assert strongest(features, labels, 1.0, 2) == [1, 2]
    assert strongest(features, labels, 1.0, 3) == [0, 1, 2]


def test_a_weight_is_judged_by_how_well_it_is_known() -> None:
    rng = np.random.default_rng(1)
    small, large = rng.normal(size=800) / 10, rng.normal(size=800)
    labels = (rng.random(800) < 1 / (1 + np.exp(-(5 * small + large)))).astype(np.int8)
    features = np.stack([small, large])
    known = fit_weights(features, labels, 0.1)
    assert known.weights[0] > known.weights[1]
    assert strongest(features, labels, 0.1, 1) == [1]


def test_of_equals_the_later_leaves() -> None:
    feature = np.array([0.0, 1.0, 0.0, 1.0, 2.0])
    labels = np.array([0, 1, 0, 0, 1], dtype=np.int8)
    assert strongest(np.stack([feature, feature, feature]), labels, 1.0, 1) == [0]


@pytest.mark.parametrize("seed", range(5))
def test_few_lose_to_the_best_few_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(7, 400)) + rng.normal(size=400)
    labels = (rng.random(400) < 1 / (1 + np.exp(-features.T @ rng.normal(size=7)))).astype(np.int8)

    def loss(kept: tuple[int, ...]) -> float:
        rows = features[list(kept)]
        return log_loss(labels, fit_weights(rows, labels, 1.0).scores(rows))

    every = sorted((loss(kept), kept) for kept in combinations(range(7), 3))
    assert tuple(strongest(features, labels, 1.0, 3)) in [kept for _, kept in every[:3]]


def smokers(engine: type = MemoryEngine, checkpoint: Path | None = None, **options: object) -> Model:
    database = generate.smokers(120, seed=4)
    examples = database.examples_of("cancer")
    chosen = fit_options(**{"n_steps": 8, "max_literals": 2, "validate": False, **options})
    return fit(engine(database), examples, chosen, Control(checkpoint=checkpoint)).model


def test_a_short_model_has_the_best_clauses_of_all_steps(tmp_path: Path) -> None:
    whole, short, first = smokers(), smokers(max_clauses=3), smokers(n_steps=3)
    assert len(whole.clauses) > 3 == len(short.clauses)
    bodies = [(each.clause, each.feature) for each in whole.clauses]
    places = [bodies.index((each.clause, each.feature)) for each in short.clauses]
    assert places == sorted(places)
    database = generate.smokers(120, seed=4)
    examples = database.examples_of("cancer")
    lost = {
        name: log_loss(examples.labels, model.scores(MemoryEngine(database), examples.keys))
        for name, model in {"whole": whole, "short": short, "first": first}.items()
    }
    assert lost["whole"] < lost["short"] <= lost["first"]
    assert model_text(smokers(DuckDBEngine, max_clauses=3)) == model_text(short)
    for _ in range(2):  # from the start, then from what the first has left
        assert model_text(smokers(max_clauses=3, checkpoint=tmp_path)) == model_text(short)


def test_room_for_all_changes_nothing() -> None:
    whole, roomy = smokers(), smokers(max_clauses=30)
    assert replace(roomy, settings=whole.settings) == whole


def test_without_joint_weights_it_is_refused() -> None:
    with pytest.raises(OptionError, match="max_clauses=8 is refused: it does nothing without refit"):
        fit_options("paper", max_clauses=8)
    with pytest.raises(OptionError, match=r"max_clauses=0 is refused: .* from 1 to 1000000 or None"):
        fit_options(max_clauses=0)
