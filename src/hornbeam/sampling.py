"""Which negatives a fit keeps: those whose hash is smallest, so that file order plays no part."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from hornbeam.clauses import format_constant, format_name
from hornbeam.database import UNKNOWN, Codes, Database


def sampled(
    database: Database,
    target: str,
    keys: Codes,
    labels: npt.NDArray[np.int8],
    neg_pos_ratio: float | None,
    seed: int,
) -> npt.NDArray[np.intp]:
    """Positions, rising, of the examples to keep: every positive, and so many negatives per positive.

    The number of negatives is rounded to the nearest whole number, at least one. ``None`` keeps all.
    """
    everything = np.arange(len(labels))
    if neg_pos_ratio is None:
        return everything
    negatives = np.flatnonzero(labels == 0)
    wanted = max(1, int(neg_pos_ratio * (len(labels) - len(negatives)) + 0.5))
    if wanted >= len(negatives):
        return everything
    texts = atom_texts(database, target, keys[negatives])
    start = blake2b(f"{seed} ".encode(), digest_size=16)
    digests = []
    for text in texts:
        each = start.copy()
        each.update(text.encode())
        digests.append(each.digest())
    first, second = np.frombuffer(b"".join(digests), dtype=">u8").reshape(-1, 2).T
    order = np.lexsort((second, first))
    keep = labels != 0
    keep[negatives[order[:wanted]]] = True
    return np.flatnonzero(keep)


def atom_texts(database: Database, target: str, keys: Codes) -> list[str]:
    """The text of each example, as clause text writes it; an unknown key's constant is ``_``."""
    columns = []
    for column, type_name in enumerate(database.schema.types_of(target)):
        codes, positions = np.unique(keys[:, column], return_inverse=True)
        names = database.population(type_name).names
        words = [format_constant(names[code]) if code != UNKNOWN else "_" for code in codes.tolist()]
        columns.append([words[position] for position in positions.ravel().tolist()])
    name = format_name(target)
    return [f"{name}({','.join(arguments)})" for arguments in zip(*columns, strict=True)]
