"""What neighbours say about a thing: the chains of links to them, and terms over their labels.

A body such as ``topic(A) :- links(A,B), links(C,B), topic(C)`` is a chain: from a thing along links to
another thing, of which a target says something. A chain is a product of sparse matrices, one for each link.
It is never multiplied out: a sweep multiplies the labels by one matrix after the other, in time linear in
the facts.

A term follows some chains to things of a target and reads their labels: the number of those with each label
(``count``), or their share among all that are reached (``share``). Labels that are inferred count with
their probabilities, so that both are expected values. A thing that reaches no other is left to its separate
model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hornbeam.data.database import Database
from hornbeam.data.numbers import Floats
from hornbeam.joint.things import JointTarget, Places, Things
from hornbeam.learning.losses.softmax import log_softmax
from hornbeam.logic.clauses import Atom, Clause, variables

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


COUNT, SHARE = "count", "share"
READINGS = (COUNT, SHARE)
LEAST_CHANCE = 1e-12
"""Probabilities of separate models are not taken to be smaller."""

Beliefs = Mapping[str, Floats]
"""For each target the probability of each label of each of its things; 1 for a label that is known."""


class Term(NamedTuple):
    """Chains that are followed together, and how the labels of the things at their ends are read."""

    target: str
    reading: str
    clauses: tuple[Clause, ...]

    @property
    def near(self) -> bool:
        """Whether it is about the thing's own things, such as the two of a pair: it reaches no other thing.

        Other pairs of one of the two are neighbours: their guesses may all be wrong for the same reason.
        """
        return all(_is_own(clause) for clause in self.clauses)

    def __str__(self) -> str:
        first, *others = self.clauses
        more = "".join(f" or {', '.join(map(str, clause.body))}" for clause in others)
        return f"{self.reading} : {str(first).removesuffix('.')}{more}."


def _is_own(clause: Clause) -> bool:
    """Whether the body is about things of the head only."""
    return len(clause.body) == 1 and {*variables(clause.body)} <= {*clause.head.args}


class TermWeights(NamedTuple):
    """Weights of a term: one for the same label as the neighbours', and one for each pair of labels.

    ``pairs`` has a row for each label of the neighbours (for a target that is true or false: only for true)
    and a column for each free label of the thing; it may be empty.
    """

    same: float
    pairs: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Neighbours:
    """The terms of a target with their weights, for data in which about a share of the labels is known.

    For a thing that reaches others, ``own`` is added to the weight 1 of the score from its separate model,
    and ``bias`` to the score of each free label.
    """

    known_share: float
    terms: tuple[Term, ...] = ()
    own: float = 0.0
    bias: tuple[float, ...] = ()
    weights: tuple[TermWeights, ...] = ()
    losses: tuple[float, float] | None = None
    """held-out log-loss of the linked training examples: of the separate model, and of the joint one"""
    inner: bool = True
    """whether the score beside the neighbours is that of the inner model; else it is of the separate one"""
    anywhere: bool = True
    """whether it is for any data; else for the facts of training only"""
    only_known: bool = False
    """whether only known labels of things behind links are heard; of the thing's own things guesses too"""
    around: bool = False
    """whether the score beside the neighbours is that of the surroundings model"""
    heard_once: bool = False
    """whether guesses of neighbours are those of their own scores, which predicted better than sweeps"""

    @property
    def used(self) -> bool:
        """Whether things that are linked to others are not left to their separate model."""
        return bool(self.terms) or self.around

    @property
    def helps(self) -> bool:
        """Whether they predicted held-out examples better than the separate model."""
        return self.used and (self.losses is None or self.losses[1] < self.losses[0])

    @property
    def once(self) -> bool:
        """Whether neighbours are heard once, with what models say of them alone.

        Without any known label, guesses that confirm each other could settle on the wrong labels.
        """
        return self.only_known or self.heard_once or self.known_share == 0.0


@dataclass(frozen=True, eq=False)
class TermValues:
    """A term on some data: what it reaches."""

    term: Term
    reaches: tuple[Reach, ...]
    totals: Floats
    first: int
    """the first label of the neighbours that is read: 1 if they are true or false"""
    heard: npt.NDArray[np.bool_] | None = None
    """which things of its target are heard; None for all"""
    unheard: Floats | None = None
    """how many times more things each thing reaches than it hears; None if all are heard"""

    def hearing(self, known: npt.NDArray[np.bool_]) -> TermValues:
        """The same if only things with known labels are heard; a term about own things stays as it is.

        A share is that among the known ones. A count is this share of all that are reached, so that it does
        not depend on how many labels are known.
        """
        if self.term.near:
            return self
        totals = _sums(self.reaches, known[:, None].astype(np.float64))[:, 0]
        return replace(self, heard=known, totals=totals, unheard=self.totals / np.maximum(totals, 1.0))

    def values(self, beliefs: Beliefs) -> Floats:
        """For each thing the expected number or share of its neighbours with each label that is read."""
        labels = np.ascontiguousarray(beliefs[self.term.target][:, self.first :])
        result = _sums(self.reaches, labels if self.heard is None else labels * self.heard[:, None])
        if self.term.reading == SHARE:
            result /= np.maximum(self.totals, 1.0)[:, None]
        elif self.unheard is not None:
            result *= self.unheard[:, None]
        return np.asarray(np.maximum(result, 0.0))


