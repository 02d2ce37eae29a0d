"""A model as a query, for examples with cut-offs: facts at or after a cut-off do not exist."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from hornbeam.cli import main
from hornbeam.data.build import build
from hornbeam.data.database import Database
from hornbeam.data.numbers import AT_CUTOFF, BEFORE, INCLUDE, CutoffRule, read_times
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.sql.drivers.duckdb import DuckDBConnection
from hornbeam.engines.sql.expressions import SqlTable
from hornbeam.errors import OptionError
from hornbeam.in_place.database import database_in_place
from hornbeam.in_place.facts import TableFacts
from hornbeam.in_place.source import TableSource
from hornbeam.logic.clauses import GUARDED, POPULATION
from hornbeam.logic.parse import parse_clause, parse_mode
from hornbeam.logic.schema import DATE, NUMBER, Schema
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.features import COUNT, LOG
from hornbeam.model.files import save_model
from sql_systems import SYSTEMS, opened

SCHEMA = Schema(
    {
        "churns": ("person",),
        "visit": ("person", "shop"),
        "sells": ("shop", "thing"),
        "rich": ("person",),
        "age": ("person", "years"),
    },
    {"years": "number"},
)
VISITS = [("1", "n", 1), ("1", "s", 5), ("2", "n", 2), ("1", "n", 9), ("3", "n", 4), ("3", "s", None)]
SELLS = [("n", "bread", 1), ("n", "wine", 3), ("s", "wine", 10)]
PEOPLE = [("1", 1, 35.5), ("2", 0, 20.0), ("3", 1, None), ("4", None, 20.0)]
EXAMPLES = [("1", 0), ("1", 1), ("1", 5), ("2", 2), ("2", 10), ("3", 4), ("3", None), ("4", 3), ("9", 10)]
CLAUSES = [
    "churns(A) :- visit(A,B).",
    "churns(A) :- not visit(A,B).",
    "churns(A) :- visit(A,B), sells(B,C).",
    "churns(A) :- visit(A,B), visit(C,B), rich(C).",
    "churns(A) :- visit(B,C), sells(C,wine).",
    "churns(A) :- rich(A), visit(A,B), not sells(B,C).",
    "churns(A) :- age(A,B), B >= 20.5.",
    "churns(A) :- visit(A,B), visit(C,B), age(C,D), D < 30, sells(B,E).",
]
TABLES = {
    "visit": ("visits", ["who", "shop"], None, "day"),
    "sells": ("sales", ["shop", "thing"], None, "day"),
    "rich": ("people", ["id"], "rich"),
    "age": ("people", ["id", "age"]),
}
ASKED = ("asked", ["id"], None, "upto")


def time(number: int | None, kind: str) -> float:
    return inf if number is None else read_times([text(number, kind) or ""])[0]


def text(number: int | None, kind: str) -> str | None:
    if number is None:
        return None
    return f"1998-03-{number + 1:02d}" if kind == DATE else str(number)


def database(kind: str) -> Database:
    facts = {
        "visit": [[row[side] for row in VISITS] for side in (0, 1)],
        "sells": [[row[side] for row in SELLS] for side in (0, 1)],
        "rich": [[key for key, rich, _ in PEOPLE if rich]],
        "age": [[key for key, _, age in PEOPLE if age], [f"{age:g}" for _, _, age in PEOPLE if age]],
    }
    times = {
        name: [time(row[2], kind) for row in rows] for name, rows in (("visit", VISITS), ("sells", SELLS))
    }
    keys = [[key] for key, _ in EXAMPLES]
    cutoffs = [time(cutoff, kind) for _, cutoff in EXAMPLES]
    examples = {"churns": (keys, [0] * len(keys))}
    return build(SCHEMA, (), facts, examples, times=times, cutoffs={"churns": cutoffs})


def model(kind: str, false_counts: str = POPULATION, at_cutoff: str = BEFORE) -> Model:
    clauses = [
        WeightedClause(
            clause := parse_clause(words, SCHEMA),
            (0.1 * number - 0.2, 0.3 / (number + 1), -0.05),
            counter_of(MemoryEngine(database(kind))).total(clause),
            LOG if number % 2 else COUNT,
        )
        for number, words in enumerate(CLAUSES)
    ]
    settings = {"populations": "database", "times": kind, "false_counts": false_counts}
    settings["at_cutoff"] = at_cutoff
    return Model("churns", SCHEMA, 0.4, tuple(clauses), settings)


def make_tables(kind: str, system: str, execute: Callable[[str], object]) -> None:
    """Times and cut-offs in columns of numbers or dates."""
    numbers = "NUMERIC(9, 3)" if system == "postgres" else "DOUBLE"
    moment = "DATE" if kind == DATE else numbers
    rows = {
        "visits": ("who, shop, day", [(who, shop, text(day, kind)) for who, shop, day in VISITS]),
        "sales": ("shop, thing, day", [(shop, thing, text(day, kind)) for shop, thing, day in SELLS]),
        "people": ("id, rich, age", PEOPLE),
        "asked": ("id, upto", [(key, text(upto, kind)) for key, upto in EXAMPLES]),
    }
    types = {"day": moment, "upto": moment, "rich": "INT", "age": numbers}
    for name, (columns, values) in rows.items():
        names = columns.split(", ")
        given = ", ".join(f"({', '.join(map(_literal, row))})" for row in values)
        wanted = ", ".join(f"CAST({word} AS {types.get(word, 'VARCHAR(9)')}) AS {word}" for word in names)
        what = "TEMPORARY VIEW" if system == "spark" else "TEMPORARY TABLE"
        execute(f"CREATE {what} {name} AS SELECT {wanted} FROM (VALUES {given}) AS v ({columns})")


def _literal(value: object) -> str:
    return "NULL" if value is None else f"'{value}'"


@pytest.mark.parametrize(
    ("system", "false_counts"), [*((system, POPULATION) for system in SYSTEMS), ("duckdb", GUARDED)]
)
@pytest.mark.parametrize("kind", [NUMBER, DATE])
@pytest.mark.parametrize("at_cutoff", AT_CUTOFF)
def test_the_query_gives_the_models_probabilities_at_the_cut_offs(
    system: str, false_counts: str, kind: str, at_cutoff: str
) -> None:
    learned = model(kind, false_counts, at_cutoff)
    data = database(kind).under_rule(CutoffRule(at_cutoff))
    with opened(system) as run:
        make_tables(kind, system, run)
        rows = run(learned.sql(system, TABLES, ASKED))
    examples = data.examples_of("churns")
    names = data.names_of("churns", examples.keys)[:, 0]
    assert examples.cutoffs is not None
    given = list(zip(names, examples.cutoffs.tolist(), strict=True))
    expected = dict(
        zip(given, learned.probabilities(MemoryEngine(data), examples.keys).tolist(), strict=True)
    )
    assert len(rows) == len(EXAMPLES)
    found = {}
    for row in rows:
        cutoff = inf if row[1] is None else float(read_times([str(row[1]).replace(" ", "T")])[0])
        found[str(row[0]), cutoff] = float(str(row[-1]))
    assert found == pytest.approx(expected, abs=1e-9)


def test_a_model_without_the_setting_counts_facts_at_the_cut_off() -> None:
    """Such models are from before it was a setting."""
    old = replace(model(DATE), settings={"populations": "database", "times": DATE})
    assert old.sql("duckdb", TABLES, ASKED) == model(DATE, at_cutoff=INCLUDE).sql("duckdb", TABLES, ASKED)
    assert old.sql("duckdb", TABLES, ASKED) != model(DATE).sql("duckdb", TABLES, ASKED)


@pytest.mark.parametrize(
    "dialect", ["bigquery", "clickhouse", "databricks", "mysql", "redshift", "snowflake", "trino", "tsql"]
)
@pytest.mark.parametrize("kind", [NUMBER, DATE])
def test_the_query_reads_back_in_other_dialects(dialect: str, kind: str) -> None:
    (tree,) = sqlglot.parse(model(kind).sql(dialect, TABLES, ASKED), read=dialect)
    assert isinstance(tree, exp.Select)
    assert {"visits", "sales", "people", "asked"} <= {table.name for table in tree.find_all(exp.Table)}


def test_cut_offs_need_times() -> None:
    timeless = Model("churns", SCHEMA, 0.0, (), {})
    with pytest.raises(OptionError, match="learned from facts without times"):
        timeless.sql("duckdb", TABLES, ASKED)
    with pytest.raises(OptionError, match="no table of facts has a time"):
        model(DATE).sql("duckdb", {}, ASKED)


def test_the_command_takes_cut_offs_times_and_flags(tmp_path, capsys) -> None:
    file, mapping = tmp_path / "m.json", tmp_path / "tables.json"
    save_model(model(DATE), file)
    tables = {
        name: dict(zip(("table", "columns", "true", "time"), entry, strict=False))
        for name, entry in TABLES.items()
    }
    mapping.write_text(json.dumps(tables))
    words = ["--tables", str(mapping), "--examples", "asked", "--key", "id", "--cutoff", "upto"]
    with pytest.raises(SystemExit) as stopped:
        main(["sql", "--model", str(file), *words])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == model(DATE).sql("duckdb", TABLES, ASKED)


@pytest.mark.parametrize("kind", [NUMBER, DATE])
def test_thresholds_and_frequent_constants_heed_the_last_cut_off(kind: str, tmp_path: Path) -> None:
    """As with loaded facts: measurements after the cut-off have no effect."""
    schema = Schema({"churns": ("person",), "paid": ("person", "price")}, {"price": "number"})
    modes = [parse_mode("paid(+person,`price).")]
    rows = [(f"p{number}", 10.0 * number, number) for number in range(1, 9)]
    facts = {"paid": [[row[0] for row in rows], [f"{row[1]:g}" for row in rows]]}
    times = {"paid": [time(row[2], kind) for row in rows]}
    held = build(schema, modes, facts, {"churns": ([["p1"]], [1])}, times=times)
    with duckdb.connect(str(tmp_path / "facts.duckdb")) as made:
        made.execute(
            f"CREATE TABLE paid (who VARCHAR, price DOUBLE, day {'DATE' if kind == DATE else 'DOUBLE'})"
        )
        made.executemany("INSERT INTO paid VALUES (?, ?, ?)", [(w, p, text(d, kind)) for w, p, d in rows])
    connection = DuckDBConnection(10**9)
    connection.attach(tmp_path / "facts.duckdb", "facts")
    tables = {"paid": SqlTable(("facts", "paid"), ("who", "price"), None, "day")}
    facts = TableFacts(TableSource(connection, schema, tables, time_kind=kind))
    in_place = database_in_place(facts, modes, None, None)
    for last in (3, 5, 8):
        until = time(last, kind)
        expected = {("paid", 1): tuple(10.0 * number for number in range(2, last + 1))}
        assert dict(held.thresholds("churns", 16, until)) == expected
        assert dict(in_place.thresholds("churns", 16, until)) == expected
        names = tuple(f"p{number}" for number in range(1, last + 1))
        assert held.frequent("paid", 0, 1, until) == in_place.frequent("paid", 0, 1, until) == names
    connection.close()
