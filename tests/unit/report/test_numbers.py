"""What reports are drawn from: curves, spreads, samples, sentences, packed columns."""

import base64
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.data.build import build
from hornbeam.data.ranking import ranking
from hornbeam.datasets.worlds import smokers
from hornbeam.drawing.axes import ticks
from hornbeam.drawing.markup import percent_text
from hornbeam.engines.registry import open_engine
from hornbeam.logic.english.clauses import sentence, text_of
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.evaluate import evaluate
from hornbeam.model.features import LOG
from hornbeam.report.numbers.constants import strongest_constants
from hornbeam.report.numbers.curves import calibration, histogram, thinned
from hornbeam.report.numbers.evidence import PER_CLAUSE, find_evidence
from hornbeam.report.numbers.examples_data import examples_data, packed
from hornbeam.report.numbers.measurements import choose_examples, measure
from hornbeam.report.plots.predictions import LOOKED_AT, gain_plot, roc_plot

labelled = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])), min_size=2, max_size=40
).filter(lambda rows: {label for label, _ in rows} == {0, 1})


@given(labelled)
def test_the_area_under_the_drawn_curve_is_the_score(rows):
    labels, probabilities = (np.array(column) for column in zip(*rows, strict=True))
    found, scores = ranking(labels, probabilities), evaluate(labels, probabilities, draws=1)
    x, y = found.roc()
    assert np.trapezoid(y, x) == pytest.approx(scores.auc_roc)
    recall, precision = found.precision_recall()
    assert (np.diff(np.concatenate([[0.0], recall])) * precision).sum() == pytest.approx(scores.auc_pr)


@given(labelled)
def test_the_gain_is_what_a_random_order_of_equal_examples_finds_on_average(rows):
    labels, probabilities = (np.array(column) for column in zip(*rows, strict=True))
    order = np.argsort(-probabilities, kind="stable")
    ranked, sure = labels[order], probabilities[order]
    mean = np.array([ranked[sure == each].mean() for each in sure])
    looked, found = (
        np.arange(len(rows) + 1) / len(rows),
        np.concatenate([[0.0], mean.cumsum()]) / labels.sum(),
    )
    for share, (_, part, lift) in zip(LOOKED_AT, gain_plot(labels, probabilities).rows, strict=True):
        expected = float(np.interp(share, looked, found))
        assert part == percent_text(expected, 1)
        assert float(lift) == pytest.approx(expected / share, abs=0.0051)


@given(labelled, st.floats(0, 1))
def test_a_threshold_counts_what_is_at_least_that(rows, threshold):
    labels, probabilities = (np.array(column) for column in zip(*rows, strict=True))
    above = probabilities >= threshold
    expected = (int((above & (labels == 1)).sum()), int((above & (labels == 0)).sum()))
    assert ranking(labels, probabilities).at(threshold) == expected


@given(labelled)
def test_every_example_is_in_one_bin_of_its_own_probability(rows):
    labels, probabilities = (np.array(column) for column in zip(*rows, strict=True))
    bins = calibration(labels, probabilities, 3)
    assert sum(each.examples for each in bins) == len(rows)
    assert sum(each.examples * each.share for each in bins) == pytest.approx(labels.sum())
    assert [each.mean for each in bins] == sorted({each.mean for each in bins})
    assert all(each.low <= each.share + 1e-12 and each.share <= each.high + 1e-12 for each in bins)


def test_a_thinned_curve_keeps_its_ends_and_its_shape():
    x = np.linspace(0.0, 1.0, 10_000)
    few_x, few_y = thinned(x, np.sqrt(x), 200)
    assert len(few_x) <= 202
    assert (few_x[0], few_x[-1]) == (0.0, 1.0)
    assert np.trapezoid(few_y, few_x) == pytest.approx(2 / 3, abs=1e-3)


def test_what_lies_outside_belongs_to_the_last_interval():
    assert histogram(np.array([-9.0, 0.5, 1.5, 9.0]), [0.0, 1.0, 2.0]).tolist() == [2, 2]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300))
def test_packed_columns_hold_every_value(values):
    column = np.array(values)
    found = packed(column)
    codes = np.frombuffer(base64.b64decode(found["codes"]), dtype=f"<u{found['bytes']}")
    assert [found["values"][code] for code in codes] == values


@given(st.floats(-1e9, 1e9), st.floats(1e-9, 1e9))
def test_ticks_lie_within(low, width):
    marks = ticks(low, low + width)
    assert all(low - 1e-6 * width <= each <= low + 1.000001 * width for each in marks)
    assert len(marks) <= 12


def test_few_examples_are_all_shown_and_many_are_spread():
    labels = np.array([1] * 30 + [0] * 970, dtype=np.int8)
    probabilities = np.linspace(1.0, 0.0, 1000)
    rows, how = choose_examples(labels, probabilities, 1000)
    assert (rows.tolist(), how) == (list(range(1000)), "")
    rows, how = choose_examples(labels, probabilities, 100)
    assert len(set(rows.tolist())) == 100
    assert set(range(30)) <= set(rows.tolist())
    assert set(range(30, 65)) <= set(rows.tolist())
    assert rows.max() == 999
    assert how.startswith("100 of 1,000 examples: all positives, the 35 others")


@pytest.fixture(scope="module")
def small():
    database = smokers(n_persons=60, seed=3)
    schema = database.schema
    clauses = [
        WeightedClause(parse_clause(text, schema), weights, 60)
        for text, weights in [
            ("cancer(A) :- friends(A,B), smokes(B).", (0.1, 0.4, -0.01)),
            ("cancer(A) :- smokes(A).", (0.0, 1.0, -0.5)),
        ]
    ]
    model = Model("cancer", schema, -1.0, tuple(clauses), {"populations": "training"})
    engine = open_engine("memory", database)
    return model, engine, measure(model, engine, database.examples_of("cancer"))


