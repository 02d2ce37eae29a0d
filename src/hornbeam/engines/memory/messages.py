"""Messages as vectors, each computed once for all clauses, many at a time.

A message whose literal leads to one weighted variable is a sparse matrix-vector product. Messages
over the same literal differ only in the vector; they are pushed through together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from hornbeam.data.rows import Integers
from hornbeam.engines.cache import Cache
from hornbeam.engines.memory.indexes import FactIndexes
from hornbeam.engines.memory.join import Join, row_sums
from hornbeam.engines.memory.plan import Compared, Core, Hanging, Message
from hornbeam.engines.memory.vectors import (
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
from hornbeam.logic.clauses import AT_LEAST, Atom, Not

_MANY_CUTS, _FACTS_EACH = 4, 4
"""So many thresholds of one argument, with so many facts for each value, take one pass over the facts."""
_MOST_CELLS = 1 << 25
"""numbers that such a pass may keep at a time"""


class Messages:
    """The vectors of messages over one database, kept under a budget."""

    def __init__(self, facts: FactIndexes, memory: int) -> None:
        self.facts = facts
        self.memory = memory
        self._kept = Cache(memory // 4)

    def prepare(self, messages: Iterable[Message]) -> None:
        """Compute what is not kept yet, level by level, equal literals together."""
        levels: list[dict[Message, None]] = []
        self._collect(messages, levels)
        for level in levels:
            groups: dict[object, list[Message]] = {}
            for message in level:
                variable = _pushed_from(message)
                key = message if variable is None else (message.form, variable)
                groups.setdefault(key, []).append(message)
            for group in groups.values():
                if len(group) > 1:
                    self._push_together(group)
                else:
                    self._keep(group[0], self._compute(group[0]))

    def vector(self, message: Message) -> Vector:
        """The vector of a message; raises ``RefusedError`` where it may pass int64 or the budget."""
        found = self._kept.get(message)
        if found is None:
            found = self._compute(message)
            self._keep(message, found)
        if isinstance(found, RefusedError):
            raise found
        assert isinstance(found, Vector)
        return found

    def at(self, messages: Sequence[Message]) -> Vector:
        """The product of the messages at one variable."""
        if len(messages) == 1:
            return self.vector(messages[0])
        return product([self.vector(message) for message in messages])

    def weights(self, hanging: Hanging) -> Iterator[Weight]:
        """The weights that hanging messages give to bindings of their variables."""
        for variables, messages in hanging:
            if len(variables) == 1:
                yield Weight(variables, self.at(messages), None)
            else:
                for message in messages:
                    assert isinstance(message.form, Atom)
                    groups = self.facts.groups(message.form, message.roots)
                    yield Weight(variables, self.vector(message), groups)

    def _collect(self, messages: Iterable[Message], levels: list[dict[Message, None]]) -> None:
        for message in messages:
            if isinstance(message.form, Compared):
                # Made when asked for: where many cut the same facts, nobody asks.
                continue
            while len(levels) <= message.depth:
                levels.append({})
            if message not in levels[message.depth] and self._kept.get(message) is None:
                levels[message.depth][message] = None
                for _, below in message.below:
                    self._collect(below, levels)

    def _keep(self, message: Message, found: Vector | RefusedError) -> None:
        size = found.values.nbytes + 200 if isinstance(found, Vector) else 200
        self._kept.put(message, found, size)

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
        """1 for each constant on the comparison's side; the last place, no constant, is on neither."""
        numbers = self.facts.database.numbers[form.type]
        found = np.zeros(len(numbers) + 1, dtype=np.int8)
        found[:-1] = numbers >= form.number if form.operator == AT_LEAST else numbers < form.number
        return Vector.of(found)

    def _sum(self, literal: Atom | Not, message: Message) -> Vector:
        if isinstance(literal, Not):
            return Vector.of(1 - self._counts(literal.atom, 1))
        if not message.below:
            return Vector.of(self._counts(literal, message.roots))
        variable = _pushed_from(message)
        if variable is not None:
            return self._push(literal, variable, self.at(message.below[0][1]))
        rows = [self.row_weights(literal, *hanging) for hanging in message.below]
        groups, size = self._groups(literal, message.roots)
        return grouped_sum(groups, product(rows), size)

    def _counts(self, atom: Atom, roots: int) -> Integers:
        """Facts per value of the roots; an atom without variables counts as if it had one value."""
        if 0 not in atom.args:
            return np.array([self.facts.view(atom)[0].rows, 0])
        if roots == 1:
            return self.facts.degrees(atom, 0)
        groups, size = self._groups(atom, roots)
        return np.bincount(groups, minlength=size)

    def _push(self, atom: Atom, variable: int, vector: Vector) -> Vector:
        """The vector at a variable of an atom, summed along its facts to variable 0."""
        found = self._push_few(atom, variable, vector, FEW)
        return push(self.facts.links(atom, 0, variable), vector) if found is None else found

    def _push_few(self, atom: Atom, variable: int, vector: Vector, share: int) -> Vector | None:
        """The same along the links back from what is not 0, where these are few; else None."""
        rows = self.facts.view(atom)[0].rows
        if rows < PACK_FROM or np.count_nonzero(vector.values) * share > len(vector.values):
            return None
        reached = np.flatnonzero(vector.values != 0)
        # Told from the degrees, so that links back are made only where they are used.
        visited = int(self.facts.degrees(atom, variable)[reached].sum(dtype=np.int64))
        if visited * share > rows or visited * vector.largest >= 2**31:
            return None
        return push_few(self.facts.links(atom, variable, 0), vector, reached)

    def _groups(self, atom: Atom, roots: int) -> tuple[Integers, int]:
        """The value of the roots in each row of an atom, as one code, and how many codes there are."""
        if roots == 1:
            return self.facts.column(atom, 0), self.facts.size(atom, 0) + 1
        groups = self.facts.groups(atom, roots)
        return groups.of_row, len(groups.keys) + 1

    def row_weights(self, atom: Atom, variables: tuple[int, ...], messages: Sequence[Message]) -> Vector:
        """What messages at some variables of an atom give to each of its rows."""
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

    def _knot(self, core: Core, below: Hanging) -> Vector:
        """A core joined for each value of its variable 0."""
        atom = next(atom for atom in core.atoms if 0 in atom.args)
        size = self.facts.size(atom, 0)
        join = Join(self.facts, core, tuple(self.weights(below)), frozenset(), self.memory)
        return Vector.of(row_sums(join.run((np.arange(size),)), size + 1, ()))

    def _push_together(self, group: Sequence[Message]) -> None:
        atom, variable = group[0].form, group[0].below[0][0][0]
        assert isinstance(atom, Atom)
        cut = [message for message in group if _comparison(message) is not None]
        size, rows = self.facts.size(atom, 0), self.facts.view(atom)[0].rows
        if len(cut) >= _MANY_CUTS and rows >= _FACTS_EACH * size and size * len(cut) <= _MOST_CELLS:
            self._cut_together(atom, variable, cut)
            group = [message for message in group if _comparison(message) is None]
        able: list[Message] = []
        vectors: list[Vector] = []
        for message in group:
            try:
                vectors.append(self.at(message.below[0][1]))
                able.append(message)
            except RefusedError as refused:
                self._keep(message, refused)
        for message, found in zip(able, push_many(self.facts.links(atom, 0, variable), vectors), strict=True):
            self._keep(message, found)

    def _cut_together(self, atom: Atom, variable: int, group: Sequence[Message]) -> None:
        """The facts of an atom on one side of each of many thresholds, in one pass over them.

        Each fact falls between two thresholds; how many do so for each value of variable 0, added up
        from the lowest, tells all of them.
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
            self._keep(message, Vector.of(upto[-1] - below if form.operator == AT_LEAST else below))


def _comparison(message: Message) -> Compared | None:
    """The comparison of a message that has one, and nothing else, at the variable it is pushed from."""
    (_, messages) = message.below[0]
    form = messages[0].form
    return form if len(messages) == 1 and isinstance(form, Compared) else None


def _pushed_from(message: Message) -> int | None:
    """The one weighted variable of a message that is a product of links with a vector, else None."""
    if message.roots == 1 and isinstance(message.form, Atom) and len(message.below) == 1:
        variables = message.below[0][0]
        if len(variables) == 1:
            return variables[0]
    return None
