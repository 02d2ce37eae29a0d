"""How default options are chosen: cross-validation inside the training data of the first folds.

    python benchmarks/choose_defaults.py [--only uwcse] [--try l2=3,30 n_bags=1] [--all-combinations]

Each option is varied on its own around the defaults. No first fold's test data are looked at. Where
folds are groups (areas, universities), each other group in turn is taken out of the first fold's
training data, with its facts, and predicted. Where there is one set of examples, a fifth is set aside
and the rest is cross-validated in four parts. Scores are over all examples of the part predicted, and
means over the parts; the last lines are means over the data sets. A run over all data sets, one option
at a time, writes results/defaults.json.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from time import process_time

import numpy as np

from hornbeam.data.build import build
from hornbeam.data.database import Database, Examples
from hornbeam.datasets.folds import stratified
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.learning.effects.learner import fit
from hornbeam.learning.options import EffectOptions, effect_options
from hornbeam.loading import load
from hornbeam.model.evaluate import evaluate
from hornbeam.model.predict import codes_for, data_for
from measure import DATA

GROUPED = {
    "uwcse": ("advisedby", ["fold1", "fold2", "fold3", "fold4", "fold5"]),
    "webkb": ("faculty", ["fold1", "fold2", "fold3", "fold4"]),
    "imdb": ("workedunder", ["Fold1", "Fold2", "Fold3", "Fold4", "Fold5"]),
}
FLAT = {"movielens_paper": "female", "mutagenesis": "active"}
VARIATIONS = [
    "learning_rate=0.05,0.2",
    "l2=1,2,10,20",
    "n_bags=1,5,20",
    "n_cuts=4,16",
    "neg_pos_ratio=10,20",
    "max_links=1",
    "max_conditions=0,1",
    "max_effects=20,all",
    "per_constant=False",
]
SCORES = ("auc_roc", "auc_pr", "log_loss")


@dataclass(frozen=True)
class Part:
    """Data to learn from, and held-out examples to predict."""

    target: str
    training: Database
    examples: Examples
    validation: Database
    names: np.ndarray
    truth: np.ndarray


def parts_of(name: str) -> Iterator[Part]:
    """The cross-validation of one data set."""
    if name in FLAT:
        yield from _example_parts(load(DATA / name), FLAT[name])
    else:
        target, folds = GROUPED[name]
        yield from _group_parts(DATA / name, target, folds)


def _example_parts(database: Database, target: str) -> Iterator[Part]:
    """Stratified fifths of the examples; the first is never used."""
    examples = database.examples_of(target)
    names, labels = database.examples(target)
    fifth = stratified(labels, 5)
    for held in range(1, 5):
        inside, outside = (fifth != held) & (fifth != 0), fifth == held
        yield Part(
            target, database, examples.keys[inside], labels[inside], database, names[outside], labels[outside]
        )


def _group_parts(folder: Path, target: str, folds: Sequence[str]) -> Iterator[Part]:
    """Every group but the first in turn, and the first fold's training data without it."""
    groups = [load(folder / fold, "test") for fold in folds]
    whole = load(folder / folds[0], "train")
    # What several groups share (positions, phases) is no group's own.
    seen = Counter(name for group in groups for name in _constants(group))
    for group in groups[1:]:
        own = {name for name in _constants(group) if seen[name] == 1}
        training = _without(whole, target, own)
        names, truth = group.examples(target)
        yield Part(target, training, training.examples_of(target), group, names, truth)


def _constants(database: Database) -> set[str]:
    return {name for population in database.populations.values() for name in population.names}


def _without(database: Database, target: str, constants: set[str]) -> Database:
    """The database without facts and examples that mention any of the constants."""
    facts = {}
    for predicate, relation in database.relations.items():
        types = database.schema.types_of(predicate)
        columns = [
            database.population(t).decode(column) for t, column in zip(types, relation.columns, strict=True)
        ]
        rows = [row for row in zip(*columns, strict=True) if constants.isdisjoint(row)]
        if rows:
            facts[predicate] = [list(column) for column in zip(*rows, strict=True)]
    names, labels = database.examples(target)
    kept = [i for i, row in enumerate(names.tolist()) if constants.isdisjoint(row)]
    examples = ([names[i].tolist() for i in kept], [int(labels[i]) for i in kept])
    return build(database.schema, database.modes, facts, {target: examples})


def scores_of(part: Part, engine: MemoryEngine, options: EffectOptions) -> dict[str, float]:
    """Scores of one fit on the part held out."""
    model = fit(engine, part.examples, options).model
    seen, _ = data_for(model, part.validation)
    keys, _ = codes_for(model, seen, part.names)
    scores = evaluate(part.truth, model.probabilities(MemoryEngine(seen), keys), draws=1)
    return {"auc_roc": scores.auc_roc, "auc_pr": scores.auc_pr, "log_loss": scores.log_loss}


def trials(arguments: argparse.Namespace) -> list[dict[str, object]]:
    """The options to try: the defaults, and each value on its own, or all combinations."""
    grid = {
        name: [_value(text) for text in texts.split(",")]
        for name, texts in (each.split("=") for each in arguments.try_)
    }
    if arguments.all_combinations:
        return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    return [{}, *({name: value} for name, values in grid.items() for value in values)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=[*GROUPED, *FLAT])
    parser.add_argument("--try", nargs="*", dest="try_", default=VARIATIONS)
    parser.add_argument("--all-combinations", action="store_true")
    arguments = parser.parse_args()
    rows: list[dict[str, object]] = []
    for name in arguments.only:
        parts = list(parts_of(name))
        engines = [MemoryEngine(part.training) for part in parts]
        for options in trials(arguments):
            started = process_time()
            found = [
                scores_of(part, engine, effect_options(**options))
                for part, engine in zip(parts, engines, strict=True)
            ]
            means = {key: float(np.mean([each[key] for each in found])) for key in SCORES}
            rows.append(
                {"data": name, "options": options, **means, "cpu": (process_time() - started) / len(parts)}
            )
            print(f"{name:<16} {_shown(options):<24}", _numbers(means), flush=True)
    for options in trials(arguments):
        same = [row for row in rows if row["options"] == options]
        means = {key: float(np.mean([row[key] for row in same])) for key in SCORES}  # type: ignore[misc]
        rows.append({"data": "mean", "options": options, **means})
        print(f"{'mean':<16} {_shown(options):<24}", _numbers(means))
    if set(arguments.only) == {*GROUPED, *FLAT} and not arguments.all_combinations:
        lines = ",\n".join("  " + json.dumps(row) for row in rows)
        (Path(__file__).parent / "results" / "defaults.json").write_text(f"[\n{lines}\n]\n")


def _shown(options: dict[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items()) or "defaults"


def _numbers(means: dict[str, float]) -> str:
    return "  ".join(f"{key} {value:.4f}" for key, value in means.items())


def _value(text: str) -> object:
    if text in ("None", "True", "False"):
        return {"None": None, "True": True, "False": False}[text]
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


if __name__ == "__main__":
    main()
