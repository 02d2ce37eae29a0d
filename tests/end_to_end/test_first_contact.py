"""The first things that a newcomer types, and what the command line answers."""

import json
import re
import shlex
from pathlib import Path

import pytest

from folders import write
from hornbeam.datasets.worlds import write_shop

README = Path(__file__).parents[2] / "README.md"

SHOP = {
    "shop/customers.csv": "customer_id,region,age,churned\n"
    + "".join(
        f"c{n},{'north' if n % 3 else 'south'},{20 + n},{str(n % 2 == 0).lower()}\n" for n in range(40)
    ),
    "shop/orders.csv": "customer_id,product_id\n"
    + "".join(f"c{n},p{k}\n" for n in range(40) for k in range(3 if n % 2 == 0 else 1)),
    "shop/products.csv": "product_id,kind\n"
    + "".join(f"p{k},{'shoes' if k else 'books'}\n" for k in range(5)),
}


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A folder with a small shop, in which the commands are run."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, SHOP)
    return tmp_path


@pytest.fixture
def model(shop, run):
    """The file of a model of who leaves the shop."""
    words = ("--target", "customers.churned", "--bags", 1, "--no-validate", "--no-per-constant", "--steps", 4)
    assert run("fit", "shop", *words, "--model", "churn.json").status == 0
    return "churn.json"


def test_the_first_line_speaks_of_linked_tables(run):
    assert "from linked tables" in run("--help").out.split("\n\n")[1]


def test_help_of_a_verb_is_that_of_its_flag(run):
    assert run("help", "fit") == run("fit", "--help")
    assert run("help") == run("--help")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("train shop", 'no command "train". Did you mean "hornbeam fit"?'),
        ("evalute shop", 'no command "evalute". Did you mean "hornbeam evaluate"?'),
        ("help train", 'no command "train". Did you mean "hornbeam fit"?'),
        ("xyz", 'no command "xyz". Commands are: fit, predict, '),
        ("fit shop customers.churned", "Did you mean --target customers.churned?"),
        ("fit customers.churned", "Did you mean --target customers.churned? DATA comes before it."),
        ("fit shop churn.json", "Did you mean --model churn.json?"),
        ("predict shop customers.churned", "fit DATA --target customers.churned --model model.json"),
        ("sql customers.churned", "fit DATA --target customers.churned --model model.json"),
        ("explain shop churn.json", "name the key of one example after the model, such as c401"),
        ("evaluate shop churn.json test.csv", "Did you mean --examples test.csv?"),
        ("show churn.json other", "Run hornbeam show --help to see what it takes."),
    ],
)
def test_what_was_meant_is_suggested(typed, answer, shop, run):
    ran = run(*typed.split())
    assert ran.status == 2
    assert ran.out == ""
    assert answer in " ".join(ran.err.split())


def test_a_model_is_an_argument_of_every_verb_that_takes_one(model, run):
    for words in (("predict", "shop"), ("evaluate", "shop"), ("report", "shop"), ("show",)):
        assert run(*words, model).status == 0
    assert run("sql", model).status == 0
    key = run("explain", "shop", model, "c1")
    assert key.status == 0
    assert key == run("explain", "shop", model, "--example", "c1")


def test_an_unknown_key_is_an_error_with_near_keys(model, run):
    ran = run("explain", "shop", model, "--example", "c3l")
    assert (ran.status, ran.out) == (2, "")
    assert 'the data have no key "c3l" of customers. Near it: c3, ' in ran.err


def test_predict_says_how_many_keys_are_unknown_or_refuses_them(model, shop, run):
    write(shop, {"asked.csv": "customer_id\nc1\nnobody\nc2\nnoone\n"})
    ran = run("predict", "shop", model, "--examples", "asked.csv")
    assert ran.status == 0
    assert [row["customer_id"] for row in ran.rows()] == ["c1", "nobody", "c2", "noone"]
    assert "note: 2 examples with a key that is in no table, and therefore without facts" in ran.err
    refused = run("predict", "shop", model, "--examples", "asked.csv", "--unknown", "error")
    assert (refused.status, refused.out) == (2, "")
    assert "2 examples with a key that is in no table" in refused.err
    assert run("predict", "shop", model, "--unknown", "error").status == 0
    assert "must be warn or error" in run("predict", "shop", model, "--unknown", "no").err


