"""How well the learners that we compare with predict: UW-CSE, IMDB and WebKB, fold by fold.

    python benchmarks/quality_baselines.py [--only NAME ...] [--learners NAME ...] [--seeds 5] [--again]

Each learner has its default options. Learners that draw a sample of the negatives run with several
seeds. Every test example is scored. Results are kept in results/baselines.json after each fit, so that
a run that was stopped goes on; --again measures anew. Data come from HORNBEAM_DATA or ../shared/data.

The figures of BoostSRL are those of its program on the same folds (10 trees or steps, two negatives for
one positive, every test example scored); those of the paper are read off its figures, to about .01.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterator, Sequence
from statistics import mean, stdev
from typing import Any, NamedTuple

import measure
from hornbeam.datasets.catalogue import FoldFolders
from hornbeam.datasets.places import find
from measure import say, table
from study.one_run import measure as measured_run
from study.protocol import METHODS, Task, full_study, run_of

LEARNERS = ("rdn-boost", "mln-boost", "ilp-rlr", "agg-lr")
SCORES = ("auc_roc", "auc_pr", "auc_pr_2to1", "log_loss")


class Bar(NamedTuple):
    """Figures to compare with, and the least that counts as equally good."""

    who: str
    auc_roc: float
    auc_pr: float | None
    least_roc: float
    least_pr: float | None


STUDY = full_study()
DATA_SETS = {task.title: task for task in STUDY.tasks if task.name in ("uwcse", "imdb", "webkb")}


def _jar(auc_roc: float, auc_pr: float, margin: float = 0.02) -> Bar:
    return Bar("BoostSRL", auc_roc, auc_pr, auc_roc - 0.005, auc_pr - margin)


def _paper(auc_roc: float) -> Bar:
    # Read off a figure, to about .01.
    return Bar("paper", auc_roc, None, auc_roc - 0.01, None)


# Where the folds differ as much as those of UW-CSE, the margin is one standard error over the folds.
BARS = {
    ("UW-CSE", "rdn-boost"): _jar(0.978, 0.416, 0.239 / math.sqrt(5)),
    ("UW-CSE", "mln-boost"): _jar(0.967, 0.202, 0.124 / math.sqrt(5)),
    ("UW-CSE", "ilp-rlr"): _paper(0.83),
    ("UW-CSE", "agg-lr"): _paper(0.53),
    ("IMDB", "rdn-boost"): _jar(1.0, 1.0),
    ("IMDB", "mln-boost"): _jar(1.0, 1.0),
    ("IMDB", "ilp-rlr"): _paper(0.60),
    ("IMDB", "agg-lr"): _paper(0.79),
    ("WebKB", "rdn-boost"): _jar(1.0, 1.0),
    ("WebKB", "mln-boost"): _jar(0.998, 0.990),
    ("WebKB", "ilp-rlr"): _paper(0.73),
    ("WebKB", "agg-lr"): _paper(0.65),
}


def main() -> None:
    arguments = _arguments()
    results: dict[str, Any] = {} if arguments.again else measure.load("baselines")
    results["machine"] = measure.machine(["hornbeam", "numpy", "scipy", "scikit-learn"])
    rows: dict[str, Any] = results.setdefault("rows", {})
    os.environ["HORNBEAM_DATA"] = str(measure.DATA)
    for name in arguments.only:
        if find(DATA_SETS[name].data) is None:
            say(f"{name}: no such data here, left out")
            continue
        for learner in arguments.learners:
            for fold, seed in _runs(name, learner, arguments.seeds):
                key = f"{name} {learner} {_folder(name, fold)} {seed}"
                if key not in rows:
                    rows[key] = _measured(DATA_SETS[name], learner, fold, seed)
                    say(f"{key}: AUC-ROC {rows[key]['auc_roc']:.3f}, AUC-PR {rows[key]['auc_pr']:.3f}")
                    measure.save("baselines", results)
    print(report(rows))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=DATA_SETS, default=list(DATA_SETS))
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=list(LEARNERS))
    parser.add_argument("--seeds", type=int, default=5, help="seeds of learners that draw a sample")
    parser.add_argument("--again", action="store_true", help="measure what is already in the results file")
    return parser.parse_args()


def _runs(name: str, learner: str, seeds: int) -> Iterator[tuple[int, int]]:
    drawn = METHODS[learner].settings(DATA_SETS[name]).get("neg_pos_ratio") is not None
    for fold in range(1, DATA_SETS[name].n_folds + 1):
        for seed in range(seeds if drawn else 1):
            yield fold, seed


def _folder(name: str, fold: int) -> str:
    layout = DATA_SETS[name].data.layout
    assert isinstance(layout, FoldFolders)
    return layout.pattern.format(fold)


def _measured(task: Task, learner: str, fold: int, seed: int) -> dict[str, float]:
    """Learn on the training part of a fold, and score all examples of its test part."""
    row = measured_run(task, run_of(task, METHODS[learner], fold, seed))
    return {score: float(row["scores"][score]) for score in SCORES} | {"fit_cpu": row["cpu_seconds"]}


# --- the table ------------------------------------------------------------------------------------


def report(rows: dict[str, Any]) -> str:
    """Means over the folds (of the means over seeds), with their spread, next to the figures of others."""
    header = [
        "data",
        "learner",
        "runs",
        "AUC-ROC",
        "AUC-PR",
        "log-loss",
        "others: AUC-ROC",
        "AUC-PR",
        "target",
    ]
    lines = []
    for name, learner in BARS:
        by_fold = [
            [
                rows[key]
                for seed in range(100)
                if (key := f"{name} {learner} {_folder(name, fold)} {seed}") in rows
            ]
            for fold in range(1, DATA_SETS[name].n_folds + 1)
        ]
        if all(by_fold):
            lines.append(_line(name, learner, by_fold))
    return table(header, lines)


def _line(name: str, learner: str, by_fold: Sequence[Sequence[dict[str, float]]]) -> list[str]:
    bar = BARS[name, learner]
    folds = {score: [mean(run[score] for run in runs) for runs in by_fold] for score in SCORES}
    roc, precision = mean(folds["auc_roc"]), mean(folds["auc_pr"])
    met = roc >= bar.least_roc and (bar.least_pr is None or precision >= bar.least_pr)
    wanted = f"ROC >= {bar.least_roc:.3f}" + ("" if bar.least_pr is None else f", PR >= {bar.least_pr:.3f}")
    return [
        name,
        learner,
        str(sum(map(len, by_fold))),
        *(f"{mean(folds[score]):.3f} ± {stdev(folds[score]):.3f}" for score in ("auc_roc", "auc_pr")),
        f"{mean(folds['log_loss']):.3f}",
        f"{bar.auc_roc:.3f} ({bar.who})",
        "-" if bar.auc_pr is None else f"{bar.auc_pr:.3f}",
        f"{wanted}, {'met' if met else '**missed**'}",
    ]


if __name__ == "__main__":
    main()
