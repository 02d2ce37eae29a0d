"""One class against all others: the view that a report shows of a model of several classes."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNLABELLED, Examples
from hornbeam.engines.contract import Engine
from hornbeam.model.class_model import ClassModel
from hornbeam.model.evaluate import evaluate_classes
from hornbeam.model.files import LearnedModel

MOST_CLASSES = 30
"""Maximum number of classes in a confusion matrix."""
Confusion = tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]
"""The names of classes, and how many examples of each (rows) have each as their most probable class."""


class ClassView(NamedTuple):
    """The model of one class, its examples labelled true or false, and notes for the reader."""

    model: LearnedModel
    examples: Examples
    notes: tuple[str, ...]
    of_class: str
    confusion: Confusion | None


def class_view(model: ClassModel, engine: Engine, examples: Examples, name: str | None = None) -> ClassView:
    """The model of a class, with its examples as positives. The default is the most frequent class."""
    labels = examples.labels
    if name is None:
        members = [own for own, _ in model.members()]
        sizes = {own: _size(labels, examples.classes, own) for own in members}
        name = max(members, key=lambda own: sizes[own])
    chosen = model.member(name)
    place = examples.classes.index(name) if name in examples.classes else len(examples.classes)
    binary = np.where(labels == UNLABELLED, UNLABELLED, labels == place).astype(np.int8)
    others = ", ".join(own for own, _ in model.members() if own != name)
    notes = [
        f"The target has {len(model.classes)} classes. This page shows the model of class {name} alone: "
        f"positives are the examples of class {name}, negatives all others. Probabilities come from this "
        "model, before the models of all classes are put together."
    ]
    if others:
        notes.append(f"To see another class ({others}), run hornbeam report with --class NAME.")
    scores = _scores(model, engine, examples)
    if scores:
        notes.append(scores)
    return ClassView(
        chosen,
        replace(examples, labels=binary, classes=()),
        tuple(notes),
        name,
        _confusion(model, engine, examples),
    )


def _confusion(model: ClassModel, engine: Engine, examples: Examples) -> Confusion | None:
    """The most probable classes of the labelled examples; None if there are none or too many classes."""
    known = examples.labelled()
    if not len(known) or len(model.classes) > MOST_CLASSES or not set(examples.classes) <= set(model.classes):
        return None
    places = np.array([model.classes.index(name) for name in examples.classes])[known.labels]
    predicted = model.probabilities(engine, known.keys).argmax(axis=1)
    counts = np.zeros((len(model.classes), len(model.classes)), dtype=np.int64)
    np.add.at(counts, (places, predicted), 1)
    return model.classes, tuple(map(tuple, counts.tolist()))


def _size(labels: npt.NDArray[np.int8], classes: tuple[str, ...], name: str) -> int:
    return int((labels == classes.index(name)).sum()) if name in classes else 0


def _scores(model: ClassModel, engine: Engine, examples: Examples) -> str:
    """The scores of all classes together, as a sentence; empty if nothing can be scored."""
    known = examples.labelled()
    if (
        not len(known)
        or not set(examples.classes) <= set(model.classes)
        or len(set(known.labels.tolist())) < 2
    ):
        return ""
    names = [examples.classes[label] for label in known.labels.tolist()]
    scores = evaluate_classes(names, model.probabilities(engine, known.keys), model.classes)
    return (
        f"All classes together: accuracy {scores.accuracy:.4f}, mean AUC-ROC of each against the others "
        f"{scores.auc_roc:.4f}, log-loss {scores.log_loss:.4f}."
    )
