"""RDN-Boost and AGG-LR learn numbers: trees whose values add up to one, and linear regression."""

import csv
import io
import json

import numpy as np
import pytest

from hornbeam.model.files import load_model, model_text, parse_model


def shop(folder, size, unit=1.0):
    """Customers whose spending is a sum of known effects and noise."""
    generator = np.random.default_rng(5)
    customers, orders = ["id,city,spend"], ["id,customer"]
    for number in range(size):
        n_orders, place = generator.integers(0, 9), generator.integers(3)
        spend = round(40.0 + 3.0 * n_orders + 12.0 * (place == 0) + generator.normal(), 3)
        customers.append(f"c{number},{('Ulm', 'Bonn', 'Kiel')[place]},{float(unit * spend)!r}")
        orders += [f"o{len(orders) + each},c{number}" for each in range(n_orders)]
    folder.mkdir(exist_ok=True)
    (folder / "customers.csv").write_text("\n".join(customers) + "\n")
    (folder / "orders.csv").write_text("\n".join(orders) + "\n")
    return folder


LEARNERS = ("rdn-boost", "agg-lr")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return shop(tmp_path_factory.mktemp("baselines") / "shop", 120)


def fitted(run, data, learner, model):
    done = run("fit", data, "--target", "customers.spend", "--learner", learner, "--model", model)
    assert done.status == 0, done.err
    return load_model(model)


def predictions(run, data, model):
    done = run("predict", data, "--model", model)
    assert done.status == 0, done.err
    return np.array([float(row["prediction"]) for row in csv.DictReader(io.StringIO(done.out))])


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_baseline_predicts_and_explains_numbers(run, data, learner, tmp_path):
    path = tmp_path / "m.json"
    model = fitted(run, data, learner, path)
    assert parse_model(model_text(model)) == model
    done = run("evaluate", data, "--model", path, "--json")
    scores = json.loads(done.out)
    assert done.status == 0
    # Trees ask whether there are orders, not how many.
    assert scores["r2"] > {"rdn-boost": 0.5, "agg-lr": 0.95}[learner]
    assert scores["mae"] < scores["constant_mae"]
    done = run("explain", data, "--model", path, "--example", "c7", "--json")
    explained = json.loads(done.out)
    total = explained["prior"] + sum(reason["contribution"] for reason in explained["reasons"])
    assert total == pytest.approx(explained["prediction"])
    assert explained["prediction"] == pytest.approx(predictions(run, data, path)[7])
    assert run("show", path).status == 0


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_unit_of_the_target_does_not_matter(run, data, learner, tmp_path):
    scaled = shop(tmp_path / "scaled", 120, unit=1024.0)
    fitted(run, data, learner, tmp_path / "one.json")
    fitted(run, scaled, learner, tmp_path / "other.json")
    one, other = (predictions(run, d, tmp_path / m) for d, m in ((data, "one.json"), (scaled, "other.json")))
    assert other == pytest.approx(1024.0 * one, rel=1e-9)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_baseline_of_numbers_has_a_report_and_refuses_sql(run, data, learner, tmp_path):
    path, page = tmp_path / "m.json", tmp_path / "report.html"
    fitted(run, data, learner, path)
    done = run("report", data, "--model", path, "--out", page)
    assert done.status == 0, done.err
    assert "R2" in page.read_text()
    done = run("sql", path)
    assert done.status == 2
    assert done.err.strip().count("\n") == 0


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_constant_target_is_refused(run, learner, tmp_path):
    data = shop(tmp_path / "shop", 20)
    rows = (data / "customers.csv").read_text().splitlines()
    same = [rows[0], *(f"{row.rpartition(',')[0]},7.5" for row in rows[1:])]
    (data / "customers.csv").write_text("\n".join(same) + "\n")
    (data / "schema.toml").write_text('[customers.roles]\nspend = "number"\n')
    done = run("fit", data, "--target", "customers.spend", "--learner", learner)
    assert done.status == 2
    assert "all have the value 7.5" in done.err
