"""The paper's questions, answered in sentences that are made from the numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from study.protocol import CHOSEN, METHODS, Task
from study.published import PUBLISHED
from study.report.figures import curve_tasks, lambda_points, wide_lambda_points
from study.report.markdown import listed, score_text
from study.results import Results
from study.statistics import PairedTest

LEVEL = 0.0005
"""Smaller differences count as zero, because the tables show three digits."""
STEADY = 0.05
"""A score that changes by no more than this over all lambdas does not depend on lambda."""


class MethodComparison(NamedTuple):
    """The data sets on which one method is above, level with or below another.

    ``surely_above`` and ``surely_below`` are those where the difference is significant.
    """

    score: str
    above: tuple[str, ...]
    level: tuple[str, ...]
    below: tuple[str, ...]
    surely_above: tuple[str, ...]
    surely_below: tuple[str, ...]

    @property
    def n(self) -> int:
        return len(self.above) + len(self.level) + len(self.below)


def compared(score: str, tests: Sequence[tuple[str, PairedTest]]) -> MethodComparison:
    """Sort the tests of data sets by their outcome."""
    above, level, below, surely_above, surely_below = [], [], [], [], []
    for title, test in tests:
        if abs(test.difference) < LEVEL:
            level.append(title)
        elif test.difference > 0:
            above.append(title)
            surely_above += [title] * test.significant
        else:
            below.append(title)
            surely_below += [title] * test.significant
    lists = (above, level, below, surely_above, surely_below)
    return MethodComparison(score, *map(tuple, lists))


def comparisons(results: Results, ours: str, theirs: str) -> list[MethodComparison]:
    """Compare two methods by AUC-ROC, and by AUC-PR on the published footing."""
    tasks = curve_tasks(results)
    scores: list[tuple[str, Callable[[Task], str]]] = [
        ("AUC-ROC", lambda task: "auc_roc"),
        ("AUC-PR", lambda task: task.footing),
    ]
    outcomes = []
    for name, score_of in scores:
        tests = [(task.title, results.test(task, ours, theirs, score_of(task))) for task in tasks]
        outcomes.append(compared(name, [(title, test) for title, test in tests if test is not None]))
    return outcomes


def comparison_sentence(outcome: MethodComparison, ours: str, theirs: str) -> str:
    """The outcome of a comparison in one sentence.

    >>> outcome = MethodComparison("AUC-ROC", ("IMDB", "WebKB"), (), ("UW-CSE",), ("WebKB",), ())
    >>> comparison_sentence(outcome, "B-RLR", "MLN-B")
    'In AUC-ROC, B-RLR is above MLN-B on 2 of 3 data sets, significantly on 1 (WebKB), and below it on 1 \
(UW-CSE), nowhere significantly.'
    """
    if not outcome.n:
        return f"In {outcome.score}, {ours} and {theirs} have no data set with all folds yet."
    text = f"In {outcome.score}, {ours} is above {theirs} on {len(outcome.above)} of {outcome.n} data sets"
    if outcome.above:
        text += f", {_surely(outcome.surely_above)}"
    if outcome.level:
        text += f", level with it on {len(outcome.level)} ({listed(outcome.level)})"
    if outcome.below:
        below = f"{len(outcome.below)} ({listed(outcome.below)})"
        text += f", and below it on {below}, {_surely(outcome.surely_below)}"
    return text + "."


def _surely(titles: tuple[str, ...]) -> str:
    return f"significantly on {len(titles)} ({listed(titles)})" if titles else "nowhere significantly"


def verdict(outcomes: Sequence[MethodComparison]) -> str:
    """The answer to "is it better?" in a few words.

    >>> verdict([MethodComparison("AUC-ROC", ("A", "B"), (), (), ("A", "B"), ())])
    'Yes'
    """
    if not all(each.n for each in outcomes):
        return "Not known yet"
    if any(each.surely_below for each in outcomes):
        return "Not everywhere" if any(each.surely_above for each in outcomes) else "No"
    if not any(each.below for each in outcomes) and any(each.surely_above for each in outcomes):
        return "Yes"
    if any(each.surely_above for each in outcomes) and all(
        len(each.above) >= len(each.below) for each in outcomes
    ):
        return "Mostly"
    return "The data do not tell"


_QUESTIONS = {
    "Q1": ("ilp-rlr", "Does boosting clauses and weights together beat learning rules first, then weights?"),
    "Q2": ("agg-lr", "Does it beat logistic regression on engineered aggregates?"),
    "Q3": ("mln-boost", "Does it beat boosted Markov logic networks?"),
}
_PAPER_SAYS = {
    "Q1": "The paper says yes, on all data sets.",
    "Q2": "The paper says yes, strongly.",
    "Q3": "The paper says on par or significantly better on all data sets.",
    "Q4": "The paper says that it does not, on most data sets, within these bounds.",
}


def answers(results: Results) -> dict[str, str]:
    """Each question with a paragraph that answers it."""
    paragraphs = {}
    for name, (theirs, question) in _QUESTIONS.items():
        parts = []
        for ours in (CHOSEN, "paper"):
            every = comparisons(results, ours, theirs)
            titles = METHODS[ours].title, METHODS[theirs].title
            word = (
                verdict(every) if ours == CHOSEN else f"With the paper's settings: {verdict(every).lower()}"
            )
            parts += [f"**{word}.**" if ours == CHOSEN else f"{word}."]
            parts += [comparison_sentence(each, *titles) for each in every]
        paragraphs[f"{name}. {question}"] = " ".join([*parts, _PAPER_SAYS[name]])
    question = "Q4. Does the result depend on lambda?"
    paragraphs[question] = " ".join([*lambda_sentences(results), _PAPER_SAYS["Q4"]])
    return paragraphs


def lambda_sentences(results: Results) -> list[str]:
    """How much AUC-PR changes over the paper's lambdas, ours and published."""
    ranges: list[tuple[str, float, float]] = []
    published: list[tuple[str, float]] = []
    for task in curve_tasks(results):
        values = [value for _, value in lambda_points(results, task)]
        if len(values) == len(results.study.lambdas):
            ranges.append((task.title, min(values), max(values)))
        if task.published:
            theirs = PUBLISHED[task.published].sensitivity
            published.append((task.title, max(theirs) - min(theirs)))
    if not ranges:
        return ["**Not known yet.**"]
    steady = [title for title, low, high in ranges if high - low <= STEADY]
    word = "No" if len(steady) == len(ranges) else "On some data" if steady else "Yes"
    widest, low, high = max(ranges, key=lambda each: each[2] - each[1])
    sentences = [
        f"**{word}.**",
        f"With the paper's settings, AUC-PR changes by at most {score_text(STEADY)} over all lambdas on "
        f"{len(steady)} of {len(ranges)} data sets ({listed(steady)}).",
        f"It changes most on {widest}, from {score_text(low)} to {score_text(high)}.",
    ]
    wide = [
        (task.title, [value for _, value in wide_lambda_points(results, task)])
        for task in curve_tasks(results)
    ]
    exponents = sorted({*results.study.lambdas, *results.study.wide_lambdas})
    if all(len(values) == len(exponents) for _, values in wide):
        title, values = max(wide, key=lambda each: max(each[1]) - min(each[1]))
        sentences.append(
            f"On the first fold, from 10^{exponents[0]:g} to 10^{exponents[-1]:g}, it changes by at most "
            f"{score_text(max(values) - min(values))} ({title})."
        )
    if published:
        steady_theirs = [title for title, width in published if width <= STEADY + 1e-9]
        sentences.append(
            f"In the paper's own figure it changes by at most {score_text(STEADY)} on "
            f"{len(steady_theirs)} of {len(published)} ({listed(steady_theirs)})."
        )
    return sentences
