"""Fingerprints of training examples, so that a score on training data is recognised as such."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from hornbeam.data.database import Database, Examples
from hornbeam.model.fields import Fields

_DIGITS = 32


@dataclass(frozen=True, slots=True)
class Training:
    """The number of training examples, and a hash of their keys; the order of the keys does not matter."""

    examples: int
    keys: str


def training_of(names: Iterable[Sequence[str]]) -> Training:
    """The fingerprint of training examples, given as rows of names: one name per argument, then the cut-off.

    ``Database.examples`` gives such rows. A row that is given twice counts once.

    >>> training_of([["ann", "1"], ["bob", "2"]]) == training_of([["bob", "2"], ["ann", "1"]])
    True
    """
    # As JSON, so that different rows have different texts whatever the names contain.
    quoted = lru_cache(maxsize=100_000)(json.dumps)
    texts = sorted({f"[{', '.join([quoted(str(name)) for name in row])}]" for row in names})
    digest = sha256("\n".join(texts).encode()).hexdigest()
    return Training(len(texts), digest[:_DIGITS])


def key_names(database: Database, examples: Examples) -> list[list[str]]:
    """The rows of names of examples, with their cut-offs if facts have times."""
    names: list[list[str]] = database.names_of(examples.target, examples.keys).tolist()
    if examples.cutoffs is None or not database.has_times:
        return names
    texts = database.cutoff_texts(examples.cutoffs)
    return [[*row, text or "inf"] for row, text in zip(names, texts, strict=True)]


def is_training_data(model: object, names: Iterable[Sequence[str]]) -> bool | None:
    """Whether a model was learned from exactly these examples; None if the model does not say."""
    training = getattr(model, "training", None)
    return training_of(names) == training if isinstance(training, Training) else None


def training_fields(training: Training) -> dict[str, object]:
    """The fingerprint as JSON values of a model file."""
    return {"examples": training.examples, "keys": training.keys}


def read_training(fields: Fields) -> Training:
    """The fingerprint in a model file."""
    examples, keys = fields.whole("examples"), fields.text("keys")
    if len(keys) != _DIGITS or set(keys) - set("0123456789abcdef"):
        raise fields.wrong("keys", f"{_DIGITS} hexadecimal digits", keys)
    fields.close()
    return Training(examples, keys)
