"""The effects of a model as SQL: the groundings of each body, what is measured over them, and the curves.

Effects with the same body share its groundings and measures. Bodies that begin with the same steps share the
expressions of these steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlglot import exp

from hornbeam.engines.export.measures import (
    ALL,
    NEEDED,
    Measure,
    edge_query,
    measured,
    measures_query,
    scaled_query,
)
from hornbeam.engines.export.user_tables import FreeNames, NamedQuery, UserFacts, comment_of
from hornbeam.engines.sql.expressions import (
    Dialect,
    SqlRelation,
    conjunction,
    own_alias,
    own_column,
    own_table,
    real,
)
from hornbeam.engines.sql.tallies.queries import Bindings, Expressions, StepsQuery
from hornbeam.engines.tally import DAY, TallyRequest, head_variables
from hornbeam.errors import OptionError
from hornbeam.logic import features as kinds
from hornbeam.logic.clauses import Atom, Value
from hornbeam.logic.effects import (
    NUMBER_OF_FACTS,
    Body,
    Curve,
    Effect,
    Recent,
    body_text,
    in_order_of_use,
    kind_of_type,
    predicates_in,
    variable_types,
)
from hornbeam.logic.features import COUNT, KINDS
from hornbeam.logic.schema import DATE, Schema, number_of

MOST_JOINS = 30
"""Number of tables of measures joined at once; SQLite joins at most 64 tables."""
_NO_LIMIT = -1e300
"""The earliest time of a link for an example without a cut-off."""


def level_of(value: exp.Expr, curve: Curve) -> exp.Expr:
    """What a curve adds to the score for a value; NULL is a missing value."""
    missing = exp.Is(this=value, expression=exp.null())
    cases = [exp.If(this=missing, true=real(curve.missing))]
    for cut, level in zip(curve.cuts, curve.levels, strict=False):
        below = exp.LT(this=value.copy(), expression=real(_plain(cut)))
        cases.append(exp.If(this=below, true=real(level)))
    return exp.Case(ifs=cases, default=real(curve.levels[-1]))


def adds_nothing(curve: Curve) -> bool:
    """Whether a curve is 0 everywhere."""
    return not any((*curve.levels, curve.missing))


def _plain(cut: Value) -> float:
    return float(number_of(cut))


class PathFacts:
    """The user's facts as the steps of bodies need them."""

    def __init__(self, facts: UserFacts, timed: bool) -> None:
        """``timed`` says whether times matter."""
        self._facts = facts
        self._timed = timed
        self.equals = facts.equals
        self.compares = facts.compares
        self.exists = facts.exists
        self.is_before = facts.exists

    @property
    def schema(self) -> Schema:
        return self._facts.schema

    def relation(self, predicate: str) -> SqlRelation:
        facts = self._facts
        return facts.relation_with_time(predicate) if self._timed else facts.relation(predicate)

    def is_from(self, since: exp.Expr, moment: exp.Expr) -> exp.Expr:
        unlimited = exp.EQ(this=moment.copy(), expression=real(_NO_LIMIT))
        recent = exp.GTE(this=as_number(self._facts, since), expression=moment)
        return exp.Paren(this=exp.Or(this=unlimited, expression=recent))

    def tallied_time(self, since: exp.Expr) -> exp.Expr:
        """The time of a fact; one without a time comes after all others."""
        return exp.Coalesce(this=since, expressions=[self._facts.everything()])


def as_number(facts: UserFacts, moment: exp.Expr) -> exp.Expr:
    """A time as a number: microseconds if times are dates."""
    return facts.values.microseconds(moment) if facts.times.kind == DATE else moment


class _SharedExpressions(Expressions):
    """Names each expression once, by a name that no table of the user has."""

    def __init__(self, names: FreeNames, dialect: Dialect) -> None:
        super().__init__()
        self._names = names
        self._dialect = dialect
        self._known: dict[str, str] = {}

    def add(self, select: exp.Select, letter: str) -> str:
        words = {"s": "step", "t": "found", "d": "given"}
        text = self._dialect.text(select.copy())
        if text not in self._known:
            name = self._names.take(f"{words.get(letter, letter)}_{len(self.named) + 1}")
            self._known[text] = name
            self.named.append((name, select))
        return self._known[text]


