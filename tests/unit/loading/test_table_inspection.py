"""What ``inspect`` tells of tables: what is guessed, what looks wrong, and a schema to correct."""

import json
import sqlite3
import tomllib

import numpy as np
import polars as pl
import pytest

from hornbeam.cli import main
from hornbeam.loading.inspect.inspectors import inspect_tables
from hornbeam.loading.options import TableOptions

CREATE = """
CREATE TABLE doctors (id INTEGER PRIMARY KEY, name TEXT, speciality TEXT);
CREATE TABLE patients (
    id INTEGER PRIMARY KEY, doctor INTEGER REFERENCES doctors, born DATE, smoker BOOLEAN, country TEXT,
    notes TEXT, alive INTEGER, dead BOOLEAN, last_seen DATE
);
CREATE TABLE drugs (code TEXT PRIMARY KEY, dose REAL, picture BLOB);
CREATE TABLE takes (
    patient INTEGER REFERENCES patients(id), drug TEXT REFERENCES drugs(code), PRIMARY KEY (patient, drug)
);
CREATE TABLE funerals (patient INTEGER REFERENCES patients(id), flowers TEXT);
CREATE TABLE wards (no INTEGER, floor INTEGER, beds INTEGER, PRIMARY KEY (no, floor));
CREATE TABLE stays (
    patient INTEGER REFERENCES patients(id), ward INTEGER, floor INTEGER,
    FOREIGN KEY (ward, floor) REFERENCES wards (no, floor)
);
"""


@pytest.fixture
def clinic(tmp_path):
    draw = np.random.default_rng(0)
    made = sqlite3.connect(tmp_path / "clinic.sqlite")
    made.executescript(CREATE)
    made.executemany("INSERT INTO doctors VALUES (?, ?, ?)", [(n, f"dr {n}", "ab"[n % 2]) for n in range(5)])
    made.executemany("INSERT INTO drugs VALUES (?, ?, ?)", [(f"D{n}", n / 2, b"x") for n in range(6)])
    made.executemany("INSERT INTO wards VALUES (?, ?, ?)", [(n // 2, n % 2, n) for n in range(6)])
    for n in range(80):
        dead = n % 3 == 0
        row = (
            n,
            n % 5,
            f"19{30 + n % 60}-03-04",
            n % 2,
            "DE",
            f"note {n}",
            not dead,
            dead,
            f"{n % 28 + 1}.2.2024",
        )
        made.execute("INSERT INTO patients VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        made.executemany(
            "INSERT INTO takes VALUES (?, ?)", [(n, f"D{k}") for k in range(6) if draw.random() < 0.4]
        )
        made.execute("INSERT INTO stays VALUES (?, ?, ?)", (n, n % 3, n % 2))
        if dead:
            made.execute("INSERT INTO funerals VALUES (?, ?)", (n, "white" if n % 2 else "red"))
    made.commit()
    made.close()
    return tmp_path / "clinic.sqlite"


@pytest.fixture
def inspected(clinic):
    return inspect_tables(clinic, TableOptions(target="patients.dead"))


def test_keys_and_links_are_those_of_the_catalogue(inspected):
    tables = {table.name: table for table in inspected.tables}
    assert tables["patients"].key == "id"
    assert tables["patients"].links == {"doctor": "doctors"}
    assert tables["takes"].links == {"patient": "patients", "drug": "drugs"}
    assert tables["wards"].key == "no_floor"
    assert tables["stays"].links == {"patient": "patients", "ward_floor": "wards"}
    assert (tables["takes"].form, tables["takes"].predicate) == ("link", "takes(patients,drugs)")
    assert all(table.guessed == () for table in inspected.tables)
    roles = {column.name: column.role for column in tables["patients"].columns}
    assert roles == {
        "id": "key",
        "doctor": "link",
        "born": "date",
        "smoker": "flag",
        "country": "unused",
        "notes": "unused",
        "alive": "flag",
        "dead": "label",
        "last_seen": "category",
    }


def test_suspicious_columns_are_told(inspected):
    found = {(each.table, each.column): each.why for each in inspected.suspicions}
    assert found[("patients", "country")] == "the same value (DE) in every row; not used"
    assert found[("patients", "notes")] == "80 different texts in 80 rows; not used"
    assert found[("patients", "alive")] == "alone predicts the label (AUC-ROC 1.000): a leak?"
    assert (
        found[("funerals", "patient")]
        == "the number of rows alone predicts the label (AUC-ROC 1.000): a leak?"
    )
    assert ("patients", "smoker") not in found
    assert ("takes", "patient") not in found


def test_what_a_catalogue_has_and_we_cannot_use_is_said(inspected):
    said = [str(notice) for notice in inspected.notices]
    assert "not used: 1 column of types that cannot be read (drugs.picture (binary))." in said
    assert (
        'table "patients": column "last_seen" is declared DATE, but not all of its values are of that type; '
        "it is read as text." in said
    )


def test_populations_and_examples(inspected):
    assert inspected.populations["patients"] == 80
    assert inspected.examples == {"positive": 27, "negative": 53}


def test_a_table_that_tells_more_of_the_same_things_may_leak():
    users = pl.DataFrame({"user_id": range(40), "gender": ["F" if n % 2 else "M" for n in range(40)]})
    more = pl.DataFrame({"user_id": range(40), "title": ["Ms" if n % 2 else "Mr" for n in range(40)]})
    found = inspect_tables({"users": users, "more": more}, TableOptions(target="users.gender=F"))
    assert [(each.table, each.column, each.why) for each in found.suspicions] == [
        ("more", "title", "alone predicts the label (AUC-ROC 1.000): a leak?")
    ]


def test_the_text_is_a_table_and_json_has_the_same(clinic, capsys):
    for flags in ([], ["--json"]):
        with pytest.raises(SystemExit) as left:
            main(["inspect", str(clinic), "--target", "patients.dead", *flags])
        assert left.value.code == 0
    text, _, document = capsys.readouterr().out.partition("{")
    assert "patients: 80 rows, things, key id, doctor -> doctors\n  column     role      type" in text
    assert "\nexamples: positive 27, negative 53\n" in text
    read = json.loads("{" + document)
    assert [table["table"] for table in read["tables"]] == [
        *("doctors", "drugs", "funerals", "patients", "stays", "takes", "wards")
    ]
    assert read["examples"] == {"positive": 27, "negative": 53}
    assert {"table": "patients", "column": "notes", "why": "80 different texts in 80 rows; not used"} in read[
        "suspicious"
    ]


def test_toml_states_everything_and_reads_back_to_itself(tmp_path, capsys):
    (tmp_path / "people.txt").write_bytes("1|Élise|x\n2|Bob|y\n3|Cy|x\n".encode("latin-1"))
    stated = (
        '[people]\nfile = "people.txt"\nseparator = "|"\nencoding = "latin-1"\n'
        'columns = ["people_id", "a name", "kind"]\nunused = ["a name"]\n'
    )
    (tmp_path / "schema.toml").write_text(stated)
    texts = []
    for _ in range(2):
        with pytest.raises(SystemExit):
            main(["inspect", str(tmp_path), "--toml"])
        texts.append(capsys.readouterr().out)
        (tmp_path / "schema.toml").write_text(texts[-1])
    assert texts[0] == texts[1]
    assert tomllib.loads(texts[0])["people"] == {
        "file": "people.txt",
        "separator": "|",
        "encoding": "latin-1",
        "columns": ["people_id", "a name", "kind"],
        "key": "people_id",
        "links": {},
        "roles": {"kind": "category"},
        "unused": ["a name"],
    }
