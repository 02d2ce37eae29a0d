"""The verb ``examples``, and ``evaluate --by time``: from events to a forecast."""

import json
import shlex
from datetime import date, timedelta

import pytest

from folders import write

DAY = date(2024, 1, 1)
ORDERS = [(n % 25, 3 * n % 300 + n % 7) for n in range(500)]


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    orders = "".join(
        f"o{n},c{who},{DAY + timedelta(days=day)},{n % 40}\n"
        for n, (who, day) in enumerate(ORDERS)
        if day % (who + 2)
    )
    write(
        tmp_path,
        {
            "shop/customers.csv": "customer_id,region\n" + "".join(f"c{n},r{n % 2}\n" for n in range(25)),
            "shop/orders.csv": "order_id,customer_id,day,amount\n" + orders,
        },
    )
    return tmp_path


def test_the_printed_command_learns_from_the_examples_that_are_written(shop, run):
    words = ("--things", "customers", "--every", "14d", "--label", "count(orders) within 21d >= 2")
    made = run("examples", "shop", *words, "--out", "e.csv")
    assert (made.status, made.out) == (0, "")
    assert "share of the label 0." in made.err
    command = made.err.partition("to learn from them: hornbeam ")[2]
    assert run(*shlex.split(command), "--model", "m.json", "--bags", 2).status == 0
    printed = run("examples", "shop", *words)
    assert printed.out == (shop / "e.csv").read_text()
    by_time = run("evaluate", "shop", "m.json", "--examples", "e.csv", "--by", "time")
    assert by_time.status == 0
    rows, whole = (
        by_time.rows(),
        json.loads(run("evaluate", "shop", "m.json", "--examples", "e.csv", "--json").out),
    )
    assert [row["cutoff"] for row in rows] == sorted({row["cutoff"] for row in printed.rows()})
    assert sum(int(row["examples"]) for row in rows) == whole["n_pos"] + whole["n_neg"]
    (shop / "one.csv").write_text(
        "".join(
            line + "\n"
            for n, line in enumerate(printed.out.splitlines())
            if not n or rows[2]["cutoff"] in line
        )
    )
    one = json.loads(run("evaluate", "shop", "m.json", "--examples", "one.csv", "--json").out)
    assert {name: pytest.approx(value, abs=1e-6) for name, value in one.items()} == {
        name: float(rows[2][name]) for name in one
    }


def test_by_time_needs_cutoffs(shop, run):
    write(shop, {"labels.csv": "customer_id,label\n" + "".join(f"c{n},{n % 2}\n" for n in range(25))})
    named = ("--target", "good(customers)", "--examples", "labels.csv")
    assert run("fit", "shop", *named, "--model", "m.json", "--steps", 3, "--bags", 2).status == 0
    refused = run("evaluate", "shop", "m.json", "--examples", "labels.csv", "--by", "time")
    assert (refused.status, refused.out) == (2, "")
    assert "the examples have no cut-offs" in refused.err
    assert (
        "it must be time" in run("evaluate", "shop", "m.json", "--examples", "labels.csv", "--by", "day").err
    )


def test_facts_have_no_events(shop, run):
    write(shop, {"facts/facts.txt": "smokes(ann).\n"})
    words = ("--things", "customers", "--every", "14d", "--label", "no orders within 21d")
    assert "these data are facts" in run("examples", "facts", *words).err
