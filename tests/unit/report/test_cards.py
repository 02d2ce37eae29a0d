"""Cards and tables of a report: no value is left out, and intervals and percentages are right."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from folders import write
from hornbeam.data.build import build
from hornbeam.drawing.markup import percent_text
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.learning.effects.learner import fit
from hornbeam.learning.options import EffectOptions
from hornbeam.logic.english.wording import PLAIN
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.parse_effect import parse_effect
from hornbeam.logic.schema import Schema
from hornbeam.model.class_model import ClassModel
from hornbeam.model.clause_model import Model
from hornbeam.model.effects import FittedEffect
from hornbeam.model.evaluate import evaluate
from hornbeam.model.files import model_text, parse_model
from hornbeam.model.readable.cards import Readers, card_table, effect_card
from hornbeam.model.readable.constants import constants_card, odds_factor
from hornbeam.model.scales import LOG_ODDS
from hornbeam.report.html.class_list import all_classes
from hornbeam.report.html.clause_list import count_rows
from hornbeam.report.numbers.classes import class_view
from hornbeam.report.numbers.intervals import auc_interval
from hornbeam.report.plots.curve import curve_plot
from hornbeam.report.plots.predictions import calibration_plot, score_plot

SCHEMA = Schema({"bad": ("person",), "orders": ("person", "order"), "late": ("order",)})
finite = st.floats(-5, 5)


@pytest.mark.parametrize(
    ("errors", "weak"),
    [((0.0, 0.8, 0.8), True), ((0.0, 0.6, 0.6), False), ((), False)],
)
def test_an_effect_within_its_standard_error_has_no_direction(errors, weak):
    effect = parse_effect("count [< 3: -0.5; else: 0.5] : bad(A) :- orders(A,B).", SCHEMA)
    card = effect_card(
        FittedEffect(effect, 0.5, errors, (0, 5, 5) if errors else ()), Readers(SCHEMA, average=0.0)
    )
    expected = (
        "Bad(A) hardly depends on the number of its orders: "
        "what it changes is smaller than its standard error."
        if weak
        else "Bad(A) is likelier if the number of its orders is 3 or more."
    )
    assert (card.sentence, bool(card.change)) == (expected, not weak)


def test_a_missing_value_that_matters_is_no_weak_effect():
    effect = parse_effect("count [missing: 3; < 3: -0.1; else: 0.1] : bad(A) :- orders(A,B).", SCHEMA)
    assert not FittedEffect(effect, 0.5, (0.1, 0.5, 0.5)).is_weak


def test_thresholds_in_sentences_have_six_digits():
    schema = Schema({"bad": ("person",), "size": ("person", "size_value")}, {"size_value": "number"})
    effect = parse_effect("value B [< 109164.44877603318: 0; else: 1] : bad(A) :- size(A,B).", schema)
    assert "is 109164 or more" in effect_card(FittedEffect(effect), Readers(schema)).sentence


@given(st.lists(st.integers(0, 40), min_size=1, max_size=200), st.integers(2, 9))
def test_every_count_is_in_one_row(counts, most):
    true = np.array(counts)
    rows = count_rows(true, true / 8, most)
    assert len(rows) <= most
    assert sum(int(size.replace(",", "")) for _, _, size in rows) == len(counts)
    ranges = [tuple(map(int, re.findall(r"\d+", values))) for values, _, _ in rows]
    for value in set(counts):
        assert sum(ends[0] <= value <= ends[-1] for ends in ranges) == 1


@given(st.lists(finite, min_size=1, max_size=9), st.data())
def test_a_card_has_every_training_example_and_stays_within_its_levels(levels, data):
    cuts = [f"< {place + 1}: {level!r}; " for place, level in enumerate(levels[:-1])]
    text = f"count [{''.join(cuts)}else: {levels[-1]!r}] : bad(A) :- orders(A,B)."
    sizes = tuple(data.draw(st.lists(st.integers(1, 50), min_size=len(levels), max_size=len(levels))))
    fitted = FittedEffect(parse_effect(text, SCHEMA), 1.0, (), (0, *sizes))
    card = effect_card(fitted, Readers(SCHEMA, average=-1.0))
    assert sum(row.examples for row in card.rows) == sum(sizes)
    curve = fitted.effect.curve
    for row in card.rows:
        assert min(curve.levels) - 1e-9 <= row.level <= max(curve.levels) + 1e-9
    drawn = curve_plot(card)
    assert drawn.drawing.count('class="step') == len(curve.levels)
    assert drawn.rows == tuple(card_table(card)[1])


@given(st.integers(1, 9), st.integers(1, 200))
def test_numbers_under_an_axis_stand_apart(size, step):
    cuts = "".join(f"< {place * step}: 0.{place}; " for place in range(1, size + 1))
    effect = parse_effect(f"count [{cuts}else: 1] : bad(A) :- orders(A,B).", SCHEMA)
    card = effect_card(FittedEffect(effect, 1.0, (), (0, *[5] * (size + 1))), Readers(SCHEMA, average=0.0))
    labels = re.findall(r'<text [^>]*x="([\d.]+)" y="182"[^>]*>([^<]+)<', curve_plot(card).drawing)
    assert labels
    for (left, before), (right, after) in pairwise(labels):
        assert float(right) - float(left) >= 6.8 * (len(before) + len(after) + 1) / 2


def test_percentages_are_those_of_an_average_example():
    effect = parse_effect("count [< 1: -1; else: 1] : bad(A) :- orders(A,B).", SCHEMA)
    card = effect_card(FittedEffect(effect, 1.0, (0.0, 0.1, 0.2), (0, 30, 10)), Readers(SCHEMA, average=0.5))
    # The mean level is -0.5, so an example without this effect has log-odds of 1.
    assert [row.probability for row in card.rows] == pytest.approx([0.5, 1 / (1 + np.exp(-2.0))])
    assert card.change == "from 50 % to 88 %"
    assert effect_card(FittedEffect(effect), Readers(SCHEMA)).change == ""


def test_the_interval_of_the_area_is_that_of_many_samples():
    generator = np.random.default_rng(3)
    labels = (np.arange(400) % 4 == 0).astype(int)
    scores = generator.normal(size=400) + labels
    probabilities = np.round(1 / (1 + np.exp(-scores)), 2)
    low, high = auc_interval(labels, probabilities)
    areas = []
    for _ in range(300):
        rows = generator.integers(0, 400, 400)
        areas.append(evaluate(labels[rows], probabilities[rows], draws=1).auc_roc)
    assert high - low == pytest.approx(2 * 1.96 * np.std(areas), rel=0.2)
    assert low < evaluate(labels, probabilities).auc_roc < high


def test_two_groups_are_not_joined_by_a_line():
    labels = np.array([0, 1] * 50)
    assert "<path" not in calibration_plot(labels, np.where(labels, 0.75, 0.25)).drawing
    spread = np.linspace(0.01, 0.99, 100)
    assert "<path" in calibration_plot(labels, spread).drawing


def test_the_axis_of_scores_is_in_probability():
    drawn = score_plot(np.array([0, 1] * 20), np.linspace(-5, 5, 40))
    assert "50 %</text>" in drawn.drawing
    assert "probability</text>" in drawn.drawing
    assert "log-odds" not in drawn.drawing


def test_classes_have_a_confusion_matrix():
    names = [["a1"], ["a2"], ["b1"], ["b2"], ["c1"]]
    database = build(
        Schema({"kind": ("thing",), "p": ("thing",), "q": ("thing",)}),
        (),
        {"p": [["a1", "a2", "b1"]], "q": [["b1", "b2"]]},
        {"kind": (names, [0, 0, 1, 1, 2])},
    )
    examples = database.examples_of("kind")
    examples = replace(examples, classes=("a", "b", "c"))

    def model(text: str, prior: float) -> Model:
        effects = (FittedEffect(parse_effect(text, database.schema)),)
        return Model("kind", database.schema, prior, (), effects=effects)

    members = (
        model("count [< 1: -2; else: 2] : kind(A) :- p(A).", 0.0),
        model("count [< 1: -2; else: 2] : kind(A) :- q(A).", 1.0),
        model("count [< 1: 0; else: -2] : kind(A) :- p(A).", 0.0),
    )
    learned = ClassModel("kind", database.schema, ("a", "b", "c"), members)
    view = class_view(learned, MemoryEngine(database), examples)
    assert view.confusion == (("a", "b", "c"), ((2, 0, 0), (0, 2, 0), (0, 0, 1)))
    assert [(row.name, row.examples) for row in view.classes] == [("a", 2), ("b", 2), ("c", 1)]
    assert {(row.recall, row.precision, row.auc) for row in view.classes} == {(1.0, 1.0, 1.0)}
    shown = all_classes(view.classes, view.confusion, {})
    assert [f"<summary>{name}: 1 effect</summary>" in shown for name in "abc"] == [True] * 3
    assert shown.count('class="card"') == 3


def test_weights_that_change_nothing_are_not_shown():
    clause = parse_clause("bad(A) :- orders(A,B).", SCHEMA)
    weights = [("o1", 0.7), ("o2", 0.002), ("o3", -0.0001), ("o4", -0.4)]
    card = constants_card([(clause, 1)], weights, SCHEMA, PLAIN, LOG_ODDS)
    assert odds_factor(0.002) == odds_factor(-0.0001) == "× 1"
    assert card.rising == (("o1", 0.7),)
    assert card.falling == (("o4", -0.4),)
    assert card.total == 4


def test_percent_has_sensible_digits():
    assert [percent_text(share) for share in (0.5, 0.05, 0.005, 0.0005, 0.9995)] == [
        "50 %",
        "5.0 %",
        "0.50 %",
        "0.050 %",
        "99.950 %",
    ]


def test_a_model_with_weights_per_constant_is_saved_and_read_back(tmp_path):
    generator = np.random.default_rng(1)
    films = np.array([generator.choice(60, 12, replace=False) for _ in range(400)])
    likes = np.where(films % 2, 1.0, -1.0).sum(axis=1) > 0
    people = "person_id,age,likes\n" + "".join(f"p{n},{n % 7},{int(each)}\n" for n, each in enumerate(likes))
    titles = "film_id,title\n" + "".join(f"f{n},Film {n}\n" for n in range(60))
    saw = "person_id,film_id\n" + "".join(f"p{n},f{film}\n" for n, own in enumerate(films) for film in own)
    files = {"people.csv": people, "films.csv": titles, "saw.csv": saw}
    database = hb.load(write(tmp_path / "tables", files), target="people.likes")
    model = fit(MemoryEngine(database), database.examples_of("likes"), EffectOptions()).model
    assert model.clauses
    assert parse_model(model_text(model), "m.json") == model
    for weighted in model.clauses:
        assert weighted.each in weighted.clause.free_variables()
    names = model.settings["names"]["films"]
    assert names == {key: f"Film {key[1:]}" for key in names}
    assert "likelier with Film " in model.words()


def test_a_line_has_what_it_adds_at_both_ends() -> None:
    schema = Schema({"bad": ("users",), "orders": ("users", "orders")})
    effect = parse_effect("count [slope: 0.5 from 0 to 4; else: -1] : bad(A) :- orders(A,B).", schema)
    fitted = FittedEffect(effect, 0.3, (0.0, 0.1), (0, 10), centre=2.0)
    card = effect_card(fitted, Readers(schema, average=0.0))
    assert "each further one adds 0.5 to the log-odds, up to 4." in card.sentence
    assert card.change == "from 27 % to 73 %"
    _, rows = card_table(card)
    assert rows == [("0 to 4", "−1 to +1", "0.1", "× 0.37 to × 2.72", "27 % to 73 %", "10")]
    assert "0 to 4: log-odds −1 to +1, odds × 0.368 to × 2.72" in str(curve_plot(card).svg())
