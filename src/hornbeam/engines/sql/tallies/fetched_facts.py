"""Facts that are fetched once: what functional steps and numbers of facts say about the things of a path."""

from __future__ import annotations

import numpy as np
from sqlglot import exp

from hornbeam.data.database import Database
from hornbeam.data.numbers import Floats
from hornbeam.engines.cache import Cache
from hornbeam.engines.fact_slices import AtomFacts, FactSlices, slices_of
from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.expressions import aliased, own_alias
from hornbeam.engines.sql.tallies.numbers import Numbers
from hornbeam.engines.sql.tallies.queries import TallySource
from hornbeam.logic.clauses import Atom, literal_variables
from hornbeam.logic.effects import NumberOf, Step, atom_in

FEW = 100_000
"""Relations and types of this size are fetched for any path; larger ones only for more groundings."""


class FetchedFacts:
    """The facts of relations, with numbers in place of constants; the least recently used are dropped."""

    def __init__(self, database: Database, connection: Connection, source: TallySource, memory: int) -> None:
        self.numbers = Numbers(database, connection, source)
        self.database = database
        self.connection = connection
        self.source = source
        self._memory = memory
        self._slices = Cache(memory).part()

    def has(self, step: Step, known: set[int], groundings: float) -> bool:
        """Whether a step leads each of some groundings to one fact at most, or counts facts, in few facts."""
        atom = atom_in(step)
        if atom is None or not isinstance(step, Atom | NumberOf):
            return False
        if any(isinstance(term, str) for term in atom.args):
            return False
        most = max(FEW, groundings)
        types = self.database.schema.types_of(atom.predicate)
        number = self.database.n_facts(atom.predicate)
        if number > most or number * (len(types) + 1) * 8 > self._memory:
            return False
        if not self.source.coded and any(self.numbers.size(name) > most for name in types):
            return False
        bound = tuple(place for place, term in enumerate(atom.args) if term in known)
        if isinstance(step, NumberOf) or len(bound) == len(atom.args):
            return True
        return self.database.facts.shape_at(atom.predicate, bound)[0] <= 1

    def slices(self, atom: Atom, bound: list[int]) -> FactSlices:
        """The facts of an atom without constants by some of its variables."""
        order = literal_variables(atom)
        places = {variable: place for place, variable in enumerate(order)}
        pattern = tuple(places[term] for term in atom.args if isinstance(term, int))
        key = (atom.predicate, pattern, tuple(places[variable] for variable in bound))
        return self._slices.made(
            key, lambda: slices_of(self._facts(atom, order), order, bound), lambda made: made.nbytes
        )

    def close(self) -> None:
        """Drop the tables of numbers."""
        self.numbers.close()

    def _facts(self, atom: Atom, order: tuple[int, ...]) -> AtomFacts:
        """The facts of a predicate that match the repeated variables of an atom."""
        relation, dialect = self.source.relation(atom.predicate), self.connection.dialect
        types = self.database.schema.types_of(atom.predicate)
        select = exp.Select().from_(aliased(relation.item, "f"), copy=False)
        values = [
            self.numbers.of_constant(select, relation.column(place, "f"), type_name, f"n{place}")
            for place, type_name in enumerate(types)
        ]
        if relation.time is not None:
            values.append(self.numbers.of_time(select, relation.since("f"), atom.predicate, "m"))
        named = [own_alias(value, f"g{place}") for place, value in enumerate(values)]
        text = dialect.text(select.select(*named, copy=False))
        fetched = self.connection.integers(text, len(values))
        since: Floats | None = None
        if relation.time is not None:
            since = self.numbers.times(atom.predicate)[fetched.pop()]
        matching = np.ones(len(fetched[0]), dtype=np.bool_)
        firsts = [atom.args.index(term) for term in atom.args]
        for place, first in enumerate(firsts):
            if first < place:
                matching &= fetched[place] == fetched[first]
        taken = [atom.args.index(variable) for variable in order]
        return AtomFacts(
            tuple(fetched[place][matching].astype(np.int32) for place in taken),
            tuple(self.numbers.size(types[place]) for place in taken),
            int(matching.sum()),
            since=None if since is None else since[matching],
        )
