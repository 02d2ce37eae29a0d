"""The figures of the report: which numbers each one shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hornbeam.drawing.figure import Figure
from study.populations import FACTORS, LEARNED, PATTERNS, TRUTHS, Judged
from study.protocol import METHODS, PR_OF_OTHER_CLASS, Task, penalty
from study.published import LAMBDAS, PUBLISHED
from study.report.charts import COLOURS, Bar, Line, Panel, bar_chart, line_panels
from study.results import Results

_HOLLOW = "Filled: ours, mean over folds, with the standard deviation. Hollow: read off the paper's figure."


def figures(results: Results, judged: Sequence[Judged]) -> dict[str, Figure]:
    """Every figure of the report, by the name of its file."""
    drawn = {
        "auc_roc.svg": _bars(results, "AUC-ROC", "auc_roc", published="auc_roc", note=_HOLLOW),
        "auc_pr_published_footing.svg": _bars(
            results, "AUC-PR on the published footing", None, published="auc_pr", note=_HOLLOW
        ),
        "auc_pr_all_negatives.svg": _bars(
            results,
            "AUC-PR over all test examples",
            "auc_pr",
            published=None,
            note="Mean over folds, with the standard deviation. No published values compare with these.",
        ),
        "lambda.svg": _lambda_curves(results),
        "lambda_wide.svg": _wide_lambda_curves(results),
    }
    if judged:
        drawn["populations.svg"] = _population_curves(judged, results.study.population)
    return drawn


def footing_name(task: Task) -> str:
    """The footing of a task's AUC-PR in words."""
    if task.footing == PR_OF_OTHER_CLASS:
        return "male as positive"
    few = task.most_negatives <= 2
    return "all test examples (no more than 2 negatives per positive)" if few else "2 negatives per positive"


def _bars(results: Results, title: str, score: str | None, published: str | None, note: str) -> Figure:
    tasks = results.study.tasks
    series = []
    for name, method in METHODS.items():
        bars = []
        for task in tasks:
            ours = results.summary(task, name, score or task.footing)
            theirs = PUBLISHED[task.published].bars.get(name) if task.published and published else None
            bars.append(
                Bar(
                    None if ours is None else ours.mean,
                    None if ours is None else ours.deviation,
                    None if theirs is None else getattr(theirs, str(published)),
                )
            )
        series.append((method.title, bars))
    return bar_chart(title, [task.title for task in tasks], series, note)


def _curve(
    results: Results, task: Task, exponents: Sequence[float], score: str, first: bool
) -> list[tuple[float, float]]:
    """The mean over folds, or the value of the first fold, at each lambda that has all its rows."""
    points = []
    for exponent in exponents:
        by_fold = results.by_fold(task, "paper", score, penalty(exponent))
        if first and 1 in by_fold:
            points.append((exponent, by_fold[1]))
        elif not first and len(by_fold) == task.n_folds:
            points.append((exponent, sum(by_fold.values()) / task.n_folds))
    return points


def curve_tasks(results: Results) -> list[Task]:
    """The tasks that were run with several lambdas."""
    published = [task for task in results.study.tasks if task.published]
    return published or list(results.study.tasks)


def lambda_points(results: Results, task: Task) -> list[tuple[float, float]]:
    """AUC-PR on the published footing at each exponent of lambda, mean over folds."""
    return _curve(results, task, results.study.lambdas, task.footing, first=False)


def wide_lambda_points(results: Results, task: Task) -> list[tuple[float, float]]:
    """AUC-PR on the published footing at each exponent of lambda, on the first fold."""
    exponents = sorted({*results.study.lambdas, *results.study.wide_lambdas})
    return _curve(results, task, exponents, task.footing, first=True)


def _lambda_curves(results: Results) -> Figure:
    panels = []
    for task in curve_tasks(results):
        lines = [Line("ours", lambda_points(results, task), COLOURS[5])]
        if task.published:
            points = list(zip(LAMBDAS, PUBLISHED[task.published].sensitivity, strict=True))
            lines.append(Line("published", points, COLOURS[1], dashed=True))
        panels.append(Panel(task.title, lines))
    return line_panels(
        "AUC-PR by lambda, all folds (paper preset, greedy)",
        panels,
        "lambda",
        [(exponent, f"10^{exponent:g}") for exponent in results.study.lambdas],
        "AUC-PR on the published footing, mean over folds.",
    )


def _wide_lambda_curves(results: Results) -> Figure:
    exponents = sorted({*results.study.lambdas, *results.study.wide_lambdas})
    panels = [
        Panel(
            task.title,
            [
                Line("AUC-PR", wide_lambda_points(results, task), COLOURS[5]),
                Line("AUC-ROC", _curve(results, task, exponents, "auc_roc", first=True), COLOURS[6]),
            ],
        )
        for task in curve_tasks(results)
    ]
    return line_panels(
        "Fold 1 over a wider range of lambda (paper preset, greedy)",
        panels,
        "lambda",
        [(exponent, f"10^{exponent:g}") for exponent in exponents if exponent == int(exponent)],
        "AUC-PR on the published footing.",
    )


def _population_curves(judged: Sequence[Judged], population: int) -> Figure:
    colours: Mapping[str, str] = dict(zip((*PATTERNS, *LEARNED), COLOURS[1:], strict=True))
    panels = []
    for truth in TRUTHS:
        lines = []
        for name, colour in colours.items():
            accuracy = {row.factor: row.accuracy for row in judged if (row.truth, row.model) == (truth, name)}
            points = [(float(place), accuracy[factor]) for place, factor in enumerate(FACTORS)]
            lines.append(Line(name, points, colour, dashed=name in LEARNED))
        panels.append(Panel(f"truth: {truth}", lines))
    return line_panels(
        f"Accuracy when the population grows (learned at {population})",
        panels,
        "population",
        [(float(place), str(factor * population)) for place, factor in enumerate(FACTORS)],
        "Solid: patterns that fit the training data equally well. Dashed: learned models.",
    )
