"""How well the learners predict: every public data set, fold by fold, idea by idea.

    python benchmarks/quality.py [--only NAME ...] [--rows NAME ...] [--seeds 5] [--again]

Folds are the public ones where there are some, else seeded and stratified (MovieLens in 5, mutagenesis in
10). Every test example is scored; figures are means over the folds of the means over seeds, with the
standard deviation over the folds. Seeds draw the negatives that are learned from, and the folds of data
without public ones. Every learner has its default options. Rows "paper with" add one idea alone to the
published algorithm, rows "default without" take one alone away (weights per constant need joint weights and
bounds, and go with them; so do examples held out with joint weights). Results are kept in
results/quality.json after each fit: a run that was stopped goes on.
Figures of the jars and of those who flatten tables were measured on the same data, elsewhere.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold

import measure
from hornbeam.data.database import Database, Examples
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.learning.learners import learn, options_for
from hornbeam.loading import load
from hornbeam.model.evaluate import evaluate
from hornbeam.model.predict import predict
from hornbeam.study.one_run import without as dropped
from measure import DATA, say, table

SCORES = ("auc_roc", "auc_pr", "log_loss", "calibration", "parts", "cpu")


class Public(NamedTuple):
    """Folds that somebody published, as folders."""

    folder: str
    target: str
    folds: tuple[str, ...]
    without: str | None = None


class Drawn(NamedTuple):
    """Folds drawn by seed."""

    folder: str
    target: str
    number: int


DATA_SETS: dict[str, Public | Drawn] = {
    "UW-CSE": Public("uwcse", "advisedby", tuple(f"fold{n}" for n in range(1, 6))),
    "IMDB": Public("imdb", "workedunder", tuple(f"Fold{n}" for n in range(1, 6))),
    "WebKB": Public("webkb", "faculty", tuple(f"fold{n}" for n in range(1, 5))),
    "WebKB without student": Public("webkb", "faculty", tuple(f"fold{n}" for n in range(1, 5)), "student"),
    "MovieLens": Drawn("movielens_paper", "female", 5),
    "mutagenesis": Drawn("mutagenesis", "active", 10),
    "CiteSeer": Public("citeseer", "infield_ftitle", ("fold1",)),
}

ROWS: dict[str, tuple[str, str | None, dict[str, Any]]] = {
    "paper": ("rlr", "paper", {}),
    "paper with log counts": ("rlr", "paper", {"feature": "log"}),
    "paper with log counts or bounds": ("rlr", "paper", {"feature": "best"}),
    "paper with joint weights": ("rlr", "paper", {"refit": True}),
    "paper with guarded false counts": ("rlr", "paper", {"false_counts": "guarded"}),
    "paper with a beam, any length": ("rlr", "paper", {"beam_width": 10, "stop": "best"}),
    "paper with look-ahead": ("rlr", "paper", {"look_ahead": True}),
    "default without joint weights": ("rlr", "default", {"refit": False}),
    "default without bounds": ("rlr", "default", {"feature": "log"}),
    "default without weights per constant": ("rlr", "default", {"per_constant": False}),
    "default without examples held out": ("rlr", "default", {"validate": False}),
    "default without a price of length": ("rlr", "default", {"length_penalty": 0.0}),
    "default": ("rlr", "default", {}),
    "default with shares inside guards": ("rlr", "default", {"false_counts": "guarded"}),
    "default with look-ahead": ("rlr", "default", {"look_ahead": True}),
    "default, at most 8 clauses": ("rlr", "default", {"max_effects": 8}),
    "default in 8 steps": ("rlr", "default", {"n_steps": 8}),
    "rdn-boost": ("rdn-boost", None, {}),
    "mln-boost": ("mln-boost", None, {}),
    "agg-lr": ("agg-lr", None, {}),
}
DEFAULT = "default"
WANTED = {
    "UW-CSE": (0.98, 0.43),
    "IMDB": (0.998, 0.99),
    "WebKB": (0.9995, 0.9995),
    "MovieLens": (0.78, 0.58),
    "mutagenesis": (0.93, 0.965),
    "CiteSeer": (0.99, None),
}
OTHERS = {
    "UW-CSE": "RDN-Boost .978/.416, MLN-Boost .967/.202 (BoostSRL)",
    "IMDB": "1.000/1.000, 1.000/1.000 (BoostSRL)",
    "WebKB": "1.000/1.000, .998/.990 (BoostSRL)",
    "MovieLens": "a column per film and logistic regression .793/.613",
    "mutagenesis": "counts by hand and LightGBM .946/.972, logistic regression .883/.939",
}


class Part(NamedTuple):
    """A database to learn from and the examples to score, with the databases they are in."""

    train: Database
    examples: Examples
    test: Database
    names: Any
    truth: Any


def main() -> None:
    arguments = _arguments()
    results: dict[str, Any] = {} if arguments.again else measure.load("quality")
    results["machine"] = measure.machine(["hornbeam", "numpy", "scipy", "scikit-learn"])
    results["order"] = {"rows": list(ROWS), "data": list(DATA_SETS)}
    rows: dict[str, Any] = results.setdefault("rows", {})
    for seed in range(arguments.seeds):
        for name in arguments.only:
            if not (DATA / DATA_SETS[name].folder).exists():
                say(f"{name}: no such data here, left out")
                continue
            for row in arguments.rows:
                for number, part in enumerate(parts_of(name, seed), start=1):
                    key = f"{name} | {row} | {number} | {seed}"
                    if key not in rows:
                        rows[key] = _measured(part, DATA_SETS[name].target, row, seed)
                        measure.save("quality", results)
                say(f"{name}, {row}, seed {seed}: {_means(rows, name, row)}")
    measure.save("quality", results)
    measure.write_section("quality", report(results))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=DATA_SETS, default=list(DATA_SETS))
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--again", action="store_true", help="measure what is already in the results file")
    return parser.parse_args()


_loaded: dict[tuple[str, str], Database] = {}


def _load(folder: Path, split: str | None, target: str, without: str | None) -> Database:
    place = (f"{folder} {without}", split or "")
    if place not in _loaded:
        found = load(folder, target=target) if split is None else load(folder, split, target=target)
        _loaded[place] = found if without is None else dropped(found, without)
    return _loaded[place]


def parts_of(name: str, seed: int) -> Iterator[Part]:
    """The folds of a data set."""
    data = DATA_SETS[name]
    if isinstance(data, Public):
        for fold in data.folds:
            train, test = (
                _load(DATA / data.folder / fold, split, data.target, data.without)
                for split in ("train", "test")
            )
            yield Part(train, train.examples_of(data.target), test, *test.examples(data.target))
        return
    database = _load(DATA / data.folder, None, data.target, None)
    examples, (names, labels) = database.examples_of(data.target), database.examples(data.target)
    for inside, outside in StratifiedKFold(data.number, shuffle=True, random_state=seed).split(
        labels, labels
    ):
        yield Part(database, examples.at(inside), database, names[outside], labels[outside])


def _measured(part: Part, target: str, row: str, seed: int) -> dict[str, float]:
    learner, preset, settings = ROWS[row]
    options = options_for(learner, preset, **settings)
    if hasattr(options, "seed"):
        options = options_for(learner, preset, **settings, seed=seed)
    start = time.process_time()
    model = learn(learner, MemoryEngine(part.train), part.examples, options).model
    cpu = time.process_time() - start
    chances = predict(model, part.test, part.names).probabilities
    found = evaluate(part.truth, chances)
    scores = {
        "auc_roc": found.auc_roc,
        "auc_pr": found.auc_pr,
        "log_loss": found.log_loss,
        "calibration": _calibration(np.asarray(part.truth), chances),
        "parts": float(model.size_text.split()[0].replace(",", "")),
        "cpu": cpu,
    }
    return {name: round(value, 5) for name, value in scores.items()}


def _calibration(truth: Any, chances: Any, bins: int = 10) -> float:
    """The expected calibration error: how far shares of positives are from probabilities, bin by bin."""
    place = np.minimum((chances * bins).astype(int), bins - 1)
    gaps = [abs(float(truth[place == b].sum() - chances[place == b].sum())) for b in range(bins)]
    return sum(gaps) / len(truth)


# --- the table ------------------------------------------------------------------------------------


def _folds(rows: dict[str, Any], name: str, row: str) -> list[dict[str, float]]:
    """For each fold the means over its seeds."""
    found: dict[str, list[dict[str, float]]] = {}
    for key, scores in rows.items():
        data, which, fold, _ = key.split(" | ")
        if (data, which) == (name, row):
            found.setdefault(fold, []).append(scores)
    return [{score: mean(each[score] for each in runs) for score in SCORES} for runs in found.values()]


def _means(rows: dict[str, Any], name: str, row: str) -> str:
    folds = _folds(rows, name, row)
    return ", ".join(f"{score} {mean(each[score] for each in folds):.3f}" for score in SCORES)


def report(results: dict[str, Any]) -> str:
    """A table for each data set, with the goals for the default preset."""
    rows = results["rows"]
    header = ["learner", "runs", "AUC-ROC", "AUC-PR", "log-loss", "calibration", "clauses", "CPU-s", "wanted"]
    parts = [measure.machine_line(results["machine"])]
    for name in DATA_SETS:
        lines = []
        for row in ROWS:
            folds = _folds(rows, name, row)
            if not folds:
                continue
            runs = sum(key.startswith(f"{name} | {row} | ") for key in rows)
            lines.append(
                [
                    row,
                    str(runs),
                    *(_spread([each[score] for each in folds]) for score in ("auc_roc", "auc_pr")),
                    *(f"{mean(each[score] for each in folds):.3f}" for score in ("log_loss", "calibration")),
                    f"{mean(each['parts'] for each in folds):.0f}",
                    f"{mean(each['cpu'] for each in folds):.2f}",
                    _wanted(name, row, folds),
                ]
            )
        if lines:
            others = f" Others: {OTHERS[name]}." if name in OTHERS else ""
            parts += [f"**{name}**.{others}", table(header, lines)]
    return "\n\n".join(parts)


def _spread(values: list[float]) -> str:
    return f"{mean(values):.3f}" + (f" ± {stdev(values):.3f}" if len(values) > 1 else "")


def _wanted(name: str, row: str, folds: list[dict[str, float]]) -> str:
    if row != DEFAULT or name not in WANTED:
        return ""
    roc, precision = WANTED[name]
    met = mean(each["auc_roc"] for each in folds) >= roc
    text = f">= {min(roc, 1.0):.3f}"
    if precision is not None:
        met = met and mean(each["auc_pr"] for each in folds) >= precision
        text += f" / {precision:.3f}"
    return f"{text}, {'met' if met else '**missed**'}"


if __name__ == "__main__":
    main()
