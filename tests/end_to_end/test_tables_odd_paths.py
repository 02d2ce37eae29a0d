"""A path is the path of one file, whatever characters it has: no pattern, no partition, no address."""

import re
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import hornbeam as hb
from folders import examples_of
from hornbeam.errors import DataError
from hornbeam.files import TEMPORARY, remove_leftovers
from hornbeam.in_place.open import _one_file_for_spark
from strategies import CASES
from table_worlds import as_csv, as_duckdb, as_parquet, as_sqlite

KINDS = {"csv": as_csv, "parquet": as_parquet, "duckdb": as_duckdb, "sqlite": as_sqlite}
FILES = {"duckdb": "shop.duckdb", "sqlite": "shop.sqlite"}


def users(first):
    return {
        "users": {"user_id": [first, first + 1, first + 2], "y": [True, False, True], "c": ["a", "b", "b"]}
    }


def loaded(source, engine=None):
    """The predicates and the examples of a source."""
    with closing(hb.load(source, target="users.y", engine=engine)) as database:
        return sorted(database.schema.predicates), sorted(examples_of(database, "y"))


def a_match(pattern):
    """A name that the pattern matches, and that is another name if it is a pattern at all."""
    one_of = re.sub(r"\[!?([^]])[^]]*\]", r"\1", pattern)
    return one_of.replace("*", "a").replace("?", "b").replace("{", "").replace("}", "")


names = st.text(alphabet="*?[]{}!-^,=~:#%&'\" ab1é", min_size=1, max_size=6).filter(lambda name: name.strip())


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=max(CASES // 100, 1))
@given(name=names)
def test_folders_of_any_name_are_read_and_no_others(kind, name):
    other = a_match(name)
    assume(other and other != name)
    with tempfile.TemporaryDirectory() as root:
        right, wrong = Path(root) / name, Path(root) / other
        expected = loaded(KINDS[kind](users(1), Path(root) / "plain"))
        (Path(root) / "plain").replace(right)
        KINDS[kind](users(100), Path(root) / "other")
        (Path(root) / "other").replace(wrong)
        source = right / FILES.get(kind, "")
        if kind == "duckdb" and "?" in name:
            with pytest.raises(DataError, match="must not contain a backslash or"):
                loaded(source)
            return
        assert loaded(source) == expected
        assert loaded(source, "duckdb") == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["users[1]", "users*", "u[!a]ers", "year=2024", "~", ":memory:", "md:users"])
def test_files_of_odd_names_in_the_current_folder(kind, name, tmp_path, monkeypatch):
    made = KINDS[kind](users(1), tmp_path / "made")
    made = made / f"users.{kind}" if made.is_dir() else made
    other = KINDS[kind](users(100), tmp_path / "other")
    other = other / f"users.{kind}" if other.is_dir() else other
    ending = f".{kind}" if kind in ("csv", "parquet") else ""
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path / "data")
    made.replace(f"{name}{ending}")
    for decoy in ("users1", "users2", "usurers", "uzers"):
        Path(f"{decoy}{ending}").write_bytes(other.read_bytes())
    table = "users" if kind in FILES else name
    for engine in (None, "duckdb"):
        with closing(hb.load(f"{name}{ending}", target=f"{table}.y", engine=engine)) as database:
            assert sorted(examples_of(database, "y")) == [(("1",), 1), (("2",), 0), (("3",), 1)]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_folder_that_looks_like_a_partition_is_no_column(kind, tmp_path):
    source = KINDS[kind](users(1), tmp_path / "year=2024" / "month=5")
    assert loaded(source) == loaded(source, "duckdb")
    assert loaded(source)[0] == ["c", "y"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not have such names")
@pytest.mark.parametrize("name", ["a\\b[1]", "a\\b?", "caf\udce9"])
@pytest.mark.parametrize("kind", KINDS)
def test_names_that_duckdb_cannot_read_are_one_sentence(kind, name, tmp_path):
    made = KINDS[kind](users(1), tmp_path / "made")
    plain = made if made.is_dir() else made.parent
    plain.replace(tmp_path / name)
    source = tmp_path / name / FILES.get(kind, "")
    for engine in (None, "duckdb"):
        if kind == "sqlite":
            assert loaded(source, engine)[0] == ["c", "y"]
            continue
        with pytest.raises(DataError, match=r"DuckDB cannot read .*; rename the file or its folder"):
            loaded(source, engine)


def test_spark_is_given_no_pattern():
    assert _one_file_for_spark(Path("/data/year=2024/users.parquet")) == "/data/year=2024/users.parquet"
    for name in ("data[1]", "s*", "a?b", "{a,b}", "a\\b"):
        with pytest.raises(hb.HornbeamError, match=r"Spark takes .* for a pattern of many files"):
            _one_file_for_spark(Path("/data") / name / "users.parquet")


def test_leftovers_of_other_files_stay(tmp_path):
    own, others = tmp_path / f".m[1].json.0a{TEMPORARY}", tmp_path / f".m1.json.0a{TEMPORARY}"
    for path in (own, others):
        path.touch()
    remove_leftovers(tmp_path, "m[1].json")
    assert others.exists() and not own.exists()
