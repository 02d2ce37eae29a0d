"""The published bars of boosted RLR, and whether our setting, named in advance, reaches them."""

from __future__ import annotations

from typing import NamedTuple

from study.protocol import CHOSEN, METHODS, TRUTH, Task, is_generated
from study.published import PUBLISHED
from study.report.markdown import (
    NOTHING,
    bar_text,
    listed,
    score_text,
    signed_text,
    spread_text,
    table,
)
from study.results import Results
from study.statistics import Summary

NEAR = 0.05
"""A score this near to a published bar counts as reproduced; bars can be read to about .01."""


_READ = "A bar is reached if our mean, rounded to two digits like the bar, is not below it."


class Judgement(NamedTuple):
    """One score on one task, and the published bar it is compared with."""

    task: Task
    name: str
    score: str
    bar: float
    ours: Summary | None
    """``None`` where a fold has no row yet"""
    first_fold: float | None
    """the score on the only fold whose test data played no part in choosing the options"""

    @property
    def reached(self) -> bool:
        # A bar is read off a figure to two digits, so our mean is rounded to two.
        return self.ours is not None and round(self.ours.mean, 2) >= self.bar


def judgements(results: Results) -> list[Judgement]:
    """Both scores of every published task whose data are not generated."""
    judged = []
    for task in results.study.tasks:
        if task.published and not is_generated(task):
            bars = PUBLISHED[task.published].bars["paper"]
            scores = (("AUC-ROC", "auc_roc", bars.auc_roc), ("AUC-PR", task.footing, bars.auc_pr))
            for name, score, bar in scores:
                first = results.by_fold(task, CHOSEN, score).get(1)
                ours = results.summary(task, CHOSEN, score)
                judged.append(Judgement(task, name, score, bar, ours, first))
    return judged


def bar_section(results: Results) -> str:
    """The bars, whether they are reached, and by how much the others are missed."""
    every = judgements(results)
    rows = [
        [
            f"{each.task.title}, {each.name}",
            bar_text(each.bar),
            spread_text(each.ours),
            NOTHING if each.ours is None else signed_text(each.ours.mean - each.bar),
            NOTHING if each.ours is None else "yes" if each.reached else "**no**",
            score_text(each.first_fold),
        ]
        for each in every
    ]
    header = ["real data", "published B-RLR", f"ours, `{CHOSEN}`", "difference", "reached", "fold 1 alone"]
    parts = [table(header, rows), _READ] if every else []
    parts += [miss_sentence(results, each) for each in every if each.ours is not None and not each.reached]
    reached = [each for each in every if each.reached]
    if every and not any(each.ours is None for each in every):
        parts.insert(0, f"The setting `{CHOSEN}` reaches {len(reached)} of {len(every)} published bars.")
    parts += [truth_sentence(results, task) for task in results.study.tasks if is_generated(task)]
    return "\n\n".join(parts)


def miss_sentence(results: Results, missed: Judgement) -> str:
    """By how much a bar is missed, which methods reach it, and how our data differ from the paper's."""
    assert missed.ours is not None
    short = missed.bar - missed.ours.mean
    text = f"{missed.task.title}, {missed.name} is {score_text(short)} short of the bar"
    error = missed.ours.standard_error
    if error is not None:
        within = "less" if short < error else "more"
        text += f", {within} than the standard error over the folds ({score_text(error)})"
    others = [
        METHODS[name].title
        for name in METHODS
        if (other := results.summary(missed.task, name, missed.score)) and round(other.mean, 2) >= missed.bar
    ]
    text += f"; of our methods {listed(others)} reach{'es' if len(others) == 1 else ''} it"
    if missed.task.difference:
        text += f". What differs from the paper: {missed.task.difference}"
    return text + "."


def difference_section(results: Results) -> str:
    """The difference of each of our methods to the bars published for it."""
    tasks = [task for task in results.study.tasks if task.published]
    rows, near, n = [], 0, 0
    for name, method in METHODS.items():
        cells = []
        for task in tasks:
            bar = PUBLISHED[task.published].bars.get(name)
            roc, pr = (results.summary(task, name, score) for score in ("auc_roc", task.footing))
            if bar is None or roc is None or pr is None:
                cells.append(NOTHING)
                continue
            differences = [roc.mean - bar.auc_roc, pr.mean - bar.auc_pr]
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
    """Our scores on a generated world beside those of its true probabilities."""
    words = []
    for name, score in (("AUC-ROC", "auc_roc"), ("AUC-PR", "auc_pr")):
        best, ours = results.summary(task, TRUTH, score), results.summary(task, CHOSEN, score)
        if best is None or ours is None:
            return f"{task.title} is generated; some of its runs have no row yet."
        words.append(f"{name} {score_text(ours.mean)} (the true probabilities: {score_text(best.mean)})")
    return (
        f"{task.title} is generated, its difficulty fixed before any fit: `{CHOSEN}` reaches "
        f"{listed(words)}. The true probabilities rank best on average, not in every sample. "
        "Its scores are not compared with a published bar."
    )
