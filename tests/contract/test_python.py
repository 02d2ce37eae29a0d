"""Python as people use it: keys in any form, effects as columns, frames, notebooks, warnings, progress."""

import pickle
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import hornbeam as hb
from hornbeam.datasets.worlds import smokers
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.clauses.counting.count import count_all
from hornbeam.engines.naive import NaiveEngine
from hornbeam.errors import DataError, HornbeamWarning, OptionError
from hornbeam.estimators.columns import column_names
from hornbeam.logic.parse import parse_clause
from hornbeam.model.class_model import ClassModel
from hornbeam.model.effects import levels_of
from hornbeam.model.explain import Explanations
from table_worlds import as_pandas, shop

FEW = {"n_bags": 2, "n_steps": 20}


@pytest.fixture(scope="module")
def frames():
    return as_pandas(shop(), Path())


@pytest.fixture(scope="module")
def database(frames):
    return hb.load(frames, target="users.gender=F")


@pytest.fixture(scope="module")
def women(frames):
    users = frames["users"].dropna(subset=["gender"])
    return users, (users["gender"] == "F").astype(int)


@pytest.fixture(scope="module")
def fitted(database, women):
    return hb.RLRClassifier(database=database, **FEW).fit(*women)


# --- keys ----------------------------------------------------------------------------------------


def test_keys_may_be_a_column_a_list_or_in_a_frame(fitted, database, women):
    users, labels = women
    expected = fitted.predict_proba(users[["user_id"]])
    forms = [
        users,
        users[["age", "user_id"]],
        users.set_index("user_id"),
        users.set_index("user_id")[["age"]],
        users["user_id"],
        users["user_id"].tolist(),
        users["user_id"].to_numpy(),
        users["user_id"].astype(str).tolist(),
        pl.DataFrame(users[["age", "user_id"]]),
        pl.DataFrame(users[["age", "user_id"]]).to_arrow(),
    ]
    for X in forms:
        assert np.array_equal(fitted.predict_proba(X), expected)
    plain = hb.RLRClassifier(database=database, **FEW).fit(users["user_id"].to_numpy().reshape(-1, 1), labels)
    assert np.array_equal(plain.predict_proba(users["user_id"].tolist()), expected)


