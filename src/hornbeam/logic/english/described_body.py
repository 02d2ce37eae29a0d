"""The variables of a body in words: things and values, and the conditions that narrow them down."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from hornbeam.logic.clauses import AT_LEAST, Atom, Comparison, Not, format_constant, format_value
from hornbeam.logic.effects import (
    Body,
    Equals,
    NumberOf,
    Recent,
    Step,
    atom_in,
    kind_of_type,
    new_variables_of,
    step_variables,
    variable_types,
)
from hornbeam.logic.english.clauses import Pieces, literal_pieces
from hornbeam.logic.english.nouns import flag_phrase, plural_of, singular_of
from hornbeam.logic.english.wording import Wording
from hornbeam.logic.schema import Schema

_NUMBER = "number of "


@dataclass(slots=True)
class DescribedVariable:
    """A variable in words: a thing, such as ``orders``, or a value of a thing, such as ``amount``."""

    words: str
    parent: int | None
    is_value: bool
    recent: Recent | None = None
    atom: Atom | None = None
    """the atom that leads to it"""
    by: str = ""
    """the link that leads to it, if another link leads from such things to such things, too"""
    conditions: list[Pieces] = field(default_factory=list)
    literals: list[Pieces] = field(default_factory=list)
    """conditions in logic notation, which name the variable by its letter"""


class DescribedBody:
    """The variables of a body in words, and what each step says about them."""

    def __init__(
        self, schema: Schema, head: Atom, body: Body, wording: Wording, wanted: Set[int | None] = frozenset()
    ) -> None:
        self.schema = schema
        self.head = head
        self.body = body
        self.wording = wording
        self.wanted = wanted
        """the variables that are used outside of the body"""
        self.types = variable_types(schema, head, body)
        self.variables: dict[int, DescribedVariable] = {}
        """the variables that are not in the head, in the order of the steps that bind them"""
        self.of_head: list[Step] = []
        """conditions on the example itself"""
        self.lettered: set[int] = set()
        """variables that are named by their letters"""
        self._uses = [variable for step in body for variable in step_variables(step)]
        self._fixed = {step.variable for step in body if isinstance(step, Equals)}
        for step in body:
            self._add(step)

    @property
    def is_pair(self) -> bool:
        """Whether examples are of several things, which letters tell apart."""
        return len(self.head.args) > 1

    @property
    def examples(self) -> str:
        """What examples are: ``customers``, ``pairs``."""
        if len(self.head.args) == 2:
            return "pairs"
        return plural_of(self.wording.example or "example")

    def _add(self, step: Step) -> None:
        known = {*self.variables, *(term for term in self.head.args if isinstance(term, int))}
        new = new_variables_of(step, known)
        if not new:
            variable, pieces, literal = self.condition(step)
            owner = None if variable is None else self.variables.get(variable)
            if owner is None:
                self.of_head.append(step)
            else:
                (owner.literals if literal else owner.conditions).append(pieces)
            return
        atom = atom_in(step)
        assert atom is not None
        linked = [term for term in atom.args if isinstance(term, int) and term in known]
        things = [term for term in linked if not self._is_value(term)] or linked
        # A value of several things, such as a rating, belongs to the one that was reached last.
        reached = [variable for variable in self.variables if variable in things]
        parent = reached[-1] if reached else things[-1] if things else None
        if parent is None:
            new = self._named(new)
        recent = step if isinstance(step, Recent) else None
        for variable in new:
            if isinstance(step, NumberOf):
                inner = [each for each in step_variables(step) if each not in known and each != variable]
                name = self._noun(step.atom, inner[0] if len(inner) == 1 else None, parent)
                name = f"{_NUMBER}{plural_of(name)}{self._by(step.atom, inner, parent)}"
                self.variables[variable] = DescribedVariable(name, parent, True)
                continue
            is_value = self._is_value(variable)
            words = self._words(atom, variable, parent)
            by = "" if is_value else self._by(atom, [variable], parent)
            self.variables[variable] = DescribedVariable(words, parent, is_value, recent, atom, by)
            # The limit in time is said once.
            recent = None
            if not is_value:
                # A further value of the same fact, such as a rating, belongs to the thing reached.
                parent = variable

    def _named(self, new: tuple[int, ...]) -> tuple[int, ...]:
        """Of the variables of a step about all things: the first thing, and all that other steps use."""
        things = [variable for variable in new if not self._is_value(variable)]
        left_out = {each for each in things[1:] if self._uses.count(each) == 1 and each not in self.wanted}
        return tuple(variable for variable in new if variable not in left_out)

    def _words(self, atom: Atom, variable: int, parent: int | None) -> str:
        if self._is_column(self.types[variable]):
            return self.wording.column(atom.predicate)
        name = self._noun(atom, variable, parent)
        return singular_of(name) if self._is_value(variable) else name

    def _noun(self, atom: Atom, variable: int | None, parent: int | None) -> str:
        """The type of the things that an atom leads to; its predicate if the type says nothing new."""
        type_name = None if variable is None else self._type_in(atom, variable)
        if type_name is None or (parent is not None and self.types[parent] == type_name):
            return self.wording.row(atom.predicate)
        if parent is not None and self._is_column_of(atom, parent, type_name):
            return self.wording.column(atom.predicate)
        return self.wording.noun(type_name)

    def _type_in(self, atom: Atom, variable: int) -> str:
        return self.schema.types_of(atom.predicate)[atom.args.index(variable)]

    def _by(self, atom: Atom, reached: Sequence[int], parent: int | None) -> str:
        """`` by taughtby``: the link, if there are several between things of these types."""
        if parent is None or len(reached) != 1:
            return ""
        type_name = self._type_in(atom, reached[0])
        is_named = self.types[parent] == type_name or self._is_column_of(atom, parent, type_name)
        is_clear = is_named or len(self._links(self.types[parent], type_name)) < 2
        return "" if is_clear else f" by {self.wording.column(atom.predicate)}"

    def _is_column_of(self, atom: Atom, parent: int, type_name: str) -> bool:
        """Whether an atom is one of several columns of a table that lead to the same table."""
        is_column = atom.predicate in self.wording.single and atom.args[0] == parent
        return is_column and len(self._links(self.types[parent], type_name)) > 1

    def is_one(self, variable: int) -> bool:
        """Whether a thing is the only one of its kind: the last order of an example, the team of a thing."""
        each = self.variables.get(variable)
        if each is None:
            return True
        if each.parent is None or each.atom is None:
            return False
        is_column = each.atom.predicate in self.wording.single and each.atom.args[0] == each.parent
        is_last = each.recent is not None and each.recent.last == 1
        return (is_column or is_last) and self.is_one(each.parent)

    def _links(self, one: str, other: str) -> list[str]:
        """The predicates that link things of two types, but for the target."""
        return [
            name
            for name, types in self.schema.predicates.items()
            if len(types) == 2 and set(types) == {one, other} and name != self.head.predicate
        ]

    def _is_value(self, variable: int) -> bool:
        """Whether a variable has values, or things of which only one is meant, as in ``C = red``."""
        is_fixed = variable in self._fixed and self._uses.count(variable) == 2 and variable not in self.wanted
        return is_fixed or self._is_column(self.types[variable])

    def _is_column(self, type_name: str) -> bool:
        """Whether constants of a type are values of a column."""
        if type_name.endswith("_value") or type_name in self.wording.values:
            return True
        return kind_of_type(self.schema, type_name) is not None

    def condition(self, step: Step) -> tuple[int | None, Pieces, bool]:
        """A step that narrows groundings down: the variable it is about, words, whether it is a literal."""
        if isinstance(step, Comparison | Equals):
            value = self.variables.get(step.variable)
            if value is not None and value.is_value and value.parent is not None:
                return value.parent, [f"with {self._value_words(value, step)}"], False
            if value is not None and isinstance(step, Equals):
                return step.variable, [f"that are {self.constant(step)}"], False
            return step.variable, ["with ", *self._literal(step)], True
        atom = atom_in(step)
        assert atom is not None
        without = "without " if isinstance(step, Not) else "with "
        used = [term for term in atom.args if isinstance(term, int)]
        if self._is_plain(step, atom, used) and self._may_lack_letter(used[0]):
            name = self.wording.column(atom.predicate)
            if len(atom.args) == 1:
                return used[0], [f"that {flag_phrase(name, True, isinstance(step, Not))}"], False
            return used[0], [f"{without}{name} {self._constant_of(atom)}"], False
        things = [variable for variable in used if variable in self.variables]
        if isinstance(step, Atom | Not) and len(things) == 1:
            linked = self._linked(step, atom, things[0])
            if linked:
                return things[0], linked, False
        some = self._some(step, atom, used)
        if some and self._may_lack_letter(used[0]):
            return used[0], [f"{without}{some}"], False
        pieces = self._literal(step)
        return things[-1] if things else None, pieces if isinstance(step, Not) else ["with ", *pieces], True

    def _linked(self, step: Step, atom: Atom, thing: int) -> Pieces:
        """``that B has too``, ``linked to A by likes``: what links a thing to the example itself."""
        others = [term for term in atom.args if term != thing]
        if len(atom.args) != 2 or len(others) != 1 or others[0] not in self.head.args:
            return []
        (other,) = others
        assert isinstance(other, int)
        each = self.variables[thing]
        if isinstance(step, Atom) and each.atom is not None and each.recent is None and other != each.parent:
            swapped = tuple(other if term == each.parent else term for term in each.atom.args)
            if each.parent in self.head.args and Atom(each.atom.predicate, swapped) == atom:
                return ["that ", other, " has too"]
        negated = "not " if isinstance(step, Not) else ""
        return [f"{negated}linked to ", *self.subject(other), f" by {self.wording.column(atom.predicate)}"]

    def subject(self, variable: int) -> Pieces:
        """The example, or the thing of a pair: ``the user``, ``A``."""
        return [variable] if self.is_pair else [f"the {self.wording.example or 'example'}"]

    def clause(self, step: Step) -> Pieces:
        """A condition on the example itself: ``its age is at least 35``, ``A has at least 3 titles``."""
        if isinstance(step, Comparison | Equals):
            value = self.variables.get(step.variable)
            if value is None or value.parent not in self.head.args:
                return self._literal(step)
            assert value.parent is not None
            if value.words.startswith(_NUMBER):
                return [*self.subject(value.parent), f" has {self._value_words(value, step)}"]
            return [*self._own(value.parent, value.words), f" is {self._bound(step)}"]
        atom = atom_in(step)
        assert atom is not None
        used = [term for term in atom.args if isinstance(term, int)]
        # Without a noun for the example, logic notation is clearer.
        if not (self.wording.example or self.is_pair):
            return self._literal(step)
        is_negated = isinstance(step, Not)
        if self._is_plain(step, atom, used):
            words = self.wording.column(atom.predicate)
            if len(atom.args) == 1:
                return [*self.subject(used[0]), f" {flag_phrase(words, negated=is_negated)}"]
            constant = self._constant_of(atom)
            return [*self._own(used[0], words), f" is {'not ' if is_negated else ''}{constant}"]
        some = self._some(step, atom, used)
        if some:
            return [*self.subject(used[0]), f" has {'not ' if is_negated else ''}{some}"]
        return self._literal(step)

    def _own(self, variable: int, words: str) -> Pieces:
        return [f"the {words} of ", variable] if self.is_pair else [f"{self.wording.owner} {words}"]

    @staticmethod
    def _is_plain(step: Step, atom: Atom, used: list[int]) -> bool:
        """Whether a step is a flag or a constant of one thing: ``vip(A)``, ``not status(A,new)``."""
        one = len(used) == 1 and len(atom.args) <= 2 and atom.args[0] == used[0]
        return one and not isinstance(step, Recent | NumberOf)

    def _some(self, step: Step, atom: Atom, used: list[int]) -> str:
        """``a known age``, ``any orders``: what a thing has if it is linked to anything; empty if unclear."""
        last = self.schema.types_of(atom.predicate)[-1]
        new = len(used) == len(atom.args) == 2 and used[1] not in {*self.types, *self.head.args}
        if not new or isinstance(step, Recent | NumberOf):
            return ""
        if self._is_column(last):
            return f"a known {self.wording.column(atom.predicate)}"
        return f"any {plural_of(self.wording.noun(last))}"

    def _may_lack_letter(self, variable: int) -> bool:
        """Whether words without a letter are clear: not for the things of a pair of examples."""
        return variable in self.variables or not self.is_pair

    def _literal(self, step: Step) -> Pieces:
        """A step in logic notation; the things in it get letters."""
        pieces = step_pieces(step)
        self.lettered.update(piece for piece in pieces if isinstance(piece, int))
        return pieces

    def _value_words(self, value: DescribedVariable, step: Comparison | Equals) -> str:
        """``age at least 35``, ``fewer than 3 orders``, ``status open``."""
        number = value.words.removeprefix(_NUMBER)
        if isinstance(step, Equals) or number == value.words:
            return f"{value.words} {self._bound(step)}"
        least = "at least" if step.operator == AT_LEAST else "fewer than"
        return f"{least} {format_value(step.value)} {number}"

    def _bound(self, step: Comparison | Equals) -> str:
        if isinstance(step, Equals):
            return self.constant(step)
        return f"{'at least' if step.operator == AT_LEAST else 'below'} {format_value(step.value)}"

    def constant(self, step: Equals) -> str:
        """The constant that a variable is, as people call it."""
        return self.wording.constant(self.types[step.variable], step.constant)

    def _constant_of(self, atom: Atom) -> str:
        """The constant that is the second argument of an atom, as people call it."""
        return self.wording.constant(self.schema.types_of(atom.predicate)[1], str(atom.args[1]))

    def is_simple(self) -> bool:
        """Whether there is at most one thing, without conditions, so that words after it are about it."""
        described = self.variables.values()
        narrowed = any(each.conditions or each.literals for each in described)
        return not narrowed and sum(not each.is_value for each in described) <= 1

    def is_about_example(self, is_flag: bool = True) -> bool:
        """Whether the body is only conditions on the example itself, which is true or false.

        ``is_flag``: a number of groundings is 0 or not; of other numbers, only those that cannot exceed 1.
        """
        compared = {step.variable for step in self.of_head if isinstance(step, Comparison | Equals)}
        if not self.of_head or not set(self.variables) <= compared:
            return False
        several = any(each.recent for each in self.variables.values())
        return not several and (is_flag or not any(isinstance(step, Comparison) for step in self.of_head))

    def own_conditions(self) -> frozenset[int]:
        """The variables of which the body only says a condition on the example itself."""
        compared = {step.variable for step in self.of_head if isinstance(step, Comparison | Equals)}
        return frozenset(each for each in compared if self._uses.count(each) == 2 and each not in self.wanted)

    def is_beside(self, variable: int, main: Set[int]) -> bool:
        """Whether a variable is not on the main path, and no condition on what leads to it names it."""
        if variable in main or variable in self.wanted:
            return False
        each = self.variables[variable]
        return not each.is_value or (each.atom is not None and self._uses.count(variable) == 1)

    def children(self, variable: int) -> list[int]:
        return [other for other, each in self.variables.items() if each.parent == variable]

    def way_to(self, variable: int | None) -> set[int]:
        """A variable and those that lead to it from the example."""
        way: set[int] = set()
        while variable is not None and variable in self.variables:
            way.add(variable)
            variable = self.variables[variable].parent
        return way


def step_pieces(step: Step) -> Pieces:
    """A step in logic notation."""
    if isinstance(step, Recent):
        return [str(step).removesuffix(str(step.atom)), *literal_pieces(step.atom)]
    if isinstance(step, NumberOf):
        return [step.variable, " = number of ", *literal_pieces(step.atom)]
    if isinstance(step, Equals):
        return [step.variable, f" = {format_constant(step.constant)}"]
    return literal_pieces(step)
