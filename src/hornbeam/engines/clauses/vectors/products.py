"""Products of links: a free variable that only connects two others is eliminated before a join.

In ``center(B,C), token(B,F), token(D,F)`` the variable F only connects B and D. Multiplying the two
sets of links through F gives new links from B to D with their numbers of ways. All clauses with these
literals share them. Products are made only while they are cheap; on large data a join on the bindings
of the examples visits far fewer facts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hornbeam.engines.clauses.plan import Core
from hornbeam.engines.clauses.vectors.vectors import Weight
from hornbeam.engines.contract import INT64_MAX
from hornbeam.engines.fact_slices import AtomFacts
from hornbeam.engines.memory.indexes import FactIndexes, Links
from hornbeam.logic.clauses import Atom, literal_variables

MOST_STEPS = 1 << 25
"""Maximum number of multiplications for a product of links."""
MOST_ROWS = 1 << 22
"""Maximum number of links in a product."""
DENSE_CELLS = 1 << 23
"""A product uses dense matrices if its three matrices have at most this many cells together."""


def multiplied_through(
    facts: FactIndexes, core: Core, weights: tuple[Weight, ...], keep: frozenset[int]
) -> tuple[tuple[Atom, ...], tuple[Weight, ...]]:
    """A core's atoms and weights after eliminating every variable for which a product is cheap."""
    facts.start_join()
    atoms = core.atoms
    free = dict.fromkeys(v for atom in atoms for v in literal_variables(atom) if v >= core.anchors)
    changed = True
    while changed:
        changed = False
        for variable in list(free):
            ends = None if variable in keep else _ends(variable, atoms, weights, core.anchors, keep)
            product = ends and _product(facts, variable, ends, weights)
            if ends and product:
                atoms = (*(atom for atom in atoms if atom not in (ends[0][0], ends[1][0])), product)
                weights = tuple(weight for weight in weights if variable not in weight.variables)
                del free[variable]
                changed = True
    return atoms, weights


Ends = tuple[tuple[Atom, int], tuple[Atom, int]]


def _ends(
    variable: int, atoms: tuple[Atom, ...], weights: tuple[Weight, ...], anchors: int, keep: frozenset[int]
) -> Ends | None:
    """The only two atoms with a variable, each with its only other variable that is needed elsewhere."""
    users = [atom for atom in atoms if variable in atom.args]
    if len(users) != 2 or len(atoms) == 2:
        return None
    if any(variable in weight.variables and len(weight.variables) > 1 for weight in weights):
        return None
    ends = []
    for atom in users:
        others = [
            v
            for v in literal_variables(atom)
            if v != variable
            and (
                v < anchors
                or v in keep
                or any(v in weight.variables for weight in weights)
                or any(v in other.args for other in atoms if other is not atom)
            )
        ]
        if len(others) != 1:
            return None
        ends.append((atom, others[0]))
    return None if ends[0][1] == ends[1][1] else (ends[0], ends[1])


def _product(facts: FactIndexes, variable: int, ends: Ends, weights: tuple[Weight, ...]) -> Atom | None:
    (one, source), (two, target) = ends
    here = [weight for weight in weights if weight.variables == (variable,)]
    key = (
        facts.pattern(one, source, variable),
        facts.pattern(two, target, variable),
        tuple(weight.vector for weight in here),
    )
    name = facts.stand_in(key)
    if name is None:
        links = facts.links(one, source, variable), facts.links(two, variable, target)
        multiplied = _multiplied(*links, here)
        if multiplied is None:
            return None
        name = facts.add_stand_in(key, multiplied, sum(weight.vector.values.nbytes for weight in here))
    return Atom(name, (source, target))


def _multiplied(left: Links, right: Links, weights: Sequence[Weight]) -> AtomFacts | None:
    """Links through a variable as facts with multiplicities; None if they cost too much."""
    shape = (left.shape[0], right.shape[1])
    steps = int(right.degrees(left.ends).sum(dtype=np.int64))
    if steps > MOST_STEPS or min(steps, shape[0] * shape[1]) > MOST_ROWS:
        return None
    bound = left.widest * right.widest
    for weight in weights:
        bound *= weight.vector.largest
    if bound > INT64_MAX:
        return None
    first, second = left.matrix(np.int64), right.matrix(np.int64)
    for weight in weights:
        first = replace(first, entries=first.entries * weight.vector.values[first.ends])
    cells = first.shape[0] * first.shape[1] + second.shape[0] * second.shape[1] + shape[0] * shape[1]
    if cells <= DENSE_CELLS and bound < 2**53 and steps > cells:
        # Floats are exact here, because every partial sum is a whole number below 2**53.
        full = first.full(np.float64) @ second.full(np.float64)
        rows, columns = np.nonzero(full)
        times = full[rows, columns].astype(np.int64)
    else:
        sparse = first.product(second)
        present = sparse.entries != 0
        rows = np.repeat(np.arange(shape[0]), np.diff(sparse.starts))[present]
        columns, times = sparse.ends[present], sparse.entries[present]
    sizes = (shape[0] - 1, shape[1] - 1)
    ways = None if times.max(initial=1) == 1 else times
    return AtomFacts((rows.astype(np.int32), columns.astype(np.int32)), sizes, len(rows), ways)
