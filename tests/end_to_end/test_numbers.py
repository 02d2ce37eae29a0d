"""Numeric targets from the command line: fit, predict, evaluate, explain, SQL, on every kind of data."""

import csv
import io
import json

import duckdb
import numpy as np
import pytest

import hornbeam
from hornbeam.engines.registry import open_engine
from hornbeam.errors import ModelError
from hornbeam.model.files import load_model

TRUTH = (40.0, 3.0, 12.0)
"""the intercept, what an order adds, and what living in Ulm adds"""


def shop(folder, size=240, unit=1.0, seed=5):
    """Customers whose spending is a sum of known effects and noise of standard deviation 1."""
    generator = np.random.default_rng(seed)
    intercept, per_order, of_ulm = TRUTH
    customers, orders = ["id,city,spend"], ["id,customer,day"]
    for number in range(size):
        n_orders = int(generator.integers(0, 9))
        city = ("Ulm", "Bonn", "Kiel")[int(generator.integers(3))]
        spend = intercept + per_order * n_orders + of_ulm * (city == "Ulm") + generator.normal()
        customers.append(f"c{number},{city},{unit * round(spend, 3)!r}")
        for place in range(n_orders):
            orders.append(f"o{len(orders)},c{number},2024-01-{1 + (number + place) % 28:02d}")
    folder.mkdir(exist_ok=True)
    (folder / "customers.csv").write_text("\n".join(customers) + "\n")
    (folder / "orders.csv").write_text("\n".join(orders) + "\n")
    return folder


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return shop(tmp_path_factory.mktemp("numbers") / "shop")


@pytest.fixture(scope="module")
def learned(data):
    """The data, and the file of a model of the spending."""
    from hornbeam.cli import main

    model = data.parent / "m.json"
    with pytest.raises(SystemExit) as ended:
        main(["fit", str(data), "--target", "customers.spend", "--model", str(model), "--bags", "3"])
    assert not ended.value.code
    return data, model


def run(arguments, capsys):
    from hornbeam.cli import main

    with pytest.raises(SystemExit) as ended:
        main(list(map(str, arguments)))
    shown = capsys.readouterr()
    return ended.value.code or 0, shown.out, shown.err


def test_a_planted_truth_is_recovered(learned):
    model = load_model(learned[1])
    database = hornbeam.load(learned[0], target="customers.spend")
    engine = open_engine("memory", database)
    keys = database.examples_of("spend").keys
    predicted = model.predictions(engine, keys)
    with pytest.raises(ModelError, match="predicts numbers, not probabilities"):
        model.probabilities(engine, keys)
    names = database.names_of("spend", keys)[:, 0]
    orders = {row["id"]: 0 for row in read(learned[0] / "customers.csv")}
    for row in read(learned[0] / "orders.csv"):
        orders[row["customer"]] += 1
    ulm = {row["id"]: row["city"] == "Ulm" for row in read(learned[0] / "customers.csv")}
    columns = np.array([[1.0, orders[name], ulm[name]] for name in names])
    found = np.linalg.lstsq(columns, predicted, rcond=None)[0]
    errors = np.sqrt(np.diag(np.linalg.inv(columns.T @ columns)))
    # Shrinkage and bins bias the slopes a little, so allow them a small share beside the standard errors.
    assert (np.abs(found - TRUTH) < 3 * errors + 0.03 * np.abs(TRUTH)).all()


def test_predictions_are_on_the_scale_of_the_target(learned, capsys):
    code, out, _ = run(["predict", learned[0], "--model", learned[1]], capsys)
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert list(rows[0]) == ["id", "label", "prediction"]
    left = [float(row["label"]) - float(row["prediction"]) for row in rows]
    assert np.std(left) < 2.5


def test_scores_stand_beside_those_of_a_constant(learned, capsys):
    code, out, _ = run(["evaluate", learned[0], "--model", learned[1], "--json"], capsys)
    scores = json.loads(out)
    assert code == 0
    assert list(scores) == ["mae", "rmse", "r2", "constant_mae", "constant_rmse", "constant_r2", "n"]
    assert scores["r2"] > 0.9 > 0.01 > abs(scores["constant_r2"])
    assert scores["rmse"] < 0.4 * scores["constant_rmse"]
    assert scores["n"] == 240
    assert "constant_mae" in run(["evaluate", learned[0], "--model", learned[1]], capsys)[1]


def test_an_explanation_adds_up_in_the_unit_of_the_target(learned, capsys):
    _, out, _ = run(
        ["explain", learned[0], "--model", learned[1], "--example", "spend(c7)", "--json"], capsys
    )
    explained = json.loads(out)
    total = explained["prior"] + sum(reason["contribution"] for reason in explained["reasons"])
    assert total == pytest.approx(explained["prediction"])
    _, out, _ = run(["explain", learned[0], "--model", learned[1], "--example", "spend(c7)"], capsys)
    assert out.startswith(f"Customer c7: spend {explained['prediction']:.6g}\n")


