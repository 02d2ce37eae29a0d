"""An exported query computes the model's probabilities inside the database."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import product

import duckdb
import numpy as np
import pytest
import sqlglot
from sqlglot import exp

from hornbeam.cli import main
from hornbeam.data.build import build
from hornbeam.data.database import Database
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.export.constant_names import moment_named, number_named, spellings
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.errors import OptionError, SchemaError
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.parse_effect import parse_effect
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.effects import FittedEffect
from hornbeam.model.files import save_model
from sql_systems import SYSTEMS, opened

SCHEMA = Schema(
    {
        "advisedby": ("person", "person"),
        "publication": ("paper", "person"),
        "position": ("person", "rank"),
        "knows": ("person", "person"),
        "age": ("person", "years"),
        "joined": ("person", "day"),
    },
    {"years": "number", "day": "date"},
)
FACTS = {
    "publication": [["p1", "p1", "p2", "p2", "p3", "p4"], ["ann", "bob", "ann", "bob", "cat", "ann"]],
    "position": [["bob", "cat", "dan"], ["full'; --", "ass\\istant", "full'; --"]],
    "knows": [["ann", "bob", "cat", "dan", "ann"], ["bob", "cat", "dan", "ann", "ann"]],
    "age": [["ann", "bob", "cat", "dan"], ["35", "35.5", "-1", "351"]],
    "joined": [
        ["ann", "bob", "cat", "ann"],
        ["1998-03-01T12:30:00", "2001-12-31", "1969-07-20", "1998-03-02"],
    ],
}
KEYS = [("ann", "bob"), ("bob", "ann"), ("cat", "dan"), ("ann", "ann"), ("dan", "cat"), ("eve", "bob")]
CLAUSES = (
    "advisedby(A,B) :- publication(C,A), publication(C,B).",
    "advisedby(A,B) :- publication(C,A), not position(B,'full\\'; --').",
    "advisedby(A,B) :- knows(A,C), knows(C,D), knows(D,B).",
    "advisedby(A,B) :- knows(A,C), not position(C,D), knows(E,F).",
    "advisedby(A,B) :- position(B,'ass\\\\istant'), knows(C,D), knows(D,C).",
    "advisedby(A,B) :- knows(A,A), not knows(C,B).",
    "advisedby(A,B) :- knows(A,B).",
    "advisedby(A,B) :- age(A,C), C >= 35.5.",
    "advisedby(A,B) :- knows(A,C), age(C,D), D >= -1, D < 35.5, age(B,E), E >= 35.",
    "advisedby(A,B) :- knows(A,C), joined(C,D), D >= '1998-03-01T12:30:00', D < 2001-12-31.",
    "advisedby(A,B) :- not age(A,C), C < 36, not joined(B,D), D >= 1970-01-01.",
)
Table = tuple[Sequence[str], Sequence[tuple[str, ...]]]
"""Names of columns, and rows of text."""


def database() -> Database:
    return build(SCHEMA, (), FACTS, {"advisedby": (KEYS, [1, 0, 1, 0, 1, 0])})


def model(populations: str = "database") -> Model:
    clauses = []
    for number, text in enumerate(CLAUSES):
        clause = parse_clause(text, SCHEMA)
        total = counter_of(MemoryEngine(database())).total(clause) * (number + 1)
        weights = (0.1 * number - 0.2, 0.3 / (number + 1), -0.05 + 1e-7 * number)
        clauses.append(WeightedClause(clause, weights, total))
    # The same body again, as boosting often adds it.
    clauses.append(WeightedClause(clauses[0].clause, (0.25, -0.125, 1 / 3), clauses[0].total))
    return Model("advisedby", SCHEMA, -0.7, tuple(clauses), {"populations": populations})


def user_tables() -> dict[str, Table]:
    """Tables as users have them: under other names, with duplicates, and with NULLs that are not facts."""
    tables: dict[str, Table] = {}
    for predicate, columns in FACTS.items():
        rows = list(zip(*columns, strict=True))
        tables[predicate] = (("from", 'odd "name`'), [*rows, rows[0], (rows[0][0], None), (None, None)])
    tables["example keys"] = (("first key", "select"), KEYS)
    return tables


WHERE = {name: (["my " + name], columns) for name, (columns, _) in user_tables().items()}


def values(rows: Sequence[tuple[str, ...]], columns: Sequence[str]) -> exp.Select:
    """A query that returns rows of text."""
    tuples = [
        exp.Tuple(
            expressions=[
                exp.cast(exp.null() if value is None else exp.Literal.string(value), "TEXT") for value in row
            ]
        )
        for row in rows
    ]
    names = [exp.to_identifier(name, quoted=True) for name in columns]
    source = exp.Values(expressions=tuples, alias=exp.TableAlias(this=exp.to_identifier("v"), columns=names))
    return exp.select("*").from_(source)


def make_tables(dialect: str, execute: Callable[[str], object]) -> None:
    kind = "VIEW" if dialect == "spark" else "TABLE"
    for name, (columns, rows) in user_tables().items():
        table = exp.to_table("x")
        table.set("this", exp.to_identifier("my " + name, quoted=True))
        temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
        create = exp.Create(this=table, kind=kind, properties=temporary, expression=values(rows, columns))
        execute(create.sql(dialect))


def run_on(system: str, query: str) -> list[tuple[object, ...]]:
    """The rows of a query on a system with the user's tables."""
    with opened(system) as run:
        make_tables(system, run)
        return run(query)


