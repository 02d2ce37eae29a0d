"""Every feature has the value that its definition gives, for any groundings (``docs/effects.md``)."""

from __future__ import annotations

import calendar
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction
from math import inf, isfinite, isnan, nan, sqrt

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from effect_bodies import TallyCase, groups, tally_cases
from every_engine import every_engine, every_quick_engine
from hornbeam.data.build import build
from hornbeam.data.numbers import AT_CUTOFF, INCLUDE, CutoffRule
from hornbeam.engines.contract import Engine
from hornbeam.engines.features.sums import sums_by_row
from hornbeam.engines.features.values import (
    months_of,
    since,
    value_of_tally,
)
from hornbeam.engines.naive import NaiveEngine
from hornbeam.engines.questions import FeatureRequest
from hornbeam.engines.tally import DAY, Tally, TallyRequest
from hornbeam.errors import DataError
from hornbeam.logic import features as kinds
from hornbeam.logic.clauses import Atom, Comparison
from hornbeam.logic.effects import NUMBER_OF_FACTS, Feature, NumberOf, Recent, variable_types
from hornbeam.logic.schema import DATE, NUMBER, Schema
from strategies import CASES, EXTREME_NUMBERS, TARGET, other_futures, with_cutoffs

Grounding = tuple[float, float]
"""The value of a variable, and a time."""
LARGE = 1e300
VALUES = st.one_of(
    st.sampled_from((0.0, -0.0, 1.0, 2.0, 0.1, 5e-324, -5e-324, 1e-300, LARGE, -LARGE, 1e16, 1.0000000001)),
    st.floats(-LARGE, LARGE),
    st.integers(-(2**53), 2**53).map(float),
)
MOMENTS = st.sampled_from((1.0, 2.0, 3.0, 2.5, -inf, inf))
GROUNDINGS = st.lists(st.lists(st.tuples(VALUES, MOMENTS), max_size=6), max_size=6)


def tally_of(groundings: Sequence[Sequence[Grounding]]) -> Tally:
    """The tally of the groundings of each example, by value and time."""
    numbers: dict[tuple[int, float, float], int] = {}
    for place, each in enumerate(groundings):
        for value, time in each:
            numbers[place, value + 0.0, time] = numbers.get((place, value + 0.0, time), 0) + 1
    rows = sorted(numbers)
    columns = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    number = np.array([numbers[row] for row in rows], dtype=np.int64)
    return Tally(columns[0].astype(np.int64), (columns[1],), number, columns[2])


def by_definition(kind: str, groundings: Sequence[Grounding]) -> float:
    """A feature of the groundings of one example."""
    values = [value for value, _ in groundings if not isnan(value)]
    times = [time for value, time in groundings if not isnan(value)]
    if kind == kinds.COUNT:
        return len(groundings)
    if kind == kinds.DISTINCT:
        return len({"missing" if isnan(value) else value for value, _ in groundings})
    if not values:
        return nan
    if kind in (kinds.FIRST, kinds.LAST):
        edge = max(times) if kind == kinds.LAST else min(times)
        values = [value for value, time in zip(values, times, strict=True) if time == edge]
    if kind == kinds.MINIMUM:
        return min(values)
    if kind == kinds.MAXIMUM:
        return max(values)
    exact = [Fraction(value) for value in values]
    if kind == kinds.SUM:
        return float(sum(exact))
    if kind == kinds.SPREAD:
        mean = sum(exact) / len(exact)
        return root(sum((value - mean) ** 2 for value in exact) / len(exact))
    if kinds.KINDS[kind].measure == kinds.MEAN:
        return float(sum(exact)) / len(exact)
    return kinds.of_values(kind, Counter(values))


def root(square: Fraction) -> float:
    """The square root of a fraction, which may be too large or too small for a float."""
    power = 0
    while square > 2**100:
        square, power = square / 2**200, power + 100
    while square and square < Fraction(1, 2**100):
        square, power = square * 2**200, power - 100
    return float(np.ldexp(sqrt(square), power))


