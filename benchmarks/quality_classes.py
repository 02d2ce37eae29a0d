"""Several classes: how one model for each class is best put together, and whether a softmax is better.

    python benchmarks/quality_classes.py [--only NAME ...] [--report]

Three folds of each set, drawn once with seed 0; of the citations, the training part of the first public split
alone. The first two rows are the default learner: the probabilities of the models divided by their sum, and
put together by the weights of classes, which are fitted to held-out scores. The other rows have the same bins
of candidates with one condition, and the same weights per constant: the long models of one class against the
rest, and one softmax with shared effects (softmax_steps). Results go to results/classes.json after each set.
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
from hornbeam.learning.effects import learner
from hornbeam.learning.effects.examples.bagging import design, example_hashes
from hornbeam.learning.effects.steps.bag_steps import StepData, Steps
from hornbeam.learning.effects.steps.boosting import Boosting
from hornbeam.learning.loop import NO_CONTROL
from hornbeam.learning.losses.class_weights import class_weights
from hornbeam.learning.losses.loss import Logistic
from hornbeam.learning.losses.softmax import log_softmax
from hornbeam.learning.options import EffectOptions
from hornbeam.model.class_model import PLAIN_WEIGHTS
from hornbeam.model.clause_model import Model
from measure import DATA, say, table
from softmax_steps import SharedSteps

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
SCHEMA = Path(__file__).with_name("movielens_100k.toml")
FOLDS = 3
LEAST_EXAMPLES = 30
"""Occupations of fewer users are left out."""
OPTIONS = EffectOptions()
PLAIN, WEIGHTED = "default, divided by the sum", "default, weights of classes"
LONG, SOFTMAX = "same bins, weights of classes", "same bins, softmax"


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


def _scores(task: ClassSet) -> dict[str, Any]:
    """Log-loss and accuracy over all folds for each row, with the difference from the first one."""
    engine, labels = MemoryEngine(task.database), task.examples.labels.astype(np.int64)
    found: dict[str, Floats] = {}
    cpu: dict[str, float] = {}
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    for train, test in folds.split(labels, labels):
        for ways in (_default, _same_bins):
            for row, (chances, seconds) in ways(engine, task.examples, train, test).items():
                own = found.setdefault(row, np.empty((len(labels), len(task.examples.classes))))
                own[test] = chances
                cpu[row] = cpu.get(row, 0.0) + seconds / FOLDS
    rows = np.arange(len(labels))
    losses = {row: -np.log(np.maximum(each[rows, labels], 1e-12)) for row, each in found.items()}
    right = {row: (each.argmax(axis=1) == labels).astype(np.float64) for row, each in found.items()}
    return {
        row: {
            "log_loss": _figures(losses[row], losses[PLAIN]),
            "accuracy": _figures(right[row], right[PLAIN]),
            "cpu": round(cpu[row], 1),
        }
        for row in found
    }


def _figures(own: Floats, first: Floats) -> list[float]:
    """The mean, its difference from the first row, and the standard error of that."""
    more = own - first
    return [round(float(x), 4) for x in (own.mean(), more.mean(), more.std() / np.sqrt(len(more)))]


def _default(
    engine: MemoryEngine, examples: Examples, train: Rows, test: Rows
) -> dict[str, tuple[Floats, float]]:
    start = time.process_time()
    model = fit_classes("rlr", engine, examples.at(train), OPTIONS).model
    seconds = time.process_time() - start
    scores = model.scores(engine, examples.keys[test])
    return {
        PLAIN: (PLAIN_WEIGHTS.probabilities(scores), seconds),
        WEIGHTED: (model.weights.probabilities(scores), seconds),
    }


def _same_bins(
    engine: MemoryEngine, examples: Examples, train: Rows, test: Rows
) -> dict[str, tuple[Floats, float]]:
    """Long models on bins of the examples of training and test; labels of the test are not used."""
    order = np.concatenate([train, test])
    first = replace(examples.at(order), labels=(examples.labels[order] == 0).astype(np.int8), classes=())
    problem, rows = learner._problem(engine, first, replace(OPTIONS, max_conditions=1))
    paths, offers = learner._candidates(problem, lambda: None, NO_CONTROL)
    places = order[rows]
    known = np.isin(places, train)
    bins = np.array(offers.pool.rows)
    lines = np.zeros((len(bins), int(bins.max()) + 1))
    for line, candidate in zip(lines, offers.pool.candidates, strict=True):
        line[: len(candidate.scores)] = candidate.scores[: lines.shape[1]]
    hashes = example_hashes(engine, examples.target, examples.keys[places], OPTIONS)
    bags = np.where(known[:, None], design(hashes, OPTIONS.n_bags).weights, np.nan)
    labels = examples.labels[places].astype(np.int64)
    offset = _offset(engine, examples, places, known, paths)
    start = time.process_time()
    scores, held_out = _one_by_one(bins, lines, labels, bags, offset)
    middle = time.process_time()
    shared = SharedSteps(bins, lines, labels, bags, offset).best
    end = time.process_time()
    weights = class_weights(list(held_out.T), examples.at(places[known]))
    at = np.argsort(places)[np.searchsorted(np.sort(places), test)]
    return {
        LONG: (weights.probabilities(scores[at]), middle - start),
        SOFTMAX: (np.exp(log_softmax(shared[at])), end - middle),
    }


def _offset(
    engine: MemoryEngine, examples: Examples, places: Rows, known: npt.NDArray[np.bool_], paths: Any
) -> Floats:
    """What weights per constant add to the score of each class: cross-fitted for examples of training."""
    offset = np.zeros((len(places), len(examples.classes)))
    train = examples.at(places[known])
    for number in range(len(examples.classes)):
        own = replace(train, labels=(train.labels == number).astype(np.int8), classes=())
        problem, rows = learner._problem(engine, own, OPTIONS)
        block = learner._block(problem, paths)
        if block is not None:
            model = Model(examples.target, engine.database.schema, block.intercept, block.clauses, {}, "rlr")
            offset[~known, number] = model.scores(engine, examples.keys[places[~known]])
            offset[np.flatnonzero(known)[rows], number] = block.crossed
            offset[:, number] -= block.crossed.mean()
    return offset


def _one_by_one(
    bins: npt.NDArray[np.uint8], lines: Floats, labels: npt.NDArray[np.int64], bags: Floats, offset: Floats
) -> tuple[Floats, Floats]:
    """The scores of the long model of each class, and the held-out scores of the examples of training."""
    known = ~np.isnan(bags[:, 0])
    outside = bags == 0.0
    all_scores, held_out = np.empty(offset.shape), np.empty(offset.shape)
    for number in range(offset.shape[1]):
        targets, own = (labels == number).astype(np.float64), offset[:, number]
        steps = Steps(OPTIONS.n_steps, OPTIONS.learning_rate, OPTIONS.l2, OPTIONS.l2)
        data = StepData(bins, lines, targets, known.astype(np.float64), Logistic(), steps, own)
        boosting = Boosting(data, np.nan_to_num(bags))
        for _ in boosting.run():
            pass
        best = int(np.argmin(boosting.bags.mean_losses))
        scores = np.repeat(own[:, None], bags.shape[1], axis=1)
        starts = boosting.bags.start
        for column, (start, additions) in enumerate(zip(starts, boosting.bags.additions, strict=True)):
            done = [each for each in additions[:best] if each.candidate >= 0]
            scores[:, column] += done[-1].intercept if done else start
            for each in done:
                scores[:, column] += each.change[bins[each.candidate]]
        all_scores[:, number] = scores.mean(axis=1)
        with np.errstate(invalid="ignore"):
            held_out[:, number] = np.where(outside, scores, 0.0).sum(axis=1) / outside.sum(axis=1)
    return all_scores, held_out[known]


def report(results: Mapping[str, Any]) -> str:
    """The table: for each set a row for each way."""
    lines = []
    for name in SETS:
        for row, each in results.get("scores", {}).get(name, {}).items():
            texts = []
            for kind in ("log_loss", "accuracy"):
                mean, more, error = each[kind]
                texts += [f"{mean:.4f}", "" if row == PLAIN else f"{more:+.4f} ± {error:.4f}"]
            lines.append([name, row, *texts, f"{each['cpu']:.1f}"])
    header = ["set", "row", "log-loss", "difference", "accuracy", "difference", "CPU-s"]
    return f"{measure.machine_line(results['machine'])}\n\n{table(header, lines)}"


if __name__ == "__main__":
    main()
