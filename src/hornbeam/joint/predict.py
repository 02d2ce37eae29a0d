"""Prediction with a joint model: known labels are evidence and stay, all others are inferred together.

What was learned about inferred labels need not hold in other data than those of training: where the
separate models are wrong, labels that confirm each other may all be wrong. Known labels are facts there
too. So only the known labels of neighbours count there, by weights that were learned for this; and the
known labels themselves may decide otherwise. Each fifth of them is hidden in turn and predicted in three
ways: alone, from the known labels that remain, and together with inferred ones. Another way is taken if it
predicts the hidden labels better by a standard error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNKNOWN, UNLABELLED, Codes, Database, Notice
from hornbeam.data.keys import Names
from hornbeam.data.numbers import Floats
from hornbeam.data.sampling import key_hashes
from hornbeam.engines.contract import DEFAULT_MEMORY, Engine
from hornbeam.engines.registry import open_engine
from hornbeam.errors import DataError
from hornbeam.joint.inference import InferredLabels, mean_field
from hornbeam.joint.model import JointMember, JointModel, KnownLabel
from hornbeam.joint.neighbours import (
    LEAST_CHANCE,
    LinkedThings,
    Neighbours,
    OwnScores,
    Reaches,
    term_values,
)
from hornbeam.joint.things import (
    JointTarget,
    KnownKeys,
    NamedEvidence,
    Things,
    codes_of,
    facts_fingerprint,
    hidden,
    things_of,
)
from hornbeam.learning.effects.examples.bagging import FOLDS, fold_numbers
from hornbeam.model.predict import NO_FACTS, data_for, unknown_keys

FEWEST = 20
"""With fewer known labels of linked things, these do not decide."""

Entries = Mapping[str, Neighbours]


@dataclass(frozen=True, eq=False)
class Linking:
    """The members of a model on some data, before it is said which neighbours are heard."""

    members: Sequence[JointMember]
    engine: Engine
    things: Mapping[str, Things]
    reaches: Reaches
    scores: dict[tuple[str, bool, bool], OwnScores] = field(default_factory=dict, init=False)

    def own(self, member: JointMember, entry: Neighbours) -> OwnScores:
        """What the models of a target say of each thing alone; computed once."""
        at = (member.target.name, entry.inner, entry.around)
        if at not in self.scores:
            things = self.things[member.target.name]
            self.scores[at] = member.own_scores(self.engine, things, entry)
        return self.scores[at]

    def linked(self, entries: Entries, things: Mapping[str, Things]) -> dict[str, LinkedThings]:
        """The things of each target with what they reach, for some known labels."""
        found = {}
        for member in self.members:
            name = member.target.name
            entry = entries[name]
            values = [term_values(self.reaches, term) for term in entry.terms]
            if entry.only_known:
                values = [each.hearing(things[each.term.target].known) for each in values]
            own = self.own(member, entry)
            found[name] = LinkedThings(things[name], own, entry, tuple(values))
        return found


def entries_in_other_data(linking: Linking, database: Database) -> Entries:
    """Which neighbours each target hears, in data of which some labels are known."""
    cautious: dict[str, Neighbours] = {}
    together: dict[str, Neighbours] = {}
    for member in linking.members:
        name = member.target.name
        share = linking.things[name].share
        together[name] = member.together(share)
        cautious[name] = member.from_known(share) or member.neighbours_for(share, False)
    hidden = _hidden_losses(linking, database, (cautious, together))
    return {name: _chosen(hidden[name], cautious[name], together[name]) for name in cautious}


def _chosen(losses: Floats, cautious: Neighbours, together: Neighbours) -> Neighbours:
    """The way with the least losses, given for each hidden label alone, from known labels, and together."""
    if len(losses) < FEWEST:
        return cautious
    alone, known, both = losses.T
    chosen, least = cautious, known
    for entry, other in ((Neighbours(cautious.known_share), alone), (together, both)):
        gained = least - other
        if gained.mean() > gained.std() / np.sqrt(len(gained)):
            chosen, least = entry, other
    return chosen


def _hidden_losses(linking: Linking, database: Database, ways: tuple[Entries, Entries]) -> dict[str, Floats]:
    """The log-losses of the known labels of linked things, each hidden while it is predicted."""
    losses: dict[str, list[Floats]] = {name: [] for name in linking.things}
    folds = {name: _folds(database, each) for name, each in linking.things.items()}
    for fold in range(FOLDS):
        shown = {
            name: each.with_labels(np.where(folds[name] == fold, UNLABELLED, each.labels))
            for name, each in linking.things.items()
        }
        worlds = [linking.linked(entries, shown) for entries in ways]
        chances = [mean_field(world).chances for world in worlds]
        for name, things in linking.things.items():
            rows = (folds[name] == fold) & (worlds[0][name].linked | worlds[1][name].linked)
            each = [worlds[0][name].own.chances, chances[0][name], chances[1][name]]
            of_label = np.column_stack([found[rows, things.labels[rows]] for found in each])
            losses[name].append(-np.log(np.maximum(of_label, LEAST_CHANCE)))
    return {name: np.concatenate(each) for name, each in losses.items()}


def _folds(database: Database, things: Things) -> npt.NDArray[np.int64]:
    """The fold of each thing with a known label, by its name; -1 for the others."""
    hashes = key_hashes(database, things.target.name, things.keys, 0)
    return np.where(things.known, fold_numbers(hashes), -1)


@dataclass(frozen=True, eq=False)
class LinkedWorld:
    """A joint model on some data, with evidence."""

    model: JointModel
    database: Database
    engine: Engine
    linked: Mapping[str, LinkedThings]
    notices: tuple[Notice, ...]


@dataclass(frozen=True, eq=False)
class Together:
    """The guesses of all unknown labels in a world."""

    world: LinkedWorld
    inferred: InferredLabels

    def probabilities(self, name: str, names: Names) -> Floats:
        """The probability of each label of a target for keys, given as rows of names."""
        return self.chances(name, codes_of(self.world.database, name, names))

    def chances(self, name: str, keys: Codes) -> Floats:
        """The probability of each label of a target; keys that the data do not have reach nothing."""
        places = self.world.linked[name].things.places_of(keys)
        found: Floats = self.inferred.beliefs[name][np.maximum(places, 0)]
        if (places < 0).any():
            found[places < 0] = self.world.model.member(name).chances(self.world.engine, keys[places < 0])
        return found

    @property
    def notices(self) -> tuple[Notice, ...]:
        convergence = self.inferred.convergence
        more = () if convergence.converged else (Notice(f"{convergence}."),)
        return (*self.world.notices, *more)


def predict_together(world: LinkedWorld) -> Together:
    """Guess all unknown labels."""
    return Together(world, mean_field(world.linked))


def world_of(
    model: JointModel,
    database: Database,
    asked: Mapping[str, Names],
    evidence: NamedEvidence | None = None,
    memory: int = DEFAULT_MEMORY,
) -> LinkedWorld:
    """A joint model on data, for keys that are asked for.

    Without evidence, the labels of training are the evidence if the facts are those of training.
    """
    arities = {member.target.name: model.schema.arity(member.target.name) for member in model.members}
    seen, notices = data_for(model, hidden(database, arities))
    same_facts = facts_fingerprint(seen) == model.facts
    if evidence is None:
        evidence = known_labels(model) if same_facts else {}
    engine = open_engine("memory", seen, memory)
    things, members = {}, model.members
    for member in members:
        name = member.target.name
        more, known = None, None
        if name in asked:
            more = codes_of(seen, name, asked[name])
            notices += _notice(unknown_keys(more, asked[name]), NO_FACTS)
        if name in evidence:
            known = _coded(seen, member.target, *evidence[name])
            missing = unknown_keys(known.keys, evidence[name][0])
            notices += _notice(missing and f"evidence: {missing}", "their labels are left out.")
        things[name] = things_of(seen, member.target, known, more)
    linking = Linking(model.members, engine, things, Reaches(seen, things))
    entries: Entries
    if same_facts or not any(each.known.any() for each in things.values()):
        entries = {m.target.name: m.neighbours_for(things[m.target.name].share, same_facts) for m in members}
    else:
        entries = entries_in_other_data(linking, seen)
    return LinkedWorld(model, seen, engine, linking.linked(entries, things), notices)


def known_labels(model: JointModel) -> NamedEvidence:
    """The labels of training."""
    names = {each.target for each in model.known}
    return {name: _named([each for each in model.known if each.target == name]) for name in names}


def _named(known: list[KnownLabel]) -> tuple[Names, npt.NDArray[np.int64]]:
    keys = [key for each in known for key in each.keys]
    labels = [each.label for each in known for _ in each.keys]
    names = np.empty((len(keys), len(keys[0])), dtype=object)
    names[:] = keys
    return names, np.array(labels, dtype=np.int64)


def _coded(database: Database, target: JointTarget, names: Names, labels: npt.NDArray[np.int64]) -> KnownKeys:
    """The keys of evidence as codes; it is an error if the data have none of them."""
    keys = codes_of(database, target.name, names)
    if len(keys) and (keys == UNKNOWN).any(axis=1).all():
        raise DataError(
            f'no key of the evidence of "{target.name}" is in the data (first: {", ".join(names[0])}); '
            "give labels of keys that the data have."
        )
    return KnownKeys(keys, labels)


def _notice(what: str, then: str) -> tuple[Notice, ...]:
    """A notice of two parts; none if the first is empty."""
    return (Notice(f"{what}; {then}"),) if what else ()
