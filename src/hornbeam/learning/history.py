"""What happened in a fit, step by step: data for reports, never part of a model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Protocol

from hornbeam.data.database import Notice
from hornbeam.engines.contract import Skipped
from hornbeam.model.clause_model import WeightedClause

ALL_STEPS = "all steps done"
NO_GAIN = "no clause lowers the error"
INTERRUPTED = "interrupted"
TIME_LIMIT = "time limit"
CHOOSING = ", while examples held out chose options: without validate the steps begin at once"
"""What is said of a fit that was stopped before its first step for that."""


class Record(Protocol):
    """What one step of a learner did."""

    @property
    def number(self) -> int:
        """The step it belongs to, from 1; 0 before the first, while options are chosen."""
        ...

    @property
    def title(self) -> str:
        """What was found, in a line."""
        ...

    @property
    def candidates(self) -> int:
        """How many were looked at to find it."""
        ...

    def as_dict(self) -> dict[str, object]:
        """As JSON values."""
        ...


@dataclass(frozen=True, slots=True)
class Trial:
    """How far options are chosen, before the first step: for whoever watches, no part of a history.

    >>> Trial(2, 6, 3, 1200).title
    'choosing options by examples held out: trial 2 of 6, 3 steps'
    """

    trial: int
    trials: int
    steps: int = 0
    """steps of this trial that are done"""
    candidates: int = 0
    """those of the last of them"""

    @property
    def number(self) -> int:
        return 0

    @property
    def title(self) -> str:
        steps = f", {self.steps} step{'s' * (self.steps > 1)}" if self.steps else ""
        return f"choosing options by examples held out: trial {self.trial} of {self.trials}{steps}"

    def as_dict(self) -> dict[str, object]:
        """As JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Step:
    """A clause that a round of boosting added, and what it took to find it."""

    number: int
    """the round, counted from 1; a learner may add several clauses in one"""
    weighted: WeightedClause
    error_before: float
    """sum of the squared gradients"""
    error_after: float
    """what the clause's ridge fit leaves of it"""
    log_loss: float
    """mean over the training examples, after the step"""
    counted: int
    """candidates that had to be counted"""
    reused: int
    """candidates whose counts were known"""
    skipped: int
    """candidates that could not be counted exactly or within the budget"""
    seconds: float

    @property
    def title(self) -> str:
        return str(self.weighted.clause)

    @property
    def candidates(self) -> int:
        return self.counted + self.reused

    def as_dict(self) -> dict[str, object]:
        """The step as JSON values."""
        return {
            "step": self.number,
            "clause": str(self.weighted.clause),
            "weights": list(self.weighted.weights),
            "total": self.weighted.total,
            "feature": self.weighted.feature,
            "error_before": self.error_before,
            "error_after": self.error_after,
            "log_loss": self.log_loss,
            "counted": self.counted,
            "reused": self.reused,
            "skipped": self.skipped,
            "seconds": self.seconds,
        } | ({} if self.weighted.each is None else {"each": self.weighted.each})


@dataclass(frozen=True, slots=True)
class History:
    """The steps of a fit and why it ended."""

    steps: tuple[Record, ...]
    ended: str
    cut: bool
    """whether it ended before its time: on request, or by a time limit"""
    skipped: tuple[Skipped, ...] = ()
    """every candidate that was skipped, once"""
    choosing: bool = False
    """whether it was cut while examples held out chose options, before its first step"""

    def notices(self) -> tuple[Notice, ...]:
        """What a fit's owner should hear once: that it was cut, learned nothing, or skipped clauses."""
        said = []
        if self.cut:
            done = self.steps[-1].number if self.steps else 0
            why = self.ended + CHOOSING * self.choosing
            said.append(f"the fit was cut ({why}); the model has the {done} steps done.")
        elif not self.steps:
            said.append(f"{self.ended}: the model is its prior alone.")
        if self.skipped:
            said.append(
                f"{len(self.skipped)} candidate clauses could not be counted and were skipped; "
                f"the history lists them (first: {self.skipped[0]})."
            )
        return tuple(map(Notice, said))

    def as_dict(self) -> dict[str, object]:
        """The history as JSON values."""
        return {
            "ended": self.ended,
            "cut": self.cut,
            "steps": [step.as_dict() for step in self.steps],
            "skipped": [skipped_fields(each) for each in self.skipped],
        }


def skipped_fields(skipped: Skipped) -> dict[str, object]:
    """A skipped candidate as JSON values."""
    return {
        "clause": str(skipped.clause),
        "reason": skipped.reason,
        "estimate": skipped.estimate,
        "budget": skipped.budget,
    }
