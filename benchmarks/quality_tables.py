"""How well a model learned from raw tables predicts: the gender of MovieLens users, over seeded five folds.

    python benchmarks/quality_tables.py [--again] [--report]

The raw files of MovieLens 100K are read with movielens_100k.toml (at most 25 lines). Two ways are
scored on the same folds: the default options, by which training examples held out choose length, penalty
and steps, and the same as given. Results are kept in results/tables_quality.json after each fold, so that a
run that was stopped goes on; --again measures anew, --report only writes the table. Data come from
HORNBEAM_DATA or ../shared/data.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

import hornbeam as hb
import measure
from hornbeam.model.evaluate import evaluate
from measure import say

SCHEMA = Path(__file__).with_name("movielens_100k.toml")
MOST_LINES = 25
TARGET = "users.gender=F"
TARGET_AUC = 0.75
SEED = 0
FOLDS = 5
SCORES = ("auc_roc", "auc_pr", "log_loss")
WAYS: Mapping[str, Mapping[str, Any]] = {
    "default options": {},
    "default options as given, `validate=False`": {"validate": False},
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--again", action="store_true", help="forget what was measured before")
    parser.add_argument("--report", action="store_true", help="only write the table")
    arguments = parser.parse_args()
    folder = measure.DATA / "movielens_100k"
    if not folder.is_dir():
        sys.exit(f"there is no {folder}: get MovieLens 100K from GroupLens")
    results = {} if arguments.again else measure.load("tables_quality")
    if not arguments.report:
        run(folder, results)
    measure.write_section("tables_quality", report(results))


def run(folder: Path, results: dict[str, Any]) -> None:
    """Score every fold that was not scored before."""
    results["machine"] = measure.machine(["hornbeam", "numpy", "scikit-learn"])
    results["schema_lines"] = len(SCHEMA.read_text().splitlines())
    results["seed"] = SEED
    folds = results.setdefault("folds", [])
    database = hb.load(folder, schema=SCHEMA, target=TARGET)
    X, y = database.examples()
    results["positives"], results["examples"] = int(y.sum()), len(y)
    for number, (train, test) in enumerate(_split(y, FOLDS)):
        if number < len(folds):
            continue
        found = {way: _scored(database, X, y, train, test, options) for way, options in WAYS.items()}
        folds.append(found)
        measure.save("tables_quality", results)
        say(f"fold {number + 1}: " + ", ".join(f"{way} {found[way]['auc_roc']:.3f}" for way in found))


def _split(y: Any, folds: int) -> Iterator[tuple[Any, Any]]:
    yield from StratifiedKFold(folds, shuffle=True, random_state=SEED).split(np.zeros(len(y)), y)


def _scored(
    database: hb.Database, X: Any, y: Any, train: Any, test: Any, options: Mapping[str, Any]
) -> dict[str, Any]:
    start = time.process_time()
    fitted = hb.RLRClassifier(database=database, **options).fit(X[train], y[train])
    seconds = time.process_time() - start
    scores = evaluate(y[test], fitted.predict_proba(X[test])[:, 1]).as_dict()
    return {name: scores[name] for name in SCORES} | {"fit_cpu": seconds}


def report(results: Mapping[str, Any]) -> str:
    """The table: one row per method, means over the folds."""
    folds = results["folds"]
    rows = []
    for way in WAYS:
        found = [fold[way] for fold in folds]
        per_fold = " ".join(f"{each['auc_roc']:.3f}" for each in found)
        means = [f"{mean(each[score] for each in found):.3f}" for score in SCORES]
        met = "met" if mean(each["auc_roc"] for each in found) >= TARGET_AUC else "**missed**"
        cpu = measure.seconds(mean(each["fit_cpu"] for each in found))
        rows.append([way, *means, per_fold, cpu, f">= {TARGET_AUC} AUC-ROC, {met}"])
    header = ["fit", "AUC-ROC", "AUC-PR", "log-loss", "AUC-ROC of each fold", "CPU of a fit", "target"]
    return (
        f"{measure.machine_line(results['machine'])}\n\n"
        f"{results['positives']} women among {results['examples']} users, {len(folds)} folds drawn with seed "
        f"{results['seed']}; `movielens_100k.toml` has {results['schema_lines']} lines (of {MOST_LINES})"
        "\n\n"
        f"{measure.table(header, rows)}"
    )


if __name__ == "__main__":
    main()
