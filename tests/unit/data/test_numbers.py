"""Numbers and dates in learning: thresholds offered, planted ones found, kept in files, explained."""

from __future__ import annotations

from bisect import bisect_right
from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.data.build import build
from hornbeam.data.database import Database
from hornbeam.data.numbers import numbers_of, quantiles
from hornbeam.data.under_schema import under
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.clauses.counting.count_cache import CountCache
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.errors import DataError, ModelError
from hornbeam.learning.learners import learn
from hornbeam.learning.options import Options, effect_options, paper_options
from hornbeam.learning.search.beam import SearchLimits, SearchSpace, search
from hornbeam.learning.search.ridge import Ridge, response
from hornbeam.logic.clauses import Atom, Comparison, atoms_of, format_value
from hornbeam.logic.effects import Feature
from hornbeam.logic.features import VALUE
from hornbeam.logic.parse import parse_clause, parse_mode
from hornbeam.logic.refine import Language, refinements
from hornbeam.logic.schema import DATE, NUMBER, Schema, schema_of
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.evaluate import evaluate
from hornbeam.model.explain import explain
from hornbeam.model.files import model_text, parse_model
from hornbeam.model.predict import predict
from orders_world import SHOPPERS_TRUTH, shoppers
from plain_options import joint

DEFAULTS = effect_options(n_bags=3)
PLANTED = str(SHOPPERS_TRUTH.clauses[0].clause)


def learned(database: Database, target: str, options: Options = DEFAULTS) -> Model:
    fitted = learn("rlr", MemoryEngine(database), database.examples_of(target), options)
    assert isinstance(fitted.model, Model)
    return fitted.model


# --- planted thresholds ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "options", [joint(n_steps=1), paper_options(n_steps=1, max_literals=3, beam_width=3, l2=1.0)]
)
def test_a_threshold_planted_two_joins_away_is_found(options: Options, seed: int) -> None:
    model = learned(shoppers(1000, seed), "returns", options)
    assert [str(weighted.clause) for weighted in model.clauses] == [PLANTED]


def test_a_model_with_a_threshold_ranks_unseen_data_as_well_as_the_truth() -> None:
    model, unseen = learned(shoppers(1000, seed=1), "returns"), shoppers(1000, seed=2)
    examples, engine = unseen.examples_of("returns"), MemoryEngine(unseen)
    found, best = (
        evaluate(examples.labels, each.probabilities(engine, examples.keys)).auc_roc
        for each in (model, SHOPPERS_TRUTH)
    )
    assert best > 0.75 and found > best - 0.01


def persons(seed: int = 0) -> Database:
    """Who is from 30 to below 50 is busy, mostly; the date of birth says nothing."""
    rng = np.random.default_rng(seed)
    ages = rng.integers(10, 90, size=400)
    born = [f"19{int(year):02}-0{int(month)}-11" for year, month in rng.integers(1, 10, size=(400, 2))]
    busy = rng.random(400) < np.where((ages >= 30) & (ages < 50), 0.9, 0.1)
    names = [f"p{number}" for number in range(400)]
    modes = tuple(map(parse_mode, ("busy(+person).", "age(+person,`years).", "born(+person,`day).")))
    schema = Schema(schema_of(modes).predicates, {"years": NUMBER, "day": DATE})
    facts = {"age": [names, list(map(str, ages))], "born": [names, born]}
    examples = ([(name,) for name in names], busy.astype(int).tolist())
    return build(schema, modes, facts, {"busy": examples})


def test_an_interval_is_found_by_adding_the_second_comparison() -> None:
    model = learned(persons(), "busy", joint(n_steps=1))
    (weighted,) = model.clauses
    atom, *comparisons = weighted.clause.body
    assert atom == Atom("age", (0, 1))
    sides = {each.operator: each.value for each in comparisons if isinstance(each, Comparison)}
    # Eighty ages, sixteen thresholds: the nearest ones are at most five years away.
    assert abs(sides[">="] - 30) <= 5 and abs(sides["<"] - 50) <= 5


