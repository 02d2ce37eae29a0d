"""The plan of a count: factors for a body, messages for a factor. It does not depend on data.

With the head variables bound, a body separates into *components* that share no free variable; the
count of the body is the product of their counts. Within a component, a literal can be summed out if
it shares only one variable with the other literals, or only variables that one other literal has.
It becomes a *message*, a number for each value of the shared variables. Literals that cannot be
summed out, because they form a cycle or link two head variables, are the component's *core*. A core
is joined on the bindings of the examples, with the messages as weights. A core that shares one
variable with the other literals is joined once for each value of that variable; it is called a
*knot*, and is a message too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from hornbeam.logic.bodies import CanonicalComponent, components_of
from hornbeam.logic.clauses import (
    Atom,
    Clause,
    Comparison,
    Literal,
    Not,
    atom_of,
    atoms_of,
    cut,
    literal_variables,
    touched,
)
from hornbeam.logic.schema import Schema, number_of

Variables = tuple[int, ...]
BYTES_PER_PLAN = 500
"""About the bytes that a cached plan, factor or message takes, with its clause or key."""
Types = Mapping[int, str]
"""The type of each variable of a clause; empty unless the clause has comparisons."""


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """For each value of variables 0 .. roots-1: the ways to satisfy a literal and the messages below it.

    ``below`` has the messages attached to its variables; a knot has a core instead of a literal.
    Equal messages are one object, so that a message is computed once for all clauses.
    """

    form: Atom | Not | Compared | Core
    roots: int
    below: Attachments
    depth: int
    number: int


@dataclass(frozen=True, slots=True)
class Compared:
    """1 for each value of a numeric type on one side of a number, 0 for the other values."""

    type: str
    operator: str
    number: float


Attachments = tuple[tuple[Variables, tuple[Message, ...]], ...]
"""Messages with the variables that they are attached to, in the order of the messages' roots."""


@dataclass(frozen=True, slots=True)
class Core:
    """Atoms joined on bindings of variables 0 .. anchors-1; the other variables are free."""

    atoms: tuple[Atom, ...]
    anchors: int


@dataclass(frozen=True, slots=True)
class MessageFactor:
    """The product of messages at a head variable; if ``head`` is None, its sum over a population."""

    head: int | None
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class CoreFactor:
    """A core joined on head variables; without any, its sum over all values of its variable 0."""

    heads: tuple[int, ...]
    core: Core
    weights: Attachments


Factor = MessageFactor | CoreFactor


@dataclass(frozen=True, slots=True)
class CountTerm:
    """``sign`` times the populations of the ``vanished`` variables times the product of factors."""

    sign: int
    vanished: tuple[int, ...]
    factors: tuple[Factor, ...]


