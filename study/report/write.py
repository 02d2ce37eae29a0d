"""The report as Markdown with figures. The same rows give the same report, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from hornbeam.files import write_file
from study.populations import Judged
from study.protocol import CHOSEN
from study.report.answers import answers
from study.report.figures import figures
from study.report.markdown import listed
from study.report.published_bars import bar_section, difference_section
from study.report.sections import (
    clause_section,
    convention_section,
    data_section,
    footing_section,
    lambda_section,
    population_section,
    score_section,
    setting_section,
    test_section,
    time_section,
)
from study.results import Results

REPORT, FIGURES = "REPORT.md", "figures"


def write_report(results: Results, judged: Sequence[Judged], out: Path) -> Path:
    """Write REPORT.md and its figures into a folder, and return the path of the report."""
    (out / FIGURES).mkdir(parents=True, exist_ok=True)
    for name, figure in figures(results, judged).items():
        figure.save(out / FIGURES / name)
    write_file(out / REPORT, report_text(results, judged))
    return out / REPORT


def report_text(results: Results, judged: Sequence[Judged]) -> str:
    """The report as Markdown."""
    return "\n\n".join(_parts(results, judged)) + "\n"


def _parts(results: Results, judged: Sequence[Judged]) -> Iterator[str]:
    quick = not any(task.published for task in results.study.tasks)
    yield "# Structure learning for relational logistic regression: the published study, reproduced"
    yield (
        "Every number, sentence and figure here is written by `make reproduce` from the rows in "
        "`runs.jsonl` and `populations.jsonl`. The paper is Ramanan et al., *Structure Learning for "
        "Relational Logistic Regression: An Ensemble Approach*, KR 2018; its numbers are read off its "
        "figures (to about .01) and tables."
    )
    if quick:
        yield "This is the quick study: two small generated worlds. No published values compare with it."
    yield _made_with(results)
    yield from _incomplete(results)
    yield "## The bars\n\n" + bar_section(results)
    if not quick:
        yield "Each method against the bars published for it; the implementations are ours:"
        yield difference_section(results)
    yield "## The questions"
    for question, answer in answers(results).items():
        yield f"**{question}** {answer}"
    yield "## Conventions"
    yield _CONVENTIONS
    if not quick:
        yield "The AUC-PR that is comparable with the published one:\n\n" + footing_section(results)
    yield convention_section(results)
    yield "## Data\n\n" + data_section(results)
    yield "## Scores"
    yield (
        "Mean ± standard deviation over folds. Where a learner draws a sample, the value of a fold is the "
        "mean over seeds."
    )
    yield f"![AUC-ROC]({FIGURES}/auc_roc.svg)"
    yield score_section(results, "AUC-ROC", "auc_roc")
    yield f"![AUC-PR on the published footing]({FIGURES}/auc_pr_published_footing.svg)"
    yield score_section(results, "AUC-PR, published footing", None)
    yield f"![AUC-PR over all test examples]({FIGURES}/auc_pr_all_negatives.svg)"
    yield score_section(results, "AUC-PR, all test examples", "auc_pr")
    yield score_section(results, "log-loss", "log_loss")
    yield "## Differences\n\n" + _TESTS + "\n\n" + test_section(results)
    yield f"## Lambda\n\n![AUC-PR by lambda]({FIGURES}/lambda.svg)"
    yield f"![AUC-PR by lambda, wider range]({FIGURES}/lambda_wide.svg)"
    yield lambda_section(results)
    yield "## Learning time\n\n" + _TIMES + "\n\n" + time_section(results)
    if judged:
        yield "## Populations of other sizes\n\n" + _POPULATIONS
        yield f"![populations]({FIGURES}/populations.svg)"
        yield population_section(judged, results.study.population)
    yield "## What was learned\n\n" + clause_section(results)
    yield "## Settings\n\n" + setting_section(results)
    yield "## Run it yourself\n\n" + _commands(results)


_CONVENTIONS = (
    "AUC-PR depends on how many negatives are scored. Published numbers in this field seem to be "
    "computed with two test negatives per positive. This report gives both, and never compares one with "
    "the other: *all test examples*, and *2:1*, the mean over 200 seeded draws of the negatives. Examples "
    "with equal probabilities are ties. The paper's AUC-PR on MovieLens fits male as the positive class "
    "(its AUC-ROC of .48 goes with an AUC-PR of .72), so both classes are given. In WebKB no faculty "
    "member is a student, which nearly gives the answer away, so the data are also used without "
    "`student`. Boosted RLR is run in three settings. Two are the paper's: greedy, and with a beam of 10, "
    "as the paper ran MLN-B; both use the paper's lambda for each data set, which it chose on the test "
    f"sets. The third, `{CHOSEN}`, is the same for all data sets and was chosen by cross-validation inside "
    "the training data of the first folds. These are test data of the other folds, so the first fold "
    "alone is shown beside the mean over folds."
)
_TESTS = (
    "Mean difference over the folds, and in brackets the p-value of a two-sided paired t-test; bold "
    "where p < .05. This is the paper's test. It is a weak one: there are only 4 or 5 folds, and folds that "
    "share training data are not independent."
)
_TIMES = (
    "CPU seconds of learning (structure, counting and weights) in one thread, mean over folds. The "
    "published seconds were measured on another machine with another implementation, so the ratio to ours "
    "means little."
)
_POPULATIONS = (
    "Each generated world has groups whose members come from one population. A group is more likely true "
    "than false on one side of the stated border, and less likely on the other. In one population, true "
    "and false counts always add up to its size, so three patterns of weights fit the training data "
    "equally well; in larger populations they predict differently. The ridge penalty decides which pattern "
    "is learned: at its optimum the population times w0 is w1 + w2, so w0 is small, and `paper` predicts "
    "like `[0, w1, w2]`. With the totals of the training data instead of those of the data at hand, a "
    "model predicts like `[w0, w1, 0]`. Accuracy on new worlds with populations of the same size and larger:"
)


def _commands(results: Results) -> str:
    minutes = sum(row.get("cpu_seconds", 0.0) for row in results.rows.values()) / 60
    return "\n".join(
        [
            f"Learning in all these runs took {minutes:.1f} CPU minutes. A study that is interrupted "
            "continues where it stopped.",
            "",
            "```text",
            "python -m study --out results                          the whole study",
            "python -m study --out results --quick                  two small generated worlds",
            f"python -m study --out results --only {CHOSEN} --again   one method, once more",
            "python -m study --out results --report-only            only the report, without any runs",
            "```",
        ]
    )


def _made_with(results: Results) -> str:
    codes, made, machines = (results.distinct(name) for name in ("code", "versions", "machine"))
    lines = [f"{len(results.rows):,} of {len(results.runs):,} runs are done."]
    if made:
        versions = ["; ".join(f"{name} {number}" for name, number in each.items()) for each in made]
        lines.append(f"Versions: {' and '.join(versions)}.")
    if machines:
        texts = [f"{each['cores']} cores ({each['processor']}, {each['system']})" for each in machines]
        lines.append(f"Machine: {listed(texts)}.")
    if codes:
        note = " (several versions of the code; later rows of a run replace earlier ones)"
        lines.append(f"Code: {listed(sorted(codes))}{note if len(codes) > 1 else ''}.")
    return " ".join(lines)


def _incomplete(results: Results) -> Iterator[str]:
    if results.missing:
        counts: dict[str, int] = {}
        for run in results.missing:
            counts[f"{run.method} on {run.task}"] = counts.get(f"{run.method} on {run.task}", 0) + 1
        shown = "; ".join(f"{name} ({number})" for name, number in list(counts.items())[:20])
        more = f"; and {len(counts) - 20} more" if len(counts) > 20 else ""
        yield f"**Not complete.** {len(results.missing):,} runs are missing: {shown}{more}."
    for error in results.errors:
        yield f"**Failed:** {error}"
