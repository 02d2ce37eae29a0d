"""The results of an inspection: as values, as text to read, as JSON, and as a schema.toml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hornbeam.data.database import Notice
from hornbeam.loading.inspect.features import features_text
from hornbeam.loading.inspect.suspicions import Suspicion
from hornbeam.logic.clauses import format_name


@dataclass(frozen=True, slots=True)
class ColumnReport:
    """One column: its role, its values, and its predicate."""

    name: str
    role: str
    domain: str
    n_values: int
    n_missing: int
    predicate: str
    """with the types of its arguments; empty if the column gives none"""
    features: tuple[str, ...] = ()
    """the features that the column offers to the default learner"""


@dataclass(frozen=True, slots=True)
class TableReport:
    """One table."""

    name: str
    rows: int
    form: str
    key: str | None
    links: Mapping[str, str]
    time: str | None
    time_of: tuple[str, ...]
    """links to the rows whose times the rows take over"""
    from_start: bool
    """whether all rows are known from the start, whatever the cut-offs"""
    predicate: str
    """the predicate of its rows, with the types of its arguments; empty if there is none"""
    columns: tuple[ColumnReport, ...]
    guessed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inspection:
    """What is known about tables before learning."""

    tables: tuple[TableReport, ...]
    populations: Mapping[str, int]
    suspicions: tuple[Suspicion, ...]
    stated: Mapping[str, Mapping[str, object]]
    """the sections of a schema.toml that states all of this"""
    examples: Mapping[str, int]
    """the number of examples of the target by label"""
    places: Mapping[str, Mapping[str, object]]
    """where the facts of each predicate are, in the form that ``hornbeam sql --tables`` reads"""
    notices: tuple[Notice, ...]

    def as_dict(self) -> dict[str, object]:
        """The inspection as JSON values."""
        return {
            "tables": [
                {
                    "table": table.name,
                    "rows": table.rows,
                    "form": table.form,
                    "key": table.key,
                    "links": dict(table.links),
                    "time": table.time,
                    "time_of": list(table.time_of),
                    "known_from_start": table.from_start,
                    "predicate": table.predicate or None,
                    "inferred": list(table.guessed),
                    "columns": [
                        {
                            "column": column.name,
                            "role": column.role,
                            "type": column.domain,
                            "values": column.n_values,
                            "missing": column.n_missing,
                            "predicate": column.predicate or None,
                            "features": list(column.features),
                        }
                        for column in table.columns
                    ],
                }
                for table in self.tables
            ],
            "populations": dict(self.populations),
            "examples": dict(self.examples),
            "suspicious": [
                {"table": each.table, "column": each.column, "why": each.why} for each in self.suspicions
            ],
            "notices": [str(notice) for notice in self.notices],
        }

    def __str__(self) -> str:
        parts = [part for table in self.tables for part in _table_lines(table)]
        populations = ", ".join(f"{name} {size:,}" for name, size in self.populations.items())
        parts.append(f"populations: {populations or 'none'}")
        if self.examples:
            parts.append("examples: " + ", ".join(f"{label} {n:,}" for label, n in self.examples.items()))
        offered = features_text((c.name, c.role) for table in self.tables for c in table.columns)
        parts += ["", "features that columns offer:", *offered] if offered else []
        if self.suspicions:
            parts += ["", "suspicious:"]
            parts += [f"  {each.table}.{each.column}: {each.why}" for each in self.suspicions]
        return "\n".join(parts)

    def toml(self) -> str:
        """The text of a schema.toml that states all of this, for the user to correct."""
        parts = []
        for table, settings in self.stated.items():
            lines = [f"[{_toml_key(table)}]"]
            lines += [f"{word} = {_toml(value)}" for word, value in settings.items()]
            parts.append("\n".join(lines) + "\n")
        return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class FactsInspection:
    """What is known about facts: predicates with types and numbers of facts, populations, examples."""

    predicates: tuple[tuple[str, tuple[str, ...], int], ...]
    populations: Mapping[str, int]
    examples: Mapping[str, tuple[int, int]]

    def as_dict(self) -> dict[str, object]:
        """The inspection as JSON values."""
        return {
            "predicates": [
                {"predicate": name, "types": list(types), "facts": number}
                for name, types, number in self.predicates
            ],
            "populations": dict(self.populations),
            "examples": {
                name: {"positive": positive, "negative": negative}
                for name, (positive, negative) in self.examples.items()
            },
        }

    def __str__(self) -> str:
        cells = [("predicate", "facts")]
        cells += [
            (f"{format_name(name)}({','.join(map(format_name, types))})", f"{number:,}")
            for name, types, number in self.predicates
        ]
        widths = [max(len(row[place]) for row in cells) for place in range(2)]
        lines = [f"{name.ljust(widths[0])}  {number.rjust(widths[1])}" for name, number in cells]
        populations = ", ".join(f"{name} {size:,}" for name, size in self.populations.items())
        lines += ["", f"populations: {populations or 'none'}"]
        for name, (positive, negative) in self.examples.items():
            lines.append(f"examples of {name}: {positive:,} positive, {negative:,} negative")
        return "\n".join(lines)


def _table_lines(table: TableReport) -> list[str]:
    about = [f"{table.rows:,} rows", table.form]
    about += [f"key {table.key}"] if table.key is not None else []
    about += [f"{column} -> {other}" for column, other in table.links.items()]
    about += [f"time {table.time}"] if table.time is not None else []
    about += [f"time of {link}" for link in table.time_of]
    about += ["known from the start"] if table.from_start else []
    about += [f"predicate {table.predicate}"] if table.predicate else []
    cells = [("column", "role", "type", "values", "missing", "predicate")]
    cells += [
        (c.name, c.role, c.domain, f"{c.n_values:,}", f"{c.n_missing:,}", c.predicate) for c in table.columns
    ]
    lines = [f"{table.name}: {', '.join(about)}", *_aligned(cells)]
    if table.guessed:
        lines.append(f"  inferred: {', '.join(table.guessed)}")
    return [*lines, ""]


def _aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[place]) for row in cells) for place in range(len(cells[0]))]
    numbers = (3, 4)
    return [
        "  "
        + "  ".join(
            cell.rjust(width) if place in numbers else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_toml_key(key)} = {_toml(each)}" for key, each in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return _toml_text(str(value))


def _toml_key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "a").replace("-", "a").isalnum()
    return name if bare else _toml_text(name)


def _toml_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
