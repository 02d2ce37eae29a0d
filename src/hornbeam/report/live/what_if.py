"""What a model would say of an example if the tables were different: a value changed, a row removed.

The changed tables are loaded as any others, so the answer is that of a model on such tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hornbeam.data.database import Database
from hornbeam.engines.contract import Engine
from hornbeam.engines.registry import open_engine
from hornbeam.errors import DataError
from hornbeam.in_place.load import load_quietly
from hornbeam.loading.kind_of_source import SCHEMA_FILE
from hornbeam.loading.options import TableOptions
from hornbeam.loading.tables.columns.changes import with_value, without_row, word_of
from hornbeam.loading.tables.columns.column import Table
from hornbeam.loading.tables.database import read_relational
from hornbeam.loading.tables.sources.read import read_tables
from hornbeam.model.explain import Explanation, explain
from hornbeam.model.files import LearnedModel
from hornbeam.model.predict import codes_for, data_for
from hornbeam.model.readable.reasons import EffectReason

MOST_ROWS = 40
"""Maximum number of rows of a table that are shown around an example."""
SHOWN = 3
"""Maximum number of groundings in a reason."""


class Change(NamedTuple):
    """A value that is different, or a row that is removed."""

    table: str
    row: int
    column: str | None
    """None if the row is removed"""
    value: str = ""


class NearRows(NamedTuple):
    """Rows of a table that an example reaches, with their numbers in the table."""

    table: str
    columns: tuple[str, ...]
    fixed: tuple[str, ...]
    """columns that are not to be changed: keys and the label"""
    numbers: tuple[int, ...]
    rows: tuple[tuple[str, ...], ...]
    total: int
    """number of rows that it reaches; only some of many are shown"""


class ChangeableTables:
    """The tables of a source as they were read, for models that were learned from such tables."""

    def __init__(self, source: Any, settings: Mapping[str, object], options: Mapping[str, Any]) -> None:
        self._settings, self._options = settings, dict(options)
        if options.get("schema") is None and isinstance(source, str | Path):
            # ChangeableTables that were read are no folder any more; its schema says how dates are written.
            inside = Path(source) / SCHEMA_FILE
            self._options["schema"] = inside if inside.is_file() else None
        self._unchanged: Engine | None = None
        read: list[Table] = []

        def reader(*asked: Any) -> list[Table]:
            read.extend(read_tables(*asked))
            return read

        asked = TableOptions(
            schema=self._options.get("schema"),
            dangling=options.get("dangling"),
            origin=settings,
            allow_outside=bool(options.get("allow_outside", False)),
        )
        relational = read_relational(source, asked, reader)
        self.stated = relational.stated
        self._tables = {table.name: table for table in read}
        self._plans = {plan.name: plan for plan in relational.plans}
        self._types = {type_name: table for table, type_name in relational.mapping.types.items()}
        target = relational.target
        self._label = (target.table, target.column) if target is not None else (None, None)

    def changed(self, changes: Sequence[Change]) -> Database:
        """The tables after some changes, loaded; examples are left out."""
        tables = dict(self._tables)
        # Rows keep their numbers until all values are changed; then they are removed, the last one first.
        for table, row, column, value in changes:
            if table not in tables:
                raise DataError(f'there is no table "{table}".')
            if column is not None:
                tables[table] = with_value(tables[table], row, column, value)
        removed = {(change.table, change.row) for change in changes if change.column is None}
        for table, row in sorted(removed, reverse=True):
            tables[table] = without_row(tables[table], row)
        options = self._options | {"examples": None, "negatives": "none"}
        return load_quietly(tables, origin=self._settings, **options)

    def explained(
        self, model: LearnedModel, names: Sequence[str], changes: Sequence[Change] = ()
    ) -> Explanation:
        """Why an example has its prediction, in the tables after some changes."""
        if not changes and self._unchanged is None:
            self._unchanged = self._engine(model, ())
        engine = self._engine(model, changes) if changes else self._unchanged
        assert engine is not None
        keys, _ = codes_for(model, engine.database, np.array([tuple(names)], dtype=object))
        return explain(model, engine, keys[0], tuple(names), SHOWN)

    def _engine(self, model: LearnedModel, changes: Sequence[Change]) -> Engine:
        seen, _ = data_for(model, self.changed(changes))
        return open_engine("memory", seen)

    def near(self, types: Sequence[str], names: Sequence[str]) -> list[NearRows]:
        """The rows of an example's things, those that link to them, and those that these link to."""
        found: dict[str, list[int]] = {}
        start = [
            (table, row)
            for type_name, name in zip(types, names, strict=False)
            if (table := self._types.get(type_name)) is not None
            for row in self._with_key(table, name)
        ]
        linking = [each for table, row in start for each in self._linking(table, row)]
        reached = [each for table, row in [*start, *linking] for each in self._linked(table, row)]
        for table, row in [*start, *linking, *reached]:
            if row not in found.setdefault(table, []):
                found[table].append(row)
        return [self._rows(table, rows) for table, rows in found.items()]

    def _rows(self, name: str, numbers: list[int]) -> NearRows:
        table, plan = self._tables[name], self._plans[name]
        shown = numbers[:MOST_ROWS]
        key = plan.table.joined.get(plan.key, (plan.key,)) if plan.key is not None else ()
        label = self._label[1] if self._label[0] == name else None
        fixed = tuple(each for each in (*key, label) if each is not None and each in table.columns)
        rows = tuple(tuple(word_of(column, row) for column in table.columns.values()) for row in shown)
        return NearRows(name, tuple(table.columns), fixed, tuple(shown), rows, len(numbers))

    def _with_key(self, table: str, name: str) -> list[int]:
        """The rows of a table that have a key."""
        plan = self._plans[table]
        if plan.key is None:
            return []
        column = plan.table.columns[plan.key]
        places = [code for code, text in enumerate(column.texts) if text == name]
        return np.flatnonzero(np.isin(column.codes, places)).tolist() if places else []

    def _linking(self, table: str, row: int) -> list[tuple[str, int]]:
        """The rows of other tables that link to a row."""
        plan = self._plans[table]
        if plan.key is None:
            return []
        key = word_of(plan.table.columns[plan.key], row)
        found = []
        for other in self._plans.values():
            for name, linked in other.links.items():
                if linked == table:
                    column = other.table.columns[name]
                    places = [code for code, text in enumerate(column.texts) if text == key]
                    rows: list[int] = np.flatnonzero(np.isin(column.codes, places)).tolist()
                    found += [(other.name, each) for each in rows]
        return found

    def _linked(self, table: str, row: int) -> list[tuple[str, int]]:
        """The rows that a row links to."""
        plan = self._plans[table]
        return [
            (linked, each)
            for column, linked in plan.links.items()
            for each in self._with_key(linked, word_of(plan.table.columns[column], row))
        ]


def difference(before: Explanation, after: Explanation) -> list[dict[str, object]]:
    """What each part of the model adds before and after, those that move most first."""
    parts: dict[str, dict[str, Any]] = {}
    for side, explanation in (("before", before), ("after", after)):
        for reason in explanation.reasons:
            name = str(reason.effect) if isinstance(reason, EffectReason) else str(reason.as_dict()["clause"])
            text = reason.because(explanation.key)
            part = parts.setdefault(name, {"before": 0.0, "after": 0.0, "why_before": "", "why_after": ""})
            part[side], part[f"why_{side}"] = reason.contribution, text
            part["sentence"] = reason.sentence if isinstance(reason, EffectReason) else text
    return sorted(
        parts.values(), key=lambda part: (-abs(part["after"] - part["before"]), -abs(part["after"]))
    )
