"""The aggregates of a model as a report shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hornbeam.logic.clauses import Atom, atoms_of, head_atom
from hornbeam.logic.english import body_pieces, literal_pieces
from hornbeam.logic.text import variable_name
from hornbeam.report.numbers.parts import Part
from hornbeam.study.agg_lr.aggregates import COUNT, DISTINCT, GREATEST, LEAST, MEAN

if TYPE_CHECKING:
    from hornbeam.study.agg_lr.model import AggregateModel, WeightedAggregate

_MEANT = {
    COUNT: "number of groundings of",
    DISTINCT: "number of different",
    MEAN: "mean",
    LEAST: "least",
    GREATEST: "greatest",
}


def aggregate_parts(model: AggregateModel) -> list[Part]:
    """The aggregates of a model, in model order."""
    return [_aggregate_part(number, each, model) for number, each in enumerate(model.features, start=1)]


def _aggregate_part(number: int, weighted: WeightedAggregate, model: AggregateModel) -> Part:
    head: Atom = head_atom(model.target, model.schema.arity(model.target))
    path = weighted.aggregate.path
    kind, _, variable = weighted.aggregate
    of = "" if variable is None else f" {variable_name(variable)} in"
    direction = "likelier" if weighted.weight > 0 else "less likely"
    return Part(
        name=f"feature {number}",
        saying=[
            *literal_pieces(head),
            f" is {direction} the larger the {_MEANT[kind]}{of} ",
            *body_pieces(path.body),
            ".",
        ],
        logic=[str(weighted.aggregate)],
        weights=(("value − mean", weighted.weight), ("mean", weighted.mean)),
        note="",
        clause=None,
        predicates=frozenset(atom.predicate for atom in atoms_of(path.body)),
    )
