"""What things reach: the matrices of links along which labels of neighbours count.

A body such as ``topic(A) :- links(A,B), links(C,B), topic(C)`` is a chain: from a thing along links to
another thing, of which a target says something. A chain is a product of sparse matrices, one for each link.
It is never multiplied out: a sweep multiplies the labels by one matrix after the other, in time linear in the
facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hornbeam.data.database import Database
from hornbeam.data.numbers import Floats
from hornbeam.joint.things import Places, Things
from hornbeam.logic.clauses import Atom, Clause

Sparse = Any
"""A matrix of ``scipy.sparse``, by rows."""


class Link(NamedTuple):
    """A predicate, the argument at which a thing enters, and the argument to which it leads."""

    predicate: str
    enter: int
    leave: int


class Chain(NamedTuple):
    """A variable of the head, the links from it, and the argument of a target where they end."""

    start: int
    links: tuple[Link, ...]
    target: str
    place: int


def chain_of(clause: Clause) -> Chain | None:
    """The chain of a body whose last atom is of a target; None if the body is no chain."""
    atoms = clause.body
    if not atoms or not all(isinstance(atom, Atom) and _plain(atom) for atom in atoms):
        return None
    starts = set(clause.head.args) & set(atoms[0].args)  # type: ignore[union-attr]
    if len(starts) != 1:
        return None
    current = start = starts.pop()
    seen: set[object] = {*clause.head.args}
    links = []
    for atom, following in pairwise(atoms):
        assert isinstance(atom, Atom) and isinstance(following, Atom)
        leaves = (set(atom.args) - {current}) & set(following.args) - seen
        if current not in atom.args or len(leaves) != 1:
            return None
        leave = leaves.pop()
        links.append(Link(atom.predicate, atom.args.index(current), atom.args.index(leave)))
        seen |= set(atom.args)
        current = leave
    last = atoms[-1]
    assert isinstance(last, Atom) and isinstance(start, int)
    if current not in last.args or (set(last.args) - {current}) & seen:
        return None
    return Chain(start, tuple(links), last.predicate, last.args.index(current))


def _plain(atom: Atom) -> bool:
    """Whether the arguments are distinct variables."""
    return all(isinstance(term, int) for term in atom.args) and len(set(atom.args)) == len(atom.args)


@dataclass(frozen=True, eq=False)
class Reach:
    """How often each thing of one target reaches each thing of a target along a chain, never itself."""

    start: Places
    """for each thing the row of the first matrix"""
    factors: tuple[Sparse, ...]
    """the last one has a column for each thing that is reached"""
    own: Floats | None
    """how often a thing would reach itself; None if it is about another target"""

    def __matmul__(self, values: Floats) -> Floats:
        """The sum of the values of the things that each thing reaches; values have a row per thing."""
        result = values
        for factor in reversed(self.factors):
            result = factor @ result
        result = result[self.start]
        if self.own is not None:
            result = result - self.own[:, None] * values
        return np.asarray(result, dtype=np.float64)

    def matrix(self) -> Sparse:
        """How often each thing reaches each other one, multiplied out."""
        matrix = self.factors[0][self.start]
        for factor in self.factors[1:]:
            matrix = matrix @ factor
        if self.own is not None:
            matrix = matrix - sparse.diags(self.own)
        matrix = matrix.tocsr()
        matrix.eliminate_zeros()
        return matrix

    def row(self, place: int) -> Floats:
        """How often one thing reaches each thing of the target."""
        row = self.factors[0][int(self.start[place])]
        for factor in self.factors[1:]:
            row = row @ factor
        counts: Floats = np.asarray(row.todense(), dtype=np.float64).ravel()
        if self.own is not None:
            counts[place] = 0.0
        return counts


def reach_of(database: Database, chain: Chain, things: Things, others: Things) -> Reach:
    """The reach of a chain from things of one target to things of another, or of the same."""
    factors = [link_matrix(database, link) for link in chain.links]
    start = things.keys[:, chain.start].astype(np.int64)
    end = others.keys[:, chain.place]
    size = len(database.population(database.schema.types_of(chain.target)[chain.place]))
    ends = sparse.csr_matrix((np.ones(len(end)), (end, np.arange(len(end)))), shape=(size, len(end)))
    factors = _merged(factors)
    own = None
    if things.target.name == others.target.name:
        own = _entries(factors, start, end.astype(np.int64))
    return Reach(start, tuple(_merged([*factors, ends])), own)


def link_matrix(database: Database, link: Link) -> Sparse:
    """The number of facts that lead from each constant to each other one."""
    columns = database.relation(link.predicate).columns
    types = database.schema.types_of(link.predicate)
    shape = tuple(len(database.population(types[place])) for place in (link.enter, link.leave))
    rows, ends = columns[link.enter], columns[link.leave]
    matrix = sparse.csr_matrix((np.ones(len(rows)), (rows, ends)), shape=shape)
    matrix.sum_duplicates()
    return matrix


def _merged(factors: list[Sparse]) -> list[Sparse]:
    """The same product with fewer matrices: those are multiplied whose product has no more entries."""
    result: list[Sparse] = []
    for factor in factors:
        if result and (_is_functional(factor) or _is_functional(result[-1].T.tocsr())):
            result[-1] = (result[-1] @ factor).tocsr()
        else:
            result.append(factor)
    return result


def _is_functional(matrix: Sparse) -> bool:
    """Whether no row has more than one entry."""
    return int(np.diff(matrix.indptr).max(initial=0)) <= 1


def _entries(factors: list[Sparse], rows: Places, columns: Places) -> Floats:
    """The entries of a product at some places."""
    if not factors:
        return np.asarray(rows == columns, dtype=np.float64)
    left = factors[0]
    for factor in factors[1:-1]:
        left = (left @ factor).tocsr()
    if len(factors) == 1:
        return np.asarray(left[rows, columns], dtype=np.float64).ravel()
    right = factors[-1].T.tocsr()
    return np.asarray(left[rows].multiply(right[columns]).sum(axis=1), dtype=np.float64).ravel()
