"""Files that are written to do harm: one sentence and exit status 2, whatever they hold or lead to.

A model executes nothing and reads no file but itself; names are text, to a terminal, to SQL, to HTML.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from folders import flat, write

GOLDEN = Path(__file__).parents[1] / "golden" / "models"
ESCAPE = "x\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"
SQL_NAME = "x'; DROP TABLE friends; --"
HTML_NAME = "<script>alert(1)</script>"


def golden(name: str = "rlr", **changes: object) -> dict[str, object]:
    document = json.loads((GOLDEN / f"{name}.json").read_text())
    return document | changes


def model_file(folder: Path, document: object) -> Path:
    path = folder / "model.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def one_sentence(code: object, out: str, err: str) -> str:
    assert code == 2
    assert out == ""
    assert err.startswith("hornbeam: ")
    assert err.count("\n") == 1
    return err


# --- models --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"tables": 5},
        {"tables": {"persons": 5}},
        {"tables": {"persons": {"key": ["id"]}}},
        {"tables": {"persons": {"links": "no"}}},
        {"tables": {}, "target": 7},
        {"tables": {}, "target": "no.such"},
        {"tables": {"persons": {"key": "id"}}, "target": "persons.cancer", "negatives_seed": "x"},
    ],
    ids=str,
)
def test_settings_of_a_model_that_are_damaged(settings: dict[str, object], tmp_path: Path, run) -> None:
    path = model_file(tmp_path, golden(settings=settings))
    one_sentence(*run("predict", GOLDEN / "data", "--model", path))


def test_a_model_reaches_no_path(tmp_path: Path, run) -> None:
    outside = tmp_path / "outside.csv"
    outside.write_text("id,word\n1,secret\n")
    document = golden()
    tables = document["settings"]["tables"] | {"stolen": {"file": str(outside), "key": "id"}}
    path = model_file(tmp_path, document | {"settings": document["settings"] | {"tables": tables}})
    code, out, err = run("predict", GOLDEN / "data", "--model", path)
    assert (code, "secret" in out + err) == (0, False)
    assert "the data lack tables of the training data (stolen); they count as empty" in err
    outside.unlink()
    assert run("predict", GOLDEN / "data", "--model", path) == (code, out, err)


@pytest.mark.parametrize("learner", ["os", "hornbeam.cli", "../rlr", "", "builtins.eval", "rlr\0"])
def test_a_model_names_no_code(learner: str, tmp_path: Path, run) -> None:
    said = one_sentence(*run("show", model_file(tmp_path, golden(learner=learner))))
    assert "unknown learner" in said or "must be a text" in said


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"a":' * 100_000,
        '{"format_version": 1, "settings": ' + "[" * 900 + "]" * 900 + "}",
        json.dumps(golden(prior=0)).replace('"prior": 0', '"prior": 1' + "0" * 5000),
        json.dumps(golden(prior=0)).replace('"prior": 0', '"prior": -Infinity'),
        json.dumps(golden(target="\ud800")),
        json.dumps(golden(format_version=10**30)),
        "\0" * 1000,
        "\ufeff{}",
    ],
    ids=["lists", "objects", "settings", "digits", "infinite", "half", "version", "NUL", "mark"],
)
def test_model_files_that_are_no_models(text: str, tmp_path: Path, run) -> None:
    one_sentence(*run("show", model_file(tmp_path, text)))


def test_settings_that_are_lists_in_lists_are_refused(tmp_path: Path, run) -> None:
    deep: object = 1
    for _ in range(400):
        deep = [deep]
    said = one_sentence(*run("show", model_file(tmp_path, golden(settings={"x": deep})), "--json"))
    assert "settings" in said


def test_a_model_that_never_ends_is_refused(run) -> None:
    assert "larger than" in one_sentence(*run("show", "/dev/zero"))


# --- links, devices, encodings -----------------------------------------------------------------


def test_links_that_lead_in_a_circle(tmp_path: Path, run) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(tmp_path / "loop")
    folder = flat(tmp_path / "data", "smokes(ann).")
    (folder / "facts.txt").unlink()
    (folder / "facts.txt").symlink_to("facts.txt")
    assert "circle" in one_sentence(*run("inspect", folder))
    one_sentence(*run("inspect", loop))
    one_sentence(*run("show", loop))
    (folder / "facts.txt").unlink()
    (folder / "facts.txt").write_text("smokes(ann). smokes(bob).")
    one_sentence(*run("fit", folder, "--target", "cancer", "--model", loop))
    code, _, err = run("fit", folder, "--target", "cancer", "--checkpoint", loop)
    assert (code, "cannot be a checkpoint folder" in err) == (2, True)
    (folder / "again").symlink_to(folder)
    assert run("inspect", folder)[0] == 0


@pytest.mark.parametrize("encoding", ["hex", "zlib", "rot13", "undefined", "a\0b", "no such", "utf-16"])
def test_encodings_that_are_none(encoding: str, tmp_path: Path, run) -> None:
    schema = f"[t]\nkey = 'id'\nencoding = {json.dumps(encoding)}\n"
    one_sentence(*run("inspect", write(tmp_path, {"t.csv": "id,a\n1,2\n", "schema.toml": schema})))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 100,
        b"id,a\n1,\0\n",
        b'id,"a\n',
        b"id," + b"a" * 300_000 + b"\n1,2\n",
        b"id,a\n1," + b"b" * 20_000_000 + b"\n",
        b"id,a\n1,2,3\n",
        b"id,id\n",
        b"\x1f\x8b\x08\0\0\0\0\0",
        b"PAR1" + b"\0" * 100 + b"PAR1",
    ],
    ids=["empty", "NULs", "NUL", "quote", "wide name", "long value", "ragged", "twice", "gzip", "parquet"],
)
@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.db"])
def test_tables_that_are_none(name: str, content: bytes, tmp_path: Path, run) -> None:
    path = write(tmp_path, {name: content}) / name
    code, out, _ = run("inspect", path)
    assert code in (0, 2)
    assert (code == 0) == bool(out)


def test_a_small_file_of_a_million_million_rows_is_refused(tmp_path: Path, run, monkeypatch) -> None:
    import duckdb

    from hornbeam.loading.tables.sources import duckdb as duckdb_tables

    path = tmp_path / "t.parquet"
    with duckdb.connect() as made:
        made.execute(f"COPY (SELECT 1 AS id, 2 AS a FROM range(3000000)) TO '{path}' (FORMAT parquet)")
    assert path.stat().st_size < 50_000
    # What a larger file would do to this machine, this one does to a machine of 10 MB.
    monkeypatch.setattr(duckdb_tables, "most_memory", lambda: 10_000_000)
    assert '"t" has 3,000,000 rows and 2 columns' in one_sentence(*run("inspect", tmp_path))


# --- names ---------------------------------------------------------------------------------------


def hostile_data(folder: Path, name: str) -> Path:
    quoted = "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return flat(
        folder,
        f"friends(ann,{quoted}). friends(bob,cat). friends({quoted},ann). smokes({quoted}). smokes(ann).",
        "friends(+person,-person). friends(+person,#person). smokes(+person). cancer(+person).",
        pos=f"cancer(ann). cancer({quoted}).",
        neg="cancer(bob). cancer(cat).",
    )


def model_with(folder: Path, name: str) -> Path:
    quoted = "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"
    clause = f"cancer(A) :- friends(A,{quoted}), friends(A,B), smokes(B)."
    weighted = [{"clause": clause, "total": 4, "weights": [0.0, 1.0, -0.5]}]
    schema = {"cancer": ["person"], "friends": ["person", "person"], "smokes": ["person"]}
    return model_file(
        folder,
        golden(
            clauses=weighted, schema=schema, numeric={}, settings={"populations": "database"}, target="cancer"
        ),
    )


def verbs(data: Path, model: Path) -> list[list[object]]:
    return [
        ["show", model],
        ["explain", data, "--model", model, "--example", "cancer(ann)"],
        ["explain", data, "--model", model, "--example", "cancer(ann)", "--json"],
        ["inspect", write(data / "tables", {"t.csv": f"id,{ESCAPE}\n1,2\n"})],
        ["fit", data, "--preset", "paper", "--target", "cancer", "--steps", 2, "--max-literals", 2],
        ["count", data, f"cancer(A) :- '{ESCAPE}'(A)."],
        ["explain", data, "--model", model, "--example", f"cancer({ESCAPE})"],
    ]


def test_no_name_reaches_the_terminal_as_a_command(tmp_path: Path, run) -> None:
    data, model = hostile_data(tmp_path, ESCAPE), model_with(tmp_path, ESCAPE)
    for words in verbs(data, model):
        _, out, err = run(*words)
        # The clauses that a fit finds need not name it.
        assert words[0] == "fit" or "\\x1b" in out + err or "u009b" in out, words
        assert not set("\x1b\x07\x9b\u202e") & set(out + err), words


@pytest.mark.parametrize("verb", ["predict", "count", "show", "explain", "inspect", "modes"])
def test_on_a_terminal_even_data_are_written_out(verb: str, tmp_path: Path) -> None:
    data, model = hostile_data(tmp_path, ESCAPE), model_with(tmp_path, ESCAPE)
    words: dict[str, list[object]] = {
        "predict": [data, "--model", model],
        "count": [data, "cancer(A) :- friends(A,B)."],
        "show": [model],
        "explain": [data, "--model", model, "--example", "cancer(ann)"],
        "inspect": [data],
        "modes": [data],
    }
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "hornbeam", verb, *map(str, words[verb])]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs) as process:
        os.close(theirs)
        seen = b""
        try:
            while piece := os.read(ours, 65536):
                seen += piece
        except OSError:
            pass  # how a terminal says that the other side is gone
        assert process.wait() == 0, seen
    os.close(ours)
    assert b"owned" not in seen or b"\x1b]0;owned" not in seen
    assert b"\x1b[2J" not in seen
    assert b"\x07" not in seen
    assert "\x9b".encode() not in seen


def test_what_another_program_reads_is_exact(tmp_path: Path, run) -> None:
    data, model = hostile_data(tmp_path, ESCAPE), model_with(tmp_path, ESCAPE)
    _, out, _ = run("predict", data, "--model", model)
    run("predict", data, "--model", model, "--out", tmp_path / "p.csv")
    assert out == (tmp_path / "p.csv").read_text()
    assert ESCAPE in out


def test_no_name_breaks_out_of_sql(tmp_path: Path, run) -> None:
    import duckdb

    data, model = hostile_data(tmp_path, SQL_NAME), model_with(tmp_path, SQL_NAME)
    expected = run("predict", data, "--model", model)
    assert run("predict", data, "--model", model, "--engine", "duckdb") == expected
    code, query, _ = run(
        "sql", "--model", model, "--dialect", "duckdb", "--examples", "people", "--key", "id"
    )
    assert code == 0
    with duckdb.connect() as made:
        made.execute("CREATE TABLE people (id VARCHAR); INSERT INTO people VALUES ('ann'), ('bob')")
        made.execute("CREATE TABLE friends (arg1 VARCHAR, arg2 VARCHAR); CREATE TABLE smokes (arg1 VARCHAR)")
        made.execute("INSERT INTO friends VALUES ('ann', ?), ('bob', 'cat')", [SQL_NAME])
        made.execute("INSERT INTO smokes VALUES (?)", [SQL_NAME])
        assert len(made.execute(query).fetchall()) == 2
        assert made.execute("SELECT count(*) FROM friends").fetchall() == [(2,)]


def test_no_name_breaks_out_of_a_picture_or_a_page(tmp_path: Path, run) -> None:
    data = hostile_data(tmp_path, HTML_NAME)
    fitted = tmp_path / "trees.json"
    options = ["--learner", "rdn-boost", "--steps", 1, "--min-examples", 1]
    assert run("fit", data, "--target", "cancer", "--model", fitted, *options)[0] == 0
    _, picture, _ = run("show", fitted, "--svg")
    ElementTree.fromstring(picture)
    assert "<script>alert" not in picture
    page = tmp_path / "page.html"
    assert run("report", data, "--model", model_with(tmp_path, HTML_NAME), "--out", page)[0] == 0
    assert "alert(1)" in page.read_text()
    assert HTML_NAME not in page.read_text()
