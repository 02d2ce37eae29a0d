"""The feature of an effect as a noun phrase: ``the mean amount of its orders``."""

from __future__ import annotations

from collections.abc import Sequence

from hornbeam.logic import features as kinds
from hornbeam.logic.clauses import format_value
from hornbeam.logic.effects import Body, Effect, Equals, Step, step_variables
from hornbeam.logic.english.clauses import Pieces, joined
from hornbeam.logic.english.described_body import DescribedBody, DescribedVariable, step_pieces
from hornbeam.logic.english.nouns import plural_of, singular_of, with_article
from hornbeam.logic.english.wording import PLAIN, Wording
from hornbeam.logic.schema import Schema

WHETHER = "whether "
"""The first piece of the phrase of a feature that is true or false."""


def feature_pieces(effect: Effect, schema: Schema, dated: bool = False, wording: Wording = PLAIN) -> Pieces:
    """The feature of an effect as a noun phrase: ``the mean amount of its orders``.

    The phrase of a feature that is true or false starts with ``whether``.
    """
    feature, which = _feature_and_examples(effect, schema, dated, wording)
    return [*feature, *which]


def some_examples(effect: Effect, schema: Schema, wording: Wording = PLAIN) -> bool:
    """Whether the body has conditions on the example itself: other examples have no groundings."""
    return bool(_feature_and_examples(effect, schema, False, wording)[1])


def _feature_and_examples(
    effect: Effect, schema: Schema, dated: bool, wording: Wording
) -> tuple[Pieces, Pieces]:
    """The feature as a noun phrase, and the examples that it is about, if these are not all."""
    head, body, (kind, variable), curve = effect
    if kind == kinds.MONTH:
        return ["the month of the cut-off"], []
    guard = body[:-1] if kind == kinds.SHARE else body
    wanted = {variable, *(each for step in body[len(guard) :] for each in step_variables(step))}
    described = DescribedBody(schema, head, guard, wording, wanted)
    if kind == kinds.COUNT and described.is_about_example(curve.cuts in ((), (1.0,)) and not curve.slope):
        clauses = [described.clause(step) for step in described.of_head]
        return [WHETHER, *joined(clauses, ", ", " and ")], []
    if kind in (kinds.SHARE, kinds.COUNT) and not described.variables:
        return [WHETHER, *_all_of(body)], []
    phrases = _Phrases(described, dated, variable)
    if kind == kinds.SHARE:
        # The last step is described first, because it may refer to a thing by its letter.
        about, condition, _ = described.condition(body[-1])
        feature = phrases.share(about, condition, body[-1])
    elif kind == kinds.COUNT:
        feature = ["the number of ", *phrases.groundings()]
    elif kind in kinds.OF_TIMES:
        feature = [f"the {phrases.unit} since the {kinds.KINDS[kind].words} of ", *phrases.groundings()]
    else:
        assert variable is not None
        feature = phrases.of_values(kind, variable)
    return feature, phrases.of_example(kinds.KINDS[kind].whole)


def variable_nouns(effect: Effect, schema: Schema, wording: Wording = PLAIN) -> dict[int, str]:
    """What the values of the variables of an effect are: ``order``, ``amount``.

    Variables that have only one value are left out: constants, and conditions on the example itself.
    """
    head, body, (_, variable), _ = effect
    described = DescribedBody(schema, head, body, wording, {variable})
    fixed = {step.variable for step in body if isinstance(step, Equals)}
    hidden = fixed if described.is_about_example() else fixed | described.own_conditions()
    shown = {each: words for each, words in described.variables.items() if each not in hidden}
    if len(shown) == 1 and all(each.is_value for each in shown.values()):
        return dict.fromkeys(shown, "value")
    return {each: it.words if it.is_value else singular_of(it.words) for each, it in shown.items()}