def test_the_model_is_described_in_words_of_numbers(learned, capsys):
    _, out, _ = run(["show", learned[1]], capsys)
    assert out.startswith("How large is spend for each customer?\n")
    assert "Spend is larger the larger the customer's number of orders: each 1 more adds 3 " in out
    assert "prediction" in out
    assert "odds" not in out
    assert "likel" not in out


def test_exported_sql_gives_the_same_numbers(learned, capsys):
    for loss in ("squared", "poisson"):
        model = learned[1]
        if loss == "poisson":
            model = learned[1].with_name("poisson.json")
            command = ["fit", learned[0], "--target", "customers.spend", "--model", model, "--loss", loss]
            assert run([*command, "--bags", "2", "--steps", "40"], capsys)[0] == 0
        _, query, _ = run(["sql", "--model", model], capsys)
        with duckdb.connect() as connection:
            for name in ("customers", "orders"):
                connection.execute(f"CREATE TABLE {name} AS FROM '{learned[0] / name}.csv'")
            found = connection.execute(query).fetchdf()
        _, out, _ = run(["predict", learned[0], "--model", model], capsys)
        expected = {row["id"]: float(row["prediction"]) for row in csv.DictReader(io.StringIO(out))}
        assert dict(zip(found["id"], found["prediction"], strict=True)) == pytest.approx(expected)


@pytest.mark.parametrize("loss", ["squared", "absolute", "poisson"])
def test_tables_in_place_give_the_same_model_to_the_last_byte(data, tmp_path, loss, capsys):
    texts = []
    for engine in ("memory", "duckdb"):
        model = tmp_path / f"{engine}.json"
        command = ["fit", data, "--target", "customers.spend", "--loss", loss, "--engine", engine]
        assert run([*command, "--model", model, "--bags", "2", "--steps", "24"], capsys)[0] == 0
        texts.append(model.read_bytes())
    assert texts[0] == texts[1]
    assert json.loads(texts[0])["loss"] == loss


@pytest.mark.parametrize("loss", ["squared", "absolute", "poisson"])
def test_the_unit_of_the_target_does_not_matter(data, tmp_path, loss, capsys):
    other = shop(tmp_path / "cents", unit=100.0)
    found = []
    for folder in (data, other):
        model = tmp_path / f"{folder.name}.json"
        command = ["fit", folder, "--target", "customers.spend", "--loss", loss, "--model", model]
        assert run([*command, "--bags", "2", "--steps", "24"], capsys)[0] == 0
        _, out, _ = run(["predict", folder, "--model", model], capsys)
        found.append([float(row["prediction"]) for row in csv.DictReader(io.StringIO(out))])
    assert np.allclose(np.array(found[1]) / 100.0, found[0], rtol=1e-6)


def test_labels_of_an_examples_file_may_be_numbers(data, tmp_path, capsys):
    labels = tmp_path / "labels.csv"
    rows = read(data / "customers.csv")
    lines = [f"{row['id']},2024-01-{10 + place % 15},{row['spend']}" for place, row in enumerate(rows)]
    labels.write_text("\n".join(["id,cutoff,label", *lines]) + "\n")
    model = tmp_path / "m.json"
    schema = tmp_path / "schema.toml"
    schema.write_text('[orders]\ntime = "day"\n\n[customers]\nunused = ["spend"]\n')
    common = ["--examples", labels, "--schema", schema]
    command = ["fit", data, "--target", "worth(customers)", "--loss", "absolute", "--model", model, *common]
    code, _, err = run([*command, "--bags", "2"], capsys)
    assert code == 0, err
    assert "later examples: MAE" in err
    assert load_model(model).loss == "absolute"
    code, out, _ = run(["predict", data, "--model", model, "--examples", labels], capsys)
    assert code == 0
    assert out.splitlines()[0] == "id,cutoff,label,prediction"
    assert "mae" in run(["evaluate", data, "--model", model, "--examples", labels], capsys)[1]


