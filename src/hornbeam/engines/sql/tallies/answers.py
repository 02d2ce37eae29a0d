"""Tallies by SQL: one query for each request, over a table of the distinct keys of the examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNKNOWN, Codes, Database
from hornbeam.data.numbers import Floats
from hornbeam.data.rows import Integers, distinct_rows
from hornbeam.engines.contract import Skipped
from hornbeam.engines.sql.connection import Connection, Values
from hornbeam.engines.sql.expressions import CUTOFF
from hornbeam.engines.sql.tallies.grounding_tables import GroundingTables
from hornbeam.engines.sql.tallies.queries import Bindings, TallySource
from hornbeam.engines.sql.tallies.whole_queries import TallyQuery
from hornbeam.engines.tally import (
    DAY,
    TOO_LARGE,
    Tally,
    TallyRequest,
    TallySizes,
    head_variables,
    spread,
)
from hornbeam.logic.effect_types import NUMBER_OF_FACTS, variable_types
from hornbeam.logic.effects import Recent


class SqlTallies:
    """Answers requests for one set of examples."""

    def __init__(
        self, database: Database, connection: Connection, source: TallySource, keys: Codes, sizes: TallySizes
    ) -> None:
        self._database = database
        self._connection = connection
        self._source = source
        self._keys = keys.copy()
        self._sizes = sizes
        self._unit = DAY if database.origin.get("times") == "date" else 1.0
        self._known: dict[tuple[object, ...], tuple[Bindings, Integers, Integers]] = {}
        self._groundings = GroundingTables(connection, source, sizes)

    def is_for(self, database: Database, sizes: TallySizes, keys: Codes) -> bool:
        """Whether these are the tallies of some examples."""
        return database is self._database and sizes is self._sizes and np.array_equal(keys, self._keys)

    def tally(self, request: TallyRequest) -> Tally | Skipped:
        """The tally of one request."""
        cells = self._sizes.cells(request, self._keys)
        if cells > self._sizes.most:
            return Skipped(request, TOO_LARGE, cells, self._sizes.most)
        bindings, first, of_example = self._bindings(request)
        types = variable_types(self._database.schema, request.head, request.body)
        writer = TallyQuery(self._source, request, types, bindings)
        dialect = self._connection.dialect
        start = self._groundings.start(request, bindings, self._keys)
        text = dialect.text(writer.write(dialect, start))
        n_fetched = len(writer.fetched()) + writer.has_moment
        raw = self._fetch(text, 2 + n_fetched)
        row, number = raw[0].astype(np.int64), raw[-1].astype(np.int64)
        fetched = dict(zip(writer.fetched(), raw[1:-1], strict=False))
        columns = [
            self._column(types[variable], fetched[variable])
            if variable in fetched
            else self._key_column(types[variable], self._keys[first[row], variable])
            for variable in request.variables
        ]
        times = None
        if request.times:
            times = np.full(len(row), -np.inf)
            if writer.has_moment:
                times = self._source.decoded_times(raw[-2])
        return spread(Tally(row, tuple(columns), number, times), of_example)

    def expect(self, requests: Sequence[TallyRequest]) -> None:
        """Prepare for requests that will probably follow."""
        by_bindings: dict[Bindings, list[TallyRequest]] = {}
        for request in requests:
            by_bindings.setdefault(self._bindings(request)[0], []).append(request)
        self._groundings.expect(by_bindings)

    def close(self) -> None:
        """Drop the tables of keys and of groundings."""
        self._groundings.close()
        self._connection.drop_all([bindings.table for bindings, _, _ in self._known.values()])
        self._known.clear()

    # --- keys ------------------------------------------------------------------------------------

    def _bindings(self, request: TallyRequest) -> tuple[Bindings, Integers, Integers]:
        """The table of the distinct keys, an example of each, and which of them each example has."""
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

    def _load(
        self, target: str, used: tuple[int, ...], within: tuple[float, ...]
    ) -> tuple[Bindings, Integers, Integers]:
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
        return Bindings(table, used, cutoffs is not None, within), first, of_example

    def _earliest(self, cutoffs: Floats, within: float) -> Floats:
        """The earliest time of a fact that a limited link takes; all facts if there is no cut-off."""
        earliest: Floats = np.where(cutoffs == np.inf, -np.inf, cutoffs - within * self._unit)
        return earliest

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
            self.expect(requests)
        return [self.tally(request) for request in requests]
