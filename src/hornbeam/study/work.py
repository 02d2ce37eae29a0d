"""Runs in worker processes, side by side; results as they come."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import connection
from typing import Any

from hornbeam.errors import LimitError
from hornbeam.study.protocol import Run, Task
from hornbeam.study.runs import measure

_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def rows_of(pairs: Sequence[tuple[Task, Run]], jobs: int) -> Iterator[dict[str, Any]]:
    """The rows of runs in the order in which they finish, so many worker processes at work.

    Workers end with whoever started them, even if that is killed. Each computes in one thread, so
    that seconds mean the same whatever the number of workers.
    """
    if not pairs:
        return
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with _one_thread_each():
        pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin)
        try:
            # Few at a time: a run that nobody waits for any more is not begun.
            waiting = iter(pairs)
            running: set[Future[dict[str, Any]]] = set()
            while True:
                for task, run in waiting:
                    running.add(pool.submit(measure, task, run))
                    if len(running) > jobs:
                        break
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except BrokenProcessPool:
            raise LimitError(
                "a worker process was killed, most likely for want of memory; finished rows are kept: "
                "run the same command again, perhaps with fewer jobs."
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes started inside compute in one thread."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _begin() -> None:
    """What a worker does first: leave Ctrl-C to its parent, and end when that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)
