"""Prediction with a joint model: known labels are evidence and stay, all others are guessed together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNKNOWN, Codes, Database, Notice
from hornbeam.data.keys import Names
from hornbeam.data.numbers import Floats
from hornbeam.engines.contract import DEFAULT_MEMORY, Engine
from hornbeam.engines.registry import open_engine
from hornbeam.errors import DataError
from hornbeam.joint.inference import Guesses, mean_field
from hornbeam.joint.model import JointModel, KnownLabel
from hornbeam.joint.neighbours import LinkedThings, Reaches
from hornbeam.joint.other_data import Entries, Linking, entries_in_other_data
from hornbeam.joint.things import (
    JointTarget,
    KnownKeys,
    NamedEvidence,
    codes_of,
    facts_fingerprint,
    hidden,
    things_of,
)
from hornbeam.model.predict import NO_FACTS, data_for, unknown_keys


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
    guesses: Guesses

    def probabilities(self, name: str, names: Names) -> Floats:
        """The probability of each label of a target for keys, given as rows of names."""
        return self.chances(name, codes_of(self.world.database, name, names))

    def chances(self, name: str, keys: Codes) -> Floats:
        """The probability of each label of a target; keys that the data do not have reach nothing."""
        places = self.world.linked[name].things.places_of(keys)
        found: Floats = self.guesses.beliefs[name][np.maximum(places, 0)]
        if (places < 0).any():
            found[places < 0] = self.world.model.member(name).chances(self.world.engine, keys[places < 0])
        return found

    @property
    def notices(self) -> tuple[Notice, ...]:
        convergence = self.guesses.convergence
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
