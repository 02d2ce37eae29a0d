"""Which neighbours are heard in other data than those of training, if some labels are known there.

What was learned about guesses need not hold in other data: where the separate models are wrong, guesses that
confirm each other may all be wrong. Known labels are facts there too. So a thing hears the known labels of
its neighbours only, by weights that were learned for this; and the known labels themselves may decide
otherwise. Each fifth of them is hidden in turn and predicted in three ways: alone, from the known labels that
remain, and together with guesses. Another way is taken if it predicts the hidden labels better by a standard
error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNLABELLED, Database
from hornbeam.data.numbers import Floats
from hornbeam.data.sampling import key_hashes
from hornbeam.engines.contract import Engine
from hornbeam.joint.inference import mean_field
from hornbeam.joint.model import JointMember
from hornbeam.joint.neighbours import (
    LEAST_CHANCE,
    LinkedThings,
    Neighbours,
    OwnScores,
    Reaches,
    term_values,
)
from hornbeam.joint.things import Things
from hornbeam.learning.effects.examples.bagging import FOLDS, fold_numbers

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
