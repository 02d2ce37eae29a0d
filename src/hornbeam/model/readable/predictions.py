"""Predictions as a table for people: keys under their names, labels as the data have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNLABELLED, Database, Examples
from hornbeam.loading.tables.learned import key_names

if TYPE_CHECKING:
    from hornbeam.data.numbers import Floats

LABEL, PREDICTED, PROBABILITY = "label", "predicted", "probability"
CUTOFF, CHOICE = "cutoff", "choice"
PREDICTION = "prediction"
"""the column of a numeric target"""
Columns = dict[str, list[object]]


class ModelWithSettings(Protocol):
    """A model, as far as the names of its columns need it."""

    @property
    def settings(self) -> Mapping[str, object]: ...


class PredictionTable(NamedTuple):
    """A column for each part of the key, for the label, and for what the model says."""

    columns: Columns

    @property
    def header(self) -> list[str]:
        return list(self.columns)

    def rows(self) -> Iterator[tuple[object, ...]]:
        """The rows in the order of the examples."""
        return zip(*self.columns.values(), strict=True)


def key_columns(
    database: Database, examples: Examples, settings: Mapping[str, object], reserved: Sequence[str] = ()
) -> Columns:
    """The columns that identify examples: keys, named as in their tables, and cut-offs if they have any.

    Examples that are not from tables have the columns ``arg1``, ``arg2``, .... Pairs of things of one table
    have its key with numbers: ``id_1``, ``id_2``.
    """
    names = database.names_of(examples.target, examples.keys)
    taken = [CUTOFF, *([] if examples.choices is None else [CHOICE]), *reserved]
    columns: Columns = {}
    for name, values in zip(key_names(settings, names.shape[1]), names.T.tolist(), strict=True):
        columns[_free(name, [*taken, *columns])] = values
    if examples.cutoffs is not None:
        columns[CUTOFF] = list(database.cutoff_texts(examples.cutoffs))
    if examples.choices is not None:
        columns[CHOICE] = ["" if each < 0 else each for each in examples.choices.tolist()]
    return columns


def _free(name: str, taken: Sequence[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def prediction_table(
    model: ModelWithSettings,
    database: Database,
    examples: Examples,
    probabilities: Floats,
    chosen: npt.NDArray[np.bool_] | None = None,
) -> PredictionTable:
    """The keys, labels and predictions of examples, in their order.

    ``chosen`` are those predicted as true; None for those with a probability above one half.

    From facts, labels are 0 and 1 and there is no column of the predicted class.
    """
    if examples.values is not None:
        return _number_table(model, database, examples, probabilities)
    settings = database.origin or model.settings
    if "tables" not in settings and probabilities.ndim == 1:
        return _fact_table(database, examples, probabilities)
    texts = getattr(model, "classes", ()) or examples.classes or examples.label_texts
    reserved = [LABEL, PREDICTED, PROBABILITY, *(f"{PROBABILITY}_{text}" for text in texts)]
    columns = key_columns(database, examples, settings, reserved)
    columns[LABEL] = _labels(examples)
    return PredictionTable(columns | _predictions(probabilities, texts, chosen))


def _labels(examples: Examples) -> list[object]:
    """The labels as the data have them; empty where they are not known."""
    texts = examples.classes or examples.label_texts
    return ["" if label == UNLABELLED else texts[label] for label in examples.labels.tolist()]


def _fact_table(database: Database, examples: Examples, probabilities: Floats) -> PredictionTable:
    """The arguments, labels and probabilities of examples that are facts."""
    columns = key_columns(database, examples, {})
    columns[LABEL] = _labels(examples)
    columns[PROBABILITY] = list(map(repr, probabilities.tolist()))
    return PredictionTable(columns)


def _number_table(
    model: ModelWithSettings, database: Database, examples: Examples, predictions: Floats
) -> PredictionTable:
    """The keys, numbers and predictions of examples of a numeric target."""
    assert examples.values is not None
    columns = key_columns(database, examples, database.origin or model.settings, [LABEL, PREDICTION])
    texts = (str(int(each)) if each.is_integer() else repr(each) for each in examples.values.tolist())
    columns[LABEL] = ["" if text == "nan" else text for text in texts]
    columns[PREDICTION] = list(map(repr, predictions.tolist()))
    return PredictionTable(columns)


def _predictions(
    probabilities: Floats, texts: Sequence[str], chosen: npt.NDArray[np.bool_] | None
) -> Columns:
    """What a model says about each example; probabilities are written so that they read back exactly."""
    if probabilities.ndim == 1:
        chosen = probabilities > 0.5 if chosen is None else chosen
        return {
            PREDICTED: [texts[int(each)] for each in chosen.tolist()],
            PROBABILITY: list(map(repr, probabilities.tolist())),
        }
    best = probabilities.argmax(axis=1).tolist()
    columns: Columns = {PREDICTED: [texts[place] for place in best]}
    for text, column in zip(texts, probabilities.T.tolist(), strict=True):
        columns[f"{PROBABILITY}_{text}"] = list(map(repr, column))
    return columns
