"""Tallies by SQL: one query for each request, over a table of the distinct keys of the examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNKNOWN, Codes, Database
from hornbeam.data.numbers import Floats
from hornbeam.data.rows import Integers, distinct_rows
from hornbeam.engines.contract import Skipped
from hornbeam.engines.sql.connection import Values
from hornbeam.engines.sql.expressions import CUTOFF
from hornbeam.engines.sql.tallies.fetched_facts import FetchedFacts
from hornbeam.engines.sql.tallies.grounding_tables import GroundingTables
from hornbeam.engines.sql.tallies.paths import PathTallies
from hornbeam.engines.sql.tallies.queries import Bindings
from hornbeam.engines.sql.tallies.whole_queries import TallyQuery
from hornbeam.engines.tally import (
    DAY,
    TOO_LARGE,
    Tally,
    TallyRequest,
    TallySizes,
    head_variables,
    spread,
    to_examples,
)
from hornbeam.logic.effects import NUMBER_OF_FACTS, Equals, Recent, variable_types

MOST_SETS = 3
"""The tables of keys and groundings are kept for this many different sets of examples."""


class _KeyTable(NamedTuple):
    """The table of the distinct keys of the examples."""

    bindings: Bindings
    first: Integers
    """an example of each key"""
    of_example: Integers
    """which key each example has"""
    cutoffs: Floats | None
    """the last time that a fact may have for each key"""


class SqlTallies:
    """Answers requests for one set of examples."""

    def __init__(self, facts: FetchedFacts, sizes: TallySizes, keys: Codes) -> None:
        self._database = database = facts.database
        self._connection = connection = facts.connection
        self._source = source = facts.source
        self._keys = keys.copy()
        self._sizes = sizes
        self._unit = DAY if database.origin.get("times") == "date" else 1.0
        self._known: dict[tuple[object, ...], _KeyTable] = {}
        self._groundings = GroundingTables(connection, source, sizes)
        self._paths = PathTallies(facts, sizes, self._groundings, self._keys)

    def is_for(self, keys: Codes) -> bool:
        """Whether these are the tallies of some examples."""
        return np.array_equal(keys, self._keys)

    def tally(self, request: TallyRequest) -> Tally | Skipped:
        """The tally of one request."""
        named = [step for step in request.body if isinstance(step, Equals) and self._is_key(step, request)]
        if named:
            return self._of_named(request, named)
        cells = self._sizes.cells(request, self._keys)
        if cells > self._sizes.most:
            return Skipped(request, TOO_LARGE, cells, self._sizes.most)
        table = self._bindings(request)
        types = variable_types(self._database.schema, request.head, request.body)
        tally = self._paths.tally(request, table.bindings, table.cutoffs)
        if tally is not None:
            return to_examples(self._with_keys(tally, request, types, table), table.of_example)
        tally = self._query(request, types, table.bindings)
        return spread(self._with_keys(tally, request, types, table), table.of_example)

    def _is_key(self, step: Equals, request: TallyRequest) -> bool:
        """Whether a step compares the name of an example's own key."""
        types = self._database.schema.types_of(request.head.predicate)
        return step.variable < len(types) and types[step.variable] not in self._database.schema.numeric

    def _of_named(self, request: TallyRequest, named: Sequence[Equals]) -> Tally | Skipped:
        """A tally of the examples with some names. They are compared here: tables may not have the key."""
        tally = self.tally(request._replace(body=tuple(each for each in request.body if each not in named)))
        if isinstance(tally, Skipped):
            return replace(tally, clause=request)
        types = self._database.schema.types_of(request.head.predicate)
        keep = np.ones(len(tally.row), dtype=bool)
        for step in named:
            code = self._database.population(types[step.variable]).code(step.constant)
            keep &= (self._keys[tally.row, step.variable] == code) & (code != UNKNOWN)
        times = None if tally.times is None else tally.times[keep]
        return Tally(tally.row[keep], tuple(each[keep] for each in tally.columns), tally.number[keep], times)

    def _query(self, request: TallyRequest, types: Mapping[int, str], bindings: Bindings) -> Tally:
        """The answer of one query: the groups of distinct keys, in any order, without the values of keys."""
        writer = TallyQuery(self._source, request, types, bindings)
        dialect = self._connection.dialect
        start = self._groundings.start(request, bindings, self._keys)
        text = dialect.text(writer.write(dialect, start))
        fetched = writer.fetched()
        raw = self._fetch(text, 2 + len(fetched) + writer.has_moment)
        row, number = raw[0].astype(np.int64), raw[-1].astype(np.int64)
        columns = [self._column(types[each], values) for each, values in zip(fetched, raw[1:], strict=False)]
        times = None
        if request.times:
            times = np.full(len(row), -np.inf)
            if writer.has_moment:
                times = self._source.decoded_times(raw[-2])
        return Tally(row, tuple(columns), number, times)

    def expect(self, requests: Sequence[TallyRequest]) -> None:
        """Prepare for requests that will probably follow."""
        by_bindings = self._by_bindings(requests)
        self._groundings.expect(by_bindings)
        self._paths.expect(by_bindings)

    def close(self) -> None:
        """Drop the tables of keys and of groundings."""
        self._groundings.close()
        self._connection.drop_all([bindings.table for bindings, *_ in self._known.values()])
        self._known.clear()

    # --- keys ------------------------------------------------------------------------------------

    def _bindings(self, request: TallyRequest) -> _KeyTable:
        """The table of the distinct keys for a request."""
        used = head_variables(request)
        within = tuple(
            dict.fromkeys(
                step.within for step in request.body if isinstance(step, Recent) and step.within is not None
            )
        )
        known = self._known.get((request.head.predicate, used, within))
        if known is None:
            known = self._load(request.head.predicate, used, within)
            self._known[request.head.predicate, used, within] = known
        return known

    def _load(self, target: str, used: tuple[int, ...], within: tuple[float, ...]) -> _KeyTable:
        source, keys = self._source, self._keys
        cutoffs = self._database.last_times_of(target, keys)
        ranks = [] if cutoffs is None else [np.unique(cutoffs, return_inverse=True)[1].ravel()]
        first, of_example = distinct_rows([*(keys[:, each] for each in used), *ranks], len(keys))
        types = [self._database.schema.types_of(target)[variable] for variable in used]
        values = [
            source.key_values(name, keys[first, variable]) for name, variable in zip(types, used, strict=True)
        ]
        if cutoffs is not None:
            ends = cutoffs[first]
            # A fact at minus infinity exists even for a cut-off there.
            after = np.nextafter(ends, np.inf)
            values += [source.moments(after), *(source.moments(self._earliest(ends, w)) for w in within)]
            types += [CUTOFF] * (1 + len(within))
        columns: dict[str, Values] = {"example": np.arange(len(first), dtype=np.int64)}
        columns |= {f"k{number}": column for number, column in enumerate(values)}
        columns["weight"] = np.ones(len(first), dtype=np.int64)
        table = self._connection.new_name()
        self._connection.load(table, columns)
        query = source.bound(table, types)
        if query is not None:
            given, table = table, self._connection.new_name()
            self._connection.create(table, query)
            self._connection.drop(given)
        bindings = Bindings(table, used, cutoffs is not None, within)
        return _KeyTable(bindings, first, of_example, None if cutoffs is None else cutoffs[first])

    def _earliest(self, cutoffs: Floats, within: float) -> Floats:
        """The earliest time of a fact that a limited link takes; all facts if there is no cut-off."""
        earliest: Floats = np.where(cutoffs == np.inf, -np.inf, cutoffs - within * self._unit)
        return earliest

    def _by_bindings(self, requests: Sequence[TallyRequest]) -> dict[Bindings, list[TallyRequest]]:
        by_bindings: dict[Bindings, list[TallyRequest]] = {}
        for request in requests:
            by_bindings.setdefault(self._bindings(request).bindings, []).append(request)
        return by_bindings

    # --- values ----------------------------------------------------------------------------------

    def _fetch(self, text: str, n_columns: int) -> list[npt.NDArray[Any]]:
        if self._source.coded:
            return list(self._connection.integers(text, n_columns))
        return self._connection.arrays(text, n_columns)

    def _column(self, type_name: str, raw: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The values of numeric constants or of numbers of facts; the codes of other constants."""
        if type_name == NUMBER_OF_FACTS:
            return raw.astype(np.float64)
        values = self._source.decoded(type_name, raw)
        if self._source.coded or type_name in self._database.schema.numeric:
            return values
        return self._database.population(type_name).encode_known(values.tolist())

    def _with_keys(
        self, tally: Tally, request: TallyRequest, types: Mapping[int, str], table: _KeyTable
    ) -> Tally:
        """The tally with the values of wanted variables of the head, which the keys have."""
        arity, free = len(request.head.args), iter(tally.columns)
        keys = self._keys[table.first[tally.row]]
        columns = [
            next(free) if variable >= arity else self._key_column(types[variable], keys[:, variable])
            for variable in request.variables
        ]
        return replace(tally, columns=tuple(columns))

    def _key_column(self, type_name: str, codes: Codes) -> npt.NDArray[Any]:
        if type_name not in self._database.schema.numeric:
            return codes
        values = np.full(len(codes), np.nan)
        known = codes != UNKNOWN
        values[known] = self._database.facts.values_of(type_name, codes[known])
        return values

    def answers(self, requests: Sequence[TallyRequest]) -> list[Tally | Skipped]:
        """The tally of each request."""
        if len(requests) > 1:
            self._groundings.expect(self._by_bindings(requests))
        return [self.tally(request) for request in requests]


class KeptTallies:
    """The tallies of the last few sets of examples; what is fetched for one of them serves all."""

    def __init__(self, facts: FetchedFacts, sizes: TallySizes) -> None:
        self._facts = facts
        self._sizes = sizes
        self._recent: list[SqlTallies] = []

    def is_for(self, database: Database, sizes: TallySizes) -> bool:
        """Whether an engine has these tallies."""
        return database is self._facts.database and sizes is self._sizes

    def of(self, keys: Codes) -> SqlTallies:
        """The tallies of some examples."""
        place = next((place for place, each in enumerate(self._recent) if each.is_for(keys)), None)
        tallies = SqlTallies(self._facts, self._sizes, keys) if place is None else self._recent.pop(place)
        self._recent.append(tallies)
        if len(self._recent) > MOST_SETS:
            self._recent.pop(0).close()
        return tallies

    def close(self) -> None:
        """Drop all tables."""
        for each in self._recent:
            each.close()
        self._recent.clear()
        self._facts.close()
