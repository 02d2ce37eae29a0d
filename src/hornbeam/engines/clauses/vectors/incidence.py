"""Which examples have which constant: the counts of literals that differ in one constant, in one pass."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.data.database import Database
from hornbeam.data.rows import Integers
from hornbeam.data.sparse import Matrix, summed
from hornbeam.logic.clauses import Atom

BYTES_PER_ENTRY = 48
"""Bytes of the memory budget for each entry of the matrix, with the copies that are made of it."""


def incidence(
    database: Database, atoms: Sequence[Atom], heads: Sequence[Integers], memory: int
) -> Matrix | None:
    """A row for each example, a column for each atom: 1 if it is a fact.

    ``heads`` has a column of codes for each head variable; the code after the last stands for a thing without
    facts. None if the atoms do not have two arguments, a head variable and a constant, or if the matrix does
    not fit into memory.
    """
    predicate, args = atoms[0]
    position = next((at for at, term in enumerate(args) if isinstance(term, str)), None)
    if len(args) != 2 or position is None:
        return None
    variable = args[1 - position]
    if not isinstance(variable, int) or variable >= len(heads):
        return None
    types = database.schema.predicates[predicate]
    columns = database.relation(predicate).columns
    constants = database.population(types[position])
    place_of = np.full(len(constants) + 1, -1, dtype=np.int32)
    place_of[constants.encode([str(atom.args[position]) for atom in atoms])] = np.arange(len(atoms))
    place_of[-1] = -1  # of constants that are not known, whose code is -1
    places = place_of[columns[position]]
    kept = np.flatnonzero(places >= 0)
    shape = len(database.population(types[1 - position])) + 1, len(atoms)
    of_things = summed(columns[1 - position][kept], places[kept], np.ones(len(kept), dtype=np.int64), shape)
    number = int(np.diff(of_things.starts)[heads[variable]].sum(dtype=np.int64))
    return of_things.take(heads[variable]) if number * BYTES_PER_ENTRY <= memory else None
