"""A model as one SQL query, in any dialect, that scores a table of examples.

The query reads the tables that hold the facts, under their own names; everything else is in common
table expressions. Duplicate rows count once, and rows with NULL are not facts. Constants are compared by
value (see ``user_values``), keys by their own type, numbers as DOUBLE and dates as TIMESTAMP in UTC.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import sqlglot
from sqlglot import exp

from hornbeam.data.numbers import BEFORE
from hornbeam.engines.contract import INT64_MAX
from hornbeam.engines.export.class_scores import ClassQueries, ClassScore, moving
from hornbeam.engines.export.clauses import ClauseColumns, ScoredClause, ValueRange, WeightColumn
from hornbeam.engines.export.effects import EffectColumn, adds_nothing, level_of
from hornbeam.engines.export.features import double, feature_value, share, total_of, weighted_sum
from hornbeam.engines.export.plan_queries import PlanColumns, PlanQueries
from hornbeam.engines.export.relations import ExportedTables
from hornbeam.engines.export.user_tables import (
    FreeNames,
    NamedQuery,
    Times,
    UserFacts,
    comment_of,
    joined_tables,
)
from hornbeam.engines.export.user_values import values_for
from hornbeam.engines.plan.compiling import Compiler
from hornbeam.engines.sql.expressions import (
    Dialect,
    SqlTable,
    column,
    conjunction,
    integer,
    own_column,
    own_table,
    product,
    real,
)
from hornbeam.errors import OptionError, SchemaError, did_you_mean, plural
from hornbeam.logic.effects import Effect
from hornbeam.logic.guards import new_variables
from hornbeam.logic.schema import Schema


class Prediction(NamedTuple):
    """What the score stands for: the name of its column, and its SQL of the column ``score``."""

    name: str
    sql: str


SCORE_ALONE = Prediction("prediction", "score")


@dataclass(frozen=True, slots=True)
class ScoringModel:
    """A model as the scoring query needs it."""

    target: str
    schema: Schema
    prior: float
    clauses: Sequence[ScoredClause]
    effects: Sequence[Effect] = ()
    times: str | None = None
    """the kind of times, numbers or dates; None if the model was learned from facts without times"""
    at_cutoff: str = BEFORE
    """whether facts at the very time of a cut-off exist"""
    prediction: Prediction = SCORE_ALONE
    choice: int | str | None = None
    """for a model of choices, the argument of the target or the predicate that has the choice"""
    joined: Mapping[tuple[str, ...], Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """by table, columns that are made of several others, and these"""
    classes: Sequence[ClassScore] = ()
    """of classes that were learned together, what each has in place of prior, clauses and effects"""

    @property
    def all_clauses(self) -> Sequence[ScoredClause]:
        """The clauses in the order of their numbers: those of the first class, then those of the next."""
        return [clause for each in self.classes for clause in each.clauses] or self.clauses

    @property
    def moving_effects(self) -> dict[int, Effect]:
        """The effects that add something, by number."""
        if self.classes:
            return moving(self.classes)
        return {
            number: effect
            for number, effect in enumerate(self.effects, start=1)
            if not adds_nothing(effect.curve)
        }


def scoring_query(
    model: ScoringModel,
    dialect: str,
    tables: Mapping[str, SqlTable] | None = None,
    examples: SqlTable | None = None,
) -> str:
    """A query with a row per example: its keys, the clauses' counts, the effects' values, the log-odds, the
    probability; for a numeric target the score and the prediction.

    For a clause with a weight for each constant, the row has the sum of its weights instead of its counts.
    False counts that no weight multiplies, and clauses and effects that add nothing, are left out.

    Without a mapping, the facts of a predicate are read from the table of the same name, and the examples
    from ``examples``, with columns ``arg1 arg2 ...``. The ``time`` of the examples is their cut-off: in
    tables with a time, facts that are not before it are ignored.
    """
    known = _dialects()
    if dialect not in known:
        raise OptionError(f'no dialect "{dialect}". {did_you_mean(dialect, known, "Dialects")}')
    return _ScoringQuery(model, Dialect(dialect), tables or {}, examples).text()


def _dialects() -> list[str]:
    return sorted(name for name in sqlglot.Dialect.classes if name)


def _arguments(number: int) -> tuple[str, ...]:
    return tuple(f"arg{position + 1}" for position in range(number))


class _ScoringQuery:
    """Builds the query from common table expressions; each comes after the ones that it reads."""

    def __init__(
        self,
        model: ScoringModel,
        dialect: Dialect,
        tables: Mapping[str, SqlTable],
        examples: SqlTable | None,
    ) -> None:
        self._model = model
        self._clauses = {
            number: weighted if weighted.weighs_false else weighted._replace(guard=None)
            for number, weighted in enumerate(model.all_clauses, start=1)
            if weighted.weighs_anything
        }
        self._effects = model.moving_effects
        self._dialect = dialect
        self._arity = model.schema.arity(model.target)
        self._examples = examples or SqlTable(("examples",), _arguments(self._arity))
        if len(self._examples.columns) != self._arity:
            raise SchemaError(
                f"the examples have {plural(len(self._examples.columns), 'key column')}, but "
                f'"{model.target}" takes {plural(self._arity, "argument")}; name one column for each.'
            )
        self._times = None
        if self._examples.time is not None:
            self._times = model.times
            if self._times is None:
                raise OptionError(
                    "the model was learned from facts without times, so its examples have no cut-off; "
                    "leave out the time column of the examples."
                )
        self._width = self._arity + (self._times is not None)
        self._values = values_for(dialect.name)
        self._facts = self._facts_in(tables)
        if self._times is not None and not self._facts.timed():
            raise OptionError(
                "the examples have a cut-off, but no table of facts has a time; name the time column of each "
                "table that has one."
            )
        if self._times is not None:
            self._values.check_times()
        self._keys = self._names.take("example_keys")
        self._tables = ExportedTables(self._facts, self._names)
        self._sizes: dict[ValueRange, str] = {}
        self._choice: list[str] = []
        """for a model of choices, the columns whose equal values are one choice"""
        self._of_classes = self._class_queries() if model.classes else None

    def _facts_in(self, tables: Mapping[str, SqlTable]) -> UserFacts:
        """The facts of all predicates; joined columns are made for them, and for the examples."""
        model = self._model
        predicates = model.schema.predicates
        defaults = {name: SqlTable((name,), _arguments(len(types))) for name, types in predicates.items()}
        read = defaults | dict(tables)
        used = [self._examples, *read.values()]
        self._names = FreeNames(used)
        self._joined, named = joined_tables(model.joined, used, self._names, self._values)
        self._examples = self._examples.renamed(named)
        read = {name: table.renamed(named) for name, table in read.items()}
        times = Times(model.times, self._times is not None, model.at_cutoff)
        return UserFacts(model.schema, read, times, self._values)

    def text(self) -> str:
        """The text of the whole query."""
        wanted = [*self._columns()]
        arity, names = self._arity, self._names
        columns = PlanQueries(wanted, self._facts, self._tables, arity, names, self._dialect, self._keys)
        made = [*columns.queries()]
        values = [*columns.with_columns()]
        last = values[-1].name if values else self._keys
        scores = self._score_queries(last)
        populations = [NamedQuery(name, self._size(range_)) for range_, name in self._sizes.items()]
        examples = NamedQuery(self._keys, self._key_columns())
        expressions = [*self._joined, examples, *self._tables.queries(), *populations]
        expressions += [*made, *values, *scores]
        query = self._result(expressions[-1].name)
        for name, expression, comment in expressions:
            if comment:
                expression.add_comments([comment_of(comment)])
            query = query.with_(name, as_=expression, copy=False)
        return self._dialect.text(query, pretty=True) + "\n"

    def _columns(self) -> Iterator[PlanColumns]:
        """What is made of plans: the columns of clauses and effects."""
        facts, schema = self._facts, self._model.schema
        timed = [name for name in schema.predicates if facts.has_time(name)]
        compiler = Compiler(schema, self._tables.single, timed)
        for number, weighted in self._clauses.items():
            if weighted.each is not None:
                yield WeightColumn(number, weighted, schema, compiler)
            else:
                total = self._total(weighted) if weighted.weighs_false else integer(0)
                yield ClauseColumns(number, weighted, schema, compiler, self._population, total)
        for number, effect in self._effects.items():
            yield EffectColumn(number, effect, facts, compiler)

    def _key_columns(self) -> exp.Select:
        columns = self._examples.expressions("e")
        named = [exp.alias_(value, f"k{number}") for number, value in enumerate(columns)]
        if self._times is not None and self._examples.time is not None:
            cutoff = self._facts.cutoff(column(self._examples.time, "e"))
            named.append(exp.alias_(cutoff, f"k{self._arity}"))
        return exp.select(*named).from_(self._examples.expression("e"))

    # --- populations -----------------------------------------------------------------------------

    def _population(self, range_: ValueRange) -> exp.Expr:
        """The number of constants in a range, as a query over the data."""
        if range_ not in self._sizes:
            self._sizes[range_] = self._names.take(f"population_{len(self._sizes) + 1}")
        return exp.select("n").from_(self._sizes[range_]).subquery()

    def _size(self, range_: ValueRange) -> exp.Select:
        """The number of constants that the facts and the examples have at arguments of a type."""
        type_name = range_.type
        columns: list[exp.Select] = []
        for predicate, types in sorted(self._model.schema.predicates.items()):
            for position, own in enumerate(types):
                if own == type_name and predicate == self._model.target:
                    value: exp.Column = own_column(f"k{position}")
                    known = exp.Not(this=exp.Is(this=value.copy(), expression=exp.null()))
                    columns.append(exp.select(exp.alias_(value, "constant")).from_(self._keys).where(known))
                elif own == type_name:
                    columns.append(self._tables.constants(predicate, position))
        union: exp.Query = columns[0].distinct()
        for constants in columns[1:]:
            union = union.union(constants)
        query = exp.select(exp.alias_(exp.Count(this=exp.Star()), "n")).from_(union.subquery("constants"))
        for operator, threshold in range_.comparisons:
            query = query.where(self._values.compared(own_column("constant"), operator, threshold))
        query.add_comments([comment_of(f"the population of {type_name}")])
        return query

    def _total(self, weighted: ScoredClause) -> exp.Expr:
        if weighted.total is not None:
            exact = weighted.total <= INT64_MAX
            return integer(weighted.total) if exact else exp.Literal.number(float(weighted.total))
        types = self._model.schema.variable_types(weighted.clause)
        clause = weighted.clause
        free = clause.free_variables() if weighted.guard is None else new_variables(clause)
        return product([double(self._population(ValueRange(types[variable]))) for variable in free])

    # --- scores ----------------------------------------------------------------------------------

    def _score_queries(self, features: str) -> list[NamedQuery]:
        """The queries from features to scores, each of which reads the one before."""
        if self._of_classes is not None:
            return self._of_classes.queries(features, self._names)
        terms: list[exp.Expr] = [real(self._model.prior), *map(self._added_by, self._clauses)]
        for number, effect in self._effects.items():
            terms.append(level_of(own_column(f"value_{number}"), effect.curve))
        query = exp.select(exp.Star(), exp.alias_(double(total_of(terms)), "score")).from_(features)
        scores = NamedQuery(self._names.take("example_scores"), query)
        return [scores] if self._model.choice is None else [scores, self._choices(scores.name)]

    def _class_queries(self) -> ClassQueries:
        sums: list[list[exp.Expr]] = []
        first = 1
        for each in self._model.classes:
            numbers = range(first, first + len(each.clauses))
            sums.append([self._added_by(number) for number in numbers if number in self._clauses])
            first = numbers.stop
        return ClassQueries(self._model.classes, [*self._effects], sums, self._model.prediction.sql)

    def _added_by(self, number: int) -> exp.Expr:
        """What a clause adds to the score."""
        weighted = self._clauses[number]
        if weighted.each is not None:
            return own_column(f"sum_{number}")
        true, false = (double(own_column(f"{name}_{number}")) for name in ("true", "false"))
        if weighted.feature == "share":
            true, false = share(true, false), real(0.0)
        else:
            true = feature_value(true, weighted.feature, weighted.bound)
            false = feature_value(false, weighted.feature, weighted.bound)
        w0, w1, w2 = weighted.weights
        return weighted_sum(w0, [(w1, true), (w2 if weighted.weighs_false else 0.0, false)])

    def _choices(self, scores: str) -> NamedQuery:
        """Scores with the choice of each example, and how far each is above the largest one of its choice."""
        select = exp.select("s.*").from_(own_table(scores, "s"))
        keys = [own_column(f"k{number}", "s") for number in range(self._width)]
        given = self._model.choice
        choice: list[exp.Expr]
        if isinstance(given, int):
            choice = [keys[given]]
        else:
            assert given is not None
            facts = self._tables.all_facts(given, "f")
            own = own_column(f"c{self._arity}", "f")
            same: list[exp.Expr] = [
                exp.EQ(this=own_column(f"c{number}", "f"), expression=key.copy())
                for number, key in enumerate(keys[: self._arity])
            ]
            if given in self._facts.timed():
                same.append(self._facts.exists(own_column("since", "f"), keys[-1].copy()))
            select = select.join(facts, on=conjunction(same), join_type="LEFT")
            # An example without a choice is one of its own.
            alone = exp.Is(this=own.copy(), expression=exp.null())
            choice = [own]
            choice += [exp.Case(ifs=[exp.If(this=alone.copy(), true=key.copy())]) for key in keys]
        most = exp.Window(
            this=exp.Max(this=own_column("score", "s")), partition_by=[each.copy() for each in choice]
        )
        self._choice = [f"choice_{number}" for number in range(len(choice))]
        named = [exp.alias_(each, name) for each, name in zip(choice, self._choice, strict=True)]
        above = exp.Sub(this=own_column("score", "s"), expression=most)
        return NamedQuery(
            self._names.take("scores_in_choice"), select.select(*named, exp.alias_(above, "above"))
        )

    def _result(self, scores: str) -> exp.Select:
        keys: list[exp.Expr] = [own_column(f"k{number}") for number in range(self._width)]
        if self._times is not None:
            # An example without a cut-off comes back without one.
            keys[-1] = exp.Nullif(this=keys[-1], expression=self._facts.everything())
        names = [*self._examples.columns, self._examples.time][: self._width]
        named = [
            exp.alias_(key, exp.to_identifier(name, quoted=True))
            for key, name in zip(keys, names, strict=True)
        ]
        for number, weighted in self._clauses.items():
            named += [own_column(name) for name in weighted.names(number)]
        named += [own_column(f"value_{number}") for number in self._effects]
        if self._of_classes is not None:
            return exp.select(*named, *self._of_classes.columns()).from_(scores)
        named += [own_column("score"), self._prediction()]
        return exp.select(*named).from_(scores)

    def _prediction(self) -> exp.Expr:
        name, sql = self._model.prediction
        parsed = sqlglot.parse_one(sql)
        for window in parsed.find_all(exp.Window):
            window.set("partition_by", [own_column(each) for each in self._choice])
        return exp.alias_(parsed, name)
