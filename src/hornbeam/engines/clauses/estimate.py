"""The estimate that decides which clauses a memory budget skips.

Literals that can be summed out cost one pass over their facts and are never skipped. The other literals
of a clause, its cores, are joined: the estimate is the number of partial bindings that the join visits. With
cut-offs, facts below another fact are followed one by one, and are estimated likewise. The estimate uses
a few statistics of each argument.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.data.database import Codes, Database
from hornbeam.data.rows import distinct_rows
from hornbeam.engines.clauses.plan import (
    Attachments,
    Compared,
    Core,
    CountTerm,
    Factor,
    Message,
    MessageFactor,
)
from hornbeam.engines.contract import Skipped
from hornbeam.logic.clauses import Atom, Clause, Not, literal_variables

BYTES_PER_BINDING = 16
"""Bytes of the memory budget that one partial binding uses."""
MOST_FACTORS = 65_536
"""With more factors than this, their estimates are forgotten and made again when they are needed."""


class ColumnSizes(NamedTuple):
    """Statistics of one argument of a predicate."""

    distinct: int
    """number of distinct values"""
    largest: int
    """largest number of facts that share one value"""
    squares: int
    """sum over all values of the squared number of facts that share the value"""


class ArgumentSizes:
    """The statistics of a loaded database, each computed when it is first needed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sizes: dict[tuple[str, int], ColumnSizes] = {}

    def rows(self, predicate: str) -> int:
        return len(self._database.relation(predicate))

    def sizes(self, predicate: str, position: int) -> ColumnSizes:
        argument = (predicate, position)
        if argument not in self._sizes:
            counts = np.bincount(self._database.relation(predicate).columns[position])
            self._sizes[argument] = ColumnSizes(
                int(np.count_nonzero(counts)),
                int(counts.max(initial=0)),
                int(np.dot(counts, counts)),
            )
        return self._sizes[argument]


