"""Persons who smoke or not, their friends, and who has cancer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Database, Population
from hornbeam.data.names import Numbered
from hornbeam.datasets.worlds.building import (
    Floats,
    Integers,
    check_limits,
    database_of,
    labelled,
    modes_of,
    probability_of,
    truth_of,
    with_examples,
)
from hornbeam.logic.clauses import Atom, Clause, head_atom

_SMOKERS_MODES = modes_of(["cancer +person", "friends +person -person", "smokes +person"])

SMOKERS_TRUTH = truth_of(
    (-1.5, 0.27),
    Clause(head_atom("cancer", 1), (Atom("friends", (0, 1)), Atom("smokes", (1,)))),
    _SMOKERS_MODES,
)
"""``[-1.5, 0.27, 0] : cancer(A) :- friends(A,B), smokes(B).`` - the more smoking friends, the worse."""


def smokers(
    n_persons: int = 10_000,
    seed: int = 0,
    *,
    mean_friends: float = 15.0,
    exponent: float = 2.5,
    smoking: float = 0.4,
    homophily: float = 0.5,
) -> Database:
    """Persons who smoke or not, their friends, and who has cancer, drawn from ``SMOKERS_TRUTH``.

    At the default size there are about 150,000 facts and 1.32 negatives per positive. Every person
    is an example of ``cancer``. ``mean_friends`` is the mean number of ``friends`` facts per person;
    ``exponent`` is the exponent of the power law of the number of friends; ``smoking`` is the share of
    smokers; ``homophily`` is the share of friendships made within one's own kind (smokers or not), while
    the others are made with anybody.

    A friendship is two facts, ``friends(ann,bob)`` and ``friends(bob,ann)``. With one of them alone,
    ``friends(A,B)`` would miss half of A's friends, and which half would depend on the order in which the
    two names are written. Nobody is their own friend.

    >>> smokers(n_persons=1000)
    Database(14,735 facts, 2 predicates, 1 type, examples: cancer (1000))
    """
    check_limits("n_persons", n_persons, 1, 2**31 - 1)
    check_limits("mean_friends", mean_friends, 0)
    check_limits("exponent", exponent, 2.01)
    check_limits("smoking", smoking, 0, 1)
    check_limits("homophily", homophily, 0, 1)
    rng = np.random.default_rng(seed)
    smokes = rng.random(n_persons) < smoking
    left, right = _friendships(rng, smokes, min(mean_friends, n_persons - 1), exponent, homophily)
    database = database_of(
        _SMOKERS_MODES,
        {"person": Population(Numbered("p", n_persons))},
        {
            "friends": (np.concatenate([left, right]), np.concatenate([right, left])),
            "smokes": (np.flatnonzero(smokes),),
        },
    )
    keys = np.arange(n_persons, dtype=np.int32).reshape(-1, 1)
    probability = probability_of(SMOKERS_TRUTH, _smoking_friends(database)[keys[:, 0]])
    return with_examples(database, labelled(rng, "cancer", keys, probability))


def smokers_probabilities(database: Database) -> Floats:
    """The true probability of each example of a ``smokers`` world, in the order of its examples."""
    keys = database.examples_of("cancer").keys
    return probability_of(SMOKERS_TRUTH, _smoking_friends(database)[keys[:, 0]])


def _smoking_friends(database: Database) -> Integers:
    """The number of smoking friends of each person, which is the true count of the planted clause."""
    person, friend = database.relation("friends").columns
    size = len(database.population("person"))
    smokes = np.zeros(size, dtype=bool)
    smokes[database.relation("smokes").columns[0]] = True
    return np.bincount(person[smokes[friend]], minlength=size)


def _friendships(
    rng: np.random.Generator,
    smokes: npt.NDArray[np.bool_],
    mean_friends: float,
    exponent: float,
    homophily: float,
) -> tuple[Codes, Codes]:
    """Pairs of friends, each in one direction; a few pairs may occur twice.

    Each person asks a number of others that follows a power law, and is asked in proportion to that number
    (a configuration model).
    """
    size = len(smokes)
    wanted = (1.0 - rng.random(size)) ** (-1.0 / (exponent - 1.0))
    # Capped, because a person with more friends would be paired with the same hubs repeatedly.
    np.minimum(wanted, wanted.mean() * max(np.sqrt(size / max(mean_friends, 1.0)), 1.0), out=wanted)
    wanted *= mean_friends / 2 / wanted.mean()
    asks = np.floor(wanted + rng.random(size)).astype(np.int64)
    left = np.repeat(np.arange(size, dtype=np.int32), asks)
    # Sorted by kind: those who do not smoke first, then those who do.
    by_kind = np.concatenate([left[~smokes[left]], left[smokes[left]]])
    border = int(np.count_nonzero(~smokes[left]))
    same_kind = rng.random(len(left)) < homophily
    low = np.where(same_kind & smokes[left], border, 0)
    high = np.where(same_kind & ~smokes[left], border, len(left))
    right = by_kind[low + ((high - low) * rng.random(len(left))).astype(np.int64)]
    distinct = left != right
    return left[distinct], right[distinct]