@dataclass(slots=True)
class Planner:
    """Plans clauses; caches plans and messages, so that equal factors and messages are one object."""

    schema: Schema
    _messages: dict[object, Message] = field(default_factory=dict)
    _plans: dict[Clause, tuple[CountTerm, ...]] = field(default_factory=dict)
    _known: dict[object, Factor] = field(default_factory=dict)
    _of_component: dict[CanonicalComponent, Factor] = field(default_factory=dict)
    _factors_made: dict[Factor, Factor] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """An estimate of the bytes that the plans take."""
        others = len(self._messages) + len(self._known) + len(self._of_component) + len(self._factors_made)
        return BYTES_PER_PLAN * (len(self._plans) + others)

    def plan(self, clause: Clause) -> tuple[CountTerm, ...]:
        """The count of a clause as a sum of terms with signs."""
        terms = self._plans.get(clause)
        if terms is None:
            terms = self._plans[clause] = self._terms(clause)
        return terms

    def _terms(self, clause: Clause) -> tuple[CountTerm, ...]:
        """Expands negated literals with two or more variables by inclusion and exclusion.

        t(body, not l) = N_new * t(body) - t(body, l). A negated literal with one variable needs no
        expansion: its message is 1 where the atom is not a fact.
        """
        composed: tuple[CanonicalComponent, ...] | None = vars(clause).get("components")
        if composed is not None and all(part.plain for part in composed):
            return (CountTerm(1, (), tuple([self._component_factor(part) for part in composed])),)
        types: Types = {}
        if any(isinstance(literal, Comparison) for literal in clause.body):
            types = self.schema.variable_types(clause)
        else:
            parts = components_of(clause)
            if all(part.plain for part in parts):
                return (CountTerm(1, (), tuple([self._component_factor(part) for part in parts])),)
        plain: list[Literal] = []
        negated: list[Atom] = []
        for literal in dict.fromkeys(clause.body):
            if isinstance(literal, Not) and len(literal_variables(literal)) > 1:
                negated.append(literal.atom)
            else:
                plain.append(literal)
        heads = set(clause.head.args)
        if not negated:
            return (CountTerm(1, (), self._factors(tuple(plain), heads, types)),)
        free = clause.free_variables()
        terms = []
        for chosen in product((False, True), repeat=len(negated)):
            added = [atom for atom, use in zip(negated, chosen, strict=True) if use]
            body = tuple(dict.fromkeys([*plain, *added]))
            used = {variable for literal in body for variable in literal_variables(literal)}
            vanished = tuple(variable for variable in free if variable not in used)
            terms.append(CountTerm((-1) ** len(added), vanished, self._factors(body, heads, types)))
        return tuple(terms)

    def _component_factor(self, part: CanonicalComponent) -> Factor:
        factor = self._of_component.get(part)
        if factor is None:
            # Use the order that ``cut`` gives, as ``_factors`` does: the order of joins depends on it.
            (component,) = cut(part.literals, part.heads)
            factor = self._of_component[part] = self._factor(component.literals, part.heads, {})
        return factor

    def _factors(self, body: tuple[Literal, ...], heads: set[int | str], types: Types) -> tuple[Factor, ...]:
        factors = []
        for component in cut(body, heads):
            literals, anchors = component.literals, touched(component.literals, heads)
            # Atoms determine the types of their variables, but a compared variable may have no atom here.
            compared = [literal.variable for literal in literals if isinstance(literal, Comparison)]
            key = (literals, anchors, tuple(types[variable] for variable in compared))
            factor = self._known.get(key)
            if factor is None:
                factor = self._known[key] = self._factor(literals, anchors, types)
            factors.append(factor)
        return tuple(factors)

    def _factor(self, literals: Sequence[Literal], anchors: Variables, types: Types) -> Factor:
        core, attached = self._sum_out(literals, anchors, types)
        if core:
            roots = anchors or literal_variables(core[0])[:1]
            form, weights = self._core(core, attached, roots, stay=())
            factor: Factor = CoreFactor(anchors, form, weights)
        else:
            # A component without a core is reduced to messages at one variable.
            ((_, messages),) = attached.items()
            factor = MessageFactor(anchors[0] if anchors else None, tuple(messages))
        return self._factors_made.setdefault(factor, factor)

    def _sum_out(
        self, literals: Sequence[Literal], anchors: Variables, types: Types
    ) -> tuple[list[Literal], dict[Variables, list[Message]]]:
        """The core of a component, and the messages attached to its variables."""
        core = list(literals)
        attached: dict[Variables, list[Message]] = {}
        while core:
            ear = _ear(core, anchors)
            if ear is not None:
                literal, roots = ear
                core.remove(literal)
                message = self._summed_literal(literal, roots, attached, types)
                attached.setdefault(roots, []).append(message)
                continue
            knot = _knot(core, anchors)
            if knot is None:
                break
            atoms, root = knot
            core = [literal for literal in core if literal not in atoms]
            message = self._knot(atoms, root, attached)
            attached.setdefault((root,), []).append(message)
        return core, attached

    def _summed_literal(
        self, literal: Literal, roots: Variables, attached: dict[Variables, list[Message]], types: Types
    ) -> Message:
        if isinstance(literal, Comparison):
            number = number_of(literal.value)
            return self._message(Compared(types[literal.variable], literal.operator, number), 1, ())
        numbers = {variable: number for number, variable in enumerate(roots)}
        for variable in literal_variables(literal):
            numbers.setdefault(variable, len(numbers))
        below = _detached(attached, numbers, roots)
        atom = renumbered(atom_of(literal), numbers)
        return self._message(Not(atom) if isinstance(literal, Not) else atom, len(roots), below)

    def _knot(self, atoms: list[Literal], root: int, attached: dict[Variables, list[Message]]) -> Message:
        core, below = self._core(atoms, attached, (root,), stay=(root,))
        return self._message(core, 1, below)

    def _message(self, form: Atom | Not | Compared | Core, roots: int, below: Attachments) -> Message:
        key = (type(form), form, roots, below)
        message = self._messages.get(key)
        if message is None:
            depth = max((m.depth + 1 for _, messages in below for m in messages), default=0)
            message = Message(form, roots, below, depth, len(self._messages))
            self._messages[key] = message
        return message

    def _core(
        self,
        core: list[Literal],
        attached: dict[Variables, list[Message]],
        roots: Variables,
        stay: Variables,
    ) -> tuple[Core, Attachments]:
        numbers = {variable: number for number, variable in enumerate(roots)}
        for literal in core:
            for variable in literal_variables(literal):
                numbers.setdefault(variable, len(numbers))
        # A comparison has one variable and is always summed out, so a core has no comparisons.
        atoms = tuple(renumbered(atom, numbers) for atom in atoms_of(core))
        return Core(atoms, len(roots)), _detached(attached, numbers, stay)


