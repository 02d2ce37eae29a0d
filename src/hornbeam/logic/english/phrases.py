"""The feature of an effect as a noun phrase: ``the mean amount of its orders``."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

from hornbeam.logic import effects as kinds
from hornbeam.logic.clauses import AT_LEAST, Atom, Comparison, Not
from hornbeam.logic.effect_types import kind_of_type, variable_types
from hornbeam.logic.effects import (
    Body,
    Effect,
    Equals,
    NumberOf,
    Recent,
    Step,
    atom_in,
    new_variables_of,
    step_variables,
)
from hornbeam.logic.english.clauses import Pieces, joined, literal_pieces
from hornbeam.logic.english.nouns import flag_phrase, plain_name, plural_of, singular_of
from hornbeam.logic.english.whether import whether_pieces
from hornbeam.logic.english.wording import PLAIN, Wording
from hornbeam.logic.schema import Schema
from hornbeam.logic.text import format_constant, format_value

WHETHER = "whether "
"""The first piece of the phrase of a feature that is true or false."""
_OF_VALUES = {
    kinds.SUM: "total ",
    kinds.MEAN: "mean ",
    kinds.MINIMUM: "smallest ",
    kinds.MAXIMUM: "largest ",
    kinds.SPREAD: "standard deviation of the ",
    kinds.FIRST: "earliest ",
    kinds.LAST: "latest ",
}


@dataclass(slots=True)
class _Described:
    """A variable in words: a thing, such as ``orders``, or a value of a thing, such as ``amount``."""

    words: str
    parent: int | None
    is_value: bool
    recent: Recent | None = None
    atom: Atom | None = None
    """the atom that leads to it"""
    conditions: list[Pieces] = field(default_factory=list)
    literals: list[Pieces] = field(default_factory=list)
    """conditions in logic notation, which name the variable by its letter"""


def feature_pieces(effect: Effect, schema: Schema, dated: bool = False, wording: Wording = PLAIN) -> Pieces:
    """The feature of an effect as a noun phrase: ``the mean amount of its orders``.

    The phrase of a feature that is true or false starts with ``whether``.
    """
    head, body, (kind, variable), curve = effect
    unit = "number of days" if dated else "time"
    if kind == kinds.MONTH:
        return ["the month of the cut-off"]
    if kind == kinds.COUNT and curve.cuts in ((), (1.0,)):
        whether = whether_pieces(head, body, wording)
        if whether:
            return [WHETHER, *whether]
    guard = body[:-1] if kind == kinds.SHARE else body
    wanted = {variable, *(each for step in body[len(guard) :] for each in step_variables(step))}
    words = _BodyWords(schema, head, guard, (dated, wording), wanted)
    if kind in (kinds.SHARE, kinds.COUNT) and not words.described:
        return [WHETHER, *_all_of(body)]
    if kind == kinds.SHARE:
        # The last step is described first, because it may refer to a thing by its letter.
        _, condition, _ = words.condition(body[-1])
        if words.is_simple():
            return ["the share of ", *words.groundings(), " ", *condition]
        return ["the share ", *condition, " among ", *words.groundings()]
    words.counts = kind in (kinds.COUNT, kinds.DISTINCT)
    if kind == kinds.COUNT:
        return ["the number of ", *words.groundings()]
    if kind in kinds.OF_TIMES:
        which = "earliest" if kind == kinds.SINCE_FIRST else "latest"
        return [f"the {unit} since the {which} of ", *words.groundings()]
    assert variable is not None
    if kind == kinds.DISTINCT:
        return ["the number of ", *words.different(variable)]
    if kind == kinds.VALUE:
        return words.value(variable)
    if kind == kinds.SINCE:
        return [f"the {unit} since ", *words.value(variable)]
    if words.is_own(variable):
        return [f"{wording.owner} ", _OF_VALUES[kind], *words.own_values(variable)]
    return ["the ", _OF_VALUES[kind], *words.values(variable)]


def some_examples(effect: Effect, schema: Schema, wording: Wording = PLAIN) -> bool:
    """Whether the body has conditions on the example itself: other examples have no groundings."""
    words = _BodyWords(schema, effect.head, effect.body, (False, wording), set())
    return bool(words.of_head) and len(words.described) > 0


class _BodyWords:
    """The variables of a body in words."""

    def __init__(
        self, schema: Schema, head: Atom, body: Body, style: tuple[bool, Wording], wanted: Set[int | None]
    ) -> None:
        self.schema = schema
        self.head = head
        self.body = body
        self.dated, self.wording = style
        self.wanted = wanted
        """the variables that are used outside of the body"""
        self.types = variable_types(schema, head, body)
        self.described: dict[int, _Described] = {}
        """the variables that are not in the head, in the order of the steps that bind them"""
        self.of_head: list[Pieces] = []
        """conditions on the example itself"""
        self.counts = False
        """whether the phrase is about a number that is 0 for examples without groundings"""
        self.lettered: set[int] = set()
        """variables that are named by their letters"""
        for step in body:
            self._add(step)

    def _add(self, step: Step) -> None:
        known = {*self.described, *(term for term in self.head.args if isinstance(term, int))}
        new = new_variables_of(step, known)
        if not new:
            variable, pieces, literal = self.condition(step)
            owner = None if variable is None else self.described.get(variable)
            if owner is None:
                self.of_head.append(pieces)
            else:
                (owner.literals if literal else owner.conditions).append(pieces)
            return
        atom = atom_in(step)
        assert atom is not None
        linked = [term for term in atom.args if isinstance(term, int) and term in known]
        things = [term for term in linked if not self._is_value(term)] or linked
        parent = things[-1] if things else None
        if parent is None:
            new = self._named(new)
        for variable in new:
            if isinstance(step, NumberOf):
                inner = [each for each in step_variables(step) if each not in known and each != variable]
                name = self._noun(step.atom, inner[0] if len(inner) == 1 else None, parent)
                name = f"number of {plural_of(plain_name(name))}"
                self.described[variable] = _Described(name, parent, True)
                continue
            recent = step if isinstance(step, Recent) else None
            if self._is_value(variable):
                self.described[variable] = _Described(
                    self.wording.column(atom.predicate), parent, True, recent, atom
                )
            else:
                name = self._noun(atom, variable, parent)
                self.described[variable] = _Described(plain_name(name), parent, False, recent, atom)
                # A further value of the same fact, such as a rating, belongs to the thing reached.
                parent = variable

    def _named(self, new: tuple[int, ...]) -> tuple[int, ...]:
        """Of the variables of a step about all things: the first thing, and all that other steps use."""
        things = [variable for variable in new if not self._is_value(variable)]
        uses = [variable for step in self.body for variable in step_variables(step)]
        left_out = {each for each in things[1:] if uses.count(each) == 1 and each not in self.wanted}
        return tuple(variable for variable in new if variable not in left_out)

    def _noun(self, atom: Atom, variable: int | None, parent: int | None) -> str:
        """The type of the things that an atom leads to; its predicate if the type says nothing new."""
        type_name = None if variable is None else self.types[variable]
        if type_name is None or (parent is not None and self.types[parent] == type_name):
            return self.wording.row(atom.predicate)
        return self.wording.noun(type_name)

    def _is_value(self, variable: int) -> bool:
        name = self.types[variable]
        if name.endswith("_value") or name in self.wording.values:
            return True
        return kind_of_type(self.schema, name) is not None

    def condition(self, step: Step) -> tuple[int | None, Pieces, bool]:
        """A step that narrows groundings down: the variable it is about, words, whether it is a literal."""
        if isinstance(step, Comparison):
            value = self.described.get(step.variable)
            sign = "at least" if step.operator == AT_LEAST else "below"
            if value is not None and value.is_value and self._is_plain(value.parent):
                number = value.words.removeprefix("number of ")
                if number != value.words:
                    sign = "at least" if step.operator == AT_LEAST else "fewer than"
                    return value.parent, [f"with {sign} {format_value(step.value)} {number}"], False
                return value.parent, [f"with {value.words} {sign} {format_value(step.value)}"], False
            return step.variable, ["with ", *self._literal(step)], True
        if isinstance(step, Equals):
            value = self.described.get(step.variable)
            constant = format_constant(step.constant)
            if value is not None and value.is_value and self._is_plain(value.parent):
                return value.parent, [f"with {value.words} {constant}"], False
            if value is not None:
                return step.variable, [f"that are {constant}"], False
            return step.variable, ["with ", *self._literal(step)], True
        atom = atom_in(step)
        assert atom is not None
        without = "without " if isinstance(step, Not) else "with "
        used = [term for term in atom.args if isinstance(term, int)]
        plain = len(used) == 1 and len(atom.args) <= 2 and atom.args[0] == used[0]
        if plain and not isinstance(step, Recent | NumberOf) and self._is_plain(used[0]):
            name = self.wording.column(atom.predicate)
            if len(atom.args) == 1:
                return used[0], [f"that {flag_phrase(name, True, isinstance(step, Not))}"], False
            return used[0], [f"{without}{name} {format_constant(str(atom.args[1]))}"], False
        things = [variable for variable in used if variable in self.described]
        if isinstance(step, Atom) and len(things) == 1:
            other = self._shared_with(atom, self.described[things[0]])
            if other is not None:
                return things[0], ["that ", other, " has too"], False
        some = self._some(step, atom, used)
        if some:
            return used[0], [f"{without}{some}"], False
        pieces = self._literal(step)
        return things[-1] if things else None, pieces if isinstance(step, Not) else ["with ", *pieces], True

    def _shared_with(self, atom: Atom, thing: _Described) -> int | None:
        """The other variable of the head, if it has the same link to a thing as the one that leads to it."""
        if thing.atom is None or thing.recent is not None or thing.parent not in self.head.args:
            return None
        others = [term for term in atom.args if term in self.head.args and isinstance(term, int)]
        if len(others) != 1 or others[0] == thing.parent:
            return None
        swapped = tuple(others[0] if term == thing.parent else term for term in thing.atom.args)
        return others[0] if Atom(thing.atom.predicate, swapped) == atom else None

    def _some(self, step: Step, atom: Atom, used: list[int]) -> str:
        """``a known age``, ``any orders``: what a thing has if it is linked to anything; empty if unclear."""
        last = self.schema.types_of(atom.predicate)[-1]
        new = len(used) == len(atom.args) == 2 and used[1] not in {*self.types, *self.head.args}
        if not new or isinstance(step, Recent | NumberOf) or not self._is_plain(used[0]):
            return ""
        if (
            last.endswith("_value")
            or kind_of_type(self.schema, last) is not None
            or last in self.wording.values
        ):
            return f"a known {self.wording.column(atom.predicate)}"
        return f"any {plural_of(plain_name(self.wording.noun(last)))}"

    def _is_plain(self, variable: int | None) -> bool:
        """Whether words without a letter are clear: not for the things of a pair of examples."""
        return variable is not None and (variable in self.described or len(self.head.args) == 1)

    def _literal(self, step: Step) -> Pieces:
        """A step in logic notation; the things in it get letters."""
        self.lettered.update(piece for piece in _step_pieces(step) if isinstance(piece, int))
        return _step_pieces(step)

    def is_simple(self) -> bool:
        """Whether there is at most one thing, without conditions, so that words after it are about it."""
        described = self.described.values()
        narrowed = self.of_head or any(each.conditions or each.literals for each in described)
        return not narrowed and sum(not each.is_value for each in described) <= 1

    def groundings(self) -> Pieces:
        """What the groundings are: ``its orders``, or combinations of several things."""
        if not self.described:
            return _all_of(self.body)
        things = [variable for variable, each in self.described.items() if not each.is_value]
        inner = {self.described[variable].parent for variable in things}
        ends = [variable for variable in things if variable not in inner]
        if not ends:
            ends = list(self.described)
        phrases = [self.thing(variable, article="") for variable in ends]
        combined = phrases[0] if len(phrases) == 1 else ["combinations of ", *joined(phrases, ", ", " and ")]
        return [*combined, *self._of_example()]

    def different(self, variable: int) -> Pieces:
        """``its different movies``, or ``different genres of its movies``."""
        each = self.described.get(variable)
        if each is None:
            return ["different values of ", variable]
        if not each.is_value:
            return [*self.thing(variable, article="", different="different "), *self._of_example()]
        if self.is_own(variable):
            return [f"{self.wording.owner} different ", *self.own_values(variable, several=True)]
        return self._with_owner(f"different {plural_of(each.words)}", each)

    def values(self, variable: int) -> Pieces:
        """``amount of its orders``."""
        each = self.described.get(variable)
        if each is None:
            return ["value of ", variable]
        return self._with_owner(each.words, each)

    def _with_owner(self, words: str, each: _Described) -> Pieces:
        return [words, *self._recent(each), " of ", *self._owner(each.parent), *self._of_example()]

    def value(self, variable: int) -> Pieces:
        """``its age``, or ``the age of its team``: the value of the only grounding."""
        each = self.described.get(variable)
        if each is None:
            return ["the value of ", variable]
        if self.is_own(variable):
            return [f"{self.wording.owner} ", *self.own_values(variable)]
        return [f"the {each.words} of ", *self._owner(each.parent, single=True), *self._of_example()]

    def own_values(self, variable: int, several: bool = False) -> Pieces:
        """``amount``, or ``amounts in the last 30 days``: values of the example itself."""
        each = self.described[variable]
        words = plural_of(each.words) if several else each.words
        return [words, *self._recent(each), *self._of_example()]

    def is_own(self, variable: int) -> bool:
        """Whether a variable is linked to the example itself, which is one thing."""
        each = self.described.get(variable)
        return each is not None and each.parent == 0 and len(self.head.args) == 1

    def _owner(self, variable: int | None, single: bool = False) -> Pieces:
        if variable is None:
            return ["all"]
        if variable not in self.described:
            return ["the example"] if len(self.head.args) == 1 else [variable]
        return self.thing(variable, single)

    def thing(
        self, variable: int, single: bool = False, article: str = "the ", different: str = ""
    ) -> Pieces:
        """``its last 5 orders in the last 365 days with status paid``, ``the orders of its accounts``."""
        each = self.described[variable]
        words = singular_of(each.words) if single else plural_of(each.words)
        if each.recent is not None and each.recent.last is not None:
            words = f"last {words}" if each.recent.last == 1 else f"last {each.recent.last} {words}"
        own = each.parent == 0 and len(self.head.args) == 1
        first = (f"{self.wording.owner} " if own else "all " if each.parent is None else article) + different
        letter: Pieces = [" ", variable] if variable in self.lettered else []
        conditions = joined([[" ", *pieces] for pieces in each.conditions], "", " and")
        owner: Pieces = [] if own or each.parent is None else [" of ", *self._owner(each.parent, single)]
        literals = joined([[" ", *pieces] for pieces in each.literals], "", " and")
        # A letter is short, so that conditions after it are still about the things: "topics of A that ...".
        is_letter = each.parent is not None and each.parent not in self.described
        after = [*owner, *conditions] if is_letter else [*conditions, *owner]
        return [f"{first}{words}", *letter, *self._recent(each), *after, *literals]

    def _recent(self, each: _Described) -> Pieces:
        if each.recent is None or each.recent.within is None:
            return []
        length = format_value(each.recent.within)
        if not self.dated:
            return [f" at most {length} before the cut-off"]
        return [" in the last day" if length == "1" else f" in the last {length} days"]

    def _of_example(self) -> Pieces:
        if not self.of_head:
            return []
        counted = "; others have 0" if self.counts else ""
        examples = plural_of(self.wording.example or "example")
        return [f" (for {examples} ", *joined(self.of_head, ", ", " and "), f"{counted})"]


def _all_of(body: Body) -> Pieces:
    return joined([_step_pieces(step) for step in body] or [["true"]], ", ", " and ")


def _step_pieces(step: Step) -> Pieces:
    if isinstance(step, Recent):
        return [str(step).removesuffix(str(step.atom)), *literal_pieces(step.atom)]
    if isinstance(step, NumberOf):
        return [step.variable, " = number of ", *literal_pieces(step.atom)]
    if isinstance(step, Equals):
        return [step.variable, f" = {format_constant(step.constant)}"]
    return literal_pieces(step)
