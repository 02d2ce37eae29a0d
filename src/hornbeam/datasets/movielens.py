"""MovieLens 100K as facts, as the published study of boosted relational logistic regression had it.

Its counts (941 users, 1,682 films, 79,779 ratings) come about so: of ``u.data`` without its first
20,000 rows, ratings by users 1 to 3 are left out, and so are those where the number of the user is the
rating; users 1 and 2 are left out altogether. Ratings themselves are ignored: a film was rated or not.
Ages are the groups of the later MovieLens sets, years of films are decades.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hornbeam.errors import DataError, Place

_AGE_GROUPS = (18, 25, 35, 45, 50, 56)
"""The first year of each group after the youngest."""
_FIRST_GENRE = 5
"""The column of ``u.item`` with which those of the genres begin."""


class FactTexts(NamedTuple):
    """The three files of a flat data folder."""

    facts: str
    pos: str
    neg: str


def as_facts(folder: Path, skipped: int = 20_000) -> FactTexts:
    """The tables ``u.data u.user u.item u.genre`` of a folder as facts; ``female`` is the target."""
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


def _film(film: str, released: str, marks: list[str], genres: list[str]) -> Iterator[str]:
    if released:
        yield f"year(m{film},d{int(released[-4:]) // 10 * 10})."
    for genre, mark in zip(genres, marks, strict=True):
        if mark == "1":
            yield f"genre(m{film},{genre})."


def _word(text: str) -> str:
    """A name as a plain constant.

    >>> _word("Children's"), _word("Sci-Fi")
    ('children_s', 'sci_fi')
    """
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def _rows(path: Path, separator: str, n_columns: int) -> Iterator[list[str]]:
    """The rows of a table; empty lines are not rows."""
    with path.open(encoding="latin-1", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            row = line.rstrip("\r\n").split(separator)
            if row == [""]:
                continue
            if len(row) != n_columns:
                raise DataError(
                    f"{len(row)} columns, but the table of MovieLens 100K has {n_columns}.",
                    Place(str(path), number),
                )
            yield row
