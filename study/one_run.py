"""One run: learn from the training data of a fold, score every example of its test data."""

from __future__ import annotations

import hashlib
import os
import platform
import time
from dataclasses import replace
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

import hornbeam
from hornbeam.data.database import Database
from hornbeam.datasets.catalogue import UniversityWorld
from hornbeam.datasets.folds import Fold, fold_of
from hornbeam.datasets.places import find
from hornbeam.datasets.worlds import smokers, smokers_probabilities, university_probabilities
from hornbeam.engines.registry import open_engine
from hornbeam.errors import DataError, HornbeamError
from hornbeam.learning.learners import learn, options_for
from hornbeam.model.clause_model import Floats, Model
from hornbeam.model.evaluate import evaluate
from hornbeam.model.files import LearnedModel
from hornbeam.model.predict import predict
from hornbeam.version import __version__
from study.protocol import METHODS, PR_OF_OTHER_CLASS, TRUTH, Run, Task

_PACKAGES = ("numpy", "scipy", "scikit-learn")
_WITHOUT_EFFECT = ("cli/", "drawing/", "report/")
"""Folders of the package that no result depends on."""


def measure(task: Task, run: Run) -> dict[str, Any]:
    """The row of a run: its settings, scores and times, and the code, versions and machine.

    Times include learning and counting, but not loading the data. If the fit raises one of our
    errors, the row has the ``error`` instead of scores.
    """
    started = {
        "task": run.task,
        "fold": run.fold,
        "seed": run.seed,
        "method": run.method,
        "learner": run.learner,
        "settings": run.settings,
        "code": fingerprint(),
        "versions": versions(),
        "machine": machine(),
    }
    fold = _fold(task, run.fold)
    target = task.data.target
    examples = fold.train.examples_of(target)
    n_pos = int(examples.labels.sum())
    started["train"] = {"n_pos": n_pos, "n_neg": len(examples) - n_pos}
    names, labels = fold.test.examples(target)
    if run.learner == TRUTH:
        return started | _scores(task, labels, _true_probabilities(task, fold.test))
    try:
        _warm(run.learner)
        cpu, wall = time.process_time(), time.perf_counter()
        fitted = learn(
            run.learner,
            open_engine("memory", fold.train),
            examples,
            METHODS[run.method].options(task, run.seed, run.settings.get("l2")),
        )
        spent = {
            "cpu_seconds": round(time.process_time() - cpu, 4),
            "seconds": round(time.perf_counter() - wall, 4),
        }
        scores = _scores(task, labels, predict(fitted.model, fold.test, names).probabilities)
    except HornbeamError as error:
        return started | {"error": str(error)}
    shown = _merged(fitted.model)
    row = started | spent | scores | {"size": shown.size_text}
    if run.fold == 1 and run.seed == 0:
        row["model"] = str(shown)
    return row


def _scores(task: Task, labels: npt.NDArray[np.int8], probabilities: Floats) -> dict[str, Any]:
    scores: dict[str, Any] = dict(evaluate(labels, probabilities).as_dict())
    if task.footing == PR_OF_OTHER_CLASS:
        other = evaluate(1 - labels, 1.0 - probabilities)
        scores |= {PR_OF_OTHER_CLASS: other.auc_pr, "auc_pr_2to1_swapped": other.auc_pr_2to1}
    return {"scores": scores}


def _merged(model: LearnedModel) -> LearnedModel:
    """The model with repeated clauses merged, their weights added."""
    return model.compact() if isinstance(model, Model) else model


def _true_probabilities(task: Task, test: Database) -> Floats:
    of_world = (
        university_probabilities if isinstance(task.data.layout, UniversityWorld) else smokers_probabilities
    )
    return of_world(test)


@lru_cache(maxsize=1)
def _fold(task: Task, number: int) -> Fold:
    """A fold as the task uses it. The last fold is cached, because runs on one fold follow each other."""
    folder = find(task.data)
    if task.data.folder and folder is None:
        raise DataError(
            f'data set "{task.data.name}" was removed during the study; run the same command again.'
        )
    fold = fold_of(task.data, number, folder)
    return Fold(*(without(part, task.without) for part in fold)) if task.without else fold


def without(database: Database, predicate: str) -> Database:
    """The database without the facts and modes of a predicate; populations stay the same."""
    return replace(
        database,
        modes=tuple(mode for mode in database.modes if mode.predicate != predicate),
        relations=MappingProxyType(
            {name: relation for name, relation in database.relations.items() if name != predicate}
        ),
    )


@cache
def _warm(learner: str) -> None:
    """Learn something small, so that late imports are not part of the time of the first run."""
    world = smokers(n_persons=30, seed=1)
    examples = world.examples_of("cancer")
    options = options_for(learner, None, max_literals=1)
    learn(learner, open_engine("memory", world), examples, options)


@cache
def fingerprint() -> str:
    """A hash of the source files that results depend on."""
    root = Path(hornbeam.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if not name.startswith(_WITHOUT_EFFECT):
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


@cache
def versions() -> dict[str, str]:
    """The versions of Hornbeam, Python and the packages that results depend on."""
    numbers = {"hornbeam": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            numbers[name] = version(name)
        except PackageNotFoundError:
            numbers[name] = "absent"
    return numbers


@cache
def machine() -> dict[str, Any]:
    """The machine that times were measured on."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "processor": _processor(),
    }


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
