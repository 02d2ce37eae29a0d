"""Which tables a column may link to: by their names, and by the values of their keys.

Names and values are indexed once, so that thousands of tables are not compared pair by pair.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from hornbeam.loading.tables.columns.column import Column, Domain, Table

KEY_ENDINGS = ("id", "key", "code", "no", "nr", "number", "uuid")
_PLAIN_KEYS = frozenset([*KEY_ENDINGS, "name"])


class TableNames:
    """The names of tables and of their keys, by the words that a column may use for them."""

    def __init__(self, tables: Iterable[str], keys: Mapping[str, str] | None = None) -> None:
        self._by_name: dict[str, list[str]] = {}
        self._by_stem: dict[str, list[str]] = {}
        self._by_key: dict[str, list[str]] = {}
        for table in tables:
            for stem in stems(table):
                self._by_stem.setdefault(stem, []).append(table)
                for ending in ("", *KEY_ENDINGS):
                    self._by_name.setdefault(stem + ending, []).append(table)
        for table, key in (keys or {}).items():
            if plain(key) not in _PLAIN_KEYS:
                self._by_key.setdefault(key.lower(), []).append(table)

    def fits(self, column: str) -> dict[str, int]:
        """The tables whose key the name of a column fits: 3 by the table's own name, 2 by that of its key,
        1 by the end of the column's name.

        >>> TableNames(["users", "films"], {"films": "imdb"}).fits("best_user_id")
        {'users': 1}
        >>> TableNames(["users", "films"], {"films": "imdb"}).fits("IMDB")
        {'films': 2}
        """
        words = re.split(r"[^a-z0-9]+", column.lower())
        fits: dict[str, int] = {}
        for start in range(1, len(words)):
            fits |= dict.fromkeys(self._by_name.get("".join(words[start:]), ()), 1)
        fits |= dict.fromkeys(self._by_key.get(column.lower(), ()), 2)
        return fits | dict.fromkeys(self._by_name.get(plain(column), ()), 3)

    def sharing(self, column: str) -> list[str]:
        """The tables whose name, in singular or plural, is a word of a column's name.

        >>> names = TableNames(["teams"])
        >>> names.sharing("team_1"), names.sharing("awayTeam"), names.sharing("steam")
        (['teams'], ['teams'], [])
        """
        tables = [table for word in words_of(column) for table in self._by_stem.get(word, ())]
        return list(dict.fromkeys(tables))


class LinkTargets:
    """Tables with keys, to which columns may link."""

    def __init__(self, tables: Mapping[str, Table], keys: Mapping[str, str]) -> None:
        self.keys = keys
        self.names = TableNames(keys, keys)
        self._columns = {name: tables[name].columns[key] for name, key in keys.items()}
        self._domains: dict[Domain, list[str]] = {}
        for name, column in self._columns.items():
            self._domains.setdefault(column.domain, []).append(name)
        self._sizes = {domain: self._sizes_of(names) for domain, names in self._domains.items()}
        self._shares: dict[tuple[Column, str], float] = {}

    def _sizes_of(self, tables: list[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """For each key the number of its values, and bounds of them if they are whole numbers."""
        columns = [self._columns[table] for table in tables]
        sizes = [
            (column.n_values, *(column.extent if _has_extent(column) else (-np.inf, np.inf)))
            for column in columns
        ]
        return np.array(sizes, dtype=np.float64).T

    def key_column(self, table: str) -> Column:
        """The key of a table."""
        return self._columns[table]

    def share(self, column: Column, table: str) -> float:
        """The share of a column's values, or if smaller that of its rows, that are keys of a table."""
        place = column, table
        if place not in self._shares:
            rows = len(column) - column.n_missing
            lost, lost_rows, _ = column.lost(self._columns[table]) if rows else (0, 1, [])
            self._shares[place] = min(1.0 - lost / max(column.n_values, 1), 1.0 - lost_rows / max(rows, 1))
        return self._shares[place]

    def large_enough(self, column: Column, share: float) -> Iterator[str]:
        """The tables with so many keys, in the same range, that a share of a column's values may be keys."""
        tables = self._domains.get(column.domain)
        if tables is None:
            return
        n_values, least, greatest = self._sizes[column.domain]
        may_hold = n_values >= share * column.n_values
        if _has_extent(column):
            first, last = column.extent
            # Floats hold large whole numbers only nearly: a margin keeps this test on the safe side.
            margin = 1 + max(abs(first), abs(last)) * 2.0**-50
            may_hold &= (least <= last + margin) & (greatest >= first - margin)
        for place in np.flatnonzero(may_hold).tolist():
            yield tables[place]


def _has_extent(column: Column) -> bool:
    return column.is_whole and column.n_values > 0


def stems(table: str) -> set[str]:
    """The name of a table without its schema and punctuation, and its possible singulars.

    >>> sorted(stems("shop.Categories")), sorted(stems("movies"))
    (['categorie', 'categories', 'category'], ['movie', 'movies', 'movy'])
    """
    name = plain(table.rpartition(".")[2])
    if name.endswith("ies"):
        return {name, name[:-3] + "y", name[:-1]}
    if name.endswith(("sses", "shes", "ches", "xes")):
        return {name, name[:-2]}
    return {name, name[:-1]} if name.endswith("s") and len(name) > 2 else {name}


def plain(name: str) -> str:
    """A name without punctuation and capital letters."""
    return re.sub(r"[\W_]+", "", name.lower())


def words_of(name: str) -> list[str]:
    """The words of a name.

    >>> words_of("UserID_2")
    ['user', 'id', '2']
    """
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W_A-Z\d]+|\d+", name)]