def test_the_demo_leaves_the_report_alone(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = run("demo")
    assert ran.status == 0
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert "$ hornbeam explain shop churn.json c401\nCustomer c401: churned with probability" in ran.out
    assert "explains 1" in ran.err


def test_the_demo_that_is_kept_is_the_shop_of_the_readme(run, tmp_path, monkeypatch):
    """The first block of README.md runs as printed in the folder that the demo leaves."""
    monkeypatch.chdir(tmp_path)
    assert run("demo", "--keep", "try").status == 0
    left = {path.name for path in Path("try").iterdir()}
    assert left == {"shop", "train.csv", "test.csv", "churn.json", "report.html"}
    again = run("demo", "--keep", "try")
    assert (again.status, again.out) == (2, "")
    assert "try: is there already; name a new folder." in again.err
    monkeypatch.chdir("try")
    Path("churn.json").unlink()
    block = README.read_text(encoding="utf-8").partition("```console\n")[2].partition("```")[0]
    commands = re.findall(r"^\$ hornbeam (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    assert commands[0][0].startswith("fit shop --target customers.churned")
    for command, shown in commands:
        ran = run(*shlex.split(command))
        assert ran.err + ran.out == shown


def test_fit_without_a_target_lists_what_may_be_learned(shop, run):
    ran = run("fit", "shop")
    assert (ran.status, ran.out) == (2, "")
    said = " ".join(ran.err.split())
    assert "name what to learn by --target; the tables have labels:" in said
    assert "customers.churned (yes or no), customers.region (2 values), products.kind (2 values)" in said
    assert "numbers: customers.age; links between things: orders." in said


def test_the_first_number_says_what_it_means(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_shop(tmp_path)
    words = ("fit", "shop", "--bags", 3, "--no-per-constant")
    churned = ("--target", "customers.churned", "--examples", "train.csv", "--effects", 2)
    ran = run(*words, *churned, "--model", "m.json")
    own, base = map(float, re.search(r"log-loss (\S+), base rate (\S+)", ran.err).groups())
    said = re.search(r"explains (\d+) % of what the base rate leaves open; AUC (0\.\d+)", ran.err)
    share, area = said.groups()
    assert int(share) == pytest.approx(100 * (1 - own / base), abs=0.51)
    tested = json.loads(run("evaluate", "shop", "m.json", "--examples", "test.csv", "--json").out)
    assert float(area) == pytest.approx(tested["auc_roc"], abs=0.1)
    numbers = run(*words, "--steps", 20, "--target", "customers.age").err
    assert "of the variance (R2) (held-out examples)" in numbers
    assert "AUC" not in numbers
    classes = run(*words, "--steps", 20, "--target", "products.kind").err
    assert re.search(r"explains \d+ % of .* leaves open; mean AUC of the classes 0\.", classes)


@pytest.mark.parametrize("given", ["--target", "--model"])
def test_what_show_prints_can_be_pasted_back(given, tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_shop(tmp_path, n_customers=200)
    words = ("--target", "customers.churned", "--bags", 1, "--no-validate", "--steps", 60)
    assert run("fit", "shop", *words, "--model", "m.json").status == 0
    named = words[:2] if given == "--target" else ("--model", "m.json")
    lines = [line.strip() for line in run("show", "m.json").out.splitlines() if ":-" in line]
    lines += [line for line in run("show", "m.json", "--logic").out.splitlines() if ":-" in line]
    lines.append("count [< 1: 0; else: 1] : churned(A) :- B = number of orders(A,C), B >= 3.")
    for line in dict.fromkeys(lines):
        ran = run("count", "shop", line, *named)
        assert ran.status == 0, line
        columns = ["true", "false"] if line.startswith("[") else ["value", "log_odds"]
        assert list(ran.rows()[0]) == ["customer_id", *columns]
    key = ran.rows()[7]["customer_id"]
    explained = json.loads(run("explain", "shop", "m.json", key, "--json").out)
    reasons = [reason for reason in explained["reasons"] if "effect" in reason]
    assert len(reasons) > 3
    for reason in reasons:
        row = run("count", "shop", reason["effect"], *named).rows()[7]
        assert float(row["log_odds"]) == pytest.approx(reason["contribution"], rel=1e-5)
        value = float(row["value"]) if row["value"] else None
        assert value == (None if reason["value"] is None else pytest.approx(reason["value"]))


def test_of_an_effect_without_a_curve_the_value_is_counted(shop, run):
    named = ("--target", "customers.churned")
    ran = run("count", "shop", "churned(A) :- B = number of orders(A,C), B >= 3", *named)
    assert [row["value"] for row in ran.rows()[:2]] == ["1", "0"]
    assert list(ran.rows()[0]) == ["customer_id", "value"]
    effect = "count : churned(A) :- orders(A,B)."
    refused = run("count", "shop", effect, "--false-counts", "guarded", *named)
    assert "an effect has no false counts" in refused.err


def test_curves_rise_or_fall_as_the_user_says(shop, run):
    words = ("fit", "shop", "--target", "customers.churned", "--bags", 2, "--steps", 30, "--no-per-constant")
    ran = run(*words, "--rising", "age", "--falling", "number of products", "--model", "m.json")
    assert ran.status == 0
    settings = json.loads(Path("m.json").read_text())["settings"]
    assert (settings["rising"], settings["falling"]) == (["age"], ["number of products"])
    refused = run(*words, "--rising", "agee")
    assert (refused.status, refused.out) == (2, "")
    assert 'Did you mean "age"?' in refused.err
