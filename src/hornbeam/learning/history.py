"""The record of a fit, step by step: data for reports, not part of the model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hornbeam.data.database import Notice
from hornbeam.engines.contract import Skipped
from hornbeam.errors import plural
from hornbeam.model.clause_model import WeightedClause

if TYPE_CHECKING:
    import pandas

ALL_STEPS = "all steps done"
NO_GAIN = "no clause lowers the error"
INTERRUPTED = "interrupted"
TIME_LIMIT = "time limit"
NO_EFFECT = "no effect lowers the loss on held-out examples"
LOG_LOSS = "log-loss"


def ended_of(histories: Iterable[Ended]) -> str:
    """Why fits ended: interrupted or by the time limit if any was, otherwise as the last one."""
    endings = [history.ended for history in histories]
    return next((ending for ending in (INTERRUPTED, TIME_LIMIT) if ending in endings), endings[-1])


def loss_text(loss: float) -> str:
    """A loss for readers: four digits after the point, and significant ones if it is large or tiny.

    >>> loss_text(0.41), loss_text(28123.4), loss_text(0.00001234)
    ('0.4100', '2.812e+04', '1.234e-05')
    """
    return f"{loss:.4f}" if loss == 0 or 0.001 <= loss < 10_000 else f"{loss:.4g}"


_SHOWN = 20
"""Number of records that a notebook shows: the last ones."""


class Ended(Protocol):
    """The history of one fit or of several."""

    @property
    def ended(self) -> str: ...


class Record(Protocol):
    """The record of one step of a learner."""

    @property
    def number(self) -> int:
        """The number of the step, from 1; 0 before the first step, while candidates are collected."""
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
class Collected:
    """The candidates of one path, before the first step; not part of a history.

    >>> Collected(2, 40, 12).title
    'candidates of path 2 of 40'
    """

    path: int
    paths: int
    candidates: int
    """number of new candidates"""

    @property
    def number(self) -> int:
        return 0

    @property
    def title(self) -> str:
        return f"candidates of path {self.path} of {self.paths}"

    def as_dict(self) -> dict[str, object]:
        """The record as JSON values."""
        return {"path": self.path, "paths": self.paths, "candidates": self.candidates}


@dataclass(frozen=True, slots=True)
class Round:
    """A few small steps of boosting in all bags, and how well the models predict after them.

    >>> Round(8, 0.41, 0.5).title
    'log-loss on held-out examples 0.4100, base rate 0.5000'
    """

    number: int
    """number of steps done"""
    held_out_loss: float | None
    """mean over the held-out examples; None if no example is held out"""
    base_loss: float | None
    """the same for models that predict a constant"""
    measure: str = LOG_LOSS
    """what the losses are"""

    @property
    def title(self) -> str:
        if self.held_out_loss is None or self.base_loss is None:
            return "no example is held out"
        constant = "base rate" if self.measure == LOG_LOSS else "constant"
        own, base = loss_text(self.held_out_loss), loss_text(self.base_loss)
        return f"{self.measure} on held-out examples {own}, {constant} {base}"

    @property
    def candidates(self) -> int:
        return 0

    def as_dict(self) -> dict[str, object]:
        """The round as JSON values."""
        losses = {"held_out_loss": self.held_out_loss, "base_loss": self.base_loss}
        known = {name: loss for name, loss in losses.items() if loss is not None}
        return {"step": self.number} | known | ({} if self.measure == LOG_LOSS else {"measure": self.measure})


@dataclass(frozen=True, slots=True)
class History:
    """The steps of a fit and why it ended."""

    steps: tuple[Record, ...]
    ended: str
    cut: bool
    """whether the fit was stopped early: on request, or by a time limit"""
    skipped: tuple[Skipped, ...] = ()
    """the candidates that were skipped, each once"""
    kept: int | None = None
    """number of steps in the model, if those that predict held-out examples worse are left out"""
    score: str = ""
    """how well the model predicts held-out examples, in one line"""
    length: str = ""
    """how much of the long model's gain the effects keep, in one line"""
    notes: tuple[str, ...] = ()
    """what the user should know about the examples, as sentences"""

    def __repr__(self) -> str:
        return f"History({plural(len(self.steps), 'record')}, ended: {self.ended})"

    def to_frame(self) -> pandas.DataFrame:
        """A row for each record of a step: its number, errors or losses, time, and what it chose."""
        from hornbeam.drawing.frames import frame_of

        rows = [step.as_dict() for step in self.steps]
        names = dict.fromkeys(name for row in rows for name in row)
        return frame_of({name: [row.get(name) for row in rows] for name in names})

    def _repr_html_(self) -> str:
        from hornbeam.drawing.notebook import notebook_table

        shown = self.steps[-_SHOWN:]
        note = self.score or ""
        if len(self.steps) > len(shown):
            note = f"{plural(len(self.steps) - len(shown), 'earlier record')} not shown. {note}"
        rows = [(f"{step.number:,}", step.title) for step in shown]
        return notebook_table(f"Ended: {self.ended}", ("step", ""), rows, 1, note)

    def scores(self) -> tuple[str, ...]:
        """Lines that say how well the model predicts held-out examples, and what its effects keep."""
        return tuple(line for line in (self.score, self.length) if line)

    def notices(self) -> tuple[Notice, ...]:
        """Messages for the user: the fit was stopped, learned nothing, or skipped clauses."""
        messages = list(self.notes)
        if self.cut:
            done = self.steps[-1].number if self.steps else 0
            kept = plural(done if self.kept is None else self.kept, "step")
            messages.append(f"the fit was stopped early ({self.ended}); the model has {kept}.")
        elif not self.steps or self.ended == NO_EFFECT:
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
            **{name: line for name, line in (("score", self.score), ("length", self.length)) if line},
        }


def skipped_fields(skipped: Skipped) -> dict[str, object]:
    """A skipped candidate as JSON values."""
    return {
        "clause": str(skipped.clause),
        "reason": skipped.reason,
        "estimate": skipped.estimate,
        "budget": skipped.budget,
    }
