"""Means, spreads and t-tests, against scipy and by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from study.statistics import paired_t_test, summary

SCORES = st.floats(min_value=0, max_value=1).map(lambda value: round(value, 6))
PAIRS = st.integers(2, 6).flatmap(lambda n: st.tuples(*[st.lists(SCORES, min_size=n, max_size=n)] * 2))


@given(PAIRS)
def test_the_test_is_scipy_s(pair):
    ours, theirs = pair
    found = paired_t_test(ours, theirs)
    differences = [round(a - b, 9) for a, b in zip(ours, theirs, strict=True)]
    assert found.difference == pytest.approx(sum(differences) / len(differences), abs=1e-12)
    if len(set(differences)) > 1:
        assert found.p == pytest.approx(stats.ttest_rel(ours, theirs).pvalue, rel=1e-6, abs=1e-12)


def test_a_test_by_hand():
    # Differences .1, .3: mean .2, standard error .1, t = 2, one degree of freedom: p = 1 - 2 atan(2) / pi.
    found = paired_t_test([0.6, 0.9], [0.5, 0.6])
    assert found.p == pytest.approx(1 - 2 * math.atan(2) / math.pi)
    assert not found.significant


def test_the_sign_is_ours_minus_theirs():
    assert paired_t_test([0.9, 0.8], [0.1, 0.2]).difference > 0
    assert paired_t_test([0.1, 0.2], [0.9, 0.8]).difference < 0


def test_without_spread_there_is_all_or_no_evidence():
    assert paired_t_test([0.9, 0.8], [0.9, 0.8]) == (0.0, 1.0)
    assert paired_t_test([1.0, 0.5], [0.75, 0.25]).p == 0.0
    assert paired_t_test([1.0, 0.5], [0.75, 0.25]).significant


def test_one_fold_is_no_test():
    assert paired_t_test([0.9], [0.1]) is None


@given(st.lists(SCORES, min_size=2, max_size=8))
def test_mean_and_spread_are_scipy_s(values):
    found = summary(values)
    assert found.mean == pytest.approx(stats.tmean(values), abs=1e-12)
    if len(set(values)) > 1:
        assert found.deviation == pytest.approx(stats.tstd(values), abs=1e-9)
        assert found.standard_error == pytest.approx(stats.sem(values), abs=1e-9)
    else:
        assert found.deviation == pytest.approx(0.0, abs=1e-12)


def test_one_value_has_no_spread():
    assert summary([0.4]) == (0.4, None, 1)
    assert summary([0.4]).standard_error is None
