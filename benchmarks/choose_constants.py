"""Choose the constants of the default learner inside training data; no test example is read.

    python benchmarks/choose_constants.py [--only NAME ...] [--report]

The training part of the first fold of each data set is divided into three inner folds by the hash of the
keys. Each setting learns from two of them and is scored on the third. For Formula 1, a setting learns from
the first half, six, seven, eight and nine tenths of the time of the training table, and is scored each time
on the next tenth. A setting differs from the default in one constant. It is better only if its log-loss is
lower by more than a paired standard error.
Results go to results/constants.json after each data set.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

import measure
from hornbeam.data.database import Database, Examples
from hornbeam.data.sampling import key_hashes
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.in_place.load import load
from hornbeam.learning.effects import conditions, constants, learner, lines, long_model, shortening
from hornbeam.learning.effects.examples import bagging
from hornbeam.learning.effects.steps import bag_steps, pairs
from hornbeam.learning.options import EffectOptions
from measure import DATA, say, table
from quality import DATA_SETS, Pooled, Split, folds_of

INNER = 3
TENTHS = range(5, 10)
"""The parts of the time that are learned from, in tenths."""
F1 = {"driver-dnf": "dnf(drivers)", "driver-top3": "top3(drivers)"}
Floats = npt.NDArray[np.float64]


class Change(NamedTuple):
    """A constant of a module with another value, or options with other values."""

    module: ModuleType | None = None
    name: str = ""
    value: Any = None
    options: Mapping[str, Any] = {}


SETTINGS: Mapping[str, Change] = {
    "default": Change(),
    "long": Change(options={"max_effects": "all"}),
    "l2 1": Change(options={"l2": 1.0}),
    "l2 2": Change(options={"l2": 2.0}),
    "l2 10": Change(options={"l2": 10.0}),
    "shortened towards 0.5": Change(shortening, "RIDGE", 0.5),
    "shortened towards 50": Change(shortening, "RIDGE", 50.0),
    "share lost 0.02": Change(shortening, "SHARE_LOST", 0.02),
    "share lost 0.005": Change(shortening, "SHARE_LOST", 0.005),
    "no turns": Change(bag_steps, "NEARLY", 1.0),
    "turns from 0.7 on": Change(bag_steps, "NEARLY", 0.7),
    "one condition": Change(options={"max_conditions": 1}),
    "5 second conditions": Change(conditions, "MOST_NARROWED", 5),
    "20 second conditions": Change(conditions, "MOST_NARROWED", 20),
    "no pairs": Change(pairs, "KEPT", 0),
    "pairs at a price of 1": Change(pairs, "PRICE", 1.0),
    "pairs at a price of 2": Change(pairs, "PRICE", 2.0),
    "pairs count 0.5": Change(bag_steps, "WORTH_OF_PAIR", 0.5),
    "pairs count 1": Change(bag_steps, "WORTH_OF_PAIR", 1.0),
    "weights for few constants too": Change(constants, "MANY", 2),
    "weights per constant at 0.4": Change(constants, "STRENGTH", 0.4),
    "weights per constant at 0.8": Change(constants, "STRENGTH", 0.8),
    "weights per constant at 1": Change(constants, "STRENGTH", 1.0),
    "no weights per constant": Change(options={"per_constant": False}),
}
OF_TIME: Mapping[str, Change] = {
    "default": Change(),
    "no turns": Change(bag_steps, "NEARLY", 1.0),
    "turns from 0.7 on": Change(bag_steps, "NEARLY", 0.7),
    "no lines": Change(lines, "SHARES", ()),
    "as many steps as judges": Change(long_model, "MORE_STEPS", 1.0),
    "300 lines": Change(lines, "MOST", 300),
    "judged by examples of any time, no lines": Change(bagging, "LEAST_WINDOWS", 10**9),
    "bags by thing and window": Change(bagging, "LEAST_STRETCHES", 10**9),
    "fewer attributes": Change(learner, "MOST_VALUES", 5_000_000),
    "more attributes": Change(learner, "MOST_VALUES", 30_000_000),
}


@contextmanager
def changed(change: Change) -> Iterator[EffectOptions]:
    """The options of a setting, while its constant has the other value."""
    if change.module is None:
        yield EffectOptions(**change.options)
        return
    before = getattr(change.module, change.name)
    setattr(change.module, change.name, change.value)
    try:
        yield EffectOptions(**change.options)
    finally:
        setattr(change.module, change.name, before)


def losses(change: Change, engine: MemoryEngine, inside: Examples, outside: Examples) -> tuple[Floats, float]:
    """The log-loss of each held-out example, and the AUC-ROC."""
    with changed(change) as options:
        model = learner.fit(engine, inside, options).model
    scores = model.scores(engine, outside.keys)
    result: Floats = np.logaddexp(0.0, np.where(outside.labels == 1, -scores, scores))
    return result, float(roc_auc_score(outside.labels, scores))


def inner_parts(database: Database, examples: Examples) -> Iterator[tuple[Examples, Examples]]:
    """The inner folds of training examples."""
    arity = database.schema.arity(examples.target)
    hashes = key_hashes(database, examples.target, examples.keys[:, :arity], 0)
    numbers = (hashes >> np.uint64(32)) % np.uint64(INNER)
    for number in range(INNER):
        yield examples.at(numbers != number), examples.at(numbers == number)


def by_time(examples: Examples) -> Iterator[tuple[Examples, Examples]]:
    """The examples of the first part of the time, and those of the tenth after it."""
    cutoffs = examples.cutoffs
    assert cutoffs is not None
    edges = np.quantile(np.unique(cutoffs), [tenths / 10 for tenths in (*TENTHS, 10)], method="higher")
    edges[-1] = np.inf
    for start, end in pairwise(edges):
        yield examples.at(cutoffs < start), examples.at((cutoffs >= start) & (cutoffs < end))


def measured(name: str) -> dict[str, Any]:
    """For each setting the mean log-loss, and its difference from the default's with the standard error."""
    if name in F1:
        labels = DATA / "f1" / "labels" / f"{name}_train.csv"
        database = load(DATA / "f1", target=F1[name], examples=labels)
        examples = database.examples_of(database.target_named(F1[name]))
        engine, pairs, settings = MemoryEngine(database), list(by_time(examples)), OF_TIME
    else:
        database, examples = training_of(DATA_SETS[name])
        engine, settings = MemoryEngine(database), SETTINGS
        pairs = list(inner_parts(database, examples))
    found: dict[str, Any] = {}
    base = np.empty(0)
    for setting, change in settings.items():
        scored = [losses(change, engine, *pair) for pair in pairs]
        each = np.concatenate([own for own, _ in scored])
        base = each if setting == "default" else base
        gap = each - base
        found[setting] = {
            "log_loss": float(each.mean()),
            "auc_roc": float(np.mean([auc for _, auc in scored])),
            "difference": float(gap.mean()),
            "error": float(gap.std() / np.sqrt(len(gap))),
        }
        say(f"{name}: {setting}: {found[setting]}")
    return found