class _Phrases:
    """Noun phrases about the variables of a body."""

    def __init__(self, described: DescribedBody, dated: bool, variable: int | None) -> None:
        self.described = described
        self.variables = described.variables
        self.wording = described.wording
        self.dated = dated
        self.unit = "number of days" if dated else "time"
        self.main = described.way_to(variable)
        """the variables that the phrase names; conditions on others are conditions on what leads to them"""

    def share(self, about: int | None, condition: Pieces, last: Step) -> Pieces:
        """``the share of its orders with status open``, ``the share of reds among teams of its friends``."""
        groundings = self.groundings()
        if self.described.is_simple():
            return ["the share of ", *groundings, " ", *condition]
        if isinstance(last, Equals) and condition[0] == f"that are {self.described.constant(last)}":
            condition = [f"of {self.described.constant(last)}"]
        elif about in self.variables and about not in self._ends():
            each = self.variables[about]
            condition = [f"of {plural_of(each.words)}{each.by} ", *condition]
        return ["the share ", *condition, " among ", *groundings]

    def of_values(self, kind: str, variable: int) -> Pieces:
        """A feature of the values of a variable."""
        if kind == kinds.DISTINCT:
            return ["the number of ", *self.different(variable)]
        if kind == kinds.VALUE:
            return self.value(variable)
        if kind == kinds.SINCE:
            return [f"the {self.unit} since ", *self.value(variable)]
        if self._is_own(variable):
            return [f"{self.wording.owner} ", kinds.KINDS[kind].words, *self._own_values(variable)]
        each = self.variables.get(variable)
        values = ["value of ", variable] if each is None else self._with_owner(each.words, each)
        return ["the ", kinds.KINDS[kind].words, *values]

    def _ends(self) -> list[int]:
        """The things that lead to no others, or all variables; not single things beside others."""
        things = [variable for variable, each in self.variables.items() if not each.is_value]
        inner = {self.variables[variable].parent for variable in things}
        ends = [variable for variable in things if variable not in inner] or list(self.variables)
        return [variable for variable in ends if not self.described.is_one(variable)] or ends

    def groundings(self) -> Pieces:
        """What the groundings are: ``its orders``, or combinations of several things."""
        if not self.variables:
            return _all_of(self.described.body)
        ends = self._ends()
        self.main = {variable for end in ends for variable in self.described.way_to(end)}
        phrases = [self.thing(variable, article="") for variable in ends]
        return phrases[0] if len(phrases) == 1 else ["combinations of ", *joined(phrases, ", ", " and ")]

    def different(self, variable: int) -> Pieces:
        """``its different movies``, or ``different genres of its movies``."""
        each = self.variables.get(variable)
        if each is None:
            return ["different values of ", variable]
        if not each.is_value:
            return self.thing(variable, article="", different="different ")
        if self._is_own(variable):
            return [f"{self.wording.owner} different ", *self._own_values(variable, several=True)]
        # The name of a predicate is often no noun.
        is_noun = self.described.types[variable] not in self.wording.values
        words = plural_of(each.words) if is_noun else f"values of {each.words}"
        return self._with_owner(f"different {words}", each)

    def value(self, variable: int) -> Pieces:
        """``its age``, or ``the age of its team``: the value of the only grounding."""
        each = self.variables.get(variable)
        if each is None:
            return ["the value of ", variable]
        if self._is_own(variable):
            return [f"{self.wording.owner} ", *self._own_values(variable)]
        return [f"the {each.words} of ", *self._owner(each.parent, single=True)]

    def _with_owner(self, words: str, each: DescribedVariable) -> Pieces:
        return [words, *self._recent(each), " of ", *self._owner(each.parent)]

    def _own_values(self, variable: int, several: bool = False) -> Pieces:
        """``amount``, or ``amounts in the last 30 days``: values of the example itself."""
        each = self.variables[variable]
        return [plural_of(each.words) if several else each.words, *self._recent(each)]

    def _is_own(self, variable: int) -> bool:
        """Whether a variable is linked to the example itself, which is one thing."""
        each = self.variables.get(variable)
        return each is not None and each.parent == 0 and not self.described.is_pair

    def _owner(self, variable: int | None, single: bool = False) -> Pieces:
        if variable is None:
            return ["all"]
        if variable not in self.variables:
            return [variable] if self.described.is_pair else ["the example"]
        return self.thing(variable, single)

    def thing(
        self, variable: int, single: bool = False, article: str = "the ", different: str = ""
    ) -> Pieces:
        """``its last 5 orders in the last 365 days with status paid``, ``the orders of its accounts``."""
        each = self.variables[variable]
        last = None if each.recent is None else each.recent.last
        is_one = single or last == 1 or self.described.is_one(variable)
        words = singular_of(each.words) if is_one else plural_of(each.words)
        if last is not None:
            words, article = f"last {words}" if last == 1 else f"last {last} {words}", "the "
        own = self._is_own(variable)
        first = (f"{self.wording.owner} " if own else "all " if each.parent is None else article) + different
        letter: Pieces = [" ", variable] if variable in self.described.lettered else []
        owner: Pieces = [] if own or each.parent is None else [" of ", *self._owner(each.parent, single)]
        conditions = [*each.conditions, *self._beside(variable)]
        # A letter is short, so that conditions after it are still about the things: "topics of A that ...".
        if each.parent is not None and each.parent not in self.variables:
            after = [*owner, *_narrowing([*conditions, *each.literals])]
        else:
            after = [*_narrowing(conditions), *owner, *_narrowing(each.literals)]
        return [f"{first}{words}{each.by}", *letter, *self._recent(each), *after]

    def _beside(self, variable: int) -> list[Pieces]:
        """Conditions on what a thing is linked to, beside the path that the phrase is about."""
        others = [
            other for other in self.described.children(variable) if self.described.is_beside(other, self.main)
        ]
        return [["with ", *self._narrowed(other)] for other in others]

    def _narrowed(self, variable: int) -> Pieces:
        """A thing or a value beside the path, without what leads to it: ``any orders``, ``a known age``."""
        each = self.variables[variable]
        if each.is_value:
            return [f"a known {each.words}", *self._recent(each)]
        conditions = [*each.conditions, *self._beside(variable), *each.literals]
        letter: Pieces = [" ", variable] if variable in self.described.lettered else []
        some = "" if conditions or letter else "any "
        words = f"{some}{plural_of(each.words)}{each.by}"
        if self.described.is_one(variable):
            words = with_article(singular_of(each.words)) + each.by
        return [words, *letter, *self._recent(each), *_narrowing(conditions)]

    def _recent(self, each: DescribedVariable) -> Pieces:
        if each.recent is None or each.recent.within is None:
            return []
        length = format_value(each.recent.within)
        if not self.dated:
            return [f" at most {length} before the cut-off"]
        return [" in the last day" if length == "1" else f" in the last {length} days"]

    def of_example(self, counts: bool) -> Pieces:
        """The conditions on the example itself; ``counts``: the feature of other examples is 0."""
        described = self.described
        beside = [
            (head, other)
            for head in described.head.args
            if isinstance(head, int)
            for other in described.children(head)
            if described.is_beside(other, self.main)
        ]
        if not described.of_head and not beside:
            return []
        others = "; others have 0" if counts else ""
        if described.is_pair:
            clauses = [described.clause(step) for step in described.of_head]
            clauses += [[head, " has ", *self._narrowed(other)] for head, other in beside]
            return [f" (for {described.examples} in which ", *joined(clauses, ", ", " and "), f"{others})"]
        conditions = [described.condition(step)[1] for step in described.of_head]
        conditions += [["with ", *self._narrowed(other)] for _, other in beside]
        return [f" (for {described.examples}", *_narrowing(conditions), f"{others})"]


def _narrowing(conditions: Sequence[Pieces]) -> Pieces:
    """Conditions one after the other: `` with status open, amount at least 5 and that are paid``."""
    shown: list[Pieces] = []
    before = ""
    for condition in conditions:
        first = condition[0]
        assert isinstance(first, str)
        repeated = first.startswith("with ") and before.startswith("with ")
        shown.append([first.removeprefix("with "), *condition[1:]] if repeated else condition)
        before = first
    return [" ", *joined(shown, ", ", " and ")] if shown else []


def _all_of(body: Body) -> Pieces:
    return joined([step_pieces(step) for step in body] or [["true"]], ", ", " and ")