def _ear(core: list[Literal], anchors: Variables) -> tuple[Literal, Variables] | None:
    """A literal that can be summed out, and its roots: the variables it shares with the others."""
    wide: tuple[Literal, Variables] | None = None
    own = [literal_variables(literal) for literal in core]
    for place, literal in enumerate(core):
        others = [variables for at, variables in enumerate(own) if at != place]
        shared = tuple(v for v in own[place] if v in anchors or any(v in other for other in others))
        if len(shared) <= 1:
            return literal, shared or own[place][:1]
        if wide is None and any(set(shared) <= set(other) for other in others):
            wide = literal, shared
    return wide


def _knot(core: list[Literal], anchors: Variables) -> tuple[list[Literal], int] | None:
    """Literals of a core that share one variable with the others and contain no anchor, and the variable."""
    if not anchors:
        return None
    free = dict.fromkeys(v for literal in core for v in literal_variables(literal) if v not in anchors)
    for variable in free:
        bound = {variable, *anchors}
        for component in cut(core, bound):
            literals = component.literals
            if touched(literals, bound) == (variable,) and len(literals) < len(core):
                return list(literals), variable
    return None


def _detached(
    attached: dict[Variables, list[Message]], numbers: dict[int, int], stay: Variables
) -> Attachments:
    """Detach the messages at numbered variables, unless all of a message's variables are in ``stay``."""
    detached = []
    for variables in list(attached):
        if all(v in numbers for v in variables) and not all(v in stay for v in variables):
            messages = sorted(attached.pop(variables), key=lambda message: message.number)
            detached.append((tuple(numbers[v] for v in variables), tuple(messages)))
    return tuple(sorted(detached, key=lambda item: item[0]))


def renumbered(atom: Atom, numbers: dict[int, int]) -> Atom:
    """The atom with each variable replaced by its number."""
    return Atom(
        atom.predicate,
        tuple(numbers[term] if isinstance(term, int) else term for term in atom.args),
    )


def messages_of(factors: Iterable[Factor]) -> Iterable[Message]:
    """Every message that the factors read directly."""
    for factor in factors:
        if isinstance(factor, MessageFactor):
            yield from factor.messages
        else:
            for _, messages in factor.weights:
                yield from messages
