"""Sessions in which several offers are shown, their prices and reviews, and which of them is taken."""

from __future__ import annotations

import numpy as np

from hornbeam.data.database import Database, Examples, Population
from hornbeam.data.names import Numbered
from hornbeam.datasets.worlds.building import Floats, check_limits, database_of, modes_of, with_examples
from hornbeam.logic.schema import NUMBER
from hornbeam.model.scales import shares

_SESSIONS_MODES = modes_of(
    [
        "taken +offer",
        "session +offer -session",
        "session -offer +session",
        "price +offer -euro",
        "colour +offer #colour",
        "about -review +offer",
        "verdict +review #verdict",
    ]
)
_PRICES = tuple(str(price) for price in range(1, 13))
_COLOURS = ("blue", "green", "red")
_VERDICTS = ("good", "bad")
OF_PRICE, OF_GOOD_REVIEW = -0.25, 0.7
"""What a unit of the price adds to the score of an offer, and what a good review adds."""


def sessions(n_sessions: int = 2000, n_offers: int = 5, seed: int = 0) -> Database:
    """Sessions that show several offers, of which one is taken.

    Two things matter: the price, and the number of good reviews. Bad reviews and colours are noise. Every
    offer is an example of ``taken``; the offers of one ``session`` are a choice.

    >>> sessions(n_sessions=10, n_offers=3)
    Database(216 facts, 5 predicates, 6 types, examples: taken (30))
    """
    check_limits("n_sessions", n_sessions, 1, 1_000_000)
    check_limits("n_offers", n_offers, 1, 1000)
    rng = np.random.default_rng(seed)
    size = n_sessions * n_offers
    offers = np.arange(size)
    offer = np.repeat(offers, rng.poisson(2.0, size=size))
    database = database_of(
        _SESSIONS_MODES,
        {
            "offer": Population(Numbered("offer", size)),
            "session": Population(Numbered("session", n_sessions)),
            "review": Population(Numbered("review", len(offer))),
            "euro": Population(_PRICES),
            "colour": Population(_COLOURS),
            "verdict": Population(_VERDICTS),
        },
        {
            "session": (offers, offers // n_offers),
            "price": (offers, rng.integers(len(_PRICES), size=size)),
            "colour": (offers, rng.integers(len(_COLOURS), size=size)),
            "about": (np.arange(len(offer)), offer),
            "verdict": (np.arange(len(offer)), rng.integers(len(_VERDICTS), size=len(offer))),
        },
        {"euro": NUMBER},
    )
    probability = _true_shares(database)
    taken = [rng.choice(n_offers, p=each) for each in probability.reshape(-1, n_offers)]
    label = np.zeros((n_sessions, n_offers), dtype=np.int8)
    label[np.arange(n_sessions), taken] = 1
    order = np.argsort(-label.ravel(), kind="stable")
    keys = order.astype(np.int32).reshape(-1, 1)
    return with_examples(database, Examples("taken", keys, label.ravel()[order]))


def sessions_probabilities(database: Database) -> Floats:
    """The true probability of each example of a ``sessions`` world, in the order of its examples."""
    keys = database.examples_of("taken").keys
    probability: Floats = _true_shares(database)[keys[:, 0]]
    return probability


def _true_shares(database: Database) -> Floats:
    """The probability of each offer in its session."""
    size = len(database.population("offer"))
    price = np.empty(size)
    offer, euro = database.relation("price").columns
    price[offer] = database.numbers["euro"][euro]
    review, verdict = database.relation("verdict").columns
    is_good = np.zeros(len(database.population("review")))
    is_good[review] = verdict == _VERDICTS.index("good")
    review, offer = database.relation("about").columns
    good = np.bincount(offer, weights=is_good[review], minlength=size)
    session = np.empty(size, dtype=np.int64)
    offer, shown = database.relation("session").columns
    session[offer] = shown
    return shares(OF_PRICE * price + OF_GOOD_REVIEW * good, session)
