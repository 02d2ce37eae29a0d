"""Why a prediction is what it is: what each clause adds for one example, and what made it count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hornbeam.clauses import (
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
from hornbeam.database import Codes, Database
from hornbeam.engines.contract import Engine
from hornbeam.groundings import groundings
from hornbeam.model import Model, sigmoid

SHOWN = 5
"""True groundings given for each clause, at most."""
_PATIENCE = 500
"""Choices a search for groundings may make; only bodies with a cycle ever need that many."""


@dataclass(frozen=True, slots=True)
class Reason:
    """What one clause adds to the log-odds of an example."""

    clause: Clause
    weights: tuple[float, float, float]
    true: int
    false: int
    contribution: float
    variables: tuple[str, ...]
    """the free variables, as the clause's text names them"""
    groundings: tuple[tuple[str, ...], ...]
    """values of the free variables for some of the true groundings"""

    def as_dict(self) -> dict[str, object]:
        return {
            "clause": str(self.clause),
            "weights": list(self.weights),
            "true": self.true,
            "false": self.false,
            "contribution": self.contribution,
            "groundings": [dict(zip(self.variables, values, strict=True)) for values in self.groundings],
        }


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
            f"  {reason.contribution:+.4g} because {_because(reason, self.key)}" for reason in self.reasons
        ]
        lines.append(f"  {self.prior:+.4g} from the prior")
        return "\n".join(lines)


def explain(model: Model, engine: Engine, key: Codes, name: Sequence[str], shown: int = SHOWN) -> Explanation:
    """The reasons for one example: its codes in the engine's database, and its names.

    Repeated bodies are one reason. Each reason carries at most ``shown`` true groundings.
    """
    keys = key.reshape(1, -1)
    compact = model.compact()
    reasons = []
    for weighted, counts in zip(compact.clauses, compact.counts(engine, keys), strict=True):
        true = int(counts.true[0])
        free = weighted.clause.free_variables()
        reason = Reason(
            clause=weighted.clause,
            weights=weighted.weights,
            true=true,
            false=counts.total - true,
            contribution=float(weighted.contribution(counts.true, counts.total)[0]),
            variables=tuple(map(variable_name, free)),
            groundings=_named(engine.database, weighted.clause, key, shown) if true else (),
        )
        reasons.append(reason)
    reasons.sort(key=lambda reason: -abs(reason.contribution))
    log_odds = model.scores(engine, keys)
    return Explanation(
        target=model.target,
        key=tuple(name),
        prior=model.prior,
        log_odds=float(log_odds[0]),
        probability=float(sigmoid(log_odds)[0]),
        reasons=tuple(reasons),
    )


def _named(database: Database, clause: Clause, key: Codes, shown: int) -> tuple[tuple[str, ...], ...]:
    """Names of the free variables' values for the first true groundings."""
    types = database.schema.variable_types(clause)
    populations = [database.population(types[variable]) for variable in clause.free_variables()]
    if not populations:
        return ()
    return tuple(
        tuple(population.names[code] for population, code in zip(populations, codes, strict=True))
        for codes in groundings(database, clause, key.tolist(), shown, _PATIENCE)
    )


def _because(reason: Reason, key: tuple[str, ...]) -> str:
    """``publication(C,ann), publication(C,bob) is true for 3 values of C: t1, t2, t3``."""
    body = ", ".join(_about(literal, key) for literal in reason.clause.body) or "true"
    if not reason.variables:
        return f"{body} is {'true' if reason.true else 'false'}"
    many = f"{reason.true:,}" if reason.true else "no"
    said = f"{body} is true for {many} value{'s' * (reason.true > 1)} of {', '.join(reason.variables)}"
    if not reason.groundings:
        return said
    single = len(reason.variables) == 1
    values = [each[0] if single else f"({', '.join(each)})" for each in reason.groundings]
    if len(values) < reason.true:
        values.append("...")
    return f"{said}: {', '.join(values)}"


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
