"""Matrix products in one thread: small ones are faster, and sums do not depend on the machine's cores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@contextmanager
def one_thread() -> Iterator[None]:
    """Products of BLAS start no threads inside."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> Any:
    """What limits threads; found once, because it looks at all loaded libraries."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]  # many fits need none

    return ThreadpoolController()
