"""What a model is made of, whatever its learner: parts that each add to the log-odds.

A part is a clause, a tree or an aggregate. What it adds is asked of the model; here is how it reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Protocol, runtime_checkable

from hornbeam.data.database import Codes
from hornbeam.drawing.markup import number_text, signed_text
from hornbeam.engines.contract import Engine
from hornbeam.errors import ModelError, plural
from hornbeam.learning.trees.model import TreeModel
from hornbeam.learning.trees.trees import leaves, tree_text
from hornbeam.logic.clauses import Clause, atoms_of
from hornbeam.logic.english import Pieces, clause_pieces, sentence
from hornbeam.logic.text import variable_name
from hornbeam.model.clause_model import Floats, Model, WeightedClause
from hornbeam.model.features import COUNT, LOG, SHARE, bound_of
from hornbeam.model.files import LearnedModel

CONSTANTS = 3
"""Constants with weights of their own that a line names."""


class AdditiveModel(LearnedModel, Protocol):
    """A model whose log-odds are its prior and what its parts add."""

    def contributions(self, engine: Engine, keys: Codes) -> Iterator[Floats]:
        """What each part adds to the log-odds of each example."""
        ...


@dataclass(frozen=True, slots=True)
class Part:
    """How one part of a model reads."""

    name: str
    """what it is called: ``clause 3``"""
    saying: Pieces
    """what it says, as a sentence"""
    logic: Pieces
    """the same as the model has it"""
    weights: tuple[tuple[str, float], ...]
    """its weights, each with what it weighs"""
    note: str
    """what else a reader must know of it; may be empty"""
    clause: Clause | None
    """the clause whose groundings it counts, if it is one"""
    predicates: frozenset[str]
    drawing: str = ""
    """its text in several lines, if it has such a form"""
    rises: bool | None = None
    """whether a true grounding of its clause makes an example likelier"""
    reading: str = ""
    """what of the counts is weighed, where it is not the count itself"""
    bound: int | None = None
    """how many groundings there must be, where that alone counts"""
    each: int | None = None
    """the variable whose constants have weights of their own, where one has"""
    constants: tuple[tuple[str, float], ...] = ()
    """these constants and their weights, the strongest first"""


@runtime_checkable
class ReportedModel(AdditiveModel, Protocol):
    """An additive model that describes its own parts. Rooms above this one add their kinds this way."""

    def report_parts(self) -> list[Part]: ...


def weights_text(part: Part) -> str:
    """The weights of a part as a line shows them, with what of the counts they weigh."""
    if part.each is None:
        weights = ", ".join(number_text(weight) for _, weight in part.weights)
    else:
        shown = [f"{signed_text(weight, 3)} {name}" for name, weight in part.constants[:CONSTANTS]]
        more = len(part.constants) - len(shown)
        weights = f"{variable_name(part.each)}: {', '.join(shown)}" + f", and {more:,} more" * (more > 0)
    return f"[{weights}] {part.reading}".rstrip()


@singledispatch
def additive(model: LearnedModel) -> AdditiveModel:
    """The model in the form that a report shows: one with parts that add up."""
    if isinstance(model, ReportedModel):
        return model
    raise ModelError(
        f"there is no report of a model of learner {model.learner}: it has no parts that add up."
    )


@additive.register
def _(model: Model) -> AdditiveModel:
    return model.compact()


@additive.register
def _(model: TreeModel) -> AdditiveModel:
    return model


@singledispatch
def parts_of(model: AdditiveModel) -> list[Part]:
    """The parts in the order in which the model gives their contributions."""
    if isinstance(model, ReportedModel):
        return model.report_parts()
    raise ModelError(f"there is no report of a model of learner {model.learner}: its parts are not known.")


@parts_of.register
def _(model: Model) -> list[Part]:
    return [_clause_part(number, each, model) for number, each in enumerate(model.clauses, start=1)]


def _clause_part(number: int, weighted: WeightedClause, model: Model) -> Part:
    w0, w1, w2 = weighted.weights
    bound = bound_of(weighted.feature)
    shape = {
        COUNT: ("true count", "false count"),
        LOG: ("ln(1 + true)", "ln(1 + false)"),
        SHARE: ("share of the guard", "false count"),
    }
    of_true, of_false = shape.get(weighted.feature, (f"true {weighted.feature}", f"false {weighted.feature}"))
    rises, each = weighted.rises(), weighted.each
    return Part(
        name=f"clause {number}",
        saying=sentence(
            weighted.clause, model.schema, rises, at_least=bound, each=each, share=weighted.feature == SHARE
        ),
        logic=clause_pieces(weighted.clause),
        weights=(("bias", w0), (of_true, w1), (of_false, w2)) if each is None else (),
        note="",
        clause=weighted.clause,
        rises=rises,
        each=each,
        reading="" if weighted.feature == COUNT else weighted.feature,
        bound=bound,
        constants=tuple(weighted.strongest(len(weighted.constants))),
        predicates=frozenset(atom.predicate for atom in atoms_of(weighted.clause.body)),
    )


@parts_of.register
def _(model: TreeModel) -> list[Part]:
    found = []
    for number, tree in enumerate(model.trees, start=1):
        places = list(leaves(tree))
        used = frozenset(atom.predicate for place in places for atom in atoms_of(place.body))
        found.append(
            Part(
                name=f"tree {number}",
                saying=[f"A tree with {plural(len(places), 'end')}, each with a value to add."],
                logic=[],
                weights=(),
                note="",
                clause=None,
                predicates=used,
                drawing=tree_text(tree, ""),
            )
        )
    return found
