"""Facts, and the same as tables: exactly the same counts for every clause."""

import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hornbeam as hb
from folders import facts_of, write
from hornbeam.data.database import Database
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.logic.clauses import Clause
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.refine import Language, refinements
from public_data import DATA, needs


def generated(folder: Path) -> Path:
    """Users who rate movies; some movies lack a year or a genre, some have several genres."""
    draw = np.random.default_rng(5)
    users, movies = [f"u{n}" for n in range(40)], [f"m{n}" for n in range(25)]
    facts = [f"age({user},a{draw.integers(5)})." for user in users]
    facts += [f"occupation({user},{draw.choice(['nurse', 'clerk', 'smith'])})." for user in users]
    facts += [f"year({movie},{1980 + draw.integers(9)})." for movie in movies[1:]]
    genres = ["drama", "comedy", "war"]
    facts += [f"genre({movie},{genre})." for movie in movies for genre in genres if draw.random() < 0.4]
    facts += [f"rated({user},{movie})." for user in users for movie in movies if draw.random() < 0.2]
    female = [bool(draw.random() < 0.4) for _ in users]
    examples = [f"female({user})." for user in users]
    return write(
        folder,
        {
            "facts.txt": "\n".join(facts),
            "pos.txt": "\n".join(text for text, label in zip(examples, female, strict=True) if label),
            "neg.txt": "\n".join(text for text, label in zip(examples, female, strict=True) if not label),
        },
    )


def exported(database: Database) -> dict[str, pl.DataFrame]:
    """The facts as four tables with keys."""
    facts: dict[str, list[tuple[str, ...]]] = {}
    for atom in sorted(facts_of(database), key=str):
        facts.setdefault(atom.predicate, []).append(tuple(map(str, atom.args)))
    keys, labels = database.examples("female")
    movies = sorted(database.population(database.schema.types_of("rated")[1]).names)
    age, occupation, year = (dict(facts[name]) for name in ("age", "occupation", "year"))
    users = keys[:, 0].tolist()
    return {
        "users": pl.DataFrame(
            {
                "user_id": users,
                "age": [age.get(user) for user in users],
                "occupation": [occupation.get(user) for user in users],
                "female": [bool(label) for label in labels],
            }
        ),
        "movies": pl.DataFrame({"movie_id": movies, "year": [year.get(movie) for movie in movies]}),
        "genres": pl.DataFrame(facts["genre"], schema=["movie_id", "genre"], orient="row"),
        "rated": pl.DataFrame(facts["rated"], schema=["user_id", "movie_id"], orient="row"),
    }


def clauses_of(database: Database, number: int) -> list[Clause]:
    """Every clause of one literal, and some of up to three, each made of one of those before."""
    language = Language(parse_clause("female(A).").head, database.schema, database.modes, database.constants)
    draw = random.Random(0)
    level = list(refinements(parse_clause("female(A)."), language))
    found = list(level)
    for _ in range(2):
        longer = [
            clause
            for body in draw.sample(level, min(8, len(level)))
            for clause in refinements(body, language)
        ]
        level = draw.sample(longer, min(number, len(longer)))
        found += level
    return found


def counts_by_user(database: Database, clauses: list[Clause]) -> dict[str, list[tuple[int, int]]]:
    keys = database.examples_of("female").keys
    counts = counter_of(MemoryEngine(database)).count(
        [parse_clause(str(clause), database.schema) for clause in clauses], keys
    )
    names = database.names_of("female", keys)[:, 0].tolist()
    return {
        name: [(int(each.true[place]), each.total - int(each.true[place])) for each in counts]
        for place, name in enumerate(names)
    }


@pytest.mark.parametrize(
    "folder",
    ["generated", pytest.param("movielens_paper", marks=needs("movielens_paper"))],
    ids=["generated", "movielens_paper"],
)
def test_tables_made_of_facts_give_the_counts_of_the_facts(folder, tmp_path):
    source = generated(tmp_path) if folder == "generated" else DATA / folder
    facts = hb.load(source)
    tables = hb.load(exported(facts), target="users.female")
    assert facts_of(tables) == facts_of(facts)
    labels = {key: int(label) for (key,), label in zip(*facts.examples("female"), strict=True)}
    assert {key: int(label) for (key,), label in zip(*tables.examples("female"), strict=True)} == labels
    clauses = clauses_of(facts, 150)
    assert len(clauses) > 200
    assert counts_by_user(tables, clauses) == counts_by_user(facts, clauses)
