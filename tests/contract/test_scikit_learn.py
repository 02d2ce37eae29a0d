"""The estimator contract: scikit-learn's own checks, and what people do with estimators."""

import inspect
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    estimator_checks_generator,
)

from hornbeam.data.build import build
from hornbeam.datasets.worlds import smokers, university
from hornbeam.errors import DataError, HornbeamWarning, OptionError
from hornbeam.estimators.learners import (
    AggLRClassifier,
    IlpRLRClassifier,
    MLNBoostClassifier,
    RDNBoostClassifier,
    RLRClassifier,
    RLRRegressor,
)
from hornbeam.learning.options import PRESETS, fit_options
from hornbeam.logic.parse import parse_mode
from hornbeam.logic.schema import Schema
from hornbeam.model.files import load_model, model_text, save_model
from plain_options import FEW

# --- scikit-learn's checks -----------------------------------------------------------------------

COLUMNS = {
    "check_classifier_data_not_an_array": 2,
    "check_classifiers_classes": 2,
    "check_estimators_dtypes": 5,
    "check_classifiers_train": 2,
    "check_dict_unchanged": 3,
    "check_dont_overwrite_parameters": 3,
    "check_dtype_object": 10,
    "check_estimators_fit_returns_self": 2,
    "check_estimators_nan_inf": 3,
    "check_estimators_overwrite_params": 2,
    "check_estimators_pickle": 3,
    "check_f_contiguous_array_estimator": 3,
    "check_fit2d_1feature": 1,
    "check_fit2d_predict1d": 3,
    "check_fit_check_is_fitted": 2,
    "check_fit_idempotent": 2,
    "check_fit_score_takes_y": 3,
    "check_methods_sample_order_invariance": 3,
    "check_methods_subset_invariance": 3,
    "check_n_features_in": 2,
    "check_n_features_in_after_fitting": 4,
    "check_pipeline_consistency": 3,
    "check_positive_only_tag_during_fit": 4,
    "check_readonly_memmap_input": 2,
    "check_supervised_y_2d": 3,
    "check_decision_proba_consistency": 2,
    "check_regressor_data_not_an_array": 10,
    "check_regressors_int": 10,
    "check_regressors_no_decision_function": 4,
    "check_regressors_train": 10,
    "check_sample_weight_equivalence_on_dense_data": 30,
    "check_sample_weights_list": 3,
    "check_sample_weights_not_an_array": 2,
    "check_sample_weights_not_overwritten": 2,
    "check_sample_weights_pandas_series": 2,
    "check_sample_weights_shape": 2,
    "check_transformer_data_not_an_array": 3,
    "check_transformer_general": 3,
    "check_transformer_preserve_dtypes": 3,
}
"""Checks that draw X with so many columns; a target takes exactly as many as it has arguments."""


def any_world(arity):
    """Whole numbers as keys, of which 0 and 1 are special, and a target with that many arguments."""
    schema = Schema({"p": ("x",), "q": ("x", "x"), "t": ("x",) * arity})
    modes = [parse_mode("p(+x)."), parse_mode("q(+x,-x).")]
    return build(schema, modes, {"p": [["0", "1"]], "q": [["0", "1", "2"], ["1", "2", "3"]]})


def checks():
    """Each check of scikit-learn once for each estimator, with a target of as many columns as it draws."""
    for arity in sorted({1, *COLUMNS.values()} - {30}):
        for made in (
            RLRClassifier(any_world(arity), "t", n_steps=2, max_literals=2),
            RLRRegressor(any_world(arity), "t", n_steps=2, n_bags=2, max_links=1),
        ):
            for estimator, check in estimator_checks_generator(made):
                name = getattr(check, "func", check).__name__
                if COLUMNS.get(name, 1) == arity:
                    yield pytest.param(estimator, check, id=f"{type(made).__name__}-{name}")


@pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")
@pytest.mark.parametrize("kind", [RLRClassifier, RLRRegressor])
def test_scikit_learn_checks_weights_with_thirty_columns(kind):
    check_sample_weight_equivalence_on_dense_data(
        kind.__name__, kind(any_world(30), "t", n_steps=2, max_literals=2)
    )


# --- what people do ------------------------------------------------------------------------------

DATABASE = smokers(n_persons=300, seed=1)
X, y = DATABASE.examples("cancer")


def classifier(**options):
    return RLRClassifier(
        **({"database": DATABASE, "target": "cancer", "n_steps": 3, "max_literals": 2} | options)
    )


def test_parameters_are_stored_untouched_and_a_clone_shares_the_database():
    options = {"l2": "anything", "n_steps": [1], "preset": None, "target": "CANCER"}
    made = classifier(**options)
    assert {name: made.get_params()[name] for name in options} == options
    copy = clone(classifier(l2=3.0))
    assert copy.database is DATABASE
    assert copy.get_params() == classifier(l2=3.0).get_params()
    assert copy.set_params(l2=4.0).l2 == 4.0


@pytest.mark.parametrize(
    "kind", [RLRClassifier, AggLRClassifier, IlpRLRClassifier, MLNBoostClassifier, RDNBoostClassifier]
)
def test_the_signature_shows_every_option_with_its_default_type_and_meaning(kind):
    parameters = inspect.signature(kind).parameters
    for name, declared in kind.options_class.declared().items():
        if name == "loss":
            continue  # a classifier has no choice
        assert parameters[name].default == declared.default == getattr(kind(), name)
        assert parameters[name].annotation == declared.type
        assert f"\n{name} : " in kind.__doc__
    assert list(kind(DATABASE, "cancer").get_params()) == sorted(parameters)
    assert kind(DATABASE, "cancer").database is DATABASE
    with pytest.raises(TypeError, match="unexpected keyword argument 'steps'"):
        kind(steps=3)
    with pytest.raises(AttributeError, match=f"'{kind.__name__}' object has no attribute 'steps'"):
        kind().steps  # noqa: B018


def test_the_stub_for_editors_names_the_same_classes():
    import hornbeam.estimators.learners as module

    stub = module.__file__ + "i"
    with open(stub, encoding="utf-8") as file:  # noqa: PTH123
        text = file.read()
    for name in vars(module):
        if name.endswith("Classifier") and name != "RelationalClassifier":
            assert re.search(rf"\nclass {name}\((EffectsAsColumns, )?RelationalClassifier\):\n", text)


def test_an_option_that_is_not_given_follows_the_preset():
    made = RLRClassifier(preset="paper")
    for name in PRESETS["paper"].names():
        assert getattr(made, name) == getattr(PRESETS["paper"], name)
    assert made.get_params()["l2"] == 1000.0
    assert made.set_params(preset="default").l2 == 5.0
    assert RLRClassifier().set_params(preset="paper")._options() == PRESETS["paper"]


def test_an_option_that_is_given_wins_over_the_preset_even_with_the_value_of_the_default():
    assert RLRClassifier(preset="paper", l2=2.0)._options() == fit_options("paper", l2=2.0)
    assert RLRClassifier(preset="paper").set_params(l2=2.0)._options() == fit_options("paper", l2=2.0)
    with pytest.raises(OptionError, match=r'validate=False is refused: it belongs to preset "default"\.'):
        RLRClassifier(preset="paper", validate=False)._options()


def test_the_old_name_of_an_option_is_accepted_with_a_warning():
    with pytest.warns(HornbeamWarning, match="the option max_clauses is now called max_effects"):
        assert RLRClassifier(max_clauses=4).max_effects == 4


def test_copies_know_what_was_given():
    made = RLRClassifier(preset="paper", l2=2.0)
    for copy in (clone(made), pickle.loads(pickle.dumps(made)), RLRClassifier(**made.get_params())):
        assert copy.get_params() == made.get_params()
        assert copy._options() == made._options()
    assert clone(made).set_params(preset="default")._options() == fit_options(l2=2.0)
    assert repr(made) == "RLRClassifier(preset='paper', l2=2.0)"


