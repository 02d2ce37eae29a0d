"""Learning a joint model: separate models first, then the weights of what neighbours say.

The separate model of each target is learned without the facts of any target. Its held-out scores of the
training examples, and its scores of all other things, are where guesses begin. The weights of terms are
learned on the pseudo-likelihood: each training label given the labels of the neighbours. These labels are as
they will be at prediction: a fifth of the training labels is hidden at a time, and hidden and unknown labels
are guessed together (mean field) with the weights of the round before. This is done twice: with the other
training labels known, and with no label known, for data that come without labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hornbeam.data.database import UNLABELLED, Database, Notice
from hornbeam.data.numbers import Floats
from hornbeam.engines.contract import DEFAULT_MEMORY, Engine
from hornbeam.engines.registry import open_engine
from hornbeam.joint.mean_field import mean_field
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
from hornbeam.joint.separate import Part, Separate, inner_options, part_of, separate, with_settings
from hornbeam.joint.terms import choices, offered
from hornbeam.joint.things import JointTarget, JointTask, facts_fingerprint, hidden
from hornbeam.joint.weights import FittedTerms, Trained, fit_terms, penalties_of_pairs
from hornbeam.learning.classes import ClassHistory
from hornbeam.learning.effects.bagging import FOLDS
from hornbeam.learning.history import History
from hornbeam.learning.loop import NO_CONTROL, Control
from hornbeam.learning.options import EffectOptions, Options

ROUNDS = 2
"""How often the weights are fitted; from the second time on, with guesses by the weights before."""
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

    Keys are codes of the database; labels are numbers of classes, or 0 and 1.
    """
    names = {task.target.name: task.evidence.keys.shape[1] for task in tasks}
    seen = hidden(database, names)
    engine = open_engine("memory", seen, memory)
    fits = {task.target.name: Separate(separate(engine, task, options, control)) for task in tasks}
    training = _training(engine, tasks, fits, (options, max_links))
    known = training.neighbours(folds_known=True)
    inner = inner_options(options)
    if inner is not None and any(each.losses is not None for each in known.values()):
        others = {
            task.target.name: fits[task.target.name]._replace(inner=separate(engine, task, inner, control))
            for task in tasks
        }
        with_inner = _training(engine, tasks, others, (options, max_links))
        losses = with_inner.neighbours(folds_known=True)
        better = {name for name in fits if _together(losses[name]) < _together(known[name])}
        if better:
            fits = {name: others[name] if name in better else fits[name] for name in fits}
            if len(better) < len(fits):
                training = _training(engine, tasks, fits, (options, max_links))
                known = training.neighbours(folds_known=True)
            else:
                training, known = with_inner, losses
    unknown = training.neighbours(folds_known=False)
    settings = dict(options.settings()) | dict(database.origin) | {"links_to_neighbours": max_links}
    members = [
        _member(part.things.target, fits[name], settings, (known[name], unknown[name]))
        for name, part in training.parts.items()
    ]
    labels = tuple(each for task in tasks for each in _known(seen, task))
    model = JointModel(tuple(members), seen.schema, labels, facts_fingerprint(seen), settings)
    histories = {name: fit.ordinary.history for name, fit in fits.items()}
    return JointFit(model, JointHistory(histories, tuple(_lines(members))))


def _together(neighbours: Neighbours) -> float:
    """The held-out loss with neighbours; infinite if there are none."""
    return np.inf if neighbours.losses is None or not neighbours.terms else neighbours.losses[1]


def _training(
    engine: Engine, tasks: Sequence[JointTask], fits: Mapping[str, Separate], how: tuple[Options, int]
) -> _Training:
    options, max_links = how
    if not isinstance(options, EffectOptions):
        options = EffectOptions(seed=int(getattr(options, "seed", 0)))
    parts = {task.target.name: part_of(engine, task, fits[task.target.name], options) for task in tasks}
    return _Training(engine.database, parts, max_links)


def _member(
    target: JointTarget, fits: Separate, settings: Mapping[str, object], both: tuple[Neighbours, ...]
) -> JointMember:
    used = fits.inner is not None and any(each.terms for each in both)
    inner = with_settings(fits.inner.model, settings) if used and fits.inner is not None else None
    return JointMember(target, with_settings(fits.ordinary.model, settings), both, inner)


def _lines(members: Sequence[JointMember]) -> Iterator[str]:
    for member in members:
        for each in member.neighbours:
            if each.losses is not None:
                alone, together = each.losses
                share = f"with {each.known_share:.0%} of the labels known"
                used = "" if each.terms else "; neighbours do not help and are left out"
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


class _Chosen(NamedTuple):
    terms: tuple[Term, ...]
    fitted: FittedTerms


