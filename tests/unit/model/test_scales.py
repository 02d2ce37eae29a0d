"""Each loss is known wherever losses matter: a learner minimises it, and its scale says what scores are."""

import duckdb
import numpy as np
import pytest

from hornbeam.errors import DataError
from hornbeam.learning.losses.named import LOSSES, loss_named
from hornbeam.learning.options import EffectOptions
from hornbeam.model.scales import AMONG_ALTERNATIVES, OF_CLASS, SCALES, Scale, shares, softmax

ALONE = {name: scale for name, scale in SCALES.items() if not (scale.of_choice or scale.of_class)}
"""The scales on which a single score stands for a prediction."""
SCORES = [-1000.0, -30.0, -1.5, 0.0, 0.25, 3.0, 30.0, 700.0]


def test_a_learner_minimises_each_loss_that_has_a_scale():
    assert [loss_named(name).name for name in LOSSES] == list(SCALES)


def test_each_loss_can_be_chosen_as_an_option():
    for loss, scale in SCALES.items():
        if not scale.of_class:
            assert EffectOptions(loss=loss).loss == loss


@pytest.mark.parametrize("scale", ALONE.values(), ids=list(ALONE))
def test_sql_gives_the_prediction_of_the_link(scale: Scale):
    rows = ", ".join(f"({number}, {score!r}::DOUBLE)" for number, score in enumerate(SCORES))
    query = f"SELECT {scale.sql} FROM (VALUES {rows}) AS t(number, score) ORDER BY number"
    by_sql = [row[0] for row in duckdb.sql(query).fetchall()]
    assert by_sql == pytest.approx(scale.link(np.array(SCORES)).tolist(), rel=1e-13)


@pytest.mark.parametrize("scale", ALONE.values(), ids=list(ALONE))
def test_a_factor_multiplies_what_the_score_is_the_logarithm_of(scale: Scale):
    one, two = (scale.of_score(score) for score in (0.5, 0.5 + np.log(3.0)))
    if scale.factor == "odds":
        assert two / (1 - two) == pytest.approx(3 * one / (1 - one))
    elif scale.factor:
        assert two == pytest.approx(3 * one)
    else:
        assert two - one == pytest.approx(np.log(3.0))


def test_sql_shares_out_a_choice_as_scores_do():
    choices = np.arange(len(SCORES)) % 3
    numbered = enumerate(zip(SCORES, choices.tolist(), strict=True))
    rows = ", ".join(f"({number}, {score!r}::DOUBLE, {choice})" for number, (score, choice) in numbered)
    above = "SELECT *, score - MAX(score) OVER (PARTITION BY choice) AS above FROM t"
    query = (
        f"WITH t(number, score, choice) AS (VALUES {rows}), s AS ({above}) "
        f"SELECT {AMONG_ALTERNATIVES.sql} FROM s ORDER BY number"
    )
    by_sql = [row[0] for row in duckdb.sql(query).fetchall()]
    assert by_sql == pytest.approx(shares(np.array(SCORES), choices).tolist(), rel=1e-13)


def test_sql_is_the_softmax_of_classes():
    scores = {"a": 1000.0, "b": 998.5, "c": -2000.0}
    top = max(scores.values())
    total = sum(np.exp(score - top) for score in scores.values())
    expected = softmax(np.array([[*scores.values()]]))[0]
    for score, chance in zip(scores.values(), expected, strict=True):
        named = {"score": score, "top_score": top, "total_power": float(total)}
        row = ", ".join(f"{value!r}::DOUBLE AS {name}" for name, value in named.items())
        ((found,),) = duckdb.sql(f"SELECT {OF_CLASS.sql} FROM (SELECT {row})").fetchall()
        assert found == pytest.approx(chance, rel=1e-13)


def test_a_factor_multiplies_the_odds_against_another_alternative():
    one, two = (shares(np.array([0.5 + more, 0.2]), np.zeros(2, dtype=int)) for more in (0.0, np.log(3.0)))
    assert two[0] / two[1] == pytest.approx(3 * one[0] / one[1])
    with pytest.raises(DataError, match="only beside those of the other alternatives"):
        AMONG_ALTERNATIVES.of_score(0.5)
