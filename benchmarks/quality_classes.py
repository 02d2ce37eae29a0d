"""Several classes: learned together, beside one model for each class (probabilities divided by their sum).

    python benchmarks/quality_classes.py [--only NAME ...] [--report]

Three folds of each set, drawn once with seed 0; of the citations, the training part of the first public split
alone. Results go to results/classes.json after each set.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import sklearn.datasets
from sklearn.model_selection import StratifiedKFold

import measure
from hornbeam.data.database import Database
from hornbeam.data.relations import Examples
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.in_place.load import load
from hornbeam.joint.targets import examples_in
from hornbeam.joint.things import hidden
from hornbeam.learning.classes import fit_classes
from hornbeam.learning.learners import learn
from hornbeam.learning.losses.softmax import log_softmax
from hornbeam.learning.options import EffectOptions
from hornbeam.model.clause_model import Model
from hornbeam.model.editing.edits import effect_name
from measure import DATA, say, table

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
SCHEMA = Path(__file__).with_name("movielens_100k.toml")
FOLDS = 3
LEAST_EXAMPLES = 30
"""Occupations of fewer users are left out."""
OPTIONS = EffectOptions()
APART, TOGETHER = "a model for each class", "together"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--report", action="store_true", help="only write the table")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # keys are inferred
    results = measure.load("classes")
    for name in () if arguments.report else arguments.only:
        results["machine"] = measure.machine(["hornbeam", "numpy", "scikit-learn"])
        results.setdefault("scores", {})[name] = _scores(SETS[name]())
        say(f"{name}: {results['scores'][name]}")
        measure.save("classes", results)
    measure.write_section("classes", report(results))


# --- sets ----------------------------------------------------------------------------------------


class ClassSet(NamedTuple):
    """A database and examples whose labels are classes."""

    database: Database
    examples: Examples


def _of(database: Database) -> ClassSet:
    return ClassSet(database, database.examples_of(database.target_named(None)).labelled())


def _table(name: str, most: int | None = None) -> ClassSet:
    """A data set of scikit-learn as one table."""
    X, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
    frame = pd.DataFrame(X, columns=[f"column{number}" for number in range(X.shape[1])])
    frame = frame.assign(kind=[f"kind{label}" for label in y])
    frame = frame if most is None else frame.sample(most, random_state=0)
    frame.insert(0, "thing", [f"t{number}" for number in range(len(frame))])
    return _of(load({"things": frame}, target="things.kind"))


def _shop(n_classes: int, size: int) -> ClassSet:
    """A made shop: segments of customers, drawn from a softmax of nine features."""
    rng = np.random.default_rng(3)
    kinds = ["book", "toy", "tool", "food", "shoe"]
    products = pd.DataFrame(
        {
            "product": [f"p{number}" for number in range(60)],
            "kind": rng.choice(kinds, 60),
            "price": rng.uniform(1, 30, 60).round(2),
        }
    )
    number = rng.poisson(6, size)
    customers = pd.DataFrame(
        {
            "customer": [f"c{number}" for number in range(size)],
            "city": rng.choice(["Ulm", "Bonn", "Kiel"], size),
            "age": rng.integers(18, 80, size),
        }
    )
    orders = pd.DataFrame({"customer": np.repeat(customers.customer.to_numpy(), number)})
    orders["product"] = rng.choice(products["product"], len(orders))
    orders.insert(0, "order", [f"o{number}" for number in range(len(orders))])
    full = orders.merge(products, on="product")
    counts = pd.crosstab(full.customer, full.kind).reindex(customers.customer).fillna(0)
    shares = counts.div(np.maximum(counts.sum(axis=1), 1), axis=0)
    price = full.groupby("customer").price.mean().reindex(customers.customer).fillna(15)
    features = [4.0 * shares[kind].to_numpy() for kind in kinds]
    features += [(price.to_numpy() - 15) / 4, (customers.age.to_numpy() - 45) / 15]
    features += [np.minimum(number, 8) / 3, 1.5 * (customers.city == "Ulm").to_numpy()]
    scores = sum(
        np.outer(each - each.mean(), rng.normal(0, 0.8, n_classes)) for each in map(np.asarray, features)
    )
    customers["segment"] = [f"s{rng.choice(n_classes, p=each)}" for each in np.exp(log_softmax(scores))]
    tables = {"customers": customers, "products": products, "orders": orders}
    return _of(load(tables, target="customers.segment"))


def _occupations() -> ClassSet:
    database, examples = _of(load(DATA / "movielens_100k", schema=SCHEMA, target="users.occupation"))
    kept = np.flatnonzero(np.bincount(examples.labels) >= LEAST_EXAMPLES)
    examples = examples.at(np.flatnonzero(np.isin(examples.labels, kept)))
    labels = np.searchsorted(kept, examples.labels).astype(np.int8)
    classes = tuple(examples.classes[place] for place in kept)
    return ClassSet(database, replace(examples, labels=labels, classes=classes))


def _phases() -> ClassSet:
    """The phase of the students of UW-CSE; who is a student is hidden."""
    database = load(DATA / "uwcse" / "fold1", "train")
    examples = examples_in(database, "inphase")
    seen = hidden(database, {"advisedby": 2, "professor": 1, "student": 1, "inphase": 1})
    return ClassSet(seen, examples)


def _citations() -> ClassSet:
    folder = DATA / "citeseer_graph"
    frames = {name: pd.read_csv(folder / f"{name}.csv") for name in ("papers", "links", "words")}
    database, examples = _of(load(frames, target="papers.topic"))
    part = pd.read_csv(folder / "splits.csv", index_col="paper_id").split0
    names = database.names_of(examples.target, examples.keys)[:, 0]
    return ClassSet(database, examples.at(np.flatnonzero(part.reindex(names).to_numpy() == "train")))


SETS: Mapping[str, Callable[[], ClassSet]] = {
    "iris": lambda: _table("iris"),
    "wine": lambda: _table("wine"),
    "digits, 600": lambda: _table("digits", 600),
    "made shop, 3 classes, 400": lambda: _shop(3, 400),
    "made shop, 5 classes, 1,200": lambda: _shop(5, 1200),
    "made shop, 7 classes, 1,200": lambda: _shop(7, 1200),
    "phases of students": _phases,
    "occupations of users": _occupations,
    "topics of papers": _citations,
}


# --- scores --------------------------------------------------------------------------------------


class Found(NamedTuple):
    """The probabilities of the examples of a test, the number of different effects, and the CPU seconds."""

    chances: Floats
    effects: int
    seconds: float


def _scores(task: ClassSet) -> dict[str, Any]:
    """Log-loss and accuracy over all folds for each way, with the difference from the first one."""
    engine, labels = MemoryEngine(task.database), task.examples.labels.astype(np.int64)
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(labels, labels))
    rows, scores = np.arange(len(labels)), {}
    for way, fitted in ((APART, _apart), (TOGETHER, _together)):
        chances = np.empty((len(labels), len(task.examples.classes)))
        found = [fitted(engine, task.examples, train, test) for train, test in folds]
        for (_, test), each in zip(folds, found, strict=True):
            chances[test] = each.chances
        losses = -np.log(np.maximum(chances[rows, labels], 1e-12))
        right = (chances.argmax(axis=1) == labels).astype(np.float64)
        if way == APART:
            first = losses, right
        scores[way] = {
            "log_loss": _figures(losses, first[0]),
            "accuracy": _figures(right, first[1]),
            "effects": round(sum(each.effects for each in found) / FOLDS, 1),
            "cpu": round(sum(each.seconds for each in found) / FOLDS, 1),
        }
    return scores


def _figures(own: Floats, first: Floats) -> list[float]:
    """The mean, its difference from the first way, and the standard error of that."""
    more = own - first
    return [round(float(x), 4) for x in (own.mean(), more.mean(), more.std() / np.sqrt(len(more)))]


def _together(engine: MemoryEngine, examples: Examples, train: Rows, test: Rows) -> Found:
    start = time.process_time()
    model = fit_classes("rlr", engine, examples.at(train), OPTIONS).model
    seconds = time.process_time() - start
    return Found(model.probabilities(engine, examples.keys[test]), len(model.together()[0].effects), seconds)


def _apart(engine: MemoryEngine, examples: Examples, train: Rows, test: Rows) -> Found:
    """A model of each class against all others."""
    start = time.process_time()
    models = []
    for number in range(len(examples.classes)):
        own = replace(examples, labels=(examples.labels == number).astype(np.int8), classes=())
        models.append(learn("rlr", engine, own.at(train), OPTIONS).model)
    seconds = time.process_time() - start
    chances = np.column_stack([model.probabilities(engine, examples.keys[test]) for model in models])
    effects = {
        effect_name(each.effect) for model in models if isinstance(model, Model) for each in model.effects
    }
    return Found(chances / chances.sum(axis=1, keepdims=True), len(effects), seconds)


def report(results: Mapping[str, Any]) -> str:
    """The table: for each set a row for each way."""
    lines = []
    for name in SETS:
        for way, each in results.get("scores", {}).get(name, {}).items():
            texts = []
            for kind in ("log_loss", "accuracy"):
                mean, more, error = each[kind]
                texts += [f"{mean:.4f}", "" if way == APART else f"{more:+.4f} ± {error:.4f}"]
            lines.append([name, way, *texts, f"{each['effects']:g}", f"{each['cpu']:.1f}"])
    header = ["set", "learned", "log-loss", "difference", "accuracy", "difference", "effects", "CPU-s"]
    return f"{measure.machine_line(results['machine'])}\n\n{table(header, lines)}"


if __name__ == "__main__":
    main()
