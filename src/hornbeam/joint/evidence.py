"""Files of evidence: keys with known labels, for the targets of a joint model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from hornbeam.data.database import UNLABELLED
from hornbeam.errors import DataError, did_you_mean
from hornbeam.joint.predict import NamedEvidence
from hornbeam.joint.things import JointTarget
from hornbeam.loading.tables.columns.column import Table
from hornbeam.loading.tables.examples import LABEL, given_examples, read_examples

TARGET = "target"


def read_evidence(path: Path, targets: Mapping[JointTarget, int]) -> NamedEvidence:
    """The labels in a CSV or Parquet file: columns of keys, ``label``, and ``target`` if there are several.

    Rows without a label are left out. ``targets`` has the number of arguments of each target.
    """
    table = read_examples(path)
    if LABEL not in table.columns:
        raise DataError(f'{path}: evidence needs a column "{LABEL}" with the known labels.')
    if TARGET not in table.columns:
        if len(targets) > 1:
            names = ", ".join(target.name for target in targets)
            raise DataError(f'{path}: evidence for several targets ({names}) needs a column "{TARGET}".')
        (target, arity), *_ = targets.items()
        return {target.name: _labels(table, target, arity)}
    column = table.columns[TARGET]
    by_name = {target.name: target for target in targets}
    found = {}
    for number, text in enumerate(column.texts):
        if text.lower() not in by_name:
            raise DataError(f'{path}: no target "{text}". {did_you_mean(text, by_name, "Targets")}')
        target = by_name[text.lower()]
        rows = np.flatnonzero(column.codes == number)
        found[target.name] = _labels(_part(table, rows, targets[target]), target, targets[target])
    return found


def _part(table: Table, rows: np.typing.NDArray[np.intp], arity: int) -> Table:
    """Some rows of a table, with as many columns of keys as a target has arguments."""
    keys = [name for name in table.columns if name not in (LABEL, TARGET)][:arity]
    columns = {
        name: replace(table.columns[name], codes=table.columns[name].codes[rows]) for name in [*keys, LABEL]
    }
    return Table(table.name, columns, len(rows))


def _labels(
    table: Table, target: JointTarget, arity: int
) -> tuple[np.typing.NDArray[np.object_], np.typing.NDArray[np.int64]]:
    given = given_examples(table, [()] * arity, None, target.classes)
    if given.classes != target.classes:
        raise DataError(f'labels of "{target.name}" must be 0 and 1, found "{given.classes[0]}".')
    known = given.labels != UNLABELLED
    names = np.empty((int(known.sum()), arity), dtype=object)
    for place, column in enumerate(given.keys):
        names[:, place] = [column.names[code] for code in column.codes[known].tolist()]
    return names, given.labels[known].astype(np.int64)
