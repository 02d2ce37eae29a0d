"""The loop of all learners that work step by step, and how a caller watches and stops it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from hornbeam.learning.history import INTERRUPTED, TIME_LIMIT, Record

Pause = Callable[[], None]
"""Called wherever a fit may be stopped."""
ShouldStop = Callable[[], str | None]
"""Called before each length of each search; returns the reason to stop now, or ``None``."""


@dataclass(frozen=True, slots=True)
class Control:
    """How the caller of a fit watches it, saves it and stops it."""

    on_step: Callable[[Record], None] | None = None
    """called after each step; before the first, with number 0, while options are chosen"""
    checkpoint: str | Path | None = None
    """folder in which the state is saved after each step; the same fit continues from there"""
    should_stop: ShouldStop | None = None
    """ends the fit early: the model keeps the steps done so far and is marked as cut"""


NO_CONTROL = Control()


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


Going = TypeVar("Going", bound=Progress)


def run(
    nothing: Going,
    start: Callable[[], Going],
    step: Callable[[Going, Pause], tuple[Going, Sequence[Record]]],
    control: Control,
) -> tuple[Going, str | None]:
    """Take steps until the state has ended. Returns the last state, and why the caller stopped it, if so.

    Ctrl-C and ``should_stop`` give the state after the last complete step; ``nothing`` if even ``start``
    was not complete.
    """

    def pause() -> None:
        if control.should_stop is not None and (why := control.should_stop()) is not None:
            raise _StopRequestedError(why)

    state = nothing
    try:
        state = start()
        while state.ended is None:
            state, done = step(state, pause)
            if control.on_step is not None:
                for record in done:
                    control.on_step(record)
    except KeyboardInterrupt:
        return state, INTERRUPTED
    except _StopRequestedError as stopped:
        return state, stopped.reason
    return state, None


def time_limit(seconds: float) -> ShouldStop:
    """A ``should_stop`` that ends a fit after a number of seconds from now."""
    end = time.monotonic() + seconds
    return lambda: TIME_LIMIT if time.monotonic() >= end else None
