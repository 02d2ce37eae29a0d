"""What tables are, for somebody to read: keys, links, roles, populations, and what looks wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hornbeam.clauses import format_name
from hornbeam.database import UNLABELLED, Coded, Database, Notice
from hornbeam.load.catalogue import SHOW, Form, Plan
from hornbeam.load.guess import is_constant, is_flag, is_nearly_unique
from hornbeam.load.mapping import Facts, MappedPredicate
from hornbeam.load.relational import Relational, TableOptions, as_stated, read_relational
from hornbeam.load.schema_file import Role, Statement, file_settings
from hornbeam.load.table_sources import Source, stated_schema
from hornbeam.load.tables import MISSING, Column, Domain
from hornbeam.load.targets import NO_NEGATIVES, GivenExamples, examples_in_tables

LEAK = 0.99
"""A column that alone ranks the examples so well, by AUC-ROC, hardly is known before the label is."""


@dataclass(frozen=True, slots=True)
class ColumnReport:
    """One column: what it is for, and what it holds."""

    name: str
    role: str
    domain: str
    n_values: int
    n_missing: int
    predicate: str
    """its predicate with the types of the arguments; empty where it has none"""


@dataclass(frozen=True, slots=True)
class TableReport:
    """One table."""

    name: str
    rows: int
    form: str
    key: str | None
    links: Mapping[str, str]
    time: str | None
    predicate: str
    """of its rows; empty where they have none"""
    columns: tuple[ColumnReport, ...]
    guessed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A column that may not be what it seems."""

    table: str
    column: str
    why: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """All that is known of tables before anything is learned."""

    tables: tuple[TableReport, ...]
    populations: Mapping[str, int]
    suspicions: tuple[Suspicion, ...]
    stated: Mapping[str, Mapping[str, object]]
    """the same as a schema.toml would state it"""
    examples: Mapping[str, int]
    """of the target: how many of each label"""
    places: Mapping[str, Mapping[str, object]]
    """where the facts of each predicate are, as ``hornbeam sql --tables`` reads it"""
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
        if self.suspicions:
            parts += ["", "suspicious:"]
            parts += [f"  {each.table}.{each.column}: {each.why}" for each in self.suspicions]
        return "\n".join(parts)

    def toml(self) -> str:
        """What was found as the text of a schema.toml, to be corrected where it is wrong."""
        parts = []
        for table, settings in self.stated.items():
            lines = [f"[{_toml_key(table)}]"]
            lines += [f"{word} = {_toml(value)}" for word, value in settings.items()]
            parts.append("\n".join(lines) + "\n")
        return "\n".join(parts)


def inspect_tables(source: Source, options: TableOptions) -> Inspection:
    """Read tables, and say what they are; links to keys that are not there are shown, not refused."""
    relational = read_relational(source, replace(options, dangling=SHOW))
    facts = Facts(relational.plans)
    target = relational.target
    given = None
    if target is not None:
        given = examples_in_tables(target, relational.plans, facts, NO_NEGATIVES, lenient=True)
    suspicions = [each for plan in relational.plans for each in _odd_columns(plan)]
    if given is not None and target is not None and target.table is not None and len(given.keys) == 1:
        suspicions += _leaks(relational, target.table, target.column, given, facts)
    things = {plan.name: plan for plan in relational.plans if plan.form is not Form.LINK}
    stated, _ = stated_schema(source, options.schema)
    return Inspection(
        tuple(_report(plan, relational) for plan in relational.plans),
        {
            relational.mapping.types[name]: plan.table.size
            for name, plan in things.items()
            if plan.key not in plan.links
        },
        tuple(suspicions),
        {plan.name: _in_full(plan, stated.get(plan.name, Statement())) for plan in relational.plans}
        | {name: {"use": False} for name, statement in stated.items() if not statement.use},
        {} if given is None else _label_counts(given),
        _places(relational),
        relational.notices,
    )


