"""True groundings of a clause for one example, fetched by a query."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from sqlglot import exp

from hornbeam.data.keys import key_text
from hornbeam.engines.sql.expressions import (
    CUTOFF,
    SqlRelation,
    aliased,
    integer,
    join_to,
    own_column,
    own_table,
)
from hornbeam.in_place.source import TableSource, as_text
from hornbeam.logic.clauses import Atom, Clause, Comparison, Not

MOST_SORTED = 10_000
"""The most groundings that a query sorts, so that a clause with billions of groundings takes little time."""


def named_groundings(
    source: TableSource, clause: Clause, key: Sequence[int], limit: int
) -> tuple[tuple[str, ...], ...]:
    """Names of the free variables' values for at most ``limit`` true groundings, sorted by value.

    ``key`` has the codes of the example's key, -1 for an unknown one, and the code of the cut-off if there is
    one. If there are more than ``MOST_SORTED`` true groundings, the database system decides which are
    returned. Constants that only examples name are in no table, and so in no grounding of a negated literal.
    """
    if not limit or not clause.free_variables():
        return ()
    rows = source.run(_GroundingQuery(source, clause, key).query(limit))
    return tuple(tuple(_name(value) for value in row[: len(row) // 2]) for row in rows)


def _name(value: object) -> str:
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return key_text(value)


class _GroundingQuery:
    """A join of the literals of a body, with the variables of the head bound to one example."""

    def __init__(self, source: TableSource, clause: Clause, key: Sequence[int]) -> None:
        self._source = source
        self._clause = clause
        self._types = source.schema.variable_types(clause)
        head_types = source.schema.types_of(clause.head.predicate)
        self._cutoff: exp.Expr | None = None
        if len(key) > len(head_types):
            self._cutoff = own_column(f"k{len(head_types)}", "e")
            head_types = (*head_types, CUTOFF)
        texts = exp.Select()
        for number, (type_name, code) in enumerate(zip(head_types, key, strict=True)):
            (text,) = source.key_values(type_name, np.array([code], dtype=np.int32))
            value = exp.null() if text is None else exp.Literal.string(text)
            texts = texts.select(exp.alias_(exp.cast(value, "TEXT"), f"k{number}"))
        example = source.bindings(texts.subquery("u"), head_types).subquery("e")
        self._values: dict[int, exp.Expr] = {
            variable: own_column(f"k{variable}", "e") for variable in range(len(clause.head.args))
        }
        self._select = exp.Select().from_(example)

    def query(self, limit: int) -> exp.Select:
        """The query of names ``n0 n1 ...`` and values ``v0 v1 ...`` of the free variables."""
        self._add_atoms([literal for literal in self._clause.body if isinstance(literal, Atom)])
        free = self._clause.free_variables()
        for variable in free:
            if variable not in self._values:
                self._add_population(variable)
        for literal in self._clause.body:
            if isinstance(literal, Not):
                self._select = self._select.where(self._absent(literal.atom))
            elif isinstance(literal, Comparison):
                variable, operator, threshold = literal
                value = self._values[variable].copy()
                met = self._source.compares(value, self._types[variable], operator, threshold)
                self._select = self._select.where(met)
        numeric_types = self._source.schema.numeric
        for number, variable in enumerate(free):
            value = self._values[variable]
            name = value.copy() if self._types[variable] in numeric_types else as_text(value.copy())
            self._select = self._select.select(
                exp.alias_(name, f"n{number}"), exp.alias_(value.copy(), f"v{number}")
            )
        columns = [f"{kind}{number}" for kind in "nv" for number in range(len(free))]
        some = self._select.limit(MOST_SORTED).subquery("g")
        return exp.select(*columns).from_(some).order_by(*columns[len(free) :]).limit(limit)

    def _add_atoms(self, atoms: Sequence[Atom]) -> None:
        for number, atom in enumerate(atoms):
            alias = f"f{number}"
            relation = self._source.relation(atom.predicate)
            conditions = self._conditions(atom, relation, alias)
            join_to(self._select, aliased(relation.item, alias), "INNER", conditions or [exp.true()])

    def _add_population(self, variable: int) -> None:
        """Let a variable that no positive literal has take every constant of its type."""
        alias = f"p{variable}"
        constants = self._source.constants(self._types[variable])
        join_to(self._select, own_table(constants, alias), "INNER", [exp.true()])
        self._values[variable] = own_column("constant", alias)

    def _absent(self, atom: Atom) -> exp.Expr:
        """The condition that there is no fact of an atom."""
        relation = self._source.relation(atom.predicate)
        facts = exp.select(integer(1)).from_(aliased(relation.item, "a"))
        facts = facts.where(*self._conditions(atom, relation, "a"))
        return exp.Not(this=exp.Exists(this=facts))

    def _conditions(self, atom: Atom, relation: SqlRelation, alias: str) -> list[exp.Expr]:
        """What a fact must meet; a variable that has no value yet takes that of the fact."""
        conditions: list[exp.Expr] = []
        types = self._source.schema.types_of(atom.predicate)
        for position, (term, type_name) in enumerate(zip(atom.args, types, strict=True)):
            value = relation.column(position, alias)
            if isinstance(term, str):
                conditions.append(self._source.equals(value, type_name, term))
            elif term in self._values:
                conditions.append(exp.EQ(this=value, expression=self._values[term].copy()))
            else:
                self._values[term] = value
        if self._cutoff is not None and relation.time is not None:
            conditions.append(self._source.exists(relation.since(alias), self._cutoff.copy()))
        return conditions
