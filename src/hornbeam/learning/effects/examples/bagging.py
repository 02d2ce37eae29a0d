"""Bags: which examples each of several models learns from, by the hash of their keys.

An example's part depends on the seed, the number of the bag and the names in its key. If examples have
cut-offs, it depends on the stretch of time of the cut-off instead, so that no model rests on one time. A
stretch has at least two cut-offs, because neighbouring ones see nearly the same facts. With few cut-offs, it
depends on the key and the window of time. With the option ``group``, it depends on the things of a table that
the example is linked to.

With cut-offs, later examples judge models of earlier ones, as new examples will. An example is much like
those shortly before and after it, so that a model of both predicts it better than it predicts new ones.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Database
from hornbeam.data.rows import mixed
from hornbeam.data.sampling import key_hashes
from hornbeam.engines.contract import Engine
from hornbeam.learning.numbers import Floats
from hornbeam.learning.options import EffectOptions

Hashes = npt.NDArray[np.uint64]
Windows = npt.NDArray[np.int64]
SHARE = 0.85
"""Share of the examples in each bag."""
STRETCHES = 40
"""Maximum number of stretches of time into which cut-offs are divided."""
LEAST_STRETCHES = 10
"""With fewer stretches, many bags would leave out none, so that bags depend on the keys of examples."""
WINDOWS, LEAST_WINDOWS = 10, 4
"""Maximum number of windows of time into which examples with cut-offs are divided, and the minimum."""
LEAST_EXAMPLES = 5
"""Minimum number of examples in a window, on average."""
LEAST_SHARE = 0.2
"""Minimum share of the examples with a label that a judge learns from."""
FOLDS = 5
"""Number of folds that choose the number of steps if there is one bag."""


class Design(NamedTuple):
    """The weight of each example in each model, which models are averaged, and what each is judged on."""

    weights: Floats
    """one column for each model"""
    averaged: tuple[int, ...]
    judged: Floats
    """how much each example counts where each model is judged: 0 for the examples that it learns from"""


def example_hashes(engine: Engine, target: str, keys: Codes, options: EffectOptions) -> Hashes:
    """A hash of each example: equal for examples that are never separated."""
    hashes = _own_hashes(engine.database, target, keys, options.seed)
    if options.group is None:
        return hashes
    from hornbeam.learning.effects.examples.linked_groups import things_of_group

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


def design(hashes: Hashes, n_bags: int, windows: Windows | None = None) -> Design:
    """Bags of 85 % of the examples; or, for one bag, folds and one model of all examples.

    Models are judged on the examples that they do not learn from. With ``windows``, the window of time of
    each example, no bag is judged, but other models: each learns from all windows before one of the later
    half, and is judged on that one.
    """
    if windows is not None:
        # If things and times are few, a bag would have all examples or none.
        hashes = mixed(hashes + mixed(windows.astype(np.uint64)))
    bags = [shares(hashes, bag) < SHARE for bag in range(n_bags)]
    if n_bags == 1:
        bags = [np.ones(len(hashes), dtype=bool)]
    if windows is not None:
        number = int(windows.max()) + 1
        later = range(number - number // 2, number)
        inside = np.column_stack([*bags, *(windows < window for window in later)])
        judged = np.column_stack(
            [*(np.zeros_like(bag) for bag in bags), *(windows == window for window in later)]
        )
        return Design(inside.astype(np.float64), tuple(range(n_bags)), judged.astype(np.float64))
    folds = [fold_numbers(hashes) != fold for fold in range(FOLDS)] if n_bags == 1 else []
    inside = np.column_stack([*folds, *bags])
    averaged = tuple(range(len(folds), inside.shape[1]))
    return Design(inside.astype(np.float64), averaged, (~inside).astype(np.float64))


def windows_of_time(database: Database, target: str, keys: Codes) -> Windows | None:
    """The window of time of each example, in order of time and with about equally many examples each.

    None if examples have no cut-offs, or too few different ones.
    """
    cutoffs = database.real_cutoffs_of(target, keys)
    if cutoffs is None:
        return None
    distinct, ranks, counts = np.unique(cutoffs, return_inverse=True, return_counts=True)
    number = min(WINDOWS, len(distinct), len(keys) // LEAST_EXAMPLES)
    if number < LEAST_WINDOWS:
        return None
    # The middle of the examples with a cut-off says in which window they are.
    middle = (2 * np.cumsum(counts) - counts) * number // (2 * counts.sum())
    filled, windows = np.unique(middle, return_inverse=True)
    return None if len(filled) < LEAST_WINDOWS else windows.ravel()[ranks.ravel()]


def without_uninformed_judges(judges: Design, targets: Floats) -> Design | None:
    """The design without judges that learn from too few of the examples with a label, or from equal numbers.

    Such a judge predicts later examples badly, however well a model of all examples does. None if no judge is
    left.
    """
    labels = np.unique(targets)
    if len(labels) > 2:
        known = np.array([len(np.unique(targets[own > 0])) > 1 for own in judges.weights.T])
    else:
        of_labels = [judges.weights[targets == label].mean(axis=0) for label in labels]
        known = np.min(of_labels, axis=0) >= LEAST_SHARE
    is_judge = judges.judged.any(axis=0)
    kept = known | ~is_judge
    if not (kept & is_judge).any():
        return None
    return Design(judges.weights[:, kept], judges.averaged, judges.judged[:, kept])


def fold_numbers(hashes: Hashes) -> npt.NDArray[np.int64]:
    """The fold of each example, in which its score is held out."""
    return (shares(hashes, -1) * FOLDS).astype(np.int64)


def shares(hashes: Hashes, number: int) -> Floats:
    """A number from 0 to 1 for each hash; for another ``number``, other ones."""
    factor = np.uint64((2 * (number + 2) * 0x9E3779B97F4A7C15 + 1) & 0xFFFFFFFFFFFFFFFF)
    result: Floats = mixed(hashes * factor).astype(np.float64) / 2.0**64
    return result