def training_of(data: Pooled | Split) -> tuple[Database, Examples]:
    """The training part of the first fold."""
    first = next(folds_of(data))
    return first.train, first.examples


def report(results: Mapping[str, Any]) -> str:
    parts = []
    for names, settings in ((DATA_SETS, SETTINGS), (F1, OF_TIME)):
        known = [name for name in names if name in results]
        rows = [[setting, *(_cell(results[name].get(setting)) for name in known)] for setting in settings]
        parts.append(table(["log-loss - default's", *known], rows))
    return "\n".join(parts)


def _cell(found: Mapping[str, float] | None) -> str:
    if found is None:
        return ""
    text = f"{found['difference']:+.4f} ± {found['error']:.4f}"
    if not found["error"]:
        text = f"{found['log_loss']:.4f}" if not found["difference"] else f"{found['difference']:+.4f}"
    return f"{text} (AUC-ROC {found['auc_roc']:.4f})" if "auc_roc" in found else text


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [*DATA_SETS, *F1]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--report", action="store_true", help="only write the table")
    arguments = parser.parse_args()
    results = measure.load("constants")
    for name in () if arguments.report else arguments.only:
        results[name] = measured(name)
        measure.save("constants", results)
    measure.write_section("constants", report(results))


if __name__ == "__main__":
    main()
