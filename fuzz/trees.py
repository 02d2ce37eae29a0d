"""Mutations of JSON documents as trees: bytes changed at random are rarely JSON, and test only its parser."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

_VALUES: tuple[object, ...] = (
    *(None, True, False, 0, 1, -1, 2**63, 10**400, 0.5, -0.0, 1e308, 5e-324, "", "A", "\x00", "\x1b[2J"),
    *("count", "log", "mean", "rlr", "one-vs-rest", "cancer(A) :- true.", "cancer(A) :- smokes(A).", [], {}),
)


def mutated(data: bytes, most: int, seed: int) -> bytes | None:
    """The document with one change; None if the data are not JSON."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    chance = random.Random(seed)
    places = list(_places(document))
    if not places:
        return None
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        owner, key = chance.choice(places)
        _change(owner, key, [owner[key] for owner, key in places if _has(owner, key)], chance)
    text = json.dumps(document).encode("utf-8", "replace")
    return text if len(text) <= most else None


def _places(value: object) -> Iterator[tuple[Any, Any]]:
    """Every member of every list and object."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


def _has(owner: Any, key: Any) -> bool:
    return key in owner if isinstance(owner, dict) else key < len(owner)


def _change(owner: Any, key: Any, others: list[object], chance: random.Random) -> None:
    if not _has(owner, key):
        return
    match chance.randrange(6):
        case 0:
            del owner[key]
        case 1 if others:
            owner[key] = json.loads(json.dumps(chance.choice(others)))
        case 2 if isinstance(owner[key], str) and owner[key]:
            text = owner[key]
            place = chance.randrange(len(text))
            owner[key] = (
                text[:place] + chance.choice(["", "(", ")", "'", "B", ",", "\n", "é"]) + text[place + 1 :]
            )
        case 3 if isinstance(owner, list):
            owner.insert(key, owner[key])
        case 4 if isinstance(owner, dict):
            owner[chance.choice(["", "class", "feature", "numeric", str(key) + "x"])] = owner.pop(key)
        case _:
            owner[key] = chance.choice(_VALUES)
