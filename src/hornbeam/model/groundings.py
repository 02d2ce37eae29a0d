"""Which assignments of the free variables make a body true for one example.

Counts never enumerate; this does, for people who ask why. Each literal becomes a small table of
the rows that agree with the example. Rows whose value no other literal allows are dropped, again
after every choice, so that a body without a cycle never runs into a dead end and the first
groundings come after a few passes over the facts, whatever the size of the count.
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

    def keep(self, rows: npt.NDArray[np.bool_]) -> _GroundingTable:
        return _GroundingTable(self.variables, tuple(column[rows] for column in self.columns), self.negated)

    def bind(self, variable: int, value: int) -> _GroundingTable:
        """The table once the variable has the value."""
        if variable not in self.variables:
            return self
        at = self.variables.index(variable)
        rows = self.columns[at] == value
        rest = [i for i in range(len(self.variables)) if i != at]
        if not rest:
            # A column of its own would be empty; one row without columns says "there is a fact".
            found = np.zeros(int(rows.any()), dtype=np.int32)
            return _GroundingTable((), (found,), self.negated)
        return _GroundingTable(
            tuple(self.variables[i] for i in rest),
            tuple(self.columns[i][rows] for i in rest),
            self.negated,
        )

    def __len__(self) -> int:
        return len(self.columns[0])


def groundings(
    database: Database,
    clause: Clause,
    key: Sequence[int],
    limit: int | None = None,
    patience: int | None = None,
) -> list[tuple[int, ...]]:
    """Codes of the clause's free variables, one tuple per true grounding, at most ``limit``.

    ``key`` holds the codes of the head's arguments (-1: unknown to the database), and that of its
    cut-off where it has one: facts after it do not exist. The order
    depends on the codes only. Without a limit there is one for each true count; after ``patience``
    choices (a body with a cycle may lead into dead ends) the search ends with what it has.

    >>> from hornbeam.data.build import build
    >>> from hornbeam.logic.schema import Schema
    >>> from hornbeam.logic.parse import parse_clause
    >>> schema = Schema({"friends": ("person", "person"), "happy": ("person",)})
    >>> db = build(schema, (), {"friends": [["ann", "ann", "bob"], ["bob", "cat", "ann"]]})
    >>> people = db.population("person")
    >>> found = groundings(db, parse_clause("happy(A) :- friends(A,B)"), [people.code("ann")])
    >>> [people.names[code] for (code,) in found]
    ['bob', 'cat']
    """
    types = database.schema.variable_types(clause)
    arity = len(clause.head.args)
    binding = dict(zip(range(arity), key[:arity], strict=True))
    cutoffs = database.cutoffs_of(clause.head.predicate, np.array([key], dtype=np.int32))
    cutoff = None if cutoffs is None else float(cutoffs[0])
    tables = [
        _compared(database, literal, binding, types)
        if isinstance(literal, Comparison)
        else _table(database, atom_of(literal), binding, isinstance(literal, Not), cutoff)
        for literal in clause.body
    ]
    free = clause.free_variables()
    allowed = {
        variable: np.ones(len(database.population(types[variable])), dtype=np.bool_) for variable in free
    }
    choices = iter(range(patience)) if patience is not None else count()
    found = _search(tables, allowed, {}, choices)
    return [tuple(values[variable] for variable in free) for values in islice(found, limit)]


def _compared(
    database: Database, comparison: Comparison, binding: Mapping[int, int], types: Mapping[int, str]
) -> _GroundingTable:
    """The constants on the comparison's side; an unknown key has no value and is on neither."""
    variable, operator, value = comparison
    numbers, threshold = database.numbers[types[variable]], number_of(value)
    found = np.flatnonzero(numbers >= threshold if operator == AT_LEAST else numbers < threshold)
    codes = found.astype(np.int32)
    if variable not in binding:
        return _GroundingTable((variable,), (codes,), False)
    return _GroundingTable((), (codes[codes == binding[variable]],), False)


