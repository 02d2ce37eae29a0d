"""Counts with cut-off times: for an example, facts after its cut-off do not exist.

The count of a literal then depends on a value *and* a cut-off. So a message is not a vector over all
values; it is computed only at the distinct pairs of value and cut-off that the examples have, and at
the pairs that their facts lead to. Facts are sorted by value and time, so that all facts up to a
cut-off are contiguous: two binary searches count them, or sum their weights if the messages below do
not depend on time. A literal with time-dependent messages below it is followed fact by fact. Messages
that do not depend on time are computed as without cut-offs.

Here a cut-off is represented by its rank among the distinct cut-offs of the examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from hornbeam.data.numbers import Floats
from hornbeam.data.rows import Integers, distinct_rows
from hornbeam.engines.cache import CachePart
from hornbeam.engines.clauses.plan import (
    Attachments,
    Compared,
    Core,
    CoreFactor,
    Factor,
    Message,
    MessageFactor,
)
from hornbeam.engines.clauses.vectors.messages import Messages
from hornbeam.engines.clauses.vectors.time_order import Pairs, TimeOrder
from hornbeam.engines.clauses.vectors.vectors import RefusedError, Vector, grouped_sum, product, too_large
from hornbeam.engines.contract import INT64_MAX
from hornbeam.engines.memory.indexes import FactIndexes
from hornbeam.logic.clauses import Atom, Not, literal_variables

Result = TypeVar("Result")
BYTES_PER_ROW = 64
"""Bytes of the memory budget that one followed fact uses."""


@dataclass(frozen=True, slots=True, eq=False)
class _FollowedFacts:
    """The facts of an atom that match pairs: for each match, the pair and the values of the fact."""

    pair: Integers
    columns: dict[int, Integers]


class CutoffFactors:
    """Computes the factors of examples that have cut-offs."""

    def __init__(
        self, facts: FactIndexes, messages: Messages, cutoffs: Floats, memory: int, cache: CachePart
    ) -> None:
        self.facts = facts
        self.messages = messages
        self._most_rows = memory // 4 // BYTES_PER_ROW
        """more facts than this are followed in pieces"""
        self.distinct, cuts = np.unique(cutoffs, return_inverse=True)
        self.cuts: Integers = cuts.ravel()
        self.order = TimeOrder(facts, self.distinct, cache)
        self._cache = cache

    # --- what depends on time ----------------------------------------------------------------

    def depends_on_time(self, factor: Factor) -> bool:
        """Whether a factor has a literal whose facts have times."""
        if isinstance(factor, MessageFactor):
            return any(map(self._is_timed, factor.messages))
        return self._has_times(factor.core) or self._any_timed(factor.weights)

    def timeless(self, messages: Iterable[Message]) -> Iterator[Message]:
        """The topmost messages, among these and those below them, that do not depend on time."""
        for message in messages:
            if self._is_timed(message):
                for _, below in message.below:
                    yield from self.timeless(below)
            else:
                yield message

    def _is_timed(self, message: Message) -> bool:
        return self._cache.made(
            ("timed", message),
            lambda: self._has_times(message.form) or self._any_timed(message.below),
            lambda timed: 0,
        )

    def _any_timed(self, attached: Attachments) -> bool:
        return any(self._is_timed(message) for _, messages in attached for message in messages)

    def _has_times(self, form: Atom | Not | Compared | Core) -> bool:
        times = self.facts.database.times
        match form:
            case Compared():
                return False
            case Core():
                return any(atom.predicate in times for atom in form.atoms)
            case Not():
                return form.atom.predicate in times
            case Atom():
                return form.predicate in times

    # --- factors -----------------------------------------------------------------------------

    def column(self, factor: Factor, columns: tuple[Integers, ...]) -> Vector:
        """The value of a factor for each example, given the columns of the examples' keys."""
        if isinstance(factor, MessageFactor):
            if factor.head is None:
                return self._of_cuts(self._summed(factor.messages))
            pairs, inverse = self._of_examples((factor.head,), columns)
            vector = self._product_at(factor.messages, pairs)
        else:
            if not factor.heads:
                return self._of_cuts(self._joined_sum(factor))
            pairs, inverse = self._of_examples(factor.heads, columns)
            vector = self._join(factor.core, factor.weights, pairs)
        return Vector(vector.values[inverse], vector.largest)

    def _of_cuts(self, by_cut: Vector) -> Vector:
        """The value of each example, from one value for each cut-off."""
        return Vector(by_cut.values[self.cuts], by_cut.largest)

    def _of_examples(self, heads: tuple[int, ...], columns: tuple[Integers, ...]) -> tuple[Pairs, Integers]:
        """The distinct pairs of the examples at some head variables, and the pair of each example."""
        return self._distinct([columns[head] for head in heads], self.cuts, ("examples", heads))

    def _summed(self, messages: Sequence[Message]) -> Vector:
        """The product of messages at a variable, summed over its population, for each cut-off."""
        cuts = np.arange(len(self.distinct))
        nowhere = Pairs((), cuts, "everywhere")
        first = messages[0]
        if len(messages) == 1 and isinstance(first.form, Atom | Not) and not _has_variables(first.form):
            return self._at(first, nowhere)
        timed = [message for message in messages if self._is_timed(message)]
        if len(timed) == 1 and isinstance(timed[0].form, Atom):
            # The sum over all facts of its atom, with the other messages as weights at its variable 0.
            others = tuple(message for message in messages if message is not timed[0])
            weights = (((0,), others),) if others else ()
            return self._sum_atom(timed[0].form, (), (*timed[0].below, *weights), nowhere)
        return self._by_cut(self._size(messages), lambda pairs: self._product_at(messages, pairs))

    def _joined_sum(self, factor: CoreFactor) -> Vector:
        """The sum of a core without head variables for each cut-off, joined on all values of variable 0."""
        atom = next(atom for atom in factor.core.atoms if 0 in atom.args)
        size = self.facts.size(atom, 0)
        return self._by_cut(size, lambda pairs: self._join(factor.core, factor.weights, pairs))

    def _by_cut(self, size: int, at: Callable[[Pairs], Vector]) -> Vector:
        """For each cut-off, the sum of values at all constants of a population; a few cut-offs at a time."""
        number = len(self.distinct)
        most = max(1, self._most_rows // max(1, size))
        sums = []
        for start in range(0, number, most):
            cuts = np.arange(start, min(start + most, number))
            path = ("population", size) if len(cuts) == number else None
            pairs = Pairs((np.tile(np.arange(size), len(cuts)),), np.repeat(cuts, size), path)
            sums.append(grouped_sum(pairs.cuts - start, at(pairs), len(cuts)))
        return _joined(sums)

    def _size(self, messages: Sequence[Message]) -> int:
        """The population of the variable that messages are attached to."""
        for message in messages:
            match message.form:
                case (Atom() as atom) | Not(atom):
                    return self.facts.size(atom, 0)
                case Core(atoms):
                    return self.facts.size(next(atom for atom in atoms if 0 in atom.args), 0)
                case Compared(type_name):
                    return len(self.facts.database.population(type_name))
        raise AssertionError("no message")

    # --- messages ----------------------------------------------------------------------------

    def _product_at(self, messages: Sequence[Message], pairs: Pairs) -> Vector:
        return product([self._at(message, pairs) for message in messages])

    def _at(self, message: Message, pairs: Pairs) -> Vector:
        """The value of a message at pairs."""
        if not self._is_timed(message):
            vector = self.messages.vector(message)
            codes = pairs.columns[0] if len(pairs.columns) == 1 else self._group(message, pairs)
            return Vector(vector.values[codes], vector.largest)
        key = _key(message, pairs.path)
        return self._cached(key, lambda: self._compute(message, pairs), lambda vector: vector.values.nbytes)

    def _group(self, message: Message, pairs: Pairs) -> Integers:
        assert isinstance(message.form, Atom)
        return self.facts.groups(message.form, message.roots).codes(pairs.columns)

    def _compute(self, message: Message, pairs: Pairs) -> Vector:
        match message.form:
            case Core() as core:
                return self._join(core, message.below, pairs)
            case Not(atom):
                start, end = self._find(atom, literal_variables(atom), pairs)
                return Vector.of((end == start).astype(np.int8))
            case Atom() as atom:
                return self._sum_atom(atom, tuple(range(len(pairs.columns))), message.below, pairs)
        raise AssertionError(f"{message.form} does not depend on time")

    def _sum_atom(self, atom: Atom, bound: tuple[int, ...], below: Attachments, pairs: Pairs) -> Vector:
        """For each pair, the messages below summed over the facts of an atom that match the pair."""
        if self._any_timed(below):
            start, end = self._find(atom, bound, pairs)
            if int((end - start).sum()) > self._most_rows and len(pairs) > 1:
                return _joined([self._sum_atom(atom, bound, below, half) for half in _halves(pairs)])
            followed = self._follow(atom, bound, pairs)
            weights = [self._below(each, followed, atom, bound, pairs) for each in below]
            return grouped_sum(followed.pair, product(weights), len(pairs))
        start, end = self._find(atom, bound, pairs)
        if not below:
            return Vector.of(end - start)
        rows = self.order.index(atom, bound).rows
        weights_of_rows = product([self.messages.row_weights(atom, *attached) for attached in below])
        return _sums_of_ranges(weights_of_rows, rows, start, end)

    def _below(
        self,
        attached: tuple[tuple[int, ...], tuple[Message, ...]],
        followed: _FollowedFacts,
        atom: Atom,
        bound: tuple[int, ...],
        pairs: Pairs,
    ) -> Vector:
        """The product of messages at variables of an atom, for each followed fact."""
        variables, messages = attached
        columns = [followed.columns[variable] for variable in variables]
        path = _key(self.facts.pattern(atom, *bound), pairs.path, self.facts.pattern(atom, *variables))
        below_pairs, inverse = self._distinct(columns, pairs.cuts[followed.pair], path)
        vector = self._product_at(messages, below_pairs)
        return Vector(vector.values[inverse], vector.largest)

    def _distinct(self, columns: Sequence[Integers], cuts: Integers, path: object) -> tuple[Pairs, Integers]:
        """The distinct pairs of values and cut-offs, and the distinct pair of each row."""

        def make() -> tuple[Pairs, Integers]:
            first, inverse = distinct_rows([*columns, cuts], len(cuts))
            pairs = Pairs(tuple(column[first] for column in columns), cuts[first], path)
            return pairs, inverse

        return self._cached(_key("pairs", path), make, lambda made: 8 * len(made[1]) + 24 * len(made[0]))

    # --- facts in order of time --------------------------------------------------------------

    def _find(self, atom: Atom, bound: tuple[int, ...], pairs: Pairs) -> tuple[Integers, Integers]:
        """The range of rows in the atom's index that match each pair."""
        key = _key("range", pairs.path, self.facts.pattern(atom, *bound))
        index = self.order.index(atom, bound)
        return self._cached(key, lambda: index.find(pairs), lambda ranges: 16 * len(ranges[0]))

    def _follow(self, atom: Atom, bound: tuple[int, ...], pairs: Pairs) -> _FollowedFacts:
        """Every fact of an atom that matches a pair, in one row for each pair that it matches."""

        def make() -> _FollowedFacts:
            start, end = self._find(atom, bound, pairs)
            degrees = end - start
            pair = np.repeat(np.arange(len(pairs)), degrees)
            within = np.arange(len(pair)) - np.repeat(np.cumsum(degrees) - degrees, degrees)
            rows = self.order.index(atom, bound).rows[start[pair] + within]
            matching, order = self.facts.of_atom(atom)
            columns = {variable: matching.columns[place][rows] for place, variable in enumerate(order)}
            return _FollowedFacts(pair, columns)

        # Columns are by variable; the atoms p(A,B) and p(B,A) have the same facts but other variables.
        key = _key("followed", pairs.path, self.facts.pattern(atom, *bound), literal_variables(atom))
        return self._cached(key, make, lambda made: (8 + 4 * len(made.columns)) * len(made.pair))

    # --- cores -------------------------------------------------------------------------------

    def _join(self, core: Core, weights: Attachments, pairs: Pairs) -> Vector:
        """The ways to satisfy a core at pairs of its anchors, weighted by the attached messages."""
        columns = dict(enumerate(pairs.columns))
        row: Integers = np.arange(len(pairs))
        times = Vector(np.ones(len(pairs), dtype=np.int8), 1)
        atoms, attached = list(core.atoms), list(weights)
        while True:
            for each in [each for each in attached if all(v in columns for v in each[0])]:
                attached.remove(each)
                distinct, inverse = self._distinct([columns[v] for v in each[0]], pairs.cuts[row], None)
                weight = self._product_at(each[1], distinct)
                times = product([times, Vector(weight.values[inverse], weight.largest)])
            for atom in [atom for atom in atoms if all(v in columns for v in literal_variables(atom))]:
                atoms.remove(atom)
                start, end = self._ends(atom, columns, pairs.cuts[row])
                times = product([times, Vector.of(end - start)])
            if not atoms:
                return grouped_sum(row, times, len(pairs))
            nonzero = np.flatnonzero(times.values != 0)
            row, times = row[nonzero], Vector(times.values[nonzero], times.largest)
            columns = {variable: column[nonzero] for variable, column in columns.items()}
            # The atom with the fewest facts to follow is next; ties go to the first, so the order is fixed.
            ways = {
                place: self._ends(atom, columns, pairs.cuts[row])
                for place, atom in enumerate(atoms)
                if any(v in columns for v in literal_variables(atom))
            }
            place = min(ways, key=lambda each: (int((ways[each][1] - ways[each][0]).sum()), each))
            start, end = ways[place]
            atom = atoms.pop(place)
            degrees = end - start
            if int(degrees.sum()) > self._most_rows and len(pairs) > 1:
                return _joined([self._join(core, weights, half) for half in _halves(pairs)])
            repeat = np.repeat(np.arange(len(row)), degrees)
            within = np.arange(len(repeat)) - np.repeat(np.cumsum(degrees) - degrees, degrees)
            rows = self.order.index(atom, _bound(atom, columns)).rows[start[repeat] + within]
            row, times = row[repeat], Vector(times.values[repeat], times.largest)
            columns = {variable: column[repeat] for variable, column in columns.items()}
            matching, order = self.facts.of_atom(atom)
            columns |= {v: matching.columns[at][rows] for at, v in enumerate(order) if v not in columns}

    def _ends(self, atom: Atom, columns: dict[int, Integers], cuts: Integers) -> tuple[Integers, Integers]:
        bound = _bound(atom, columns)
        bound_pairs = Pairs(tuple(columns[variable] for variable in bound), cuts, None)
        return self.order.index(atom, bound).find(bound_pairs)

    # --- memory ------------------------------------------------------------------------------

    def _cached(self, key: object, make: Callable[[], Result], size: Callable[[Result], int]) -> Result:
        """The cached result for a key, computed if it is missing. If the key is None, nothing is cached."""
        if key is None:
            return make()
        cached = self._cache.get(key)
        if cached is None:
            try:
                cached = make()
                self._cache.put(key, cached, size(cached))
            except RefusedError as refused:
                cached = refused
                self._cache.put(key, cached, 0)
        if isinstance(cached, RefusedError):
            raise cached
        result: Result = cached
        return result


def _key(what: object, path: object, *more: object) -> object:
    """A cache key for a result that depends on pairs; None if the pairs are used once."""
    return None if path is None else (what, path, *more)


def _halves(pairs: Pairs) -> Iterator[Pairs]:
    middle = len(pairs) // 2
    for part in (slice(0, middle), slice(middle, None)):
        yield Pairs(tuple(column[part] for column in pairs.columns), pairs.cuts[part], None)


def _joined(vectors: Sequence[Vector]) -> Vector:
    if len(vectors) == 1:
        return vectors[0]
    return Vector.of(np.concatenate([vector.values for vector in vectors]))


def _has_variables(literal: Atom | Not) -> bool:
    return bool(literal_variables(literal))


def _bound(atom: Atom, columns: dict[int, Integers]) -> tuple[int, ...]:
    return tuple(variable for variable in literal_variables(atom) if variable in columns)


def _sums_of_ranges(weights: Vector, rows: Integers, start: Integers, end: Integers) -> Vector:
    """The sum of the weights of rows, from each start to its end."""
    bound = int((end - start).max(initial=0)) * weights.largest
    if bound > INT64_MAX:
        raise too_large(bound)
    upto = np.zeros(len(rows) + 1, dtype=np.int64)
    # The total may exceed int64 and wrap around, but the difference of two partial sums is still right.
    np.cumsum(weights.values[rows], out=upto[1:])
    return Vector.of(upto[end] - upto[start])