def test_a_grid_search_over_presets():
    search = GridSearchCV(classifier(), {"preset": ["default", "paper"], "l2": [2.0, 1000.0]}, cv=2).fit(X, y)
    best = search.best_estimator_.model_.settings
    assert best["l2"] == search.best_params_["l2"]
    assert ("feature" in best) == (search.best_params_["preset"] == "paper")


def test_a_grid_search_over_penalty_and_length():
    search = GridSearchCV(
        classifier(), {"l2": [1.0, 100.0], "max_literals": [1, 2]}, cv=3, scoring="neg_log_loss"
    ).fit(X, y)
    assert set(search.best_params_) == {"l2", "max_literals"}
    assert search.best_estimator_.database is DATABASE
    assert search.best_estimator_.model_.settings["l2"] == search.best_params_["l2"]


def test_predictions_across_folds_keep_the_order_of_rows():
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    found = cross_val_predict(classifier(), X, y, cv=folds, method="predict_proba")
    for train, test in folds.split(X, y):
        expected = classifier().fit(X[train], y[train]).predict_proba(X[test])
        assert np.array_equal(found[test], expected)
    assert len(cross_val_score(classifier(), X, y, cv=3, scoring="roc_auc")) == 3


def test_processes_share_the_work():
    alone = cross_val_score(classifier(), X, y, cv=2)
    assert cross_val_score(classifier(), X, y, cv=2, n_jobs=2).tolist() == alone.tolist()


def test_pickling_keeps_the_predictions():
    fitted = classifier().fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.model_ == fitted.model_


def test_a_pipeline_passes_keys_through():
    assert make_pipeline(classifier()).fit(X, y).score(X, y) > 0.5


def test_probabilities_are_in_the_order_of_classes_and_rows():
    fitted = classifier().fit(X, y)
    found = fitted.predict_proba(X)
    assert fitted.classes_.tolist() == [0, 1]
    assert fitted.n_features_in_ == 1
    assert np.allclose(found.sum(axis=1), 1)
    assert found[y == 1, 1].mean() > found[y == 0, 1].mean()
    assert np.array_equal(fitted.predict(X), (found[:, 1] > 0.5).astype(int))
    order = np.random.default_rng(0).permutation(len(X))
    assert np.array_equal(fitted.predict_proba(X[order]), found[order])


@pytest.mark.parametrize("kind", ["list", "str array", "pandas", "polars"])
def test_any_kind_of_rows_gives_the_same_model(kind):
    rows = {
        "list": X.tolist(),
        "str array": X.astype(str),
        "pandas": pd.DataFrame(X, columns=["person"]),
        "polars": pl.DataFrame({"person": X[:, 0].tolist()}),
    }[kind]
    fitted = classifier().fit(rows, y.tolist() if kind == "list" else y)
    assert model_text(fitted.model_) == model_text(classifier().fit(X, y).model_)
    assert fitted.predict_proba(rows).shape == (300, 2)
    if kind in ("pandas", "polars"):
        assert fitted.feature_names_in_.tolist() == ["person"]


def test_numbers_and_their_text_are_one_key():
    database = build(
        Schema({"smokes": ("person",), "cancer": ("person",)}),
        [parse_mode("smokes(+person).")],
        {"smokes": [["1", "2"]]},
        {"cancer": ([["1"], ["2"], ["3"], ["4"]], [1, 1, 0, 0])},
    )
    found = [
        RLRClassifier(database, n_steps=2, min_support=1, **FEW)
        .fit(rows, [1, 1, 0, 0])
        .predict_proba(rows)
        .tolist()
        for rows in (
            np.array([[1], [2], [3], [4]]),
            np.array([[1.0], [2], [3], [4]]),
            [["1"], ["2"], ["3"], ["4"]],
        )
    ]
    assert found[0] == found[1] == found[2]
    assert found[0][0][1] > 0.5 > found[0][3][1]


