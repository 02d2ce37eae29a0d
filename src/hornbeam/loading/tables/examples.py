"""A table of examples: a column of keys per argument, and optionally a label and a cut-off time."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNLABELLED, Coded, Notice
from hornbeam.errors import DataError, did_you_mean
from hornbeam.loading.kind_of_source import SourceKind, kind_of_table_file
from hornbeam.loading.tables.columns.cells import read_moment, read_number, reads
from hornbeam.loading.tables.columns.column import TIMES, Column, Domain, Table
from hornbeam.loading.tables.columns.types import inferred
from hornbeam.loading.tables.given import GivenExamples
from hornbeam.loading.tables.schema_file import TextForm
from hornbeam.loading.tables.to_logic import times_of_rows

LABEL, CUTOFF, CHOICE = "label", "cutoff", "choice"
_PREDICTED, _PROBABILITY = ("predicted", "prediction"), "probability"
"""columns of the files that ``predict`` writes"""


def read_examples(source: Any) -> Table:
    """A table of examples: a CSV or Parquet file, or a data frame, in which cut-offs may be text."""
    table = _read(source)
    if CUTOFF not in table.columns:
        return table
    return replace(table, columns={**table.columns, CUTOFF: inferred(table.columns[CUTOFF])})


def _read(source: Any) -> Table:
    if not isinstance(source, str | os.PathLike):
        from hornbeam.loading.tables.sources.frames import read_frame

        return read_frame("examples", source)
    from hornbeam.loading.tables.sources.duckdb import connection, read_parquet

    path = Path(source)
    with connection() as duck:
        if kind_of_table_file(path) is SourceKind.PARQUET_FILE:
            return read_parquet("examples", path, (), duck)
        from hornbeam.loading.tables.sources.delimited import read_delimited

        return read_delimited("examples", path, TextForm(), (), duck)


def given_examples(
    table: Table, arguments: Sequence[Sequence[str]], known: GivenExamples | None, words: Sequence[str] = ()
) -> GivenExamples:
    """The examples of a table, labelled by its own column, else by the known examples, else not at all.

    ``arguments`` lists for each argument of the head the names that its column may have, besides
    ``arg1``, ``arg2``, ...; where no name fits, the order of the columns decides.
    Labels are 0 and 1, false and true, classes, what the known examples have for these, or one of the
    ``words``, with ``not`` before it for 0.
    """
    keys = [_key(column) for column in _key_columns(table, arguments)]
    labels = np.full(table.size, UNLABELLED, dtype=np.int8)
    names: tuple[str, ...] = ()
    texts = ("0", "1") if known is None else known.label_texts
    cutoffs = _cutoffs(table.columns[CUTOFF]) if CUTOFF in table.columns else None
    values = _values(table, keys, known)
    if values is not None:
        return GivenExamples.of_numbers(keys, values, cutoffs)
    if LABEL in table.columns:
        binary = {f"not {word}": 0 for word in words} | dict.fromkeys(words, 1)
        binary |= {texts[0]: 0, texts[1]: 1}
        labels, names = _labels(table.columns[LABEL], known.classes if known else (), binary)
    elif known is not None:
        labels, names = _known_labels(keys, known), known.classes
    given = None if _is_key(CHOICE, arguments) else table.columns.get(CHOICE)
    choices = None if given is None else given.codes.astype(np.int64)
    return GivenExamples(keys, labels, names, cutoffs, label_texts=texts, choices=choices)


def unused_columns(table: Table, arguments: Sequence[Sequence[str]], timed: bool) -> list[Notice]:
    """The notice about columns that are neither keys nor labels nor cut-offs, nor what ``predict`` writes.

    ``timed``: some rows have times, so that a cut-off under another name would let the future in.
    """
    keys = {column.name for column in _key_columns(table, arguments)}
    others = [
        f'"{name}"'
        for name in table.columns
        if name not in {*keys, LABEL, CUTOFF, CHOICE, *_PREDICTED} and not name.startswith(_PROBABILITY)
    ]
    if not others:
        return []
    which = (
        f"column{'s' * (len(others) > 1)} {', '.join(others)} {'are' if len(others) > 1 else 'is'} not used"
    )
    if timed and CUTOFF not in table.columns:
        which += f'; every example sees all rows: a column of cut-offs must be named "{CUTOFF}"'
    return [Notice(f"examples: {which}.")]


def _values(
    table: Table, keys: Sequence[Coded], known: GivenExamples | None
) -> npt.NDArray[np.float64] | None:
    """The numbers to learn: labels other than 0 and 1, or those of a numeric target; None for others."""
    numeric = known is not None and known.values is not None
    if LABEL not in table.columns:
        return _known_values(keys, known) if known is not None and numeric else None
    column = table.columns[LABEL]
    numbers = column.domain is Domain.NUMBER or (column.domain is Domain.BOOLEAN and numeric)
    if numeric and not numbers and column.n_values:
        raise DataError(
            f'examples: the label "{column.texts[0]}" is not a number, but the target is numeric.'
        )
    plain = (known is not None and known.classes) or all(text in ("0", "1") for text in column.texts)
    return column.numbers() if numeric or (numbers and not plain) else None


def _known_values(keys: Sequence[Coded], known: GivenExamples) -> npt.NDArray[np.float64]:
    assert known.values is not None
    values = dict(zip(_rows(known.keys), known.values.tolist(), strict=True))
    return np.array([values.get(row, np.nan) for row in _rows(keys)], dtype=np.float64)


def _key_columns(table: Table, arguments: Sequence[Sequence[str]]) -> list[Column]:
    others = [
        name
        for name in table.columns
        if name not in (LABEL, CUTOFF) and (name != CHOICE or _is_key(name, arguments))
    ]
    chosen: list[str] = []
    for number, names in enumerate(arguments, start=1):
        free = [name for name in (f"arg{number}", *names) if name in others and name not in chosen]
        chosen += free[:1]
    if len(chosen) < len(arguments):
        if len(others) != len(arguments):
            wanted = ", ".join(names[0] if names else f"arg{n}" for n, names in enumerate(arguments, start=1))
            raise DataError(
                f"the examples have the columns {', '.join(table.columns) or 'none'}, but need {wanted} (or "
                f'arg1, arg2, ...), and may have "{LABEL}", "{CUTOFF}" and "{CHOICE}".'
            )
        chosen = others
    return [table.columns[name] for name in chosen]


def _is_key(name: str, arguments: Sequence[Sequence[str]]) -> bool:
    """Whether a column of this name is a key."""
    return any(name in names for names in arguments)


def _key(column: Column) -> Coded:
    if column.n_missing:
        raise DataError(
            f'examples, column "{column.name}": {column.n_missing:,} of {len(column):,} rows have no '
            "key; fill it in."
        )
    if column.is_rounded:
        raise DataError(
            f'examples, column "{column.name}": keys are floating-point numbers too large to tell '
            "neighbouring whole numbers apart; give whole numbers or text."
        )
    return Coded(column.texts, column.codes)


def _labels(
    column: Column, classes: Sequence[str], words: Mapping[str, int]
) -> tuple[npt.NDArray[np.int8], tuple[str, ...]]:
    if classes:
        codes = []
        for text in column.texts:
            if text not in classes:
                raise DataError(f'examples: no class "{text}". {did_you_mean(text, classes, "Classes")}')
            codes.append(classes.index(text))
        return _by_code(column, codes), tuple(classes)
    binary = {"0": 0, "1": 1, "false": 0, "true": 1}
    # A word is first looked for as it is: the data may have "x" for true and "X" for false.
    binary |= {word.lower(): label for word, label in words.items()} | dict(words)
    found = [binary.get(text, binary.get(text.lower())) for text in column.texts]
    known = [label for label in found if label is not None]
    if len(known) == len(found):
        return _by_code(column, known), ()
    return _by_code(column, range(column.n_values)), tuple(column.texts)


def _by_code(column: Column, codes: Sequence[int]) -> npt.NDArray[np.int8]:
    return np.array([*codes, UNLABELLED], dtype=np.int8)[column.codes]


def _known_labels(keys: Sequence[Coded], known: GivenExamples) -> npt.NDArray[np.int8]:
    rows = _rows(known.keys)
    labels = dict(zip(rows, known.labels.tolist(), strict=True))
    other = 0 if known.closed else UNLABELLED
    return np.array([labels.get(row, other) for row in _rows(keys)], dtype=np.int8)


def _rows(keys: Sequence[Coded]) -> list[tuple[str, ...]]:
    columns = [[column.names[code] for code in column.codes.tolist()] for column in keys]
    return list(zip(*columns, strict=True))


def _cutoffs(column: Column) -> npt.NDArray[np.float64]:
    """Cut-offs in the form of the times of rows; an example without a cut-off sees every row."""
    if column.domain not in TIMES and column.n_values:
        unread = (text for text in column.texts if not (reads(read_number, text) or reads(read_moment, text)))
        wrong = next(unread, column.texts[0])
        raise DataError(f'examples: the cut-off "{wrong}" is neither a number nor a date such as 2024-12-31.')
    return times_of_rows(column)
