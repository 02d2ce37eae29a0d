"""Sections of the report: tables, with the sentences that belong to them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from study.populations import FACTORS, LEARNED, PATTERNS, TRUTHS, Judged
from study.protocol import (
    BASELINES,
    BOOSTED,
    CHOSEN,
    METHODS,
    PR_AT_2_TO_1,
    PR_OF_OTHER_CLASS,
    Task,
)
from study.published import PUBLISHED
from study.report.figures import curve_tasks, footing_name, lambda_points, wide_lambda_points
from study.report.markdown import (
    NOTHING,
    bar_text,
    listed,
    probability_text,
    score_text,
    seconds_text,
    signed_text,
    spread_text,
    table,
)
from study.results import SECONDS, Results

_CLAUSES_SHOWN = 10


def data_section(results: Results) -> str:
    """The number of examples and the ratio of negatives to positives, ours and published."""
    rows = []
    for task in results.study.tasks:
        sizes = {
            row["fold"]: (row["train"]["n_pos"], row["train"]["n_neg"])
            for method in METHODS
            for row in results.rows_of(task, method)
        }
        ratios = [negative / positive for positive, negative in sizes.values()]
        first = sizes.get(1)
        rows.append(
            [
                task.title,
                task.data.target,
                str(task.n_folds),
                NOTHING if first is None else f"{first[0]:,} / {first[1]:,}",
                NOTHING if first is None else f"{first[1] / first[0]:.3f}",
                f"{fmean(ratios):.3f}" if ratios else NOTHING,
                f"{PUBLISHED[task.published].neg_pos:g}" if task.published else NOTHING,
            ]
        )
    header = [
        "data",
        "target",
        "folds",
        "fold 1, training: pos / neg",
        "neg:pos",
        "mean over folds",
        "published",
    ]
    return table(header, rows)


def score_section(results: Results, title: str, score: str | None) -> str:
    """A score of every method on every task, with the published values; ``None`` is the published AUC-PR."""
    header = [title, *(task.title for task in results.study.tasks)]
    rows = []
    for name, method in METHODS.items():
        ours = [results.summary(task, name, score or task.footing) for task in results.study.tasks]
        rows.append([method.title, *map(spread_text, ours)])
        if score in (None, "auc_roc"):
            bars = [_bar(task, name, score) for task in results.study.tasks]
            if any(bar is not None for bar in bars):
                rows.append([f"{method.title.partition(' (')[0]}, published", *map(bar_text, bars)])
    return table(header, rows)


def _bar(task: Task, method: str, score: str | None) -> float | None:
    bars = PUBLISHED[task.published].bars.get(method) if task.published else None
    return None if bars is None else bars.auc_roc if score == "auc_roc" else bars.auc_pr


def test_section(results: Results) -> str:
    """The mean differences of boosted RLR to each other method, with p-values."""
    parts = []
    for title, score in (("AUC-ROC", "auc_roc"), ("AUC-PR, published footing", None)):
        rows = []
        for ours in BOOSTED:
            for theirs in (*BASELINES, *(("paper",) if ours == CHOSEN else ())):
                cells = []
                for task in results.study.tasks:
                    test = results.test(task, ours, theirs, score or task.footing)
                    cells.append(_test_text(test.difference, test.p) if test else NOTHING)
                rows.append([f"{METHODS[ours].title} − {METHODS[theirs].title}", *cells])
        parts.append(table([title, *(task.title for task in results.study.tasks)], rows))
    return "\n\n".join(parts)


def _test_text(difference: float, p: float) -> str:
    text = f"{signed_text(difference)} ({probability_text(p)})"
    return f"**{text}**" if p < 0.05 else text


def convention_section(results: Results) -> str:
    """The same predictions scored by each convention, side by side."""
    columns: list[tuple[str, Task, str]] = []
    for task in results.study.tasks:
        if task.footing == PR_OF_OTHER_CLASS:
            columns += [
                (f"{task.title}, {task.data.target} positive", task, "auc_pr"),
                (f"{task.title}, {task.data.target} positive, 2:1", task, PR_AT_2_TO_1),
                (f"{task.title}, male positive", task, PR_OF_OTHER_CLASS),
            ]
        elif task.most_negatives > 2:
            columns += [(f"{task.title}, all", task, "auc_pr"), (f"{task.title}, 2:1", task, PR_AT_2_TO_1)]
    if not columns:
        return "No task of this study has more than two negatives per positive, so both conventions agree."
    header = ["AUC-PR", *(title for title, _, _ in columns)]
    rows = [
        [
            METHODS[name].title,
            *(spread_text(results.summary(task, name, score)) for _, task, score in columns),
        ]
        for name in METHODS
    ]
    return table(header, rows)


def lambda_section(results: Results) -> str:
    """AUC-PR at each lambda, ours and published; then on fold 1 over a wider range."""
    rows = []
    tasks = curve_tasks(results)
    for task in tasks:
        points = dict(lambda_points(results, task))
        rows.append(
            [f"{task.title}, ours", *(score_text(points.get(each)) for each in results.study.lambdas)]
        )
        if task.published:
            theirs = PUBLISHED[task.published].sensitivity
            rows.append([f"{task.title}, published", *map(bar_text, theirs)])
    narrow = table(["AUC-PR, all folds", *(f"10^{each:g}" for each in results.study.lambdas)], rows)
    exponents = sorted({*results.study.lambdas, *results.study.wide_lambdas})
    wide = [
        [task.title, *(score_text(dict(wide_lambda_points(results, task)).get(each)) for each in exponents)]
        for task in tasks
    ]
    return f"{narrow}\n\n{table(['AUC-PR, fold 1', *(f'10^{each:g}' for each in exponents)], wide)}"


def time_section(results: Results) -> str:
    """The mean seconds of learning over the folds, ours and published."""
    rows = []
    for task in results.study.tasks:
        cells = []
        for name in METHODS:
            ours = results.summary(task, name, SECONDS)
            cells.append(seconds_text(None if ours is None else ours.mean))
        rows.append([task.title, *cells])
        if task.published:
            theirs = PUBLISHED[task.published].seconds
            rows.append([f"{task.title}, published", *(seconds_text(theirs.get(name)) for name in METHODS)])
    return table(["seconds", *(method.title for method in METHODS.values())], rows)


def clause_section(results: Results) -> str:
    """The sizes of the models of the first fold, and some of the models themselves."""
    counts = []
    parts = []
    for task in results.study.tasks:
        models = {name: row for name in METHODS for row in results.rows_of(task, name) if "model" in row}
        published = PUBLISHED.get(task.published)
        counts.append(
            [
                task.title,
                *(models[name]["size"] if name in models else NOTHING for name in METHODS),
                NOTHING if published is None else f"{published.n_features} / {published.n_rules}",
            ]
        )
        parts.append(f"### {task.title}")
        if published is not None:
            parts.append(f"A rule that the paper prints: `{published.rule}`")
        parts += [
            f"{METHODS[name].title}:\n\n```text\n{_shortened(models[name]['model'])}\n```"
            for name in ("paper", CHOSEN, "ilp-rlr")
            if name in models
        ]
    header = ["fold 1", *(method.title for method in METHODS.values()), "published: AGG features / ILP rules"]
    return "\n\n".join([table(header, counts), *parts])


def _shortened(model: str) -> str:
    lines = model.splitlines()
    if len(lines) <= _CLAUSES_SHOWN + 2:
        return model
    return "\n".join([*lines[: _CLAUSES_SHOWN + 1], f"... and {len(lines) - _CLAUSES_SHOWN - 1} more"])


def setting_section(results: Results) -> str:
    """Every option of every method with the value it was run with."""
    rows = []
    for name, method in METHODS.items():
        settings = [method.settings(task) for task in results.study.tasks]
        shown = []
        for option in settings[0]:
            values = {repr(each[option]) for each in settings}
            if option != "seed":
                shown.append(f"{option}={values.pop()}" if len(values) == 1 else f"{option} as in the paper")
        rows.append([method.title, f"`{name}`", ", ".join(shown)])
    return table(["method", "name", "settings"], rows).replace("|---|---:|---:|", "|---|---|---|")


def population_section(judged: Sequence[Judged], population: int) -> str:
    """Accuracy by population size, and the models that stay near the truth in a larger population."""
    rows, sentences = [], []
    for truth in TRUTHS:
        of_truth = [row for row in judged if row.truth == truth]
        best = {row.factor: row.best_accuracy for row in of_truth}
        rows.append([truth, "true probabilities", "", *(score_text(best[factor]) for factor in FACTORS)])
        last = {row.model: row.accuracy for row in of_truth if row.factor == FACTORS[-1]}
        for name in (*PATTERNS, *LEARNED):
            by_factor = {row.factor: row for row in of_truth if row.model == name}
            weights = by_factor[1].weights
            shown = "" if weights is None else f"[{', '.join(f'{each:.3g}' for each in weights)}]"
            accuracies = [score_text(by_factor[factor].accuracy) for factor in FACTORS]
            rows.append(["", f"`{name}`", shown, *accuracies])
        near = [f"`{name}`" for name in (*PATTERNS, *LEARNED) if last[name] >= best[FACTORS[-1]] - 0.02]
        stay = f"{listed(near)} stay{'s' if len(near) == 1 else ''}" if near else "nothing stays"
        sentences.append(
            f'Truth "{truth}": at {FACTORS[-1]} times the population {stay} within .02 of the accuracy '
            "of the true probabilities."
        )
    header = ["truth", "model", "weights", *(f"population {factor * population}" for factor in FACTORS)]
    return "\n\n".join([table(header, rows), "\n".join(f"- {each}" for each in sentences)])


def footing_section(results: Results) -> str:
    """The AUC-PR that is compared with the published one, for each task."""
    return "\n".join(
        f"- {task.title}: {footing_name(task)}" + (f"; {task.difference}" if task.difference else "") + "."
        for task in results.study.tasks
        if task.published
    )