def test_an_interval_is_a_curve_that_rises_and_falls() -> None:
    first = learned(persons(), "busy").effects[0].effect
    assert first.body == (Atom("age", (0, 1)),) and first.feature == Feature(VALUE, 1)
    levels = {age: first.curve.levels[bisect_right(first.curve.cuts, age)] for age in (15, 40, 60, 85)}
    assert levels[40] > 0 > max(levels[15], levels[60], levels[85])


def test_without_thresholds_no_comparison_is_offered() -> None:
    model = learned(persons(), "busy", joint(n_steps=2, n_thresholds=0))
    assert all(len(list(atoms_of(w.clause.body))) == len(w.clause.body) for w in model.clauses)
    compared = {
        number: [
            step
            for each in learned(
                shoppers(300), "returns", effect_options(n_bags=2, n_thresholds=number)
            ).effects
            for step in each.effect.body
            if isinstance(step, Comparison)
        ]
        for number in (0, 8)
    }
    assert compared[8] and not compared[0]


# --- thresholds --------------------------------------------------------------------------------


@given(
    st.lists(st.one_of(st.integers(-5, 5).map(float), st.floats(-1e9, 1e9)), min_size=1, max_size=60),
    st.integers(1, 20),
)
def test_thresholds_are_values_that_split_the_others(numbers: list[float], most: int) -> None:
    values = np.array(numbers) + 0.0
    found = quantiles(values, most, NUMBER)
    distinct = sorted(set(values.tolist()))
    assert len(found) <= most and list(found) == sorted(set(found))
    assert set(found) <= set(distinct[1:])
    assert bool(found) == (len(distinct) > 1)
    if len(distinct) <= most + 1:
        assert list(found) == distinct[1:]


def test_thresholds_cut_rows_into_equal_parts() -> None:
    found = quantiles(np.arange(1700, dtype=np.float64), 16, NUMBER)
    assert np.diff([0, *found, 1700]).tolist() == [100.0] * 17


def test_dates_are_offered_as_dates() -> None:
    modes = tuple(map(parse_mode, ("busy(+person).", "born(+person,`day).")))
    schema = Schema(schema_of(modes).predicates, {"day": DATE})
    facts = {"born": [["a", "b", "c", "d"], ["1901-01-11", "1902-02-11", "1903-03-11", "1902-02-11"]]}
    found = build(schema, modes, facts).thresholds("busy", 16)
    assert found == {("born", 1): (datetime(1902, 2, 11), datetime(1903, 3, 11))}


def test_of_a_target_with_a_number_in_its_key_the_examples_give_the_thresholds() -> None:
    modes = tuple(map(parse_mode, ("cold(+place,+height).", "open(+place).")))
    schema = Schema(schema_of(modes).predicates, {"height": NUMBER})
    examples = ([("a", "10"), ("b", "20"), ("c", "30")], [0, 0, 1])
    database = build(schema, modes, {"open": [["a", "b"]]}, {"cold": examples})
    assert database.thresholds("cold", 16) == {("cold", 1): (20.0, 30.0)}
    model = learned(database, "cold", joint(n_steps=1, max_literals=1, l2=0.01))
    assert str(model.clauses[0].clause) == "cold(A,B) :- B < 30."  # as good as >=, and the smaller text


def test_a_body_is_a_candidate_once_whether_its_comparison_came_along_or_later() -> None:
    database = persons()
    examples = database.examples_of("busy")
    session = CountCache(counter_of(MemoryEngine(database)), examples.keys)
    asked: list[str] = []

    class Noting:
        def sums(self, clauses):
            asked.extend(map(str, clauses))
            return session.sums(clauses)

    slopes = np.where(examples.labels == 1, 2**29, -(2**29)).astype(np.int64)
    session.set_gradients(slopes)
    schema, thresholds = database.schema, database.thresholds("busy", 4)
    language = Language(Atom("busy", (0,)), schema, database.modes, {}, False, thresholds)
    search(
        Noting(),
        SearchSpace(language.empty(), lambda clause: refinements(clause, language)),
        Ridge(response(slopes), 1.0),
        SearchLimits(max_literals=3, beam_width=50, stop="best"),
    )
    assert len(asked) == len(set(asked))
    threshold = format_value(thresholds["age", 1][0])
    assert f"busy(A) :- age(A,B), B >= {threshold}." in asked


