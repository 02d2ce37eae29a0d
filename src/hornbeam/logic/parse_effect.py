"""Effects from text; every error has its line and column.

The text of an effect is a feature, a curve and a clause whose body may have steps that clauses do not have:
``mean V [missing: -0.2; < 3: -0.11; else: 0.42] : bad(A) :- within 30 orders(A,B), amount(B,V).``
``last``, ``within`` and ``number of`` are ordinary names where a "(" follows.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from hornbeam.errors import ParseError, SchemaError, did_you_mean
from hornbeam.logic import features as kinds
from hornbeam.logic.clauses import Atom, Clause, Comparison, Value
from hornbeam.logic.effects import (
    NUMBER_OF_FACTS,
    Body,
    Curve,
    Effect,
    Equals,
    Feature,
    NumberOf,
    Recent,
    Step,
    feature_misfit,
    has_dates,
    new_variables_of,
    step_variables,
)
from hornbeam.logic.parse import (
    BEGINNING,
    CLAUSE_TOKEN,
    WORD,
    ClauseReader,
    Parser,
    Text,
    Token,
    is_variable,
    parse_clause,
)
from hornbeam.logic.schema import DATE, NUMBER, Schema, kind_of, number_of, read_value

_CURVE_TOKEN = re.compile(
    rf"""
    {BEGINNING}
  | (?P<compare> [<>]=? )
  | (?P<mark>    [(),:;=!`{{}}\[\]] )
  | (?P<word>    {WORD.replace("%{}", "%<>;{}" + re.escape("[]"))} )
  | (?P<stop>    \. )
    """,
    re.VERBOSE,
)


_STEPS = re.compile(r"=\s*number\s+of\b|\b(?:last|within)\s+[0-9]", re.IGNORECASE)
"""What bodies of clauses do not have."""


class _NamedFeature(NamedTuple):
    """A feature as it is written: its kind, and the token of its variable."""

    kind: str
    variable: Token | None
    text: Text


def parse_effect(text: str, schema: Schema | None = None, source: str = "effect") -> Effect:
    """An effect from text. If a schema is given, names, arities and types are checked against it.

    >>> print(parse_effect("mean X [< 3: -0.1; else: +.4] : bad(P) :- last 5 orders(P,O), amount(O,X)"))
    mean C [< 3: -0.1; else: 0.4] : bad(A) :- last 5 orders(A,B), amount(B,C).
    """
    whole = Text(text, source)
    parser = Parser(whole, pattern=_CURVE_TOKEN)
    feature = _read_feature(parser)
    curve, cut = _read_curve(parser)
    parser.take(":", '":" and a clause after the curve')
    head, body, number = _read_clause(Parser(whole, parser.token.offset, CLAUSE_TOKEN), feature, schema)
    effect = Effect(head, body, number, curve)
    problem = None if schema is None else cut_misfit(schema, effect)
    if problem is not None:
        raise SchemaError(problem, whole.place(0 if cut is None else cut.offset))
    return effect


def parse_feature(
    feature: str, clause: str, schema: Schema | None = None, source: str = "effect"
) -> tuple[Atom, Body, Feature]:
    """A head, a body and a feature from two texts: ``mean V`` and ``bad(A) :- amount(A,V).``"""
    parser = Parser(Text(feature, "feature"), pattern=_CURVE_TOKEN)
    named = _read_feature(parser)
    parser.end()
    return _read_clause(Parser(Text(clause, source), pattern=CLAUSE_TOKEN), named, schema)


def parse_line(
    text: str, schema: Schema | None = None, source: str = "effect"
) -> tuple[Atom, Body, Feature, Curve | None]:
    """A head, a body, a feature and, if it is there, a curve, from one text.

    >>> head, body, feature, curve = parse_line("mean X : bad(P) :- last 5 orders(P,O), amount(O,X)")
    >>> str(feature), curve is None
    ('mean C', True)
    """
    whole = Text(text, source)
    parser = Parser(whole, pattern=_CURVE_TOKEN)
    named = _read_feature(parser)
    if parser.at("["):
        effect = parse_effect(text, schema, source)
        return effect.head, effect.body, effect.feature, effect.curve
    parser.take(":", '":" and a clause, or "[" and a curve, after the feature')
    return *_read_clause(Parser(whole, parser.token.offset, CLAUSE_TOKEN), named, schema), None


class ShownFeature(NamedTuple):
    """A head, a body, a feature and, if it is known, a curve."""

    head: Atom
    body: Body
    feature: Feature
    curve: Curve | None = None


def parse_shown(text: str, schema: Schema | None = None, source: str = "clause") -> Clause | ShownFeature:
    """A clause or an effect, from a line that shows one: the weights of a clause are left out.

    A body with steps that clauses do not have is that of an effect, whose feature is the count.

    >>> print(parse_shown("[0.1, 0.3, 0] : bad(A) :- orders(A,B)."))
    bad(A) :- orders(A,B).
    >>> str(parse_shown("bad(A) :- C = number of orders(A,B), C >= 3").feature)
    'count'
    """
    before, arrow, after = text.partition(":-")
    if before.lstrip().startswith("["):
        # Names in the weights may hold anything but the end of the bracket.
        text = f"{before[before.rfind(' : ') + 3 :]}{arrow}{after}"
    elif ":" in before:
        return ShownFeature(*parse_line(text, schema, source))
    elif _STEPS.search(after):
        return ShownFeature(*parse_line(f"count : {text}", schema, source))
    return parse_clause(text, schema, source)


def cut_misfit(schema: Schema, effect: Effect) -> str | None:
    """Why the cuts of an effect do not fit its feature, as a sentence; None if they fit."""
    head, body, feature, curve = effect
    if curve.slope and has_dates(schema, head, body, feature):
        return f'the feature "{feature}" is a date, so its curve has no slope.'
    if not curve.cuts or kind_of(curve.cuts[0]) == NUMBER or has_dates(schema, head, body, feature):
        return None
    return f'the feature "{feature}" is a number, so its cuts must be numbers, not dates.'


def _read_feature(parser: Parser) -> _NamedFeature:
    first = parser.token
    if first.kind != "word":
        raise parser.fail(f"a feature ({', '.join(kinds.KINDS)})")
    kind = parser.next().value.lower()
    if f"{kind} {parser.token.value}" in kinds.OF_TIMES and parser.token.kind == "word":
        return _NamedFeature(f"{kind} {parser.next().value}", None, parser.text)
    if kind not in kinds.KINDS:
        hint = did_you_mean(kind, kinds.KINDS, "Features")
        raise ParseError(f'no feature "{kind}". {hint}', parser.text.place(first.offset))
    if kind not in kinds.OF_VARIABLES:
        return _NamedFeature(kind, None, parser.text)
    if not (parser.token.kind == "word" and is_variable(parser.token)):
        raise parser.fail(f'a variable after "{kind}"')
    return _NamedFeature(kind, parser.next(), parser.text)


def _read_curve(parser: Parser) -> tuple[Curve, Token | None]:
    """A curve, and the token of its first cut."""
    parser.take("[", '"[" and a curve after the feature')
    missing = 0.0
    if parser.token.value == "missing" and parser.token.kind == "word":
        parser.next()
        missing = _read_level(parser)
        parser.take(";", '";" and the levels of the curve')
    slope = _read_slope(parser)
    cuts: list[Value] = []
    levels: list[float] = []
    first: Token | None = None
    while parser.token.value == "<" and parser.token.kind == "compare":
        parser.next()
        token = parser.token
        first = first or token
        cuts.append(_read_cut(parser, cuts))
        levels.append(_read_level(parser))
        parser.take(";", '";" and the next level')
        if slope[0] and kind_of(cuts[0]) == DATE:
            raise parser.fail("no slope beside cuts that are dates")
    if parser.token.value != "else":
        raise parser.fail('"<" and a cut, or "else"')
    parser.next()
    levels.append(_read_level(parser))
    parser.take("]", '"]" after the level of "else"')
    return Curve(tuple(cuts), tuple(levels), missing, *slope), first


def _read_slope(parser: Parser) -> tuple[float, float, float]:
    """``slope: 0.12 from 1 to 25;`` as three numbers; zeros if there is no slope."""
    if not (parser.token.value == "slope" and parser.token.kind == "word"):
        return 0.0, 0.0, 0.0
    parser.next()
    slope = _read_level(parser)
    ends: list[float] = []
    for word in ("from", "to"):
        if parser.token.value != word:
            raise parser.fail(f'"{word}" and a number')
        parser.next()
        if word == "to" and number_of(read_value(parser.token.value) or 0.0) <= ends[0]:
            raise parser.fail("a number above the one before it")
        ends.append(_read_number(parser, "a number"))
    low, high = ends
    parser.take(";", '";" and the levels of the curve')
    return (slope, low, high) if slope else (0.0, 0.0, 0.0)


def _read_cut(parser: Parser, before: list[Value]) -> Value:
    token = parser.token
    value = read_value(token.value) if token.kind in ("word", "quoted") else None
    if value is None:
        raise parser.fail("a number, or a date such as 2001-12-31")
    if before and kind_of(before[-1]) != kind_of(value):
        raise parser.fail(f"a {kind_of(before[-1])} like the cut before it")
    if before and number_of(before[-1]) >= number_of(value):
        raise parser.fail("a cut above the one before it")
    parser.next()
    return value


def _read_level(parser: Parser) -> float:
    parser.take(":", '":" and a level')
    return _read_number(parser, "a level, which is a number")


def _read_number(parser: Parser, what: str) -> float:
    number = read_value(parser.token.value) if parser.token.kind == "word" else None
    if not isinstance(number, float):
        raise parser.fail(what)
    negative_zero = number == 0.0 and parser.token.value.startswith("-")
    parser.next()
    return -0.0 if negative_zero else number


def _read_clause(parser: Parser, feature: _NamedFeature, schema: Schema | None) -> tuple[Atom, Body, Feature]:
    reader = _StepReader(parser, schema)
    head = reader.head()
    reader.bound.update(term for term in head.args if isinstance(term, int))
    parser.take(":-", '":-" after the head')
    body: list[Step] = []
    if parser.token.kind == "word" and parser.token.value == "true":
        parser.next()
    else:
        body.append(reader.step())
        while parser.at(","):
            parser.check_length(len(body))
            parser.next()
            body.append(reader.step())
    parser.end("," if body else "")
    reader.check_comparisons()
    return head, tuple(body), _bound_feature(reader, feature, head, tuple(body))


def _bound_feature(reader: _StepReader, feature: _NamedFeature, head: Atom, body: Body) -> Feature:
    """The feature with the number of its variable, if it fits the body."""
    number = None
    if feature.variable is not None:
        place = feature.text.place(feature.variable.offset)
        number = reader.numbers.get(feature.variable.value)
        if number is None or number not in reader.bound:
            names = {value: name for name, value in reader.numbers.items() if not name.startswith("_ ")}
            bound = [names[each] for each in sorted(reader.bound) if each in names]
            hint = did_you_mean(feature.variable.value, bound, "Variables with a value")
            raise ParseError(f"variable {feature.variable.value} has no value in the body. {hint}", place)
    elif feature.kind == kinds.SHARE and not body:
        raise ParseError("a share needs a body with at least one step.", feature.text.place(0))
    bound_feature = Feature(feature.kind, number)
    if reader.schema is not None and feature.variable is not None:
        name = feature.variable.value
        problem = feature_misfit(reader.schema, head, body, bound_feature, name)
        if problem is not None:
            raise SchemaError(problem, feature.text.place(feature.variable.offset))
    return bound_feature


class _StepReader(ClauseReader):
    """Reads the steps of a body, in the order in which they bind variables."""

    def __init__(self, parser: Parser, schema: Schema | None) -> None:
        super().__init__(parser, schema)
        self.bound: set[int] = set()
        """variables that have a value after the steps so far"""
        self.inner: dict[int, str] = {}
        """variables inside a number of facts, which no other step may use, with their names"""

    def step(self) -> Step:
        first = self.parser.token
        step = self._step(first)
        names = {number: name for name, number in self.numbers.items()}
        for variable in step_variables(step):
            if variable in self.inner:
                raise ParseError(
                    f"variable {self.inner[variable]} belongs to a number of facts in an earlier step; "
                    "use another variable.",
                    self.parser.text.place(first.offset),
                )
        if isinstance(step, Comparison | Equals) and step.variable not in self.bound:
            raise ParseError(
                f"variable {first.value} is compared but has no value yet; move the comparison after the "
                "step that contains the variable.",
                self.parser.text.place(first.offset),
            )
        if isinstance(step, NumberOf):
            own = set(step_variables(step)) - self.bound - {step.variable}
            self.inner |= {variable: names[variable] for variable in own}
        self.bound.update(new_variables_of(step, self.bound))
        return step

    def _step(self, first: Token) -> Step:
        if first.kind != "word":
            return self.literal()
        if first.value.lower() in ("last", "within"):
            word = self.parser.next()
            if self.parser.at("("):
                return self.atom_named(word)
            return self._recent(word)
        if not is_variable(first):
            return self.literal()
        self.parser.next()
        if self.parser.at("="):
            return self._equality(first)
        if self.parser.token.kind == "compare":
            return self.comparison(first, negated=False)
        return self.atom_named(first)

    def _recent(self, word: Token) -> Recent:
        """A link limited in time whose first word was just read."""
        limits: dict[str, float] = {}
        while True:
            name = word.value.lower()
            if name in limits:
                raise self.parser.fail(f'a predicate name; "{name}" is already there', word)
            limits[name] = self._limit(name)
            word = self.parser.token
            if word.kind != "word" or word.value.lower() not in ("last", "within"):
                break
            self.parser.next()
            if self.parser.at("("):
                return self._limited(self.atom_named(word), limits)
        return self._limited(self.atom(), limits)

    def _limited(self, atom: Atom, limits: dict[str, float]) -> Recent:
        last = limits.get("last")
        return Recent(atom, None if last is None else int(last), limits.get("within"))

    def _limit(self, name: str) -> float:
        token = self.parser.token
        value = read_value(token.value) if token.kind == "word" else None
        if isinstance(value, float) and value > 0 and (name == "within" or value == math.floor(value)):
            self.parser.next()
            return value
        what = "a whole number of facts, at least 1," if name == "last" else "a length of time above 0"
        raise self.parser.fail(f'{what} after "{name}"')

    def _equality(self, variable: Token) -> Equals | NumberOf:
        """``V = number of bond(B,C)`` or ``V = drama``, whose variable was just read."""
        self.parser.take("=")
        token = self.parser.token
        if token.kind not in ("word", "quoted") or is_variable(token):
            raise self.parser.fail('a constant, or "number of" and an atom')
        self.parser.next()
        words = [each.value.lower() for each in (token, self.parser.token) if each.kind == "word"]
        if words == ["number", "of"]:
            self.parser.next()
            return self._number_of(variable)
        if self.parser.at("("):
            raise self.parser.fail('a constant, or "number of" and an atom', token)
        number = self.term(variable)
        assert isinstance(number, int)
        if self.types.get(number, ("", ""))[1] == NUMBER_OF_FACTS:
            raise SchemaError(
                f'variable {variable.value} is a number of facts, not a constant; compare it by ">=" or "<".',
                self.parser.text.place(variable.offset),
            )
        return Equals(number, token.value)

    def _number_of(self, variable: Token) -> NumberOf:
        """A number of facts whose atom comes next."""
        if variable.value in self.numbers and variable.value != "_":
            raise ParseError(
                f"variable {variable.value} already has a value; use a new variable for a number of facts.",
                self.parser.text.place(variable.offset),
            )
        number = self.term(variable)
        assert isinstance(number, int)
        if self.schema is not None:
            self.types[number] = (variable.value, NUMBER_OF_FACTS)
        return NumberOf(number, self.atom())

    def check_comparisons(self) -> None:
        """Refuse comparisons that do not fit the type of their variable."""
        numbers = {
            comparison.variable
            for comparison, _ in self.comparisons
            if self.types.get(comparison.variable, ("", ""))[1] == NUMBER_OF_FACTS
        }
        for comparison, token in self.comparisons:
            if comparison.variable in numbers and kind_of(comparison.value) == DATE:
                raise SchemaError(
                    f"variable {token.value} is a number of facts; compare it with a number.",
                    self.parser.text.place(token.offset),
                )
        self.comparisons = [each for each in self.comparisons if each[0].variable not in numbers]
        super().check_comparisons()