systems = pytest.mark.parametrize("system", SYSTEMS)


@systems
@pytest.mark.parametrize("populations", ["database", "training"])
def test_the_query_gives_the_models_probabilities(system: str, populations: str) -> None:
    learned = model(populations)
    query = learned.sql(system, {name: WHERE[name] for name in FACTS}, WHERE["example keys"])
    rows = run_on(system, query)
    data = database()
    keys = data.encode_keys("advisedby", np.array(KEYS, dtype=object))
    engine = MemoryEngine(data)
    expected = dict(zip(KEYS, learned.probabilities(engine, keys).tolist(), strict=True))
    scores = dict(zip(KEYS, learned.scores(engine, keys).tolist(), strict=True))
    assert len(rows) == len(KEYS)
    for row in rows:
        key = (str(row[0]), str(row[1]))
        assert float(str(row[-1])) == pytest.approx(expected[key], abs=1e-9)
        assert float(str(row[-2])) == pytest.approx(scores[key], abs=1e-9)
    for position, counts in enumerate(learned.compact().counts(engine, keys)):
        true = {(str(row[0]), str(row[1])): row[2 + 2 * position] for row in rows}
        false = {(str(row[0]), str(row[1])): row[3 + 2 * position] for row in rows}
        for key, count in zip(KEYS, counts.true.tolist(), strict=True):
            assert int(str(true[key])) == count
            assert float(str(false[key])) == counts.total - count


@systems
@pytest.mark.parametrize("prior", [-1e6, 1e6])
def test_scores_past_what_exp_takes_give_0_and_1(system: str, prior: float) -> None:
    query = Model("advisedby", SCHEMA, prior, (), {}).sql(system, {}, WHERE["example keys"])
    probabilities = [float(str(row[-1])) for row in run_on(system, query)]
    assert probabilities == pytest.approx([float(prior > 0)] * len(KEYS), abs=1e-300)


