"""Prediction with a joint model: known labels are evidence and stay, all others are guessed together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNKNOWN, Database, Notice
from hornbeam.data.keys import Names
from hornbeam.data.numbers import Floats
from hornbeam.engines.contract import DEFAULT_MEMORY, Engine
from hornbeam.engines.registry import open_engine
from hornbeam.errors import DataError
from hornbeam.joint.gibbs import Gibbs, gibbs
from hornbeam.joint.mean_field import Guesses, mean_field
from hornbeam.joint.model import JointModel, KnownLabel
from hornbeam.joint.neighbours import LinkedThings, Reaches, term_values
from hornbeam.joint.things import JointTarget, KnownKeys, NamedEvidence, facts_fingerprint, hidden, things_of
from hornbeam.model.predict import data_for


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
        database, member = self.world.database, self.world.model.member(name)
        keys = database.encode_keys(name, names)
        places = self.world.linked[name].things.places_of(keys)
        result: Floats = np.zeros((len(keys), member.target.size))
        result[places >= 0] = self.guesses.beliefs[name][places[places >= 0]]
        if (places < 0).any():
            # Keys that the data do not have reach nothing.
            result[places < 0] = member.chances(self.world.engine, keys[places < 0])
        return result

    @property
    def notices(self) -> tuple[Notice, ...]:
        convergence = self.guesses.convergence
        more = () if convergence.converged else (Notice(f"{convergence}."),)
        return (*self.world.notices, *more)


def predict_together(world: LinkedWorld, inference: Gibbs | None = None) -> Together:
    """Guess all unknown labels: by mean field, or by Gibbs sampling."""
    return Together(world, mean_field(world.linked) if inference is None else gibbs(world.linked, inference))


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
    things = {}
    for member in model.members:
        name = member.target.name
        more = seen.encode_keys(name, asked[name]) if name in asked else None
        things[name] = things_of(seen, member.target, _coded(seen, member.target, evidence.get(name)), more)
    for name, names in asked.items():
        notices += _unknown(seen, name, names)
    reaches = Reaches(seen, things)
    linked = {}
    for member in model.members:
        own = things[member.target.name]
        neighbours = member.neighbours_for(float(own.known.mean()) if len(own) else 0.0, same_facts)
        scores = member.own_scores(engine, own.keys, neighbours.inner)
        values = tuple(term_values(reaches, term) for term in neighbours.terms)
        linked[member.target.name] = LinkedThings(own, scores, neighbours, values)
    return LinkedWorld(model, seen, engine, linked, notices)


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


def _coded(
    database: Database, target: JointTarget, given: tuple[Names, npt.NDArray[np.int64]] | None
) -> KnownKeys | None:
    if given is None:
        return None
    names, labels = given
    keys = database.encode_keys(target.name, names)
    unknown = (keys == UNKNOWN).any(axis=1)
    if unknown.all() and len(keys):
        raise DataError(
            f'no key of the evidence of "{target.name}" is in the data (first: {", ".join(names[0])}); '
            "give labels of keys that the data have."
        )
    return KnownKeys(keys, labels)


def _unknown(database: Database, name: str, names: Names) -> tuple[Notice, ...]:
    keys = database.encode_keys(name, names)
    strange = np.flatnonzero((keys == UNKNOWN).any(axis=1))
    if not len(strange):
        return ()
    first = ", ".join(map(str, names[strange[0]]))
    return (
        Notice(
            f"{len(strange)} of {len(keys)} keys are not in the data (first: {first}); they are treated as "
            "having no facts."
        ),
    )
