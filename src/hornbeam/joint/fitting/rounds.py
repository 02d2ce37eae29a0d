"""Rounds of fitting: the values of terms for training examples as they will be at prediction, and weights.

The labels of some folds are hidden. What is hidden or unknown is guessed: in the first round by the own
scores of neighbours, in the second by mean field with the weights of the first, which were fitted without the
fold. The round with the lower held-out loss is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNLABELLED, Database
from hornbeam.data.numbers import Floats
from hornbeam.joint.fitting.separate import Part
from hornbeam.joint.fitting.terms import choices, offered
from hornbeam.joint.fitting.weights import (
    FittedTerms,
    Plain,
    Trained,
    fit_plain,
    fit_terms,
    penalties_of_pairs,
)
from hornbeam.joint.inference import mean_field
from hornbeam.joint.neighbours import (
    LEAST_CHANCE,
    LinkedThings,
    Neighbours,
    Reaches,
    Term,
    TermValues,
    linked,
    term_values,
    with_evidence,
)
from hornbeam.learning.effects.examples.bagging import FOLDS

MOST, FEW, FEWER, NONE = FOLDS - 1, 1, 0.2, 0
"""How many folds of training labels are known while weights are fitted for the others."""
FEWEST = 20
"""With fewer linked training examples there are no terms."""


class _Heard(NamedTuple):
    """The values of a term for each training example, and how many neighbours they are made of."""

    values: Floats
    totals: Floats


class _Chosen(NamedTuple):
    terms: tuple[Term, ...]
    fitted: FittedTerms


class _LinkedExamples(NamedTuple):
    """Training examples of a target, the rows of their things, and what is said of them without terms."""

    rows: npt.NDArray[np.bool_]
    trained: Trained
    plain: Plain

    def fit(self, terms: tuple[Term, ...], values: Mapping[Term, _Heard], pairs: float | None) -> _Chosen:
        of_terms = [values[term].values[self.rows] for term in terms]
        return _Chosen(terms, fit_terms(self.trained, self.plain, terms, of_terms, pairs))


def training(database: Database, parts: Mapping[str, Part], max_links: int) -> RoundTraining:
    """The targets with the scores of their inner models, and the terms that reach anything."""
    reaches = Reaches(database, {name: part.things for name, part in parts.items()})
    targets = [part.things.target for part in parts.values()]
    cached: dict[Term, TermValues] = {}
    offers = {}
    for name, part in parts.items():
        sets = choices(offered(database, part.things.target, targets, max_links))
        for term in dict.fromkeys(term for terms in sets for term in terms):
            cached[term] = term_values(reaches, term)
        useful = [tuple(t for t in terms if cached[t].totals.any()) for terms in sets]
        offers[name] = [terms for terms in dict.fromkeys(useful) if terms]
    return RoundTraining(parts, True, cached, offers)


@dataclass(frozen=True, eq=False)
class RoundTraining:
    """The targets in training, and the terms that they may use."""

    parts: Mapping[str, Part]
    inner: bool
    cached: Mapping[Term, TermValues]
    offers: Mapping[str, Sequence[tuple[Term, ...]]]

    def near(self) -> RoundTraining:
        """The same with terms about a thing's own things only, which follow no link."""
        offers = {}
        for name, sets in self.offers.items():
            own = dict.fromkeys(tuple(term for term in terms if term.near) for terms in sets)
            offers[name] = [terms for terms in own if terms]
        used = {term for sets in offers.values() for terms in sets for term in terms}
        return replace(self, offers=offers, cached={t: self.cached[t] for t in self.cached if t in used})

    def neighbours(self, shown: float, only_known: bool = False) -> dict[str, Neighbours]:
        """The terms and weights of each target, with the labels of some folds known."""
        values = self._values(shown, {}, only_known)
        first = {name: self._chosen(name, values) for name in self.parts}
        chosen, once = {name: each for name, each in first.items() if each is not None}, True
        if chosen and shown and not only_known:
            values = self._values(shown, chosen, only_known)
            again = {name: self._again(name, each, values) for name, each in chosen.items()}
            if _total_loss(again) < _total_loss(chosen):
                chosen, once = again, False
        return {
            name: replace(
                self._result(name, chosen.get(name), shown),
                only_known=only_known,
                heard_once=once and bool(shown) and not only_known,
            )
            for name in self.parts
        }

    def without_terms(self, name: str, shown: Sequence[float]) -> list[Neighbours]:
        """The own score of a target with a weight, if that predicts better than the separate model.

        It is the same for all numbers of known folds.
        """
        examples = self._examples(name, {})
        if examples is None:
            return [Neighbours(self._share(name, each), inner=self.inner) for each in shown]
        fit = examples.fit((), {}, None)
        return [self._plain(name, fit.fitted, each) for each in shown]

    def _share(self, name: str, shown: float) -> float:
        return round(float(self.parts[name].things.known.mean()) * shown / FOLDS, 6)

    def _result(self, name: str, chosen: _Chosen | None, shown: float) -> Neighbours:
        share, around = self._share(name, shown), self._is_around(name)
        if chosen is None:
            return Neighbours(share, inner=self.inner)
        fitted = chosen.fitted
        losses = (round(fitted.alone, 6), round(fitted.loss, 6))
        if not fitted.gains:
            if around:
                return self._plain(name, fitted, shown)
            return Neighbours(share, losses=losses, inner=self.inner)
        own, bias, weights = fitted.weights
        return Neighbours(share, chosen.terms, own, bias, weights, losses, self.inner, around=around)

    def _plain(self, name: str, fitted: FittedTerms, shown: float) -> Neighbours:
        share, losses = self._share(name, shown), (round(fitted.alone, 6), round(fitted.plain_loss, 6))
        if not fitted.plain_gains or not self._is_around(name):
            return Neighbours(share, losses=losses, inner=self.inner)
        own, bias, _ = fitted.plain
        return Neighbours(share, (), own, bias, (), losses, self.inner, around=True)

    def _is_around(self, name: str) -> bool:
        return self.parts[name].own.around is not None

    def _values(self, shown: float, chosen: Mapping[str, _Chosen], only_known: bool) -> dict[Term, _Heard]:
        """The values of terms for each training example, with its own label hidden.

        Labels are guessed with weights that were fitted without the fold.
        """
        wanted = [term for each in chosen.values() for term in each.terms] if chosen else list(self.cached)
        values: dict[Term, _Heard] = {}
        for fold in range(FOLDS):
            world = self._world(fold, shown, chosen)
            if chosen:
                beliefs = mean_field(world).beliefs
            else:
                beliefs = {name: with_evidence(each.things, each.own.first) for name, each in world.items()}
            for term in wanted:
                part = self.parts[term.clauses[0].head.predicate]
                rows = part.folds == fold
                at = self.cached[term]
                if only_known:
                    at = at.hearing(world[term.target].things.known)
                every = at.values(beliefs)
                if term not in values:
                    values[term] = _Heard(np.zeros_like(every), np.zeros_like(at.totals))
                values[term].values[rows] = every[rows]
                values[term].totals[rows] = at.totals[rows]
        return values

    def _world(self, fold: int, shown: float, chosen: Mapping[str, _Chosen]) -> dict[str, LinkedThings]:
        """All things, with the labels of some folds after the given one known."""
        world = {}
        known = [(fold + 1 + number) % FOLDS for number in range(ceil(shown))]
        for name, part in self.parts.items():
            # Examples without held-out scores are in no fold; they are known if most are.
            hide = ~np.isin(part.folds, [*known, -1] if shown == MOST else known)
            if shown < FEW:
                hide |= part.draws >= shown
            things = part.things.with_labels(np.where(hide, UNLABELLED, part.things.labels))
            own = Neighbours(1.0)
            terms: tuple[Term, ...] = ()
            if name in chosen:
                terms, fitted = chosen[name]
                around = part.own.around is not None
                own = Neighbours(1.0, terms, *fitted.by_fold[fold], around=around)
            scores = part.by_fold[fold] if part.by_fold else part.own
            world[name] = LinkedThings(things, scores, own, tuple(self.cached[term] for term in terms))
        return world

    def _chosen(self, name: str, values: Mapping[Term, _Heard]) -> _Chosen | None:
        """The set of terms, and the penalty of pairs, with the least held-out loss."""
        examples = self._examples(name, values) if self.offers[name] else None
        if examples is None:
            return None
        first, *others = penalties_of_pairs(self.parts[name].things.target)
        best = min((examples.fit(terms, values, first) for terms in self.offers[name]), key=_loss)
        rivals = [examples.fit(best.terms, values, penalty) for penalty in others]
        return min((best, *rivals), key=_loss)

    def _again(self, name: str, before: _Chosen, values: Mapping[Term, _Heard]) -> _Chosen:
        examples = self._examples(name, values)
        return before if examples is None else examples.fit(before.terms, values, before.fitted.pairs)

    def _examples(self, name: str, values: Mapping[Term, _Heard]) -> _LinkedExamples | None:
        """The training examples of a target that any term links; None if they are too few."""
        part = self.parts[name]
        # All sets of terms are compared on the same examples: those that any term links.
        every = list(dict.fromkeys(term for terms in self.offers[name] for term in terms))
        totals = [values[term].totals if term in values else self.cached[term].totals for term in every]
        rows = (part.folds >= 0) & linked(totals, len(part.things))
        if rows.sum() < FEWEST:
            return None
        labels = part.things.labels[rows]
        alone = -np.log(np.maximum(part.own.chances[rows, labels], LEAST_CHANCE))
        counts = part.counts[labels]
        trained = Trained(part.things.target, part.own.fixed[rows], labels, part.folds[rows], alone, counts)
        return _LinkedExamples(rows, trained, fit_plain(trained))


def _loss(chosen: _Chosen) -> float:
    return chosen.fitted.loss


def _total_loss(chosen: Mapping[str, _Chosen]) -> float:
    """The sum of the held-out losses of all examples of all targets."""
    return sum(each.fitted.loss * float(each.fitted.counts.sum()) for each in chosen.values())
