"""Rows of a study as if it had been run, with scores that a test decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from study.protocol import Run, Study
from study.results import Results, collected


def row_of(run: Run, value: float = 0.5, **more: Any) -> dict[str, Any]:
    """A row of a run that scored one value whatever the score."""
    names = ("auc_roc", "auc_pr", "auc_pr_2to1", "auc_pr_swapped", "auc_pr_2to1_swapped", "log_loss", "brier")
    row = run._asdict() | {
        "code": "c0ffee",
        "versions": {"hornbeam": "1"},
        "machine": {"system": "Linux", "cores": 2, "processor": "abacus"},
        "train": {"n_pos": 10, "n_neg": 25},
        "scores": dict.fromkeys(names, value),
        "cpu_seconds": 1.5,
        "size": "1 clause",
    }
    if run.fold == 1 and run.seed == 0:
        row["model"] = f"prior 0\n[0, 1, 0] : {run.method}(A) :- b(A)."
    return row | more


def results_of(study: Study, value_of: Callable[[Run], float]) -> Results:
    return collected(study, [row_of(run, value_of(run)) for run in study.runs()])