def _table(
    database: Database, atom: Atom, binding: Mapping[int, int], negated: bool, cutoff: float | None
) -> _GroundingTable:
    """The facts of an atom that agree with its constants, the example, and repeated variables."""
    columns = database.relation(atom.predicate).columns
    if cutoff is not None and atom.predicate in database.times:
        exists = database.times[atom.predicate] <= cutoff
        columns = tuple(column[exists] for column in columns)
    types = database.schema.types_of(atom.predicate)
    fixed: dict[int, int] = {}
    for position, (term, type_name) in enumerate(zip(atom.args, types, strict=True)):
        if isinstance(term, str):
            fixed[position] = database.population(type_name).code(term)
        elif term in binding:
            fixed[position] = binding[term]
    if UNKNOWN in fixed.values():
        columns = tuple(column[:0] for column in columns)
    elif 0 in fixed:
        # Rows are sorted, so those with one value in the first column stand together. The values are of the
        # column's own type: for another, NumPy would copy all of the column.
        first, last = np.searchsorted(columns[0], np.array([fixed[0], fixed[0] + 1], dtype=np.int32))
        columns = tuple(column[first:last] for column in columns)
    rows = np.ones(len(columns[0]), dtype=np.bool_)
    for position, code in fixed.items():
        rows &= columns[position] == code
    places: dict[int, int] = {}
    for position, term in enumerate(atom.args):
        if isinstance(term, int) and position not in fixed:
            first_place = places.setdefault(term, position)
            if first_place != position:
                rows &= columns[first_place] == columns[position]
    variables = tuple(variable for variable in literal_variables(atom) if variable in places)
    if not variables:
        return _GroundingTable((), (np.zeros(int(rows.any()), dtype=np.int32),), negated)
    return _GroundingTable(
        variables, tuple(columns[places[variable]][rows] for variable in variables), negated
    )


def _search(
    tables: Sequence[_GroundingTable], allowed: Allowed, values: dict[int, int], choices: Iterator[int]
) -> Iterator[dict[int, int]]:
    """Every way to give the remaining variables values, until there are no more ``choices``."""
    reduced = _reduce(tables, allowed)
    if reduced is None:
        return
    tables, allowed = reduced
    if not allowed:
        yield values
        return
    variable = _next_variable(tables, allowed)
    rest = {other: codes for other, codes in allowed.items() if other != variable}
    for value in np.flatnonzero(allowed[variable]):
        if next(choices, None) is None:
            return
        code = int(value)
        bound = [table.bind(variable, code) for table in tables]
        yield from _search(bound, rest, {**values, variable: code}, choices)


def _next_variable(tables: Sequence[_GroundingTable], allowed: Allowed) -> int:
    """A variable of the smallest table: what is nearly decided is decided first."""
    sizes = {variable: len(codes) for variable, codes in allowed.items()}
    for table in tables:
        if not table.negated:
            for variable in table.variables:
                sizes[variable] = min(sizes[variable], len(table))
    return min(sizes, key=lambda variable: (sizes[variable], variable))


def _reduce(
    tables: Sequence[_GroundingTable], allowed: Allowed
) -> tuple[list[_GroundingTable], Allowed] | None:
    """Drop values and rows that cannot be part of a grounding; ``None`` where nothing is left."""
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
    # What one table knows reaches its neighbours in one pass, so without a cycle this many are enough;
    # with one, a pass may strip a single layer of a long path, and waiting for the last would not end.
    for _ in open_tables:
        changed = False
        for at, table in enumerate(open_tables):
            if table.negated:
                continue
            rows = np.ones(len(table), dtype=np.bool_)
            for variable, column in zip(table.variables, table.columns, strict=True):
                rows &= allowed[variable][column]
            if not rows.all():
                table = open_tables[at] = table.keep(rows)
            for variable, column in zip(table.variables, table.columns, strict=True):
                codes = np.zeros_like(allowed[variable])
                codes[column] = True
                codes &= allowed[variable]
                if np.count_nonzero(codes) < np.count_nonzero(allowed[variable]):
                    allowed[variable] = codes
                    changed = True
        if not changed:
            break
    if any(not codes.any() for codes in allowed.values()):
        return None
    return open_tables, allowed
