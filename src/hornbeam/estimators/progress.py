"""Progress of a fit in Python: lines on stderr, if the user asks for them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from hornbeam.learning.history import Record

SECONDS = 1.0
"""Time between two lines."""


def progress(verbose: int) -> Callable[[Record], None] | None:
    """What a fit calls after each step: writes a line each second, with ``verbose=2`` one for each step."""
    if not verbose:
        return None
    last = float("-inf")

    def on_step(step: Record) -> None:
        nonlocal last
        now = time.monotonic()
        if verbose > 1 or now - last >= SECONDS:
            last = now
            print(f"step {step.number}: {step.title}", file=sys.stderr, flush=True)

    return on_step