class Estimates:
    """Estimates the costs of clauses for one set of examples."""

    def __init__(
        self, facts: ArgumentSizes, keys: Codes, arity: int, timed: Collection[str], memory: int
    ) -> None:
        """``timed`` has the predicates whose facts have times, if the keys have a column of cut-offs."""
        self._facts = facts
        self._keys = keys
        self._arity = arity
        self._timed = frozenset(timed if keys.shape[1] > arity else ())
        self._memory = memory
        self._bindings: dict[tuple[int, ...], int] = {}
        # By the factor's id, with the factor: while the entry exists, no other factor can get the same id.
        self._visited: dict[int, tuple[Factor, int]] = {}

    def refused(self, clause: Clause, terms: Iterable[CountTerm]) -> Skipped | None:
        """A record of the clause, if its plan costs more than the budget."""
        visited = max((self.visited(factor) for term in terms for factor in term.factors), default=0)
        if visited * BYTES_PER_BINDING <= self._memory:
            return None
        reason = "joining it would visit more partial bindings than the memory budget allows"
        return Skipped(clause, reason, visited * BYTES_PER_BINDING, self._memory)

    def allows(self, factor: Factor) -> bool:
        """Whether a factor costs no more than the budget."""
        return self.visited(factor) * BYTES_PER_BINDING <= self._memory

    def visited(self, factor: Factor) -> int:
        """An estimate of the partial bindings that a factor visits."""
        known = self._visited.get(id(factor))
        if known is None:
            if len(self._visited) >= MOST_FACTORS:
                self._visited.clear()
            known = self._visited[id(factor)] = factor, self._new_visited(factor)
        return known[1]

    def _new_visited(self, factor: Factor) -> int:
        if isinstance(factor, MessageFactor):
            if not any(map(self._is_timed, factor.messages)):
                return max(self._message(message, 0) for message in factor.messages)
            rows = self._rows_of(factor)
            cost = max(self._message(message, rows) for message in factor.messages)
            return cost if factor.head is not None or self._is_one_pass(factor.messages) else max(cost, rows)
        timed = self._core_is_timed(factor.core) or self._any_timed(factor.weights)
        if factor.heads:
            start = self._distinct_keys(factor.heads, timed)
        else:
            start = self._values(factor.core.atoms, 0) * (self._cutoffs if timed else 1)
        cost = self._core(factor.core, factor.weights, start)
        return max(cost, start) if timed and not factor.heads else cost

    # --- messages --------------------------------------------------------------------------------

    def _rows_of(self, factor: MessageFactor) -> int:
        """The pairs of a value and a cut-off at which the messages of a factor are needed."""
        if factor.head is not None:
            return self._distinct_keys((factor.head,), True)
        atoms = [atom for message in factor.messages for atom in _atoms(message)]
        return self._cutoffs * self._values(atoms, 0)

    def _is_one_pass(self, messages: Sequence[Message]) -> bool:
        """Whether one pass over the facts of an atom sums the messages over a population, by cut-off."""
        timed = [message for message in messages if self._is_timed(message)]
        return len(timed) == 1 and isinstance(timed[0].form, Atom)

    def _message(self, message: Message, rows: int) -> int:
        """The cost of a message; if it depends on time, it is needed at this many pairs."""
        match message.form:
            case Core() as core:
                return self._core(
                    core, message.below, rows if self._is_timed(message) else self._values(core.atoms, 0)
                )
            case Atom() as atom:
                followed = 0
                if self._any_timed(message.below):
                    followed = rows * self._fan_out(atom, range(message.roots), ())
                return max(followed, self._below(message.below, [atom], followed))
            case _:
                return 0

    def _below(self, attached: Attachments, atoms: Sequence[Atom], followed: int) -> int:
        """The cost of the messages attached to variables of atoms, which were bound this many times."""
        cost = 0
        for variables, messages in attached:
            pairs = self._cutoffs
            for variable in variables:
                pairs *= self._values(atoms, variable)
            for message in messages:
                cost = max(cost, self._message(message, min(pairs, followed)))
        return cost

    def _is_timed(self, message: Message) -> bool:
        if not self._timed:
            return False
        match message.form:
            case Core() as core:
                own = self._core_is_timed(core)
            case Compared():
                own = False
            case (Atom() as atom) | Not(atom):
                own = atom.predicate in self._timed
        return own or self._any_timed(message.below)

    def _any_timed(self, attached: Attachments) -> bool:
        return any(self._is_timed(message) for _, messages in attached for message in messages)

    def _core_is_timed(self, core: Core) -> bool:
        return any(atom.predicate in self._timed for atom in core.atoms)

    # --- cores -----------------------------------------------------------------------------------

    def _core(self, core: Core, weights: Attachments, start: int) -> int:
        """The partial bindings that a join visits if each step binds the atom with the fewest new rows.

        Variables that nothing needs any more are summed out, which bounds the rows that are left.
        """
        anchors = range(core.anchors)
        bound = set(anchors)
        atoms = list(core.atoms)
        weighted = {variable for variables, _ in weights for variable in variables}
        rows, visited = start, 0
        while atoms:
            needed = {id(atom): self._needed(atom, atoms, weighted) - bound for atom in atoms}
            open_atoms = [atom for atom in atoms if needed[id(atom)]]
            if not open_atoms:
                break
            linked = [atom for atom in open_atoms if bound & set(literal_variables(atom))] or open_atoms
            # After the first step, most rows belong to the examples that have many facts.
            as_average = () if visited else anchors
            fan_outs = [self._fan_out(atom, bound, as_average) for atom in linked]
            nearest = linked[fan_outs.index(min(fan_outs))]
            rows *= min(fan_outs)
            visited += rows
            bound |= needed[id(nearest)]
            atoms = [atom for atom in open_atoms if atom is not nearest]
            later = weighted.union(*(literal_variables(atom) for atom in atoms))
            most = start
            for variable in bound & later - set(anchors):
                most *= self._values(core.atoms, variable)
            rows = min(rows, most)
        return max(visited, self._below(weights, core.atoms, visited or start))

    def _needed(self, atom: Atom, atoms: Sequence[Atom], weighted: set[int]) -> set[int]:
        """The variables of an atom that another atom or a weight has too."""
        others = weighted.union(*(literal_variables(other) for other in atoms if other is not atom))
        return others & set(literal_variables(atom))

    def _fan_out(self, atom: Atom, bound: Collection[int], as_average: Collection[int]) -> int:
        """The facts of an atom that are expected for values of its bound variables.

        A value that was reached through other facts is likely to have many: its expected number is weighted
        by itself. For the variables of ``as_average`` it is the average.
        """
        rows = self._facts.rows(atom.predicate)
        expected = [rows]
        for position, term in enumerate(atom.args):
            if isinstance(term, str) or term in bound:
                sizes = self._facts.sizes(atom.predicate, position)
                if term in as_average:
                    expected.append(-(-rows // max(sizes.distinct, 1)))
                else:
                    expected.append(-(-sizes.squares // max(rows, 1)))
        return max(1, min(expected))

    def _values(self, atoms: Iterable[Atom], variable: int) -> int:
        """An upper bound of the values that a variable of atoms can have."""
        return min(
            (
                self._facts.sizes(atom.predicate, position).distinct
                for atom in atoms
                for position, term in enumerate(atom.args)
                if term == variable
            ),
            default=1,
        )

    # --- examples --------------------------------------------------------------------------------

    def _distinct_keys(self, heads: tuple[int, ...], timed: bool) -> int:
        places = (*heads, self._arity) if timed else heads
        if places not in self._bindings:
            columns = [self._keys[:, place] for place in places]
            self._bindings[places] = len(distinct_rows(columns, len(self._keys))[0])
        return self._bindings[places]

    @cached_property
    def _cutoffs(self) -> int:
        """The number of distinct cut-offs; 1 if there are none."""
        return max(1, self._distinct_keys((), True)) if self._timed else 1


def _atoms(message: Message) -> Sequence[Atom]:
    match message.form:
        case Core(atoms):
            return atoms
        case (Atom() as atom) | Not(atom):
            return (atom,)
        case _:
            return ()
