"""What inspect prints of tables can be read by sql: a model scores the tables where they are."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from folders import flat, write
from hornbeam.loading.inspect.inspectors import inspect_tables
from hornbeam.loading.options import TableOptions

SHOP = {
    "customers.csv": "customer_id,premium,age,churned\nc1,true,20,true\nc2,false,70,false\nc3,true,25,true\n"
    "c4,false,66,false\nc5,true,71,false\nc6,false,30,true\n",
    "visits.csv": "customer_id,place,visited\n"
    "c1,x,2024-01-01\nc1,y,2024-02-01\nc3,x,2024-03-01\nc4,y,2024-01-09\n",
}


FEW = ("--no-validate", "--bags", "1", "--learning-rate", "1", "--min-support", "1", "--steps", "3")


def hornbeam(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hornbeam", *words], cwd=folder, capture_output=True, text=True, check=False
    )


def test_predicates_are_led_back_to_tables_columns_flags_and_times(tmp_path):
    inspected = inspect_tables(write(tmp_path, SHOP), TableOptions(target="customers.churned"))
    assert inspected.places["premium"] == {
        "table": "customers",
        "columns": ["customer_id"],
        "true": "premium",
    }
    assert inspected.places["age"] == {"table": "customers", "columns": ["customer_id", "age"]}
    assert "churned" not in inspected.places
    of_visits = [place for place in inspected.places.values() if place["table"] == "visits"]
    assert of_visits and all(place["time"] == "visited" for place in of_visits)


def test_the_query_of_a_model_scores_the_tables_as_predict_does(tmp_path):
    write(tmp_path / "shop", SHOP)
    target = ("--target", "customers.churned")
    assert hornbeam(tmp_path, "fit", "shop", *target, "--model", "m.json", *FEW).returncode == 0
    tables = hornbeam(tmp_path, "inspect", "shop", *target, "--predicates").stdout
    (tmp_path / "tables.json").write_text(tables)
    assert set(json.loads(tables)) >= {"premium", "age"}
    where = ("--tables", "tables.json", "--examples", "customers", "--key", "customer_id")
    query = hornbeam(tmp_path, "sql", "--model", "m.json", *where)
    assert query.returncode == 0, query.stderr
    base = duckdb.connect()
    for name in ("customers", "visits"):
        base.execute(f"CREATE TABLE {name} AS SELECT * FROM read_csv('{tmp_path}/shop/{name}.csv')")
    by_sql = {row[0]: row[-1] for row in base.execute(query.stdout).fetchall()}
    predicted = csv.DictReader(hornbeam(tmp_path, "predict", "shop", "--model", "m.json").stdout.splitlines())
    assert by_sql == pytest.approx(
        {row["customer_id"]: float(row["probability"]) for row in predicted}, abs=1e-9
    )


def test_two_forms_at_once_and_forms_of_facts_are_refused(tmp_path):
    write(tmp_path / "shop", SHOP)
    flat(tmp_path / "facts", "smokes(ann).")
    both = hornbeam(tmp_path, "inspect", "shop", "--toml", "--predicates")
    assert both.returncode == 2
    assert both.stderr == "hornbeam: --toml and --predicates are refused together: name one form.\n"
    of_facts = hornbeam(tmp_path, "inspect", "facts", "--predicates")
    assert of_facts.returncode == 2
    assert of_facts.stderr == "hornbeam: --predicates is refused: it is for tables, not for facts.\n"
