"""The raw files of MovieLens 100K: few lines of schema, or of Python, and one command to a model."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.model_selection import StratifiedKFold

import hornbeam as hb
from folders import facts_of
from hornbeam.model.evaluate import evaluate
from public_data import DATA, needs

MOVIELENS = DATA / "movielens_100k"
SCHEMA = Path(__file__).parents[2] / "benchmarks" / "movielens_100k.toml"
TARGET = "users.gender=F"
GENRES = [
    *("unknown", "action", "adventure", "animation", "children", "comedy", "crime", "documentary", "drama"),
    *("fantasy", "noir", "horror", "musical", "mystery", "romance", "scifi", "thriller", "war", "western"),
]
pytestmark = needs("movielens_100k")


@pytest.fixture(scope="module")
def database():
    return hb.load(MOVIELENS, schema=SCHEMA, target=TARGET)


def test_the_raw_files_need_few_lines(database):
    assert len(SCHEMA.read_text().splitlines()) <= 25
    sizes = {name: len(relation) for name, relation in database.relations.items()}
    assert (sizes["ratings"], sizes["stars"], sizes["age"], sizes["occupation"]) == (
        100_000,
        100_000,
        943,
        943,
    )
    assert {name: len(database.population(name)) for name in ("users", "movies")} == {
        "users": 943,
        "movies": 1682,
    }
    assert set(GENRES) <= set(sizes)
    assert "gender" not in sizes
    _, labels = database.examples()
    assert (int(labels.sum()), len(labels)) == (273, 943)


def test_five_lines_on_frames_are_the_same_facts(database):
    def read(name, separator, columns, encoding="utf8"):
        file = MOVIELENS / name
        return pl.read_csv(
            file, separator=separator, has_header=False, new_columns=columns, encoding=encoding
        )

    users = read("u.user", "|", ["user_id", "age", "gender", "occupation", "zip"])
    movies = read("u.item", "|", ["movie_id", "title", "released", "video", "url", *GENRES], "iso-8859-1")
    ratings = read("u.data", "\t", ["user_id", "movie_id", "stars", "at"])
    movies = movies.with_columns(pl.col("released").str.to_date("%d-%b-%Y"))
    frames = hb.load({"users": users, "movies": movies, "ratings": ratings}, target=TARGET)
    assert facts_of(frames) == facts_of(database)
    assert set(frames.modes) == set(database.modes)


def test_one_command_learns_a_model(tmp_path, run):
    model = tmp_path / "gender.json"
    words = ["fit", MOVIELENS, "--schema", SCHEMA, "--target", TARGET, "--steps", "2", "--max-literals", "2"]
    assert run(*words, "--model", model).status == 0
    status, out, _ = run("evaluate", MOVIELENS, "--schema", SCHEMA, "--model", model)
    assert status == 0
    assert out.startswith("auc_roc      0.")


def test_gender_over_seeded_five_folds(database):
    """The default predicts better yet, and takes longer: see benchmarks/quality.py."""
    X, y = database.examples()
    scores = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        fitted = hb.RLRClassifier(database=database, max_literals=2, l2=10.0, validate=False).fit(
            X[train], y[train]
        )
        scores.append(evaluate(y[test], fitted.predict_proba(X[test])[:, 1]).auc_roc)
    assert np.mean(scores) >= 0.75
