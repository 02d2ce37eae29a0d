"""Cut-offs from the examples to the model: learning, predicting, sampling, checkpoints, explanations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from hornbeam.data.build import build
from hornbeam.data.database import Database
from hornbeam.data.names import Numbered
from hornbeam.data.sampling import sampled
from hornbeam.data.under_schema import under
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.errors import DataError
from hornbeam.estimators.learners import RLRClassifier
from hornbeam.learning.checkpoint import fit_fingerprint
from hornbeam.learning.effects.learner import fit
from hornbeam.learning.learners import learn, options_for
from hornbeam.learning.options import effect_options
from hornbeam.logic.parse import parse_clause, parse_mode
from hornbeam.logic.schema import NUMBER, Schema, schema_of
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.evaluate import evaluate
from hornbeam.model.explain import explain
from hornbeam.rivals.agg_lr.aggregates import Aggregate
from hornbeam.rivals.agg_lr.joiner import Joiner

SCHEMA = Schema({"churns": ("customer",), "visit": ("customer", "shop"), "called": ("customer",)})
INF = float("inf")


def small(cutoffs: list[float]) -> Database:
    """Two customers who are examples at several times."""
    facts = {"visit": [["ann", "ann", "bob"], ["north", "south", "north"]], "called": [["bob"]]}
    rows = [("ann",), ("ann",), ("bob",)][: len(cutoffs)]
    examples = {"churns": (rows, [1, 0, 0][: len(cutoffs)])}
    return build(SCHEMA, (), facts, examples, times={"visit": [1.0, 3.0, 2.0]}, cutoffs={"churns": cutoffs})


def leaking(seed: int = 0) -> Database:
    """Customers who churn call afterwards: before the cut-off only visits predict churn."""
    rng = np.random.default_rng(seed)
    size = 300
    names = list(Numbered("c", size))
    cutoffs = rng.integers(10, 20, size=size).astype(float)
    visits = rng.poisson(3, size=size)
    churns = rng.random(size) < 1 / (1 + np.exp(visits - 3.0))
    who = np.repeat(np.arange(size), visits)
    late = np.flatnonzero(churns)
    facts = {
        "visit": [[names[i] for i in who], [f"s{i}" for i in range(len(who))]],
        "called": [[names[i] for i in late]],
    }
    times = {"visit": cutoffs[who] - rng.random(len(who)), "called": cutoffs[late] + 0.5}
    modes = tuple(map(parse_mode, ("churns(+customer).", "visit(+customer,-shop).", "called(+customer).")))
    examples = {"churns": ([(name,) for name in names], churns.astype(int).tolist())}
    return build(schema_of(modes), modes, facts, examples, times=times, cutoffs={"churns": cutoffs})


def test_the_same_key_at_two_cut_offs_is_two_examples() -> None:
    database = small([1.0, 3.0, 3.0])
    examples = database.examples_of("churns")
    assert len(examples) == 3 and database.notices == ()
    assert examples.cutoffs is not None and examples.cutoffs.tolist() == [1.0, 3.0, 3.0]
    again = small([3.0, 3.0, 3.0])
    assert len(again.examples_of("churns")) == 2
    assert "given with both labels" in str(again.notices[0])


def test_a_fact_given_at_two_times_is_there_from_the_earliest() -> None:
    facts = {"visit": [["ann", "bob", "ann"], ["north", "north", "north"]]}
    database = build(SCHEMA, (), facts, times={"visit": [5.0, 1.0, 2.0]})
    who = database.population("customer").decode(database.relation("visit").columns[0])
    assert dict(zip(who, database.times["visit"].tolist(), strict=True)) == {"ann": 2.0, "bob": 1.0}


def test_a_time_that_is_no_number_is_refused() -> None:
    with pytest.raises(DataError, match='a time of facts of "called" is not a number'):
        build(SCHEMA, (), {"called": [["ann"]]}, times={"called": [float("nan")]})


def test_keys_carry_their_cut_offs_in_columns_of_their_own() -> None:
    database = small([0.5, 2.5, INF])
    keys = database.examples_of("churns").keys
    real = database.real_cutoffs_of("churns", keys)
    assert real is not None and real.tolist() == [0.5, 2.5, INF]
    found = database.cutoffs_of("churns", keys)
    assert found is not None and found.tolist() == [-INF, 2.0, 3.0]  # the last times that they admit
    X, _ = database.examples("churns")
    assert X.tolist() == [["ann", "0.5"], ["ann", "2.5"], ["bob", "inf"]]
    assert database.encode_keys("churns", X).tolist() == keys.tolist()
    dates = np.array([["ann", "1970-01-01"]], dtype=object)  # zero microseconds
    assert database.cutoffs_of("churns", database.encode_keys("churns", dates)).tolist() == [-INF]


def test_without_times_cut_offs_are_no_part_of_the_keys() -> None:
    examples = {"churns": ([("ann",)], [1])}
    database = build(SCHEMA, (), {"called": [["ann"]]}, examples, cutoffs={"churns": [3.0]})
    assert database.examples_of("churns").keys.shape == (1, 1)
    with pytest.raises(DataError, match='X has 2 columns, but "churns" takes 1'):
        database.encode_keys("churns", np.array([["ann", "3"]], dtype=object))


def test_a_cut_off_that_is_no_time_is_refused() -> None:
    with pytest.raises(DataError, match='"soon" is not a cut-off'):
        small([1.0]).encode_keys("churns", np.array([["ann", "soon"]], dtype=object))


def test_a_view_under_another_schema_keeps_the_cut_offs() -> None:
    database = small([1.5, 2.5, 3.5])
    seen = under(database, Schema({"churns": ("who",), "visit": ("who", "where")}))
    keys = seen.examples_of("churns").keys
    clause = parse_clause("churns(A) :- visit(A,B).")
    (counts,) = counter_of(MemoryEngine(seen)).count([clause], keys)
    assert counts.true.tolist() == [1, 1, 1]
    assert seen.cutoffs_of("churns", keys).tolist() == [1.0, 2.0, 3.0]


def test_what_happens_after_the_cut_off_does_not_leak_into_a_model() -> None:
    database = leaking()
    examples = database.examples_of("churns")
    options = effect_options(n_bags=3, max_literals=1)
    fair = fit(MemoryEngine(database), examples, options).model
    assert fair.predicates() == ("visit",)
    unfair = fit(MemoryEngine(database), replace(examples, keys=examples.keys[:, :1]), options).model
    assert "called" in unfair.predicates()


def test_the_estimator_takes_cut_offs_as_the_last_column_of_the_keys() -> None:
    database = leaking()
    X, y = database.examples("churns")
    assert X.shape == (300, 2)
    classifier = RLRClassifier(database=database, target="churns", n_bags=3, max_literals=1)
    scores = cross_val_score(classifier, X, y, cv=3, scoring="roc_auc")
    assert 0.6 < scores.mean() < 0.95  # with the calls it would be 1
    assert classifier.fit(X, y).n_features_in_ == 2
    assert "called" not in classifier.model_.predicates()
    (explanation,) = classifier.explain(X[:1])
    assert explanation.key == (X[0, 0],)
    assert str(explanation).startswith(f"Customer {X[0, 0]}: churns with probability ")


@pytest.mark.parametrize("learner", ["agg-lr", "ilp-rlr", "mln-boost", "rdn-boost"])
def test_other_learners_do_not_see_behind_the_cut_off(learner: str) -> None:
    database = leaking()
    examples = database.examples_of("churns")
    options = options_for(learner, max_literals=1)
    fitted = learn(learner, MemoryEngine(database), examples, options)
    found = fitted.model.probabilities(MemoryEngine(database), examples.keys)
    assert evaluate(examples.labels, found).auc_roc < 0.95


def test_aggregates_are_of_facts_up_to_the_cut_off() -> None:
    modes = tuple(
        map(parse_mode, ("churns(+customer).", "paid(+customer,`euro,`shop).", "of(+shop,`chain)."))
    )
    schema = Schema(schema_of(modes).predicates, {"euro": NUMBER})
    rows = [("ann", "5", "x", 1.0), ("ann", "9", "y", 2.0), ("bob", "7", "x", 2.0), ("ann", "1", "z", 3.0)]
    database = build(
        schema,
        modes,
        {
            "paid": [list(column) for column in list(zip(*rows, strict=True))[:3]],
            "of": [["x", "y", "z"], ["c"] * 3],
        },
        {"churns": ([("ann",), ("ann",), ("bob",), ("ann",)], [1, 0, 0, 1])},
        times={"paid": [row[3] for row in rows]},
        cutoffs={"churns": [1.5, 2.5, 1.5, 3.5]},
    )
    found = database.examples_of("churns")
    joiner = Joiner(database, found.keys, 10**6)
    path = parse_clause("churns(A) :- paid(A,B,C).", schema)
    asked = [Aggregate(kind, path, 1) for kind in ("mean", "min", "max")] + [Aggregate("distinct", path, 2)]
    cutoffs = database.cutoffs_of("churns", found.keys)
    assert cutoffs is not None
    by_cutoff = {
        (name, cutoff): [float(column[at]) for column in joiner.columns(path, asked)]
        for at, (name, cutoff) in enumerate(
            zip(database.names_of("churns", found.keys)[:, 0], cutoffs.tolist(), strict=True)
        )
    }
    assert by_cutoff["ann", 1.0] == [5.0, 5.0, 5.0, 1.0]
    assert by_cutoff["ann", 2.0] == [7.0, 5.0, 9.0, 2.0]
    assert by_cutoff["ann", 3.0] == [5.0, 1.0, 9.0, 3.0]
    assert np.isnan(by_cutoff["bob", 1.0][:3]).all() and by_cutoff["bob", 1.0][3] == 0.0
    longer = parse_clause("churns(A) :- paid(A,B,C), of(C,D).", schema)
    (chains,) = joiner.columns(longer, [Aggregate("distinct", longer, 3)])
    assert sorted(chains.tolist()) == [0.0, 1.0, 1.0, 1.0]


def test_sampling_tells_cut_offs_apart() -> None:
    cutoffs = [float(number) for number in range(1, 21)]
    facts = {"visit": [["ann"] * 20, [f"s{number}" for number in range(20)]]}
    examples = {"churns": ([("ann",)] * 20, [1] + [0] * 19)}
    database = build(SCHEMA, (), facts, examples, times={"visit": cutoffs}, cutoffs={"churns": cutoffs})
    found = database.examples_of("churns")
    one = sampled(database, "churns", found.keys, found.labels, 5.0, 0)
    other = sampled(database, "churns", found.keys, found.labels, 5.0, 1)
    assert len(one) == len(other) == 6 and one.tolist() != other.tolist()
    order = np.random.default_rng(0).permutation(20)
    shuffled = sampled(database, "churns", found.keys[order], found.labels[order], 5.0, 0)
    assert sorted(order[shuffled].tolist()) == one.tolist()


def test_a_checkpoint_belongs_to_its_times_and_cut_offs() -> None:
    def hashes(database: Database) -> dict[str, str]:
        examples = database.examples_of("churns")
        return dict(fit_fingerprint(database, examples, {}, 0))

    database = small([1.0, 2.0, 3.0])
    assert hashes(small([1.0, 2.0, 3.0])) == hashes(database)
    other = hashes(small([1.0, 3.0, 3.0]))
    assert {name for name, value in hashes(database).items() if other[name] != value} == {"examples"}
    later = replace(database, times={"visit": database.times["visit"] + 0.25})
    examples = database.examples_of("churns")
    examples = replace(examples, keys=examples.keys[:, :1])
    one, two = (dict(fit_fingerprint(each, examples, {}, 0)) for each in (database, later))
    assert {name for name in one if one[name] != two[name]} == {"facts"}


def test_an_explanation_shows_what_exists_at_the_cut_off() -> None:
    database = small([2.0])
    clause = parse_clause("churns(A) :- visit(A,B).", SCHEMA)
    model = Model("churns", SCHEMA, 0.0, (WeightedClause(clause, (0.0, 1.0, 0.0), 2),))
    engine = MemoryEngine(database)
    for cutoff, shops in (("3", "1 value of B: north"), ("3.5", "2 values of B: north, south")):
        names = np.array([["ann", cutoff]], dtype=object)
        key = database.encode_keys("churns", names)[0]
        assert shops in str(explain(model, engine, key, ("ann",)))
    before_all = database.encode_keys("churns", np.array([["ann", "0"]], dtype=object))[0]
    (reason,) = explain(model, engine, before_all, ("ann",)).reasons
    assert (reason.true, reason.groundings) == (0, ())


def test_clauses_that_read_one_predicate_both_ways_are_counted_apart() -> None:
    schema = Schema({"risk": ("size",), "p": ("thing", "thing")}, {"thing": NUMBER, "size": NUMBER})
    facts = {"p": [["0"], ["351"]]}
    database = build(
        schema, (), facts, {"risk": ([("35",)], [1])}, times={"p": [1.0]}, cutoffs={"risk": [1.0]}
    )
    texts = ("risk(A) :- p(C,D), p(E,C), A >= 35.", "risk(A) :- p(C,D), p(E,C), D >= 35, A >= 35.")
    clauses = [parse_clause(text, schema) for text in texts]
    keys = database.examples_of("risk").keys
    # The cached facts of the first atom must not be used for the second.
    assert [counts.true.tolist() for counts in counter_of(MemoryEngine(database)).count(clauses, keys)] == [
        [0],
        [0],
    ]
