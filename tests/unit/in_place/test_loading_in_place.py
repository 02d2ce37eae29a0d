"""Tables that stay in their place: what is refused, and the names that are read when they are needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hornbeam as hb
from folders import write
from hornbeam.errors import OptionError, SchemaError

USERS = "user_id,name,vip\n1,Ann,1\n2,Bob,0\n3,Cat,1\n"
VISITS = "visit_id,user_id,day,paid\n1,1,2024-01-01,5\n2,1,2024-01-02,7\n3,2,2024-01-03,9\n4,3,2024-01-04,2\n"
SCHEMA: dict[str, Any] = {
    "users": {"key": "user_id"},
    "visits": {"key": "visit_id", "links": {"user_id": "users"}, "time": "day"},
}


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    write(tmp_path / "tables", {"users.csv": USERS, "visits.csv": VISITS})
    return tmp_path / "tables"


def in_place(folder: Path, **options: Any) -> None:
    with hb.load(folder, engine="duckdb", **options):
        pass


def test_what_cannot_be_asked_of_tables_in_place_is_refused(tables: Path, tmp_path: Path) -> None:
    asked = tmp_path / "asked.csv"
    asked.write_text("user_id,label\n1,1\n2,0\n")
    with pytest.raises(OptionError, match="examples need a target: name the column or the predicate"):
        in_place(tables, schema=SCHEMA, examples=asked)
    with pytest.raises(OptionError, match='so there is no split "train"; leave the split out'):
        in_place(tables, schema=SCHEMA, target="users.vip", split="train")
    with pytest.raises(OptionError, match="as_of is refused: no table has a time column"):
        visits = {"key": "visit_id", "links": {"user_id": "users"}, "unused": ["day"]}
        untimed = SCHEMA | {"visits": visits}
        in_place(tables, schema=untimed, target="users.vip", as_of="2024-01-03")


def test_tables_that_a_model_numbered_are_refused_in_place(tmp_path: Path) -> None:
    rows = "\n".join(line.partition(",")[2] for line in VISITS.splitlines())
    write(tmp_path / "rows", {"users.csv": USERS, "visits.csv": rows + "\n"})
    schema = SCHEMA | {"visits": {"links": {"user_id": "users"}, "time": "day", "rows": True}}
    loaded = hb.load(tmp_path / "rows", schema=schema, target="users.vip")
    with pytest.raises(SchemaError, match="have no key and were numbered for the model, and rows are not"):
        in_place(tmp_path / "rows", origin=loaded.origin)


def test_a_table_without_the_times_of_the_model_is_refused(tables: Path, tmp_path: Path) -> None:
    loaded = hb.load(tables, schema=SCHEMA, target="users.vip")
    later = "\n".join(
        ",".join(cell for place, cell in enumerate(line.split(",")) if place != 2)
        for line in VISITS.splitlines()
    )
    write(tmp_path / "later", {"users.csv": USERS, "visits.csv": later + "\n"})
    with pytest.raises(SchemaError, match='has no column "day", which has the time of its rows in the model'):
        in_place(tmp_path / "later", origin=loaded.origin)


def test_display_names_are_those_of_loaded_tables(tables: Path) -> None:
    loaded = hb.load(tables, schema=SCHEMA, target="users.vip")
    with hb.load(tables, schema=SCHEMA, target="users.vip", engine="duckdb") as placed:
        assert {name: dict(each) for name, each in placed.display_names.items()} == {
            name: dict(each) for name, each in loaded.display_names.items()
        }
        (names,) = placed.display_names.values()
        assert (names["2"], len(names), sorted(names)) == ("Bob", 3, ["1", "2", "3"])
