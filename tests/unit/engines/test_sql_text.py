"""Generated SQL equals the files in tests/snapshots, so that every change of it is reviewed.

``HORNBEAM_SNAPSHOTS=write pytest tests/unit/engines/test_sql_text.py`` rewrites the files.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from sqlglot import exp

from hornbeam.data.build import build
from hornbeam.engines.sql.counts import tables as count_tables
from hornbeam.engines.sql.drivers.duckdb import DuckDBConnection, DuckDBEngine
from hornbeam.engines.sql.expressions import SPARK, Dialect
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


class Recorded(DuckDBConnection):
    """Records every query before it runs, in the dialect ``shown``."""

    texts: list[str]

    def create(self, name: str, query: exp.Select) -> None:
        if not hasattr(self, "texts"):
            self.texts = []
        self.texts.append(f"{name}:\n{self.shown.text(query, pretty=True)}")
        super().create(name, query)

    shown: Dialect


class RecordedEngine(DuckDBEngine):
    def _connect(self) -> Recorded:
        connection = Recorded(self.memory)
        connection.shown = self.shown
        return connection

    shown: Dialect


@pytest.mark.parametrize("dialect", [DuckDBConnection.dialect, SPARK], ids=["duckdb", "spark"])
def test_many_clauses_are_counted_in_few_passes(dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> None:
    """One pass over friends for all messages attached to it, one over job for both constants."""
    monkeypatch.setattr(count_tables, "MOST_FETCHED", 0)
    facts = {
        "friends": [["a", "b", "c"], ["b", "c", "a"]],
        "smokes": [["a", "b"]],
        "job": [["a", "b"], ["clerk", "cook"]],
    }
    database = build(SCHEMA, (), facts, {"risk": ([["a"], ["b"], ["d"]], [1, 0, 0])})
    texts = [
        "risk(A) :- friends(A,B).",
        "risk(A) :- friends(A,B), smokes(B).",
        "risk(A) :- friends(A,B), job(B,clerk).",
        "risk(A) :- friends(A,B), job(B,cook), smokes(A).",
        "risk(A) :- friends(A,B), job(B,clerk), smokes(B).",
        "risk(A) :- job(A,cook).",
    ]
    engine = RecordedEngine(database)
    engine.shown = dialect
    session = engine.session(database.examples_of("risk").keys)
    session.set_gradients(np.zeros(3, dtype=np.int64))
    session.sums([parse_clause(text, SCHEMA) for text in texts])
    connection = engine._connection
    assert isinstance(connection, Recorded)
    # Only the queries over loaded tables are compared, not the loading itself.
    made = [text for text in connection.texts if "_arrays" not in text]
    engine.close()
    assert len(made) == 3
    check(f"batch.{dialect.name}.sql", re.sub(r"hornbeam_[0-9a-f]{12}", "hornbeam", "\n\n".join(made)) + "\n")
