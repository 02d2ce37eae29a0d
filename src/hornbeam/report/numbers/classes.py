"""One class against all others: the view that a report shows of a model of several classes."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNLABELLED, Examples
from hornbeam.data.ranking import ranking
from hornbeam.engines.contract import Engine
from hornbeam.model.class_model import APART, ClassModel
from hornbeam.model.evaluate import evaluate_classes
from hornbeam.model.files import LearnedModel
from hornbeam.model.scales import softmax

MOST_CLASSES = 30
"""Maximum number of classes in a confusion matrix."""
Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
Confusion = tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]
"""The names of classes, and how many examples of each (rows) have each as their most probable class."""


class OneClass(NamedTuple):
    """One class of several: its own model, and how well it is told from the others."""

    name: str
    model: LearnedModel
    examples: int
    """number of examples of the class"""
    recall: float | None
    """share of them whose most probable class it is; None without examples"""
    precision: float | None
    """share of the class among the examples whose most probable class it is; None if there are none"""
    auc: float | None
    """share of pairs, one of the class and one of another, in the right order; None without such pairs"""


class ClassView(NamedTuple):
    """The model of one class, its examples labelled true or false, and notes for the reader."""

    model: LearnedModel
    examples: Examples
    notes: tuple[str, ...]
    of_class: str
    confusion: Confusion | None
    classes: tuple[OneClass, ...] = ()
    """all classes, the most frequent first, if there are more than two"""
    held_out: Floats | None = None
    """the held-out scores of the model, if they are known"""


def class_view(
    model: ClassModel,
    engine: Engine,
    examples: Examples,
    name: str | None = None,
    held_out: Floats | None = None,
) -> ClassView:
    """The model of a class, with its examples as positives. The default is the most frequent class.

    ``held_out`` has a column for each model with its held-out scores of these examples, if they are known;
    then these judge the classes.
    """
    labels = examples.labels
    if name is None:
        members = [own for own, _ in model.members()]
        sizes = {own: _size(labels, examples.classes, own) for own in members}
        name = max(members, key=lambda own: sizes[own])
    chosen = model.member(name)
    place = examples.classes.index(name) if name in examples.classes else len(examples.classes)
    binary = np.where(labels == UNLABELLED, UNLABELLED, labels == place).astype(np.int8)
    notes = _notes(model, name)
    known = examples.labelled()
    fits = len(known) > 0 and set(examples.classes) <= set(model.classes)
    if not fits:
        known = known.at(np.zeros(len(known), dtype=bool))
    indexes = [model.classes.index(each) for each in examples.classes] if fits else []
    places = np.array(indexes, dtype=np.int64)
    own = places[known.labels]
    chances = _held_out(model, held_out, examples) if fits else None
    if chances is None:
        probabilities = model.probabilities(engine, known.keys)
    else:
        chances = chances[examples.labels != UNLABELLED]
        judged = ~np.isnan(chances).any(axis=1)
        own, probabilities = own[judged], chances[judged]
    if len(set(own.tolist())) > 1:
        notes.append(_scores(own, probabilities, model.classes))
    return ClassView(
        chosen,
        replace(examples, labels=binary, classes=()),
        tuple(notes),
        name,
        _confusion(own, probabilities, model.classes),
        _all_classes(model, own, probabilities),
        _of_class(model, held_out, [own_name for own_name, _ in model.members()].index(name)),
    )


def _notes(model: ClassModel, name: str) -> list[str]:
    alone = "" if model.is_together else " the model of"
    notes = [
        f"The target has {len(model.classes)} classes. This page shows{alone} class {name} alone: "
        f"positives are the examples of class {name}, negatives all others."
    ]
    if model.learner == APART:
        notes[0] += " Probabilities are those of its own model, before all are divided by their sum."
    if len(model.models) > 1:
        notes[0] = notes[0].replace("This page shows", "Below the section of all classes, this page shows")
        notes.append("To see another class there, run hornbeam report with --class NAME.")
    return notes


def _held_out(model: ClassModel, held_out: Floats | None, examples: Examples) -> Floats | None:
    """The held-out probabilities of each class: a row per example; None if they are not known.

    Of two classes there is one model; its page judges it.
    """
    if held_out is None or not model.is_together or len(held_out) != len(examples):
        return None
    known = ~np.isnan(held_out).any(axis=1) & (examples.labels != UNLABELLED)
    return softmax(held_out) if len(np.unique(examples.labels[known])) > 1 else None


def _of_class(model: ClassModel, held_out: Floats | None, place: int) -> Floats | None:
    """The held-out scores of one model; together, the logarithms of the probabilities of its class."""
    if held_out is None:
        return None
    own: Floats = np.log(softmax(held_out)) if model.is_together else held_out
    return own[:, place]


def _confusion(own: Places, probabilities: Floats, classes: tuple[str, ...]) -> Confusion | None:
    """The most probable classes of the labelled examples; None if there are none or too many classes."""
    if not len(own) or len(classes) > MOST_CLASSES:
        return None
    counts = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(counts, (own, probabilities.argmax(axis=1)), 1)
    return classes, tuple(map(tuple, counts.tolist()))


def _all_classes(model: ClassModel, own: Places, probabilities: Floats) -> tuple[OneClass, ...]:
    """Each class with its model and scores, the most frequent first."""
    if len(model.models) == 1:
        return ()
    taken, rows = probabilities.argmax(axis=1), []
    for place, (name, member) in enumerate(model.members()):
        is_own, is_taken = own == place, taken == place
        right = int((is_own & is_taken).sum())
        rows.append(
            OneClass(
                name,
                member,
                int(is_own.sum()),
                right / is_own.sum() if is_own.any() else None,
                right / is_taken.sum() if is_taken.any() else None,
                ranking(is_own, probabilities[:, place]).auc_roc()
                if is_own.any() and not is_own.all()
                else None,
            )
        )
    return tuple(sorted(rows, key=lambda row: -row.examples))


def _size(labels: npt.NDArray[np.int8], classes: tuple[str, ...], name: str) -> int:
    return int((labels == classes.index(name)).sum()) if name in classes else 0


def _scores(own: Places, probabilities: Floats, classes: tuple[str, ...]) -> str:
    """The scores of all classes together, as a sentence."""
    scores = evaluate_classes([classes[place] for place in own.tolist()], probabilities, classes)
    return (
        f"All classes together: accuracy {scores.accuracy:.4f}, mean AUC-ROC of each against the others "
        f"{scores.auc_roc:.4f}, log-loss {scores.log_loss:.4f}."
    )
