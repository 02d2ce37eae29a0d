"""The published bars of boosted RLR, and whether the setting named in advance reaches them."""

from __future__ import annotations

from typing import NamedTuple

from hornbeam.datasets.catalogue import SmokersWorld, UniversityWorld
from hornbeam.study.protocol import CHOSEN, METHODS, TRUTH, Task
from hornbeam.study.published import PUBLISHED
from hornbeam.study.report.tables import (
    NOTHING,
    bar_text,
    listed,
    score_text,
    signed_text,
    spread_text,
    table,
)
from hornbeam.study.results import Results
from hornbeam.study.statistics import Summary

NEAR = 0.05
"""Differences from a published bar up to here are called near; bars are read to about .01."""


_READ = "A bar is reached where our mean, rounded to the two digits of the bar, is not below it."


class Judgement(NamedTuple):
    """One score of one task against its bar."""

    task: Task
    name: str
    score: str
    bar: float
    found: Summary | None
    first_fold: float | None
    """on the fold whose test data no option was chosen on"""

    @property
    def reached(self) -> bool:
        # A bar is read off a figure to two digits, so two digits are compared.
        return self.found is not None and round(self.found.mean, 2) >= self.bar


def judgements(results: Results) -> list[Judgement]:
    """Both scores of every task that is not generated."""
    found = []
    for task in results.study.tasks:
        if task.published and not is_generated(task):
            bars = PUBLISHED[task.published].bars["paper"]
            scores = (("AUC-ROC", "auc_roc", bars.auc_roc), ("AUC-PR", task.footing, bars.auc_pr))
            for name, score, bar in scores:
                first = results.by_fold(task, CHOSEN, score).get(1)
                found.append(Judgement(task, name, score, bar, results.summary(task, CHOSEN, score), first))
    return found


def is_generated(task: Task) -> bool:
    return isinstance(task.data.layout, SmokersWorld | UniversityWorld)


def bar_section(results: Results) -> str:
    """The bars, whether they are reached, and what is known of those that are not."""
    every = judgements(results)
    rows = [
        [
            f"{each.task.title}, {each.name}",
            bar_text(each.bar),
            spread_text(each.found),
            NOTHING if each.found is None else signed_text(each.found.mean - each.bar),
            NOTHING if each.found is None else "yes" if each.reached else "**no**",
            score_text(each.first_fold),
        ]
        for each in every
    ]
    header = ["real data", "published B-RLR", f"ours, `{CHOSEN}`", "difference", "reached", "fold 1 alone"]
    parts = [table(header, rows), _READ] if every else []
    parts += [miss_sentence(results, each) for each in every if each.found is not None and not each.reached]
    reached = [each for each in every if each.reached]
    if every and not any(each.found is None for each in every):
        parts.insert(0, f"The setting `{CHOSEN}` reaches {len(reached)} of {len(every)} published bars.")
    parts += [truth_sentence(results, task) for task in results.study.tasks if is_generated(task)]
    return "\n\n".join(parts)


def miss_sentence(results: Results, missed: Judgement) -> str:
    """By how much a bar is missed, and what is known of why."""
    assert missed.found is not None
    short = missed.bar - missed.found.mean
    text = f"{missed.task.title}, {missed.name} is {score_text(short)} short of the bar"
    error = missed.found.standard_error
    if error is not None:
        within = "less" if short < error else "more"
        text += f", {within} than the standard error over the folds ({score_text(error)})"
    others = [
        METHODS[name].title
        for name in METHODS
        if (found := results.summary(missed.task, name, missed.score)) and round(found.mean, 2) >= missed.bar
    ]
    text += f"; of our methods {listed(others)} reach{'es' if len(others) == 1 else ''} it"
    if missed.task.difference:
        text += f". What differs from the paper: {missed.task.difference}"
    return text + "."


def difference_section(results: Results) -> str:
    """Each of our methods against the bars published for it: how near the reproduction comes."""
    tasks = [task for task in results.study.tasks if task.published]
    rows, near, n = [], 0, 0
    for name, method in METHODS.items():
        cells = []
        for task in tasks:
            bar = PUBLISHED[task.published].bars.get(name)
            found = [results.summary(task, name, score) for score in ("auc_roc", task.footing)]
            if bar is None or found[0] is None or found[1] is None:
                cells.append(NOTHING)
                continue
            differences = [found[0].mean - bar.auc_roc, found[1].mean - bar.auc_pr]
            cells.append(" / ".join(map(signed_text, differences)))
            if name == "paper" and not is_generated(task):
                near += sum(abs(each) <= NEAR for each in differences)
                n += len(differences)
        if any(cell != NOTHING for cell in cells):
            rows.append([method.title, *cells])
    parts = [table(["ours - published: AUC-ROC / AUC-PR", *(task.title for task in tasks)], rows)]
    if n:
        parts.append(
            f"With the paper's settings, boosted RLR comes within {score_text(NEAR)} of its published bar in "
            f"{near} of {n} scores on real data."
        )
    return "\n\n".join(parts)


def truth_sentence(results: Results, task: Task) -> str:
    """How near a generated world's best reachable scores come."""
    words = []
    for name, score in (("AUC-ROC", "auc_roc"), ("AUC-PR", "auc_pr")):
        best, ours = results.summary(task, TRUTH, score), results.summary(task, CHOSEN, score)
        if best is None or ours is None:
            return f"{task.title}: generated; not all of its rows are there yet."
        words.append(f"{name} {score_text(ours.mean)} (the true probabilities: {score_text(best.mean)})")
    return (
        f"{task.title} is generated, its difficulty fixed before any fit: `{CHOSEN}` reaches "
        f"{listed(words)}. The true probabilities rank best in the long run, not in "
        "every sample. No claim is made against a published bar."
    )