@pytest.mark.parametrize("kind", [*kinds.OF_NUMBERS, kinds.DISTINCT, kinds.COUNT])
@given(groundings=GROUNDINGS)
@example(groundings=[[(2.0, 1.0), (-5e-324, 1.0), (9007199254740994.0, 1.0), (9007199254740994.0, 1.0)]])
@settings(max_examples=max(CASES // 4, 1))
def test_a_feature_of_values_is_its_definition(kind: str, groundings: list[list[Grounding]]) -> None:
    tally = tally_of(groundings)
    if kind in (kinds.DISTINCT, kinds.COUNT):
        # Groups by value alone: times are asked for only where they matter.
        tally = tally_of([[(value, 0.0) for value, _ in each] for each in groundings])
    found = value_of_tally(tally, kind, len(groundings)).tolist()
    expected = [by_definition(kind, each) for each in groundings]
    if kind == kinds.SPREAD:
        for one, other in zip(found, expected, strict=True):
            assert one == pytest.approx(other, rel=1e-12, abs=0.0, nan_ok=True)
    else:
        assert same(found, expected)


@given(
    rows=st.lists(
        st.lists(st.tuples(st.floats(-1e6, 1e6) | VALUES, st.integers(1, 2**48)), max_size=5), max_size=4
    ),
    most=st.sampled_from((2, 2**20, 2**27, 2**40, 2**48)),
)
@settings(max_examples=max(CASES // 4, 1))
def test_sums_of_very_many_values_are_exact(rows: list[list[tuple[float, int]]], most: int) -> None:
    """However many groundings all rows have together, and each of them, a sum is rounded once."""
    flat = [(row, value, min(number, most)) for row, own in enumerate(rows) for value, number in own]
    assume(all(abs(value) < 1e290 for _, value, _ in flat))
    row, value, number = (np.array(each) for each in zip(*flat, strict=True)) if flat else ([], [], [])
    found = sums_by_row(
        np.asarray(row, dtype=np.int64),
        np.asarray(value, dtype=np.float64),
        np.asarray(number, dtype=np.int64),
        len(rows),
    )
    expected = [float(sum(Fraction(v) * n for r, v, n in flat if r == place)) for place in range(len(rows))]
    assert found.tolist() == expected


def same(found: Sequence[float], expected: Sequence[float]) -> bool:
    return all(
        one == other or (isnan(one) and isnan(other)) for one, other in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize("kind", [kinds.SUM, kinds.MEAN])
def test_a_sum_that_exceeds_the_largest_float_is_refused(kind: str) -> None:
    with pytest.raises(DataError, match="exceeds the largest float"):
        value_of_tally(tally_of([[(1e308, 0.0), (1.7e308, 0.0)]]), kind, 1)


def test_sums_of_all_rows_together_may_exceed_the_largest_float() -> None:
    """Each example has one number, which is its own mean and sum."""
    large = [1.7e308, -1.7e308, 1.1e308, 5e-324]
    tally = tally_of([[(value, 0.0)] for value in large])
    for kind in (kinds.VALUE, kinds.MEAN, kinds.SUM, kinds.LAST):
        assert value_of_tally(tally, kind, 4).tolist() == large


@every_engine
def test_every_engine_refuses_what_exceeds_the_largest_float(engine: type[Engine]) -> None:
    """Only sums and means: the other features of the same numbers have a value."""
    schema = Schema({"bad": ("one",), "paid": ("one", "much")}, {"much": NUMBER})
    facts = {"paid": [["a", "a", "b"], ["1e308", "1.7e308", "5e-324"]]}
    opened = engine(build(schema, (), facts, ranges={"one": ["a", "b", "c"]}))
    head, body, keys = Atom("bad", (0,)), (Atom("paid", (0, 1)),), np.array([[0], [1], [2]], dtype=np.int32)
    for kind, expected in {
        kinds.MINIMUM: [1e308, 5e-324, nan],
        kinds.MAXIMUM: [1.7e308, 5e-324, nan],
        kinds.SPREAD: [0.35e308, 0.0, nan],
        kinds.DISTINCT: [2, 1, 0],
    }.items():
        (found,) = opened.features([FeatureRequest(head, body, Feature(kind, 1))], keys)
        assert isinstance(found, np.ndarray)
        assert found.tolist() == pytest.approx(expected, rel=1e-12, abs=0.0, nan_ok=True)
    for kind in (kinds.SUM, kinds.MEAN, kinds.VALUE, kinds.FIRST, kinds.LAST):
        with pytest.raises(
            DataError, match='"paid": a sum of numbers exceeds the largest float; scale the col'
        ):
            list(opened.features([FeatureRequest(head, body, Feature(kind, 1))], keys))


@pytest.mark.parametrize("values", [(1e308, -1e308), (5e-324, 1e-323), (1e308, 1e-308), (7.0, 7.0)])
def test_the_spread_of_the_largest_and_smallest_floats(values: tuple[float, float]) -> None:
    found = value_of_tally(tally_of([[(value, 0.0) for value in values]]), kinds.SPREAD, 1)
    assert found[0] == pytest.approx(by_definition(kinds.SPREAD, [(value, 0.0) for value in values]))


@pytest.mark.parametrize("kind", [kinds.SINCE, kinds.SINCE_FIRST, kinds.SINCE_LAST])
@given(groundings=GROUNDINGS, data=st.data(), dated=st.booleans())
def test_lengths_of_time_end_at_the_cut_off(
    kind: str, groundings: list[list[Grounding]], data: st.DataObject, dated: bool
) -> None:
    cutoffs = [data.draw(st.sampled_from((4.0, 3.5, nan))) for _ in groundings]
    found = since(tally_of(groundings), kind, np.array(cutoffs), dated).tolist()
    assert same(
        found,
        [
            length(kind, each, cutoff, DAY if dated else 1.0)
            for each, cutoff in zip(groundings, cutoffs, strict=True)
        ],
    )


def length(kind: str, groundings: Sequence[Grounding], cutoff: float, unit: float) -> float:
    """The time from the groundings of one example to its cut-off."""
    times = [value if kind == kinds.SINCE else time for value, time in groundings]
    if not times:
        return nan
    edge = max(times) if kind == kinds.SINCE_LAST else min(times)
    return (cutoff - edge) / unit if isfinite(edge) and isfinite(cutoff) else nan


@given(st.lists(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31))))
def test_months_are_those_of_the_calendar(moments: list[datetime]) -> None:
    whole = [(moment - datetime(1970, 1, 1)) // timedelta(seconds=1) for moment in moments]
    found = months_of(np.array([*(each * 1e6 for each in whole), nan]))
    assert found.tolist()[:-1] == [moment.month for moment in moments]
    assert isnan(found[-1]) and all(calendar.month_name[int(month)] for month in found[:-1])


@st.composite
def feature_cases(draw: st.DrawFn, timed: bool = False) -> tuple[TallyCase, list[FeatureRequest]]:
    """A case of tallies, and all features of its bodies that fit the types of their variables."""
    case = draw(tally_cases(EXTREME_NUMBERS, timed))
    schema = case.database.schema
    requests = []
    for head, body, variables, _ in case.requests:
        types = variable_types(schema, head, body)
        numeric = [v for v in variables if types[v] == NUMBER_OF_FACTS or types[v] in schema.numeric]
        features = [Feature(kind) for kind in (kinds.COUNT, kinds.MONTH, *kinds.OF_TIMES)]
        features += [Feature(kinds.SHARE)] if body else []
        features += [Feature(kinds.DISTINCT, variable) for variable in variables]
        features += [Feature(kind, v) for v in numeric for kind in (*kinds.OF_NUMBERS, kinds.SINCE)]
        requests += [FeatureRequest(head, body, feature) for feature in features]
    return case, requests


@every_quick_engine
@given(given_case=feature_cases(timed=True), data=st.data())
@settings(max_examples=max(CASES // 10, 1))
def test_no_fact_at_or_after_the_cut_off_changes_a_feature(
    engine: type[Engine], given_case: tuple[TallyCase, list[FeatureRequest]], data: st.DataObject
) -> None:
    """The law of cut-offs. Examples with the same or an earlier cut-off see nothing of what comes then."""
    case, requests = given_case
    cutoffs = case.database.real_cutoffs_of(TARGET, case.keys)
    assume(cutoffs is not None and len(cutoffs) > 0)
    last = data.draw(st.sampled_from(sorted({*cutoffs.tolist()})))
    changed = data.draw(other_futures(case.database, last))
    plain = case.keys[:, : case.database.schema.arity(TARGET)]
    keys = with_cutoffs(changed, plain[cutoffs <= last], cutoffs[cutoffs <= last])
    expected = engine(case.database).features(requests, case.keys[cutoffs <= last])
    found = engine(changed).features(requests, keys)
    for request, one, other in zip(requests, expected, found, strict=True):
        assert isinstance(one, np.ndarray) and isinstance(other, np.ndarray)
        assert one.tobytes() == other.tobytes(), request


@every_engine
@pytest.mark.parametrize("at_cutoff", AT_CUTOFF)
def test_the_law_where_every_feature_would_show_a_leak(engine: type[Engine], at_cutoff: str) -> None:
    """Facts before, at and after each cut-off: one that is seen too early changes every feature."""
    schema = Schema(
        {"bad": ("one",), "had": ("one", "event"), "paid": ("event", "much"), "on": ("event", "day")},
        {"much": NUMBER, "day": DATE},
    )
    values = ["3", "5e-324", "-7", "8", "1e300", "-2e300", "4e300"]
    # The last event has no value and no day.
    events = [f"e{number}" for number in range(len(values) + 1)]
    days = ["1970-01-07", "1970-01-06", "1970-01-05", "1970-01-04", "1970-01-03", "1970-01-02", "1970-01-01"]
    times = np.array([1.0, 2.0, 3.0, 3.0, 4.0, 5.0, inf, 2.0]) * DAY
    head, had = Atom("bad", (0,)), Atom("had", (0, 1))
    paid, on = (had, Atom("paid", (1, 2))), (had, Atom("on", (1, 2)))
    requests = [FeatureRequest(head, paid, Feature(kind, 2)) for kind in (*kinds.OF_NUMBERS, kinds.DISTINCT)]
    requests += [FeatureRequest(head, (had,), Feature(kind)) for kind in (kinds.COUNT, *kinds.OF_TIMES)]
    requests += [
        FeatureRequest(head, on, Feature(kinds.SINCE, 2)),
        FeatureRequest(head, (*paid, Comparison(2, ">=", 0.0)), Feature(kinds.SHARE)),
        FeatureRequest(head, (Recent(had, last=1), paid[1]), Feature(kinds.MEAN, 2)),
        FeatureRequest(head, (Recent(had, within=1.5),), Feature(kinds.COUNT)),
        FeatureRequest(head, (NumberOf(1, Atom("had", (0, 2))),), Feature(kinds.VALUE, 1)),
        FeatureRequest(head, (Recent(Atom("had", (2, 1)), within=1.5),), Feature(kinds.COUNT)),
        FeatureRequest(head, (Recent(Atom("had", (3, 1)), within=9.0), paid[1]), Feature(kinds.MEAN, 2)),
        FeatureRequest(head, (), Feature(kinds.MONTH)),
    ]

    def values_at(cutoff: float, kept: np.ndarray, asked: type[Engine] = engine) -> list[list[float]]:
        """The features at a cut-off, of facts some of which are gone."""
        facts = {
            "had": [
                ["a"] * int(kept.sum()),
                [event for event, keep in zip(events, kept, strict=True) if keep],
            ],
            "paid": [events[:-1], values],
            "on": [events[:-1], days],
        }
        ranges = {"one": ["a", "b"], "event": events, "much": sorted(set(values)), "day": days}
        database = build(schema, (), facts, ranges=ranges, times={"had": times[kept].tolist()})
        database = replace(database, origin={"times": "date"}).under_rule(CutoffRule(at_cutoff))
        keys = with_cutoffs(database, np.array([[0], [1]], dtype=np.int32), np.full(2, cutoff))
        return [np.asarray(each).tolist() for each in asked(database).features(requests, keys)]

    everything = np.full(len(times), True)
    found = {}
    # A query takes a second on Spark: there, one cut-off.
    for cutoff in (3.0,) if engine.name == "spark" else (0.5, 1.0, 2.0, 3.0, 4.0, 6.0):
        early = times <= cutoff * DAY if at_cutoff == INCLUDE else times < cutoff * DAY
        found[cutoff] = values_at(cutoff * DAY, everything)
        right = values_at(cutoff * DAY, early, NaiveEngine)
        removed = values_at(cutoff * DAY, early)
        for request, *each in zip(requests, found[cutoff], removed, right, strict=True):
            assert same(each[0], each[1]) and same(each[0], each[2]), (cutoff, request)
    # The values do depend on what is seen; a month does not.
    for place, request in enumerate(requests[:-1] if len(found) > 1 else ()):
        assert len({str(each[place]) for each in found.values()}) > 1, request


@every_quick_engine
@given(given_case=feature_cases())
@settings(max_examples=max(CASES // 10, 1))
def test_a_feature_is_that_of_the_groundings_of_its_body(
    engine: type[Engine], given_case: tuple[TallyCase, list[FeatureRequest]]
) -> None:
    case, requests = given_case
    database, keys = case.database, case.keys
    found = engine(database).features(requests, keys)
    given_cutoffs = database.real_cutoffs_of(TARGET, keys)
    cutoffs = [nan] * len(keys) if given_cutoffs is None else given_cutoffs.tolist()
    cutoffs = [cutoff if isfinite(cutoff) else nan for cutoff in cutoffs]
    unit = DAY if database.origin.get("times") == "date" else 1.0
    for request, values in zip(requests, found, strict=True):
        head, body, (kind, variable) = request
        groundings = in_full(
            database, TallyRequest(head, body, () if variable is None else (variable,), True), keys
        )
        if kind == kinds.SHARE:
            outer = in_full(database, TallyRequest(head, body[:-1], (), True), keys)
            expected = [
                len(each) / len(guard) if guard else nan
                for each, guard in zip(groundings, outer, strict=True)
            ]
        elif kind == kinds.MONTH:
            epoch = datetime(1970, 1, 1)
            expected = [
                nan if isnan(each) else (epoch + timedelta(microseconds=each // 1)).month for each in cutoffs
            ]
        elif kind in (kinds.SINCE, *kinds.OF_TIMES):
            expected = [
                length(kind, each, cutoff, unit) for each, cutoff in zip(groundings, cutoffs, strict=True)
            ]
        else:
            expected = [by_definition(kind, each) for each in groundings]
        assert isinstance(values, np.ndarray)
        if kind == kinds.SPREAD:
            assert values.tolist() == pytest.approx(expected, nan_ok=True)
        else:
            assert same(values.tolist(), expected), request


def in_full(database, request: TallyRequest, keys) -> list[list[Grounding]]:
    """The groundings of each example one by one, by the reference engine."""
    (tally,) = NaiveEngine(database).tally([request], keys)
    assert isinstance(tally, Tally)
    result: list[list[Grounding]] = [[] for _ in range(len(keys))]
    for (place, *value, time), number in groups(tally).items():
        given_value = value[0] if value else 0.0
        result[place] += [(nan if given_value == "missing" else given_value, time)] * number
    return result
