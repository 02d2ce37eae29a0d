"""How a model predicts in populations of another size than the one it was learned in.

Each generated world has members and groups. A group is true with a probability that depends on how many
members it has. There are three truths: a group is more likely true than false if at least 5 members are in
it (``AT_LEAST_5``), if at least half of all members are (``AT_LEAST_HALF``), or if fewer than 5 are not
(``ALL_BUT_5``). Each truth is one weight vector over true and false counts. In one world the two counts add
up to the population, so weights of three patterns fit it equally well. In a larger population the three
predict differently; this part of the study measures how much.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.build import build
from hornbeam.data.database import Database
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.clauses.counting.count import count_all
from hornbeam.engines.registry import open_engine
from hornbeam.files import write_file
from hornbeam.learning.learners import learn
from hornbeam.learning.losses.dense import fit_weights
from hornbeam.learning.options import Options, fit_options
from hornbeam.logic.clauses import Atom, Clause, head_atom
from hornbeam.logic.parse import parse_mode
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import Floats, Model, WeightedClause
from hornbeam.model.evaluate import evaluate
from hornbeam.model.predict import predict
from hornbeam.model.scales import sigmoid

AT_LEAST_5, AT_LEAST_HALF, ALL_BUT_5 = "at least 5", "at least half", "all but fewer than 5"
TRUTHS = (AT_LEAST_5, AT_LEAST_HALF, ALL_BUT_5)
CONSTANT, SHARE, FALSE = "[w0, w1, 0]", "[0, w1, w2]", "[w0, 0, w2]"
PATTERNS = (CONSTANT, SHARE, FALSE)
PAPER, PAPER_TRAINING, DEFAULT = "paper", "paper, training totals", "default"
LEARNED = (PAPER, PAPER_TRAINING, DEFAULT)
WEIGHTS = {AT_LEAST_5: (-4.5, 1.0, 0.0), AT_LEAST_HALF: (0.0, 0.5, -0.5), ALL_BUT_5: (4.5, 0.0, -1.0)}
"""The true log-odds: a constant, a weight per member in the group, and a weight per member outside it."""
FACTORS = (1, 2, 10)
"""Sizes of the populations to predict in, as multiples of the population of training."""
N_TRAIN, N_TEST = 1000, 4000
_FIT_OPTIONS = {"l2": 1.0, "max_literals": 1, "n_steps": 50}

_SCHEMA = Schema({"in": ("member", "group"), "true": ("group",)})
_MODES = [parse_mode("in(-member,+group)."), parse_mode("true(+group).")]
_CLAUSE = Clause(head_atom("true", 1), (Atom("in", (1, 0)),))


class Judged(NamedTuple):
    """The scores of a model in a population of one size, and its weights."""

    truth: str
    model: str
    factor: int
    accuracy: float
    log_loss: float
    best_accuracy: float
    """the accuracy of the true probabilities"""
    best_log_loss: float
    weights: tuple[float, float, float] | None


class World(NamedTuple):
    """A database and the true probability of each of its examples."""

    database: Database
    truth: Floats


def study(population: int) -> list[Judged]:
    """Learn in a population of this size; score there, and in populations 2 and 10 times as large."""
    return [row for truth in TRUTHS for row in _judged(truth, population)]


def world(truth: str, population: int, n_groups: int, seed: int) -> World:
    """Groups on both sides of the truth's border, with labels drawn from their true probabilities."""
    rng = np.random.default_rng(seed)
    low, high = {
        AT_LEAST_5: (0, 9),
        AT_LEAST_HALF: (population // 4, population - population // 4),
        ALL_BUT_5: (population - 9, population),
    }[truth]
    inside = rng.integers(low, high, size=n_groups, endpoint=True)
    w0, w1, w2 = WEIGHTS[truth]
    probability = sigmoid((w0 + w1 * inside + w2 * (population - inside)).astype(np.float64))
    labels = (rng.random(n_groups) < probability).astype(np.int8)
    members = [f"m{number}" for number in range(population)]
    groups = [f"g{number}" for number in range(n_groups)]
    columns: tuple[list[str], list[str]] = ([], [])
    for group, count in zip(groups, inside.tolist(), strict=True):
        columns[0].extend(members[place] for place in rng.permutation(population)[:count])
        columns[1].extend([group] * count)
    # A database lists positives first; the probabilities get the same order.
    order = np.concatenate([np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)])
    examples = ([[groups[place]] for place in order], labels[order].tolist())
    database = build(
        _SCHEMA, _MODES, {"in": columns}, {"true": examples}, {"member": members, "group": groups}
    )
    return World(database, probability[order])


