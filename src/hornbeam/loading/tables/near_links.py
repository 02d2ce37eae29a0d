"""Columns that would be links if spaces around their values and capital letters did not count."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from hornbeam.data.database import Notice
from hornbeam.loading.tables.columns.column import Column, Domain, Table
from hornbeam.loading.tables.columns.folding import folded, meant_keys
from hornbeam.loading.tables.link_targets import LinkTargets

_ENOUGH = 0.75
"""as for links: at least this share of the values are keys"""
_SOME = 4
"""fewer words are keys of another table by chance"""
_SAMPLE = 20
_MOST_COMPARED = 100_000
"""larger tables are compared by name only"""


class FoldedTargets:
    """Tables with keys, to which columns would link if they were folded."""

    def __init__(self, targets: LinkTargets) -> None:
        self._targets = targets
        self._keys: dict[str, frozenset[str]] = {}

    def near_links(
        self, table: Table, links: Mapping[str, str], left_out: Collection[str | None]
    ) -> Iterator[Notice]:
        """Notices about columns of a table that are no links, but nearly hold keys of another table."""
        for name, column in table.columns.items():
            if name in links or name in left_out or column.stays or not column.n_values:
                continue
            if column.domain is not Domain.TEXT and not column.is_whole:
                continue
            for other in self._candidates(table.name, column):
                lost, meant = meant_keys(column, self._targets.key_column(other))
                if meant and column.n_values - lost + meant >= _ENOUGH * column.n_values:
                    yield _notice(table.name, {**links, name: other}, name, (meant, lost))
                    break

    def _candidates(self, table: str, column: Column) -> list[str]:
        names = self._targets.names
        named = [*names.fits(column.name), *names.sharing(column.name)]
        if column.domain is Domain.TEXT and column.n_values >= _SOME:
            words = set(map(folded, column.texts[:_SAMPLE]))
            named += [
                other
                for other in self._targets.keys
                if len(words & self._folded(other)) >= _ENOUGH * len(words)
            ]
        return [other for other in dict.fromkeys(named) if other != table and other in self._targets.keys]

    def _folded(self, table: str) -> frozenset[str]:
        """The keys of a table of text, folded; none of a very large table."""
        if table not in self._keys:
            key = self._targets.key_column(table)
            compared = key.domain is Domain.TEXT and not key.stays and key.n_values <= _MOST_COMPARED
            self._keys[table] = frozenset(map(folded, key.texts) if compared else ())
        return self._keys[table]


def _notice(table: str, links: Mapping[str, str], column: str, sizes: tuple[int, int]) -> Notice:
    meant, lost = sizes
    line = ", ".join(f'{name} = "{other}"' for name, other in links.items())
    return Notice(
        f'{table}.{column}: {meant:,} of {lost:,} values that are no keys of "{links[column]}" would match '
        f"without spaces and capital letters; if it is a link, state links = {{ {line} }} and "
        f'fold = ["{column}"] under [{table}] in schema.toml.'
    )
