"""The loop of all learners that go step by step, and the ways to stop it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from hornbeam.learning.history import INTERRUPTED, TIME_LIMIT, Record

Pause = Callable[[], None]
"""Called where a fit may be stopped."""
ShouldStop = Callable[[], str | None]
"""Asked before each length of each search: the reason to stop now, or ``None``."""


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
    """Somebody asked the fit to stop; the message is the reason."""


class Progress(Protocol):
    """What the loop needs to know of a state."""

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
    """Steps until the state has ended: the last state, and why somebody stopped it before, if so.

    Ctrl-C and ``should_stop`` leave the state after the last whole step; ``nothing`` where not even
    the ``start`` was done.
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
        return state, str(stopped)
    return state, None


def time_limit(seconds: float) -> ShouldStop:
    """A ``should_stop`` that ends a fit so many seconds from now."""
    end = time.monotonic() + seconds
    return lambda: TIME_LIMIT if time.monotonic() >= end else None
