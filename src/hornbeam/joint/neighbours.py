"""What neighbours say about a thing: terms over their labels, known or guessed, and the weights of the terms.

A term follows some chains to things of a target and reads their labels: the number of those with each label
(``count``), or their share among all that are reached (``share``). Labels that are guessed count with their
probabilities, so that both are expected values. A thing that reaches no other is left to its separate model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Database
from hornbeam.data.numbers import Floats
from hornbeam.joint.reach import Reach, chain_of, reach_of
from hornbeam.joint.things import JointTarget, Things
from hornbeam.learning.losses.softmax import log_softmax
from hornbeam.logic.clauses import Clause, variables

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
