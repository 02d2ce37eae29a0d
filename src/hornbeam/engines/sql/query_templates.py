"""Plans and queries that later sessions use again: only the tables of the examples' bindings differ.

Writing a query takes about as long as running it on a small database. So the text of a query is stored
as a template, in which a stand-in name takes the place of each table of bindings.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

from hornbeam.engines.plan import BYTES_PER_PLAN, CountTerm, Planner
from hornbeam.engines.sql.examples import Head
from hornbeam.engines.sql.plan import Formula, formula
from hornbeam.logic.clauses import Clause
from hornbeam.logic.schema import Schema

MOST_TEMPLATES, MOST_PLANS = 1_000, 10_000
"""A store with this many entries is emptied before the next one is added."""


class CountsQuery(NamedTuple):
    """A query of the counts of some clauses: a column of bindings' numbers, then a column per clause."""

    clauses: tuple[Clause, ...]
    text: str
    by_code: bool = False
    """whether the first column has codes of the only head variable instead of bindings' numbers"""


class _Template(NamedTuple):
    """A query cut at the names of its tables of bindings."""

    query: CountsQuery
    pieces: tuple[str | Head, ...]
    """text, and for each table of bindings its head variables"""

    def filled(self, table: Callable[[Head], str]) -> CountsQuery:
        text = "".join([piece if isinstance(piece, str) else table(piece) for piece in self.pieces])
        return self.query._replace(text=text)


class QueryTemplates:
    """Plans of clauses, and templates of queries by a key that identifies what they depend on."""

    def __init__(self) -> None:
        # Random, so that no constant of the user contains a stand-in name.
        self._prefix = f"hornbeam_{uuid.uuid4().hex[:12]}"
        self._plans: dict[tuple[Clause, frozenset[str]], Formula] = {}
        self._templates: dict[Hashable, tuple[_Template, ...]] = {}
        self._planner: Planner | None = None

    def terms(self, clause: Clause, schema: Schema) -> tuple[CountTerm, ...]:
        """The plan that the costs of a clause are estimated from."""
        if self._planner is None or self._planner.nbytes > MOST_PLANS * BYTES_PER_PLAN:
            self._planner = Planner(schema)
        return self._planner.plan(clause)

    def plan(self, clause: Clause, schema: Schema, timed: frozenset[str]) -> Formula:
        """The plan of a clause, made once; the schema is always the same."""
        known = self._plans.get((clause, timed))
        if known is None:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            known = self._plans[clause, timed] = formula(clause, schema, timed)
        return known

    def stand_in(self, head: Head) -> str:
        """The name that a template has for the table of bindings of these head variables."""
        variables = "".join(f"_{variable}" for variable in head)
        # The suffix ensures that no stand-in is the beginning of another.
        return f"{self._prefix}_bindings{variables}_end"

    def keep(self, key: Hashable, queries: Iterable[CountsQuery], heads: Iterable[Head]) -> None:
        """Store queries; all tables in them that belong to a session must be stand-ins for these heads."""
        if len(self._templates) >= MOST_TEMPLATES:
            self._templates.clear()
        names = {head: self.stand_in(head) for head in heads}
        self._templates[key] = tuple([_Template(query, _cut(query.text, names)) for query in queries])

    def find(self, key: Hashable, table: Callable[[Head], str]) -> list[CountsQuery] | None:
        """The queries stored under a key, with the current tables of bindings; None if there are none.

        >>> templates = QueryTemplates()
        >>> text = f"SELECT b.k0 FROM {templates.stand_in((0,))} AS b"
        >>> templates.keep("pairs", [CountsQuery((), text)], [(0,)])
        >>> templates.find("pairs", lambda head: "h_7")
        [CountsQuery(clauses=(), text='SELECT b.k0 FROM h_7 AS b', by_code=False)]
        """
        templates = self._templates.get(key)
        return None if templates is None else [template.filled(table) for template in templates]


def _cut(text: str, names: dict[Head, str]) -> tuple[str | Head, ...]:
    """The text in pieces, with the head variables in place of each stand-in name."""
    pieces: list[str | Head] = [text]
    for head, name in names.items():
        cut: list[str | Head] = []
        for piece in pieces:
            if not isinstance(piece, str):
                cut.append(piece)
                continue
            first, *others = piece.split(name)
            cut.append(first)
            for other in others:
                cut += [head, other]
        pieces = cut
    return tuple(pieces)