def _places(relational: Relational) -> dict[str, dict[str, object]]:
    """Table and columns of each predicate; those of rows without a key have none that SQL could name."""
    times = {plan.name: plan.time for plan in relational.plans}
    found: dict[str, dict[str, object]] = {}
    for each in relational.mapping.predicates:
        if None not in each.columns:
            found[each.name] = {
                "table": each.table,
                "columns": list(each.columns),
                **({} if each.flag is None else {"true": each.flag}),
                **({} if times[each.table] is None else {"time": times[each.table]}),
            }
    return found


def _in_full(plan: Plan, statement: Statement) -> dict[str, object]:
    """All that a schema.toml can say of a table: also of its file, and of columns that were not read."""
    found = file_settings(statement) | as_stated(plan)
    unused = [name for name, role in plan.roles.items() if role is Role.UNUSED]
    unread = statement.unused() - plan.roles.keys()
    return found | ({"unused": sorted([*unused, *unread])} if unused or unread else {})


def _report(plan: Plan, relational: Relational) -> TableReport:
    predicates = {
        each.flag or each.columns[-1]: each
        for each in relational.mapping.predicates
        if each.table == plan.name and (each.flag or each.value or plan.form is not Form.LINK)
    }
    of_rows = next(
        (
            each
            for each in relational.mapping.predicates
            if each.table == plan.name and each.name == plan.name.lower()
        ),
        None,
    )
    target = relational.target
    columns = []
    for name, column in plan.table.columns.items():
        is_label = target is not None and (target.table, target.column) == (plan.name, name)
        role = Role.LABEL if is_label else plan.roles[name]
        predicate = _signature(predicates.get(name)) if role not in (Role.KEY, Role.LABEL) else ""
        columns.append(
            ColumnReport(name, role.value, column.domain.value, column.n_values, column.n_missing, predicate)
        )
    return TableReport(
        plan.name,
        plan.table.size,
        plan.form.value,
        plan.key,
        plan.links,
        plan.time,
        _signature(of_rows),
        tuple(columns),
        plan.guessed,
    )


def _signature(predicate: MappedPredicate | None) -> str:
    if predicate is None:
        return ""
    return f"{format_name(predicate.name)}({','.join(map(format_name, predicate.types))})"


def _label_counts(given: GivenExamples) -> dict[str, int]:
    names = dict(enumerate(given.classes)) if given.classes else {1: "positive", 0: "negative"}
    counts = {name: int(np.count_nonzero(given.labels == label)) for label, name in names.items()}
    unknown = int(np.count_nonzero(given.labels == UNLABELLED))
    return counts | ({"without a label": unknown} if unknown else {})


# --- facts -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FactsInspection:
    """What facts are: predicates with their types and numbers of facts, populations, examples."""

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


def inspect_facts(database: Database) -> FactsInspection:
    """What the facts and examples of a database are."""
    return FactsInspection(
        tuple(
            (name, types, len(database.relation(name)))
            for name, types in sorted(database.schema.predicates.items())
            if name not in database.example_sets
        ),
        {name: len(population) for name, population in sorted(database.populations.items())},
        {
            name: (int((examples.labels == 1).sum()), int((examples.labels == 0).sum()))
            for name, examples in sorted(database.example_sets.items())
        },
    )


# --- suspicious columns ----------------------------------------------------------------------


def _odd_columns(plan: Plan) -> Iterator[Suspicion]:
    for name, said in plan.dangling.items():
        why = said.partition(": ")[2]
        yield Suspicion(plan.name, name, f"{why}; refused by other verbs unless --dangling is drop or keep")
    for name, column in plan.table.columns.items():
        role = plan.roles[name]
        if role in (Role.KEY, Role.LINK):
            continue
        unused = "" if role is not Role.UNUSED else "; not used"
        if not column.n_values and plan.table.size:
            yield Suspicion(plan.name, name, f"no row has a value{unused}")
        elif is_constant(column, plan.table.size):
            yield Suspicion(plan.name, name, f"the same value ({column.texts[0]}) in every row{unused}")
        elif column.domain is Domain.TEXT and is_nearly_unique(column, plan.table.size):
            shown = f"{column.n_values:,} different texts in {plan.table.size:,} rows"
            yield Suspicion(plan.name, name, f"{shown}{unused}")


