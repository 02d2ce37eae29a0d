"""Clauses with a weight for each constant: fitted, chosen, counted, kept, explained, written as SQL."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from hornbeam.data.build import build
from hornbeam.data.database import Codes, Database
from hornbeam.data.sparse import Matrix, by_row
from hornbeam.engines.contract import Counts, Skipped
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.engines.sql.drivers.duckdb import DuckDBEngine
from hornbeam.errors import ModelError
from hornbeam.learning.boosting.boost import fit
from hornbeam.learning.constants import per_constant
from hornbeam.learning.constants.per_constant import Families, Family, families
from hornbeam.learning.history import INTERRUPTED
from hornbeam.learning.loop import Control
from hornbeam.learning.losses.logistic import log_loss
from hornbeam.learning.losses.sparse import fit_sparse_weights
from hornbeam.learning.options import fit_options
from hornbeam.learning.problem import Fit, language_for
from hornbeam.logic.clauses import Clause
from hornbeam.logic.modes import schema_of
from hornbeam.logic.parse import parse_clause, parse_mode
from hornbeam.logic.schema import NUMBER
from hornbeam.model.clause_model import Model
from hornbeam.model.evaluate import evaluate
from hornbeam.model.explain import explain
from hornbeam.model.files import model_text, parse_model

MODES = tuple(map(parse_mode, ("likes(+person).", "rated(+person,-film).", "genre(+film,-kind).")))
FILMS = [f"f{number:02}" for number in range(24)]


@pytest.fixture(scope="module")
def world() -> Database:
    """Persons like something by which films they rated, not by how many; kinds of films say nothing."""
    rng = np.random.default_rng(5)
    taste = dict(zip(FILMS, rng.normal(0, 1.2, len(FILMS)), strict=True))
    rated, labels, persons = [], [], [f"p{number:03}" for number in range(300)]
    for person in persons:
        seen = rng.choice(FILMS, size=6, replace=False)
        rated += [(person, film) for film in seen]
        labels.append(int(rng.random() < 1 / (1 + np.exp(-sum(taste[film] for film in seen)))))
    facts = {
        "rated": [list(column) for column in zip(*rated, strict=True)],
        "genre": [FILMS, [f"k{number % 3}" for number in range(len(FILMS))]],
    }
    return build(schema_of(MODES), MODES, facts, {"likes": ([(person,) for person in persons], labels)})


def fitted(world: Database, engine: type = MemoryEngine, **options: object) -> Fit[Model]:
    examples = world.examples_of("likes")
    train = np.arange(len(examples)) % 3 > 0
    chosen = fit_options(**{"n_steps": 4, "max_literals": 2, **options})
    return fit(engine(world), examples.at(train), chosen)


def sparse(full: np.ndarray) -> Matrix:
    columns, rows = (places.astype(np.int32) for places in np.nonzero(full.T))
    return by_row(rows, columns, full[rows, columns], full.shape)


@pytest.mark.parametrize("l2", [0.3, 10.0])
def test_weights_are_those_of_logistic_regression(l2: float) -> None:
    rng = np.random.default_rng(0)
    features = rng.poisson(0.4, size=(200, 30)).astype(float)
    labels = (rng.random(200) < 0.3 + 0.3 * (features[:, 0] > 0)).astype(np.int8)
    found = fit_sparse_weights(sparse(features), labels, 1 - labels, l2)
    right = LogisticRegression(C=1 / l2, tol=1e-10, max_iter=10_000).fit(features, labels)
    assert found[:-1] == pytest.approx(right.coef_[0], abs=2e-4)
    assert found[-1] == pytest.approx(right.intercept_[0], abs=1e-3)
    # The loss is convex: from far away too, where whole steps of Newton's would lead astray.
    far = fit_sparse_weights(sparse(features), labels, 1 - labels, l2, np.full(31, 20.0))
    assert far[:-1] == pytest.approx(right.coef_[0], abs=2e-4)


def test_weights_stay_finite_with_one_label_only() -> None:
    assert np.isfinite(fit_sparse_weights(sparse(np.eye(4)), np.ones(4), np.zeros(4), 1.0)).all()


def test_each_film_gets_a_weight_and_the_model_is_better_for_it(world: Database) -> None:
    model = fitted(world).model
    first = model.clauses[0]
    assert str(first.clause) == "likes(A) :- rated(A,B)."
    assert first.each == 1
    assert {name for name, _ in first.constants} == set(FILMS)
    examples = world.examples_of("likes")
    test = np.arange(len(examples)) % 3 == 0
    engine = MemoryEngine(world)
    without = fitted(world, per_constant=False).model
    scored = [
        evaluate(examples.labels[test], each.probabilities(engine, examples.keys[test])).auc_roc
        for each in (model, without)
    ]
    assert scored[0] > 0.8 > 0.65 > scored[1]


def test_what_only_remembers_is_worth_nothing() -> None:
    rng = np.random.default_rng(1)
    persons = [f"p{number:03}" for number in range(200)]
    rated = [(person, film) for person in persons for film in rng.choice(FILMS, size=4, replace=False)]
    labels = rng.integers(0, 2, len(persons)).tolist()
    facts = {"rated": [list(column) for column in zip(*rated, strict=True)]}
    noise = build(schema_of(MODES), MODES, facts, {"likes": ([(person,) for person in persons], labels)})
    examples = noise.examples_of("likes")
    language = language_for(noise, "likes", False, 0)
    (family,) = families(MemoryEngine(noise), language, examples.keys, examples.labels, 0).fitted
    assert evaluate(examples.labels, 1 / (1 + np.exp(-family.crossed))).auc_roc < 0.6


@pytest.mark.parametrize("engine", [NaiveEngine, DuckDBEngine])
def test_every_engine_learns_the_same(world: Database, engine: type) -> None:
    assert model_text(fitted(world, engine).model) == model_text(fitted(world).model)


def test_the_order_of_facts_does_not_matter(world: Database) -> None:
    examples = world.examples_of("likes")
    turned = build(
        world.schema,
        world.modes,
        {
            name: [
                list(reversed(world.population(t).decode(column)))
                for t, column in zip(world.schema.types_of(name), relation.columns, strict=True)
            ]
            for name, relation in world.relations.items()
        },
        {"likes": (list(reversed(world.names_of("likes", examples.keys).tolist())), examples.labels[::-1])},
    )
    options = fit_options(n_steps=3, max_literals=2)
    texts = [
        model_text(fit(MemoryEngine(each), found, options).model)
        for each in (world, turned)
        for found in [each.examples_of("likes")]
    ]
    assert texts[0] == texts[1]


def test_the_model_file_keeps_the_constants(world: Database) -> None:
    model = fitted(world).model
    text = model_text(model)
    again = parse_model(text)
    assert again == model
    with pytest.raises(ModelError, match='"each" of clause 1 must be the number of a free variable'):
        parse_model(text.replace('"each": 1', '"each": 0', 1))
    with pytest.raises(ModelError, match='"constants" of clause 1 must be a finite number'):
        parse_model(text.replace(f'"{FILMS[0]}": ', f'"{FILMS[0]}": true, "x": ', 1))


def test_an_interrupted_fit_goes_on_to_the_same_model(world: Database, tmp_path: Path) -> None:
    examples = world.examples_of("likes")
    options = fit_options(n_steps=4, max_literals=2)
    whole = fit(MemoryEngine(world), examples, options).model
    stops = iter([None] * 4 + ["enough"] * 100)
    for should_stop in (lambda: next(stops), None):
        model = fit(
            MemoryEngine(world), examples, options, Control(checkpoint=tmp_path, should_stop=should_stop)
        ).model
    assert model_text(model) == model_text(whole)


def test_an_explanation_names_the_strongest_constants(world: Database) -> None:
    model = fitted(world).model
    key = world.examples_of("likes").keys[0]
    found = explain(model, MemoryEngine(world), key, ["p000"])
    (reason,) = (each for each in found.reasons if getattr(each, "each", None) == "B")
    weights = dict(model.clauses[0].constants)
    assert all(np.log(2) * weights[name] == pytest.approx(value) for name, value in reason.constants)
    assert "rated(p000,B) is true for 6 values of B; the values of B that add most: f" in str(found)
    total = found.prior + sum(each.contribution for each in found.reasons)
    assert total == pytest.approx(found.log_odds, abs=1e-12)
    assert found.log_odds == pytest.approx(
        model.scores(MemoryEngine(world), key.reshape(1, -1))[0], abs=1e-12
    )


def test_the_query_gives_the_same_probabilities(world: Database) -> None:
    model = fitted(world).model
    connection = duckdb.connect()
    for name, relation in world.relations.items():
        columns = [
            world.population(t).decode(column)
            for t, column in zip(world.schema.types_of(name), relation.columns, strict=True)
        ]
        places = ", ".join(f"arg{place + 1} TEXT" for place in range(len(columns)))
        connection.execute(f"CREATE TABLE {name} ({places})")
        connection.executemany(
            f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", list(zip(*columns, strict=True))
        )
    examples = world.examples_of("likes")
    names = world.names_of("likes", examples.keys)
    connection.execute("CREATE TABLE examples (arg1 TEXT)")
    connection.executemany("INSERT INTO examples VALUES (?)", names.tolist())
    rows = connection.execute(model.sql("duckdb")).fetchall()
    found = {row[0]: row[-1] for row in rows}
    chances = model.probabilities(MemoryEngine(world), examples.keys)
    assert all(
        found[name] == pytest.approx(chance, abs=1e-9) for (name,), chance in zip(names, chances, strict=True)
    )


def test_a_line_shows_the_strongest(world: Database) -> None:
    first = fitted(world).model.clauses[0]
    (name, weight), *_ = first.strongest(1)
    assert str(first).startswith(f"[B: {weight:+.3g} {name}, ")
    assert str(first).endswith(", and 19 more] log : likes(A) :- rated(A,B).")


PAIR_MODES = tuple(
    map(parse_mode, ("advised(+person,+person).", "professor(+person).", "phase(+person,#stage)."))
)


@pytest.fixture(scope="module")
def pairs() -> Database:
    """Professors advise students by the stage these are at; what else is with whom says nothing."""
    rng = np.random.default_rng(3)
    chance = {f"year{number}": number / 8 for number in range(8)}
    students = [f"s{number:02}" for number in range(64)]
    stage = {student: list(chance)[number % 8] for number, student in enumerate(students)}
    professors, others = [[f"{mark}{number}" for number in range(8)] for mark in "pq"]
    keys = [(student, other) for student in students for other in (*professors, *others)]
    labels = [int(b in professors and rng.random() < chance[stage[a]]) for a, b in keys]
    facts = {"professor": [professors], "phase": [students, [stage[each] for each in students]]}
    return build(schema_of(PAIR_MODES), PAIR_MODES, facts, {"advised": (keys, labels)})


def test_a_pair_has_weights_for_the_constants_of_one_if_the_other_fits(pairs: Database) -> None:
    examples = pairs.examples_of("advised")
    options = fit_options(n_steps=3, max_literals=2)
    engines = [each(pairs) for each in (MemoryEngine, NaiveEngine, DuckDBEngine)]
    models = [fit(each, examples, options).model for each in engines]
    assert len({model_text(model) for model in models}) == 1
    (first,) = (each for each in models[0].clauses if each.each is not None)
    assert str(first.clause) == "advised(A,B) :- professor(B), phase(A,C)."
    assert [weight for _, weight in first.constants] == sorted(weight for _, weight in first.constants)
    assert parse_model(model_text(models[0])) == models[0]
    for row in (0, 100):
        key = examples.keys[row]
        found = explain(models[0], engines[0], key, pairs.names_of("advised", key.reshape(1, -1))[0])
        total = found.prior + sum(each.contribution for each in found.reasons)
        assert total == pytest.approx(models[0].scores(engines[1], key.reshape(1, -1))[0], abs=1e-12)


def test_a_row_that_comes_again_is_fitted_once() -> None:
    rng = np.random.default_rng(2)
    full = rng.integers(0, 3, size=(300, 4)).astype(float)
    rows, which = sparse(full).distinct()
    assert rows.shape == (len(np.unique(full, axis=0)), 4)
    assert np.array_equal(rows.full(np.float64)[which], full)


def rating_world(modes: tuple[str, ...]) -> Database:
    """Persons rate films as good or bad, and like something by which films they are."""
    rng = np.random.default_rng(0)
    known = tuple(map(parse_mode, ("likes(+person).", *modes)))
    persons = [f"p{number:03}" for number in range(150)]
    taste = dict(zip(FILMS[:12], rng.normal(0, 1.5, 12), strict=True))
    rated = [(p, mark, f) for p in persons for f in rng.choice(FILMS[:12], 4) for mark in ("good", "bad")]
    score = {person: sum(taste[f] for p, _, f in rated if p == person) for person in persons}
    labels = [int(rng.random() < 1 / (1 + np.exp(-score[person]))) for person in persons]
    facts = {"rated": [list(column) for column in zip(*rated, strict=True)]}
    if "day" in schema_of(known).predicates:
        facts["day"] = [["sunny", "wet"]]
    return build(schema_of(known), known, facts, {"likes": ([(person,) for person in persons], labels)})


def test_variables_are_numbered_as_they_are_read_again_wherever_modes_ask_for_constants(
    tmp_path: Path,
) -> None:
    world = rating_world(("rated(+person,#mark,-film).",))
    examples = world.examples_of("likes")
    options = fit_options(n_steps=3, max_literals=2, validate=False)
    models = [
        fit(MemoryEngine(world), examples, options, Control(checkpoint=tmp_path)).model
        for _ in ("from the start", "from what the first has left")
    ]
    first = models[0].clauses[0]
    assert (str(first.clause), first.each) == ("likes(A) :- rated(A,B,C).", 2)
    assert {name for name, _ in first.constants} == set(FILMS[:12])
    assert parse_model(model_text(models[0])) == models[0] == models[1]


def test_modes_of_constants_alone_or_of_several_have_no_weights_for_each() -> None:
    world = rating_world(("rated(+person,#mark,#film).", "day(#weather)."))
    examples = world.examples_of("likes")
    language = language_for(world, "likes", False, 0)
    assert families(MemoryEngine(world), language, examples.keys, examples.labels, 0) == Families()


class Refusing(MemoryEngine):
    """Cannot count what speaks of one film."""

    def count(self, clauses: Sequence[Clause], keys: Codes) -> list[Counts | Skipped]:
        return [
            Skipped(clause, "too large", 2, 1) if FILMS[3] in str(clause) else counts
            for clause, counts in zip(clauses, super().count(clauses, keys), strict=True)
        ]


def test_what_cannot_be_counted_has_no_weights_and_is_recorded(world: Database) -> None:
    found = fitted(world, Refusing, validate=False)
    weighed = [str(each.clause) for each in found.model.clauses if each.each is not None]
    assert "likes(A) :- rated(A,B)." not in weighed
    assert [str(each.clause) for each in found.history.skipped] == [f"likes(A) :- rated(A,{FILMS[3]})."]


def test_ctrl_c_while_constants_are_weighed_ends_the_fit(world: Database) -> None:
    class Interrupted(MemoryEngine):
        def count(self, clauses: Sequence[Clause], keys: Codes) -> list[Counts | Skipped]:
            if FILMS[3] in str(clauses):
                raise KeyboardInterrupt
            return super().count(clauses, keys)

    found = fitted(world, Interrupted, validate=False)
    assert (found.history.cut, found.history.ended, found.model.clauses) == (True, INTERRUPTED, ())


def found_families(database: Database, target: str) -> dict[str, Family]:
    """By what is weighed and the clause: ``B of likes(A) :- rated(A,B).``"""
    examples = database.examples_of(target)
    language = language_for(database, target, False, 4)
    found = families(MemoryEngine(database), language, examples.keys, examples.labels, 0).fitted
    return {f"{'ABCDE'[each.variable]} of {each.clause}": each for each in found if isinstance(each, Family)}


def test_which_clauses_and_constants_have_weights() -> None:
    films = FILMS[:12]
    persons = [f"p{number:02}" for number in range(60)]
    rated = [(person, films[number % 12]) for number, person in enumerate(persons)]
    # Four examples reach this film, and this kind is that of one film: both are too few.
    rated += [(person, "few") for person in (*persons[:4], "guest")]
    kinds = ["odd", *["k0"] * 5, *["k1"] * 6]
    facts = {
        "rated": [list(column) for column in zip(*rated, strict=True)],
        "genre": [films, kinds],
        # As many studios as films say nothing that films do not.
        "made": [films * 6, [f"s{(number + at) % 13}" for at in range(6) for number in range(12)]],
        # Neither other persons nor numbers are weighed one by one.
        "knows": [persons * 2, ["p00"] * 60 + ["p01"] * 60],
        "paid": [persons, [str(number % 3) for number in range(60)]],
    }
    modes = ("likes(+person).", "rated(+person,-film).", "genre(+film,-kind).", "made(+film,-studio).")
    known = tuple(map(parse_mode, (*modes, "knows(+person,-person).", "paid(+person,-sum).")))
    schema = replace(schema_of(known), numeric={"sum": NUMBER})
    labels = [number % 2 for number in range(60)]
    world = build(schema, known, facts, {"likes": ([(person,) for person in persons], labels)})
    found = found_families(world, "likes")
    assert {text: [name for name, _ in family.weights] for text, family in found.items()} == {
        "B of likes(A) :- rated(A,B).": films,
        "C of likes(A) :- rated(A,B), genre(B,C).": ["k0", "k1"],
        "C of likes(A) :- knows(A,B), rated(B,C).": ["f00", "f01", "few"],
    }


def test_which_clauses_about_pairs_have_weights() -> None:
    people = [f"p{number:02}" for number in range(20)]
    stages = [f"year{number % 3}" for number in range(20)]
    every = sorted({*stages, "year3", "year4", "year5"})
    facts = {
        "professor": [people[:10]],
        "phase": [people, stages],
        "met": [people, people],
        "part": [every * 2, ["one"] * 6 + ["two"] * 6],
    }
    modes = ("phase(+person,#stage).", "met(+person,+person).", "part(+stage,-term).", "professor(+person).")
    known = tuple(map(parse_mode, ("advised(+person,+person).", *modes)))
    keys = [(a, b) for a in people for b in people]
    labels = [number % 2 for number in range(400)]
    world = build(schema_of(known), known, facts, {"advised": (keys, labels)})
    assert set(found_families(world, "advised")) == {
        f"C of advised(A,B) :- {condition}phase({one},C)."
        for one, other in ("AB", "BA")
        for condition in ("", f"professor({other}), ")
    }


def test_too_many_constants_have_no_weights(world: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    films, kinds = "B of likes(A) :- rated(A,B).", "C of likes(A) :- rated(A,B), genre(B,C)."
    for most, expected in ((24, [films, kinds]), (23, [kinds])):
        monkeypatch.setattr("hornbeam.learning.constants.per_constant.MOST_CONSTANTS", most)
        assert list(found_families(world, "likes")) == expected


@pytest.mark.parametrize("target", ["likes", "advised"])
def test_examples_have_sums_that_others_gave(
    world: Database, pairs: Database, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hornbeam.learning.constants.per_constant.PENALTIES", (10.0,))
    database = world if target == "likes" else pairs
    examples = database.examples_of(target)
    language = language_for(database, target, False, 0)

    def sums(labels: np.ndarray) -> np.ndarray:
        found = families(MemoryEngine(database), language, examples.keys, labels, 0).fitted
        return np.array([each.crossed for each in found if isinstance(each, Family)])

    before = sums(examples.labels)
    for row in (0, 70):
        # Whatever labels examples have that share a constant with this one, in the same place.
        near = (examples.keys == examples.keys[row]).any(axis=1)
        after = sums(np.where(near, 1 - examples.labels, examples.labels))
        assert np.array_equal(after[:, row], before[:, row])
        assert not np.array_equal(after, before)


def test_the_penalty_predicts_what_the_weights_have_not_seen(world: Database) -> None:
    examples = world.examples_of("likes")
    labels = examples.labels
    found = found_families(world, "likes")["B of likes(A) :- rated(A,B)."]
    clauses = [parse_clause(f"likes(A) :- rated(A,{film}).", world.schema) for film in FILMS]
    features = np.log1p(
        [counts.true.astype(float) for counts in MemoryEngine(world).count(clauses, examples.keys)]
    ).T
    losses, sums = {}, {}
    for l2 in (30.0, 10.0, 3.0):
        scores, sums[l2] = np.zeros(len(labels)), np.zeros(len(labels))
        for inside, outside in per_constant._parts(world, "likes", examples.keys, 0):
            right = LogisticRegression(C=1 / l2, tol=1e-10).fit(features[inside], labels[inside])
            sums[l2][outside] = features[outside] @ right.coef_[0]
            scores[outside] = sums[l2][outside] + right.intercept_[0]
        losses[l2] = log_loss(labels, scores)
    assert losses[30.0] > losses[10.0] > losses[3.0]
    assert found.crossed == pytest.approx(sums[3.0], abs=1e-2)
    right = LogisticRegression(C=1 / 3.0, tol=1e-10).fit(features, labels)
    assert [weight for _, weight in found.weights] == pytest.approx(right.coef_[0], abs=1e-2)