def test_predicting_on_another_database():
    other = smokers(n_persons=100, seed=2)
    keys, labels = other.examples("cancer")
    fitted = classifier().fit(X, y)
    found = fitted.predict_proba(keys, database=other)[:, 1]
    assert found[labels == 1].mean() > found[labels == 0].mean()
    assert np.array_equal(clone(fitted).set_params(database=other).fit(keys, labels).classes_, [0, 1])


def test_the_target_may_be_in_any_case_or_left_out():
    assert classifier(target=None).fit(X, y).model_ == classifier(target="Cancer").fit(X, y).model_


def test_explanations_come_one_per_row():
    fitted = classifier().fit(X, y)
    first, second = fitted.explain(X[:2], shown=2)
    assert (first.key, second.key) == (tuple(X[0]), tuple(X[1]))
    assert first.probability == fitted.predict_proba(X[:1])[0, 1]


def test_all_negatives_are_an_option_and_not_the_lack_of_one():
    assert classifier(neg_pos_ratio=None).fit(X, y).model_.settings["neg_pos_ratio"] is None
    assert classifier(preset="paper", n_steps=1).fit(X, y).model_.settings["neg_pos_ratio"] is None
    assert classifier().fit(X, y).model_.settings["neg_pos_ratio"] is not None


def test_one_warning_for_unknown_keys_and_none_where_they_are_refused():
    fitted = classifier().fit(X, y)
    with pytest.warns(HornbeamWarning, match=r"2 of 3 keys are not in the data \(first: zoe\)") as caught:
        fitted.predict_proba([["zoe"], [X[0, 0]], ["tim"]])
    assert len(caught) == 1
    with pytest.raises(DataError, match="1 of 1 keys are not in the data"):
        fitted.set_params(unknown="error").predict_proba([["zoe"]])


def test_one_warning_for_skipped_candidates():
    database = university(n_departments=1)
    pairs, labels = database.examples("advisedby")
    with pytest.warns(HornbeamWarning, match="candidate clauses that could not be counted") as caught:
        fitted = RLRClassifier(database, memory=10_000, n_steps=2, max_literals=2).fit(pairs, labels)
    assert len(caught) == 1
    assert len(fitted.history_.skipped) > 0


def test_a_time_limit_keeps_the_steps_and_warns():
    with pytest.warns(
        HornbeamWarning, match=r"the fit was stopped early \(time limit\); the model has 0 steps"
    ):
        fitted = classifier(time_limit=0).fit(X, y)
    assert fitted.history_.cut


@pytest.mark.parametrize(
    ("options", "rows", "labels", "error", "sentence"),
    [
        ({"database": None}, X, y, OptionError, "database=None is refused: it must be a Database"),
        (
            {"target": "cnacer"},
            X,
            y,
            DataError,
            'no target "cnacer". Targets are: cancer. Did you mean "cancer"?',
        ),
        ({"preset": "defualt"}, X, y, OptionError, 'no preset "defualt".'),
        ({"l2": 0}, X, y, OptionError, "l2=0 is refused: it must be a finite number above 0 and"),
        ({"engine": "duck"}, X, y, OptionError, 'no engine "duck".'),
        ({}, np.repeat(X, 2, axis=1), y, DataError, 'X has 2 columns, but "cancer" takes 1'),
        ({}, X, y[:-1], DataError, "X has 300 rows, but y has 299 labels."),
        ({}, X, y + 0.5, DataError, "Unknown label type: continuous"),
        ({}, X, [None, *y[1:]], DataError, "y has labels of different types, or missing labels"),
        ({}, X, np.arange(300), DataError, "y has 300 different labels; at most 100 classes are allowed."),
        ({}, X, np.ones(300), DataError, "y has one class only, 1.0: learning needs examples of two"),
        ({}, X, None, DataError, "fit requires y to be passed, but the target y is None"),
        ({}, np.arange(300) + 0.5, y, DataError, "X has 1 dimensions, but must have two"),
    ],
)
def test_bad_input_is_one_sentence(options, rows, labels, error, sentence):
    with pytest.raises(error) as caught:
        classifier(**options).fit(rows, labels)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_predicting_before_learning_or_with_other_columns_is_refused():
    with pytest.raises(NotFittedError):
        classifier().predict_proba(X)
    fitted = classifier().fit(X, y)
    with pytest.raises(DataError, match=r'X has 2 features, .* expecting 1 features as input: .* "cancer"'):
        fitted.predict_proba(np.repeat(X, 2, axis=1))


