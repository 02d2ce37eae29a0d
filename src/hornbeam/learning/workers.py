"""Worker processes: each holds objects and answers calls to their methods.

A worker is a new Python process and no fork, because threads and connections do not survive a fork. Calls and
answers are pickled and sent through its standard input and output. It uses one thread for matrix products,
ignores Ctrl-C, which is for the process that started it, and ends when its input is closed.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, Self

from hornbeam.errors import EngineError, OptionError

_CODE = "import sys; sys.path[:] = {path!r}; from hornbeam.learning.workers import serve; serve()"
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""The environment of a process whose matrix products start no threads."""


class Call(NamedTuple):
    """A call of a method of the object with this name; without a method, the call that makes the object."""

    name: str
    method: str | None
    make: Callable[..., Any] | None
    arguments: tuple[Any, ...]


class Worker:
    """A process that answers one call after the other."""

    def __init__(self) -> None:
        import subprocess  # needed by few fits

        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | ONE_THREAD,
            # Ctrl-C reaches the process that the user started, also while this one still starts.
            process_group=0 if os.name == "posix" else None,
        )

    def make(self, name: str, make: Callable[..., Any], *arguments: Any) -> None:
        """Begin to make an object in the worker."""
        self._send(Call(name, None, make, arguments))

    def ask(self, name: str, method: str, *arguments: Any) -> None:
        """Begin a call of a method."""
        self._send(Call(name, method, None, arguments))

    def answer(self) -> Any:
        """Wait for the answer of the call that was begun, and raise its error if it failed."""
        assert self._process.stdout is not None
        try:
            done, result = pickle.load(self._process.stdout)
        except (EOFError, pickle.UnpicklingError) as error:
            raise self._lost() from error
        if not done:
            raise result
        return result

    def close(self) -> None:
        """End the process, also in the middle of a call."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(OSError):  # what was not sent is not needed
                pipe.close()
        self._process.wait()

    def _send(self, call: Call) -> None:
        assert self._process.stdin is not None
        try:
            pickle.dump(call, self._process.stdin, protocol=5)
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self._lost() from error

    def _lost(self) -> EngineError:
        return EngineError(
            "a worker process ended before it was done; it may have been killed or have run out of memory. "
            "Use fewer jobs."
        )


class Jobs:
    """The worker processes of a fit: one fewer than the number of jobs, since the caller works too."""

    def __init__(self, number: int = 1) -> None:
        self.number = number
        self._workers: list[Worker] = []
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def workers(self) -> list[Worker]:
        """The workers, which are started when they are first asked for; none once they were closed."""
        if not self._workers and not self._closed and sys.executable:
            self._workers = [Worker() for _ in range(self.number - 1)]
        return self._workers

    @contextmanager
    def together(self) -> Iterator[None]:
        """Calls of which all answers are received; an error or Ctrl-C among them ends the workers."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End all workers. What is done later is done by the caller alone."""
        self._closed = True
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.close()


ALONE = Jobs()


def number_of_jobs(n_jobs: int | None, named: str = "n_jobs=") -> int:
    """The number of processes that ``n_jobs`` stands for: None is 1, -1 all processors, -2 all but one.

    >>> number_of_jobs(None), number_of_jobs(3), number_of_jobs(-10_000)
    (1, 3, 1)
    """
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise OptionError(
            f"{named}{n_jobs!r} is refused: it must be a whole number other than 0; -1 is all processors."
        )
    return n_jobs if n_jobs > 0 else max(1, n_processors() + 1 + n_jobs)


def n_processors() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def serve() -> None:
    """Answer calls from standard input until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    calls, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Whatever prints must not write into the answers.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    objects: dict[str, Any] = {}
    while True:
        try:
            call: Call = pickle.load(calls)
        except EOFError:
            return
        try:
            answer = True, _answered(objects, call)
        except Exception as error:
            answer = False, error
        pickle.dump(answer, answers, protocol=5)
        answers.flush()


def _answered(objects: dict[str, Any], call: Call) -> Any:
    if call.method is not None:
        return getattr(objects[call.name], call.method)(*call.arguments)
    assert call.make is not None
    objects[call.name] = call.make(*call.arguments)
    return None
