"""Names into codes: populations as names come, and examples, those given twice merged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from hornbeam.data.numbers import Floats
from hornbeam.data.relations import Codes, Examples, Notice, Numbered, Population
from hornbeam.data.rows import fold, grouped
from hornbeam.errors import plural
from hornbeam.logic.clauses import Atom


@dataclass(frozen=True, eq=False, slots=True)
class Coded:
    """A column of names in short: names (one may stand twice), and for each row the place of its name."""

    names: Sequence[str]
    codes: Codes

    def __len__(self) -> int:
        return len(self.codes)


def without_facts(keys: Sequence[Coded], unknown: Sequence[Collection[str]]) -> list[Notice]:
    """What to say of examples whose keys are unknown, given which names of each column are."""
    strange = np.zeros(len(keys[0]), dtype=bool)
    for column, names in zip(keys, unknown, strict=True):
        if names:
            strange |= np.array([name in names for name in column.names], dtype=bool)[column.codes]
    if not strange.any():
        return []
    first = int(strange.argmax())
    named = ", ".join(column.names[column.codes[first]] for column in keys)
    number = plural(int(strange.sum()), "example")
    return [Notice(f"{number} with a key that no table has (first: {named}): without any fact.")]


NameRows = Sequence[Sequence[str]]


def example_columns(given: NameRows | Sequence[Coded], arity: int) -> Sequence[Sequence[str] | Coded]:
    """Examples given as rows of names or as coded columns, as columns."""
    if len(given) == 0:
        return [() for _ in range(arity)]
    if isinstance(given[0], Coded):
        return given
    return list(zip(*cast(NameRows, given), strict=True))


class Coder:
    """Codes of names by type, given as names come."""

    def __init__(self, types: Iterable[str]) -> None:
        self._codes: dict[str, dict[str, int]] = {type_name: {} for type_name in types}
        self._done: dict[tuple[str, int], tuple[Sequence[str], Codes]] = {}
        self._numbered: dict[str, Numbered] = {}

    def encode(self, names: Iterable[str] | Coded, type_name: str) -> Codes:
        """The code of each name; those that are new are added."""
        if isinstance(names, Coded):
            found = self._of_names(names.names, type_name)
            if np.array_equal(found, np.arange(len(found))) and names.codes.dtype == np.int32:
                # The codes are the same: of ten million rows that is forty million bytes less.
                return names.codes
            return found[names.codes]
        if isinstance(names, list | Numbered):
            return self._of_names(names, type_name)
        return self._given(names, type_name)

    def _of_names(self, names: Sequence[str], type_name: str) -> Codes:
        """As ``encode``; a list that several columns share is looked at once."""
        key = type_name, id(names)
        if key not in self._done:
            # The list is kept, so that no other takes its place in memory.
            self._done[key] = names, self._given(names, type_name)
        return self._done[key][1]

    def _given(self, names: Iterable[str], type_name: str) -> Codes:
        codes = self._codes.setdefault(type_name, {})
        if isinstance(names, Numbered) and not codes and type_name not in self._numbered:
            # Ten million of them need not be written down until somebody adds another name.
            self._numbered[type_name] = names
            return np.arange(len(names), dtype=np.int32)
        if type_name in self._numbered:
            known = self._numbered.pop(type_name)
            codes.update(zip(known, range(len(known)), strict=True))
        give = codes.setdefault
        return np.array([give(name, len(codes)) for name in names], dtype=np.int32)

    def populations(self) -> dict[str, Population]:
        return {
            type_name: Population(self._numbered.get(type_name) or list(names))
            for type_name, names in self._codes.items()
        }


def merged_examples(
    target: str,
    columns: Sequence[Codes],
    labels: Sequence[int] | npt.NDArray[np.int8],
    populations: Sequence[Population],
    cutoffs: Floats | None = None,
) -> tuple[Examples, list[Notice]]:
    """Positives, then negatives, each in the order given; repeated ones merged, and said so."""
    label = np.asarray(labels, dtype=np.int8)
    order = np.argsort(-label, kind="stable")
    label = label[order]
    columns = [column[order] for column in columns]
    keys = np.ascontiguousarray(np.stack(columns, axis=1), dtype=np.int32)
    spans = [len(population) for population in populations]
    if cutoffs is not None:
        cutoffs = cutoffs[order]
        distinct, ranks = np.unique(cutoffs, return_inverse=True)
        columns, spans = [*columns, ranks.ravel().astype(np.int32)], [*spans, len(distinct)]
    order, starts = grouped(fold(columns, spans)[0])
    if len(starts) == len(order):
        return Examples(target, keys, label, cutoffs=cutoffs), []
    sizes = np.diff(starts, append=len(order))
    # The sort is stable and positives come first: a group's last row is negative if any of it is.
    first, last = order[starts], order[starts + sizes - 1]
    both = label[first] != label[last]
    repeated = sizes - both > 1
    notices = []

    def said(which: npt.NDArray[np.bool_], number: int, what: str) -> None:
        if number:
            key = keys[first[which].min()].tolist()
            names = tuple(population.names[code] for population, code in zip(populations, key, strict=True))
            example = str(Atom(target, names))
            notices.append(Notice(f'{plural(number, "example")} of "{target}" {what} (first: {example}).'))

    said(both, int(np.count_nonzero(both)), "given with both labels, counted as positive")
    said(repeated, int((sizes - both - 1).sum()), "given again, counted once")
    keep = np.sort(first)
    cutoffs = None if cutoffs is None else cutoffs[keep]
    return Examples(target, keys[keep], label[keep], cutoffs=cutoffs), notices
