"""Examples keep the order that they were given in, although positives are stored first."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.data.database import Population, merged_examples


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from([-1, 0, 1])), min_size=1, max_size=12))
def test_examples_as_given(rows):
    names = list("abcdef")
    keys = np.array([key for key, _ in rows], dtype=np.int32)
    merged, _ = merged_examples("t", [keys], [label for _, label in rows], [Population(names)])
    best = {}
    for place, (key, label) in enumerate(rows):
        if key not in best or label > best[key][0]:
            best[key] = (label, place)
    expected = sorted((place, key, label) for key, (label, place) in best.items())
    restored = merged.as_given()
    assert list(zip(restored.keys[:, 0].tolist(), restored.labels.tolist(), strict=True)) == [
        (key, label) for _, key, label in expected
    ]
    known = merged.labelled().as_given()
    assert known.labels.tolist() == [label for _, _, label in expected if label >= 0]