def _sums(reaches: Sequence[Reach], values: Floats) -> Floats:
    """For each thing the sum of the values of the things that it reaches."""
    result: Floats = np.zeros((len(reaches[0].start), values.shape[1]))
    for reach in reaches:
        result += reach @ values
    return result


@dataclass(frozen=True, eq=False)
class Reaches:
    """The reach of clauses on some data, each computed once."""

    database: Database
    things: Mapping[str, Things]
    found: dict[tuple[str, Clause], Reach] = field(default_factory=dict)

    def of(self, clause: Clause) -> Reach:
        name = clause.head.predicate
        if (name, clause) not in self.found:
            chain = chain_of(clause)
            assert chain is not None, clause
            reach = reach_of(self.database, chain, self.things[name], self.things[chain.target])
            self.found[name, clause] = reach
        return self.found[name, clause]


def term_values(reaches_of: Reaches, term: Term) -> TermValues:
    """A term for the things of the target that is its head."""
    others = reaches_of.things[term.target]
    reaches = tuple(reaches_of.of(clause) for clause in term.clauses)
    totals = _sums(reaches, np.ones((len(others), 1)))[:, 0]
    return TermValues(term, reaches, totals, 0 if others.target.classes else 1)


class OwnScores(NamedTuple):
    """What models say of each thing without its neighbours.

    ``chances`` are the probabilities from the separate model. ``fixed`` are the scores beside the neighbours,
    from the separate, the inner or the surroundings model, and ``first`` the probabilities with these scores.
    ``around`` says which things are linked to others, if the scores are of the surroundings model.
    """

    chances: Floats
    fixed: Floats
    first: Floats
    around: npt.NDArray[np.bool_] | None = None


def own_scores(
    target: JointTarget,
    chances: Floats,
    inner: Floats | None = None,
    around: npt.NDArray[np.bool_] | None = None,
) -> OwnScores:
    """The scores of labels from probabilities: logarithms, or log-odds if the target is true or false.

    Probabilities are those of the separate model; scores are of the other model if there is one.
    """
    first = chances if inner is None else inner
    logs = np.log(np.maximum(first, LEAST_CHANCE))
    fixed = logs if target.classes else np.column_stack([np.zeros(len(logs)), logs[:, 1] - logs[:, 0]])
    return OwnScores(chances, fixed, first, around)


@dataclass(frozen=True, eq=False)
class LinkedThings:
    """The things of a target with what they reach."""

    things: Things
    own: OwnScores
    neighbours: Neighbours
    values: tuple[TermValues, ...]

    @property
    def linked(self) -> npt.NDArray[np.bool_]:
        """Which things reach others."""
        reached = linked([each.totals for each in self.values], len(self.things))
        return reached if self.own.around is None else reached | self.own.around

    def conditional(self, beliefs: Beliefs) -> Floats:
        """The probability of each label of each thing, given the labels of the others."""
        return self.given([each.values(beliefs) for each in self.values])

    def given(self, values: Sequence[Floats]) -> Floats:
        """The probability of each label of each thing, given the values of the terms."""
        if not self.neighbours.used:
            return self.own.chances
        added = self.added(values)
        scores = self.own.fixed.copy()
        scores[:, -added.shape[1] :] += added
        chances: Floats = np.where(self.linked[:, None], np.exp(log_softmax(scores)), self.own.chances)
        return chances

    def added(self, values: Sequence[Floats]) -> Floats:
        """What is added to the score of each free label of each thing."""
        model = self.neighbours
        free = len(model.bias)
        added: Floats = self.own.fixed[:, -free:] * model.own + np.array(model.bias)
        for each, weights in zip(values, model.weights, strict=True):
            added += term_added(weights, each, free)
        return added


def term_added(weights: TermWeights, values: Floats, free: int) -> Floats:
    """What a term adds to the score of each free label, from its values."""
    added: Floats = np.zeros((len(values), free))
    if weights.same:
        added += weights.same * values
    if weights.pairs:
        added += values @ np.array(weights.pairs)
    return added


def linked(totals: Sequence[Floats], size: int) -> npt.NDArray[np.bool_]:
    """Which things reach others along any term, given how many things each reaches along each of them."""
    reached: npt.NDArray[np.bool_] = np.zeros(size, dtype=np.bool_)
    for each in totals:
        reached |= each > 0
    return reached


def with_evidence(things: Things, chances: Floats) -> Floats:
    """Probabilities of labels in which a known label has probability 1."""
    result = chances.copy()
    known = np.flatnonzero(things.known)
    result[known] = 0.0
    result[known, things.labels[known]] = 1.0
    return result