class MeasuredPath(NamedTuple):
    """A table of measures and the keys of the examples that it is joined by."""

    table: str
    keys: tuple[int, ...]


@dataclass(slots=True)
class _Path:
    """A body and what is asked of its groundings."""

    head: Atom
    body: Body
    variables: dict[int, None] = field(default_factory=dict)
    times: bool = False
    measures: dict[str, dict[Measure, None]] = field(default_factory=dict)
    """by which groundings: all, those at the earliest or at the latest time"""


class EffectQueries:
    """Writes the values of effects for the examples in a table of keys."""

    def __init__(
        self, effects: Sequence[Effect], facts: UserFacts, names: FreeNames, dialect: Dialect, keys: str
    ) -> None:
        """``keys`` is the table of keys ``k0 k1 ...``, with the cut-off last if examples have one."""
        self._facts = facts
        self._names = names
        self._dialect = dialect
        self._keys = keys
        self._effects = [in_order_of_use(effect) for effect in effects]
        self._expressions = _SharedExpressions(names, dialect)
        self._comments: dict[str, str] = {}
        self._paths: dict[Body, _Path] = {}
        self._measured: dict[tuple[Body, str], MeasuredPath] = {}
        for effect in self._effects:
            self._ask(effect)
        for path in self._paths.values():
            self._measure(path)

    def queries(self) -> Iterator[NamedQuery]:
        """The groundings and the measures of all bodies."""
        for name, select in self._expressions.named:
            yield NamedQuery(name, select, self._comments.get(name, ""))

    def with_values(self, start: str, width: int, numbers: Sequence[int]) -> Iterator[NamedQuery]:
        """Expressions that add the columns ``value_1 ...`` to a table; the last one has all of them.

        ``width`` is the number of its columns that hold keys, ``numbers`` has the number of each effect.
        """
        named: list[exp.Expr] = []
        joined: dict[MeasuredPath, str] = {}
        for number, effect in zip(numbers, self._effects, strict=True):
            for table in self._tables(effect):
                joined.setdefault(table, f"m{len(joined) + 1}")
            column = own_alias(self._value(effect, width, joined), f"value_{number}")
            column.add_comments([comment_of(_text_of(effect))])
            named.append(column)
            if len(joined) >= MOST_JOINS or effect is self._effects[-1]:
                query = exp.select("f.*", *named).from_(own_table(start, "f"))
                for table, alias in joined.items():
                    query = query.join(
                        own_table(table.table, alias), on=_same(table, alias), join_type="LEFT"
                    )
                start = self._names.take(f"effect_values_{number}")
                yield NamedQuery(start, query)
                named, joined = [], {}

    # --- what is measured --------------------------------------------------------------------------

    def _ask(self, effect: Effect) -> None:
        """Note what the feature of an effect is computed from."""
        kind, variable = effect.feature
        if KINDS[kind].needs == kinds.CUTOFF:
            if self._facts.times.cutoffs and self._facts.times.kind != DATE:
                raise OptionError('the feature "month" needs cut-offs that are dates, but they are numbers.')
            return
        for body in self._bodies(effect):
            path = self._paths.setdefault(body, _Path(effect.head, body))
            if variable is not None:
                path.variables[variable] = None
            path.times = path.times or self._needs_times(effect)
            measures = path.measures.setdefault(self._edge(effect), {})
            measures.update(dict.fromkeys(self._measures(effect)))

    def _bodies(self, effect: Effect) -> tuple[Body, ...]:
        """The bodies whose groundings a feature needs."""
        needs = KINDS[effect.feature.kind].needs
        if needs == kinds.CUTOFF or (needs == kinds.TIMES and not self._has_moment(effect.body)):
            return ()
        return (effect.body, effect.body[:-1]) if needs == kinds.GUARD else (effect.body,)

    def _has_moment(self, body: Body) -> bool:
        """Whether the groundings of a body have times."""
        atoms = [step.atom if isinstance(step, Recent) else step for step in body]
        return any(isinstance(atom, Atom) and self._facts.has_time(atom.predicate) for atom in atoms)

    def _needs_times(self, effect: Effect) -> bool:
        return bool(KINDS[effect.feature.kind].edge) and self._has_moment(effect.body)

    def _edge(self, effect: Effect) -> str:
        kind = KINDS[effect.feature.kind]
        of_values = kind.has_variable and self._has_moment(effect.body)
        return kind.edge if of_values and kind.edge else ALL

    def _measures(self, effect: Effect) -> list[Measure]:
        kind = KINDS[effect.feature.kind]
        name = "moment" if kind.needs == kinds.TIMES else f"g{effect.feature.variable}"
        return [Measure(each, None if each == COUNT else name) for each in NEEDED[kind.measure]]

    def _measure(self, path: _Path) -> None:
        """Write the groundings of a body and what is measured over them."""
        cutoff = self._facts.times.cutoffs and any(map(self._facts.has_time, predicates_in(path.body)))
        request = TallyRequest(path.head, path.body, tuple(path.variables), path.times)
        # Without variables of the head, examples would not be told apart.
        used = head_variables(request) or (() if cutoff else (0,))
        bindings = self._bindings(request, used, cutoff)
        types = variable_types(self._facts.schema, path.head, path.body)
        timed = path.times or cutoff or any(isinstance(step, Recent) for step in path.body)
        steps = StepsQuery(PathFacts(self._facts, timed), request, types, bindings, self._expressions)
        steps.write_steps(self._dialect)
        groups: list[exp.Expr] = [own_column(name, "s") for name in bindings.identity]
        names = [*bindings.identity]
        for variable in path.variables:
            place = f"e{used.index(variable)}" if variable in used else f"v{variable}"
            groups.append(self._number(own_column(place, "s"), types[variable]))
            names.append(f"g{variable}")
        if path.times:
            groups.append(PathFacts(self._facts, timed).tallied_time(own_column("moment", "s")))
            names.append("moment")
        tally = self._expressions.add(steps.grouped(groups, names, self._dialect), "groundings")
        self._comments[tally] = body_text(path.head, path.body)
        arity = len(path.head.args)
        keys = (*used, arity) if cutoff else used
        for edge, measures in path.measures.items():
            source = tally
            if edge != ALL:
                source = self._expressions.add(edge_query(source, bindings.identity, edge), edge)
            scaled = scaled_query(source, bindings.identity, measures)
            source = source if scaled is None else self._expressions.add(scaled, "scaled")
            query = measures_query(source, bindings.identity, measures)
            self._measured[path.body, edge] = MeasuredPath(self._expressions.add(query, "measures"), keys)

    def _number(self, value: exp.Expr, type_name: str) -> exp.Expr:
        """A value as DOUBLE if its type is numeric, dates in microseconds; other values as they are."""
        kind = kind_of_type(self._facts.schema, type_name)
        if kind is None:
            return value
        if type_name == NUMBER_OF_FACTS:
            return exp.cast(value, "DOUBLE")
        values = self._facts.values
        return values.microseconds(values.moment(value)) if kind == DATE else values.number(value)

    def _bindings(self, request: TallyRequest, used: tuple[int, ...], cutoff: bool) -> Bindings:
        """The distinct keys that a body uses, with the cut-off and the earliest times of limited links."""
        within = tuple(
            dict.fromkeys(
                step.within for step in request.body if isinstance(step, Recent) and step.within is not None
            )
        )
        within = within if cutoff else ()
        arity = len(request.head.args)
        keys = [own_column(f"k{each}", "k") for each in ((*used, arity) if cutoff else used)]
        columns = [own_alias(key.copy(), f"e{place}") for place, key in enumerate(keys)]
        columns += [own_alias(key.copy(), f"k{place}") for place, key in enumerate(keys)]
        for place, limit in enumerate(within, start=len(keys)):
            columns.append(own_alias(self._earliest(keys[-1].copy(), limit), f"k{place}"))
        query = exp.select(*columns).distinct().from_(own_table(self._keys, "k"))
        identity = tuple(f"e{place}" for place in range(len(keys)))
        return Bindings(self._expressions.add(query, "keys"), used, cutoff, within, identity)

    def _earliest(self, cutoff: exp.Expr, within: float) -> exp.Expr:
        limit = within * DAY if self._facts.times.kind == DATE else within
        known = exp.Sub(this=as_number(self._facts, cutoff.copy()), expression=real(limit))
        return self._if_cut_off(cutoff, known, exp.cast(real(_NO_LIMIT), "DOUBLE"))

    def _if_cut_off(self, cutoff: exp.Expr, value: exp.Expr, otherwise: exp.Expr) -> exp.Expr:
        none = exp.EQ(this=cutoff, expression=self._facts.everything())
        return exp.Case(ifs=[exp.If(this=none, true=otherwise)], default=value)

    # --- values of features ------------------------------------------------------------------------

    def _tables(self, effect: Effect) -> list[MeasuredPath]:
        edge = self._edge(effect)
        return [self._measured[body, edge] for body in self._bodies(effect)]

    def _value(self, effect: Effect, width: int, joined: Mapping[MeasuredPath, str]) -> exp.Expr:
        """The value of the feature of an effect, from joined tables of measures."""
        kind = KINDS[effect.feature.kind]
        aliases = [joined[table] for table in self._tables(effect)]
        if kind.needs in (kinds.CUTOFF, kinds.DATES, kinds.TIMES):
            return self._relative_to_cutoff(effect, own_column(f"k{width - 1}", "f"), aliases)
        value = measured(kind.measure, aliases[0], f"g{effect.feature.variable}")
        if kind.whole:
            return _or_zero(value)
        if kind.needs == kinds.GUARD:
            total = own_column(COUNT, aliases[1])
            share = exp.Div(this=_or_zero(value), expression=total, typed=False, safe=False)
            some = exp.GT(this=total.copy(), expression=real(0.0))
            return exp.Case(ifs=[exp.If(this=some, true=share)])
        return value

    def _relative_to_cutoff(self, effect: Effect, cutoff: exp.Expr, aliases: Sequence[str]) -> exp.Expr:
        """A month, or a length of time; missing for an example without a cut-off."""
        needs, facts = KINDS[effect.feature.kind].needs, self._facts
        missing = exp.cast(exp.null(), "DOUBLE")
        if not facts.times.cutoffs or (needs != kinds.CUTOFF and not aliases):
            return missing
        if needs == kinds.CUTOFF:
            month = exp.cast(exp.Extract(this=exp.var("MONTH"), expression=cutoff.copy()), "DOUBLE")
            return self._if_cut_off(cutoff, month, missing)
        (measure,) = self._measures(effect)
        edge: exp.Expr = own_column(measure.name, aliases[0])
        dated = facts.times.kind == DATE
        if needs != kinds.DATES:
            edge = as_number(facts, edge)
        length: exp.Expr = exp.Sub(this=as_number(facts, cutoff.copy()), expression=edge)
        if dated:
            length = exp.Div(this=exp.Paren(this=length), expression=real(DAY), typed=False, safe=False)
        else:
            # Facts without a time may have minus infinity, from which there is no length.
            finite = exp.GT(this=edge.copy(), expression=real(-1.7e308))
            length = exp.Case(ifs=[exp.If(this=finite, true=length)])
        return self._if_cut_off(cutoff, length, missing)


def _or_zero(value: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=value, expressions=[real(0.0)])


def _same(table: MeasuredPath, alias: str) -> exp.Expr:
    """The condition that a row of measures is that of an example."""
    return conjunction(
        [
            exp.EQ(this=own_column(f"e{place}", alias), expression=own_column(f"k{key}", "f"))
            for place, key in enumerate(table.keys)
        ]
    )


def _text_of(effect: Effect) -> str:
    return f"{effect.feature} of {body_text(effect.head, effect.body)}"
