"""What is at or after the last cut-off leaves a model, what is at or after its own cut-off a prediction."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from every_engine import ENGINES
from future_worlds import LEARNERS, fitted, law_holds, model_bytes, with_another_future, world
from hornbeam.data.ending import before_the_end

SEEDS = st.integers(0, 2**31)


@pytest.mark.parametrize("learner", LEARNERS)
@settings(max_examples=6, deadline=None)
@given(seed=SEEDS)
def test_the_law_of_the_future_in_memory(learner: str, seed: int) -> None:
    assert law_holds(seed, learner) == []


@pytest.mark.parametrize("engine", [name for name in ("duckdb", "postgres", "naive") if name in ENGINES])
@settings(max_examples=3, deadline=None)
@given(seed=SEEDS, learner=st.sampled_from(sorted(LEARNERS)))
def test_the_law_of_the_future_on_other_engines(engine: str, learner: str, seed: int) -> None:
    """Tables that stay in a database, with another future, give the model of the loaded ones."""
    assert law_holds(seed, learner, engine) == []


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS)
def test_data_that_end_at_the_last_cut_off_are_those_without_later_rows(seed: int) -> None:
    """Two futures end as the same data: the same facts by name, populations and examples."""
    one = world(seed)
    seen = []
    for each in (one, with_another_future(one, one.last, seed + 1)):
        database = each.loaded()
        ended, examples = before_the_end(database, database.example_sets["churned"])
        facts = {
            name: sorted(map(tuple, ended.names_of(name, np.stack(relation.columns, axis=1)).tolist()))
            for name, relation in ended.relations.items()
        }
        populations = {name: sorted(population.names) for name, population in ended.populations.items()}
        keys = ended.names_of("churned", examples.keys).tolist()
        assert keys == database.names_of("churned", database.example_sets["churned"].keys).tolist()
        cutoffs = ended.real_cutoffs_of("churned", examples.keys)
        assert cutoffs is not None
        seen.append((facts, populations, sorted(map(str, ended.modes)), keys, cutoffs.tolist()))
    assert seen[0] == seen[1]


def test_worlds_learn_something() -> None:
    """The law is not empty: most worlds have another future, and models with effects or clauses."""
    learned = futures = 0
    for seed in range(12):
        one = world(seed)
        other = with_another_future(one, one.last, seed + 1)
        futures += one.tables != other.tables
        model = fitted(one.loaded(), "default").model_
        learned += bool(model.effects)
    assert learned >= 8
    assert futures >= 10
    assert len(model_bytes(fitted(world(1).loaded(), "paper"))) > 100
