"""The memory of this machine, or of the container that the process runs in."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def most_memory() -> int:
    """The memory in bytes that this process can have: the machine's, or less in a container."""
    limits = []
    with suppress(AttributeError, ValueError, OSError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in _LIMITS:
        # Without a limit the file says "max", or a number larger than any memory.
        with suppress(ValueError, OSError):
            limits.append(int(Path(path).read_text()))
    return min(limits, default=1 << 62)
