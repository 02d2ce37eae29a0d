"""How a body is counted: into factors, and each factor into messages. Pure logic, no data.

Bind the head variables, and the body falls into *components* that share no free variable; the
count of the body is the product of theirs. Within a component, a literal that touches the rest in
one variable only can be summed out: it becomes a *message*, a number for each value of that
variable. What cannot be summed out, because it is a cycle or links two head variables, is the
component's *core*; it is joined on the bindings that examples have, with the messages as weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product

from hornbeam.clauses import Atom, Clause, Literal, Not, atom_of, literal_variables


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """For each value of variable 0: the ways to satisfy a literal and all that hangs from it.

    The literal's other variables are 1, 2, ...; ``below`` lists the messages at each of them.
    Equal messages are one object, so that a message is counted once for all clauses.
    """

    literal: Literal
    below: tuple[tuple[int, tuple[Message, ...]], ...]
    depth: int
    number: int


@dataclass(frozen=True, slots=True)
class Core:
    """Atoms joined on bindings of variables 0 .. anchors-1; the other variables are free."""

    atoms: tuple[Atom, ...]
    anchors: int


@dataclass(frozen=True, slots=True)
class Summed:
    """The product of messages at a head variable; summed over a population where ``head`` is None."""

    head: int | None
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Joined:
    """A core joined on these head variables (none: all values of its variable 0, summed)."""

    heads: tuple[int, ...]
    core: Core
    weights: tuple[tuple[int, tuple[Message, ...]], ...]


Factor = Summed | Joined


@dataclass(frozen=True, slots=True)
class Term:
    """``sign`` times the populations of ``vanished`` variables times the product of factors."""

    sign: int
    vanished: tuple[int, ...]
    factors: tuple[Factor, ...]


@dataclass(slots=True)
class Planner:
    """Plans clauses; remembers plans and messages, so that equal parts are the same object."""

    _messages: dict[tuple[object, ...], Message] = field(default_factory=dict)
    _plans: dict[Clause, tuple[Term, ...]] = field(default_factory=dict)

    def plan(self, clause: Clause) -> tuple[Term, ...]:
        """The count of a clause as a signed sum of products."""
        terms = self._plans.get(clause)
        if terms is None:
            terms = self._plans[clause] = self._terms(clause)
        return terms

    def _terms(self, clause: Clause) -> tuple[Term, ...]:
        """Negated literals with two or more variables by inclusion and exclusion.

        t(body, not l) = N_new * t(body) - t(body, l). Those with one variable need no such
        expansion: their message is 1 where the atom is no fact.
        """
        plain: list[Literal] = []
        negated: list[Atom] = []
        for literal in dict.fromkeys(clause.body):
            if isinstance(literal, Not) and len(literal_variables(literal)) > 1:
                negated.append(literal.atom)
            else:
                plain.append(literal)
        heads = set(clause.head.args)
        if not negated:
            return (Term(1, (), self._factors(tuple(plain), heads)),)
        free = clause.free_variables()
        terms = []
        for chosen in product((False, True), repeat=len(negated)):
            added = [atom for atom, use in zip(negated, chosen, strict=True) if use]
            body = tuple(dict.fromkeys([*plain, *added]))
            used = {variable for literal in body for variable in literal_variables(literal)}
            vanished = tuple(variable for variable in free if variable not in used)
            terms.append(Term((-1) ** len(added), vanished, self._factors(body, heads)))
        return tuple(terms)

    def _factors(self, body: tuple[Literal, ...], heads: set[int | str]) -> tuple[Factor, ...]:
        factors: list[Factor] = []
        for literals, anchors in components(body, heads):
            core, hanging = self._sum_out(literals, anchors)
            if core:
                root = anchors or literal_variables(core[0])[:1]
                factors.append(self._joined(core, hanging, root, anchors))
            else:
                # All of a component without a core ends as messages at one variable.
                ((_, messages),) = hanging.items()
                factors.append(Summed(anchors[0] if anchors else None, tuple(messages)))
        return tuple(factors)

    def _sum_out(
        self, literals: Sequence[Literal], anchors: Sequence[int]
    ) -> tuple[list[Literal], dict[int, list[Message]]]:
        """The core of a component, and the messages that hang at each of its variables."""
        core = [(literal, literal_variables(literal)) for literal in literals]
        hanging: dict[int, list[Message]] = {}
        position = 0
        while position < len(core):
            literal, own = core[position]
            shared = [
                v
                for v in own
                if v in anchors
                or any(v in other for place, (_, other) in enumerate(core) if place != position)
            ]
            if len(shared) > 1:
                position += 1
                continue
            del core[position]
            root = shared[0] if shared else (own[0] if own else -1)
            hanging.setdefault(root, []).append(self._message(literal, root, hanging))
            position = 0
        return [literal for literal, _ in core], hanging

    def _message(self, literal: Literal, root: int, hanging: dict[int, list[Message]]) -> Message:
        numbers = {root: 0}
        below = []
        depth = 0
        for variable in literal_variables(literal):
            if variable != root:
                numbers[variable] = len(numbers)
                messages = hanging.pop(variable, None)
                if messages:
                    messages.sort(key=lambda message: message.number)
                    below.append((numbers[variable], tuple(messages)))
                    depth = max(depth, max(message.depth for message in messages) + 1)
        atom = renumbered(atom_of(literal), numbers)
        key = (atom, isinstance(literal, Not), tuple(below))
        message = self._messages.get(key)
        if message is None:
            form: Literal = Not(atom) if isinstance(literal, Not) else atom
            message = Message(form, tuple(below), depth, len(self._messages))
            self._messages[key] = message
        return message

    def _joined(
        self,
        core: list[Literal],
        hanging: dict[int, list[Message]],
        root: Sequence[int],
        anchors: tuple[int, ...],
    ) -> Joined:
        numbers = {variable: number for number, variable in enumerate(root)}
        for literal in core:
            for variable in literal_variables(literal):
                numbers.setdefault(variable, len(numbers))
        atoms = tuple(renumbered(atom_of(literal), numbers) for literal in core)
        weights = tuple(
            (numbers[variable], tuple(sorted(messages, key=lambda message: message.number)))
            for variable, messages in sorted(hanging.items(), key=lambda item: numbers[item[0]])
        )
        return Joined(anchors, Core(atoms, len(root)), weights)


def renumbered(atom: Atom, numbers: dict[int, int]) -> Atom:
    """The atom with every variable replaced by its number."""
    return Atom(
        atom.predicate,
        tuple(numbers[term] if isinstance(term, int) else term for term in atom.args),
    )


def components(body: Iterable[Literal], bound: set[int | str]) -> list[tuple[list[Literal], tuple[int, ...]]]:
    """The body cut into parts that share no unbound variable, each with the bound ones it touches."""
    parts: list[tuple[set[int], list[Literal]]] = []
    for literal in body:
        free = {variable for variable in literal_variables(literal) if variable not in bound}
        literals = [literal]
        apart = []
        for part in parts:
            if part[0].isdisjoint(free):
                apart.append(part)
            else:
                free |= part[0]
                literals = part[1] + literals
        apart.append((free, literals))
        parts = apart
    return [
        (
            literals,
            tuple(
                sorted(
                    {
                        variable
                        for literal in literals
                        for variable in literal_variables(literal)
                        if variable in bound
                    }
                )
            ),
        )
        for _, literals in parts
    ]


def messages_of(terms: Iterable[Term]) -> Iterable[Message]:
    """Every message that the terms read directly."""
    for term in terms:
        for factor in term.factors:
            if isinstance(factor, Summed):
                yield from factor.messages
            else:
                for _, messages in factor.weights:
                    yield from messages