def test_a_classifier_is_no_model(tmp_path):
    with pytest.raises(OptionError, match="takes a model, not a RLRClassifier: pass its model_ attribute"):
        save_model(classifier(), tmp_path / "m.json")
    fitted = classifier().fit(X, y)
    save_model(fitted.model_, tmp_path / "m.json")
    assert load_model(tmp_path / "m.json") == fitted.model_
    assert len(repr(fitted.report(X, y))) < 100


def test_two_argument_targets_learn_the_planted_clause():
    database = university(n_departments=2, seed=1)
    pairs, labels = database.examples("advisedby")
    planted = "advisedby(A,B) :- publication(C,A), publication(C,B)."
    fitted = RLRClassifier(database, max_literals=2).fit(pairs, labels)
    assert str(fitted.model_.effects[0].effect).endswith(planted)
    paper = RLRClassifier(database, preset="paper", n_steps=1, max_literals=2, l2=1.0, beam_width=5)
    (found,) = paper.fit(pairs, labels).model_.clauses
    assert str(found.clause) == planted


# --- numbers and weights -------------------------------------------------------------------------

NUMBERS = np.random.default_rng(3).normal(size=len(X)) + 2.0 * y


def regressor(**options):
    return RLRRegressor(
        **(
            {"database": DATABASE, "target": "cancer", "n_steps": 12, "n_bags": 2, "max_literals": 2}
            | options
        )
    )


@pytest.mark.parametrize("kind", [RLRClassifier, RLRRegressor])
def test_a_weight_of_two_is_an_example_given_twice(kind):
    target = y if kind is RLRClassifier else NUMBERS
    made = kind(DATABASE, "cancer", n_steps=12, n_bags=2, max_literals=1, min_support=1, per_constant=False)
    twice = clone(made).fit(np.vstack([X, X]), np.concatenate([target, target]))
    weighted = clone(made).fit(X, target, sample_weight=np.full(len(X), 2.0))
    once = clone(made).fit(X, target)
    predict = "predict_proba" if kind is RLRClassifier else "predict"
    expected, found, plain = (getattr(each, predict)(X) for each in (twice, weighted, once))
    assert np.allclose(found, expected)
    assert not np.allclose(found, plain)


def test_weights_count_in_a_fit_that_has_no_time():
    weights = np.where(y == y[0], 3.0, 1.0)
    with pytest.warns(HornbeamWarning, match="time limit"):
        fitted = RLRClassifier(DATABASE, "cancer", time_limit=1e-9).fit(X, y, sample_weight=weights)
    expected = weights[y == fitted.classes_[1]].sum() / weights.sum()
    assert np.allclose(fitted.predict_proba(X)[:, 1], expected)


def test_an_example_of_weight_zero_is_not_there():
    weights = np.r_[np.zeros(50), np.ones(len(X) - 50)]
    left_out = regressor().fit(X[50:], NUMBERS[50:])
    weighted = regressor().fit(X, np.r_[np.full(50, 1e9), NUMBERS[50:]], sample_weight=weights)
    assert np.array_equal(weighted.predict(X), left_out.predict(X))


