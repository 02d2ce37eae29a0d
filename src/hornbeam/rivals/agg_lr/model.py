"""Models of weighted aggregates: probabilities, text, files and explanations.

Predicting needs an engine and NumPy; nothing here depends on how weights are learned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hornbeam.data.database import Codes, Examples
from hornbeam.drawing.markup import number_text, signed_text
from hornbeam.drawing.notebook import notebook_table
from hornbeam.engines.clauses.contract import Counts
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.clauses.counting.count import count_all
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.errors import InputError, LimitError, plural
from hornbeam.logic.clauses import Clause, atoms_of, head_atom, variable_name
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import Floats
from hornbeam.model.explain import SHOWN, Explanation, explain, explanation
from hornbeam.model.features import COUNT as NUMBER
from hornbeam.model.features import LOG, feature_values
from hornbeam.model.fields import Fields
from hornbeam.model.files import (
    Common,
    ModelKind,
    loss_fields,
    probabilities_of,
    read_loss,
    register_kind,
)
from hornbeam.model.scales import LOGISTIC
from hornbeam.rivals.agg_lr.aggregates import (
    COUNT,
    DISTINCT,
    KINDS,
    OF_NUMBERS,
    Aggregate,
    WeightedAggregate,
)
from hornbeam.rivals.agg_lr.joiner import Joiner, TooLargeError

if TYPE_CHECKING:
    from hornbeam.report.numbers.parts import ModelPart

LEARNER = "agg-lr"


@dataclass(frozen=True)
class AggregateModel:
    """A target's prior and weighted aggregates: ``P = sigmoid(prior + sum of contributions)``.

    For a numeric target, the sum is the prediction.
    """

    target: str
    schema: Schema
    prior: float
    features: tuple[WeightedAggregate, ...]
    settings: Mapping[str, object] = field(default_factory=dict)
    learner: str = LEARNER
    loss: str = LOGISTIC

    def __str__(self) -> str:
        how = "counts and distinct values as ln(1 + n)" if self.feature == LOG else "counts as they are"
        return "\n".join([f"prior {self.prior:.6g}, {how}", *map(str, self.features)])

    def _repr_html_(self) -> str:
        rows = [
            (number_text(each.weight), number_text(each.mean), str(each.aggregate)) for each in self.features
        ]
        title = f"{self.size_text} of {self.target}, prior {signed_text(self.prior)}"
        return notebook_table(title, ("weight", "mean", "feature"), rows, 2)

    @property
    def feature(self) -> str:
        """The number that is weighted for a count: the count itself, or its logarithm."""
        return LOG if self.settings.get("feature") == LOG else NUMBER

    @property
    def size_text(self) -> str:
        return plural(len(self.features), "feature")

    def predicates(self) -> tuple[str, ...]:
        """The predicates that the paths use, sorted."""
        used = {atom.predicate for each in self.features for atom in atoms_of(each.aggregate.path.body)}
        return tuple(sorted(used))

    def scores(self, engine: Engine, keys: Codes) -> Floats:
        """The log-odds of each example, feature by feature in model order."""
        size = max(1, engine.memory // 4 // (8 * max(1, len(self.features))))
        result = np.full(len(keys), self.prior, dtype=np.float64)
        for start in range(0, len(keys), size):
            for contribution in self.contributions(engine, keys[start : start + size]):
                result[start : start + size] += contribution
        return result

    def contributions(self, engine: Engine, keys: Codes) -> Iterator[Floats]:
        """The contribution of each aggregate to the log-odds of each example, in model order."""
        for each, column in zip(self.features, self.values(engine, keys), strict=True):
            yield each.contribution(weighted_values(each.aggregate, column, self.feature))

    def probabilities(self, engine: Engine, keys: Codes) -> Floats:
        """P(y=1) of each example."""
        return probabilities_of(self, engine, keys)

    def report_parts(self) -> list[ModelPart]:
        """The aggregates as a report shows them."""
        # Imported late, because predicting does not need reports.
        from hornbeam.rivals.agg_lr.parts import aggregate_parts

        return aggregate_parts(head_atom(self.target, self.schema.arity(self.target)), self.features)

    def values(self, engine: Engine, keys: Codes) -> list[Floats]:
        """The value of each aggregate for each example; NaN means no value."""
        wanted = [each.aggregate for each in self.features]
        if engine.database.is_in_place:
            from hornbeam.engines.clauses.loaded import loaded

            unlabelled = Examples(self.target, keys, np.zeros(len(keys), dtype=np.int8))
            engine, examples = loaded(engine, unlabelled)
            keys = examples.keys
        column_of = dict(
            aggregate_columns(
                by_path(wanted), engine, keys, lambda clauses: count_all(counter_of(engine), clauses, keys)
            )
        )
        columns = []
        for aggregate in wanted:
            column = column_of[aggregate]
            if isinstance(column, Skipped):
                raise LimitError(f"{aggregate} cannot be computed: {column}.")
            columns.append(column)
        return columns


def by_path(wanted: Iterable[Aggregate]) -> dict[Clause, list[Aggregate]]:
    """Aggregates grouped by path, in order."""
    groups: dict[Clause, list[Aggregate]] = {}
    for aggregate in wanted:
        groups.setdefault(aggregate.path, []).append(aggregate)
    return groups


def aggregate_columns(
    wanted: Mapping[Clause, Sequence[Aggregate]],
    engine: Engine,
    keys: Codes,
    count: Callable[[Sequence[Clause]], Sequence[Counts | Skipped]],
    joiner: Joiner | None = None,
) -> Iterable[tuple[Aggregate, Floats | Skipped]]:
    """Each aggregate with its values, or with the reason why it was skipped."""
    joiner = joiner or Joiner(engine.database, keys, engine.memory // 4)
    counted = [path for path, members in wanted.items() if any(each.kind == COUNT for each in members)]
    counts = dict(zip(counted, count(counted), strict=True))
    for path, members in wanted.items():
        if path in counts:
            counted_path = counts[path]
            column = (
                counted_path if isinstance(counted_path, Skipped) else counted_path.true.astype(np.float64)
            )
            yield Aggregate(COUNT, path), column
        others = [each for each in members if each.kind != COUNT]
        try:
            columns: Sequence[Floats | Skipped] = joiner.columns(path, others) if others else ()
        except TooLargeError as error:
            reason = "one example has too many groundings to join"
            columns = [Skipped(path, reason, error.rows, joiner.most_rows)] * len(others)
        yield from zip(others, columns, strict=True)


def weighted_values(aggregate: Aggregate, column: Floats, feature: str) -> Floats:
    """The numbers that are weighted: the feature of counts and of distinct values, other values unchanged."""
    return feature_values(column, feature) if aggregate.kind in (COUNT, DISTINCT) else column


# --- files --------------------------------------------------------------------------------------


def _fields(model: AggregateModel) -> dict[str, object]:
    features = [_feature_fields(each) for each in model.features]
    return {"prior": model.prior, "features": features} | loss_fields(model)


def _feature_fields(each: WeightedAggregate) -> dict[str, object]:
    kind, path, variable = each.aggregate
    of = {} if variable is None else {"variable": variable_name(variable)}
    return {"kind": kind, "path": str(path), "weight": each.weight, "mean": each.mean} | of


def _read(common: Common, fields: Fields) -> AggregateModel:
    prior = fields.number("prior")
    features = tuple(_read_feature(common, member) for member in fields.objects("features", "feature"))
    loss = read_loss(fields)
    return AggregateModel(
        common.target, common.schema, prior, features, common.settings, common.learner, loss
    )


def _read_feature(common: Common, fields: Fields) -> WeightedAggregate:
    kind, text = fields.text("kind"), fields.text("path")
    if kind not in KINDS:
        raise fields.wrong("kind", f"one of {', '.join(KINDS)}", kind)
    try:
        path = parse_clause(text, common.schema)
    except InputError as error:
        raise fields.wrong("path", f"a clause of the model's schema ({error})", text) from None
    if path.head.predicate != common.target:
        raise fields.wrong("path", f'a clause with head "{common.target}"', text)
    variable = None
    if kind != COUNT:
        name = fields.text("variable")
        names = {variable_name(each): each for each in path.free_variables()}
        if name not in names:
            raise fields.wrong("variable", "a free variable of the path", name)
        variable = names[name]
        type_name = common.schema.variable_types(path)[variable]
        if kind in OF_NUMBERS and type_name not in common.schema.numeric:
            raise fields.wrong("variable", f"of a numeric type for a {kind}", name)
    weight, mean = fields.number("weight"), fields.number("mean")
    fields.close()
    return WeightedAggregate(Aggregate(kind, path, variable), weight, mean)


register_kind(LEARNER, ModelKind(_fields, _read))


# --- why ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AggregateReason:
    """The contribution of one aggregate to the log-odds of an example."""

    aggregate: Aggregate
    weight: float
    value: float | None
    """``None`` if the example has no value"""
    contribution: float

    def as_dict(self) -> dict[str, object]:
        return {
            "feature": str(self.aggregate),
            "weight": self.weight,
            "value": self.value,
            "contribution": self.contribution,
        }

    def because(self, key: tuple[str, ...]) -> str:
        """``count publication(C,ann) is 3``."""
        text = self.aggregate.about(key)
        return f"{text} has no value" if self.value is None else f"{text} is {self.value:.6g}"


@explain.register
def _explain(
    model: AggregateModel, engine: Engine, key: Codes, name: Sequence[str], shown: int = SHOWN
) -> Explanation:
    reasons = []
    for each, column in zip(model.features, model.values(engine, key.reshape(1, -1)), strict=True):
        contribution = each.contribution(weighted_values(each.aggregate, column, model.feature))
        value = None if np.isnan(column[0]) else float(column[0])
        reasons.append(AggregateReason(each.aggregate, each.weight, value, float(contribution[0])))
    return explanation(model, engine, key, name, reasons)
