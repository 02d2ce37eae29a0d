"""Runs in worker processes, several at once; their rows come as they finish."""

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
from study.one_run import measure
from study.protocol import Run, Task

_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def rows_of(pairs: Sequence[tuple[Task, Run]], jobs: int) -> Iterator[dict[str, Any]]:
    """The rows of runs, in the order in which they finish in ``jobs`` worker processes.

    Workers end with the process that started them, even if it is killed. Each computes in one thread, so
    that times do not depend on the number of workers.
    """
    if not pairs:
        return
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with _one_thread_each():
        pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin)
        try:
            # Runs are submitted a few at a time, so that none starts after the caller has stopped waiting.
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
                "a worker process was killed, most likely because memory ran out. Finished runs are kept: "
                "run the same command again, perhaps with fewer jobs."
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes that are started inside this context compute in one thread."""
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
    """Start of a worker: ignore Ctrl-C, which its parent handles, and end when the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)
