"""Features are computed for distinct keys, and are those of each example."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effect_bodies import TallyCase, tally_cases
from hornbeam.engines.contract import Engine
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.engines.questions import FeatureRequest
from hornbeam.engines.tally import TallyRequest, head_variables
from hornbeam.learning.effects.bins import bins_of, cuts_of, scores_of
from hornbeam.learning.effects.examples.groups import distinct_keys
from hornbeam.logic.effects import Feature
from hornbeam.logic.features import COUNT
from strategies import CASES, TARGET


@pytest.mark.parametrize("engine_class", [MemoryEngine, NaiveEngine])
@given(case=tally_cases())
@settings(max_examples=max(CASES // 2, 1))
def test_each_example_has_the_value_of_its_key(engine_class: type[Engine], case: TallyCase) -> None:
    arity = case.database.schema.arity(TARGET)
    # Each key twice, so that distinct keys are always fewer.
    keys = np.repeat(case.keys[:, :arity], 2, axis=0)
    engine = engine_class(case.database)
    for head, body, variables, times in case.requests:
        asked = FeatureRequest(head, body, Feature(COUNT))
        (right,) = NaiveEngine(case.database).features([asked], keys)
        own = distinct_keys(engine, keys, head_variables(TallyRequest(head, body, variables, times)), arity)
        (found,) = own.features([asked])
        assert isinstance(found, np.ndarray) and isinstance(right, np.ndarray)
        which = np.arange(len(keys)) if own.equal is None else own.equal.which
        assert found[which].tolist() == right.tolist()
        sizes = np.ones(len(keys)) if own.sizes is None else own.sizes
        assert (found * sizes).sum() == right.sum()


VALUES = st.sampled_from((np.nan, 0.0, 1.0, 2.0, 3.0, 10.0, 0.25))


@given(
    groups=st.lists(st.tuples(VALUES, st.integers(1, 5)), min_size=1, max_size=30),
    n_cuts=st.integers(1, 8),
    support=st.integers(1, 4),
    counts=st.booleans(),
)
def test_values_with_sizes_have_the_cuts_and_scores_of_repeated_values(groups, n_cuts, support, counts):
    values, sizes = (np.array(each, dtype=np.float64) for each in zip(*groups, strict=True))
    repeated = np.repeat(values, sizes.astype(int))
    cuts = cuts_of(repeated, n_cuts, support, counts)
    assert cuts_of(values, n_cuts, support, counts, sizes) == cuts
    scores = scores_of(repeated, bins_of(repeated, cuts), len(cuts), counts)
    assert scores_of(values, bins_of(values, cuts), len(cuts), counts, sizes) == pytest.approx(
        scores, abs=2e-6
    )
