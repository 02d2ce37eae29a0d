"""The aggregates of a model as the parts of a report."""

from __future__ import annotations

from collections.abc import Sequence

from hornbeam.logic.clauses import Atom, atoms_of, variable_name
from hornbeam.logic.english.clauses import body_pieces, literal_pieces
from hornbeam.report.numbers.parts import ModelPart
from hornbeam.rivals.agg_lr.aggregates import COUNT, DISTINCT, GREATEST, LEAST, MEAN, WeightedAggregate

_NAMES = {
    COUNT: "number of groundings of",
    DISTINCT: "number of different",
    MEAN: "mean",
    LEAST: "least",
    GREATEST: "greatest",
}


def aggregate_parts(head: Atom, features: Sequence[WeightedAggregate]) -> list[ModelPart]:
    """One part for each aggregate, in the same order."""
    return [_part(number, head, each) for number, each in enumerate(features, start=1)]


def _part(number: int, head: Atom, weighted: WeightedAggregate) -> ModelPart:
    kind, path, variable = weighted.aggregate
    of = "" if variable is None else f" {variable_name(variable)} in"
    direction = "likelier" if weighted.weight > 0 else "less likely"
    return ModelPart(
        name=f"feature {number}",
        sentence=[
            *literal_pieces(head),
            f" is {direction} the larger the {_NAMES[kind]}{of} ",
            *body_pieces(path.body),
            ".",
        ],
        formula=[str(weighted.aggregate)],
        weights=(("value − mean", weighted.weight), ("mean", weighted.mean)),
        note="",
        clause=None,
        predicates=frozenset(atom.predicate for atom in atoms_of(path.body)),
    )
