"""Generated SQL equals the files in tests/snapshots, so that every change of it is reviewed.

``HORNBEAM_SNAPSHOTS=write pytest tests/unit/engines/test_sql_text.py`` rewrites the files.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import Model, WeightedClause

FOLDER = Path(__file__).parents[2] / "snapshots" / "sql"
SCHEMA = Schema(
    {
        "risk": ("person",),
        "advisedby": ("person", "person"),
        "friends": ("person", "person"),
        "smokes": ("person",),
        "publication": ("paper", "person"),
        "job": ("person", "work"),
    }
)
CLAUSES = {
    "chain": "risk(A) :- friends(A,B), friends(B,C), smokes(C).",
    "tree": "risk(A) :- friends(A,B), smokes(B), friends(B,C), job(C,clerk), job(B,D).",
    "pairs": "advisedby(A,B) :- publication(C,A), publication(C,B).",
    "path": "advisedby(A,B) :- friends(A,C), friends(C,D), friends(D,B).",
    "triangle": "risk(A) :- friends(A,B), friends(B,C), friends(C,A).",
    "negation": "risk(A) :- friends(A,B), not smokes(B), not job(A,C).",
    "apart": "advisedby(A,B) :- smokes(A), job(B,C), friends(D,D).",
}
DIALECTS = ("duckdb", "postgres", "spark", "snowflake", "bigquery")


def check(name: str, text: str) -> None:
    file = FOLDER / name
    if os.environ.get("HORNBEAM_SNAPSHOTS") == "write":
        FOLDER.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CLAUSES)
def test_a_clause_as_a_scoring_query(name: str) -> None:
    clause = parse_clause(CLAUSES[name], SCHEMA)
    weighted = WeightedClause(clause, (0.5, 0.25, -0.125), 100)
    model = Model(clause.head.predicate, SCHEMA, -1.0, (weighted,), {})
    check(f"{name}.duckdb.sql", model.sql("duckdb"))


def test_a_clause_with_a_weight_for_each_constant() -> None:
    clause = parse_clause("risk(A) :- friends(A,B), job(B,C).", SCHEMA)
    constants = (("clerk", 0.5), ("it's", -0.25))
    weighted = WeightedClause(clause, (0.0, 1.0, 0.0), 100, "log", 2, constants)
    check("constants.duckdb.sql", Model("risk", SCHEMA, -1.0, (weighted,), {}).sql("duckdb"))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_one_query_in_every_dialect(dialect: str) -> None:
    clause = parse_clause("risk(A) :- friends(A,B), job(B,'it\\'s'), not smokes(B).", SCHEMA)
    weighted = WeightedClause(clause, (0.5, 1e-9, -0.125), 10**20)
    model = Model("risk", SCHEMA, 0.1, (weighted,), {"populations": "training"})
    check(f"dialects.{dialect}.sql", model.sql(dialect))
