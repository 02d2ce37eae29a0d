"""Samples, orders and held-out parts of examples, by names and not by the order in files."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNKNOWN, Codes, Database
from hornbeam.data.numbers import time_text
from hornbeam.data.rows import mixed
from hornbeam.logic.clauses import format_constant, format_name


def sampled(
    database: Database,
    target: str,
    keys: Codes,
    labels: npt.NDArray[np.int8],
    neg_pos_ratio: float | None,
    seed: int,
) -> npt.NDArray[np.intp]:
    """Rising positions of the examples to keep: every positive, and ``neg_pos_ratio`` negatives per positive.

    The negatives with the smallest hashes are kept. Their number is rounded to the nearest whole number, at
    least one. A ratio of ``None`` keeps all.
    """
    negatives = np.flatnonzero(labels == 0)
    wanted = _wanted(len(labels) - len(negatives), len(negatives), neg_pos_ratio)
    if wanted == len(negatives):
        return np.arange(len(labels))
    first, second = _hashes(database, target, keys[negatives], seed)
    return _with_positives(labels, negatives[np.lexsort((second, first))[:wanted]])


def redrawn(
    database: Database,
    target: str,
    keys: Codes,
    labels: npt.NDArray[np.int8],
    neg_pos_ratio: float | None,
    seed: int,
    draws: int,
) -> list[npt.NDArray[np.intp]]:
    """``draws`` independent samples, each as in ``sampled``."""
    negatives = np.flatnonzero(labels == 0)
    wanted = _wanted(len(labels) - len(negatives), len(negatives), neg_pos_ratio)
    if wanted == len(negatives):
        return [np.arange(len(labels))] * draws
    first, second = _hashes(database, target, keys[negatives], seed)
    samples = []
    for draw in range(draws):
        # One hash of the text serves all draws: each odd factor gives it another order.
        factor = np.uint64(2 * int.from_bytes(blake2b(f"{draw}".encode(), digest_size=8).digest()) + 1 & _ALL)
        order = np.lexsort((second, mixed(first * factor)))
        samples.append(_with_positives(labels, negatives[order[:wanted]]))
    return samples


_ALL = 2**64 - 1


def _wanted(positives: int, negatives: int, neg_pos_ratio: float | None) -> int:
    if neg_pos_ratio is None:
        return negatives
    return min(negatives, max(1, int(neg_pos_ratio * positives + 0.5)))


def _with_positives(labels: npt.NDArray[np.int8], negatives: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    keep = labels != 0
    keep[negatives] = True
    return np.flatnonzero(keep)


def in_order(
    database: Database, target: str, keys: Codes, labels: npt.NDArray[np.int8]
) -> npt.NDArray[np.intp]:
    """Positions of examples in the order of their names, which does not depend on files or tables.

    Sums of floats over the examples are taken in this order, so that they are equal to the last digit.
    """
    ranks: list[npt.NDArray[np.generic]] = [labels]
    cutoffs = database.cutoffs_of(target, keys)
    if cutoffs is not None:
        ranks.append(cutoffs)
    for names, places in key_names(database, target, keys):
        rank = np.empty(len(names), dtype=np.int64)
        rank[sorted(range(len(names)), key=lambda place: names[place] or "")] = np.arange(len(names))
        ranks.append(rank[places])
    return np.lexsort(ranks)


def key_names(
    database: Database, target: str, keys: Codes
) -> Iterator[tuple[list[str | None], npt.NDArray[np.intp]]]:
    """For each argument of the target, the distinct names in the keys, and which of them each example has.

    The name of an unknown key is None.
    """
    for column, type_name in enumerate(database.schema.types_of(target)):
        codes, places = np.unique(keys[:, column], return_inverse=True)
        names = database.population(type_name).names
        yield [None if code == UNKNOWN else names[code] for code in codes.tolist()], places.ravel()


def key_hashes(database: Database, target: str, keys: Codes, seed: int) -> npt.NDArray[np.uint64]:
    """A hash of the seed and the text of each example."""
    return _hashes(database, target, keys, seed)[0]


def _hashes(
    database: Database, target: str, keys: Codes, seed: int
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Two hashes of the seed and the text of each example; the second breaks ties of the first."""
    start = blake2b(f"{seed} ".encode(), digest_size=16)
    digests = []
    texts = atom_texts(database, target, keys)
    cutoffs = database.cutoffs_of(target, keys)
    if cutoffs is not None:
        texts = [
            f"{text} @ {time_text(cutoff)}" for text, cutoff in zip(texts, cutoffs.tolist(), strict=True)
        ]
    for text in texts:
        hasher = start.copy()
        hasher.update(text.encode("utf-8", "surrogatepass"))
        digests.append(hasher.digest())
    first, second = np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64).reshape(-1, 2).T
    return first, second


def atom_texts(database: Database, target: str, keys: Codes) -> list[str]:
    """The text of each example as an atom; the constant of an unknown key is ``_``."""
    columns = []
    for names, places in key_names(database, target, keys):
        words = ["_" if name is None else format_constant(name) for name in names]
        columns.append([words[place] for place in places.tolist()])
    name = format_name(target)
    return [f"{name}({','.join(arguments)})" for arguments in zip(*columns, strict=True)]
