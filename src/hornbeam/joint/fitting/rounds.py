"""Fitting the weights of terms in rounds, judged by cross-validation on the training examples.

The labels of some folds are hidden, so that the values of terms are as they will be at prediction. What is
hidden or unknown is inferred: in the first round from the own scores of neighbours, in the second by mean
field with the weights of the first, which were fitted without the fold. The round with the lower held-out
loss is kept.
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
from hornbeam.joint.inference import mean_field
from hornbeam.joint.neighbours import (
    LEAST_CHANCE,
    LinkedThings,
    Neighbours,
    Reaches,
    Term,
    TermValues,
    TermWeights,
    linked,
    term_values,
    with_evidence,
)
from hornbeam.joint.things import JointTarget
from hornbeam.learning.effects.examples.bagging import FOLDS
from hornbeam.learning.losses.softmax import LabelDesign, fit_softmax

PENALTY = 1.0
"""Penalty of the weight of the separate score, of biases, and of weights of the same label."""
PAIRS = (100.0, 10.0)
"""Penalties of the weights of pairs of labels to try, besides none of them where the same label has one."""
PAIRS_OF_TRUTH = (100.0, 10.0, 1.0)
MOST_CELLS = 20_000_000
"""With more features, fewer examples are used."""


class Trained(NamedTuple):
    """Training examples of a target that reach others."""

    target: JointTarget
    fixed: Floats
    """scores of the separate model, held out"""
    labels: npt.NDArray[np.int64]
    folds: npt.NDArray[np.int64]
    alone: Floats
    """held-out log-losses of the separate model"""
    counts: Floats
    """for how many examples each stands: models may be learned from a sample of the false ones"""


class WeightSet(NamedTuple):
    """The weight of the separate score, biases, and weights of terms."""

    own: float
    bias: tuple[float, ...]
    terms: tuple[TermWeights, ...]


class FittedTerms(NamedTuple):
    """Weights of terms, and the held-out losses of the training examples without and with them."""

    weights: WeightSet
    by_fold: tuple[WeightSet, ...]
    """the weights that were fitted without the examples of each fold"""
    pairs: float | None
    separate: Floats
    """of the separate model"""
    without: tuple[Floats, ...]
    """of the model that gives the score beside the neighbours: as it is, with a weight and biases, and with
    a weight alone"""
    joint: Floats
    counts: Floats
    plain: WeightSet
    """a weight of the own score alone"""

    @property
    def loss(self) -> float:
        return self._mean(self.joint)

    @property
    def alone(self) -> float:
        """The loss of the separate model."""
        return self._mean(self.separate)

    @property
    def gains(self) -> bool:
        """Whether the held-out loss is lower with neighbours than without them, by a standard error.

        Without neighbours, the score beside them may have a weight and a bias too: what these alone gain is
        no reason to hear neighbours.
        """
        return self._lower(self.joint, min(self.without, key=self._mean))

    @property
    def plain_loss(self) -> float:
        """The loss of the own score with a weight, without terms."""
        return self._mean(self.without[2])

    @property
    def plain_gains(self) -> bool:
        """Whether it is lower than that of the separate model.

        No standard error is asked for: neither model is the simpler one, and of few examples it is so large
        that the worse one would often be kept.
        """
        return self.plain_loss < self.alone

    def _lower(self, losses: Floats, others: Floats) -> bool:
        gained = others - losses
        mean = self._mean(gained)
        error = np.sqrt(((self.counts * (gained - mean)) ** 2).sum()) / self.counts.sum()
        return bool(mean > error)

    def _mean(self, losses: Floats) -> float:
        return float(np.average(losses, weights=self.counts))


def penalties_of_pairs(target: JointTarget) -> tuple[float | None, ...]:
    """The penalties of pairs to try; None for no weights of pairs."""
    return (None, *PAIRS) if target.classes else PAIRS_OF_TRUTH


class Plain(NamedTuple):
    """The model that gives the score beside the neighbours, without them: its weight and held-out losses."""

    weights: WeightSet
    losses: tuple[Floats, ...]
    """as it is, with a weight and biases, and with a weight alone"""


def fit_plain(trained: Trained) -> Plain:
    """The own scores without terms; the same beside all sets of terms."""
    shape = _Shape(trained.target, (), (), None)
    features, penalties = shape.features(trained.fixed, ()), shape.penalties()
    design = LabelDesign(trained.fixed, features, trained.labels, trained.counts)
    beside = design.losses(np.zeros(len(penalties)))
    calibrated = _fitted(design, penalties, trained.folds)
    weighted = _fitted(design._replace(features=features[:, :, :1]), penalties[:1], trained.folds)
    weights = WeightSet(_rounded(float(weighted.weights[0])), (0.0,) * shape.free, ())
    return Plain(weights, (beside, calibrated.losses, weighted.losses))


def fit_terms(
    trained: Trained, plain: Plain, terms: Sequence[Term], values: Sequence[Floats], pairs: float | None
) -> FittedTerms:
    """The weights of terms, given their values for the training examples."""
    scales = [float(np.sqrt(np.mean(each**2))) or 1.0 for each in values]
    shape = _Shape(trained.target, terms, [each.shape[1] for each in values], pairs)
    scaled = [each / scale for each, scale in zip(values, scales, strict=True)]
    features = shape.features(trained.fixed, scaled)
    design = LabelDesign(trained.fixed, features, trained.labels, trained.counts)
    fitted = _fitted(design, shape.penalties(), trained.folds)
    return FittedTerms(
        shape.unpacked(fitted.weights, scales),
        tuple(shape.unpacked(of_fold, scales) for of_fold in fitted.by_fold),
        pairs,
        trained.alone,
        plain.losses,
        fitted.losses,
        trained.counts,
        plain.weights,
    )


class _Fitted(NamedTuple):
    """Weights fitted to all examples and without each fold, and the held-out losses."""

    weights: Floats
    by_fold: list[Floats]
    losses: Floats


def _fitted(design: LabelDesign, penalties: Floats, folds: npt.NDArray[np.int64]) -> _Fitted:
    few = max(1, MOST_CELLS // max(1, design.features[0].size)) if len(design.features) else 1
    used = np.arange(len(folds)) % (len(folds) // few + 1) == 0
    weights = fit_softmax(design.at(used), penalties)
    losses = np.zeros(len(folds))
    by_fold = []
    for fold in range(FOLDS):
        inside, outside = (folds != fold) & used, folds == fold
        by_fold.append(fit_softmax(design.at(inside), penalties, weights))
        if outside.any():
            losses[outside] = design.at(outside).losses(by_fold[-1])
    return _Fitted(weights, by_fold, losses)


class _Shape:
    """Where each weight is in a vector: own, biases, then the weights of each term."""

    def __init__(
        self, target: JointTarget, terms: Sequence[Term], widths: Sequence[int], pairs: float | None
    ) -> None:
        self.free = target.columns
        self.widths = widths
        self.penalty = PAIRS[-1] if pairs is None else pairs
        self.same = [bool(target.classes) and term.target == target.name for term in terms]
        self.pairs = [pairs is not None or not same for same in self.same]

    def features(self, fixed: Floats, values: Sequence[Floats]) -> Floats:
        """For each example and free label, what each weight multiplies."""
        n_examples, free = len(fixed), self.free
        parts = [fixed[:, -free:, None], np.broadcast_to(np.eye(free), (n_examples, free, free))]
        for values_of_term, same, pairs in zip(values, self.same, self.pairs, strict=True):
            if same:
                parts.append(values_of_term[:, :, None])
            if pairs:
                crossed = np.einsum("nc,fg->nfcg", values_of_term, np.eye(free))
                parts.append(crossed.reshape(n_examples, free, -1))
        return np.concatenate(parts, axis=2)

    def penalties(self) -> Floats:
        result = [PENALTY] * (1 + self.free)
        for width, same, pairs in zip(self.widths, self.same, self.pairs, strict=True):
            result += [PENALTY] * same + [self.penalty] * (pairs * width * self.free)
        return np.array(result)

    def unpacked(self, weights: Floats, scales: Sequence[float]) -> WeightSet:
        """The weights by what they are for, rounded, and without the scales of the values."""
        remaining = iter(weights.tolist())
        own = _rounded(next(remaining))
        bias = tuple(_rounded(next(remaining)) for _ in range(self.free))
        terms = []
        for width, same, pairs, scale in zip(self.widths, self.same, self.pairs, scales, strict=True):
            same_weight = _rounded(next(remaining) / scale) if same else 0.0
            rows = [
                tuple(_rounded(next(remaining) / scale) for _ in range(self.free))
                for _ in range(width if pairs else 0)
            ]
            terms.append(TermWeights(same_weight, tuple(rows)))
        return WeightSet(own, bias, tuple(terms))


def _rounded(weight: float) -> float:
    """Rounded to 9 significant digits: the last digits of sums may differ between machines."""
    return float(f"{weight:.9g}")


MOST, FEW, FEWER, NONE = FOLDS - 1, 1, 0.2, 0
"""How many folds of training labels are known while weights are fitted for the others."""
FEWEST = 20
"""With fewer linked training examples there are no terms."""


class _OfExamples(NamedTuple):
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

    def fit(
        self, terms: tuple[Term, ...], values: Mapping[Term, _OfExamples], pairs: float | None
    ) -> _Chosen:
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

    def _values(
        self, shown: float, chosen: Mapping[str, _Chosen], only_known: bool
    ) -> dict[Term, _OfExamples]:
        """The values of terms for each training example, with its own label hidden.

        Labels are guessed with weights that were fitted without the fold.
        """
        wanted = [term for each in chosen.values() for term in each.terms] if chosen else list(self.cached)
        values: dict[Term, _OfExamples] = {}
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
                    values[term] = _OfExamples(np.zeros_like(every), np.zeros_like(at.totals))
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

    def _chosen(self, name: str, values: Mapping[Term, _OfExamples]) -> _Chosen | None:
        """The set of terms, and the penalty of pairs, with the least held-out loss."""
        examples = self._examples(name, values) if self.offers[name] else None
        if examples is None:
            return None
        first, *others = penalties_of_pairs(self.parts[name].things.target)
        best = min((examples.fit(terms, values, first) for terms in self.offers[name]), key=_loss)
        rivals = [examples.fit(best.terms, values, penalty) for penalty in others]
        return min((best, *rivals), key=_loss)

    def _again(self, name: str, before: _Chosen, values: Mapping[Term, _OfExamples]) -> _Chosen:
        examples = self._examples(name, values)
        return before if examples is None else examples.fit(before.terms, values, before.fitted.pairs)

    def _examples(self, name: str, values: Mapping[Term, _OfExamples]) -> _LinkedExamples | None:
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
