"""Slices of facts are the facts with given values before a cut-off, found one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.engines.fact_slices import AtomFacts, FactLimits, slices_of

SIZE = 4
MOMENTS = (-np.inf, 0.0, 1.0, 2.0, 3.0, np.inf)
FACTS = st.lists(
    st.tuples(st.integers(0, SIZE - 1), st.integers(0, 20), st.sampled_from(MOMENTS[:-1])), max_size=12
)
LIMITS = st.builds(FactLimits, st.none() | st.integers(1, 3), st.none() | st.sampled_from((0.5, 1.0, 2.0)))


def expected(facts, key, cutoff, limits):
    """The facts of a key that are taken; of the last ones all that are as late as the first of them."""
    own = [each for each in facts if each[0] == key and each[2] <= cutoff]
    if limits.within is not None and cutoff != np.inf:
        own = [each for each in own if each[2] >= cutoff - limits.within]
    if limits.last is not None and len(own) > limits.last:
        edge = sorted(each[2] for each in own)[-limits.last]
        own = [each for each in own if each[2] >= edge]
    return sorted(each[1] for each in own)


@given(FACTS, st.booleans(), LIMITS, st.lists(st.sampled_from(MOMENTS), min_size=1, max_size=4))
def test_slices_have_the_facts_within_the_limits(facts, single, limits, cutoffs):
    facts = sorted({(key, value): (key, value, at) for key, value, at in facts}.values())
    if single:
        facts = sorted({key: (key, value, at) for key, value, at in facts}.values())
    keys, values, times = (np.array([each[k] for each in facts]) for k in range(3))
    columns = keys.astype(np.int32), values.astype(np.int32)
    matching = AtomFacts(columns, (SIZE, 21), len(facts), None, times.astype(np.float64))
    slices = slices_of(matching, (0, 1), [0])
    asked = np.repeat(np.arange(-1, SIZE), len(cutoffs))
    at = np.tile(np.array(cutoffs), SIZE + 1)
    first, end = slices.find([asked], at, len(asked), limits)
    for key, cutoff, start, stop in zip(asked, at, first, end, strict=True):
        found = sorted(slices.columns[0][start:stop].tolist())
        assert found == expected(facts, key, cutoff, limits)
    plain = slices_of(matching, (0, 1), [0], by_time=False)
    first, end = plain.find([asked], None, len(asked), FactLimits())
    for key, start, stop in zip(asked, first, end, strict=True):
        assert sorted(plain.columns[0][start:stop].tolist()) == expected(facts, key, np.inf, FactLimits())