@pytest.mark.parametrize(
    "dialect", ["bigquery", "clickhouse", "databricks", "mysql", "redshift", "snowflake", "tsql"]
)
def test_the_query_reads_back_in_other_dialects(dialect: str) -> None:
    query = model().sql(dialect, {name: WHERE[name] for name in FACTS}, WHERE["example keys"])
    (tree,) = sqlglot.parse(query, read=dialect)
    assert isinstance(tree, exp.Select)
    constants = {literal.this for literal in tree.find_all(exp.Literal) if literal.is_string}
    dates = {"1970-01-01 00:00:00", "1998-03-01 12:30:00", "2001-12-31 00:00:00"}
    if dialect == "databricks":
        # Moments there have a zone, so the query states it.
        dates = {f"{date}+00:00" for date in dates} | {"timestamp", "+00:00"}
    assert constants == {"full'; --", "ass\\istant"} | dates
    tables = {table.name for table in tree.find_all(exp.Table)}
    assert {"my " + name for name in user_tables()} <= tables


def test_a_name_of_a_table_cannot_hide_behind_a_name_of_ours() -> None:
    tables = {"knows": ("example_keys", ["a", "b"]), "position": ("FACTS_POSITION", ["a", "b"])}
    connection = duckdb.connect()
    connection.execute("CREATE TABLE example_keys AS SELECT 'ann' a, 'bob' b")
    connection.execute("CREATE TABLE facts_position AS SELECT 'ann' a, 'full' b")
    connection.execute("CREATE TABLE message_1 AS SELECT 'ann' x, 'bob' y")
    clauses = [
        WeightedClause(parse_clause(text, SCHEMA), (0.0, 1.0, 0.0), 1)
        for text in ("advisedby(A,B) :- knows(A,B), position(A,C).", "advisedby(A,B) :- knows(C,B).")
    ]
    query = Model("advisedby", SCHEMA, 0.0, tuple(clauses), {}).sql(
        "duckdb", tables, ("message_1", ["x", "y"])
    )
    (row,) = connection.execute(query).fetchall()
    assert row[:3] == ("ann", "bob", 1) and row[-2] == 2.0


def test_a_comment_cannot_end_early() -> None:
    clause = parse_clause("advisedby(A,B) :- position(A,'*/ DROP TABLE x; /*').", SCHEMA)
    query = Model("advisedby", SCHEMA, 0.0, (WeightedClause(clause, (0, 1, 0), 1),), {}).sql("duckdb")
    assert len(sqlglot.parse(query, read="duckdb")) == 1
    connection = duckdb.connect()
    for name in ("position", "examples"):
        connection.execute(f"CREATE TABLE {name} (arg1 TEXT, arg2 TEXT)")
    assert connection.execute(query).fetchall() == []


def test_an_unknown_dialect_is_refused_with_those_that_exist() -> None:
    with pytest.raises(OptionError, match=r'no dialect "postgress".*Did you mean "postgres"'):
        model().sql("postgress")


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ({"knows": ("knows", ["only_one"])}, '1 column for "knows", which takes 2 arguments'),
        ({"nobody": ("t", ["a"])}, 'no predicate "nobody"'),
        ({"knows": ("a..b", ["a", "b"])}, "is not the name of a table"),
    ],
)
def test_tables_that_do_not_fit_are_refused(tables: dict, sentence: str) -> None:
    with pytest.raises((SchemaError, OptionError), match=sentence):
        model().sql("duckdb", tables)


def test_the_texts_that_sqlite_may_hold_for_a_constant() -> None:
    assert spellings("true") == ["true", "1"] and spellings("false") == ["false", "0"]
    assert spellings("2024-12-31") == ["2024-12-31", "2024-12-31 00:00:00", "2024-12-31T00:00:00"]
    assert spellings("2024-12-31T10:00:00") == ["2024-12-31T10:00:00", "2024-12-31 10:00:00"]
    for name in ("Rome", "1", "2024-13-31", "2024-12-31 10:00"):
        assert spellings(name) == [name]
    assert (moment_named("7"), number_named("7.0"), number_named("7")) == (None, None, 7.0)