def test_contributions_and_prior_add_up_to_the_models_scores(small):
    model, engine, measurements = small
    keys = measurements.examples.keys
    assert measurements.log_odds.tolist() == model.scores(engine, keys).tolist()
    assert (model.prior + measurements.shown.contributions.sum(axis=1)).tolist() == pytest.approx(
        measurements.log_odds[measurements.shown.rows].tolist()
    )


def test_spreads_are_quantiles_of_what_the_model_adds(small):
    model, engine, measurements = small
    first = next(iter(model.contributions(engine, measurements.examples.keys)))
    spread = measurements.summaries[0]
    assert tuple(spread.all) == pytest.approx(np.quantile(first, [0.05, 0.25, 0.5, 0.75, 0.95]))
    positive = first[measurements.examples.labels == 1]
    assert spread.positives.median == pytest.approx(np.median(positive))


def test_groundings_are_as_many_as_the_count_up_to_the_limit(small):
    _, engine, measurements = small
    found = find_evidence(measurements, engine.database)
    assert found.complete
    counts = measurements.shown.counts[0].true.tolist()
    by_row = found.by_part[0]
    assert {row: len(each) for row, each in by_row.items()} == {
        row: min(count, PER_CLAUSE) for row, count in enumerate(counts) if count
    }


@pytest.mark.parametrize(
    ("clause", "rises", "said"),
    [
        (
            "t(A) :- r(A,B), B >= 3.",
            True,
            "t(A) is likelier the more sizes B there are with r(A, B) and B ≥ 3.",
        ),
        ("t(A) :- not q(A).", False, "t(A) is less likely if not q(A)."),
        ("t(A) :- r(A,5), q(A).", None, "t(A) depends on whether r(A, 5) and q(A)."),
        (
            "t(A) :- r(A,B), r(C,B).",
            True,
            "t(A) is likelier the more combinations of size B and box C there are with r(A, B) and r(C, B).",
        ),
    ],
)
def test_clauses_in_english(clause, rises, said):
    schema = Schema({"t": ("box",), "r": ("box", "size"), "q": ("box",)}, {"size": "number"})
    assert text_of(sentence(parse_clause(clause, schema), schema, rises)) == said


def test_a_figure_stands_alone_and_is_saved(tmp_path):
    labels, probabilities = np.array([1, 0, 1]), np.array([0.9, 0.4, 0.6])
    figure = roc_plot(labels, probabilities, evaluate(labels, probabilities))
    figure.save(tmp_path / "roc.svg")
    text = (tmp_path / "roc.svg").read_text(encoding="utf-8")
    assert text == figure._repr_svg_()
    assert text.startswith("<svg xmlns=")
    assert "100 %" in figure.caption


def test_a_model_without_clauses_has_a_measure_too():
    schema = Schema({"t": ("box",), "q": ("box",)})
    database = build(schema, (), {"q": [["a"]]}, {"t": ([["a"], ["b"]], [1, 0])})
    measurements = measure(
        Model("t", schema, 0.5, ()), open_engine("memory", database), database.examples_of("t")
    )
    assert measurements.log_odds.tolist() == [0.5, 0.5]
    assert measurements.scores is not None
    assert measurements.scores.auc_roc == 0.5


def test_facts_after_a_cut_off_are_no_evidence():
    schema = Schema({"churns": ("customer",), "visit": ("customer", "shop")})
    facts = {"visit": [["ann", "ann"], ["north", "south"]]}
    examples = {"churns": ([("ann",), ("ann",)], [1, 0])}
    database = build(schema, (), facts, examples, times={"visit": [1.0, 3.0]}, cutoffs={"churns": [2.0, 5.0]})
    clause = parse_clause("churns(A) :- visit(A,B).", schema)
    model = Model("churns", schema, 0.0, (WeightedClause(clause, (0.0, 1.0, 0.0), 2),))
    engine = open_engine("memory", database)
    measurements = measure(model, engine, database.examples_of("churns"))
    found = find_evidence(measurements, database)
    assert {row: len(each) for row, each in found.by_part[0].items()} == {0: 1, 1: 2}
    assert examples_data(measurements, engine)["cutoff"] == ["2", "5"]


def test_the_strongest_constants_of_an_example_add_up_to_its_contribution():
    database = smokers(n_persons=30, seed=2)
    names = [f"p{number}" for number in range(0, 30, 2)]
    clause = parse_clause("cancer(A) :- friends(A,B).", database.schema)
    constants = tuple((name, float(place - 7)) for place, name in enumerate(names))
    weighted = WeightedClause(clause, (0.0, 1.0, 0.0), 30, LOG, 1, constants)
    engine, keys = open_engine("memory", database), database.examples_of("cancer").keys
    (expected,) = Model("cancer", database.schema, 0.0, (weighted,)).contributions(engine, keys)
    told = strongest_constants(weighted, engine, keys, most=100)
    sums = [sum(said.adds for said in told.get(row, ())) for row in range(len(keys))]
    assert sums == pytest.approx(expected.tolist())
    few = strongest_constants(weighted, engine, keys, most=2)
    assert few == {row: said[:2] for row, said in told.items()}
    assert all(abs(a.adds) >= abs(b.adds) for said in told.values() for a, b in pairwise(said))
