"""MovieLens 100K as facts, as in the published study of boosted relational logistic regression.

The study has 941 users, 1,682 films and 79,779 ratings. These are the rows of ``u.data`` after the first
20,000, without the ratings by users 1 to 3 and without those whose user number equals the rating; users 1 and
2 do not occur at all. The value of a rating is ignored: a film was rated or not. Ages are in the groups of
the later MovieLens sets, years of films in decades.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hornbeam.errors import DataError, Place

_AGE_GROUPS = (18, 25, 35, 45, 50, 56)
"""The lowest age of each group after the youngest."""
_FIRST_GENRE = 5
"""The first column of ``u.item`` that is a genre."""


class FactTexts(NamedTuple):
    """The three files of a flat data folder."""

    facts: str
    pos: str
    neg: str


def as_facts(folder: Path, skipped: int = 20_000) -> FactTexts:
    """The tables ``u.data``, ``u.user``, ``u.item`` and ``u.genre`` as facts; the target is ``female``."""
    users = [row for row in _rows(folder / "u.user", "|", 5) if int(row[0]) > 2]
    facts = [fact for user, age, _, occupation, _ in users for fact in _user(user, int(age), occupation)]
    genres = [_word(name) for name, _ in _rows(folder / "u.genre", "|", 2)]
    for row in _rows(folder / "u.item", "|", _FIRST_GENRE + len(genres)):
        facts.extend(_film(row[0], row[2], row[_FIRST_GENRE:], genres))
    for user, film, rating, _ in list(_rows(folder / "u.data", "\t", 4))[skipped:]:
        if int(user) > 3 and user != rating:
            facts.append(f"rated(u{user},m{film}).")
    by_gender = {
        gender: [f"female(u{row[0]})." for row in users if row[2] == gender] for gender in ("F", "M")
    }
    return FactTexts(*("\n".join(lines) + "\n" for lines in (facts, by_gender["F"], by_gender["M"])))


def _user(user: str, age: int, occupation: str) -> Iterator[str]:
    yield f"age(u{user},a{sum(age >= first for first in _AGE_GROUPS)})."
    yield f"occupation(u{user},{_word(occupation)})."


def _film(film: str, released: str, flags: list[str], genres: list[str]) -> Iterator[str]:
    if released:
        yield f"year(m{film},d{int(released[-4:]) // 10 * 10})."
    for genre, flag in zip(genres, flags, strict=True):
        if flag == "1":
            yield f"genre(m{film},{genre})."


def _word(text: str) -> str:
    """A name as a constant that needs no quotes.

    >>> _word("Children's"), _word("Sci-Fi")
    ('children_s', 'sci_fi')
    """
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def _rows(path: Path, separator: str, n_columns: int) -> Iterator[list[str]]:
    """The rows of a table, without empty lines."""
    with path.open(encoding="latin-1", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            row = line.rstrip("\r\n").split(separator)
            if row == [""]:
                continue
            if len(row) != n_columns:
                raise DataError(
                    f"the row has {len(row)} columns, but this table of MovieLens 100K has {n_columns}.",
                    Place(str(path), number),
                )
            yield row
