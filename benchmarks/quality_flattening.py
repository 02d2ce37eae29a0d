"""How well Hornbeam predicts where others flatten tables: same folds, default options, predictions pooled.

    python benchmarks/quality_flattening.py

The folds are scikit-learn's StratifiedKFold(5, shuffle, seed 0), as for the systems in results/others.json.
MovieLens 100K is read from its raw tables, mutagenesis from facts. Results go to results/flattening.json;
the documentation makes its table of both files. Data come from HORNBEAM_DATA or ../shared/data.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

import hornbeam as hb
import measure
from hornbeam.model.evaluate import evaluate
from measure import DATA

SCHEMA = Path(__file__).with_name("movielens_100k.toml")
FOLDS, SEED = 5, 0


def main() -> None:
    movielens = hb.load(DATA / "movielens_100k", schema=SCHEMA, target="users.gender=F")
    found = {
        "MovieLens 100K, female": _scored(movielens),
        "mutagenesis": _scored(hb.load(DATA / "mutagenesis")),
    }
    machine = measure.machine(["hornbeam", "numpy", "scikit-learn"])
    measure.save("flattening", {"machine": machine, "folds": FOLDS, "seed": SEED, "scores": found})


def _scored(database: hb.Database) -> dict[str, Any]:
    """Scores of the predictions of all folds together, and the CPU of all fits."""
    X, y = database.examples()
    predicted = np.zeros(len(y))
    cpu = 0.0
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(X, y):
        start = time.process_time()
        classifier = hb.RLRClassifier(database=database).fit(X[train], y[train])
        cpu += time.process_time() - start
        predicted[test] = classifier.predict_proba(X[test])[:, 1]
    scores = evaluate(y, predicted).as_dict()
    measure.say(f"{len(y)} examples: {scores}, {cpu:.1f} CPU-s")
    return {name: scores[name] for name in ("auc_roc", "auc_pr", "log_loss")} | {"fit_cpu": cpu}


if __name__ == "__main__":
    main()
