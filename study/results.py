"""The results of a study, by task, method and score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from study.protocol import METHODS, Run, Study, Task
from study.row_file import Row, matched
from study.statistics import PairedTest, Summary, paired_t_test, summary

SECONDS = "cpu_seconds"


@dataclass(frozen=True)
class Results:
    """The runs of a study and the latest row of each."""

    study: Study
    runs: Sequence[Run]
    rows: Mapping[int, Row]
    """by the place of the run in ``runs``"""
    errors: tuple[str, ...]
    """the failures of runs that have no row"""

    @property
    def missing(self) -> list[Run]:
        return [run for place, run in enumerate(self.runs) if place not in self.rows]

    def rows_of(self, task: Task, method: str, l2: float | None = None) -> list[Row]:
        """The rows of a method on a task, with the penalty ``l2``.

        Without ``l2``, a method that uses the paper's lambda has the task's; other methods have their own.
        """
        wanted = (
            l2 if l2 is not None else task.l2 if method in METHODS and METHODS[method].papers_l2 else None
        )
        return [
            row
            for place, row in self.rows.items()
            if (run := self.runs[place]).task == task.name
            and run.method == method
            and (wanted is None or run.settings.get("l2") == wanted)
        ]

    def by_fold(self, task: Task, method: str, score: str, l2: float | None = None) -> dict[int, float]:
        """The score on each fold, as the mean over seeds."""
        values: dict[int, list[float]] = {}
        for row in self.rows_of(task, method, l2):
            values.setdefault(row["fold"], []).append(_value(row, score))
        return {fold: fmean(each) for fold, each in sorted(values.items())}

    def summary(self, task: Task, method: str, score: str, l2: float | None = None) -> Summary | None:
        """Mean and spread over the folds; None if a fold has no row yet."""
        scores = self.by_fold(task, method, score, l2)
        return summary(list(scores.values())) if len(scores) == task.n_folds else None

    def test(self, task: Task, ours: str, theirs: str, score: str) -> PairedTest | None:
        """Compare two methods over the folds; None if a fold of either has no row yet."""
        a, b = (self.by_fold(task, method, score) for method in (ours, theirs))
        if len(a) != task.n_folds or len(b) != task.n_folds:
            return None
        return paired_t_test(list(a.values()), list(b.values()))

    def distinct(self, name: str) -> list[Any]:
        """The distinct values of a field of the rows, in the order of the rows."""
        values: list[Any] = []
        for row in self.rows.values():
            if name in row and row[name] not in values:
                values.append(row[name])
        return values


def _value(row: Row, score: str) -> float:
    return float(row[score] if score == SECONDS else row["scores"][score])


def collected(study: Study, rows: Iterable[Row]) -> Results:
    """The results of a study from rows, some of which may be of other studies."""
    every, runs = list(rows), study.runs()
    row_of_run = matched(runs, every)
    failed = {
        (row["task"], row["fold"], row["seed"], row["method"]): row["error"]
        for row in every
        if "error" in row
    }
    missing = [run for place, run in enumerate(runs) if place not in row_of_run]
    errors = {
        f"{run.method} on {run.task}, fold {run.fold}: {failed[run[:4]]}"
        for run in missing
        if run[:4] in failed
    }
    return Results(study, runs, row_of_run, tuple(sorted(errors)))
