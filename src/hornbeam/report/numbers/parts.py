"""The parts of a model that each add to the log-odds: clauses, trees or aggregates.

This module describes parts in words; what a part adds for an example comes from the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Protocol, runtime_checkable

from hornbeam.data.database import Codes
from hornbeam.drawing.markup import number_text, signed_text
from hornbeam.engines.contract import Engine
from hornbeam.errors import ModelError
from hornbeam.logic.clauses import Clause, atoms_of, variable_name
from hornbeam.logic.effects import body_text, predicates_in
from hornbeam.logic.english.clauses import Pieces, clause_pieces, sentence
from hornbeam.logic.english.curves import curve_rows
from hornbeam.logic.english.effects import effect_sentence
from hornbeam.logic.english.phrases import feature_pieces
from hornbeam.logic.english.wording import Wording
from hornbeam.model.clause_model import Floats, Model, WeightedClause
from hornbeam.model.effects import FittedEffect
from hornbeam.model.features import COUNT, LOG, SHARE, bound_of
from hornbeam.model.files import LearnedModel

CONSTANTS = 3
"""Maximum number of constants in a line of text, for clauses with a weight for each constant."""


class AdditiveModel(LearnedModel, Protocol):
    """A model whose log-odds are its prior plus what its parts add."""

    def contributions(self, engine: Engine, keys: Codes) -> Iterator[Floats]:
        """What each part adds to the log-odds of each example."""
        ...


@dataclass(frozen=True, slots=True)
class ModelPart:
    """One part of a model, described in words."""

    name: str
    """``clause 3``"""
    sentence: Pieces
    """its meaning as an English sentence"""
    formula: Pieces
    """the text of the clause or aggregate, as in the model; empty for a tree"""
    weights: tuple[tuple[str, float], ...]
    """its weights, each with the name of what it multiplies"""
    note: str
    """a remark for the reader; may be empty"""
    clause: Clause | None
    """the clause whose groundings it counts; None for other parts"""
    predicates: frozenset[str]
    tree: str = ""
    """the tree as text in several lines; empty for other parts"""
    rises: bool | None = None
    """sign of the effect of more true groundings, as ``WeightedClause.rises``"""
    feature: str = ""
    """the feature of the counts that the weights multiply; empty for the count itself"""
    bound: int | None = None
    """the bound of an ``at least`` feature"""
    each: int | None = None
    """the variable whose constants have weights of their own, if there is one"""
    constants: tuple[tuple[str, float], ...] = ()
    """these constants and their weights, the strongest first"""
    fitted: FittedEffect | None = None
    """the effect, if the part is one"""
    phrase: tuple[str | int, ...] = ()
    """for an effect, its feature as a noun phrase"""


@runtime_checkable
class ReportedModel(AdditiveModel, Protocol):
    """An additive model that describes its own parts. Rooms above this one use it to add kinds of models."""

    def report_parts(self) -> list[ModelPart]: ...


def weights_text(part: ModelPart) -> str:
    """The weights of a part in one line, with the feature that they multiply."""
    if part.each is None:
        weights = ", ".join(number_text(weight) for _, weight in part.weights)
    else:
        shown = [f"{signed_text(weight, 3)} {name}" for name, weight in part.constants[:CONSTANTS]]
        more = len(part.constants) - len(shown)
        weights = f"{variable_name(part.each)}: {', '.join(shown)}" + f", and {more:,} more" * (more > 0)
    return f"[{weights}] {part.feature}".rstrip()


@singledispatch
def additive(model: LearnedModel) -> AdditiveModel:
    """The model in the form that a report shows: with parts that add up to the log-odds."""
    if isinstance(model, ReportedModel):
        return model
    raise _no_report(model)


@additive.register
def _(model: Model) -> AdditiveModel:
    return model.compact()


@singledispatch
def parts_of(model: AdditiveModel) -> list[ModelPart]:
    """The parts of a model, in the order of ``contributions``."""
    if isinstance(model, ReportedModel):
        return model.report_parts()
    raise _no_report(model)


def _no_report(model: LearnedModel) -> ModelError:
    """The error for a kind of model that this module cannot describe."""
    return ModelError(
        f"there is no report for models of the learner {model.learner}; "
        "for a model of several classes, report one of its classes."
    )


@parts_of.register
def _(model: Model) -> list[ModelPart]:
    clauses = [_clause_part(number, each, model) for number, each in enumerate(model.clauses, start=1)]
    wording = model.wording
    effects = [
        _effect_part(number, each, model, wording) for number, each in enumerate(model.effects, start=1)
    ]
    return clauses + effects


def _effect_part(number: int, fitted: FittedEffect, model: Model, wording: Wording) -> ModelPart:
    effect = fitted.effect
    return ModelPart(
        name=f"effect {number}",
        sentence=effect_sentence(effect, model.schema, model.dated, wording, fitted.is_weak),
        formula=[body_text(effect.head, effect.body)],
        weights=tuple((row.values, row.level) for row in curve_rows(effect.curve, effect.feature)),
        note="",
        clause=None,
        feature=str(effect.feature),
        predicates=frozenset(predicates_in(effect.body)),
        fitted=fitted,
        phrase=tuple(feature_pieces(effect, model.schema, model.dated, wording)),
    )


def _clause_part(number: int, weighted: WeightedClause, model: Model) -> ModelPart:
    w0, w1, w2 = weighted.weights
    bound = bound_of(weighted.feature)
    weighted_counts = {
        COUNT: ("true count", "false count"),
        LOG: ("ln(1 + true)", "ln(1 + false)"),
        SHARE: ("share of the guard", "false count"),
    }
    of_true, of_false = weighted_counts.get(
        weighted.feature, (f"true {weighted.feature}", f"false {weighted.feature}")
    )
    rises, each = weighted.rises(), weighted.each
    return ModelPart(
        name=f"clause {number}",
        sentence=sentence(
            weighted.clause, model.schema, rises, at_least=bound, each=each, share=weighted.feature == SHARE
        ),
        formula=clause_pieces(weighted.clause),
        weights=(("bias", w0), (of_true, w1), (of_false, w2)) if each is None else (),
        note="",
        clause=weighted.clause,
        rises=rises,
        each=each,
        feature="" if weighted.feature == COUNT else weighted.feature,
        bound=bound,
        constants=tuple(weighted.strongest(len(weighted.constants))),
        predicates=frozenset(atom.predicate for atom in atoms_of(weighted.clause.body)),
    )
