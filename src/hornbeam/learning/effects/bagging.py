"""Bags: which examples each of several models learns from, by the hash of their keys.

An example's part depends on the seed, the number of the bag and the names in its key. If examples have
cut-offs, it depends on the stretch of time of the cut-off instead: what was true of all things at one time
must not be learned from some of them and judged on others. A stretch has at least two cut-offs, because
neighbouring ones see nearly the same facts. With the option ``group``, it depends on the
things of a table that the example is linked to.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Database
from hornbeam.data.hashes import mixed
from hornbeam.data.sampling import key_hashes
from hornbeam.engines.contract import Engine
from hornbeam.learning.effects.linked_groups import things_of_group
from hornbeam.learning.numbers import Floats
from hornbeam.learning.options import EffectOptions

Hashes = npt.NDArray[np.uint64]
SHARE = 0.85
"""Share of the examples in each bag."""
STRETCHES = 40
"""Maximum number of stretches of time into which cut-offs are divided."""
LEAST_STRETCHES = 10
"""With fewer stretches, many bags would leave out none, so that examples are held out by their keys."""
FOLDS = 5
"""Number of folds that choose the number of steps if there is one bag."""


class Design(NamedTuple):
    """The weight of each example in each model, and which models are averaged."""

    weights: Floats
    """one column for each model"""
    averaged: tuple[int, ...]


def example_hashes(engine: Engine, target: str, keys: Codes, options: EffectOptions) -> Hashes:
    """A hash of each example: equal for examples that are never separated."""
    hashes = _own_hashes(engine.database, target, keys, options.seed)
    if options.group is None:
        return hashes
    names = things_of_group(engine, target, keys, options.group)
    by_name = {name: _name_hash(name, options.seed) for name in set(names) if name is not None}
    together = [
        own if name is None else by_name[name] for name, own in zip(names, hashes.tolist(), strict=True)
    ]
    return np.array(together, dtype=np.uint64)


def _name_hash(name: str, seed: int) -> int:
    text = f"{seed} {name}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")


def _own_hashes(database: Database, target: str, keys: Codes, seed: int) -> Hashes:
    cutoffs = database.real_cutoffs_of(target, keys)
    if cutoffs is not None:
        distinct, ranks = np.unique(cutoffs, return_inverse=True)
        n_stretches = min(STRETCHES, len(distinct) // 2)
        if n_stretches >= LEAST_STRETCHES:
            stretches = ranks.ravel() * n_stretches // len(distinct)
            return mixed(mixed(stretches.astype(np.uint64) + np.uint64(1)) + np.uint64(seed))
    return key_hashes(database, target, keys[:, : database.schema.arity(target)], seed)


def design(hashes: Hashes, n_bags: int) -> Design:
    """Bags of 85 % of the examples; or, for one bag, folds and one model of all examples."""
    if n_bags == 1:
        folds = fold_numbers(hashes)
        weights = [(folds != fold).astype(np.float64) for fold in range(FOLDS)]
        return Design(np.column_stack([*weights, np.ones(len(hashes))]), (FOLDS,))
    columns = [shares(hashes, bag) < SHARE for bag in range(n_bags)]
    return Design(np.column_stack(columns).astype(np.float64), tuple(range(n_bags)))


def fold_numbers(hashes: Hashes) -> npt.NDArray[np.int64]:
    """The fold of each example, in which its score is held out."""
    return (shares(hashes, -1) * FOLDS).astype(np.int64)


def shares(hashes: Hashes, number: int) -> Floats:
    """A number from 0 to 1 for each hash; for another ``number``, other ones."""
    factor = np.uint64((2 * (number + 2) * 0x9E3779B97F4A7C15 + 1) & 0xFFFFFFFFFFFFFFFF)
    result: Floats = mixed(hashes * factor).astype(np.float64) / 2.0**64
    return result
