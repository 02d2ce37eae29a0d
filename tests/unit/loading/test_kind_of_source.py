"""What kind of data a source is: by its type, the names of its files, and first bytes."""

import sqlite3
from pathlib import Path

import duckdb
import pytest

from hornbeam.errors import DataError, OptionError
from hornbeam.loading import load
from hornbeam.loading.kind_of_source import SourceKind, kind_of_source, table_name


def folder(path: Path, *names: str) -> Path:
    for name in names:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text("")
    path.mkdir(exist_ok=True)
    return path


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["facts.txt"], SourceKind.FACTS),
        (["train/train_neg.txt"], SourceKind.FACTS),
        (["facts.txt", "users.csv"], SourceKind.FACTS),
        (["facts.txt", "schema.toml"], SourceKind.TABLE_FOLDER),
        (["schema.toml"], SourceKind.TABLE_FOLDER),
        (["users.TSV"], SourceKind.TABLE_FOLDER),
        (["users.pq"], SourceKind.TABLE_FOLDER),
        (["readme.md"], SourceKind.NOTHING),
        ([], SourceKind.NOTHING),
    ],
)
def test_a_folder_is_known_by_the_names_of_its_files(tmp_path, names, kind):
    assert kind_of_source(folder(tmp_path / "data", *names)) is kind


def test_a_schema_from_elsewhere_makes_any_folder_one_of_tables(tmp_path):
    data = folder(tmp_path / "data", "facts.txt", "u.data")
    assert kind_of_source(data, has_schema=True) is SourceKind.TABLE_FOLDER
    assert kind_of_source(tmp_path / "absent", has_schema=True) is SourceKind.NOTHING


def test_a_database_file_is_known_by_its_first_bytes_whatever_its_name(tmp_path):
    sqlite, duck = tmp_path / "a.csv", tmp_path / "b.sqlite"
    with sqlite3.connect(sqlite) as connection:
        connection.execute("CREATE TABLE t (x)")
    with duckdb.connect(str(duck)) as connection:
        connection.execute("CREATE TABLE t (x INTEGER)")
    assert kind_of_source(sqlite) is SourceKind.SQLITE_FILE
    assert kind_of_source(str(duck)) is SourceKind.DUCKDB_FILE


@pytest.mark.parametrize(
    ("name", "kind", "table"),
    [
        ("users.v2.csv", SourceKind.TEXT_FILE, "users.v2"),
        ("users.PARQUET", SourceKind.PARQUET_FILE, "users"),
        ("u.data", SourceKind.OTHER_FILE, "u.data"),
    ],
)
def test_another_file_is_known_by_its_ending(tmp_path, name, kind, table):
    (tmp_path / name).write_text("id\n1\n")
    assert kind_of_source(tmp_path / name) is kind
    assert kind.is_file
    assert table_name(tmp_path / name) == table


def test_what_is_no_path_is_known_by_its_type_or_its_beginning(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert kind_of_source({"users": object()}) is SourceKind.FRAMES
    assert kind_of_source("host=localhost dbname=shop") is SourceKind.POSTGRES
    assert kind_of_source("catalog:shop") is SourceKind.SPARK_CATALOGUE
    with pytest.raises(OptionError, match="load does not take a list: name a folder"):
        kind_of_source([1, 2])


@pytest.mark.parametrize(
    ("name", "reason"), [("a\0b", "embedded null byte"), ("x" * 5000, "the name is too long")]
)
def test_a_name_that_no_file_can_have_is_refused_in_one_sentence(name, reason):
    assert kind_of_source(name) is SourceKind.NOTHING
    with pytest.raises(DataError, match=f"cannot read .*: {reason}; name a folder of facts or of tables"):
        load(name)
