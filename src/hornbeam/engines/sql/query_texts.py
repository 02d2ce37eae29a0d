"""Texts of queries written before: the next session reads the same tables but for those of its examples."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

from hornbeam.engines.sql.examples import Head
from hornbeam.engines.sql.plan import Formula, formula
from hornbeam.logic.clauses import Clause
from hornbeam.logic.schema import Schema

MOST_TEXTS, MOST_PLANS = 1_000, 10_000
"""When there are more, all are forgotten."""


class CountsText(NamedTuple):
    """A query of numbers of bindings and of the counts of some clauses, column by column."""

    clauses: tuple[Clause, ...]
    text: str
    by_code: bool = False
    """whether codes of the one head variable are in place of numbers of bindings"""


class _Written(NamedTuple):
    texts: tuple[CountsText, ...]
    bindings: Mapping[Head, str]
    """the tables of bindings that the texts name"""


class QueryTexts:
    """Plans and texts; to make them takes as long as to run the query on a small database."""

    def __init__(self) -> None:
        self._plans: dict[tuple[Clause, frozenset[str]], Formula] = {}
        self._written: dict[Hashable, _Written] = {}

    def plan(self, clause: Clause, schema: Schema, timed: frozenset[str]) -> Formula:
        """The plan of a clause, made once; the schema is always the same."""
        known = self._plans.get((clause, timed))
        if known is None:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            known = self._plans[clause, timed] = formula(clause, schema, timed)
        return known

    def keep(self, key: Hashable, texts: Sequence[CountsText], bindings: Mapping[Head, str]) -> None:
        """Remember texts that name no table of a session but these tables of bindings."""
        if len(self._written) >= MOST_TEXTS:
            self._written.clear()
        self._written[key] = _Written(tuple(texts), dict(bindings))

    def find(self, key: Hashable, table: Callable[[Head], str]) -> list[CountsText] | None:
        """The texts kept for a key, for other tables of bindings.

        >>> texts = QueryTexts()
        >>> texts.keep("pairs", [CountsText((), "SELECT b.k0 FROM h_1 AS b, h_10 AS f")], {(0,): "h_1"})
        >>> texts.find("pairs", lambda head: "h_7")
        [CountsText(clauses=(), text='SELECT b.k0 FROM h_7 AS b, h_10 AS f', by_code=False)]
        """
        known = self._written.get(key)
        if known is None:
            return None
        found = list(known.texts)
        for head, name in known.bindings.items():
            # Names of our tables are drawn at random, so that no constant of a user's has one in it.
            old, new = re.compile(rf"\b{name}\b"), table(head)
            found = [each._replace(text=old.sub(new, each.text)) for each in found]
        return found
