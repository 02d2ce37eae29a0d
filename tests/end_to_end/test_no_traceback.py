"""Odd but possible input and output: one sentence, or no error at all, and never a traceback."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from folders import facts_of, flat, write
from hornbeam.errors import InputError, ModelError, ParseError
from hornbeam.loading.tables.sources.sqlite import read_sqlite_file

USERS = "id,y,c\n1,0,a\n2,1,b\n3,1,b\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = write(tmp_path_factory.mktemp("model"), {"data/users.csv": USERS})
    database = hb.load(folder / "data", target="users.y")
    hb.save_model(
        hb.RLRClassifier(database=database, preset="paper", n_steps=2).fit(*database.examples()).model_,
        folder / "m.json",
    )
    return folder / "m.json"


# --- foreign keys of SQLite ------------------------------------------------------------------

OTHERS = ["a", "A", "b", "gone", "v", "users"]
references = st.sampled_from(OTHERS).flatmap(
    lambda name: st.sampled_from([f"REFERENCES {name}", f"REFERENCES {name}(k)", f"REFERENCES {name}(nope)"])
)


@given(first=references, second=references, both=st.sampled_from(OTHERS), named=st.booleans())
def test_foreign_keys_of_sqlite_to_anything(tmp_path_factory, first, second, both, named):
    """SQLite allows foreign keys to tables without a key, to views, and to tables that do not exist."""
    path = tmp_path_factory.mktemp("sqlite") / "shop.sqlite"
    pair = f"FOREIGN KEY (x, z) REFERENCES {both}{'(k, l)' if named else ''}"
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE a (K INTEGER PRIMARY KEY, l TEXT)")
        made.execute("CREATE TABLE b (k INTEGER, l TEXT)")
        made.execute("CREATE VIEW v AS SELECT * FROM a")
        made.execute(
            "CREATE TABLE users (k INTEGER PRIMARY KEY, y INTEGER, "
            f"x INTEGER {first}, z INTEGER {second}, {pair})"
        )
        for table in ("a", "b"):
            made.execute(f"INSERT INTO {table} VALUES (1, 'p'), (2, 'q')")
        made.execute("INSERT INTO users VALUES (1, 0, 1, 1), (2, 1, 2, 2), (3, 1, 1, 2)")
        made.commit()
    tables = {table.name: table for table in read_sqlite_file(path, {})}
    assert len(tables["users"].foreign_keys) == 3
    try:
        hb.load(path, target="users.y")
    except InputError as error:
        assert "are not in" in str(error) or "is not in" in str(error)


def test_names_in_foreign_keys_of_sqlite_in_any_case(tmp_path):
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as made:
        made.execute("CREATE TABLE Places (Id INTEGER PRIMARY KEY, size TEXT)")
        made.execute(
            "CREATE TABLE users (id INTEGER PRIMARY KEY, y INTEGER, place INTEGER REFERENCES places(ID))"
        )
        made.execute("INSERT INTO Places VALUES (1, 'small'), (2, 'large')")
        made.execute("INSERT INTO users VALUES (1, 0, 1), (2, 1, 2)")
        made.commit()
    database = hb.load(tmp_path / "shop.sqlite", target="users.y")
    assert database.schema.types_of("place") == ("users", "places")


# --- deep files ------------------------------------------------------------------------------


def test_thousands_of_chained_imports(tmp_path):
    chain = {f"f{number}.txt": f'import: "f{number + 1}.txt".\n' for number in range(3000)}
    data = flat(write(tmp_path, {**chain, "f3000.txt": "smokes(ann).\n"}), 'import: "f0.txt".\n')
    assert [str(fact) for fact in facts_of(hb.load(data))] == ["smokes(ann)"]
    write(data, {"f3000.txt": 'import: "f2999.txt".\n'})
    with pytest.raises(InputError, match=r"lead in a circle: f2999.txt -> f3000.txt -> f2999.txt"):
        hb.load(data)


@pytest.mark.parametrize("text", ["[" * 100_000, "{a=" * 50_000 + "1" + "}" * 50_000])
def test_toml_that_is_nested_deeply(text, tmp_path):
    data = write(tmp_path, {"users.csv": USERS, "schema.toml": f"x = {text}"})
    with pytest.raises(ParseError, match="nested too deeply"):
        hb.load(data, target="users.y")


# --- large numbers ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e308, -1e250])
@pytest.mark.parametrize("place", ["prior", "weights"])
def test_models_with_numbers_whose_sums_are_not_finite(size, place, model, tmp_path):
    document = json.loads(model.read_text())
    if place == "prior":
        document["prior"] = size
    else:
        document["clauses"][0]["weights"] = [size, size, size]
    path = tmp_path / "m.json"
    path.write_text(json.dumps(document))
    with pytest.raises(ModelError, match=r"must be a number of at most 1e\+200 in size, found"):
        hb.load_model(path)


def test_the_largest_numbers_are_used_by_every_verb(model, tmp_path, run):
    document = json.loads(model.read_text())
    document["prior"] = 1e200
    for clause in document["clauses"]:
        clause["weights"] = [1e200, -1e200, 1e200]
    path = tmp_path / "m.json"
    path.write_text(json.dumps(document))
    data = model.parent / "data"
    for words in (
        ["predict"],
        ["evaluate"],
        ["explain", "--example", "y(1)"],
        ["report", "--out", tmp_path / "r"],
    ):
        assert run(words[0], data, "--model", path, *words[1:]).status == 0


@pytest.mark.parametrize("option", ["--l2", "--prior"])
@pytest.mark.parametrize("preset", ["default", "paper"])
def test_fits_with_large_options(option, preset, tmp_path, run):
    data = write(tmp_path, {"users.csv": USERS})
    words = ("fit", data, "--target", "users.y", "--preset", preset, "--model", tmp_path / "m.json")
    assert run(*words, option, "1e308").status == 2
    assert run(*words, option, "1e100").status == 0
    hb.load_model(tmp_path / "m.json")


# --- stdout ----------------------------------------------------------------------------------


def hornbeam(redirection, *words):
    command = ["sh", "-c", f'"$@" {redirection}', "sh", sys.executable, "-m", "hornbeam", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(os.name != "posix" or not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("redirection", [">/dev/full", ">&-", ">&- 2>&-", "2>/dev/full", "2>&-"])
def test_output_that_cannot_be_written(redirection, model, tmp_path):
    data, out = model.parent / "data", tmp_path / "out.csv"
    for words in (["predict", data, "--model", model], ["show", model], ["--version"], ["--help"]):
        done = hornbeam(redirection, *words)
        assert done.returncode == (1 if ">&- 2" in redirection or redirection.startswith(">") else 0)
        if redirection in (">/dev/full", ">&-"):
            assert (
                done.stderr.startswith("hornbeam: cannot write to stdout (") and done.stderr.count("\n") == 1
            )
    assert hornbeam(redirection, "predict", data, "--model", model, "--out", out).returncode == 0
    assert out.read_text().startswith("id,label,predicted,probability\n")