def _leaks(
    relational: Relational, table: str, label: str | None, given: GivenExamples, facts: Facts
) -> Iterator[Suspicion]:
    """Columns of the target's table and of those that tell more of its things, and numbers of rows."""
    known = given.labels != UNLABELLED
    for wanted in range(len(given.classes)) if given.classes else (1,):
        truth = given.labels[known] == wanted
        if truth.all() or not truth.any():
            continue
        of_class = f" of {given.classes[wanted]}" if given.classes else ""
        for plan in relational.plans:
            links = [link for link, other in plan.links.items() if other == table and plan.name != table]
            for link in links:
                rows = facts.argument(plan, link)
                score = _auc(_number_of_rows(rows, given.keys[0])[known], truth)
                if max(score, 1.0 - score) >= LEAK:
                    why = f"how many rows there are tells the label{of_class} (AUC-ROC {score:.3f})"
                    yield Suspicion(plan.name, link, f"{why}: a leak?")
            one_each = next((link for link in links if plan.table.columns[link].is_unique), None)
            if plan.name != table and one_each is None:
                continue
            rows = given.keys[0] if one_each is None else facts.argument(plan, one_each)
            for name, column in plan.table.columns.items():
                is_label = plan.name == table and name == label
                if is_label or name == one_each or plan.roles[name] in (Role.KEY, Role.UNUSED):
                    continue
                score = _alone(_of_things(column, rows, given.keys[0]), known, truth)
                if score >= LEAK:
                    why = f"alone tells the label{of_class} (AUC-ROC {score:.3f}): a leak?"
                    yield Suspicion(plan.name, name, why)


def _of_things(column: Column, rows: Coded, things: Coded) -> Column:
    """The value of a column for each thing, given the thing of each row, no two alike."""
    codes = {rows.names[thing]: code for thing, code in zip(rows.codes.tolist(), column.codes, strict=True)}
    found = [codes.get(things.names[thing], MISSING) for thing in things.codes.tolist()]
    return replace(column, codes=np.array(found, dtype=np.int32))


def _alone(column: Column, known: npt.NDArray[np.bool_], truth: npt.NDArray[np.bool_]) -> float:
    codes = column.codes[known] + 1
    ordered = column.domain in (Domain.NUMBER, Domain.DATE, Domain.MOMENT) and not is_flag(column)
    if ordered:
        # By order, whichever way: each distinct number for itself would tell anything.
        score = _auc(codes.astype(np.float64), truth)
        return max(score, 1.0 - score)
    if is_nearly_unique(column, len(column)):
        return 0.0
    sizes = np.bincount(codes, minlength=column.n_values + 1)
    positives = np.bincount(codes, weights=truth, minlength=column.n_values + 1)
    return _auc((positives / np.maximum(sizes, 1))[codes], truth)


def _number_of_rows(link: Coded, things: Coded) -> npt.NDArray[np.float64]:
    per_code = np.bincount(link.codes[link.codes != MISSING], minlength=len(link.names))
    numbers = dict(zip(link.names, per_code.tolist(), strict=True))
    return np.array([numbers.get(name, 0) for name in things.names], dtype=np.float64)[things.codes]


def _auc(scores: npt.NDArray[np.float64], truth: npt.NDArray[np.bool_]) -> float:
    """Share of pairs in the right order; ties count half."""
    _, group = np.unique(scores, return_inverse=True)
    positives = np.bincount(group[truth], minlength=int(group.max()) + 1)
    negatives = np.bincount(group[~truth], minlength=len(positives))
    below = np.cumsum(negatives) - negatives
    return float((positives * (below + 0.5 * negatives)).sum() / (positives.sum() * negatives.sum()))


# --- text ------------------------------------------------------------------------------------


def _table_lines(table: TableReport) -> list[str]:
    about = [f"{table.rows:,} rows", table.form]
    about += [f"key {table.key}"] if table.key is not None else []
    about += [f"{column} -> {other}" for column, other in table.links.items()]
    about += [f"time {table.time}"] if table.time is not None else []
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
