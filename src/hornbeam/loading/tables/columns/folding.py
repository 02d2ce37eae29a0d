"""Text in which spaces around it and capital letters do not count."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from hornbeam.errors import DataError, shown
from hornbeam.loading.tables.columns.column import MISSING, Column, Domain, places_in
from hornbeam.loading.tables.columns.new_columns import coded_text
from hornbeam.loading.tables.columns.types import inferred

_YES = frozenset(["true", "yes", "y", "t"])
_NO = frozenset(["false", "no", "n", "f"])


def folded(text: str) -> str:
    """A text without spaces around it, in lower case.

    >>> folded(" U17 ")
    'u17'
    """
    return text.strip().lower()


def folded_column(column: Column) -> Column:
    """A column of text without spaces around its values, in lower case, and then read as of a text file.

    >>> from hornbeam.loading.tables.columns.new_columns import text_column
    >>> folded_column(text_column("paid", ["Yes", "yes ", " "])).texts
    ['yes']
    """
    if column.domain is not Domain.TEXT or column.stays:
        return column
    return inferred(_respelled(column, map(folded, column.texts)))


def spelled_as_keys(column: Column, key: Column) -> Column:
    """A folded column in which each value is spelled as the key that it means.

    >>> from hornbeam.loading.tables.columns.new_columns import text_column
    >>> spelled_as_keys(text_column("dest", ["ewr", "bqn"]), text_column("faa", ["EWR", "JFK"])).texts
    ['EWR', 'bqn']
    """
    if key.domain is not Domain.TEXT:
        return column
    spellings: dict[str, str] = {}
    for text in key.texts:
        other = spellings.setdefault(folded(text), text)
        if other != text:
            raise DataError(
                f'column "{column.name}" cannot be folded: the keys "{other}" and "{text}" that it links to '
                "are then the same; correct these keys, or leave the column out of fold."
            )
    return _respelled(column, (spellings.get(text, text) for text in column.texts))


def _respelled(column: Column, texts: Iterable[str]) -> Column:
    """A column with other texts in place of its values; those that become equal are one value."""
    listed = list(texts)
    words = list(dict.fromkeys(filter(None, listed)))
    places = {word: place for place, word in enumerate(words)} | {"": MISSING}
    codes = np.array([*(places[text] for text in listed), MISSING], dtype=np.int32)[column.codes]
    return coded_text(column.name, words, codes)


def meant_keys(column: Column, key: Column) -> tuple[int, int]:
    """Values that are no keys, and how many of them are keys if spaces and capital letters do not count."""
    if column.stays or key.stays or Domain.TEXT not in (column.domain, key.domain):
        return 0, 0
    lost = [column.texts[place] for place in np.flatnonzero(places_in(column, key) == MISSING).tolist()]
    known = set(map(folded, key.texts)) if lost else set()
    return len(lost), sum(folded(text) in known for text in lost)


def spellings(texts: Collection[str], table: str, column: str) -> str:
    """Which values differ in spelling only, and what to write; empty if none do.

    >>> spellings(["rock", "Rock", "jazz"], "songs", "genre")
    '"rock", "Rock" differ in spelling only; if they mean the same, state fold = ["genre"] under [songs] in \
schema.toml'
    """
    same, by_folding = alike(texts)
    if not same:
        return ""
    remedy = "write each of these in one spelling in the data"
    if by_folding:
        remedy = f'state fold = ["{column}"] under [{table}] in schema.toml'
    words = shown([f'"{text}"' for text in same])
    return f"{words} differ in spelling only; if they mean the same, {remedy}"


def alike(texts: Collection[str]) -> tuple[list[str], bool]:
    """Values that differ in spelling only, and whether they are one if they are folded.

    >>> alike(["rock", "Rock", "jazz"])
    (['rock', 'Rock'], True)
    >>> alike(["Yes", "yes", "Y", "no"])
    (['Yes', 'yes', 'Y'], False)
    >>> alike(["Yes", "no"])
    ([], True)
    """
    are_flags = all(folded(text) in _YES | _NO for text in texts)
    groups: dict[str, list[str]] = {}
    for text in texts:
        word = folded(text)
        meaning = word if not are_flags else "yes" if word in _YES else "no"
        groups.setdefault(meaning, []).append(text)
    same = [text for group in groups.values() if len(group) > 1 for text in group]
    return same, len({folded(text) for text in texts}) == len(groups)
