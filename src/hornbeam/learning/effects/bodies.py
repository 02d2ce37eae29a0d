"""Limits of bodies: how many links and conditions together, and how many conditions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from hornbeam.data.numbers import Floats
from hornbeam.engines.questions import FeatureRequest
from hornbeam.learning.effects.candidates import Pool
from hornbeam.learning.effects.examples.groups import EqualExamples
from hornbeam.logic.clauses import Atom, Comparison
from hornbeam.logic.effects import Body, Equals, Step


class BodyLimits(NamedTuple):
    """The bodies that a learner may use.

    >>> smokes, friends = Atom("smokes", (1,)), Atom("friends", (0, 1))
    >>> BodyLimits(2, 1).allow((friends, smokes)), BodyLimits(1, 1).allow((friends, smokes))
    (True, False)
    >>> BodyLimits(None, 0).allow((friends,)), BodyLimits(None, 0).allow((friends, smokes))
    (True, False)
    """

    literals: int | None = None
    """maximum number of links and conditions together; None for any number"""
    conditions: int = 2

    def allow(self, body: Body) -> bool:
        """Whether a body is within the limits."""
        if self.literals is not None and len(body) > self.literals:
            return False
        return n_conditions(body) <= self.conditions


def n_conditions(body: Body) -> int:
    """Number of constants, comparisons and flags in a body."""
    return sum(map(_is_condition, body))


def _is_condition(step: Step) -> bool:
    """Whether a step of a body is a constant, a comparison or a flag."""
    return isinstance(step, Equals | Comparison) or (isinstance(step, Atom) and len(step.args) == 1)


@dataclass(eq=False)
class LimitedPool(Pool):
    """Candidates whose bodies are within limits."""

    limits: BodyLimits = field(default_factory=BodyLimits)

    def add(self, request: FeatureRequest, values: Floats, equal: EqualExamples | None = None) -> None:
        if self.limits.allow(request.body):
            super().add(request, values, equal)