@dataclass(frozen=True, eq=False)
class _Training:
    """The targets in training, and the terms that they may use."""

    database: Database
    parts: Mapping[str, Part]
    max_links: int
    cached: dict[Term, TermValues] = field(default_factory=dict)
    offers: dict[str, list[tuple[Term, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        reaches = Reaches(self.database, {name: part.things for name, part in self.parts.items()})
        targets = [part.things.target for part in self.parts.values()]
        for name, part in self.parts.items():
            sets = choices(offered(self.database, part.things.target, targets, self.max_links))
            for term in dict.fromkeys(term for terms in sets for term in terms):
                self.cached[term] = term_values(reaches, term)
            useful = [tuple(t for t in terms if self.cached[t].totals.any()) for terms in sets]
            self.offers[name] = [terms for terms in dict.fromkeys(useful) if terms]

    def neighbours(self, folds_known: bool) -> dict[str, Neighbours]:
        """The terms and weights of each target, with labels of other folds known, or with none known."""
        chosen: dict[str, _Chosen] = {}
        for number in range(ROUNDS):
            values = self._values(folds_known, chosen)
            for name in self.parts:
                best = (
                    self._chosen(name, values) if number == 0 else self._again(name, chosen.get(name), values)
                )
                if best is not None:
                    chosen[name] = best
        return {name: self._result(name, chosen.get(name), folds_known) for name in self.parts}

    def _result(self, name: str, chosen: _Chosen | None, folds_known: bool) -> Neighbours:
        part = self.parts[name]
        share = float(part.things.known.mean()) * (1.0 - 1.0 / FOLDS) if folds_known else 0.0
        share = round(share, 6)
        if chosen is None:
            return Neighbours(share)
        fitted = chosen.fitted
        losses = (round(float(fitted.separate.mean()), 6), round(fitted.loss, 6))
        if not fitted.gains:
            return Neighbours(share, losses=losses)
        own, bias, weights = fitted.weights
        return Neighbours(share, chosen.terms, own, bias, weights, losses)

    def _values(self, folds_known: bool, chosen: Mapping[str, _Chosen]) -> dict[Term, Floats]:
        """The values of terms for each training example, with the labels of its fold hidden, or all of them.

        Labels are guessed with weights that were fitted without the fold.
        """
        wanted = [term for each in chosen.values() for term in each.terms] if chosen else list(self.cached)
        values = {term: np.zeros((0, 0)) for term in wanted}
        for fold in range(FOLDS):
            world = self._world(fold, folds_known, chosen)
            if chosen:
                beliefs = mean_field(world).beliefs
            else:
                beliefs = {name: with_evidence(each.things, each.own.chances) for name, each in world.items()}
            for term in wanted:
                part = self.parts[term.clauses[0].head.predicate]
                rows = part.folds == fold
                every = self.cached[term].values(beliefs)
                if not len(values[term]):
                    values[term] = np.zeros_like(every)
                values[term][rows] = every[rows]
        return values

    def _world(self, fold: int, folds_known: bool, chosen: Mapping[str, _Chosen]) -> dict[str, LinkedThings]:
        """All things, with a fold of the labels hidden, or all of them."""
        world = {}
        for name, part in self.parts.items():
            hide = part.folds == fold if folds_known else np.ones(len(part.things), dtype=np.bool_)
            things = part.things.with_labels(np.where(hide, UNLABELLED, part.things.labels))
            own = Neighbours(0.0)
            terms: tuple[Term, ...] = ()
            if name in chosen:
                terms, fitted = chosen[name]
                own = Neighbours(0.0, terms, *fitted.by_fold[fold])
            world[name] = LinkedThings(things, part.own, own, tuple(self.cached[term] for term in terms))
        return world

    def _chosen(self, name: str, values: Mapping[Term, Floats]) -> _Chosen | None:
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

    def _again(self, name: str, before: _Chosen | None, values: Mapping[Term, Floats]) -> _Chosen | None:
        return None if before is None else self._fit(name, before.terms, values, before.fitted.pairs)

    def _better(self, one: _Chosen | None, other: _Chosen | None) -> _Chosen | None:
        if one is None or other is None:
            return one or other
        return other if other.fitted.loss < one.fitted.loss else one

    def _fit(
        self, name: str, terms: tuple[Term, ...], values: Mapping[Term, Floats], pairs: float | None
    ) -> _Chosen | None:
        part = self.parts[name]
        # All sets of terms are compared on the same examples: those that any term links.
        every = list(dict.fromkeys(term for terms in self.offers[name] for term in terms))
        rows = (part.folds >= 0) & linked([self.cached[term] for term in every], len(part.things))
        if rows.sum() < FEWEST:
            return None
        labels = part.things.labels[rows]
        alone = -np.log(np.maximum(part.own.chances[rows, labels], LEAST_CHANCE))
        trained = Trained(part.things.target, part.own.fixed[rows], labels, part.folds[rows], alone)
        return _Chosen(terms, fit_terms(trained, terms, [values[term][rows] for term in terms], pairs))
