"""Clauses with a weight for each constant as a query: one join with a table of weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import duckdb
import numpy as np
import pytest
import sqlglot
from sqlglot import exp

from hornbeam.data.build import build
from hornbeam.data.numbers import BEFORE
from hornbeam.engines.export.clauses import is_listed
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.errors import ModelError, OptionError
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import DATE, NUMBER, Schema
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.features import COUNT, LOG, at_least
from hornbeam.model.files import model_text, parse_model
from sql_systems import SYSTEMS, opened

SCHEMA = Schema(
    {
        "likes": ("person", "person"),
        "rated": ("person", "film"),
        "genre": ("film", "kind"),
        "knows": ("person", "person"),
        "stars": ("film", "number"),
    },
    {"number": "number"},
)
HOSTILE = ["x'; DROP TABLE rated; --", "*/ /* ' \" `", "back\\slash\\", "ü €", "NULL", "-1", "{{x}} %s :y ?"]
FILMS = ["alien", "brazil", *HOSTILE]
RATED = [
    (person, film, 1 + (2 * at + 3 * number) % 7)
    for number, person in enumerate(("ann", "bob", "cat", "dan"))
    for at, film in enumerate(FILMS)
    if (at + number) % 3 or person == "ann"
]
GENRE = [(film, f"k{at % 3}", 1 + at % 5) for at, film in enumerate(FILMS)]
KNOWS = [("ann", "bob", 2), ("bob", "cat", 3), ("cat", "ann", 4), ("ann", "cat", 1), ("dan", "dan", 6)]
STARS = [(film, str(at), 1 + at % 2) for at, film in enumerate(FILMS)]
FACTS = {"rated": RATED, "genre": GENRE, "knows": KNOWS, "stars": STARS}
KEYS = [("ann", "bob"), ("bob", "ann"), ("cat", "dan"), ("dan", "dan"), ("eve", "ann"), ("ann", "ann")]
CUTOFFS = [3, 5, 0, 9, 4, 6]
KINDS = ("k0", "k1", "k2", "nowhere")
PEOPLE = ("ann", "bob", "cat", "dan", "nobody")
Entry = tuple[str, int, Sequence[str], str]
JOINS: Sequence[Entry] = [
    ("likes(A,B) :- rated(A,C).", 2, FILMS, LOG),
    ("likes(A,B) :- rated(A,C), genre(C,D).", 3, KINDS, LOG),
    ("likes(A,B) :- rated(A,C), genre(C,D).", 3, KINDS, at_least(2)),
    ("likes(A,B) :- rated(B,C), genre(C,D), rated(E,C).", 3, KINDS, COUNT),
    ("likes(A,B) :- rated(A,C), rated(B,C).", 2, FILMS, COUNT),
    ("likes(A,B) :- knows(A,C), knows(C,D), knows(D,B).", 2, PEOPLE, COUNT),
    ("likes(A,B) :- genre(D,k1), rated(A,D), knows(A,B).", 2, FILMS, LOG),
    ("likes(A,B) :- rated(A,C), stars(C,D), D >= 2, D < 6.5.", 2, FILMS, COUNT),
    ("likes(A,B) :- knows(C,C), knows(B,C).", 2, PEOPLE, COUNT),
    ("likes(A,B) :- knows(A,C), genre(D,E).", 4, KINDS, COUNT),
    ("likes(A,B) :- genre(C,D).", 3, KINDS, COUNT),
]
"""Clauses, the variable whose constants have weights, some of these weights, and the feature."""
APART: Sequence[Entry] = [
    ("likes(A,B) :- rated(A,C), not genre(C,D).", 2, FILMS[:4], LOG),
    ("likes(A,B) :- not rated(B,C).", 2, FILMS[1:3], COUNT),
]
"""The same for clauses with negated literals that have a variable of their own."""


def weighted(entry: Entry, number: int) -> WeightedClause:
    text, each, names, reading = entry
    constants = tuple(
        (name, (-1) ** place * (0.3 / (place + 1) + 1e-7 * number)) for place, name in enumerate(names)
    )
    return WeightedClause(parse_clause(text, SCHEMA), (0.0, 1.0, 0.0), 1, reading, each, constants)


def model(times: str | None = None, entries: Sequence[Entry] = (*JOINS, *APART)) -> Model:
    """Clauses with one weight vector stand before, between and after those with many weights."""
    plain = [
        WeightedClause(parse_clause(text, SCHEMA), (0.1, 0.3, -0.02), 40, LOG)
        for text in ("likes(A,B) :- knows(A,B).", "likes(A,B) :- rated(A,C), not rated(B,C).")
    ]
    many = [weighted(entry, number) for number, entry in enumerate(entries)]
    clauses = (plain[0], *many[:3], plain[1], *many[3:], many[0])
    settings = {} if times is None else {"times": times, "at_cutoff": BEFORE}
    return Model("likes", SCHEMA, -0.4, clauses, settings)


def expected(learned: Model, cutoffs: bool) -> dict[tuple[object, ...], float]:
    columns = {
        name: [list(column) for column in zip(*(row[:-1] for row in rows), strict=True)]
        for name, rows in FACTS.items()
    }
    times = {name: [float(row[-1]) for row in rows] for name, rows in FACTS.items()}
    given = {"times": times, "cutoffs": {"likes": [float(each) for each in CUTOFFS]}} if cutoffs else {}
    database = build(SCHEMA, (), columns, {"likes": (KEYS, [0] * len(KEYS))}, **given)
    keys = database.examples_of("likes").keys
    names = [tuple(row) for row in database.names_of("likes", keys).tolist()]
    return dict(zip(names, learned.probabilities(MemoryEngine(database), keys).tolist(), strict=True))


def make_tables(system: str, execute: Callable[[str], object]) -> None:
    """Facts, some of them twice, rows with NULL, and examples."""
    tables = {name: [*rows, rows[0], (rows[0][0], None, 1)] for name, rows in FACTS.items()}
    tables["examples"] = [(*key, cutoff) for key, cutoff in zip(KEYS, CUTOFFS, strict=True)]
    kind = "VIEW" if system == "spark" else "TABLE"
    for name, rows in tables.items():
        parts = [
            exp.select(
                *(
                    exp.cast(exp.null() if value is None else exp.Literal.string(value), "TEXT").as_(column)
                    for value, column in zip(row[:2], ("arg1", "arg2"), strict=True)
                ),
                exp.Literal.number(row[2]).as_("day"),
            )
            for row in rows
        ]
        temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
        query = exp.union(*parts, distinct=False)
        create = exp.Create(this=exp.to_table(name), kind=kind, properties=temporary, expression=query)
        execute(create.sql(system))


CASES = [(system, cutoffs) for system in SYSTEMS for cutoffs in (False, True) if system != "spark" or cutoffs]


@pytest.mark.parametrize(("system", "cutoffs"), [*CASES, ("sqlite", False)])
def test_the_query_gives_the_models_probabilities(system: str, cutoffs: bool) -> None:
    # Spark is slow for every join of a query.
    some = JOINS[1:4] if system == "spark" else [*JOINS, *APART]
    learned = model(NUMBER if cutoffs else None, some)
    tables = {name: (name, ["arg1", "arg2"], None, "day") for name in FACTS} if cutoffs else {}
    examples = ("examples", ["arg1", "arg2"], None, "day") if cutoffs else None
    with opened(system) as run:
        make_tables(system, run)
        rows = run(learned.sql(system, tables, examples))
    found = {(str(row[0]), str(row[1])): float(str(row[-1])) for row in rows}
    right = expected(learned, cutoffs)
    assert len(rows) == len(KEYS)
    assert found == {key: pytest.approx(chance, abs=1e-9) for key, chance in right.items()}
    assert len(set(right.values())) >= len(KEYS) - 1


def test_a_clause_whose_variables_are_listed_has_one_column_however_many_constants() -> None:
    assert [is_listed(parse_clause(entry[0], SCHEMA), SCHEMA) for entry in JOINS] == [True] * len(JOINS)
    assert [is_listed(parse_clause(entry[0], SCHEMA), SCHEMA) for entry in APART] == [False] * len(APART)
    clauses = tuple(weighted(entry, number) for number, entry in enumerate(JOINS))
    with opened("duckdb") as run:
        make_tables("duckdb", run)
        described = run("DESCRIBE " + Model("likes", SCHEMA, 0.0, clauses, {}).sql("duckdb"))
    sums = [f"sum_{number + 1}" for number in range(len(JOINS))]
    assert [row[0] for row in described] == ["arg1", "arg2", *sums, "score", "probability"]
    assert {row[1] for row in described[2:]} == {"DOUBLE"}


def test_without_facts_the_prior_is_left_and_without_examples_nothing() -> None:
    learned = Model("likes", SCHEMA, 0.7, tuple(weighted(entry, 0) for entry in JOINS), {})
    with duckdb.connect() as connection:
        for name in (*FACTS, "examples"):
            connection.execute(f"CREATE TABLE {name} (arg1 TEXT, arg2 TEXT)")
        assert connection.execute(learned.sql("duckdb")).fetchall() == []
        connection.execute("INSERT INTO examples VALUES ('ann', 'bob'), ('ann', NULL)")
        rows = connection.execute(learned.sql("duckdb")).fetchall()
    assert [row[-2] for row in rows] == [0.7, 0.7]


def test_no_constants_with_weights_say_nothing() -> None:
    clause = WeightedClause(parse_clause("likes(A,B) :- rated(A,C).", SCHEMA), (0.0, 1.0, 0.0), 1, LOG, 2)
    with opened("duckdb") as run:
        make_tables("duckdb", run)
        rows = run(Model("likes", SCHEMA, 0.7, (clause,), {}).sql("duckdb"))
    assert [row[-2] for row in rows] == [0.7] * len(KEYS)


@pytest.mark.parametrize(
    "dialect", ["bigquery", "clickhouse", "databricks", "mysql", "redshift", "snowflake", "trino", "tsql"]
)
def test_the_query_reads_back_in_other_dialects(dialect: str) -> None:
    """Every name is one literal of the query, whatever characters it has, and no more than that."""
    query = Model("likes", SCHEMA, 0.0, (weighted(JOINS[0], 0),), {}).sql(dialect)
    (tree,) = sqlglot.parse(query, read=dialect)
    assert isinstance(tree, exp.Select)
    literals = [literal.this for literal in tree.find_all(exp.Literal) if literal.is_string]
    # Numbers are compared as numbers. The other texts are ours: patterns, and the beginning of keys.
    ours = ("0_%", "0.%", "number ")
    assert sorted(text for text in literals if text not in ours) == sorted(set(FILMS) - {"-1"})


def test_names_that_are_not_the_text_of_a_value_match_nothing() -> None:
    """Whole numbers in a column of integers: 07 is another constant than 7."""
    clause = WeightedClause(
        parse_clause("likes(A,B) :- rated(A,C).", SCHEMA),
        (0.0, 1.0, 0.0),
        1,
        LOG,
        2,
        (("7", 1.5), ("07", 9.0)),
    )
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE rated AS SELECT 1 AS arg1, 7 AS arg2")
        connection.execute("CREATE TABLE examples AS SELECT 1 AS arg1, 2 AS arg2")
        (row,) = connection.execute(Model("likes", SCHEMA, 0.0, (clause,), {}).sql("duckdb")).fetchall()
    assert row[-2] == pytest.approx(1.5 * np.log(2), abs=1e-12)


def test_sqlite_is_refused_what_it_cannot_compare() -> None:
    tables = {name: (name, ["arg1", "arg2"], None, "day") for name in FACTS}
    with pytest.raises(OptionError, match="SQLite has no type for times"):
        model(NUMBER).sql("sqlite", tables, ("examples", ["arg1", "arg2"], None, "day"))
    schema = Schema({"old": ("person",), "born": ("person", "day")}, {"day": DATE})
    clause = parse_clause("old(A) :- born(A,B), B < 1970-01-01.", schema)
    dated = Model("old", schema, 0.0, (WeightedClause(clause, (0.0, 1.0, 0.0), 1),), {})
    with pytest.raises(OptionError, match="SQLite has no type for times"):
        dated.sql("sqlite")


def test_what_is_compared_has_no_weights_for_its_constants() -> None:
    text = model_text(Model("likes", SCHEMA, 0.0, (weighted(JOINS[7], 0),), {}))
    assert parse_model(text).clauses[0].each == 2
    with pytest.raises(ModelError, match='"each" of clause 1 must be the number of a free variable that'):
        parse_model(text.replace('"each": 2', '"each": 3'))