# --- the command -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "examples", "sentence"),
    [
        ({}, ("asked", ["one"]), "have 1 key column, but .* takes 2 arguments; name one column for each"),
        (
            {},
            ("asked", ["one", "other"], None, "upto"),
            "facts without times, so its examples have no cut-off",
        ),
        (
            {"times": "date"},
            ("asked", ["one", "other"], None, "upto"),
            "have a cut-off, but no table of facts has a time; name the time column",
        ),
    ],
)
def test_examples_that_do_not_fit_are_refused(options: dict, examples: tuple, sentence: str) -> None:
    timed = Model("advisedby", SCHEMA, 0.0, model().clauses, options)
    with pytest.raises((SchemaError, OptionError), match=sentence):
        timed.sql("duckdb", {}, examples)


@systems
def test_every_feature_of_counts_is_the_models(system: str) -> None:
    weighted = [
        WeightedClause(parse_clause(text, SCHEMA), (0.2, -0.7, 0.3), 7, feature)
        for text, feature in product(CLAUSES[:2], ("count", "log", "share", "at least 2"))
    ]
    learned = Model("advisedby", SCHEMA, 0.1, tuple(weighted))
    data = database()
    keys = data.encode_keys("advisedby", np.array(KEYS, dtype=object))
    expected = dict(zip(KEYS, learned.probabilities(MemoryEngine(data), keys).tolist(), strict=True))
    rows = run_on(system, learned.sql(system, {name: WHERE[name] for name in FACTS}, WHERE["example keys"]))
    found = {(str(row[0]), str(row[1])): float(str(row[-1])) for row in rows}
    assert found == {key: pytest.approx(value, abs=1e-9) for key, value in expected.items()}


@systems
@pytest.mark.parametrize("kind", ["sum", "mean", "spread", "min", "max", "last", "distinct"])
def test_links_that_do_not_depend_on_each_other_multiply(system: str, kind: str) -> None:
    feature = f"{kind} D [< 35.2: -0.5; < 36: 0.25; < 100: 0.7; else: 1]"
    text = f"{feature} : advisedby(A,B) :- knows(A,C), age(C,D), publication(E,B)."
    fitted = FittedEffect(parse_effect(text, SCHEMA))
    learned = Model("advisedby", SCHEMA, 0.1, (), effects=(fitted,))
    data = database()
    keys = data.encode_keys("advisedby", np.array(KEYS, dtype=object))
    expected = dict(zip(KEYS, learned.probabilities(MemoryEngine(data), keys).tolist(), strict=True))
    rows = run_on(system, learned.sql(system, {name: WHERE[name] for name in FACTS}, WHERE["example keys"]))
    found = {(str(row[0]), str(row[1])): float(str(row[-1])) for row in rows}
    assert found == {key: pytest.approx(value, abs=1e-9) for key, value in expected.items()}


def test_the_command_prints_the_same_query(tmp_path, capsys) -> None:
    file, mapping = tmp_path / "m.json", tmp_path / "tables.json"
    save_model(model(), file)
    tables = {name: {"table": WHERE[name][0], "columns": WHERE[name][1]} for name in FACTS}
    mapping.write_text(json.dumps(tables))
    options = ["--dialect", "postgres", "--tables", str(mapping), "--examples", "people"]
    with pytest.raises(SystemExit) as stopped:
        main(["sql", "--model", str(file), *options, "--key", "a", "--key", "b"])
    assert stopped.value.code == 0
    expected = model().sql("postgres", {name: WHERE[name] for name in FACTS}, ("people", ["a", "b"]))
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize("text", ["[]", "{", '{"knows": 3}', '{"knows": {"table": "t", "columns": [1, 2]}}'])
def test_a_wrong_file_of_tables_is_one_sentence(text: str, tmp_path, capsys) -> None:
    file, mapping = tmp_path / "m.json", tmp_path / "tables.json"
    save_model(model(), file)
    mapping.write_text(text)
    with pytest.raises(SystemExit) as stopped:
        main(["sql", "--model", str(file), "--tables", str(mapping)])
    assert stopped.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