def _judged(truth: str, population: int) -> Iterator[Judged]:
    training = world(truth, population, N_TRAIN, seed=0).database
    models = dict(_models(training, population))
    for factor in FACTORS:
        testing = world(truth, factor * population, N_TEST, seed=factor)
        names, labels = testing.database.examples("true")
        best = evaluate(labels, testing.truth, draws=1)
        for name, model in models.items():
            predicted = predict(model, testing.database, names).probabilities
            yield Judged(
                truth,
                name,
                factor,
                float(np.mean((predicted >= 0.5) == (labels == 1))),
                evaluate(labels, predicted, draws=1).log_loss,
                float(np.mean((testing.truth >= 0.5) == (labels == 1))),
                best.log_loss,
                _weights(model),
            )


def _models(training: Database, population: int) -> Iterator[tuple[str, Model]]:
    """The three patterns that fit the training data equally well, then the models learned from these data."""
    examples = training.examples_of("true")
    engine = open_engine("memory", training)
    (counts,) = count_all(counter_of(engine), [_CLAUSE], examples.keys)
    intercept, slope = logistic_line(counts.true.astype(np.float64), examples.labels)
    patterns = {
        CONSTANT: (intercept, slope, 0.0),
        SHARE: (0.0, slope + intercept / population, intercept / population),
        FALSE: (intercept + slope * population, 0.0, -slope),
    }
    for name, weights in patterns.items():
        yield name, _model(weights, population)
    paper = fit_options("paper", **_FIT_OPTIONS)
    for name, options in {
        PAPER: paper,
        PAPER_TRAINING: fit_options("paper", **_FIT_OPTIONS, populations="training"),
        DEFAULT: fit_options("default"),
    }.items():
        yield name, _learned(training, options)


def _learned(training: Database, options: Options) -> Model:
    examples = training.examples_of("true")
    engine = open_engine("memory", training)
    model = learn("rlr", engine, examples, options).model
    assert isinstance(model, Model)
    return model.compact()


def _model(weights: tuple[float, float, float], population: int) -> Model:
    clause = WeightedClause(_CLAUSE, weights, population)
    return Model("true", _SCHEMA, 0.0, (clause,), {"populations": "database"})


def _weights(model: Model) -> tuple[float, float, float] | None:
    """The weights of a model of one clause over counts, the prior added to the first; else None."""
    if len(model.clauses) != 1 or model.clauses[0].feature != "count":
        return None
    w0, w1, w2 = model.clauses[0].weights
    return model.prior + w0, w1, w2


def logistic_line(x: Floats, labels: npt.NDArray[np.int8]) -> tuple[float, float]:
    """The intercept and slope that make the labels most likely, without a penalty.

    The x values of the two labels must overlap, else there is no best line.
    """
    line = fit_weights(x.reshape(1, -1), labels, 0.0)
    return line.intercept, line.weights[0]


# --- the file ------------------------------------------------------------------------------------


def kept_study(path: Path, population: int, code: str, again: bool = False) -> list[Judged]:
    """The rows in the file if the same code wrote them for the same sizes; else run, and write the file."""
    head = _plan() | {"population": population, "code": code}
    lines = [] if again else _lines(path)
    if lines and lines[0] == head:
        return [_read(line) for line in lines[1:]]
    rows = study(population)
    write_file(path, (json.dumps(each) + "\n" for each in (head, *(row._asdict() for row in rows))))
    return rows


def read_study(path: Path) -> list[Judged]:
    """The rows in the file, from any code and population; empty if the file belongs to another study."""
    lines = _lines(path)
    plan = _plan()
    if not lines or {name: lines[0].get(name) for name in plan} != plan:
        return []
    return [_read(line) for line in lines[1:]]


def _plan() -> dict[str, Any]:
    truths = {name: list(weights) for name, weights in WEIGHTS.items()}
    models = [*PATTERNS, *LEARNED]
    return {"truths": truths, "models": models, "factors": list(FACTORS), "train": N_TRAIN, "test": N_TEST}


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _read(fields: Mapping[str, Any]) -> Judged:
    weights = fields["weights"]
    return Judged(**{**fields, "weights": None if weights is None else tuple(weights)})