# --- files, other data, explanations -----------------------------------------------------------


def test_a_model_file_keeps_numeric_types_and_reads_back() -> None:
    model = learned(persons(), "busy")
    text = model_text(model)
    assert '"numeric": {\n    "day": "date",\n    "years": "number"\n  }' in text
    again = parse_model(text)
    assert again == model and model_text(again) == text


def test_a_model_without_numeric_types_says_nothing_of_them() -> None:
    assert "numeric" not in model_text(Model("t", Schema({"t": ("x",)}), 0.0, ()))


def test_a_numeric_type_of_no_known_kind_is_refused() -> None:
    text = model_text(Model("t", Schema({"t": ("x",)}, {"x": NUMBER}), 0.0, ()))
    with pytest.raises(ModelError, match=r'"numeric" must be number or date for each numeric type, found'):
        parse_model(text.replace('"x": "number"', '"x": "colour"'))


def test_data_that_do_not_know_their_numbers_are_read_as_the_model_says() -> None:
    model = learned(persons(seed=1), "busy")
    other = persons(seed=2)
    names, _ = other.examples("busy")
    bare = build(
        Schema(other.schema.predicates), (), named_facts(other), ranges={"person": names[:, 0].tolist()}
    )
    expected = predict(model, other, names).probabilities
    assert predict(model, bare, names).probabilities.tolist() == expected.tolist()


def named_facts(database: Database) -> dict[str, list[list[str]]]:
    found = {}
    for predicate, relation in database.relations.items():
        types = database.schema.types_of(predicate)
        columns = zip(types, relation.columns, strict=True)
        found[predicate] = [database.population(name).decode(column) for name, column in columns]
    return found


def test_a_constant_that_spells_no_number_is_refused() -> None:
    schema = Schema({"age": ("person", "years")}, {"years": NUMBER})
    with pytest.raises(DataError, match='"old" is a constant of the numeric type years, but is not a number'):
        build(schema, (), {"age": [["ann", "bob"], ["35", "old"]]})
    bare = build(Schema(schema.predicates), (), {"age": [["ann"], ["old"]]})
    with pytest.raises(DataError, match='"old" is a constant of the numeric type years'):
        under(bare, schema)


@pytest.mark.parametrize("name", ["1_000", " 5", "nan", "inf", "1e999", "٣", "", "0x10", "1998-03-01"])
def test_what_python_or_numpy_might_read_but_is_no_number_is_refused(name: str) -> None:
    with pytest.raises(DataError, match="is not a number"):
        numbers_of([name], NUMBER, "years")


@pytest.mark.parametrize(
    "name", ["1998-13-01", "19980301", "1998-03-01T12", "1998-03-01T12:30:00+01:00", "3"]
)
def test_what_is_no_date_without_a_time_zone_is_refused(name: str) -> None:
    with pytest.raises(DataError, match="is not an ISO date"):
        numbers_of([name], DATE, "day")


def test_an_explanation_shows_the_comparison_and_what_met_it() -> None:
    schema = Schema(
        {"t": ("person", "years"), "age": ("person", "years"), "knows": ("person", "person")},
        {"years": NUMBER},
    )
    facts = {"age": [["ann", "bob", "cat"], ["35", "20", "40"]], "knows": [["ann"] * 2, ["bob", "cat"]]}
    database = build(schema, (), facts)
    clause = parse_clause("t(A,B) :- B >= 30, knows(A,C), age(C,D), D >= 35.", schema)
    model = Model("t", schema, 0.0, (WeightedClause(clause, (0.0, 1.0, 0.0), 9),))
    names = np.array([["ann", "35"]], dtype=object)
    key = database.encode_keys("t", names)[0]
    text = str(explain(model, MemoryEngine(database), key, ("ann", "35")))
    assert "35 >= 30" in text and "D >= 35" in text
    assert "(cat, 40)" in text and "bob" not in text
