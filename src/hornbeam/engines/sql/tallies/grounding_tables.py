"""Tables of groundings: what several requests have in common is computed once, and they start from there.

The requests of one path have the path in common, and a longer path starts from the table of a shorter one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hornbeam.data.database import Codes
from hornbeam.engines.sql.connection import Connection
from hornbeam.engines.sql.tallies.queries import Bindings, Groundings, TallySource
from hornbeam.engines.sql.tallies.whole_queries import GroundingsQuery
from hornbeam.engines.tally import TallyRequest, TallySizes
from hornbeam.logic.clauses import Atom
from hornbeam.logic.effects import Body, Recent, atom_in, new_variables_of, step_variables, variable_types

SHARE = 4
"""All tables of groundings together have at most one cell in this many of the budget."""


class _Kept(NamedTuple):
    groundings: Groundings
    cells: float


class GroundingTables:
    """Makes the tables, and drops the least recently used ones beyond a budget."""

    def __init__(self, connection: Connection, source: TallySource, sizes: TallySizes) -> None:
        self._connection = connection
        self._source = source
        self._sizes = sizes
        self._expected: dict[Bindings, TallyRequest] = {}
        self._tables: OrderedDict[tuple[Bindings, Body, tuple[int, ...]], _Kept] = OrderedDict()

    def expect(self, requests: Mapping[Bindings, Sequence[TallyRequest]]) -> None:
        """Replace the expected requests, given for each table of keys that they start from."""
        self._expected = {
            bindings: common
            for bindings, each in requests.items()
            if len(each) > 1 and _has_link(common := common_to(each))
        }

    def start(self, request: TallyRequest, bindings: Bindings, keys: Codes) -> Groundings | None:
        """The table from which the query of a request starts; None if it starts from the keys."""
        expected = self._expected.get(bindings)
        if expected is not None and request.body[: len(expected.body)] == expected.body:
            needed = needed_after(request, len(expected.body)) & bound_in(expected.body)
            if needed.issubset(expected.variables) and expected.times >= request.times:
                self._make(expected, bindings, keys)
        return self._longest(request, bindings)

    def start_of_path(self, path: TallyRequest, bindings: Bindings, keys: Codes) -> Groundings | None:
        """The same for a path; a table of what comes before its last link serves other paths too."""
        before = _before_last_link(path)
        if before is not None:
            self._make(before, bindings, keys)
        return self._longest(path, bindings)

    def close(self) -> None:
        self._connection.drop_all([kept.groundings.table for kept in self._tables.values()])
        self._tables.clear()
        self._expected.clear()

    def _make(self, request: TallyRequest, bindings: Bindings, keys: Codes) -> None:
        """Make the table of all groundings of a request, unless there is one or it is too large."""
        known = self._longest(request, bindings)
        if known is not None and known.body == request.body:
            return
        cells = self._sizes.groundings(request, keys) * (len(request.variables) + len(bindings.within) + 4)
        most = self._sizes.most / SHARE
        if cells > most:
            return
        types = variable_types(self._source.schema, request.head, request.body)
        writer = GroundingsQuery(self._source, request, types, bindings)
        name = self._connection.new_name()
        self._connection.create(name, writer.write(self._connection.dialect, known))
        made = writer.table(name)
        self._tables[bindings, made.body, made.variables] = _Kept(made, cells)
        while sum(kept.cells for kept in self._tables.values()) > most:
            _, dropped = self._tables.popitem(last=False)
            self._connection.drop(dropped.groundings.table)

    def _longest(self, request: TallyRequest, bindings: Bindings) -> Groundings | None:
        """The table with the most steps from which a request can start."""
        fitting = [
            key
            for key, kept in self._tables.items()
            if key[0] == bindings and self._fits(kept.groundings, request)
        ]
        if not fitting:
            return None
        best = max(fitting, key=lambda key: len(key[1]))
        self._tables.move_to_end(best)
        return self._tables[best].groundings

    def _fits(self, groundings: Groundings, request: TallyRequest) -> bool:
        """Whether a table has the first steps of a request, and all that the others need."""
        done = len(groundings.body)
        if request.body[:done] != groundings.body:
            return False
        if (needed_after(request, done) & bound_in(groundings.body)) - set(groundings.variables):
            return False
        return groundings.has_moment or not request.times or not self._is_timed(groundings.body)

    def _is_timed(self, body: Body) -> bool:
        atoms = [atom_in(step) for step in body if isinstance(step, Atom | Recent)]
        return any(atom and self._source.relation(atom.predicate).time is not None for atom in atoms)


def common_to(requests: Sequence[TallyRequest]) -> TallyRequest:
    """The first steps that all requests have, with the variables that they need."""
    body = _common_steps([request.body for request in requests])
    known = set(range(len(requests[0].head.args)))
    needed: set[int] = set()
    for request in requests:
        needed.update(request.variables, *map(step_variables, request.body[len(body) :]))
    for step in body:
        known.update(new_variables_of(step, known))
    times = any(request.times for request in requests)
    return TallyRequest(requests[0].head, body, tuple(sorted(needed & known)), times)


def _has_link(request: TallyRequest) -> bool:
    return bool(_links(request))


def _links(request: TallyRequest) -> list[int]:
    """The places of the steps that bind variables to facts."""
    known, places = set(range(len(request.head.args))), []
    for place, step in enumerate(request.body):
        if isinstance(step, Atom | Recent) and new_variables_of(step, known):
            places.append(place)
        known.update(new_variables_of(step, known))
    return places


def _before_last_link(path: TallyRequest) -> TallyRequest | None:
    """The steps before the last link of a path, with the variables that are needed after them."""
    places = _links(path)
    if len(places) < 2:
        return None
    body = path.body[: places[-1]]
    known = bound_in(body) | set(range(len(path.head.args)))
    needed = needed_after(path, len(body)) & known
    return TallyRequest(path.head, body, tuple(sorted(needed)), path.times)


def needed_after(request: TallyRequest, done: int) -> set[int]:
    """The variables that a request needs after its first steps."""
    in_steps = {variable for step in request.body[done:] for variable in step_variables(step)}
    return in_steps | set(request.variables)


def bound_in(body: Body) -> set[int]:
    """The variables of a body."""
    return {variable for step in body for variable in step_variables(step)}


def _common_steps(bodies: Sequence[Body]) -> Body:
    """The longest beginning that all bodies have."""
    number = 0
    for steps in zip(*bodies, strict=False):
        if any(step != steps[0] for step in steps):
            break
        number += 1
    return bodies[0][:number]
