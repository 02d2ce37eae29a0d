"""Hashes of names and rows, for samples and fingerprints that do not depend on the order of the data."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]

_FACTOR = np.uint64(0xD6E8FEB86659FD93)
_ROWS = 1 << 16


def mixed(values: Hashes, shifts: tuple[int, ...] = (32, 32, 32)) -> Hashes:
    """Scramble 64-bit values by a one-to-one function; the order of the results looks random."""
    for shift in shifts[:-1]:
        values = values ^ (values >> np.uint64(shift))
        values = values * _FACTOR
    return values ^ (values >> np.uint64(shifts[-1]))


def name_hashes(names: Sequence[str]) -> Hashes:
    """Two independent hashes of each name, in two rows; the last column has the hashes of an unknown key."""
    digests = [_digest(name) for name in names]
    digests.append(_digest("unknown key", person=b"unknown"))
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64).reshape(-1, 2).T


def _digest(text: str, person: bytes = b"") -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, person=person).digest()


def hash_of_rows(
    names: Sequence[Hashes],
    columns: Sequence[npt.NDArray[np.int32]],
    times: npt.NDArray[np.float64] | None = None,
) -> tuple[int, int]:
    """A hash of a set of rows, by the names that codes stand for; the order of the rows does not matter.

    ``names`` has the hashes of the names of each column, ``times`` the time of each row, if rows have times.
    """
    first, second = 0, 0
    for start in range(0, len(columns[0]), _ROWS):
        rows = np.zeros((2, 1), dtype=np.uint64)
        for hashes, column in zip(names, columns, strict=True):
            # Mixing between columns tells friends(ann,bob) from friends(bob,ann).
            rows = _stirred(rows + hashes[:, column[start : start + _ROWS]])
        if times is not None:
            rows = _stirred(rows + (times[start : start + _ROWS] + 0.0).view(np.uint64))
        part = hash_of_set(rows)
        first, second = first + part[0], second + part[1]
    return first % 2**64, second % 2**64


def hash_of_set(hashes: Hashes) -> tuple[int, int]:
    """A hash of a set of hashes: a sum does not depend on their order, and mixing makes it depend on each."""
    first, second = _stirred(hashes).sum(axis=1, dtype=np.uint64).tolist()
    return first, second


def _stirred(values: Hashes) -> Hashes:
    """``mixed`` in one round, with the shifts that stored checkpoints were made with."""
    return mixed(values, (32, 29))
