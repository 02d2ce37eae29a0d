"""Which assignments of the free variables make a body true for one example.

Engines count without enumerating; this module enumerates, to explain predictions. Each literal becomes
a small table of the rows that agree with the example. Rows with a value that another literal excludes are
dropped, at the start and after every choice. A body without a cycle therefore never runs into a dead end,
and the first groundings come after a few passes over the facts, however large the count is.

``grounding_lookup`` finds the groundings of many examples faster, but not always all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNKNOWN, Codes, Database
from hornbeam.logic.clauses import AT_LEAST, Atom, Clause, Comparison, Not, atom_of, literal_variables
from hornbeam.logic.schema import number_of

Allowed = Mapping[int, npt.NDArray[np.bool_]]
"""For each free variable without a value, which codes it may still take."""


@dataclass(frozen=True, slots=True)
class _GroundingTable:
    """The rows a literal still allows (or, negated, forbids) for its variables without a value."""

    variables: tuple[int, ...]
    columns: tuple[Codes, ...]
    negated: bool

    def select(self, rows: npt.NDArray[np.bool_]) -> _GroundingTable:
        return _GroundingTable(self.variables, tuple(column[rows] for column in self.columns), self.negated)

    def bind(self, variable: int, value: int) -> _GroundingTable:
        """The table after the variable gets the value."""
        if variable not in self.variables:
            return self
        at = self.variables.index(variable)
        rows = self.columns[at] == value
        others = [i for i in range(len(self.variables)) if i != at]
        if not others:
            return _table_without_variables(bool(rows.any()), self.negated)
        return _GroundingTable(
            tuple(self.variables[i] for i in others),
            tuple(self.columns[i][rows] for i in others),
            self.negated,
        )

    def __len__(self) -> int:
        return len(self.columns[0])


def _table_without_variables(has_fact: bool, negated: bool) -> _GroundingTable:
    """A table of a literal whose variables all have values: one row if there is such a fact, else none."""
    return _GroundingTable((), (np.zeros(int(has_fact), dtype=np.int32),), negated)


def groundings(
    database: Database,
    clause: Clause,
    key: Sequence[int],
    limit: int | None = None,
    patience: int | None = None,
) -> list[tuple[int, ...]]:
    """Codes of the clause's free variables, one tuple per true grounding, at most ``limit``.

    ``key`` holds the codes of the head's arguments (-1: unknown to the database) and, if examples have
    cut-offs, the code of the cut-off: later facts are ignored. The order depends on the codes only.
    Without a limit there are as many groundings as the true count. After ``patience`` choices the search
    ends with what it has found; only a body with a cycle may lead into dead ends.

    >>> from hornbeam.data.build import build
    >>> from hornbeam.logic.schema import Schema
    >>> from hornbeam.logic.parse import parse_clause
    >>> schema = Schema({"friends": ("person", "person"), "happy": ("person",)})
    >>> db = build(schema, (), {"friends": [["ann", "ann", "bob"], ["bob", "cat", "ann"]]})
    >>> people = db.population("person")
    >>> friends = groundings(db, parse_clause("happy(A) :- friends(A,B)"), [people.code("ann")])
    >>> [people.names[code] for (code,) in friends]
    ['bob', 'cat']
    """
    types = database.schema.variable_types(clause)
    binding = dict(enumerate(key[: len(clause.head.args)]))
    cutoff = cutoff_of(database, clause, key)
    tables = [
        _comparison_table(database, literal, binding, types)
        if isinstance(literal, Comparison)
        else _atom_table(database, atom_of(literal), binding, isinstance(literal, Not), cutoff)
        for literal in clause.body
    ]
    free = clause.free_variables()
    allowed = {
        variable: np.ones(len(database.population(types[variable])), dtype=np.bool_) for variable in free
    }
    choices = iter(range(patience)) if patience is not None else count()
    assignments = _search(tables, allowed, {}, choices)
    return [tuple(values[variable] for variable in free) for values in islice(assignments, limit)]


def cutoff_of(database: Database, clause: Clause, key: Sequence[int]) -> float | None:
    """The cut-off of an example, if the examples of the clause's target have cut-offs."""
    cutoffs = database.cutoffs_of(clause.head.predicate, np.array([key], dtype=np.int32))
    return None if cutoffs is None else float(cutoffs[0])


def fixed_codes(database: Database, atom: Atom, binding: Mapping[int, int]) -> dict[int, int]:
    """The codes of those arguments of an atom that are constants or bound variables, by position."""
    fixed: dict[int, int] = {}
    for position, (term, type_name) in enumerate(
        zip(atom.args, database.schema.types_of(atom.predicate), strict=True)
    ):
        if isinstance(term, str):
            fixed[position] = database.population(type_name).code(term)
        elif term in binding:
            fixed[position] = binding[term]
    return fixed


