"""How well numbers are predicted: positions of drivers, ages of users, mean stars of films, a made shop.

    python benchmarks/quality_regression.py [--only NAME ...] [--baselines] [--report]

Formula 1 is driver-position of rel-f1: learned on train, scored on val, all facts before each cut-off;
the figures of 50 columns made by hand are those of one run on the same tables. The other tasks have five
folds, drawn once with seed 0, and their predictions are pooled. Ridge regression (its penalty chosen by
cross-validation) and boosted trees of scikit-learn have columns made by hand for each task. In the shop
the truth is known: the best R2 is that of the sum without noise. Options are the default ones. With
--baselines, only the rows of RDN-Boost and AGG-LR are computed again. Results go to results/regression.json
after each task.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import measure
from hornbeam.data.database import Database
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.in_place.load import load
from hornbeam.learning.learners import learn
from hornbeam.learning.options import AggOptions, EffectOptions, Options, RDNOptions
from hornbeam.model.clause_model import Model
from hornbeam.model.evaluate import evaluate_numbers
from hornbeam.model.files import LearnedModel, constant_of, predictions_of
from measure import DATA, say, table

FORMULA_1, MOVIELENS = DATA / "f1", DATA / "movielens_100k"
SCHEMA = Path(__file__).with_name("movielens_100k.toml")
LOSSES = ("squared", "absolute")
BASELINES: Mapping[str, Options] = {"RDN-Boost": RDNOptions(), "AGG-LR": AggOptions()}
F1_BY_HAND = {"ridge": {"mae": 2.863, "r2": 0.361}, "boosted trees": {"mae": 2.702, "r2": 0.434}}
LEAST_RATINGS = 20
"""Films with fewer ratings have no mean worth learning."""
GENRES = 19
NOISE = 1.0

Floats = npt.NDArray[np.float64]
Scores = dict[str, dict[str, float]]


class Task(NamedTuple):
    """A database with examples, columns made by hand in the order of the examples, and the best R2."""

    database: Database
    columns: pd.DataFrame
    best: float | None = None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--baselines", action="store_true", help="only RDN-Boost and AGG-LR")
    parser.add_argument("--report", action="store_true", help="only write the table")
    arguments = parser.parse_args()
    results = measure.load("regression")
    results["machine"] = measure.machine(["hornbeam", "numpy", "scikit-learn"])
    scores: dict[str, Any] = results.setdefault("scores", {})
    for name in () if arguments.report else arguments.only:
        if arguments.baselines:
            WAYS.clear()
            WAYS.update(BASELINES)
            RIVALS.clear()
        kept = scores.get(name, {}) if arguments.baselines else {}
        scores[name] = {**kept, **TASKS[name]()}
        say(f"{name}: {scores[name]}")
        measure.save("regression", results)
        measure.write_section("regression", report(results))
    measure.write_section("regression", report(results))


# --- Formula 1 -----------------------------------------------------------------------------------


def driver_position() -> Scores:
    """Learned on the training table, scored on the validation table."""
    train, val = (
        load(
            FORMULA_1,
            examples=FORMULA_1 / "labels" / f"driver-position_{part}.csv",
            target="position(drivers)",
        )
        for part in ("train", "val")
    )
    asked = val.examples_of(val.target_named(None))
    scores: Scores = {"columns by hand, " + name: each for name, each in F1_BY_HAND.items()}
    for row, options in WAYS.items():
        start = time.process_time()
        model = learn(options.learner, MemoryEngine(train), train.examples_of("position"), options).model
        cpu = time.process_time() - start
        predicted = predictions_of(model, MemoryEngine(val), asked.keys)
        scores[row] = _scores(asked.values, predicted, constant_of(model))
        scores[row] |= {"cpu": round(cpu, 1), **_size(model)}
    return scores


def _size(model: LearnedModel) -> dict[str, float]:
    return {"effects": len(model.effects)} if isinstance(model, Model) else {}


# --- tasks with folds ----------------------------------------------------------------------------


def _folded(task: Task) -> Scores:
    """The pooled scores of five folds, for each loss and each rival."""
    examples = task.database.examples_of(task.database.target_named(None)).labelled()
    values = examples.values
    assert values is not None
    predicted: dict[str, Floats] = {}
    costs: dict[str, dict[str, float]] = {}
    folds = list(KFold(5, shuffle=True, random_state=0).split(values))
    constant = np.empty(len(values))
    engine = MemoryEngine(task.database)
    for train, test in folds:
        constant[test] = values[train].mean()
        for row, options in WAYS.items():
            start = time.process_time()
            model = learn(options.learner, engine, examples.at(train), options).model
            for name, cost in {"cpu": time.process_time() - start, **_size(model)}.items():
                own_costs = costs.setdefault(row, {})
                own_costs[name] = own_costs.get(name, 0.0) + cost / len(folds)
            own = predicted.setdefault(row, np.empty(len(values)))
            own[test] = predictions_of(model, engine, examples.keys[test])
        for name, make in RIVALS.items():
            row = f"columns by hand, {name}"
            columns = task.columns.to_numpy(dtype=np.float64)
            start = time.process_time()
            fitted = make().fit(columns[train], values[train])
            cost = costs.setdefault(row, {"cpu": 0.0})
            cost["cpu"] += (time.process_time() - start) / len(folds)
            predicted.setdefault(row, np.empty(len(values)))[test] = fitted.predict(columns[test])
    scores: Scores = {"a constant": _scores(values, constant)}
    for row, own in predicted.items():
        scores[row] = _scores(values, own) | {name: round(each, 1) for name, each in costs[row].items()}
    if task.best is not None:
        scores["the truth"] = {"r2": round(task.best, 4)}
    return scores


WAYS: dict[str, Options] = {**{f"hornbeam, {loss}": EffectOptions(loss=loss) for loss in LOSSES}, **BASELINES}
RIVALS: dict[str, Callable[[], Any]] = {
    "ridge": lambda: make_pipeline(StandardScaler(), RidgeCV(np.logspace(-1, 4, 16))),
    "boosted trees": lambda: HistGradientBoostingRegressor(
        learning_rate=0.05, max_leaf_nodes=7, early_stopping=True, random_state=0
    ),
}


def _scores(values: Floats | None, predicted: Floats, constant: float | None = None) -> dict[str, float]:
    assert values is not None
    scores = evaluate_numbers(values, predicted, constant)
    return {"mae": round(scores.mae, 4), "r2": round(scores.r2, 4), "n": scores.n}


def _frames() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    users = pd.read_csv(
        MOVIELENS / "u.user", sep="|", names=["user", "age", "gender", "occupation", "zip"], index_col="user"
    )
    movies = pd.read_csv(MOVIELENS / "u.item", sep="|", encoding="latin-1", header=None, index_col=0)
    ratings = pd.read_csv(MOVIELENS / "u.data", sep="\t", names=["user", "movie", "stars", "at"])
    return users, movies, ratings


def user_age() -> Scores:
    """The age of users of MovieLens 100K, from what they rated."""
    users, movies, ratings = _frames()
    genres = movies.iloc[:, -GENRES:].set_axis([f"g{n}" for n in range(GENRES)], axis=1)
    year = pd.to_numeric(movies[2].str[-4:]).rename("year")
    rated = ratings.join(genres, on="movie").join(year, on="movie")
    by = rated.groupby("user")
    numbers = np.log1p(by[list(genres.columns)].sum()).add_suffix("_n")
    columns = by[list(genres.columns)].mean().join(numbers)
    columns["stars"], columns["n"], columns["year"] = by.stars.mean(), np.log1p(by.size()), by.year.mean()
    for genre in genres.columns:
        columns[f"{genre}_stars"] = rated[rated[genre] == 1].groupby("user").stars.mean()
    columns = columns.join(pd.get_dummies(users[["gender", "occupation"]])).fillna(columns.mean())
    database = load(MOVIELENS, schema=SCHEMA, target="users.age")
    return _folded(Task(database, _in_order(columns, database)))


def film_stars() -> Scores:
    """The mean stars of films with 20 ratings or more, from who rated them; stars are not in the facts."""
    users, movies, ratings = _frames()
    by = ratings.groupby("movie")
    means = by.stars.mean()[by.size() >= LEAST_RATINGS]
    columns = movies.iloc[:, -GENRES:].set_axis([f"g{n}" for n in range(GENRES)], axis=1)
    columns["year"] = pd.to_numeric(movies[2].str[-4:])
    raters = ratings.join(pd.get_dummies(users[["gender", "occupation"]]).join(users.age), on="user")
    raters["active"] = np.log1p(raters.groupby("user").movie.transform("size"))
    shares = raters.drop(columns=["user", "stars", "at"]).groupby("movie").mean()
    columns = columns.join(shares).assign(n=np.log1p(by.size()))
    columns = columns.fillna(columns.mean())
    examples = pd.DataFrame({"movie_id": means.index, "label": means.to_numpy()})
    with TemporaryDirectory() as folder:
        schema = Path(folder) / "schema.toml"
        schema.write_text(SCHEMA.read_text(encoding="utf-8") + 'unused = ["stars", "at"]\n', encoding="utf-8")
        database = load(MOVIELENS, schema=schema, target="score(movies)", examples=examples)
    return _folded(Task(database, _in_order(columns, database)))


def _in_order(columns: pd.DataFrame, database: Database) -> pd.DataFrame:
    """The rows of the examples, in their order."""
    names, _ = database.examples()
    return columns.loc[names[:, 0].astype(int)]


def shop() -> Scores:
    """A made shop: spending is a sum of a category, a number of orders that saturates, and mean prices."""
    generator = np.random.default_rng(7)
    size, n_products = 1500, 60
    products = pd.DataFrame(
        {
            "product": [f"p{n}" for n in range(n_products)],
            "kind": generator.choice(["book", "toy", "tool", "food"], n_products),
            "price": generator.uniform(1, 30, n_products).round(2),
        }
    )
    number = generator.poisson(5, size)
    customers = pd.DataFrame(
        {"customer": [f"c{n}" for n in range(size)], "city": generator.choice(["Ulm", "Bonn", "Kiel"], size)}
    )
    orders = pd.DataFrame({"customer": np.repeat(customers.customer.to_numpy(), number)})
    orders["product"] = generator.choice(products["product"], len(orders))
    full = orders.merge(products, on="product")
    by = full.groupby("customer")
    known = customers.set_index("customer")
    tools = full[full.kind == "tool"].groupby("customer").size().reindex(known.index).fillna(0)
    price = by.price.mean().reindex(known.index)
    orders_of = by.size().reindex(known.index).fillna(0)
    truth = 2.0 * (known.city == "Ulm") + np.minimum(orders_of, 6) * 0.5 + 0.8 * tools
    truth += 0.15 * price.fillna(15.0)
    customers["spend"] = (truth + generator.normal(0, NOISE, size)).to_numpy().round(4)
    columns = pd.get_dummies(known.city).join(pd.crosstab(full.customer, full.kind)).fillna(0)
    columns = columns.assign(n=orders_of, price=price.fillna(price.mean()), none=price.isna())
    tables = {"customers": customers, "products": products, "orders": orders}
    database = load(tables, target="customers.spend")
    names, _ = database.examples()
    best = float(truth.var() / (truth.var() + NOISE**2))
    return _folded(Task(database, columns.loc[names[:, 0]], best))


TASKS: Mapping[str, Callable[[], Scores]] = {
    "made shop": shop,
    "film stars": film_stars,
    "user age": user_age,
    "driver-position": driver_position,
}


def report(results: Mapping[str, Any]) -> str:
    """The table: for each task a row for each way to predict."""
    lines = []
    for task in TASKS:
        scores: Scores = results["scores"].get(task, {})
        rivals = [each["mae"] for row, each in scores.items() if row.startswith("columns") and "mae" in each]
        ours = [each["mae"] for row, each in scores.items() if row.startswith("hornbeam")]
        for row, each in scores.items():
            wanted = ""
            if row.startswith("hornbeam") and rivals and each["mae"] == min(ours):
                met = "met" if each["mae"] <= min(rivals) else "**missed**"
                wanted = f"<= {min(rivals):.3f}, {met}"
            texts = [f"{each[name]:.3f}" if name in each else "" for name in ("mae", "r2")]
            costs = [f"{each[name]:.1f}" if name in each else "" for name in ("effects", "cpu")]
            lines.append([task, row, *texts, *costs, wanted])
    header = ["task", "row", "MAE", "R2", "effects", "CPU-s", "target (MAE)"]
    return f"{measure.machine_line(results['machine'])}\n\n{table(header, lines)}"


if __name__ == "__main__":
    main()
