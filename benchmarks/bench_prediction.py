"""The time of one prediction: a row at a time, alone and from four threads, and all rows at once.

    python benchmarks/bench_prediction.py [--report]

The world has 20,000 users, 3,000 films and a million ratings; the model is learned from 4,000 users. The
first row also builds the indexes. Beside it, scikit-learn's logistic regression on two columns.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import hornbeam as hb
import measure
from measure import say, table

USERS, FILMS, RATINGS, LEARNED = 20_000, 3_000, 1_000_000, 4_000
ROWS = 400
AT_ONCE = 4
AT_MOST = 0.02
"""Seconds that one row may take."""


def tables(random: np.random.Generator) -> dict[str, pd.DataFrame]:
    """Users, films and ratings; women rate films of one genre more often."""
    users = pd.DataFrame({"user_id": np.arange(USERS), "age": random.integers(18, 80, USERS)})
    users["job"] = random.choice(["clerk", "nurse", "cook"], USERS)
    films = pd.DataFrame({"film_id": np.arange(FILMS), "year": random.integers(1950, 2000, FILMS)})
    films["genre"] = random.choice(["drama", "comedy", "western", "horror"], FILMS)
    ratings = pd.DataFrame(
        {"user_id": random.integers(0, USERS, RATINGS), "film_id": random.integers(0, FILMS, RATINGS)}
    ).drop_duplicates()
    ratings["stars"] = random.integers(1, 6, len(ratings))
    dramas = ratings.merge(films, on="film_id").query("genre == 'drama'").groupby("user_id").size()
    number = dramas.reindex(range(USERS)).fillna(0).to_numpy()
    chances = 1 / (1 + np.exp(-(number - number.mean()) / 2))
    users["gender"] = np.where(random.random(USERS) < chances, "F", "M")
    return {"users": users, "films": films, "ratings": ratings}


def times_of(predict: Callable[[int], Any], rows: range, at_once: int = 1) -> list[float]:
    """The wall seconds of each prediction."""

    def one(row: int) -> float:
        start = time.perf_counter()
        predict(row)
        return time.perf_counter() - start

    with ThreadPoolExecutor(at_once) as executor:
        return list(executor.map(one, rows))


def measured() -> dict[str, Any]:
    """The times of all ways to predict, in seconds."""
    data = tables(np.random.default_rng(0))
    database = hb.load(data, target="users.gender=F")
    X, y = database.examples()
    order = np.random.default_rng(1).permutation(len(X))
    X, y = np.asarray(X)[order], np.asarray(y)[order]
    model = hb.RLRClassifier(database=database).fit(X[:LEARNED], y[:LEARNED])
    first = times_of(lambda row: model.predict_proba(X[[row]]), range(1))[0]
    rows = range(LEARNED, LEARNED + ROWS)
    alone = times_of(lambda row: model.predict_proba(X[[row]]), rows)
    busy = times_of(lambda row: model.predict_proba(X[[row]]), rows, AT_ONCE)
    start = time.perf_counter()
    model.predict_proba(X)
    everything = time.perf_counter() - start
    columns = np.random.default_rng(1).random((USERS, 2))
    plain = LogisticRegression().fit(columns[:LEARNED], y[:LEARNED])
    simple = times_of(lambda row: plain.predict_proba(columns[[row]]), rows)
    return {
        "first": first,
        "alone": [float(np.quantile(alone, share)) for share in (0.5, 0.99)],
        "busy": [float(np.quantile(busy, share)) for share in (0.5, 0.99)],
        "all": everything,
        "logistic regression": [float(np.quantile(simple, share)) for share in (0.5, 0.99)],
        "effects": len(model.model_.effects) + len(model.model_.clauses),
    }


def report(results: Mapping[str, Any]) -> str:
    found = results["times"]

    def cells(name: str) -> list[str]:
        return [f"{seconds * 1e3:.2g} ms" for seconds in found[name]]

    met = "met" if found["alone"][0] < AT_MOST else "**missed**"
    rows = [
        ["one row, alone", *cells("alone"), f"< {AT_MOST * 1e3:.0f} ms, {met}"],
        [f"one row, {AT_ONCE} threads", *cells("busy"), ""],
        ["one row, scikit-learn's logistic regression on two columns", *cells("logistic regression"), ""],
    ]
    said = (
        f"The model has {found['effects']} parts. The first row takes {found['first']:.2f} s; all "
        f"{USERS:,} rows together take {found['all']:.2f} s."
    )
    head = measure.machine_line(results["machine"])
    return f"{head}\n\n{table(['', 'median', '99th percentile', 'wanted'], rows)}\n\n{said}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--report", action="store_true", help="only write the table")
    arguments = parser.parse_args()
    results = measure.load("prediction")
    if not arguments.report:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", hb.HornbeamWarning)
            times = measured()
        say(str(times))
        machine = measure.machine(["hornbeam", "numpy", "scikit-learn"])
        results = {"machine": machine, "times": times}
        measure.save("prediction", results)
    measure.write_section("prediction", report(results))


if __name__ == "__main__":
    main()
