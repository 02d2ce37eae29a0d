"""Targets by name: their predicates, the examples that data have of them, and files of known labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNLABELLED, Database, Examples
from hornbeam.data.keys import Names
from hornbeam.errors import DataError, SchemaError, did_you_mean
from hornbeam.joint.things import JointTarget, JointTask, KnownKeys, NamedEvidence, codes_of, hidden
from hornbeam.loading.tables.columns.column import MISSING, Column, Table
from hornbeam.loading.tables.examples import LABEL, given_examples, read_examples
from hornbeam.loading.tables.given import GivenExamples

MOST_CLASSES = 100
TARGET = "target"
"""The column of a file that names the target of a row."""


def predicate_of(database: Database, name: str) -> str:
    """The predicate of a target, which may also be named as a column of a table: ``papers.topic``."""
    lower = name.lower()
    if name == database.origin.get("target") or lower in database.schema.predicates:
        return database.target_named(name)
    table, dot, column = lower.partition(".")
    named = [
        predicate
        for predicate, types in database.schema.predicates.items()
        if dot and types[0].lower() == table and predicate in (column, f"{table}_{column}")
    ]
    if len(named) == 1:
        return named[0]
    known = sorted({*database.example_sets, *database.schema.predicates})
    raise DataError(f'no target "{name}". {did_you_mean(lower, known, "Targets")}')


def task_of(database: Database, name: str) -> JointTask:
    """The training examples of a target that the data have."""
    predicate = predicate_of(database, name)
    examples = examples_in(database, predicate).labelled()
    if not len(examples):
        raise DataError(
            f'no example of "{name}" has a label; name a column that has labels, or give them in a column '
            '"label" of --examples FILE.'
        )
    target = JointTarget(predicate, examples.classes)
    arity = database.schema.arity(predicate)
    keys = examples.keys[:, : min(arity, examples.keys.shape[1])]
    if examples.values is not None:
        raise DataError(f'"{examples.target}" holds numbers; a joint model predicts labels and classes only.')
    return JointTask(target, KnownKeys(keys, examples.labels.astype(np.int64)))


def names_in(database: Database, examples: Examples) -> Names:
    """The keys of examples as names; an attribute has one column, its predicate two arguments."""
    n_columns = examples.keys.shape[1]
    names = np.empty((len(examples), n_columns), dtype=object)
    for place in range(n_columns):
        population = database.population(database.schema.types_of(examples.target)[place])
        names[:, place] = population.decode(examples.keys[:, place])
    return names


def examples_in(database: Database, predicate: str) -> Examples:
    """The examples of a target: those of the data, or made of its facts.

    For a predicate of one argument, every constant of its type is an example: true if it is a fact. For an
    attribute, which has one value for each thing, the value is the class.
    """
    if predicate in database.example_sets:
        return database.example_sets[predicate]
    types, columns = database.schema.types_of(predicate), database.relation(predicate).columns
    if len(types) == 1:
        labels = np.zeros(len(database.population(types[0])), dtype=np.int8)
        labels[columns[0]] = 1
        return Examples(predicate, np.arange(len(labels), dtype=np.int32).reshape(-1, 1), labels)
    values, classes = np.unique(columns[-1], return_inverse=True)
    is_attribute = len(types) == 2 and len(np.unique(columns[0])) == len(columns[0])
    if not is_attribute or types[1] in database.schema.numeric or len(values) > MOST_CLASSES:
        raise SchemaError(
            f'the data have no examples of "{predicate}", and its facts do not say what is false: give '
            "positive and negative examples, or an attribute with one value for each thing."
        )
    names = database.population(types[1]).decode(values.astype(np.int32))
    order = np.argsort(np.array(names, dtype=object))
    rank = np.empty(len(order), dtype=np.int8)
    rank[order] = np.arange(len(order))
    return Examples(predicate, columns[0].reshape(-1, 1), rank[classes.ravel()], tuple(sorted(names)))


# --- files of known labels -------------------------------------------------------------------


def tasks_in(path: Path, database: Database, names: Sequence[str]) -> list[JointTask]:
    """The training examples of several targets, from a file; labels that the data have are not looked at."""
    columns = {(task := task_of(database, name)).target: task.evidence.keys.shape[1] for name in names}
    given = read_evidence(path, columns)
    tasks = []
    for target, number in columns.items():
        if target.name not in given:
            raise DataError(f'{path}: no row has the target "{target.name}"; give labels of each target.')
        keys, labels = given[target.name]
        codes = codes_of(hidden(database, {target.name: number}), target.name, keys)
        used, numbers = np.unique(labels, return_inverse=True)
        if target.classes:
            target = JointTarget(target.name, tuple(target.classes[label] for label in used.tolist()))
            labels = numbers.ravel().astype(np.int64)
        tasks.append(JointTask(target, KnownKeys(codes, labels)))
    return tasks


def read_evidence(path: Path, targets: Mapping[JointTarget, int]) -> NamedEvidence:
    """The labels in a CSV or Parquet file: columns of keys, ``label``, and ``target`` if there are several.

    Rows without a label are left out. ``targets`` has the number of arguments of each target.
    """
    table = read_examples(path)
    if LABEL not in table.columns:
        raise DataError(f'{path}: the file needs a column "{LABEL}" with the known labels.')
    if TARGET not in table.columns:
        if len(targets) > 1:
            names = ", ".join(target.name for target in targets)
            raise DataError(f'{path}: labels of several targets ({names}) need a column "{TARGET}".')
        (target, arity), *_ = targets.items()
        return {target.name: _labels(table, target, arity)}
    column = table.columns[TARGET]
    if column.n_missing:
        raise DataError(f'{path}: a row has no target in the column "{TARGET}"; name one of the targets.')
    by_name = {target.name: target for target in targets}
    spelled = [text.lower() for text in column.texts]
    for text, name in zip(column.texts, spelled, strict=True):
        if name not in by_name:
            raise DataError(f'{path}: no target "{text}". {did_you_mean(text, by_name, "Targets")}')
    found = {}
    for name in dict.fromkeys(spelled):
        target = by_name[name]
        codes = [code for code, each in enumerate(spelled) if each == name]
        rows = np.flatnonzero(np.isin(column.codes, codes))
        found[name] = _labels(_part(table, rows, targets[target]), target, targets[target])
    return found


def _part(table: Table, rows: npt.NDArray[np.intp], arity: int) -> Table:
    """Some rows of a table, with as many columns of keys as a target has arguments."""
    keys = [name for name in table.columns if name not in (LABEL, TARGET)][:arity]
    columns = {name: _at(table.columns[name], rows) for name in [*keys, LABEL]}
    return Table(table.name, columns, len(rows))


def _at(column: Column, rows: npt.NDArray[np.intp]) -> Column:
    """Some rows of a column, without the values that only other rows have."""
    codes = column.codes[rows]
    used = np.unique(codes[codes != MISSING])
    places = np.full(column.n_values + 1, MISSING, dtype=np.int32)
    places[used] = np.arange(len(used))
    return replace(column, values=column.values[used], codes=places[codes])


def _labels(
    table: Table, target: JointTarget, arity: int
) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.int64]]:
    classes = GivenExamples((), np.zeros(0, dtype=np.int8), target.classes)
    given = given_examples(table, [()] * arity, classes)
    if given.classes != target.classes or given.values is not None:
        raise DataError(f'labels of "{target.name}" must be 0 and 1, or true and false.')
    known = given.labels != UNLABELLED
    names = np.empty((int(known.sum()), arity), dtype=object)
    for place, column in enumerate(given.keys):
        names[:, place] = [column.names[code] for code in column.codes[known].tolist()]
    return names, given.labels[known].astype(np.int64)
