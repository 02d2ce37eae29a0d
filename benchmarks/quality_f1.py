"""How well the default learner predicts Formula 1: two tasks of rel-f1, learned on train, scored on val.

    python benchmarks/quality_f1.py [--only driver-dnf driver-top3] [--report]

Rolling: an example has all facts strictly before its own cut-off. Frozen: it has none at or after the first
cut-off of the validation table. The model is the same: all cut-offs of training are earlier. Options are the
default ones. The figures to compare with are those of 50 columns made by hand (means of the last 1 to 10
results, of the team's last 20, days since the last race, last standing, share of the field that did not
finish) on the same tables, rolling. Results go to results/f1.json after each task.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score

import measure
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.in_place.load import load
from hornbeam.learning.effects.learner import fit
from hornbeam.learning.options import EffectOptions
from hornbeam.model.clause_model import Model
from hornbeam.model.predict import predict
from measure import DATA, say, table

FOLDER = DATA / "f1"
TASKS = {"driver-dnf": "dnf(drivers)", "driver-top3": "top3(drivers)"}
PROTOCOLS = ("rolling", "frozen")
BY_HAND = {
    "driver-dnf": {"logistic regression": 0.799, "boosted trees": 0.796},
    "driver-top3": {"logistic regression": 0.911, "boosted trees": 0.905},
}
MOST_CPU = 60.0
DRAWS = 300


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--report", action="store_true", help="only write the table")
    arguments = parser.parse_args()
    if not FOLDER.is_dir():
        sys.exit(f"there is no {FOLDER}: get the tables of rel-f1 from RelBench")
    results = measure.load("f1")
    results["machine"] = measure.machine(["hornbeam", "numpy", "scikit-learn"])
    for task in () if arguments.report else arguments.only:
        results[task] = measured(task)
        say(f"{task}: {results[task]}")
        measure.save("f1", results)
        measure.write_section("f1", report(results))
    measure.write_section("f1", report(results))


def measured(task: str) -> dict[str, dict[str, float]]:
    """The scores of the validation table by protocol, and the CPU seconds."""
    train = load(FOLDER, examples=_labels(task, "train"), target=TASKS[task])
    examples = train.examples_of(train.target_named(None))
    start = time.process_time()
    model = fit(MemoryEngine(train), examples, EffectOptions()).model
    costs = {"effects": len(model.effects), "fit_cpu": round(time.process_time() - start, 2)}
    base = float(examples.labels.mean())
    return {protocol: _scores(task, protocol, model, base) | costs for protocol in PROTOCOLS}


def _scores(task: str, protocol: str, model: Model, base: float) -> dict[str, float]:
    labels = _labels(task, "val")
    as_of = _first_cutoff(labels) if protocol == "frozen" else None
    val = load(FOLDER, examples=labels, target=TASKS[task], as_of=as_of)
    names, truth = val.examples()
    start = time.process_time()
    chances = predict(model, val, names).probabilities
    cpu = time.process_time() - start
    scores = {
        "auc_roc": roc_auc_score(truth, chances),
        "auc_roc_error": _error(truth, chances),
        "auc_pr": average_precision_score(truth, chances),
        "log_loss": log_loss(truth, chances),
        "base_log_loss": log_loss(truth, np.full(len(truth), base)),
        "predict_cpu": cpu,
    }
    return {name: round(float(value), 4) for name, value in scores.items()}


def _error(truth: Any, chances: Any) -> float:
    """The standard error of the AUC-ROC: examples are drawn again."""
    drawn = np.random.default_rng(0).integers(0, len(truth), (DRAWS, len(truth)))
    return float(np.std([roc_auc_score(truth[place], chances[place]) for place in drawn], ddof=1))


def _labels(task: str, part: str) -> Path:
    return FOLDER / "labels" / f"{task}_{part}.csv"


def _first_cutoff(labels: Path) -> str:
    with labels.open(encoding="utf-8", newline="") as file:
        return min(row["cutoff"] for row in csv.DictReader(file))


def report(results: Mapping[str, Any]) -> str:
    """The table: ours rolling and frozen, then the columns made by hand."""
    header = [
        "task",
        "row",
        "AUC-ROC",
        "AUC-PR",
        "log-loss",
        "base rate's",
        "effects",
        "CPU-s",
        "to predict",
        "target",
    ]
    lines = []
    for task in TASKS:
        least = max(BY_HAND[task].values())
        for protocol, scores in results.get(task, {}).items():
            met = scores["auc_roc"] >= least and scores["fit_cpu"] <= MOST_CPU
            wanted = f">= {least:.3f} in {MOST_CPU:.0f} s, {'met' if met else '**missed**'}"
            lines.append(
                [
                    task,
                    f"default, {protocol}",
                    f"{scores['auc_roc']:.3f} ± {scores['auc_roc_error']:.3f}",
                    *(f"{scores[name]:.3f}" for name in ("auc_pr", "log_loss", "base_log_loss")),
                    f"{scores['effects']:.0f}",
                    f"{scores['fit_cpu']:.1f}",
                    f"{scores['predict_cpu']:.1f}",
                    wanted if protocol == "rolling" else "",
                ]
            )
        for name, roc in BY_HAND[task].items():
            lines.append([task, f"50 columns by hand, {name}, rolling", f"{roc:.3f}", *[""] * 7])
    return f"{measure.machine_line(results['machine'])}\n\n{table(header, lines)}"


if __name__ == "__main__":
    main()
