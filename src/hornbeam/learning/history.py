"""The record of a fit, step by step: data for reports, not part of the model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Protocol

from hornbeam.data.database import Notice
from hornbeam.engines.contract import Skipped
from hornbeam.errors import plural
from hornbeam.model.clause_model import WeightedClause

ALL_STEPS = "all steps done"
NO_GAIN = "no clause lowers the error"
INTERRUPTED = "interrupted"
TIME_LIMIT = "time limit"
CHOOSING = " while options were chosen on held-out examples; turn validate off to skip this"
"""Appended to the reason if a fit was stopped before its first step."""


class Record(Protocol):
    """The record of one step of a learner."""

    @property
    def number(self) -> int:
        """The number of the step, from 1; 0 while options are chosen, before the first step."""
        ...

    @property
    def title(self) -> str:
        """What the step added, in one line."""
        ...

    @property
    def candidates(self) -> int:
        """Number of candidates examined."""
        ...

    def as_dict(self) -> dict[str, object]:
        """The record as JSON values."""
        ...


@dataclass(frozen=True, slots=True)
class Trial:
    """Progress of the choice of options, before the first step; not part of a history.

    >>> Trial(2, 6, 3, 1200).title
    'choosing options on held-out examples: trial 2 of 6, 3 steps'
    """

    trial: int
    trials: int
    steps: int = 0
    """steps of this trial done so far"""
    candidates: int = 0
    """candidates of the last step"""

    @property
    def number(self) -> int:
        return 0

    @property
    def title(self) -> str:
        steps = f", {self.steps} step{'s' * (self.steps > 1)}" if self.steps else ""
        return f"choosing options on held-out examples: trial {self.trial} of {self.trials}{steps}"

    def as_dict(self) -> dict[str, object]:
        """The trial as JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Step:
    """A clause that a step of boosting added, and the effort of its search."""

    number: int
    """number of the step, from 1; a learner may add several clauses in one step"""
    weighted: WeightedClause
    error_before: float
    """sum of the squared gradients"""
    error_after: float
    """sum of the squared residuals after the clause is fitted"""
    log_loss: float
    """mean over the training examples, after the step"""
    counted: int
    """candidates that had to be counted"""
    reused: int
    """candidates whose counts were cached"""
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
    """whether the fit was stopped early: on request, or by a time limit"""
    skipped: tuple[Skipped, ...] = ()
    """the candidates that were skipped, each once"""
    choosing: bool = False
    """whether it was stopped while options were chosen, before its first step"""

    def notices(self) -> tuple[Notice, ...]:
        """Messages for the user: the fit was stopped, learned nothing, or skipped clauses."""
        messages = []
        if self.cut:
            done = self.steps[-1].number if self.steps else 0
            reason = self.ended + CHOOSING * self.choosing
            messages.append(f"the fit was stopped early ({reason}); the model has {plural(done, 'step')}.")
        elif not self.steps:
            messages.append(f"{self.ended}: the model predicts its prior for every example.")
        if self.skipped:
            messages.append(
                f"skipped {plural(len(self.skipped), 'candidate clause')} that could not be counted; "
                f"the history lists all (first: {self.skipped[0]})."
            )
        return tuple(map(Notice, messages))

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
