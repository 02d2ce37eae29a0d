"""Learning a joint model: separate models first, then the weights of what neighbours say.

The separate model of each target is learned without the facts of any target. Its held-out scores of the
training examples, and its scores of all other things, are where guesses begin. The weights of terms are
learned on the pseudo-likelihood: each training label given the labels of the neighbours. These labels are as
they will be at prediction: the labels of some folds are hidden, and hidden and unknown labels are guessed
together (mean field) with weights of the round before, which were fitted without the fold. This is done with
most folds known, with one fold known, and with none, for data that come with many labels, few, or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple

import numpy as np

from hornbeam.data.database import UNLABELLED, Database, Notice
from hornbeam.data.numbers import Floats
from hornbeam.engines.contract import DEFAULT_MEMORY, Engine
from hornbeam.engines.registry import open_engine
from hornbeam.errors import OptionError
from hornbeam.joint.guessing.mean_field import mean_field
from hornbeam.joint.model import JointMember, JointModel, KnownLabel
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
from hornbeam.joint.separate import Part, Separate, both_models, part_of, with_settings
from hornbeam.joint.terms import choices, offered
from hornbeam.joint.things import JointTarget, JointTask, facts_fingerprint, hidden
from hornbeam.joint.weights import FittedTerms, Trained, fit_terms, penalties_of_pairs
from hornbeam.learning.classes import ClassHistory
from hornbeam.learning.effects.bagging import FOLDS
from hornbeam.learning.history import History
from hornbeam.learning.loop import NO_CONTROL, Control, Shared
from hornbeam.learning.options import EffectOptions, Options

ROUNDS = 2
"""How often the weights are fitted; from the second time on, with guesses by the weights before."""
MOST, FEW, FEWER, NONE = FOLDS - 1, 1, 0.2, 0
"""How many folds of training labels are known while weights are fitted for the others."""
FEWEST = 20
"""With fewer linked training examples there are no terms."""


@dataclass(frozen=True, eq=False)
class JointHistory:
    """The histories of the separate models, by target."""

    by_target: Mapping[str, History | ClassHistory]
    lines: tuple[str, ...] = ()

    def notices(self) -> tuple[Notice, ...]:
        return tuple(
            Notice(f"{name}: {notice.message}")
            for name, history in self.by_target.items()
            for notice in history.notices()
        )

    def scores(self) -> tuple[str, ...]:
        """How well each target is predicted alone and together, on held-out examples."""
        return self.lines

    def as_dict(self) -> dict[str, object]:
        return {name: history.as_dict() for name, history in self.by_target.items()}


@dataclass(frozen=True, eq=False)
class JointFit:
    """A joint model, and the histories of its separate models."""

    model: JointModel
    history: JointHistory


def fit_joint(
    database: Database,
    tasks: Sequence[JointTask],
    options: Options,
    max_links: int = 2,
    memory: int = DEFAULT_MEMORY,
    control: Control = NO_CONTROL,
) -> JointFit:
    """Learn a joint model of targets from their training examples.

    Keys are codes of the database; labels are numbers of classes, or 0 and 1. If a key is given with several
    labels, the last one counts.
    """
    tasks = [task.with_one_label_each() for task in tasks]
    if not isinstance(options, EffectOptions):
        raise OptionError("joint models need the learner rlr with its default preset.")
    replace(options, max_links=max_links)  # an error says which numbers of links are allowed
    names = {task.target.name: task.evidence.keys.shape[1] for task in tasks}
    seen = hidden(database, names)
    engine = open_engine("memory", seen, memory)
    control = replace(control, shared=Shared())  # targets often have the same keys
    fits = {task.target.name: both_models(engine, task, options, control) for task in tasks}
    entries = _entries(engine, tasks, fits, (options, max_links))
    settings = dict(options.settings()) | dict(database.origin) | {"links_to_neighbours": max_links}
    cut = [fit.model.settings["cut"] for both in fits.values() for fit in both if "cut" in fit.model.settings]
    settings |= {"cut": cut[0]} if cut else {}
    members = [
        _member(task.target, fits[task.target.name], settings, entries[task.target.name]) for task in tasks
    ]
    labels = tuple(each for task in tasks for each in _known(seen, task))
    model = JointModel(tuple(members), seen.schema, labels, facts_fingerprint(seen), settings)
    histories = {name: fit.ordinary.history for name, fit in fits.items()}
    return JointFit(model, JointHistory(histories, tuple(_lines(members))))


def _entries(
    engine: Engine, tasks: Sequence[JointTask], fits: Mapping[str, Separate], how: tuple[EffectOptions, int]
) -> dict[str, list[Neighbours]]:
    """The neighbours of each target: for no labels known and for some, beside inner and ordinary models.

    Beside ordinary models they are for the facts of training only, and only if that is better there.
    """
    options, max_links = how
    trainings = []
    for inner in (True, False):
        used = {name: [fit.ordinary, fit.inner] if inner else [fit.ordinary] for name, fit in fits.items()}
        parts = {task.target.name: part_of(engine, task, used[task.target.name], options) for task in tasks}
        trainings.append(_training(engine.database, parts, max_links, inner))
    with_inner, ordinary = trainings
    by_shown = [with_inner.neighbours(shown) for shown in (MOST, FEW, NONE)]
    # In other data, guesses that confirm each other may all be wrong. Terms that follow no link leave what
    # lies behind links to the ordinary models.
    on_own_things = ordinary.near().neighbours(NONE)
    from_known = [with_inner.neighbours(shown, only_known=True) for shown in (MOST, FEW, FEWER)]
    others = ordinary.neighbours(MOST) if any(ordinary.offers.values()) else {}
    entries = {}
    for name in fits:
        most, few, none = (each[name] for each in by_shown)
        entries[name] = [most, few, replace(none, anywhere=False), on_own_things[name]]
        entries[name] += [each[name] for each in from_known]
        if name in others and _together(others[name]) < _together(most):
            entries[name].insert(0, replace(others[name], anywhere=False))
    return entries


def _together(neighbours: Neighbours) -> float:
    """The held-out loss with neighbours; infinite if there are none."""
    return np.inf if neighbours.losses is None or not neighbours.terms else neighbours.losses[1]


def _member(
    target: JointTarget, fits: Separate, settings: Mapping[str, object], entries: Sequence[Neighbours]
) -> JointMember:
    used = any(each.terms and each.inner for each in entries)
    inner = with_settings(fits.inner.model, settings) if used else None
    return JointMember(target, with_settings(fits.ordinary.model, settings), tuple(entries), inner)


def _lines(members: Sequence[JointMember]) -> Iterator[str]:
    for member in members:
        if all(each.losses is None for each in member.neighbours):
            yield (
                f"{member.target.name}: no use of neighbours could be learned, because too few training "
                "examples are linked to others; each is predicted alone"
            )
        for each in member.neighbours:
            if each.losses is not None:
                alone, together = each.losses
                share = f"with {100 * each.known_share:.3g} % of the labels known"
                share += "" if each.anywhere else ", for predictions on these data"
                share += ", for other data, from known labels only" if each.only_known else ""
                used = (
                    ""
                    if each.terms
                    else "; that is not better by a standard error, so neighbours are left out"
                )
                yield (
                    f"{member.target.name}: held-out log-loss {alone:.4f} alone, {together:.4f} together "
                    f"{share}{used}"
                )


def _known(database: Database, task: JointTask) -> Iterator[KnownLabel]:
    target, evidence = task
    names = database.names_of(target.name, evidence.keys)
    for label in range(target.size):
        rows = names[(evidence.labels == label) & (evidence.keys >= 0).all(axis=1)].tolist()
        if rows:
            yield KnownLabel(target.name, label, tuple(sorted(set(map(tuple, rows)))))


# --- what neighbours say ---------------------------------------------------------------------


class _Heard(NamedTuple):
    """The values of a term for each training example, and how many neighbours they are made of."""

    values: Floats
    totals: Floats


class _Chosen(NamedTuple):
    terms: tuple[Term, ...]
    fitted: FittedTerms


def _training(database: Database, parts: Mapping[str, Part], max_links: int, inner: bool) -> _Training:
    """The targets with the terms that reach anything."""
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
    return _Training(parts, inner, cached, offers)


@dataclass(frozen=True, eq=False)
class _Training:
    """The targets in training, and the terms that they may use."""

    parts: Mapping[str, Part]
    inner: bool
    cached: Mapping[Term, TermValues]
    offers: Mapping[str, Sequence[tuple[Term, ...]]]

    def near(self) -> _Training:
        """The same with terms about a thing's own things only, which follow no link."""
        offers = {}
        for name, sets in self.offers.items():
            own = dict.fromkeys(tuple(term for term in terms if term.near) for terms in sets)
            offers[name] = [terms for terms in own if terms]
        used = {term for sets in offers.values() for terms in sets for term in terms}
        return replace(self, offers=offers, cached={t: self.cached[t] for t in self.cached if t in used})

    def neighbours(self, shown: float, only_known: bool = False) -> dict[str, Neighbours]:
        """The terms and weights of each target, with the labels of some folds known."""
        chosen: dict[str, _Chosen] = {}
        for number in range(ROUNDS if shown and not only_known else 1):
            values = self._values(shown, chosen, only_known)
            for name in self.parts:
                best = (
                    self._chosen(name, values) if number == 0 else self._again(name, chosen.get(name), values)
                )
                if best is not None:
                    chosen[name] = best
        return {
            name: replace(self._result(name, chosen.get(name), shown), only_known=only_known)
            for name in self.parts
        }

    def _result(self, name: str, chosen: _Chosen | None, shown: float) -> Neighbours:
        part = self.parts[name]
        share = round(float(part.things.known.mean()) * shown / FOLDS, 6)
        if chosen is None:
            return Neighbours(share, inner=self.inner)
        fitted = chosen.fitted
        losses = (round(fitted.alone, 6), round(fitted.loss, 6))
        if not fitted.gains:
            return Neighbours(share, losses=losses, inner=self.inner)
        own, bias, weights = fitted.weights
        return Neighbours(share, chosen.terms, own, bias, weights, losses, self.inner)

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
                own = Neighbours(1.0, terms, *fitted.by_fold[fold])
            world[name] = LinkedThings(things, part.own, own, tuple(self.cached[term] for term in terms))
        return world

    def _chosen(self, name: str, values: Mapping[Term, _Heard]) -> _Chosen | None:
        """The set of terms, and the penalty of pairs, with the least held-out loss."""
        best: _Chosen | None = None
        penalties = penalties_of_pairs(self.parts[name].things.target)
        for terms in self.offers[name]:
            best = self._better(best, self._fit(name, terms, values, penalties[0]))
        if best is not None:
            chosen_terms = best.terms
            for penalty in penalties[1:]:
                best = self._better(best, self._fit(name, chosen_terms, values, penalty))
        return best

    def _again(self, name: str, before: _Chosen | None, values: Mapping[Term, _Heard]) -> _Chosen | None:
        return None if before is None else self._fit(name, before.terms, values, before.fitted.pairs)

    def _better(self, one: _Chosen | None, other: _Chosen | None) -> _Chosen | None:
        if one is None or other is None:
            return one or other
        return other if other.fitted.loss < one.fitted.loss else one

    def _fit(
        self, name: str, terms: tuple[Term, ...], values: Mapping[Term, _Heard], pairs: float | None
    ) -> _Chosen | None:
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
        return _Chosen(terms, fit_terms(trained, terms, [values[term].values[rows] for term in terms], pairs))
