"""A model in a real dbt project: `dbt build` passes, and its probabilities are those of predict.

dbt runs in an environment of its own, because its packages clash with ours: `make dbt` installs it.
"""

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

DBT = Path(os.environ.get("HORNBEAM_DBT", Path(sys.prefix) / "dbt" / "bin" / "dbt"))
SHOES, BOOKS = "{{ shoes }}", "{# books -- %}"
PROJECT = {
    "dbt_project.yml": (
        "name: shop\nversion: '1.0'\nprofile: shop\nseed-paths: [seeds, examples]\n"
        "seeds:\n  shop:\n    +quote_columns: false\n"
    ),
    "profiles.yml": "shop:\n  target: dev\n  outputs:\n    dev: {type: duckdb, path: shop.duckdb}\n",
    "models/sources.yml": (
        "version: 2\nsources:\n  - name: raw\n    schema: main\n"
        "    tables: [{name: customers}, {name: orders}, {name: products}]\n"
    ),
    "seeds/customers.csv": "customer_id,region,churned\n"
    + "".join(f"c{n},{'north' if n % 3 else 'south'},{str(n % 4 < 2).lower()}\n" for n in range(24)),
    "seeds/products.csv": f'product_id,kind\np1,{SHOES}\np2,"{BOOKS}"\np3,{SHOES}\np4,"{BOOKS}"\n',
    "seeds/orders.csv": "order_id,customer_id,product_id,day\n"
    + "".join(
        f"o{n},c{n},p{3 + (n % 4 < 2)},2024-0{1 + n % 3}-11\n"
        f"x{n},c{n},p1,2024-03-05\n"
        f"y{n},c{n},p2,2024-03-05\n"
        for n in range(24)
    ),
    "examples/snapshots.csv": "customer_id,cutoff\n"
    + "".join(f"c{n},2024-0{month}-01\n" for n in range(8) for month in (2, 3)),
}

pytestmark = pytest.mark.skipif(not DBT.exists(), reason="dbt is not installed: run make dbt")


def dbt(folder, *words):
    quiet = {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "DBT_PROFILES_DIR": str(folder)}
    return subprocess.run(
        [DBT, "--no-version-check", "--no-use-colors", *words],
        cwd=folder,
        env=os.environ | quiet,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with a model of its own tables, one of a source, and one of examples with cut-offs."""
    folder = tmp_path_factory.mktemp("project")
    for name, text in PROJECT.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    fit = "fit seeds --target customers.churned --steps 40 --no-validate --effects 2 --model churn.json"
    for words in (
        fit,
        "sql churn.json --dbt .",
        "sql churn.json --dbt . --name from_source --source raw",
        "sql churn.json --dbt . --name by_day --examples snapshots --key customer_id --cutoff cutoff",
        "predict seeds churn.json --out churn.csv",
        "predict seeds churn.json --examples examples/snapshots.csv --out by_day.csv",
    ):
        done = subprocess.run(
            [sys.executable, "-m", "hornbeam", *words.split()], cwd=folder, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    done = dbt(folder, "seed")
    assert done.returncode == 0, done.stdout
    return folder


def table(folder, name, keys):
    with duckdb.connect(str(folder / "shop.duckdb")) as base:
        return base.execute(f"SELECT {keys}, probability FROM {name} ORDER BY ALL").fetchall()


def predicted(folder, name, keys):
    return duckdb.sql(f"SELECT {keys}, probability FROM read_csv('{folder / name}') ORDER BY ALL").fetchall()


def test_the_model_names_constants_that_look_like_jinja(project):
    assert any(f"= '{kind}'" in (project / "churn.json").read_text() for kind in (SHOES, BOOKS))


def test_dbt_builds_the_models_and_their_tests_pass(project):
    done = dbt(project, "build")
    assert done.returncode == 0, done.stdout
    assert " WARN=0 " in done.stdout and "Deprecat" not in done.stdout, done.stdout
    for name in ("churn", "from_source"):
        by_dbt, by_us = table(project, name, "customer_id"), predicted(project, "churn.csv", "customer_id")
        assert [key for key, _ in by_dbt] == [key for key, _ in by_us]
        assert [p for _, p in by_dbt] == pytest.approx([p for _, p in by_us], abs=1e-12)
    by_dbt, by_us = (
        table(project, "by_day", "customer_id, CAST(cutoff AS DATE)"),
        predicted(project, "by_day.csv", "customer_id, CAST(cutoff AS DATE)"),
    )
    assert [key for *key, _ in by_dbt] == [key for *key, _ in by_us]
    assert [p for *_, p in by_dbt] == pytest.approx([p for *_, p in by_us], abs=1e-12)


def test_descriptions_keep_braces(project):
    done = dbt(project, "ls", "--output", "json", "--output-keys", "description", "name", "--select", "churn")
    assert done.returncode == 0, done.stdout
    manifest = (project / "target" / "manifest.json").read_text()
    assert any(f"kind '{kind}'" in manifest for kind in (SHOES, BOOKS))


def test_a_key_that_is_there_twice_fails_the_test_of_the_key(project):
    customers = project / "seeds" / "customers.csv"
    text = customers.read_text()
    customers.write_text(f"{text}c1,north,true\n")
    try:
        done = dbt(project, "build", "--select", "customers", "churn")
    finally:
        customers.write_text(text)
    assert done.returncode == 1
    assert "FAIL 1 unique_churn__customer_id_" in done.stdout, done.stdout
