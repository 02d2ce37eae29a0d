"""Candidates of the learner of effects: what a pool keeps, what a budget leaves out, windows, bags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from every_engine import every_quick_engine
from hornbeam.data.build import build
from hornbeam.data.database import Database
from hornbeam.data.relations import Examples
from hornbeam.engines import tally as tallies
from hornbeam.engines.contract import Engine
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.engines.questions import FeatureRequest
from hornbeam.engines.tally import DAY
from hornbeam.errors import DataError
from hornbeam.learning.effects import candidates as module
from hornbeam.learning.effects.bins import bins_of, scores_of, shortest_between
from hornbeam.learning.effects.bodies import BodyLimits
from hornbeam.learning.effects.candidates import Pool
from hornbeam.learning.effects.collecting import PathSettings
from hornbeam.learning.effects.examples.bagging import (
    LEAST_EXAMPLES,
    LEAST_STRETCHES,
    LEAST_WINDOWS,
    STRETCHES,
    WINDOWS,
    design,
    example_hashes,
    windows_of_time,
    without_uninformed_judges,
)
from hornbeam.learning.effects.learner import fit
from hornbeam.learning.effects.links import PathFinder, Vocabulary, windows_of
from hornbeam.learning.options import EffectOptions
from hornbeam.logic.clauses import Atom
from hornbeam.logic.effects import Feature
from hornbeam.logic.features import COUNT, MEAN
from hornbeam.logic.parse import parse_mode
from hornbeam.logic.schema import DATE, NUMBER, Schema, schema_of

REQUEST = FeatureRequest(Atom("bad", (0,)), (Atom("had", (0, 1)),), Feature(MEAN, 1))
MODES = tuple(
    map(parse_mode, ("bad(+one).", "had(+one,-event).", "kind(+event,#word).", "paid(+event,-much)."))
)


def pool_of(*columns: Sequence[float], most_bytes: int = 1000, min_support: int = 1) -> Pool:
    pool = Pool(4, min_support, most_bytes)
    for column in columns:
        pool.add(REQUEST, np.array(column))
    return pool


def test_a_pool_keeps_what_varies_once() -> None:
    rising = [1.0, 2.0, 3.0, 4.0]
    assert len(pool_of(rising).rows) == 1
    assert pool_of([7.0] * 4).rows == [], "a constant"
    assert pool_of([nan] * 4).rows == [], "nothing is known"
    assert len(pool_of(rising, [10.0, 20.0, 30.0, 40.0]).rows) == 1, "the same bins"
    assert len(pool_of(rising, [-1.0, -2.0, -3.0, -4.0]).rows) == 1, "a mirror image"
    assert len(pool_of([1.0, 1.0, 2.0, 2.0], [1.0, 2.0, 1.0, 2.0]).rows) == 2


def test_a_pool_keeps_what_is_missing_for_some() -> None:
    assert len(pool_of([7.0, 7.0, nan, nan]).rows) == 1
    assert pool_of([7.0, 7.0, 7.0, nan], min_support=2).rows == [], "missing for too few"
    (candidate,) = pool_of([7.0, 7.0, nan, nan]).candidates
    assert candidate.cuts == () and set(candidate.scores) == {0.0}


def test_a_pool_counts_what_has_no_memory() -> None:
    columns = [[1.0, 1.0, 2.0, 2.0], [1.0, 2.0, 1.0, 2.0], [1.0, 2.0, 2.0, 1.0]]
    pool = pool_of(*columns, most_bytes=8)
    assert (len(pool.rows), pool.left_out) == (2, 1)
    assert pool_of(*columns, most_bytes=12).left_out == 0


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.1, float(np.nextafter(0.1, 1.0)), float(np.nextafter(0.1, 1.0))),
        (1e300, float(np.nextafter(1e300, inf)), float(np.nextafter(1e300, inf))),
        (-5e-324, 5e-324, 0.0),
        (0.0, 5e-324, 5e-324),
    ],
)
def test_a_cut_lies_between_neighbours(low: float, high: float, expected: float) -> None:
    assert shortest_between(low, high) == expected


def events(n: int, words: Sequence[str], times: Sequence[float] | None = None) -> Database:
    """Things with two events each, of some words and amounts; one word of each thing decides its label."""
    things = [f"t{number}" for number in range(n)]
    of_event = [thing for thing in things for _ in range(2)]
    names = [f"e{number}" for number in range(2 * n)]
    facts = {
        "had": [of_event, names],
        "kind": [names, [words[number % len(words)] for number in range(2 * n)]],
        "paid": [names, [str(number * 7 % 11) for number in range(2 * n)]],
    }
    labels = [int(number % len(words) < 3) for number in range(n)]
    schema = Schema(schema_of(MODES).predicates, {"much": NUMBER})
    examples = {"bad": ([(thing,) for thing in things], labels)}
    given = {} if times is None else {"had": list(times)}
    return build(schema, MODES, facts, examples, times=given)


def learned(database: Database, memory: int | None = None) -> object:
    engine = MemoryEngine(database) if memory is None else MemoryEngine(database, memory)
    return fit(engine, database.examples_of("bad"), EffectOptions(n_steps=3, n_bags=2))


def test_what_would_take_too_long_is_left_out_and_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    database = events(60, ["x", "y", "z", "u", "v"])
    usual = learned(database)
    assert not any(each.reason == module.TOO_MUCH for each in usual.history.skipped)
    assert any("kind" in str(each.effect) for each in usual.model.effects)
    monkeypatch.setattr(module, "MOST_OF_PATH", 10)
    short = learned(database)
    assert any(each.reason == module.TOO_MUCH for each in short.history.skipped)
    assert not any("kind" in str(each.effect) or "paid" in str(each.effect) for each in short.model.effects)


def test_a_path_beyond_the_budget_is_left_out_and_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tallies, "LEAST_CELLS", 0)
    fitted = learned(events(60, ["x", "y", "z", "u", "v"]), memory=1)
    assert fitted.model.effects == ()
    assert any("had(A," in str(each.clause) for each in fitted.history.skipped)


def test_dates_are_offered_as_first_dates_and_as_times_since_them(monkeypatch: pytest.MonkeyPatch) -> None:
    offered: list[str] = []
    add = Pool.add

    def noted(self: Pool, request: FeatureRequest, *rest: object) -> None:
        body = ", ".join(map(str, request.body))
        if "on(" in body or "born(" in body:
            offered.append(f"{request.feature.kind} of {request.body[-1].predicate}")
        add(self, request, *rest)

    monkeypatch.setattr(Pool, "add", noted)
    things = [f"t{number}" for number in range(40)]
    days = [f"2001-01-{1 + number % 28:02d}" for number in range(80)]
    modes = tuple(
        map(parse_mode, ("bad(+one).", "had(+one,-event).", "on(+event,-day).", "born(+one,-day)."))
    )
    facts = {
        "had": [[thing for thing in things for _ in range(2)], [f"e{number}" for number in range(80)]],
        "on": [[f"e{number}" for number in range(80)], days],
        "born": [things, days[:40]],
    }
    schema = Schema(schema_of(modes).predicates, {"day": DATE})
    labels = [number % 2 for number in range(40)]
    times = {"had": [float(DAY * (11_323 + number % 28)) for number in range(80)]}
    database = build(schema, modes, facts, {"bad": ([(thing,) for thing in things], labels)}, times=times)
    learned(database)
    assert {"value of born", "min of on"} <= set(offered)
    assert not any(text.startswith("since") for text in offered)
    offered.clear()
    examples = database.examples_of("bad")
    cutoffs = database.cutoff_codes(np.full(40, 11_400.0 * DAY))
    dated = replace(database, origin={"times": "date"})
    keys = np.column_stack([examples.keys, cutoffs])
    fit(MemoryEngine(dated), replace(examples, keys=keys), EffectOptions(n_steps=3, n_bags=2))
    assert {"since of born", "since of on"} <= set(offered)
    assert not any(text.startswith(("value", "min")) for text in offered)


def test_numbers_that_a_loss_cannot_learn_are_refused() -> None:
    database = events(20, ["x", "y"])
    examples = database.examples_of("bad")
    numbers = replace(examples, values=np.arange(20.0) - 5.0)
    with pytest.raises(DataError, match='"bad" holds numbers, which the loss logistic cannot learn'):
        fit(MemoryEngine(database), numbers, EffectOptions(loss="logistic"))
    with pytest.raises(DataError, match='"bad" cannot be learned: '):
        fit(MemoryEngine(database), numbers, EffectOptions(loss="poisson"))


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The features that are offered from now on, as text."""
    texts: list[str] = []
    add = Pool.add

    def noted(self: Pool, request: FeatureRequest, *rest: object) -> None:
        texts.append(f"{request.feature} : {', '.join(map(str, request.body))}")
        add(self, request, *rest)

    monkeypatch.setattr(Pool, "add", noted)
    return texts


