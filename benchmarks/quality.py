"""How well the default learner predicts: every public data set, one setting for all.

    python benchmarks/quality.py [--only NAME ...] [--seeds 1] [--report]

Hepatitis, mutagenesis and MovieLens 100K (from its raw tables) have the folds of the other systems in
results/others.json, kept as files of HORNBEAM_DATA or ../shared/data; predictions of all folds are pooled.
The others have their public folds or split. Every test example is scored. Standard errors are those of the
mean over the folds; where predictions are pooled or there is one split, the examples are drawn again 300
times. Rows "long" and "default" may have several seeds on pooled data, the others have seed 0. Five rows
leave one idea out of the long model. Results go to results/quality.json after each data set.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score

import measure
from hornbeam.data.database import Database, Examples
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.in_place.load import load_quietly
from hornbeam.learning.effects.learner import fit
from hornbeam.learning.options import EffectOptions
from hornbeam.model.predict import predict
from measure import DATA, say, table
from study.one_run import without as dropped

SCHEMA = Path(__file__).with_name("movielens_100k.toml")
ROWS: Mapping[str, Mapping[str, Any]] = {
    "long": {"max_effects": "all"},
    "default": {},
    "20 effects": {"max_effects": 20},
    "cheap": {"n_bags": 1},
    "long, one condition": {"max_effects": "all", "max_conditions": 1},
    "long, one link": {"max_effects": "all", "max_links": 1},
    "long, one cut": {"max_effects": "all", "n_cuts": 1},
    "long, no weights per constant": {"max_effects": "all", "per_constant": False},
    "long, one bag": {"max_effects": "all", "n_bags": 1},
}
SEEDED = ("long", "default")
LARGE = ("CiteSeer",)
"""Data sets on which only the rows of SEEDED are measured."""
DRAWS = 300
LEAST = 1e-6
"""Probabilities are kept this far from 0 and 1 in the log-loss."""

Floats = npt.NDArray[np.float64]


class Pooled(NamedTuple):
    """One set of examples, and a file with the fold of each."""

    folder: str
    target: str | None = None
    schema: Path | None = None
    prefix: str = ""
    """what names have in the file of folds, and not in the data"""


class Split(NamedTuple):
    """Folders with a part to learn from and a part to test on."""

    folder: str
    target: str
    folds: tuple[str, ...] = ("",)
    without: str | None = None


DATA_SETS: Mapping[str, Pooled | Split] = {
    "hepatitis": Pooled("hepatitis"),
    "mutagenesis": Pooled("mutagenesis"),
    "ICML": Split("icml", "coauthor"),
    "WebKB": Split("webkb", "faculty", tuple(f"fold{n}" for n in range(1, 5))),
    "WebKB without student": Split("webkb", "faculty", tuple(f"fold{n}" for n in range(1, 5)), "student"),
    "IMDB": Split("imdb", "workedunder", tuple(f"Fold{n}" for n in range(1, 6))),
    "MovieLens 100K": Pooled("movielens_100k", "users.gender=F", SCHEMA, "u"),
    "UW-CSE": Split("uwcse", "advisedby", tuple(f"fold{n}" for n in range(1, 6))),
    "CiteSeer": Split("citeseer", "infield_ftitle", ("fold1",)),
}
WANTED: Mapping[str, tuple[float, float | None]] = {
    "hepatitis": (0.94, 0.92),
    "mutagenesis": (0.94, 0.97),
    "ICML": (0.80, 0.44),
    "WebKB": (0.999, 0.999),
    "WebKB without student": (0.77, 0.60),
    "IMDB": (0.998, 0.99),
    "MovieLens 100K": (0.79, 0.61),
    "UW-CSE": (0.975, 0.44),
    "CiteSeer": (0.972, None),
}
"""What the long model is held to: AUC-ROC and AUC-PR."""


class Fold(NamedTuple):
    """Examples to learn from and examples to test on, with the databases that they are in."""

    train: Database
    examples: Examples
    test: Database
    names: Any
    truth: Any


class Outcome(NamedTuple):
    """What one fit predicts, and what it cost."""

    truth: Any
    chances: Floats
    base: float
    """share of positives among the examples learned from"""
    effects: int
    fit_cpu: float
    predict_cpu: float


def main() -> None:
    arguments = _arguments()
    results = measure.load("quality")
    results["machine"] = measure.machine(["hornbeam", "numpy", "scipy", "scikit-learn"])
    results["order"] = {"rows": list(ROWS), "data": list(DATA_SETS)}
    scores: dict[str, Any] = results.setdefault("scores", {})
    for name in () if arguments.report else arguments.only:
        if not (DATA / DATA_SETS[name].folder).exists():
            say(f"{name}: no such data here, left out")
            continue
        scores[name] = measured(name, arguments.seeds)
        measure.save("quality", results)
        measure.write_section("quality", report(results))
    measure.write_section("quality", report(results))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=DATA_SETS, default=list(DATA_SETS))
    parser.add_argument("--seeds", type=int, default=1, help="seeds of long and default on pooled data")
    parser.add_argument("--report", action="store_true", help="only write the tables")
    return parser.parse_args()


# --- data and fits --------------------------------------------------------------------------------


def folds_of(data: Pooled | Split) -> Iterator[Fold]:
    """The folds of a data set."""
    if isinstance(data, Pooled):
        yield from _pooled_folds(data)
        return
    for fold in data.folds:
        train, test = (
            load_quietly(DATA / data.folder / fold, part, target=data.target) for part in ("train", "test")
        )
        if data.without is not None:
            train, test = dropped(train, data.without), dropped(test, data.without)
        yield Fold(train, train.examples_of(data.target), test, *test.examples(data.target))


def _pooled_folds(data: Pooled) -> Iterator[Fold]:
    database = load_quietly(DATA / data.folder, schema=data.schema, target=data.target)
    target = database.target_named(data.target)
    examples = database.examples_of(target).labelled().as_given()
    names, labels = database.examples(target)
    with (DATA / "folds" / f"{data.folder}.csv").open(encoding="utf-8", newline="") as file:
        fold_of = {row["id"]: int(row["fold"]) for row in csv.DictReader(file)}
    folds = np.array([fold_of[f"{data.prefix}{name}"] for name in np.asarray(names)[:, 0]])
    for fold in np.unique(folds):
        inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        yield Fold(database, examples.at(inside), database, names[outside], labels[outside])


def _outcome(fold: Fold, options: Mapping[str, Any]) -> Outcome:
    start = time.process_time()
    model = fit(MemoryEngine(fold.train), fold.examples, EffectOptions(**options)).model
    fitted = time.process_time()
    chances = predict(model, fold.test, fold.names).probabilities
    predicted = time.process_time()
    base = float(fold.examples.labels.mean())
    effects = len(model.effects) + len(model.clauses)
    return Outcome(np.asarray(fold.truth), chances, base, effects, fitted - start, predicted - fitted)


def measured(name: str, seeds: int) -> dict[str, Any]:
    """The scores of every row and seed on a data set."""
    data = DATA_SETS[name]
    folds = list(folds_of(data))
    by_fold = isinstance(data, Split) and len(folds) > 1
    found: dict[str, Any] = {}
    long: dict[int, Draws] = {}
    for row, options in ROWS.items():
        if name in LARGE and row not in SEEDED:
            continue
        several = row in SEEDED and isinstance(data, Pooled)
        for seed in range(seeds if several else 1):
            outcomes = [_outcome(fold, {**options, "seed": seed}) for fold in folds]
            draws = _draws(outcomes, by_fold)
            long.setdefault(seed, draws)
            scores = _scores(outcomes, draws, long[seed], by_fold)
            found.setdefault(row, {})[str(seed)] = scores
            say(f"{name}, {row}, seed {seed}: {scores}")
    return found


# --- scores ---------------------------------------------------------------------------------------

Draws = Mapping[str, Floats]
"""Each score: of each fold, or of all examples together and then of examples drawn again from them."""


def _log_loss(truth: Any, chances: Any) -> float:
    return float(log_loss(truth, np.clip(chances, LEAST, 1 - LEAST), labels=[0, 1]))


def _draws(outcomes: Sequence[Outcome], by_fold: bool) -> Draws:
    parts = [(each.truth, each.chances, np.full(len(each.truth), each.base)) for each in outcomes]
    if not by_fold:
        truth, chances, base = (np.concatenate(column) for column in zip(*parts, strict=True))
        random = np.random.default_rng(0)
        places = [np.arange(len(truth)), *random.integers(0, len(truth), (DRAWS, len(truth)))]
        parts = [(truth[place], chances[place], base[place]) for place in places]
    return {
        "auc_roc": np.array([roc_auc_score(truth, chances) for truth, chances, _ in parts]),
        "auc_pr": np.array([average_precision_score(truth, chances) for truth, chances, _ in parts]),
        "log_loss": np.array([_log_loss(truth, chances) for truth, chances, _ in parts]),
        "base_log_loss": np.array([_log_loss(truth, base) for truth, _, base in parts]),
    }


def _scores(outcomes: Sequence[Outcome], draws: Draws, long: Draws, by_fold: bool) -> dict[str, Any]:
    """Each score and its standard error; the difference from the long model with its own."""
    scores = {name: _with_error(values, by_fold) for name, values in draws.items()}
    beside = {name: _with_error(values - long[name], by_fold) for name, values in draws.items()}
    costs = {
        "effects": float(np.mean([each.effects for each in outcomes])),
        "fit_cpu": round(float(np.mean([each.fit_cpu for each in outcomes])), 3),
        "predict_cpu": round(float(np.mean([each.predict_cpu for each in outcomes])), 3),
    }
    return {**scores, **costs, "minus_long": beside}


def _with_error(values: Floats, by_fold: bool) -> list[float]:
    if by_fold:
        value, error = values.mean(), values.std(ddof=1) / np.sqrt(len(values))
    else:
        value, error = values[0], values[1:].std(ddof=1)
    return [round(float(value), 5), round(float(error), 5)]


# --- the tables -----------------------------------------------------------------------------------


def report(results: Mapping[str, Any]) -> str:
    """A table for each data set: our rows, then the figures of others."""
    header = ["row", "AUC-ROC", "AUC-PR", "log-loss", "base rate's", "AUC-ROC - long", "effects", "CPU-s"]
    parts = [measure.machine_line(results["machine"])]
    for name in DATA_SETS:
        scores = results["scores"].get(name)
        if scores is None:
            continue
        lines = [_line(row, seed, each) for row in ROWS for seed, each in scores.get(row, {}).items()]
        lines += [_others_line(*each) for each in _others(name)]
        parts += [f"**{name}**. {_verdict(name, scores)}", table([*header, "to predict"], lines)]
    return "\n\n".join(parts)


def _line(row: str, seed: str, scores: Mapping[str, Any]) -> list[str]:
    return [
        row if seed == "0" else f"{row}, seed {seed}",
        *(f"{scores[name][0]:.3f} ± {scores[name][1]:.3f}" for name in ("auc_roc", "auc_pr", "log_loss")),
        f"{scores['base_log_loss'][0]:.3f}",
        "" if row == "long" else "{:+.3f} ± {:.3f}".format(*scores["minus_long"]["auc_roc"]),
        f"{scores['effects']:.0f}",
        f"{scores['fit_cpu']:.1f}",
        f"{scores['predict_cpu']:.2f}",
    ]


def _others(name: str) -> Iterator[tuple[str, float, float, float | None, float | None]]:
    """The other systems: AUC-ROC, AUC-PR, log-loss and CPU seconds of all fits."""
    others = measure.load("others")
    for jar in others["jars"]:
        if jar["data"] == name:
            yield jar["system"], jar["auc_roc"], jar["auc_pr"], jar.get("log_loss"), None
    if name in others["flattening"]["data"]:
        place = others["flattening"]["data"].index(name)
        for line in others["flattening"]["rows"]:
            if line["scores"][place] is not None:
                yield line["system"], *line["scores"][place], None, line["cpu"][place]


def _others_line(
    system: str, roc: float, precision: float, loss: float | None, cpu: float | None
) -> list[str]:
    spent = "" if cpu is None else f"{cpu:.1f} in all"
    return [
        system,
        f"{roc:.3f}",
        f"{precision:.3f}",
        "" if loss is None else f"{loss:.3f}",
        *[""] * 3,
        spent,
        "",
    ]


def _verdict(name: str, scores: Mapping[str, Any]) -> str:
    """Whether the long model reaches what is wanted of it."""
    roc, precision = WANTED[name]
    long = scores["long"]["0"]
    met = long["auc_roc"][0] >= roc and (precision is None or long["auc_pr"][0] >= precision)
    wanted = f"{roc:.3f}" + ("" if precision is None else f" / {precision:.3f}")
    return f"Wanted of the long model: at least {wanted}, {'met' if met else '**missed**'}."


if __name__ == "__main__":
    main()
