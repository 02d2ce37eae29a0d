"""Timing, the machine, and where results go: one JSON file per benchmark, one table in README.md.

Tables stand between two marker lines of README.md and are written by the benchmarks only.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import psutil

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
README = HERE / "README.md"
PROJECT = HERE.parent
DATA = Path(os.environ.get("HORNBEAM_DATA") or PROJECT.parent / "shared" / "data")
"""The public data sets."""
sys.path += [str(PROJECT), str(PROJECT / "tests")]  # the study and made worlds are there

Result = TypeVar("Result")


class Timing(NamedTuple):
    """The least CPU seconds (all threads) and the least wall seconds of several runs."""

    cpu: float
    wall: float


def best_of(repeats: int, work: Callable[[], Result]) -> tuple[Timing, Result]:
    """Run ``work`` several times; the least CPU and wall time, and the last result."""
    return side_by_side(repeats, {"work": lambda: work})["work"]


def side_by_side(
    repeats: int, ways: Mapping[str, Callable[[], Callable[[], Any]]]
) -> dict[str, tuple[Timing, Any]]:
    """Run each function once, then each once more, and so on: other work on the machine affects all alike.

    Each function prepares its data and returns the function to time. The result holds the least times and the
    last return value of each.
    """
    cpu: dict[str, list[float]] = {name: [] for name in ways}
    wall: dict[str, list[float]] = {name: [] for name in ways}
    results: dict[str, Any] = {}
    for _ in range(max(repeats, 1)):
        for name, prepare in ways.items():
            results.pop(name, None)
            work = prepare()
            gc.collect()
            wall_start, cpu_start = time.perf_counter(), time.process_time()
            results[name] = work()
            cpu[name].append(time.process_time() - cpu_start)
            wall[name].append(time.perf_counter() - wall_start)
    return {name: (Timing(min(cpu[name]), min(wall[name])), results[name]) for name in ways}


class ProcessRun(NamedTuple):
    """What a whole child process took, start-up included, and how it ended."""

    cpu: float
    wall: float
    peak_bytes: int
    """of the process, or of all its processes together"""
    status: int
    """exit status; negative if a signal ended it, ``TIMED_OUT`` if the limit did"""
    output: str
    system: float = 0.0
    """the part of the CPU that the kernel used"""


TIMED_OUT = -1000


def run_process(
    command: Sequence[str | Path],
    limit: int | None = None,
    environment: Mapping[str, str] | None = None,
    all_processes: bool = False,
) -> ProcessRun:
    """Run a command to its end, or to the limit in CPU seconds; times by the kernel's account.

    The peak of ``all_processes`` is the largest sum of the memory of the process and those that it starts.
    """
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen(
            [str(word) for word in command],
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
            preexec_fn=None if limit is None else lambda: _limit_cpu(limit),
        )
        seen = _largest_sum(process.pid) if all_processes else 0
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    cpu = usage.ru_utime + usage.ru_stime
    # The kernel ends the process at the limit by its own count of ticks, which runs a little ahead.
    timed_out = limit is not None and process.returncode < 0 and cpu >= 0.95 * limit
    status = TIMED_OUT if timed_out else process.returncode
    return ProcessRun(cpu, wall, max(usage.ru_maxrss * 1024, seen), status, text, usage.ru_stime)


def _largest_sum(pid: int) -> int:
    """Waits for a process to end; the largest sum of its memory and that of the processes that it started.

    Pages that processes share are counted once for each of them.
    """
    most = 0
    try:
        process = psutil.Process(pid)
        while process.status() != psutil.STATUS_ZOMBIE:
            most = max(most, _sum_now(process))
            time.sleep(0.02)
    except psutil.NoSuchProcess:
        pass
    return most


def _sum_now(process: psutil.Process) -> int:
    total = 0
    for each in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            total += each.memory_info().rss
    return total


def _limit_cpu(limit: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))


def resident_bytes() -> int:
    """Memory of this process now."""
    return int(psutil.Process().memory_info().rss)


def peak_bytes() -> int:
    """The most memory this process ever had.

    Not ru_maxrss where the kernel tells better: that starts at the memory of the parent process.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def machine(packages: Sequence[str]) -> dict[str, Any]:
    """Cores, memory, processor and versions: what a reader needs to judge the numbers."""
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in packages},
    }


def machine_line(found: Mapping[str, Any]) -> str:
    """One sentence on the machine for the head of a table."""
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    return (
        f"Machine: {found['cores']} cores ({found['processor']}), {found['memory_gb']} GB of memory, "
        f"{found['system']}, Python {found['python']}, {versions}."
    )


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def save(name: str, results: Mapping[str, Any]) -> None:
    """Write ``results/NAME.json`` whole or not at all."""
    _replace(RESULTS / f"{name}.json", json.dumps(results, indent=1, sort_keys=True) + "\n")


def load(name: str) -> dict[str, Any]:
    """The last saved results; empty when there are none."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def write_section(name: str, text: str) -> None:
    """Put the text between the markers of ``name`` in README.md; everything else stays as it is."""
    begin, end = f"<!-- {name}: begin, written by the benchmark -->", f"<!-- {name}: end -->"
    readme = README.read_text(encoding="utf-8")
    if begin not in readme or end not in readme:
        sys.exit(f"{README.name} lacks the lines {begin!r} and {end!r}")
    before, _, rest = readme.partition(begin)
    _, _, after = rest.partition(end)
    _replace(README, f"{before}{begin}\n{text.strip()}\n{end}{after}")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; columns after the first are right-aligned.

    >>> print(table(["body", "CPU"], [["chain", "1 ms"]]))
    | body | CPU |
    |---|---:|
    | chain | 1 ms |
    """
    rule = "|---|" + "---:|" * (len(header) - 1)
    return "\n".join([_row(header), rule, *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def seconds(value: float | None) -> str:
    """Seconds with three significant digits, in ms below one second.

    >>> seconds(0.01234), seconds(1.5), seconds(93.21), seconds(None)
    ('12.3 ms', '1.50 s', '93.2 s', '-')
    """
    if value is None:
        return "-"
    if value < 1:
        return f"{value * 1e3:.3g} ms"
    return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"


def times(value: float | None) -> str:
    """A ratio.

    >>> times(12.345), times(0.5), times(240.1)
    ('12.3x', '0.50x', '240x')
    """
    if value is None:
        return "-"
    return f"{value:.0f}x" if value >= 100 else f"{value:.1f}x" if value >= 10 else f"{value:.2f}x"


def say(message: str) -> None:
    """Print progress to stderr."""
    print(message, file=sys.stderr, flush=True)


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
