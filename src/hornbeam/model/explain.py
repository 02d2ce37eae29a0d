"""Why a prediction is what it is: what each clause adds for one example, and what made it count.

``explain`` is open to other kinds of models: a module that has one registers its own reasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Protocol

from hornbeam.data.database import Codes, Database
from hornbeam.drawing.markup import bar_picture, element, notebook_table, signed_text
from hornbeam.engines.contract import Engine
from hornbeam.engines.count import count_all
from hornbeam.errors import ModelError, plural
from hornbeam.logic.clauses import (
    Atom,
    Clause,
    Comparison,
    Literal,
    Not,
    Term,
    format_constant,
    format_literal,
    variable_name,
)
from hornbeam.model.clause_model import Model, WeightedClause, sigmoid
from hornbeam.model.features import COUNT, SHARE, bound_of
from hornbeam.model.files import LearnedModel
from hornbeam.model.groundings import groundings

SHOWN = 5
"""True groundings given for each clause, at most."""
_PATIENCE = 500
"""Choices a search for groundings may make; only bodies with a cycle ever need that many."""


class Reason(Protocol):
    """What a part of a model adds to the log-odds of an example."""

    @property
    def contribution(self) -> float: ...
    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        ...

    def because(self, key: tuple[str, ...]) -> str:
        """What made it so, in words, for an example of that key."""
        ...


@dataclass(frozen=True, slots=True)
class ClauseReason:
    """What one clause adds to the log-odds of an example."""

    clause: Clause
    weights: tuple[float, float, float]
    true: int
    false: int | None
    """None where it is too much to count and no weight asks for it"""
    contribution: float
    variables: tuple[str, ...]
    """the free variables, as the clause's text names them"""
    groundings: tuple[tuple[str, ...], ...]
    """values of the free variables for some of the true groundings"""
    feature: str = COUNT
    """what of the counts is weighted"""
    each: str | None = None
    """the variable whose constants have weights of their own, where one has"""
    constants: tuple[tuple[str, float], ...] = ()
    """what the strongest of these constants add"""

    def as_dict(self) -> dict[str, object]:
        return {
            "clause": str(self.clause),
            "weights": list(self.weights),
            "true": self.true,
            "false": self.false,
            "contribution": self.contribution,
            "groundings": [dict(zip(self.variables, values, strict=True)) for values in self.groundings],
            "feature": self.feature,
        } | ({} if self.each is None else {"each": self.each, "constants": dict(self.constants)})

    def because(self, key: tuple[str, ...]) -> str:
        """``publication(C,ann), publication(C,bob) is true for 3 values of C: t1, t2, t3``."""
        body = about(self.clause.body, key)
        if not self.variables:
            return f"{body} is {'true' if self.true else 'false'}"
        many = f"{self.true:,}" if self.true else "no"
        said = f"{body} is true for {many} value{'s' * (self.true > 1)} of {', '.join(self.variables)}"
        if self.feature == SHARE:
            return f"{said} of {self.true + (self.false or 0):,} without the last condition"
        if bound_of(self.feature) is not None:
            said += f" ({self.feature})"
        if self.each is not None:
            added = ", ".join(f"{name} {weight:+.3g}" for name, weight in self.constants)
            return f"{said}; of {self.each}: {added}" if added else said
        if not self.groundings:
            return said
        single = len(self.variables) == 1
        values = [each[0] if single else f"({', '.join(each)})" for each in self.groundings]
        if len(values) < self.true:
            values.append("...")
        return f"{said}: {', '.join(values)}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """One example, its probability, and the reasons, the strongest first.

    The prior and the contributions add up to the log-odds.
    """

    target: str
    key: tuple[str, ...]
    prior: float
    log_odds: float
    probability: float
    reasons: tuple[Reason, ...]

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "target": self.target,
            "key": list(self.key),
            "prior": self.prior,
            "log_odds": self.log_odds,
            "probability": self.probability,
            "reasons": [reason.as_dict() for reason in self.reasons],
        }

    def __str__(self) -> str:
        head = format_literal(Atom(self.target, self.key))
        lines = [f"{head}: probability {self.probability:.4f}, log-odds {self.log_odds:+.4g}"]
        lines += [
            f"  {reason.contribution:+.4g} because {reason.because(self.key)}"
            for reason in self.reasons
            if reason.contribution
        ]
        silent = sum(not reason.contribution for reason in self.reasons)
        if silent:
            lines.append(f"  +0 from {plural(silent, 'other clause')}")
        lines.append(f"  {self.prior:+.4g} from the prior")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        most = max([abs(self.prior), *(abs(reason.contribution) for reason in self.reasons)])
        told = [
            (reason.contribution, reason.because(self.key)) for reason in self.reasons if reason.contribution
        ]
        told.append((self.prior, "the prior"))
        rows = [(signed_text(added), bar_picture(added, most), because) for added, because in told]
        head = format_literal(Atom(self.target, self.key))
        title = [
            element("b", f"{self.probability:.4f}"),
            f" probability of {head}, log-odds {signed_text(self.log_odds)}",
        ]
        silent = len(self.reasons) + 1 - len(told)
        note = f"{silent} more add nothing." if silent else ""
        return notebook_table(title, ("adds", "", "because"), rows, 1, note)


@singledispatch
def explain(
    model: LearnedModel, engine: Engine, key: Codes, name: Sequence[str], shown: int = SHOWN
) -> Explanation:
    """The reasons for one example: its codes in the engine's database, and its names.

    Repeated bodies are one reason. Each reason carries at most ``shown`` true groundings.
    """
    raise ModelError(f"a model of learner {model.learner} has no reasons to give.")


@explain.register
def _explain_clauses(
    model: Model, engine: Engine, key: Codes, name: Sequence[str], shown: int = SHOWN
) -> Explanation:
    keys = key.reshape(1, -1)
    compact = model.compact()
    reasons = []
    for weighted, counts in zip(compact.clauses, compact.counts(engine, keys), strict=True):
        true = int(counts.true[0])
        free = weighted.clause.free_variables()
        constants = _constants(weighted, engine, keys)
        reason = ClauseReason(
            clause=weighted.clause,
            weights=weighted.weights,
            true=true,
            false=counts.false_of(0),
            contribution=float(weighted.contribution(counts.true, counts.totals)[0])
            if weighted.each is None
            else sum(constants.values()),
            variables=tuple(map(variable_name, free)),
            groundings=named_groundings(engine.database, weighted.clause, key, shown) if true else (),
            feature=weighted.feature,
            each=None if weighted.each is None else variable_name(weighted.each),
            constants=tuple(sorted(constants.items(), key=lambda entry: (-abs(entry[1]), entry[0]))[:shown]),
        )
        reasons.append(reason)
    return explanation(model, engine, key, name, reasons)


def _constants(weighted: WeightedClause, engine: Engine, keys: Codes) -> dict[str, float]:
    """What each constant of a clause adds for one example, where constants have weights of their own."""
    if weighted.each is None:
        return {}
    parts = weighted.parts()
    counted = count_all(engine, [part.clause for part in parts], keys)
    return {
        name: float(part.contribution(counts.true, 1)[0])
        for (name, _), part, counts in zip(weighted.constants, parts, counted, strict=True)
        if counts.true[0]
    }


def explanation(
    model: LearnedModel, engine: Engine, key: Codes, name: Sequence[str], reasons: Iterable[Reason]
) -> Explanation:
    """What a model says of one example, with the reasons in order of their strength."""
    log_odds = model.scores(engine, key.reshape(1, -1))
    return Explanation(
        target=model.target,
        key=tuple(name)[: model.schema.arity(model.target)],  # a cut-off may follow
        prior=model.prior,
        log_odds=float(log_odds[0]),
        probability=float(sigmoid(log_odds)[0]),
        reasons=tuple(sorted(reasons, key=lambda reason: -abs(reason.contribution))),
    )


def named_groundings(
    database: Database, clause: Clause, key: Codes, shown: int
) -> tuple[tuple[str, ...], ...]:
    """Names of the free variables' values for the first true groundings."""
    if database.tables is not None:
        return database.tables.groundings(clause, key.tolist(), shown)
    types = database.schema.variable_types(clause)
    populations = [database.population(types[variable]) for variable in clause.free_variables()]
    if not populations:
        return ()
    return tuple(
        tuple(population.names[code] for population, code in zip(populations, codes, strict=True))
        for codes in groundings(database, clause, key.tolist(), shown, _PATIENCE)
    )


def about(body: Sequence[Literal], key: tuple[str, ...]) -> str:
    """The text of a body with the example's names in place of the head's variables."""
    return ", ".join(_about(literal, key) for literal in body) or "true"


def _about(literal: Literal, key: tuple[str, ...]) -> str:
    """The literal with the example's names in place of the head's variables."""
    if isinstance(literal, Comparison):
        text = format_literal(literal)
        if literal.variable >= len(key):
            return text
        return format_constant(key[literal.variable]) + text.removeprefix(variable_name(literal.variable))
    if isinstance(literal, Not):
        return format_literal(Not(_bound(literal.atom, key)))
    return format_literal(_bound(literal, key))


def _bound(atom: Atom, key: tuple[str, ...]) -> Atom:
    args: list[Term] = [
        key[term] if isinstance(term, int) and term < len(key) else term for term in atom.args
    ]
    return Atom(atom.predicate, tuple(args))
