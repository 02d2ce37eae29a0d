"""Directions that the user states: effects whose curves may only rise, or only fall.

An effect is named by words of its feature. Words that say whose feature it is count for nothing, so that
"number of orders" is "the number of the customer's orders".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from hornbeam.engines.features.values import is_dated
from hornbeam.errors import OptionError, did_you_mean
from hornbeam.learning.effects.candidates import FeatureCandidate
from hornbeam.learning.effects.examples.problem import Problem
from hornbeam.learning.numbers import Floats
from hornbeam.logic.effects import Curve, Effect, in_order_of_use
from hornbeam.logic.english.clauses import text_of
from hornbeam.logic.english.phrases import feature_pieces
from hornbeam.logic.english.wording import wording_of

RISE, FALL = 1.0, -1.0


def directions_of(problem: Problem, candidates: Sequence[FeatureCandidate]) -> Floats:
    """For each candidate 1 if its curve may only rise, -1 if it may only fall, else 0.

    A phrase means all candidates whose words begin with it. It is an error if there are none, or if one
    candidate should both rise and fall.
    """
    options = problem.options
    directions = np.zeros(len(candidates))
    words = _words(problem, candidates)
    for phrases, direction in ((options.rising, RISE), (options.falling, FALL)):
        for phrase in phrases:
            meant = np.array([_begins(own, _plain(phrase, _example(problem))) for own in words], dtype=bool)
            name = "rising" if direction == RISE else "falling"
            if not meant.any():
                known = did_you_mean(phrase, dict.fromkeys(words), "Effects")
                raise OptionError(f'{name}: no effect begins with "{phrase}". {known}')
            if (directions[meant] == -direction).any():
                raise OptionError(f'{name}: "{phrase}" also names an effect that shall go the other way.')
            directions[meant] = direction
    return directions


def _words(problem: Problem, candidates: Sequence[FeatureCandidate]) -> list[str]:
    """The features of candidates in words, without those that say whose they are."""
    database, target = problem.engine.database, problem.examples.target
    wording = wording_of(target, database.schema, database.origin)
    words = []
    for candidate in candidates:
        head, body, feature = candidate.request
        effect = in_order_of_use(Effect(head, body, feature, Curve((), (0.0,))))
        pieces = feature_pieces(effect, database.schema, is_dated(database), wording)
        words.append(_plain(text_of(pieces), wording.example))
    return words


def _example(problem: Problem) -> str:
    database = problem.engine.database
    return wording_of(problem.examples.target, database.schema, database.origin).example


def _plain(text: str, example: str) -> str:
    """Words without articles and without the example that has the feature.

    >>> _plain("the number of the customer's orders", "customer")
    'number of orders'
    """
    owners = rf"\b{re.escape(example)}'s " if example else r"(?!)"
    text = re.sub(owners, "", " ".join(text.casefold().split()), flags=re.IGNORECASE)
    return " ".join(re.sub(r"\b(the|its) ", "", text).split())


def _begins(words: str, phrase: str) -> bool:
    return f"{words} ".startswith(f"{phrase} ")
