"""Effects that may only rise, or only fall, because the user says so."""

from itertools import pairwise

import numpy as np
import pytest

import hornbeam as hb
from folders import write
from hornbeam.errors import OptionError

FEW = {"n_bags": 3, "n_steps": 100, "per_constant": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Customers who leave if they are old or in their thirties, and who spend less if they order more."""
    rng = np.random.default_rng(0)
    n = 600
    ages, orders = rng.integers(20, 80, n), rng.integers(0, 6, n)
    left = rng.random(n) < 0.1 + 0.5 * (ages > 60) + 0.35 * ((ages > 30) & (ages < 40))
    north = rng.random(n) < 0.5
    spent = 100 + 10 * np.cos(orders * 2) - 8 * orders + rng.normal(0, 5, n)
    rows = zip(range(n), ages, left, spent, north, strict=True)
    customers = "".join(
        f"c{i},{age},{gone},{money:.2f},{'north' if up else 'south'}\n" for i, age, gone, money, up in rows
    )
    of_orders = "".join(f"c{i},{rng.integers(1, 50)}\n" for i in range(n) for _ in range(orders[i]))
    path = tmp_path_factory.mktemp("directions")
    write(path, {"customers.csv": f"customer_id,age,left,spent,region\n{customers}"})
    write(path, {"orders.csv": f"customer_id,amount\n{of_orders}"})
    return path


def learned(folder, target="customers.left", **options):
    database = hb.load(folder, target=target)
    X, y = database.examples()
    estimator = hb.RLRRegressor if target.endswith("spent") else hb.RLRClassifier
    return estimator(database=database, **FEW | options).fit(X, y)


def curves(estimator, predicate):
    """The levels of the effects whose body ends with a predicate."""
    effects = [fitted.effect for fitted in estimator.model_.effects]
    return [
        list(e.curve.levels) for e in effects if str(e).rstrip(".").split(" :- ")[1].startswith(predicate)
    ]


def is_rising(levels):
    return all(one <= two for one, two in pairwise(levels))


@pytest.mark.parametrize("effects", ["all", None, 2])
def test_an_effect_that_shall_rise_never_falls(folder, effects):
    if effects != "all":
        free = learned(folder, max_effects=effects)
        assert not all(map(is_rising, curves(free, "age(")))
    rising = learned(folder, max_effects=effects, rising="age")
    own = curves(rising, "age(")
    assert own
    assert all(map(is_rising, own))
    assert own[0][-1] - own[0][0] > 1
    # The other way there is little to learn.
    options = {"max_effects": effects, "validate": False}
    falling = learned(folder, falling=["the customer's age"], **options)
    assert all(is_rising(levels[::-1]) for levels in curves(falling, "age("))


def test_the_stated_loss_is_that_of_the_directed_models(folder):
    """Rows that a model did not learn from are judged by curves that go in the direction."""
    rising = learned(folder, max_effects="all", rising="age")
    database = hb.load(folder, target="customers.left")
    _, y = database.examples()
    scores, truth = rising.held_out_scores_, np.asarray(y).astype(float)
    known = np.isfinite(scores)
    loss = np.mean(np.logaddexp(0, scores[known]) - truth[known] * scores[known])
    assert loss == pytest.approx(rising.model_.settings["held_out_loss"], abs=0.02)


def test_numbers_fall_and_the_direction_is_in_the_model(folder):
    falling = learned(folder, "customers.spent", falling="number of orders")
    assert falling.model_.settings["falling"] == ["number of orders"]
    own = [e.effect.curve.levels for e in falling.model_.effects if "customer_id(" in str(e.effect)]
    assert own
    assert all(is_rising(levels[::-1]) for levels in own)
    assert "falling" not in learned(folder, "customers.spent").model_.settings


@pytest.mark.parametrize("jobs", [1, 2])
def test_directions_are_the_same_in_several_processes(folder, jobs):
    assert str(learned(folder, rising="age", n_jobs=jobs).model_) == str(learned(folder, rising="age").model_)


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("customers.left", {"rising": "agee"}, 'rising: no effect begins with "agee". Effects are: .*"age"'),
        ("customers.left", {"rising": "age", "falling": "age"}, '"age" also names an effect that shall go'),
        ("customers.left", {"rising": [""]}, "it must be phrases, in a list or a tuple"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(folder, target, options, message):
    with pytest.raises(OptionError, match=message):
        learned(folder, target, **options)


def test_more_than_two_classes_have_no_direction(folder, tmp_path):
    text = (folder / "customers.csv").read_text().splitlines()
    rows = [text[0] + ",kind", *(f"{row},{'abc'[i % 3]}" for i, row in enumerate(text[1:]))]
    write(tmp_path, {"customers.csv": "\n".join(rows)})
    with pytest.raises(OptionError, match="rising and falling are for numbers and for two classes"):
        learned(tmp_path, "customers.kind", rising="age")
