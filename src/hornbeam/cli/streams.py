"""Stdout and stderr that are closed, or that cannot be written."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress


class _ClosedStream(io.TextIOBase):
    """Stands for a stdout that was closed before the program began."""

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def open_closed_streams() -> None:
    """Give the program a stdout and a stderr if it was started without them, which Python shows as None.

    Results that go to a closed stdout are an error; messages are dropped.
    """
    if sys.stdout is None:
        sys.stdout = _ClosedStream()
    if sys.stderr is None:
        sys.stderr = io.StringIO()


def forget_stdout() -> None:
    """Drop what stdout still holds: Python would try to write it at the end, and report the error again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
