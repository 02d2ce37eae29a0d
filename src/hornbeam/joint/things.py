"""The things that a joint model is about: for each target the keys whose labels are known or to be guessed.

The facts of all targets are hidden from the models. Labels reach them only as evidence: the labels of
training, or those that the user gives at prediction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNKNOWN, UNLABELLED, Codes, Database
from hornbeam.data.keys import Names
from hornbeam.data.rows import Folds, fold, hash_of_rows, name_hashes, probe
from hornbeam.errors import EngineError, OptionError
from hornbeam.logic.schema import Schema

NO_CUTOFFS = "joint models do not take examples with cut-offs: a label would be known at all times."

Places = npt.NDArray[np.int64]


class JointTarget(NamedTuple):
    """A target, and its classes as text; a target that is true or false has none."""

    name: str
    classes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The number of labels that a thing may have."""
        return len(self.classes) or 2

    @property
    def columns(self) -> int:
        """The number of columns of what neighbours say: one for each class, or one for true."""
        return len(self.classes) or 1

    def label_text(self, label: int) -> str:
        return self.classes[label] if self.classes else ("false", "true")[label]


class KnownKeys(NamedTuple):
    """Keys of a target whose labels are known."""

    keys: Codes
    labels: npt.NDArray[np.int64]


class JointTask(NamedTuple):
    """A target and its training examples."""

    target: JointTarget
    evidence: KnownKeys

    def with_one_label_each(self) -> JointTask:
        """The examples without those that contradict a later one: of labels of one key, the last counts."""
        keys, labels = self.evidence
        _, which = np.unique(keys, axis=0, return_inverse=True)
        last = np.zeros(len(keys), dtype=np.int64)
        last[which.ravel()] = labels
        kept = (labels == last[which.ravel()]) | (keys == UNKNOWN).any(axis=1)
        return self if kept.all() else self._replace(evidence=KnownKeys(keys[kept], labels[kept]))


NamedEvidence = Mapping[str, tuple[Names, npt.NDArray[np.int64]]]
"""For some targets the keys, as rows of names, whose labels are known, and their labels."""


@dataclass(frozen=True, eq=False)
class Things:
    """The distinct keys of one target, and their labels: ``UNLABELLED`` where they are to be guessed."""

    target: JointTarget
    keys: Codes
    labels: npt.NDArray[np.int64]
    numbers: Places
    """the keys as sorted numbers"""
    folds: Folds

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.labels != UNLABELLED)

    @property
    def share(self) -> float:
        """The share of things whose labels are known."""
        return float(self.known.mean()) if len(self) else 0.0

    def places_of(self, keys: Codes) -> Places:
        """The row of each key; -1 for keys that are not among these."""
        wanted = probe(list(keys[:, : self.keys.shape[1]].T), self.folds)
        wanted[(keys == UNKNOWN).any(axis=1)] = -1
        if not len(self.numbers):
            return np.full(len(keys), -1, dtype=np.int64)
        place = np.minimum(np.searchsorted(self.numbers, wanted), len(self.numbers) - 1)
        return np.where(self.numbers[place] == wanted, place, -1)

    def with_labels(self, labels: npt.NDArray[np.int64]) -> Things:
        return replace(self, labels=labels)


def things_of(
    database: Database, target: JointTarget, evidence: KnownKeys | None, more: Codes | None = None
) -> Things:
    """The keys of a target: those of the evidence, some more, and all others that the data have.

    A target of one argument is about every constant of its type; another one is about its examples in the
    data, whose labels are not looked at.
    """
    types = database.schema.types_of(target.name)
    parts = [each for each in (evidence.keys if evidence else None, more) if each is not None]
    if len(types) == 1:
        parts.append(np.arange(len(database.population(types[0])), dtype=np.int32).reshape(-1, 1))
    elif target.name in database.example_sets:
        parts.append(database.example_sets[target.name].keys)
    parts = [np.asarray(part[:, : len(types)], dtype=np.int32) for part in parts]
    keys = np.concatenate(parts) if parts else np.zeros((0, len(types)), dtype=np.int32)
    keys = keys[(keys != UNKNOWN).all(axis=1)]
    sizes = [len(database.population(name)) for name in types]
    numbers, folds = fold(list(keys.T), sizes)
    numbers, first = np.unique(numbers, return_index=True)
    labels = np.full(len(numbers), UNLABELLED, dtype=np.int64)
    things = Things(target, keys[first], labels, numbers, folds)
    if evidence is not None:
        rows = things.places_of(evidence.keys)
        labels[rows[rows >= 0]] = evidence.labels[rows >= 0]
    return things


def codes_of(database: Database, target: str, names: Names) -> Codes:
    """The codes of keys, given as rows of names; cut-offs beside them are refused."""
    if database.has_times and names.ndim == 2 and names.shape[1] > database.schema.arity(target):
        raise OptionError(NO_CUTOFFS)
    return database.encode_keys(target, names)


def facts_fingerprint(database: Database) -> str:
    """A hash of the facts by name: data with other facts have another one."""
    names = {name: name_hashes(database.population(name).names) for name in database.schema.types()}
    rows = [
        (name, hash_of_rows([names[each] for each in database.schema.types_of(name)], relation.columns))
        for name, relation in sorted(database.relations.items())
        if len(relation)
    ]
    return sha256(repr(rows).encode()).hexdigest()[:32]


def hidden(database: Database, targets: Mapping[str, int]) -> Database:
    """The database without the facts and labels of targets, each given with its number of arguments.

    A target with fewer arguments than its predicate has its last argument as its class.
    """
    if database.is_in_place:
        raise EngineError(
            "joint models need the data loaded: load them without engine=, or use the engine memory."
        )
    predicates = dict(database.schema.predicates)
    for name in targets.keys() & predicates.keys():
        predicates[name] = predicates[name][: targets[name]]
    example_sets = {
        name: replace(examples, labels=np.full(len(examples), UNLABELLED, dtype=np.int8), classes=())
        for name, examples in database.example_sets.items()
        if examples.keys.shape[1] >= targets.get(name, 0)
    }
    if any(each.cutoffs is not None for each in example_sets.values()):
        raise OptionError(NO_CUTOFFS)
    if database.has_times and database.rule.is_frozen:
        raise OptionError(
            "joint models do not take data with as_of: links to neighbours have no time. Leave out the later "
            "rows instead."
        )
    return replace(
        database,
        schema=Schema(predicates, database.schema.numeric),
        modes=tuple(mode for mode in database.modes if mode.predicate not in targets),
        relations={name: each for name, each in database.relations.items() if name not in targets},
        times={name: each for name, each in database.times.items() if name not in targets},
        example_sets=example_sets,
    )
