"""The loop of all learners that work step by step, and how a caller watches and stops it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from hornbeam.learning.history import INTERRUPTED, TIME_LIMIT, Record

Pause = Callable[[], None]
"""Called at each point where a fit may be stopped."""
ShouldStop = Callable[[], str | None]
"""Called between steps, and before each path or length of a search: the reason to stop, or ``None``."""


class Shared:
    """What a fit leaves for fits of other labels of the same examples: the last two values, by key.

    Nothing in it is needed for a right answer.
    """

    def __init__(self) -> None:
        self._values: dict[object, Any] = {}

    def get(self, key: object) -> Any:
        """The value of a key, or None if there is none."""
        return self._values.get(key)

    def put(self, key: object, value: Any) -> None:
        """Store a value; only this one and the one before stay."""
        self._values.pop(key, None)
        self._values = {**dict(list(self._values.items())[-1:]), key: value}


@dataclass(frozen=True, slots=True)
class Control:
    """How the caller of a fit watches it, saves it and stops it."""

    on_step: Callable[[Record], None] | None = None
    """called after each step; before the first, with number 0, while candidates are collected"""
    checkpoint: str | Path | None = None
    """folder in which the state is saved after each step; the same fit continues from there"""
    should_stop: ShouldStop | None = None
    """ends the fit early: the model keeps the steps done so far and is marked as cut"""
    shared: Shared | None = None
    """what fits of other labels of the same examples share"""
    jobs: int = 1
    """number of processes that a learner of effects may use; the model is the same for every number"""


NO_CONTROL = Control()


class Ending(NamedTuple):
    """Why a fit ended, and whether its caller stopped it early."""

    reason: str
    cut: bool

    def settings(self) -> dict[str, object]:
        """The entry of a model file: the reason, if the fit was stopped early."""
        return {"cut": self.reason} if self.cut else {}


class _StopRequestedError(Exception):
    """The caller asked the fit to stop; ``reason`` is why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Progress(Protocol):
    """The part of a state that the loop needs."""

    @property
    def ended(self) -> str | None:
        """Why there are no more steps, or ``None``."""
        ...


State = TypeVar("State", bound=Progress)


def run(
    nothing: State,
    start: Callable[[], State],
    step: Callable[[State, Pause], tuple[State, Sequence[Record]]],
    control: Control,
    save: Callable[[State], None] = lambda state: None,
) -> tuple[State, Ending]:
    """Take steps until the state has ended or the caller stops it. Returns the last state and its ending.

    After Ctrl-C or ``should_stop``, the state is the one after the last complete step, or ``nothing`` if
    ``start`` was not complete. A step is complete before it is saved: what is on disk is never ahead.
    """

    def pause() -> None:
        if control.should_stop is not None and (why := control.should_stop()) is not None:
            raise _StopRequestedError(why)

    state, stopped = nothing, ""
    try:
        state = start()
        while state.ended is None:
            state, done = step(state, pause)
            save(state)
            if control.on_step is not None:
                for record in done:
                    control.on_step(record)
    except KeyboardInterrupt:
        stopped = INTERRUPTED
    except _StopRequestedError as request:
        stopped = request.reason
    # A request to stop after the last step has no effect.
    return state, Ending(stopped, cut=True) if state.ended is None else Ending(state.ended, cut=False)


def time_limit(seconds: float) -> ShouldStop:
    """A ``should_stop`` that ends a fit after a number of seconds from now."""
    end = time.monotonic() + seconds
    return lambda: TIME_LIMIT if time.monotonic() >= end else None
