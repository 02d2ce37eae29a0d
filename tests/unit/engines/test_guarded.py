"""Guarded false counts in learning, model files, explanations, reports and exported queries."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.data.build import build
from hornbeam.data.database import Codes, Database
from hornbeam.datasets.worlds import smokers
from hornbeam.engines.clauses.contract import Counts, Sums
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.clauses.counting.count_cache import CountCache
from hornbeam.engines.clauses.counting.guarded import new_total
from hornbeam.engines.clauses.vectors.counter import VectorCounter
from hornbeam.engines.contract import Skipped
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.errors import LimitError
from hornbeam.learning.boosting.boost import fit
from hornbeam.learning.boosting.choice import best_guarded
from hornbeam.learning.boosting.columns import Columns
from hornbeam.learning.loop import Control
from hornbeam.learning.numbers import GRADIENT_BITS
from hornbeam.learning.options import PaperOptions
from hornbeam.learning.search.ridge import guarded_fit
from hornbeam.logic.clauses import Clause
from hornbeam.logic.guards import guard_of
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.explain import explain
from hornbeam.model.features import SHARE
from hornbeam.model.files import model_text, parse_model
from hornbeam.report.numbers.examples_data import examples_data
from hornbeam.report.numbers.measurements import measure
from plain_options import joint, plain
from sql_systems import SYSTEMS, opened

SCHEMA = Schema({"risk": ("person",), "friends": ("person", "person"), "smokes": ("person",)})
FRIENDS = [("ann", "bob"), ("ann", "cat"), ("ann", "dan"), ("bob", "ann"), ("cat", "dan"), ("cat", "bob")]
SMOKES = ["bob", "dan"]
KEYS = ["ann", "bob", "cat", "dan"]


@pytest.fixture(scope="module")
def small() -> Database:
    facts = {"friends": [list(column) for column in zip(*FRIENDS, strict=True)], "smokes": [SMOKES]}
    return build(SCHEMA, (), facts, {"risk": ([(key,) for key in KEYS], [1, 1, 1, 1])})


def model(*clauses: WeightedClause, **settings: str) -> Model:
    return Model("risk", SCHEMA, -0.5, clauses, {"false_counts": "guarded", **settings})


def weighted(
    text: str, weights: tuple[float, float, float], total: int = 1, reading: str = "count"
) -> WeightedClause:
    return WeightedClause(parse_clause(text, SCHEMA), weights, total, reading)


FRIENDS_SMOKE = "risk(A) :- friends(A,B), smokes(B)."
CLAUSES = (
    weighted(FRIENDS_SMOKE, (0.25, 2.0, -1.0)),
    weighted(FRIENDS_SMOKE, (0.0, 3.0, 0.0), reading=SHARE),
    weighted("risk(A) :- friends(A,B), friends(B,C).", (0.0, 0.5, 0.125), total=4),
    weighted("risk(A) :- friends(A,B).", (0.0, 1.0, 0.75), total=4, reading="log"),
    weighted(FRIENDS_SMOKE, (0.0, 1.5, 0.5), reading="at least 2"),
)


def test_true_and_false_are_how_many_friends_smoke_and_how_many_do_not(small: Database) -> None:
    keys = small.examples_of("risk").keys
    (counts,) = model(CLAUSES[0]).counts(MemoryEngine(small), keys)
    assert counts.true.tolist() == [2, 0, 2, 0]
    assert [counts.false_of(place) for place in range(4)] == [1, 1, 0, 0]
    scores = model(CLAUSES[0]).scores(MemoryEngine(small), keys)
    assert scores.tolist() == [-0.5 + 0.25 + 4 - 1, -0.5 + 0.25 - 1, -0.5 + 0.25 + 4, -0.5 + 0.25]


def test_a_share_is_that_of_the_guard(small: Database) -> None:
    scores = model(CLAUSES[1]).scores(NaiveEngine(small), small.examples_of("risk").keys)
    assert scores.tolist() == pytest.approx([-0.5 + 3 * 2 / 3, -0.5, -0.5 + 3, -0.5])


def test_a_new_variable_of_the_last_literal_ranges_over_its_population(small: Database) -> None:
    keys = small.examples_of("risk").keys
    of_training, of_data = (
        model(CLAUSES[2], populations=populations).counts(MemoryEngine(small), keys)[0]
        for populations in ("training", "database")
    )
    assert of_training.within is not None
    assert of_data.within is not None
    # ann has three friends, and 4 persons may be a friend of each.
    assert of_training.within.tolist() == of_data.within.tolist() == [12, 4, 8, 0]


def test_no_guard_is_counted_where_no_false_count_is_weighed(
    small: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    count = VectorCounter.count

    def counting(self: VectorCounter, clauses: Sequence[Clause], keys: Codes) -> list[Counts | Skipped]:
        asked.extend(map(str, clauses))
        return count(self, clauses, keys)

    monkeypatch.setattr(VectorCounter, "count", counting)
    plain = weighted(FRIENDS_SMOKE, (0.0, 1.0, 0.0), reading="log")
    model(plain).scores(MemoryEngine(small), small.examples_of("risk").keys)
    assert asked == [FRIENDS_SMOKE]


def test_false_counts_go_beyond_int64_and_are_exact(small: Database) -> None:
    keys = small.examples_of("risk").keys
    whole = model(weighted("risk(A) :- friends(A,B), friends(B,C).", (0.0, 1.0, 2.0**-62), total=2**62))
    true = [3, 3, 1, 0]
    (counts,) = whole.counts(MemoryEngine(small), keys)
    assert counts.true.tolist() == true
    assert [counts.false_of(place) for place in range(4)] == [
        guard * 2**62 - each for guard, each in zip([3, 1, 2, 0], true, strict=True)
    ]
    assert whole.scores(MemoryEngine(small), keys).tolist() == [
        -0.5 + 3 + 3,
        -0.5 + 3 + 1,
        -0.5 + 1 + 2,
        -0.5,
    ]
    assert explain(whole, MemoryEngine(small), keys[0], ["ann"]).as_dict()["log_odds"] == 5.5


def test_a_guard_too_large_to_count_is_left_out_where_no_weight_asks_for_it() -> None:
    """What can be predicted can be explained and reported."""
    many = [f"p{number}" for number in range(1000)]
    facts = {"friends": [["ann"] * 1000 + ["bob"], [*many, "ann"]], "smokes": [["bob"]]}
    database = build(SCHEMA, (), facts, {"risk": ([("ann",), ("bob",)], [0, 1])})
    examples, engine = database.examples_of("risk"), MemoryEngine(database)
    # The guard of ann has 1,000**7 groundings, and none of them makes the clause true.
    body = ", ".join(f"friends(A,{name})" for name in "BCDEFGH")
    text = f"risk(A) :- {body}, smokes(A)."
    plain = model(weighted(FRIENDS_SMOKE, (0.0, 1.0, 0.0)), weighted(text, (0.0, 1.0, 0.0), reading="log"))
    names = database.names_of("risk", examples.keys)[:, 0].tolist()
    told = explain(plain, engine, examples.keys[names.index("ann")], ["ann"])
    assert [reason.as_dict()["false"] for reason in told.reasons] == [1000, None]
    parts = examples_data(measure(plain, engine, examples), engine)["parts"]
    assert ["within" in part for part in parts] == [True, False]
    assert ["total" in part for part in parts] == [False, False]
    # If a weight multiplies the false count, neither is possible.
    weighing = model(weighted(text, (0.0, 1.0, 1.0)))
    for ask in (weighing.scores, weighing.counts):
        with pytest.raises(LimitError, match="cannot be counted: its true count may exceed int64"):
            ask(engine, examples.keys)


def test_an_empty_body_has_no_guard(small: Database) -> None:
    keys = small.examples_of("risk").keys
    (counts,) = model(weighted("risk(A).", (0.0, 1.0, 1.0)), populations="database").counts(
        MemoryEngine(small), keys
    )
    assert (counts.true.tolist(), counts.totals) == ([1, 1, 1, 1], 1)


def test_a_file_keeps_them() -> None:
    text = model_text(model(*CLAUSES))
    assert json.loads(text)["settings"]["false_counts"] == "guarded"
    again = parse_model(text)
    assert again == model(*CLAUSES)
    assert again.guarded  # type: ignore[attr-defined]


def test_compact_adds_up_clauses_of_one_order_only(small: Database) -> None:
    turned = weighted("risk(A) :- smokes(B), friends(A,B).", (0.0, 1.0, 1.0))
    whole = model(CLAUSES[0], turned, CLAUSES[0])
    assert len(whole.compact().clauses) == 2
    keys = small.examples_of("risk").keys
    found = whole.compact().scores(MemoryEngine(small), keys)
    assert found == pytest.approx(whole.scores(MemoryEngine(small), keys), abs=1e-12)


def test_an_explanation_tells_what_the_share_is_of(small: Database) -> None:
    keys = small.examples_of("risk").keys
    found = explain(model(*CLAUSES[:2]), MemoryEngine(small), keys[0], ("ann",))
    by_feature = {reason.feature: reason for reason in found.reasons}  # type: ignore[attr-defined]
    assert by_feature["count"].false == 1
    assert by_feature[SHARE].because(("ann",)) == (
        "friends(ann,B), smokes(B) is true for 2 values of B, out of 3 without the last condition"
    )
    assert model(CLAUSES[1])._repr_html_().count("the share with smokes(B) of the persons B") == 1


@pytest.mark.parametrize("system", [*SYSTEMS, "sqlite"])
@pytest.mark.parametrize("populations", ["training", "database"])
def test_a_query_scores_as_the_model_does(small: Database, system: str, populations: str) -> None:
    whole = model(*CLAUSES, populations=populations)
    expected = whole.probabilities(MemoryEngine(small), small.examples_of("risk").keys)
    with opened(system) as run:
        text = "STRING" if system == "spark" else "TEXT"
        tables = {
            "friends": FRIENDS,
            "smokes": [(name,) for name in SMOKES],
            "examples": [(key,) for key in KEYS],
        }
        for name, rows in tables.items():
            columns = ", ".join(f"arg{number + 1}" for number in range(len(rows[0])))
            values = " UNION ALL ".join(
                "SELECT "
                + ", ".join(f"CAST('{value}' AS {text}) AS arg{place + 1}" for place, value in enumerate(row))
                for row in rows
            )
            kind = "VIEW" if system == "spark" else "TABLE"
            run(f"CREATE TEMPORARY {kind} {name} AS SELECT {columns} FROM ({values}) AS v")
        found = run(whole.sql(system))
    by_key = {row[0]: row[-1] for row in found}
    assert [float(by_key[key]) for key in KEYS] == pytest.approx(expected.tolist(), abs=1e-9)  # type: ignore[arg-type]


# --- learning -----------------------------------------------------------------------------------


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(-(2**30), 2**30)),
        min_size=1,
        max_size=12,
    ),
    l2=st.sampled_from([0.1, 1.0, 1000.0]),
)
def test_the_fit_is_ridge_regression(rows: list[tuple[int, int, int]], l2: float) -> None:
    true, false, slopes = (np.array(column) for column in zip(*rows, strict=True))
    found = guarded_fit(true, false, slopes, l2)
    columns = np.stack([np.ones(len(rows)), true, false], axis=1)
    right = np.linalg.solve(columns.T @ columns + l2 * np.eye(3), columns.T @ (slopes / 2.0**GRADIENT_BITS))
    assert found.weights == pytest.approx(right.tolist(), rel=1e-6, abs=1e-9)
    gain = float(found.gain) / 4**GRADIENT_BITS
    error = np.sum((columns @ right - slopes / 2.0**GRADIENT_BITS) ** 2)
    assert gain == pytest.approx(np.sum((slopes / 2.0**GRADIENT_BITS) ** 2) - error, rel=1e-6, abs=1e-9)


OPTIONS = {
    "one by one": plain(n_steps=3, l2=1.0, max_literals=2, neg_pos_ratio=None, false_counts="guarded"),
    "jointly": joint(n_steps=4, max_literals=2, false_counts="guarded"),
}
ways = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())


@ways
def test_scores_of_the_model_are_those_of_the_fit(options: PaperOptions) -> None:
    database = smokers(n_persons=40, seed=4)
    examples = database.examples_of("cancer")
    fitted = fit(MemoryEngine(database), examples, options)
    scores = fitted.model.scores(MemoryEngine(database), examples.keys)
    if options.refit:
        loss = np.mean(np.logaddexp(0, np.where(examples.labels == 1, -scores, scores)))
        assert loss <= fitted.history.steps[0].log_loss
    else:
        chances = 1 / (1 + np.exp(-scores))
        last = fitted.history.steps[-1]
        assert np.mean(-np.log(np.where(examples.labels == 1, chances, 1 - chances))) == pytest.approx(
            last.log_loss
        )
    slow = fit(NaiveEngine(database), examples, options)
    assert model_text(slow.model) == model_text(fitted.model)


@pytest.mark.parametrize("feature", ["count", "log"])
@pytest.mark.parametrize("refit", [False, True])
def test_totals_are_those_of_the_last_literal(feature: str, refit: bool) -> None:
    database = smokers(n_persons=60, seed=4)
    examples, engine = database.examples_of("cancer"), MemoryEngine(database)
    options = joint(
        n_steps=3, max_literals=2, false_counts="guarded", feature=feature, refit=refit, stop="full"
    )
    found = fit(engine, examples, options).model
    assert any(len(each.clause.body) > 1 for each in found.clauses)
    assert [each.total for each in found.clauses] == [
        new_total(counter_of(engine), each.clause) for each in found.clauses
    ]


@pytest.mark.parametrize(("total", "chosen"), [(2**61, True), (2**62, False)])
def test_groundings_beyond_what_can_be_counted_are_not_chosen(
    small: Database, total: int, chosen: bool
) -> None:
    keys = small.examples_of("risk").keys
    session = CountCache(counter_of(MemoryEngine(small)), keys)
    session.set_gradients(slopes := np.array([1, -1, 1, -1]) << 28)
    columns = Columns(session.columns, guards=session.sums)
    clause = parse_clause("risk(A) :- friends(A,B), friends(B,C).", SCHEMA)
    # A person has three friends: three times 2**62 exceeds int64.
    found = best_guarded([clause], columns, lambda _: total, slopes, 1.0)
    assert (found is not None) == chosen


def test_a_guard_that_cannot_be_counted_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    database = smokers(n_persons=40, seed=4)
    examples, engine = database.examples_of("cancer"), MemoryEngine(database)
    refused = Skipped(parse_clause("cancer(A) :- friends(A,B).", database.schema), "too large", 2, 1)

    class Fewer(Columns):
        def __init__(self, count, budget, guards):  # type: ignore[no-untyped-def]
            super().__init__(count, budget, lambda clauses: without(guards(clauses)))

    def without(sums: Sums) -> Sums:
        known = [clause for clause in sums.clauses if clause != refused.clause]
        return replace(sums, clauses=known, skipped=(refused,) if len(known) < len(sums.clauses) else ())

    monkeypatch.setattr("hornbeam.learning.boosting.boost.Columns", Fewer)
    fitted = fit(engine, examples, OPTIONS["one by one"])
    assert fitted.history.skipped == (refused,)
    assert fitted.history.steps
    assert refused.clause not in [guard_of(each.clause) for each in fitted.model.clauses]


@ways
def test_a_fit_that_goes_on_ends_as_if_never_stopped(options: PaperOptions, tmp_path: Path) -> None:
    database = smokers(n_persons=200, seed=4)
    examples = database.examples_of("cancer")
    arguments = (MemoryEngine(database), examples)
    whole = fit(*arguments, options).model
    steps: list[object] = []

    def stop() -> str | None:
        return "enough" if len(steps) == 2 else None

    fit(*arguments, options, Control(steps.append, tmp_path, stop))
    again = fit(*arguments, options, Control(checkpoint=tmp_path))
    assert model_text(again.model) == model_text(whole)