def test_weights_that_cannot_be_used_are_refused():
    with pytest.raises(DataError, match="finite numbers of at least 0"):
        regressor().fit(X, NUMBERS, sample_weight=-np.ones(len(X)))
    for extreme in (1e300, 1e-300, np.inf, np.nan):
        with pytest.raises(DataError, match="sample_weight must"):
            regressor().fit(X, NUMBERS, sample_weight=np.full(len(X), extreme))
    with pytest.raises(DataError, match=r"has the shape \(3,\), but X has 300 rows"):
        regressor().fit(X, NUMBERS, sample_weight=np.ones(3))
    with pytest.raises(OptionError, match='learner "rdn-boost" does not use it'):
        RDNBoostClassifier(DATABASE, "cancer").fit(X, y, sample_weight=np.arange(len(X)))


def test_a_decision_is_in_log_odds_and_agrees_with_the_probability():
    fitted = classifier().fit(X, y)
    assert np.allclose(1 / (1 + np.exp(-fitted.decision_function(X))), fitted.predict_proba(X)[:, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HornbeamWarning)
        three = classifier().fit(X, np.where(NUMBERS > 2, "high", np.where(NUMBERS > 0, "middle", "low")))
    decided = three.decision_function(X)
    assert decided.shape == (300, 3)
    assert np.array_equal(three.classes_[decided.argmax(axis=1)], three.predict(X))


# With half of the examples the search may learn nothing.
@pytest.mark.filterwarnings("ignore:no effect lowers the loss:hornbeam.errors.HornbeamWarning")
def test_a_regressor_predicts_explains_and_can_be_searched_and_pickled():
    fitted = regressor().fit(X, NUMBERS)
    found = fitted.predict(X)
    assert fitted.score(X, NUMBERS) > 0.05
    assert fitted.model_.loss == "squared"
    explained = fitted.explain(X[:1])[0]
    assert explained.probability == found[0]
    total = explained.prior + sum(reason.contribution for reason in explained.reasons)
    assert total == pytest.approx(found[0])
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), found)
    assert clone(regressor(loss="absolute")).loss == "absolute"
    search = GridSearchCV(regressor(), {"loss": ["squared", "absolute"]}, cv=2).fit(X, NUMBERS)
    assert search.best_estimator_.model_.loss == search.best_params_["loss"]


@pytest.mark.parametrize(
    ("values", "options", "sentence"),
    [
        (
            np.where(NUMBERS > 3, np.nan, NUMBERS),
            {},
            '"cancer" holds nan: NaN and infinity cannot be learned',
        ),
        (np.where(NUMBERS > 3, -np.inf, NUMBERS), {}, '"cancer" holds -inf: NaN and infinity cannot'),
        (np.linspace(0.0, 1e150, len(X)), {}, '"cancer" holds 1e+150, which is too large to learn'),
        (np.full(len(X), 7.0), {}, '"cancer" cannot be learned from 300 examples that all have the value 7'),
        (NUMBERS, {"loss": "poisson"}, "the loss poisson needs numbers of at least 0, found -"),
        (np.array(["a"] * len(X)), {}, "y holds something that is not a number"),
    ],
)
def test_numbers_that_cannot_be_learned_are_refused_by_one_sentence(values, options, sentence):
    with pytest.raises(DataError) as caught:
        regressor(**options).fit(X, values)
    assert sentence in str(caught.value)
    assert str(caught.value).count(". ") == 0


def test_a_loss_that_does_not_exist_is_refused():
    with pytest.raises(OptionError, match="loss='cubic' is refused: it must be"):
        regressor(loss="cubic").fit(X, NUMBERS)


def test_huge_numbers_do_not_overflow():
    plain = regressor().fit(X, NUMBERS).predict(X)
    for unit in (2.0**300, 2.0**-900):
        with np.errstate(all="raise"):
            assert np.allclose(regressor().fit(X, NUMBERS * unit).predict(X) / unit, plain)