def compare(comparison: Comparison, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Which numbers make a comparison true."""
    threshold = number_of(comparison.value)
    is_true: npt.NDArray[np.bool_] = (
        numbers >= threshold if comparison.operator == AT_LEAST else numbers < threshold
    )
    return is_true


def _comparison_table(
    database: Database, comparison: Comparison, binding: Mapping[int, int], types: Mapping[int, str]
) -> _GroundingTable:
    """The constants for which a comparison is true; it is false for an unknown constant."""
    variable = comparison.variable
    codes = np.flatnonzero(compare(comparison, database.numbers[types[variable]])).astype(np.int32)
    if variable not in binding:
        return _GroundingTable((variable,), (codes,), False)
    return _GroundingTable((), (codes[codes == binding[variable]],), False)


def _atom_table(
    database: Database, atom: Atom, binding: Mapping[int, int], negated: bool, cutoff: float | None
) -> _GroundingTable:
    """The facts of an atom that agree with its constants, the example, and repeated variables."""
    columns = database.relation(atom.predicate).columns
    if cutoff is not None and atom.predicate in database.times:
        exists = database.times[atom.predicate] <= cutoff
        columns = tuple(column[exists] for column in columns)
    fixed = fixed_codes(database, atom, binding)
    if UNKNOWN in fixed.values():
        columns = tuple(column[:0] for column in columns)
    elif 0 in fixed:
        # Rows are sorted, so rows with one value in the first column are next to each other. The values
        # have the column's own type: for another, NumPy would copy the whole column.
        first, last = np.searchsorted(columns[0], np.array([fixed[0], fixed[0] + 1], dtype=np.int32))
        columns = tuple(column[first:last] for column in columns)
    rows = np.ones(len(columns[0]), dtype=np.bool_)
    for position, code in fixed.items():
        rows &= columns[position] == code
    first_positions: dict[int, int] = {}
    for position, term in enumerate(atom.args):
        if isinstance(term, int) and position not in fixed:
            first_position = first_positions.setdefault(term, position)
            if first_position != position:
                rows &= columns[first_position] == columns[position]
    variables = tuple(variable for variable in literal_variables(atom) if variable in first_positions)
    if not variables:
        return _table_without_variables(bool(rows.any()), negated)
    return _GroundingTable(
        variables, tuple(columns[first_positions[variable]][rows] for variable in variables), negated
    )


def _search(
    tables: Sequence[_GroundingTable], allowed: Allowed, values: dict[int, int], choices: Iterator[int]
) -> Iterator[dict[int, int]]:
    """All assignments of the remaining variables, until ``choices`` is exhausted."""
    reduced = _reduce(tables, allowed)
    if reduced is None:
        return
    tables, allowed = reduced
    if not allowed:
        yield values
        return
    variable = _next_variable(tables, allowed)
    others = {other: codes for other, codes in allowed.items() if other != variable}
    for value in np.flatnonzero(allowed[variable]):
        if next(choices, None) is None:
            return
        code = int(value)
        bound = [table.bind(variable, code) for table in tables]
        yield from _search(bound, others, {**values, variable: code}, choices)


def _next_variable(tables: Sequence[_GroundingTable], allowed: Allowed) -> int:
    """The variable with the fewest possible values, by its codes and the rows of its tables."""
    sizes = {variable: len(codes) for variable, codes in allowed.items()}
    for table in tables:
        if not table.negated:
            for variable in table.variables:
                sizes[variable] = min(sizes[variable], len(table))
    return min(sizes, key=lambda variable: (sizes[variable], variable))


def _reduce(
    tables: Sequence[_GroundingTable], allowed: Allowed
) -> tuple[list[_GroundingTable], Allowed] | None:
    """Drop values and rows that cannot be in a grounding; ``None`` if there is no grounding."""
    open_tables: list[_GroundingTable] = []
    allowed = dict(allowed)
    for table in tables:
        if not table.variables:
            if bool(len(table)) == table.negated:
                return None
        elif table.negated and len(table.variables) == 1:
            variable = table.variables[0]
            codes = allowed[variable].copy()
            codes[table.columns[0]] = False
            allowed[variable] = codes
        elif len(table) or not table.negated:
            open_tables.append(table)
    # In one pass, the values that a table excludes reach its neighbours. Without a cycle, one pass per table
    # is enough. With a cycle, a pass may remove very few rows, so the number of passes is limited as well.
    for _ in open_tables:
        if not _reduce_once(open_tables, allowed):
            break
    if any(not codes.any() for codes in allowed.values()):
        return None
    return open_tables, allowed


def _reduce_once(tables: list[_GroundingTable], allowed: dict[int, npt.NDArray[np.bool_]]) -> bool:
    """Drop rows with values that are not allowed, then values without a row; return whether a value was."""
    changed = False
    for at, table in enumerate(tables):
        if table.negated:
            continue
        rows = np.ones(len(table), dtype=np.bool_)
        for variable, column in zip(table.variables, table.columns, strict=True):
            rows &= allowed[variable][column]
        if not rows.all():
            table = tables[at] = table.select(rows)
        for variable, column in zip(table.variables, table.columns, strict=True):
            codes = np.zeros_like(allowed[variable])
            codes[column] = True
            codes &= allowed[variable]
            if np.count_nonzero(codes) < np.count_nonzero(allowed[variable]):
                allowed[variable] = codes
                changed = True
    return changed