@pytest.mark.parametrize(
    ("words", "tried"),
    [("cbacba", {"a", "b"}), ("bbbaacc", {"a", "b"}), ("cccbba", {"b", "c"})],
    ids=["equally frequent", "some equally frequent", "not equally frequent"],
)
def test_only_the_most_frequent_constants_are_tried(
    words: str, tried: set[str], offered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of equally frequent ones, the first by name."""
    monkeypatch.setattr(module, "MOST_CONSTANTS", 2)
    learned(events(len(words) * 6, words))
    start = "count : had(A,D), kind(D,E), E = "
    assert {text[-1] for text in offered if text.startswith(start) and len(text) == len(start) + 1} == tried


def test_what_a_link_with_times_offers(offered: list[str]) -> None:
    database = events(60, ["x", "y", "z", "u", "v"], [float(number) for number in range(120)])
    examples = database.examples_of("bad")
    keys = np.column_stack([examples.keys, database.cutoff_codes(np.full(60, 200.0))])
    fit(MemoryEngine(database), replace(examples, keys=keys), EffectOptions(n_steps=2, n_bags=2))
    whole = {text.partition(" : ")[0] for text in offered if text.endswith(" : had(A,D)")}
    assert whole == {"count", "distinct D", "since first", "since last"}
    paid = {text.partition(" : ")[0] for text in offered if text.endswith(" : had(A,D), paid(D,F)")}
    assert paid == {"mean F", "sum F", "min F", "max F", "spread F", "first F", "last F"}
    limited = [text for text in offered if " : last 3 had(A," in text and "paid(" in text]
    assert {text.partition(" : ")[0].split()[0] for text in limited} == {"mean", "min", "max", "share"}
    assert len([text for text in limited if text.startswith("share")]) == 4, "few thresholds"
    all_facts = [text for text in offered if text.startswith("share : had(A,D), paid(D,F), F >= ")]
    assert len(all_facts) > 4
    assert not any(text.startswith("share : had(A,D), paid(D,F), F < ") for text in offered)
    offered.clear()
    learned(database)
    assert not any(text.startswith(("since", "first", "last")) or "last " in text for text in offered)


def general(offered: list[str]) -> set[str]:
    """The features of all things alike: the thing that had an event is not the example's."""
    return {text for text in offered if " had(" in text and "had(A," not in text}


def test_cut_offs_offer_what_happened_to_all_things(offered: list[str]) -> None:
    database = events(60, ["x", "y", "z", "u", "v"], [float(number) for number in range(120)])
    examples = database.examples_of("bad")
    cutoffs = np.repeat(np.arange(10.0, 130.0, 20.0), 10)
    keys = np.column_stack([examples.keys, database.cutoff_codes(cutoffs)])
    fit(MemoryEngine(database), replace(examples, keys=keys), EffectOptions(n_steps=2, n_bags=2))
    kinds = {text.split()[0] for text in general(offered)}
    assert kinds == {"count", "mean", "share", "distinct"}
    assert all(" within " in text and " last " not in text for text in general(offered))
    assert len({text.partition(" had(")[0] for text in general(offered) if text.startswith("count")}) == 3
    offered.clear()
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(module, "MOST_OF_GENERAL", 10)
        fit(MemoryEngine(database), replace(examples, keys=keys), EffectOptions(n_steps=2, n_bags=2))
    assert {text.split()[0] for text in general(offered)} == {"count"}, "too many for their attributes"
    offered.clear()
    learned(database)
    assert not general(offered), "without cut-offs all examples would have the same value"


@every_quick_engine
def test_what_happened_to_all_things_is_tallied_once_for_each_cut_off(engine: type[Engine]) -> None:
    """The values of examples are those of their cut-off, with ties in time and nothing before the first."""
    times = [5.0, 5.0, 6.0, 30.0, 31.0, 31.0, 50.0, 70.0, 90.0, 90.0, 100.0, 110.0] * 10
    database = events(60, ["x", "y", "z"], times)
    different = [5.0, 6.0, 31.0, 32.0, 60.0, 95.0, 115.0, 200.0]
    cutoffs = np.resize(different, 60)
    examples = database.examples_of("bad")
    keys = np.column_stack([examples.keys, database.cutoff_codes(cutoffs)])
    made = engine(database)
    finder = PathFinder(Vocabulary(database, "bad"), Atom("bad", (0,)), {"had": (10.0, 60.0)}, 1)
    paths = [path for path in finder.paths() if path.general]
    assert len(paths) == 2
    offers = PathSettings(Atom("bad", (0,)), keys, 8, 1, 4, BodyLimits(), True).offers(made, 1 << 30)
    for path in paths:
        offers.of_path(path)
    assert len(offers.pool.candidates) > 4
    requests = [candidate.request for candidate in offers.pool.candidates]
    values = list(NaiveEngine(database).features(requests, keys))
    for candidate, row, expected in zip(offers.pool.candidates, offers.pool.rows, values, strict=True):
        assert isinstance(expected, np.ndarray)
        assert row.tolist() == bins_of(expected, candidate.cuts).tolist(), candidate.request
        assert len({(cutoff, value) for cutoff, value in zip(cutoffs, row, strict=True)}) == len(different)
    first = next(place for place, each in enumerate(requests) if each.feature.kind == COUNT)
    within = requests[first].body[0].within
    facts = np.array(times)
    assert values[first].tolist() == [
        float(((facts < cutoff) & (facts >= cutoff - within)).sum()) for cutoff in cutoffs
    ]


def test_the_default_finds_what_happened_to_all_things() -> None:
    """The label depends on how many events there were of late, not on the example's own."""
    random = np.random.default_rng(0)
    days = np.repeat(np.arange(0.0, 400.0, 2.0), random.integers(1, 12, 200))
    size = len(days)
    things = [f"t{number}" for number in random.integers(0, 100, size)]
    cutoffs = random.integers(20, 400, 400).astype(np.float64)
    recent = np.array([((days < at) & (days >= at - 6.0)).sum() for at in cutoffs])
    labels = (random.random(400) < 1.0 / (1.0 + np.exp(-(recent - np.median(recent)) / 2.0))).astype(int)
    names = [f"t{number}" for number in random.integers(0, 100, 400)]
    pairs = sorted(dict(zip(zip(names, cutoffs.tolist(), strict=True), labels.tolist(), strict=True)).items())
    facts = {"had": [things, [f"e{number}" for number in range(size)]]}
    modes = MODES[:2]
    ranges = {"one": [f"t{number}" for number in range(100)]}
    database = build(schema_of(modes), modes, facts, times={"had": days.tolist()}, ranges=ranges)
    thing = database.population("one").encode([name for (name, _), _ in pairs])
    codes = database.cutoff_codes(np.array([at for (_, at), _ in pairs]))
    labelled = np.array([label for _, label in pairs])
    examples = Examples("bad", np.column_stack([thing, codes]), labelled)
    model = fit(MemoryEngine(database), examples, EffectOptions()).model
    assert model.effects
    best = str(model.effects[0].effect)
    assert best.startswith("count") and "within " in best and "(A," not in best.partition(":-")[2]


def test_pairs_are_offered_the_share_of_what_both_have(offered: list[str]) -> None:
    modes = tuple(map(parse_mode, ("near(+one,+one).", "had(+one,-event).")))
    things = [f"t{number}" for number in range(8)]
    rows = [(thing, f"e{(number + more) % 5}") for number, thing in enumerate(things) for more in range(3)]
    pairs = [(one, other) for one in things for other in things if one != other]
    labels = [int(number % 3 == 0) for number in range(len(pairs))]
    facts = {"had": [list(column) for column in zip(*rows, strict=True)]}
    database = build(schema_of(modes), modes, facts, {"near": (pairs, labels)})
    fit(MemoryEngine(database), database.examples_of("near"), EffectOptions(n_steps=2, n_bags=2))
    assert any(text.startswith("share : had(A,") and "had(B," in text for text in offered)


def test_scores_of_bins_are_their_means_in_standard_deviations() -> None:
    values = np.array([1.0, 1.0, 1.0, 4.0, nan])
    bins = np.array([1, 1, 1, 2, 0], dtype=np.uint8)
    deviation = np.sqrt((3 * 0.75**2 + 2.25**2) / 5)
    expected = (0.0, -0.75 / deviation, 2.25 / deviation)
    assert scores_of(values, bins, 1, False) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("power", [-1060, -300, -20, 0, 20, 330, 1000])
def test_scores_of_bins_have_no_unit(power: int) -> None:
    values = np.array([1.0, -3.0, 7.0, 4.0, nan, 0.0, 11.0])
    bins = np.array([2, 1, 3, 2, 0, 1, 3], dtype=np.uint8)
    scaled = np.ldexp(values, power)
    assert scores_of(scaled, bins, 2, False) == pytest.approx(scores_of(values, bins, 2, False), abs=1e-5)
    assert scores_of(np.zeros(7), bins, 2, False) == (0.0,) * 4


def test_windows_are_shorter_than_the_span_of_times() -> None:
    day = 86_400_000_000.0

    def windows(*times: float, dated: bool = False) -> tuple[float, ...]:
        database = events(3, ["x"], [times[0]] * (7 - len(times)) + list(times[1:]))
        database = replace(database, origin={"times": "date"}) if dated else database
        return windows_of(database, database.examples_of("bad")).get("had", ())

    assert windows(0.0, 100.0 * day, dated=True) == (30.0, 90.0)
    assert windows(0.0, 90.0 * day, dated=True) == (30.0,), "not as long as the span"
    assert windows(0.0, 90.0 * day + 10.0, dated=True) == (30.0, 90.0)
    assert windows(0.0, 365.5 * day, dated=True) == (30.0, 90.0, 365.0)
    assert windows(0.0, 30.0 * day, dated=True) == ()
    # Numbers: the shortest text between half and whole of a 64th, a 16th and a quarter of the span.
    assert windows(0.0, 64.0) == (1.0, 3.0, 10.0)
    assert windows(0.0, 0.64) == (0.01, 0.03, 0.1)
    assert windows(100.0, 100.992) == (0.01, 0.05, 0.2)
    short = events(3, ["x"], [0.0] * 5 + [day])
    short = replace(short, origin={"times": "date"})
    assert windows_of(short, short.examples_of("bad")) == {"had": ()}, "the last facts are offered"
    for times in ((5.0,), (-inf,), (-inf, 5.0, inf)):
        assert windows(*times) == (), "no span"
    untimed = events(3, ["x"])
    assert windows_of(untimed, untimed.examples_of("bad")) == {}


@every_quick_engine
def test_the_last_facts_are_offered_however_short_the_span_of_times_is(engine: type[Engine]) -> None:
    """All facts lie within three days, so there are no windows; the last three amounts decide."""
    random = np.random.default_rng(0)
    n, hour = 120, 3_600_000_000.0
    things = [f"t{number}" for number in range(n)]
    of_event = [thing for thing in things for _ in range(6)]
    names = [f"e{number}" for number in range(6 * n)]
    amounts = random.integers(0, 50, 6 * n)
    facts = {"had": [of_event, names], "paid": [names, [str(each) for each in amounts]]}
    modes = (MODES[0], MODES[1], MODES[3])
    schema = Schema(schema_of(modes).predicates, {"much": NUMBER})
    turns = random.permuted(np.tile(np.arange(6.0), (n, 1)), axis=1)
    last_mean = (amounts.reshape(n, 6) * (turns >= 3)).sum(axis=1) / 3
    examples = {"bad": ([(thing,) for thing in things], (last_mean >= 25).astype(int).tolist())}
    times = {"had": (turns.ravel() * 12.0 * hour).tolist()}
    database = build(schema, modes, facts, examples, times=times)
    database = replace(database, origin={"times": "date"})
    given = database.examples_of("bad")
    keys = np.column_stack([given.keys, database.cutoff_codes(np.full(n, 100.0 * hour))])
    model = fit(engine(database), replace(given, keys=keys), EffectOptions(n_bags=3, n_steps=40)).model
    assert str(model.effects[0].effect).startswith("mean") and "last 3 had(" in str(model.effects[0].effect)


def test_examples_of_one_stretch_of_time_stay_together() -> None:
    n = 4 * STRETCHES
    database = events(n, ["x", "y"], [float(number) for number in range(2 * n)])
    plain = database.examples_of("bad").keys
    cutoffs = np.arange(n, dtype=np.float64) // 2
    keys = np.column_stack([plain, database.cutoff_codes(cutoffs)])
    engine = MemoryEngine(database)
    hashes = example_hashes(engine, "bad", keys, EffectOptions())
    assert len(np.unique(hashes)) == STRETCHES
    in_order = np.flatnonzero(np.diff(np.unique(hashes, return_inverse=True)[1]))
    assert (np.diff(in_order) == 4).all(), "stretches have equal numbers of cut-offs"
    assert (hashes != example_hashes(engine, "bad", keys, EffectOptions(seed=1))).all()

    def n_parts(n_cutoffs: int) -> int:
        """The number of parts of the same examples with so many different cut-offs."""
        fewer = np.column_stack([plain, database.cutoff_codes(cutoffs % n_cutoffs)])
        return len(np.unique(example_hashes(engine, "bad", fewer, EffectOptions())))

    assert n_parts(2 * STRETCHES - 1) == STRETCHES - 1, "a stretch has at least two cut-offs"
    assert n_parts(2 * LEAST_STRETCHES) == LEAST_STRETCHES
    assert n_parts(2 * LEAST_STRETCHES - 1) == n, "too few cut-offs"


def test_a_bag_has_all_examples_of_a_thing_in_a_window_of_time_or_none() -> None:
    database = events(3, ["x", "y"], [float(number) for number in range(6)])
    plain = np.repeat(database.examples_of("bad").keys, 40, axis=0)
    keys = np.column_stack([plain, database.cutoff_codes(np.tile(np.arange(40.0) // 3, 3))])
    hashes = example_hashes(MemoryEngine(database), "bad", keys, EffectOptions())
    windows = windows_of_time(database, "bad", keys)
    assert windows is not None
    parts = np.unique(np.stack([hashes, windows.astype(np.uint64)]), axis=1, return_inverse=True)[1].ravel()
    assert len(set(parts)) == 3 * WINDOWS
    bags = design(hashes, 20, windows).weights[:, :20]
    whole = [bags[parts == part] for part in set(parts)]
    assert all((each == each[0]).all() for each in whole)
    shares = np.array([each[0] for each in whole]).mean(axis=0)
    assert (shares > 0.5).all() and shares.mean() == pytest.approx(0.85, abs=0.05)
    assert len(set(map(bytes, bags.T))) == 20, "few things make different bags"


@given(st.lists(st.integers(0, 30), min_size=1, max_size=200), st.integers(1, 3))
def test_models_are_judged_on_the_examples_right_after_those_they_learn_from(numbers, n_bags) -> None:
    database = events(len(numbers), ["x", "y"], [float(number) for number in range(2 * len(numbers))])
    cutoffs = np.array(numbers, dtype=np.float64)
    keys = np.column_stack([database.examples_of("bad").keys, database.cutoff_codes(cutoffs)])
    windows = windows_of_time(database, "bad", keys)
    if windows is None:
        often = max(numbers.count(number) for number in numbers)
        few = len(numbers) < LEAST_WINDOWS * LEAST_EXAMPLES or len(set(numbers)) < LEAST_WINDOWS
        assert few or often >= len(numbers) / 4, "most examples are at one time"
        return
    assert len(set(windows)) >= LEAST_WINDOWS
    order = np.argsort(cutoffs, kind="stable")
    assert (np.diff(windows[order]) >= 0).all(), "windows are in order of time"
    assert all(len(set(windows[cutoffs == cutoff])) == 1 for cutoff in cutoffs)
    assert set(windows) == set(range(max(windows) + 1)) and max(windows) < WINDOWS
    bags = design(example_hashes(MemoryEngine(database), "bad", keys, EffectOptions()), n_bags, windows)
    assert bags.averaged == tuple(range(n_bags))
    assert not bags.judged[:, :n_bags].any(), "bags have examples of all times, and judge nothing"
    if n_bags == 1:
        assert bags.weights[:, 0].all()
    judges = range(n_bags, bags.weights.shape[1])
    assert len(judges) == (max(windows) + 1) // 2
    for model in judges:
        inside, judged = bags.weights[:, model] > 0, bags.judged[:, model] > 0
        assert inside.any() and judged.any()
        assert cutoffs[inside].max() < cutoffs[judged].min()
        between = (cutoffs > cutoffs[inside].max()) & (cutoffs < cutoffs[judged].min())
        assert not between.any()
    assert (bags.judged.sum(axis=1) <= 1).all(), "an example judges one model at most"


def test_a_judge_that_has_not_seen_both_labels_is_left_out() -> None:
    windows = np.repeat(np.arange(10), 20)
    hashes = np.arange(200, dtype=np.uint64)
    bags = design(hashes, 3, windows)
    assert bags.judged.any(axis=0).tolist() == [False] * 3 + [True] * 5

    def judges(targets: np.ndarray) -> list[int] | None:
        """The windows on which the judges that are left are judged."""
        left = without_uninformed_judges(bags, targets)
        assert left is None or left.averaged == (0, 1, 2)
        return None if left is None else [int(windows[own > 0][0]) for own in left.judged.T[3:]]

    each = np.arange(200) % 2
    assert judges(each.astype(float)) == [5, 6, 7, 8, 9]
    assert judges(np.where(windows >= 7, each, 0).astype(float)) == [8, 9], "a third of the positives"
    assert judges(np.where(windows == 9, each, 0).astype(float)) is None
    assert judges(np.where(windows >= 6, np.arange(200.0), 0.0)) == [7, 8, 9], "numbers must differ"