def test_few_numbers_are_classes_if_the_loss_is_logistic(tmp_path, capsys):
    data = shop(tmp_path / "shop", 60)
    rows = (data / "customers.csv").read_text().splitlines()
    few = [rows[0], *(f"{row.rpartition(',')[0]},{3 + place % 3}" for place, row in enumerate(rows[1:]))]
    (data / "customers.csv").write_text("\n".join(few) + "\n")
    (data / "schema.toml").write_text('[customers.roles]\nspend = "number"\n')
    model = tmp_path / "m.json"
    command = ["fit", data, "--target", "customers.spend", "--loss", "logistic", "--model", model]
    assert run([*command, "--bags", "1", "--steps", "4"], capsys)[0] == 0
    assert load_model(model).classes == ("3", "4", "5")
    _, out, _ = run(["predict", data, "--model", model], capsys)
    assert out.splitlines()[0] == "id,label,predicted,probability_3,probability_4,probability_5"
    assert "accuracy" in run(["evaluate", data, "--model", model], capsys)[1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--preset", "paper"], '"spend" holds numbers, and preset "paper" learns labels only'),
        (["--learner", "mln-boost"], '"spend" holds numbers, and learner "mln-boost" learns labels only'),
        (["--learner", "ilp-rlr"], '"spend" holds numbers, and learner "ilp-rlr" learns labels only'),
        (["--loss", "logistic"], "different numbers, more than the limit of 100 classes"),
        (["--loss", "cubic"], "--loss cubic is refused: it must be auto or logistic or squared"),
    ],
)
def test_what_cannot_be_learned_is_refused_by_one_sentence(data, arguments, sentence, capsys):
    code, _, err = run(["fit", data, "--target", "customers.spend", *arguments], capsys)
    assert code == 2
    assert sentence in err


def test_a_model_of_numbers_refuses_words_as_labels(learned, tmp_path, capsys):
    labels = tmp_path / "labels.csv"
    labels.write_text("id,label\nc1,high\nc2,low\n")
    code, _, err = run(["evaluate", learned[0], "--model", learned[1], "--examples", labels], capsys)
    assert code == 2
    assert 'the label "high" is not a number' in err


def test_numbers_given_to_a_model_of_labels_are_refused(tmp_path, capsys):
    data = shop(tmp_path / "shop", 60)
    model = tmp_path / "m.json"
    command = ["fit", data, "--target", "customers.city=Ulm", "--model", model, "--bags", "1", "--steps", "4"]
    assert run(command, capsys)[0] == 0
    labels = tmp_path / "labels.csv"
    labels.write_text("id,label\nc1,4\nc2,2\n")
    code, _, err = run(["evaluate", data, "--model", model, "--examples", labels], capsys)
    assert code == 2
    assert "labels must be 0 and 1" in err


def test_examples_in_python_are_numbers(data):
    _, y = hornbeam.load(data, target="customers.spend").examples()
    assert y.dtype == np.float64
    assert len(y) == 240


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_the_report_shows_errors_in_place_of_probabilities(data, tmp_path, loss, capsys):
    page = tmp_path / "report.html"
    command = ["fit", data, "--target", "customers.spend", "--loss", loss, "--report", page]
    assert run([*command, "--model", tmp_path / "m.json", "--bags", "2", "--steps", "40"], capsys)[0] == 0
    html = page.read_text()
    for text in ("How large is spend for each customer?", "Predicted and actual", "Residuals"):
        assert text in html
    for text in ("Errors by group", "Largest errors", "Mean absolute error", "Learning curve"):
        assert text in html
    for word in ("AUC", "odds", "likelier", "probability"):
        assert word not in html.partition("</style>")[2]


def test_a_checkpoint_continues_to_the_same_bytes_and_knows_its_numbers(data, tmp_path, capsys):
    command = ["fit", data, "--target", "customers.spend", "--bags", "2", "--steps", "24"]
    files = [tmp_path / f"m{number}.json" for number in range(3)]
    saved = ["--checkpoint", tmp_path / "saved"]
    assert run([*command, "--model", files[0]], capsys)[0] == 0
    for file in files[1:]:
        assert run([*command, *saved, "--model", file], capsys)[0] == 0
    assert files[0].read_bytes() == files[1].read_bytes() == files[2].read_bytes()
    code, _, err = run([*command, *saved, "--loss", "absolute"], capsys)
    assert code == 2
    assert "a fit with different options" in err
    other = shop(tmp_path / "cents", unit=100.0)
    code, _, err = run(["fit", other, *command[2:], *saved], capsys)
    assert code == 2
    assert "a fit with different examples" in err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--target", "customers.city", "--loss", "squared"],
            '"city" has classes, not numbers; leave it out',
        ),
        (["--target", "customers.spend", "--joint"], '"spend" holds numbers; a joint model predicts labels'),
    ],
)
def test_a_loss_or_a_model_that_does_not_suit_the_target_is_refused(data, arguments, sentence, capsys):
    code, _, err = run(["fit", data, *arguments], capsys)
    assert code == 2
    assert sentence in err


def test_a_flag_is_a_number_if_the_loss_says_so(data, tmp_path, capsys):
    model, page = tmp_path / "m.json", tmp_path / "r.html"
    command = ["fit", data, "--target", "customers.city=Ulm", "--loss", "squared", "--model", model]
    assert run([*command, "--bags", "2", "--steps", "12", "--report", page], capsys)[0] == 0
    assert load_model(model).loss == "squared"
    assert "Predicted and actual" in page.read_text()
    assert "rmse" in run(["evaluate", data, "--model", model], capsys)[1]
