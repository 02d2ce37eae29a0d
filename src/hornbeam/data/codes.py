"""Names as codes: populations in the order in which names occur, and examples with duplicates merged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from hornbeam.data.names import UNKNOWN, Codes, MadeNames, joined
from hornbeam.data.numbers import Floats
from hornbeam.data.relations import Examples, Notice, Population
from hornbeam.data.rows import fold, grouped, taken
from hornbeam.errors import plural
from hornbeam.logic.clauses import Atom


@dataclass(frozen=True, eq=False, slots=True)
class Coded:
    """A column of names: a list of names, which may repeat, and for each row the position of its name."""

    names: Sequence[str]
    codes: Codes

    def __len__(self) -> int:
        return len(self.codes)


class UnknownKeys(Notice):
    """A notice about examples whose keys are not in the data."""


def without_facts(keys: Sequence[Coded], unknown: Sequence[Collection[str]]) -> list[Notice]:
    """Notices about examples with unknown keys; ``unknown`` has the unknown names of each column."""
    is_unknown = np.zeros(len(keys[0]), dtype=bool)
    for column, names in zip(keys, unknown, strict=True):
        if names:
            is_unknown |= np.array([name in names for name in column.names], dtype=bool)[column.codes]
    if not is_unknown.any():
        return []
    first = int(is_unknown.argmax())
    named = ", ".join(column.names[column.codes[first]] for column in keys)
    number = plural(int(is_unknown.sum()), "example")
    return [
        UnknownKeys(f"{number} with a key that is in no table, and therefore without facts (first: {named}).")
    ]


NameRows = Sequence[Sequence[str]]


def example_columns(given: NameRows | Sequence[Coded], arity: int) -> Sequence[Sequence[str] | Coded]:
    """Examples as columns, from rows of names or from coded columns."""
    if len(given) == 0:
        return [() for _ in range(arity)]
    if isinstance(given[0], Coded):
        return given
    return list(zip(*cast(NameRows, given), strict=True))


class Coder:
    """Gives codes to the names of each type in the order in which they occur."""

    def __init__(self, types: Iterable[str]) -> None:
        self._codes: dict[str, dict[str, int]] = {type_name: {} for type_name in types}
        self._done: dict[tuple[str, int], tuple[Sequence[str], Codes]] = {}
        self._made: dict[str, MadeNames] = {}

    def encode(self, names: Iterable[str] | Coded, type_name: str) -> Codes:
        """The code of each name; a new name gets the next code."""
        if isinstance(names, Coded):
            if isinstance(names.names, MadeNames) and not self._codes.get(type_name):
                known = self._made.setdefault(type_name, names.names)
                if known is names.names and names.codes.dtype == np.int32:
                    return names.codes
            codes = self._of_names(names.names, type_name)
            if names.codes.dtype == np.int32 and np.array_equal(codes, np.arange(len(codes))):
                # The codes stay the same. A copy of ten million rows would take 40 MB.
                return names.codes
            return taken(codes, names.codes)
        if isinstance(names, list | MadeNames):
            return self._of_names(names, type_name)
        return self._assigned(names, type_name)

    def _of_names(self, names: Sequence[str], type_name: str) -> Codes:
        """``encode`` for a list of names, which is coded once even if several columns share it."""
        key = type_name, id(names)
        if key not in self._done:
            # The list is kept alive, so that no other list gets the same id.
            self._done[key] = names, self._assigned(names, type_name)
        return self._done[key][1]

    def _assigned(self, names: Iterable[str], type_name: str) -> Codes:
        """``encode`` without the cache of lists."""
        codes = self._codes.setdefault(type_name, {})
        known = self._made.get(type_name)
        if isinstance(names, MadeNames) and not codes:
            # Ten million such names need no dictionary until a name of another kind is added.
            if known is None:
                self._made[type_name] = names
                return np.arange(len(names), dtype=np.int32)
            found = joined(known, names)
            if found is not None:
                self._made[type_name] = found[0]
                return found[1]
        if known is not None:
            listed = list(names)
            places = known.places(listed)
            if (places != UNKNOWN).all():
                return places
            del self._made[type_name]
            codes.update(zip(known, range(len(known)), strict=True))
            names = listed
        give = codes.setdefault
        return np.array([give(name, len(codes)) for name in names], dtype=np.int32)

    def populations(self) -> dict[str, Population]:
        return {
            type_name: Population(self._made.get(type_name) or list(names))
            for type_name, names in self._codes.items()
        }


def merged_examples(
    target: str,
    columns: Sequence[Codes],
    labels: Sequence[int] | npt.NDArray[np.int8],
    populations: Sequence[Population],
    cutoffs: Floats | None = None,
) -> tuple[Examples, list[Notice]]:
    """Positives, then negatives, each in the given order; duplicates are merged, with notices about them."""
    label = np.asarray(labels, dtype=np.int8)
    order = places = np.argsort(-label, kind="stable")
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
        return Examples(target, keys, label, cutoffs=cutoffs, places=_unless_sorted(places)), []
    sizes = np.diff(starts, append=len(order))
    # The sort is stable and positives come first: the last row of a group is negative if any row is.
    first, last = order[starts], order[starts + sizes - 1]
    both = label[first] != label[last]
    repeated = sizes - both > 1
    notices = []

    def note(which: npt.NDArray[np.bool_], number: int, what: str) -> None:
        if number:
            key = keys[first[which].min()].tolist()
            names = tuple(population.names[code] for population, code in zip(populations, key, strict=True))
            example = str(Atom(target, names))
            notices.append(Notice(f'{plural(number, "example")} of "{target}" {what} (first: {example}).'))

    note(both, int(np.count_nonzero(both)), "given with both labels, counted as positive")
    note(repeated, int((sizes - both - 1).sum()), "given more than once, counted once")
    keep = np.sort(first)
    cutoffs = None if cutoffs is None else cutoffs[keep]
    kept = _unless_sorted(places[keep])
    return Examples(target, keys[keep], label[keep], cutoffs=cutoffs, places=kept), notices


def _unless_sorted(places: npt.NDArray[np.intp]) -> npt.NDArray[np.intp] | None:
    """None for places that are in order already."""
    return places if (np.diff(places) < 0).any() else None