def test_pairs_are_taken_by_the_names_of_their_columns(frames):
    database = hb.load(frames, target="ratings", negatives=1)
    keys, labels = database.examples()
    model = hb.RLRClassifier(database=database, **FEW).fit(keys, labels)
    swapped = pd.DataFrame({"other": 1, "movie_id": keys[:, 1], "user_id": keys[:, 0]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the keys of fit had no names
        assert np.array_equal(model.predict_proba(swapped), model.predict_proba(keys))


def test_a_frame_without_the_key_is_refused_in_a_sentence(fitted, women):
    users, _ = women
    with pytest.raises(
        DataError, match="X has the columns age, height, premium, but no user_id; give the key columns"
    ):
        fitted.predict_proba(users[["age", "height", "premium"]])
    with pytest.raises(DataError, match="Reshape your data"):
        fitted.predict_proba(np.array([0.5, 1.5]))


def test_a_new_target_is_named_once(frames):
    database = hb.load(frames, target="vip(users)")
    users = frames["users"]
    unnamed = hb.RLRClassifier(database=database, **FEW)
    named = hb.RLRClassifier(database=database, target="vip", **FEW)
    labels = users["gender"].eq("F").astype(int)
    models = [str(each.fit(users, labels).model_) for each in (unnamed, named)]
    assert models[0] == models[1]
    with pytest.raises(DataError, match="is new, so the tables have no examples of it"):
        database.examples()


# --- effects as columns --------------------------------------------------------------------------


def test_effects_are_columns_for_another_model(fitted, women):
    users, labels = women
    columns, values = fitted.transform(users), fitted.transform(users, kind="values")
    names = fitted.get_feature_names_out()
    assert columns.shape == values.shape == (len(users), len(fitted.model_.effects))
    assert len(set(names)) == len(names) == columns.shape[1]
    assert np.isfinite(columns).all()
    assert np.array_equal(columns, fitted.predict_contributions(users))
    for place, each in enumerate(fitted.model_.effects):
        assert np.array_equal(columns[:, place], levels_of(each.effect.curve, values[:, place]))
        if each.effect.feature.kind == "count":
            assert names[place].startswith("number of ")
            assert (values[:, place] == np.floor(values[:, place])).all()
    with pytest.raises(OptionError, match="kind='odds' is refused: it is one of 'log-odds', 'values'"):
        fitted.transform(users, kind="odds")
    effects = hb.RLRClassifier(database=fitted.database, **FEW)
    both = make_pipeline(effects, LogisticRegression(max_iter=2000)).fit(users, labels)
    assert both.score(users, labels) > 0.9
    framed = hb.RLRClassifier(database=fitted.database, **FEW).set_output(transform="pandas")
    assert list(framed.fit(users, labels).transform(users).columns) == list(names)


def test_contributions_add_up_to_the_log_odds(fitted, women):
    users, _ = women
    added = fitted.predict_contributions(users)
    assert added.shape == (len(users), len(fitted.get_feature_names_out()))
    chances = fitted.predict_proba(users)[:, 1]
    scores = fitted.model_.prior + added.sum(axis=1)
    assert np.allclose(scores, np.log(chances / (1.0 - chances)))
    for explained, row in zip(fitted.explain(users[:3]), added, strict=False):
        assert sorted(row) == pytest.approx(sorted(each.contribution for each in explained.reasons))


def test_importances_are_shares_of_the_columns(fitted):
    own = [each.importance for each in fitted.model_.effects]
    assert len(own) == len(fitted.get_feature_names_out())
    assert fitted.feature_importances_ == pytest.approx(np.array(own) / sum(own))


def test_scores_are_held_out_for_the_rows_of_fit(fitted, women):
    users, labels = women
    scores = fitted.held_out_scores_
    known = ~np.isnan(scores)
    assert scores.shape == (len(users),)
    assert 0.1 < known.mean() < 0.6
    assert not np.allclose(scores[known], fitted.decision_function(users)[known])
    weights = np.ones(len(users))
    weights[:7] = 0
    model = hb.RLRClassifier(database=fitted.database, **FEW).fit(users, labels, weights)
    alone = hb.RLRClassifier(database=fitted.database, **FEW).fit(users[7:], labels[7:])
    assert np.isnan(model.held_out_scores_[:7]).all()
    assert np.array_equal(model.held_out_scores_[7:], alone.held_out_scores_, equal_nan=True)


def test_the_columns_of_classes_name_their_class(fitted):
    twice = replace(fitted.model_, effects=fitted.model_.effects * 2)
    classes = ClassModel(twice.target, twice.schema, ("a", "b", "c"), (twice, twice, twice), {})
    names = column_names(classes)
    assert len(set(names)) == len(names) == 3 * len(twice.effects) > 0
    assert [name.split(": ")[0] for name in names] == [of_class for of_class in "abc" for _ in twice.effects]


def test_the_columns_of_clauses_add_up_to_the_log_odds():
    database = smokers(n_persons=120)
    keys, labels = database.examples("cancer")
    paper = hb.RLRClassifier(database=database, preset="paper", n_steps=3).fit(keys, labels)
    probabilities = paper.predict_proba(keys)[:, 1]
    columns = paper.transform(keys)
    scores = columns.sum(axis=1) + paper.model_.prior
    spread = np.abs(columns - columns.mean(axis=0)).mean(axis=0)
    assert paper.feature_importances_ == pytest.approx(spread / spread.sum())
    assert np.isnan(paper.held_out_scores_).all()
    assert np.allclose(scores, np.log(probabilities / (1.0 - probabilities)))


# --- count and evaluate --------------------------------------------------------------------------


def test_count_is_the_naive_count_in_the_order_of_the_data(database, frames):
    counted = hb.count(database, "gender_f(A) :- ratings(A,B), romance(B).")
    assert counted.keys["user_id"] == frames["users"]["user_id"].astype(str).tolist()
    examples = database.examples_of("gender_f").as_given()
    clause = parse_clause("gender_f(A) :- ratings(A,B), romance(B).", database.schema)
    (naive,) = count_all(counter_of(NaiveEngine(database)), [clause], examples.keys)
    assert counted.true.tolist() == [int(each) for each in naive.true]
    frame = counted.to_frame()
    assert list(frame.columns) == ["user_id", "true", "false"]
    assert "and 50 more examples" in counted._repr_html_()
    assert repr(counted).startswith("ClauseCounts(60 examples, ")


def test_evaluate_scores_a_classifier_a_model_and_a_file(fitted, database, tmp_path):
    scores = hb.evaluate(fitted)
    assert scores.n_pos + scores.n_neg == 56
    hb.save_model(fitted.model_, tmp_path / "m.json")
    assert scores == hb.evaluate(fitted.model_, database) == hb.evaluate(tmp_path / "m.json", database)
    with pytest.raises(OptionError, match="int is no model: give a fitted classifier"):
        hb.evaluate(3, database)
    with pytest.raises(OptionError, match="evaluate needs a database"):
        hb.evaluate(fitted.model_)


# --- frames and notebooks ------------------------------------------------------------------------


def test_explanations_are_a_list_a_frame_and_a_page(fitted, women):
    users, _ = women
    explained = fitted.explain(users.head(30))
    assert isinstance(explained, Explanations)
    frame = explained.to_frame()
    assert list(frame.columns) == ["example", "probability", "adds", "because"]
    log_odds = frame.groupby("example", sort=False)["adds"].sum()
    assert np.allclose(log_odds, [each.log_odds for each in explained])
    assert explained._repr_html_().count("<table") == 20
    assert "and 10 more examples" in explained._repr_html_()
    assert repr(explained[0]).startswith("Explanation(gender_f(1), probability 0.")
    assert str(explained).count("from the prior") == 30


def test_history_models_and_data_show_themselves(fitted, database, frames):
    history = fitted.history_
    assert len(history.to_frame()) == len(history.steps)
    assert "Ended: " in history._repr_html_()
    assert len(repr(history)) < 120
    assert len(repr(fitted.model_)) < 120
    assert repr(database).endswith("examples: gender_f (60); tables: movies, ratings, users)")
    page = database._repr_html_()
    assert "user_id → users, movie_id → movies" in page
    assert "note: keys and links were inferred" in page
    odd = {**frames, "users": frames["users"].assign(planet="earth")}
    suspicious = hb.load(odd, target="users.gender=F")
    assert suspicious.suspicions == ("users.planet: the same value (earth) in every row; not used",)
    assert "suspicious: users.planet: the same value" in suspicious._repr_html_()
    assert pickle.loads(pickle.dumps(suspicious)).suspicions == suspicious.suspicions
    facts = smokers(n_persons=20)
    assert "friends(person, person)" in facts._repr_html_()
    jobs = hb.load(frames, target="users.job")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HornbeamWarning)  # some classes cannot be told apart
        classes = hb.RLRClassifier(database=jobs, **FEW).fit(*jobs.examples())
    assert set(classes.model_.to_frame()["class"]) <= {"nurse", "it's", "Élève"}
    assert len(repr(classes.model_)) < 120
    assert "nurse" in classes.model_._repr_html_()
    assert classes.model_.words().startswith("Which job do users have?")
    for name, sentence in zip(
        *(classes.model_.to_frame()[each] for each in ("class", "sentence")), strict=True
    ):
        assert sentence.startswith(f"Job {name} is ")


# --- warnings and progress -----------------------------------------------------------------------


def test_notices_of_loading_are_warnings_but_for_what_was_inferred(frames):
    with pytest.warns(HornbeamWarning, match="nothing is learned from them") as seen:
        database = hb.load(frames, target="users.gender=F")
    stated = [str(notice) for notice in database.notices if not notice.is_guess]
    assert [str(each.message) for each in seen] == stated
    assert seen[0].filename == __file__
    (guessed,) = (str(notice) for notice in database.notices if notice.is_guess)
    assert guessed.startswith("keys and links were inferred")
    assert "note: keys and links were inferred" in database._repr_html_()


def test_progress_is_written_if_asked_for(database, women, capsys):
    hb.RLRClassifier(database=database, **FEW).fit(*women)
    assert capsys.readouterr() == ("", "")
    hb.RLRClassifier(database=database, verbose=2, **FEW).fit(*women)
    out, err = capsys.readouterr()
    assert out == ""
    assert "step 0: candidates of path 1 of " in err
    assert "step 20: log-loss on held-out examples 0." in err
