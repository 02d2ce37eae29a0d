"""Messages as vectors, each computed once for all clauses, many at a time.

A message whose literal has one weighted variable is the product of a sparse matrix with a vector.
Messages with the same literal differ only in the vector, so their products are computed together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from hornbeam.data.rows import Integers
from hornbeam.engines.cache import CachePart
from hornbeam.engines.clauses.plan import Attachments, Compared, Core, Message
from hornbeam.engines.clauses.vectors.join import Join, row_sums
from hornbeam.engines.clauses.vectors.vectors import (
    FEW,
    PACK_FROM,
    RefusedError,
    Vector,
    Weight,
    grouped_sum,
    product,
    push,
    push_few,
    push_many,
)
from hornbeam.engines.memory.indexes import FactIndexes
from hornbeam.logic.clauses import AT_LEAST, Atom, Not

_MANY_CUTS, _FACTS_EACH = 4, 4
"""At least this many thresholds of an argument, and facts per value, are counted in one pass."""


_MOST_CELLS = 1 << 25
"""Maximum number of cells in the vectors that are computed together."""


class Messages:
    """The vectors of messages over one database, in a part of the engine's cache."""

    def __init__(self, facts: FactIndexes, memory: int, cache: CachePart) -> None:
        self.facts = facts
        self.memory = memory
        self._cache = cache

    def prepare(self, messages: Iterable[Message]) -> None:
        """Compute the messages that are not cached, level by level, those with equal literals together."""
        levels: list[dict[Message, None]] = []
        self._collect(messages, levels)
        for level in levels:
            groups: dict[object, list[Message]] = {}
            for message in level:
                variable = _pushed_from(message)
                key = message if variable is None else (message.form, variable)
                groups.setdefault(key, []).append(message)
            for group in groups.values():
                most = self._most(group[0])
                for start in range(0, len(group), most):
                    chunk = group[start : start + most]
                    if len(chunk) > 1:
                        self._push_together(chunk)
                    else:
                        self._store(chunk[0], self._compute(chunk[0]))

    def vector(self, message: Message) -> Vector:
        """The vector of a message; raises ``RefusedError`` if it may exceed int64 or the budget."""
        vector = self._cache.get(message)
        if vector is None:
            vector = self._compute(message)
            self._store(message, vector)
        if isinstance(vector, RefusedError):
            raise vector
        assert isinstance(vector, Vector)
        return vector

    def at(self, messages: Sequence[Message]) -> Vector:
        """The product of the messages at one variable."""
        if len(messages) == 1:
            return self.vector(messages[0])
        return product([self.vector(message) for message in messages])

    def weights(self, attached: Attachments) -> Iterator[Weight]:
        """The weights that attached messages give to bindings of their variables."""
        for variables, messages in attached:
            if len(variables) == 1:
                yield Weight(variables, self.at(messages), None)
            else:
                for message in messages:
                    assert isinstance(message.form, Atom)
                    groups = self.facts.groups(message.form, message.roots)
                    yield Weight(variables, self.vector(message), groups)

    def _most(self, message: Message) -> int:
        """How many messages like this one are computed together: a quarter of the budget holds them."""
        match message.form:
            case Atom() as atom if 0 in atom.args:
                cells = min(self.memory // 4 // 8, _MOST_CELLS)
                return max(1, cells // (self.facts.size(atom, 0) + 1))
            case _:
                return 1

    def _collect(self, messages: Iterable[Message], levels: list[dict[Message, None]]) -> None:
        for message in messages:
            if isinstance(message.form, Compared):
                # Computed at first use: if many thresholds are counted in one pass, it is never used.
                continue
            while len(levels) <= message.depth:
                levels.append({})
            if message not in levels[message.depth] and self._cache.get(message) is None:
                levels[message.depth][message] = None
                for _, below in message.below:
                    self._collect(below, levels)

    def _store(self, message: Message, result: Vector | RefusedError) -> None:
        self._cache.put(message, result, result.values.nbytes if isinstance(result, Vector) else 0)

    def _compute(self, message: Message) -> Vector | RefusedError:
        try:
            if isinstance(message.form, Core):
                return self._knot(message.form, message.below)
            if isinstance(message.form, Compared):
                return self._compared(message.form)
            return self._sum(message.form, message)
        except RefusedError as refused:
            return refused

    def _compared(self, form: Compared) -> Vector:
        """1 for each constant on the comparison's side; the last element, for no constant, is 0."""
        numbers = self.facts.database.numbers[form.type]
        truth = np.zeros(len(numbers) + 1, dtype=np.int8)
        truth[:-1] = numbers >= form.number if form.operator == AT_LEAST else numbers < form.number
        return Vector.of(truth)

    def _sum(self, literal: Atom | Not, message: Message) -> Vector:
        if isinstance(literal, Not):
            return Vector.of(1 - self._counts(literal.atom, 1))
        if not message.below:
            return Vector.of(self._counts(literal, message.roots))
        variable = _pushed_from(message)
        if variable is not None:
            return self._push(literal, variable, self.at(message.below[0][1]))
        rows = [self.row_weights(literal, *attached) for attached in message.below]
        groups, size = self._groups(literal, message.roots)
        return grouped_sum(groups, product(rows), size)

    def _counts(self, atom: Atom, roots: int) -> Integers:
        """The number of facts for each value of the roots; an atom without variables has one value."""
        if 0 not in atom.args:
            return np.array([self.facts.of_atom(atom)[0].rows, 0])
        if roots == 1 and not any(isinstance(term, str) for term in atom.args):
            return self.facts.degrees(atom, 0)
        # There are many atoms with constants, and their degrees are needed only here.
        groups, size = self._groups(atom, roots)
        return np.bincount(groups, minlength=size)

    def _push(self, atom: Atom, variable: int, vector: Vector) -> Vector:
        """For each value of variable 0, the sum of the vector at another variable over the atom's facts."""
        pushed = self._push_few(atom, variable, vector, FEW)
        return push(self.facts.links(atom, 0, variable), vector) if pushed is None else pushed

    def _push_few(self, atom: Atom, variable: int, vector: Vector, share: int) -> Vector | None:
        """The same sums, by following links back from the nonzero values; None if these are not few."""
        rows = self.facts.of_atom(atom)[0].rows
        if rows < PACK_FROM or np.count_nonzero(vector.values) * share > len(vector.values):
            return None
        reached = np.flatnonzero(vector.values != 0)
        # Decide by degrees, so that reverse links are made only if they are used.
        visited = int(self.facts.degrees(atom, variable)[reached].sum(dtype=np.int64))
        if visited * share > rows or visited * vector.largest >= 2**31:
            return None
        return push_few(self.facts.links(atom, variable, 0), vector, reached)

    def _groups(self, atom: Atom, roots: int) -> tuple[Integers, int]:
        """The values of the roots in each fact of an atom as one code, and the number of codes."""
        if roots == 1:
            return self.facts.column(atom, 0), self.facts.size(atom, 0) + 1
        groups = self.facts.groups(atom, roots)
        return groups.of_row, len(groups.keys) + 1

    def row_weights(self, atom: Atom, variables: tuple[int, ...], messages: Sequence[Message]) -> Vector:
        """The product of messages at variables of an atom, for each of its facts."""
        if len(variables) == 1:
            vector = self.at(messages)
            return Vector(vector.values[self.facts.column(atom, variables[0])], vector.largest)
        rows = []
        for message in messages:
            assert isinstance(message.form, Atom)
            vector = self.vector(message)
            codes = self.facts.matches(atom, variables, message.form)
            rows.append(Vector(vector.values[codes], vector.largest))
        return product(rows)

    def _knot(self, core: Core, below: Attachments) -> Vector:
        """A core joined for each value of its variable 0."""
        atom = next(atom for atom in core.atoms if 0 in atom.args)
        size = self.facts.size(atom, 0)
        join = Join(self.facts, core, tuple(self.weights(below)), frozenset(), self.memory)
        return Vector.of(row_sums(join.run((np.arange(size),)), size + 1, ()))

    def _push_together(self, group: Sequence[Message]) -> None:
        atom, variable = group[0].form, group[0].below[0][0][0]
        assert isinstance(atom, Atom)
        cut = [message for message in group if _comparison(message) is not None]
        size, rows = self.facts.size(atom, 0), self.facts.of_atom(atom)[0].rows
        if len(cut) >= _MANY_CUTS and rows >= _FACTS_EACH * size:
            self._cut_together(atom, variable, cut)
            group = [message for message in group if _comparison(message) is None]
        pushable: list[Message] = []
        vectors: list[Vector] = []
        for message in group:
            try:
                vectors.append(self.at(message.below[0][1]))
                pushable.append(message)
            except RefusedError as refused:
                self._store(message, refused)
        pushed = push_many(self.facts.links(atom, 0, variable), vectors)
        for message, result in zip(pushable, pushed, strict=True):
            self._store(message, result)

    def _cut_together(self, atom: Atom, variable: int, group: Sequence[Message]) -> None:
        """Count the facts of an atom on one side of each of many thresholds, in one pass over the facts.

        Each fact falls between two thresholds. The numbers of facts between neighbouring thresholds,
        for each value of variable 0, are added up from the lowest threshold.
        """
        compared = [form for message in group if (form := _comparison(message)) is not None]
        cuts = np.unique([form.number for form in compared])
        between = np.searchsorted(cuts, self.facts.database.numbers[compared[0].type], "right")
        size = self.facts.size(atom, 0) + 1
        cells = between[self.facts.column(atom, variable)] * size + self.facts.column(atom, 0)
        upto = np.bincount(cells, minlength=(len(cuts) + 1) * size).reshape(len(cuts) + 1, size)
        np.cumsum(upto, axis=0, out=upto)
        for message, form in zip(group, compared, strict=True):
            below = upto[np.searchsorted(cuts, form.number)]
            self._store(message, Vector.of(upto[-1] - below if form.operator == AT_LEAST else below))


def _comparison(message: Message) -> Compared | None:
    """The comparison, if it is the only message at the variable that a message is pushed from."""
    (_, messages) = message.below[0]
    form = messages[0].form
    return form if len(messages) == 1 and isinstance(form, Compared) else None


def _pushed_from(message: Message) -> int | None:
    """The only weighted variable of a message that is a product of links with a vector, else None."""
    if message.roots == 1 and isinstance(message.form, Atom) and len(message.below) == 1:
        variables = message.below[0][0]
        if len(variables) == 1:
            return variables[0]
    return None
