"""Names that are made on request: the same names, places and codes as those of a list of text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.data.codes import Coded, Coder
from hornbeam.data.keys import key_text
from hornbeam.data.names import UNKNOWN, MadeNames, Numbered, NumberNames, joined, names_not_in, number_names
from hornbeam.data.numbers import numbers_of
from hornbeam.data.relations import Population

WHOLE = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9), max_size=8, unique=True)
REAL = st.lists(st.floats(-1e300, 1e300) | st.sampled_from([0.5, 2.0, 0.1]), max_size=8, unique=True)
OTHERS = ["", "x", "07", "-0", "1.0", "١", "9" * 30, "nan", "1e5"]


def as_names(values: list[int] | list[float]) -> MadeNames:
    return number_names(np.array(values, dtype=np.float64 if any_float(values) else np.int64))


def any_float(values: list[int] | list[float]) -> bool:
    return any(isinstance(value, float) for value in values)


@given(WHOLE | REAL)
def test_names_are_texts_of_numbers(values: list[int] | list[float]) -> None:
    names, listed = as_names(values), [key_text(value) for value in values]
    assert list(names) == listed and len(names) == len(listed)
    assert [names[place] for place in range(-len(listed), len(listed))] == listed * 2
    assert names[1:3] == listed[1:3]
    asked = [*listed, *OTHERS]
    expected = [listed.index(name) if name in listed else UNKNOWN for name in asked]
    assert names.places(asked).tolist() == expected
    assert [name in names for name in asked] == [place != UNKNOWN for place in expected]
    assert names_not_in({*asked}, names) == {*asked} - {*listed}
    assert numbers_of(names, "number", "t").tolist() == numbers_of(listed, "number", "t").tolist()


@given(st.lists(WHOLE | REAL, max_size=3), st.lists(st.sampled_from(OTHERS), max_size=3))
def test_codes_do_not_depend_on_how_names_are_kept(parts: list[list[int]], others: list[str]) -> None:
    made, plain = Coder(["t"]), Coder(["t"])
    for values in parts:
        names = as_names(values)
        assert made.encode(names, "t").tolist() == plain.encode(list(names), "t").tolist()
    assert made.encode(others, "t").tolist() == plain.encode(others, "t").tolist()
    one, other = (coder.populations()["t"] for coder in (made, plain))
    assert list(one.names) == list(other.names)
    asked = [*OTHERS, *other.names]
    assert one.encode(asked).tolist() == other.encode(asked).tolist()
    assert [one.code(name) for name in asked] == [other.code(name) for name in asked]


def test_a_column_whose_names_are_the_population_keeps_its_codes() -> None:
    coder, names = Coder(["t"]), number_names(np.arange(5))
    rows = np.array([4, 0, 0], dtype=np.int32)
    assert coder.encode(Coded(names, rows), "t") is rows
    assert coder.encode(
        Coded(NumberNames(np.array([9, 3])), np.array([1, 0], dtype=np.int32)), "t"
    ).tolist() == [3, 5]


def test_names_of_other_kinds_do_not_mix() -> None:
    assert joined(Numbered("p", 3), NumberNames(np.array([1, 2]))) is None
    assert Numbered("p", 3).places(["p2", "p3", "2", "p02"]).tolist() == [2, UNKNOWN, UNKNOWN, UNKNOWN]
    with pytest.raises(IndexError):
        Numbered("p", 3)[3]
    with pytest.raises(ValueError, match="is not one of these 3 names"):
        Numbered("p", 3).index("p3")


def test_a_population_of_numbers_decodes_and_encodes() -> None:
    people = Population(NumberNames(np.array([2**62, -7])))
    assert people.decode(np.array([1, 0], dtype=np.int32)) == ["-7", str(2**62)]
    assert people.encode(NumberNames(np.array([-7, 5]))).tolist() == [1, UNKNOWN]
