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
from typing import NamedTuple

import numpy as np

from hornbeam.data.database import Database, Notice
from hornbeam.engines.contract import DEFAULT_MEMORY, Engine
from hornbeam.engines.registry import open_engine
from hornbeam.errors import OptionError
from hornbeam.joint.fitting.constant_weights import FittedSurroundings, fit_surroundings
from hornbeam.joint.fitting.rounds import FEW, FEWER, MOST, NONE, RoundTraining, training
from hornbeam.joint.fitting.separate import Separate, both_models, parts_of, with_settings
from hornbeam.joint.model import JointMember, JointModel, KnownLabel
from hornbeam.joint.neighbours import Neighbours
from hornbeam.joint.surroundings import Surroundings
from hornbeam.joint.things import JointTarget, JointTask, facts_fingerprint, hidden
from hornbeam.learning.classes import ClassHistory
from hornbeam.learning.history import History, Record, ended_of
from hornbeam.learning.loop import NO_CONTROL, Control, Shared
from hornbeam.learning.options import EffectOptions, Options


@dataclass(frozen=True, eq=False)
class JointHistory:
    """The histories of the separate models, by target."""

    by_target: Mapping[str, History | ClassHistory]
    lines: tuple[str, ...] = ()

    @property
    def ended(self) -> str:
        """Why the fits ended: interrupted or by the time limit if any was, otherwise as the last one."""
        return ended_of(self.by_target.values())

    @property
    def steps(self) -> tuple[Record, ...]:
        """The steps of all separate models."""
        return tuple(step for history in self.by_target.values() for step in history.steps)

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
    learned = _learned(engine, tasks, fits, (options, max_links))
    settings = dict(options.settings()) | dict(database.origin) | {"links_to_neighbours": max_links}
    cut = [fit.model.settings["cut"] for both in fits.values() for fit in both if "cut" in fit.model.settings]
    settings |= {"cut": cut[0]} if cut else {}
    members = [
        _member(task.target, fits[task.target.name], settings, learned[task.target.name]) for task in tasks
    ]
    labels = tuple(each for task in tasks for each in _known(seen, task))
    model = JointModel(tuple(members), seen.schema, labels, facts_fingerprint(seen), settings)
    histories = {name: fit.ordinary.history for name, fit in fits.items()}
    return JointFit(model, JointHistory(histories, tuple(_lines(members))))


class _Learned(NamedTuple):
    """The neighbours of a target in all situations, and its surroundings model, if one is used."""

    entries: list[Neighbours]
    surroundings: Surroundings | None


def _learned(
    engine: Engine, tasks: Sequence[JointTask], fits: Mapping[str, Separate], how: tuple[EffectOptions, int]
) -> dict[str, _Learned]:
    """The neighbours of each target: for no labels known and for some, beside each of its models.

    Beside ordinary and surroundings models they are for the facts of training only, and only if that is
    better there.
    """
    options, max_links = how
    parts = {task.target.name: parts_of(engine, task, fits[task.target.name], options) for task in tasks}
    inner_parts = {name: each.with_inner for name, each in parts.items()}
    ordinary_parts = {name: each.ordinary for name, each in parts.items()}
    with_inner = training(engine.database, inner_parts, max_links)
    ordinary = replace(with_inner, parts=ordinary_parts, inner=False)
    by_shown = [with_inner.neighbours(shown) for shown in (MOST, FEW, NONE)]
    # In other data, guesses that confirm each other may all be wrong. Terms that follow no link leave what
    # lies behind links to the ordinary models.
    on_own_things = _in_any_data(ordinary.near().neighbours(NONE), with_inner.near().neighbours(NONE))
    from_known = [with_inner.neighbours(shown, only_known=True) for shown in (MOST, FEW, FEWER)]
    around = {name: fit_surroundings(engine.database, part) for name, part in ordinary_parts.items()}
    others = _others(ordinary, around)
    learned = {}
    for name in fits:
        most, few, none = (each[name] for each in by_shown)
        entries = [most, few, replace(none, anywhere=False), on_own_things[name]]
        entries += [each[name] for each in from_known]
        for before, rivals in reversed(list(zip((most, few, none), others[name], strict=True))):
            best = min(rivals, key=_together, default=before)
            if best.around or _together(best) < _together(before):
                entries.insert(0, replace(best, anywhere=False))
        found = around[name]
        used_around = found is not None and any(each.around for each in entries)
        learned[name] = _Learned(entries, found.model if found is not None and used_around else None)
    return learned


def _in_any_data(
    ordinary: Mapping[str, Neighbours], with_inner: Mapping[str, Neighbours]
) -> dict[str, Neighbours]:
    """The neighbours beside ordinary models, without those that do not help beside inner models too.

    Ordinary models have weights of single things. What guesses gain from these is lost in other data, which
    have other things.
    """
    return {
        name: each if with_inner[name].used else Neighbours(each.known_share, losses=each.losses, inner=False)
        for name, each in ordinary.items()
    }


def _others(
    ordinary: RoundTraining, around: Mapping[str, FittedSurroundings | None]
) -> dict[str, list[list[Neighbours]]]:
    """For each target the neighbours beside its ordinary or its surroundings model, by known labels.

    The surroundings model is taken if it predicts better than the ordinary one, both without labels. Losses
    with guesses are no fair comparison: the other models have learned from the label that guesses of its
    neighbours tell, above all where labels are few.
    """
    others: dict[str, list[list[Neighbours]]] = {name: [[], [], []] for name in around}
    if any(ordinary.offers.values()):
        for name, each in ordinary.neighbours(MOST).items():
            others[name][0].append(each)
    parts = {name: ordinary.parts[name] if each is None else each.part for name, each in around.items()}
    surrounded = replace(ordinary, parts=parts)
    alone = {
        name: surrounded.without_terms(name, (MOST, FEW, NONE))
        for name, each in around.items()
        if each is not None
    }
    better = [name for name, each in alone.items() if each[0].used]
    beside = surrounded.neighbours(MOST) if better else {}
    for name in better:
        _, few, none = alone[name]
        others[name] = [[beside[name]], [few], [none]]
    return others


def _together(neighbours: Neighbours) -> float:
    """The held-out loss with neighbours; infinite if they are not used."""
    return np.inf if neighbours.losses is None or not neighbours.used else neighbours.losses[1]


def _member(
    target: JointTarget, fits: Separate, settings: Mapping[str, object], learned: _Learned
) -> JointMember:
    entries, surroundings = learned
    used = any(each.terms and each.inner and not each.around for each in entries)
    inner = with_settings(fits.inner.model, settings) if used else None
    ordinary = with_settings(fits.ordinary.model, settings)
    return JointMember(target, ordinary, tuple(entries), inner, surroundings)


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
                    if each.used
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
