"""Newton's method with step halving, for a convex loss of weights; conjugate gradients for its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from hornbeam.learning.numbers import Floats


class Objective(Protocol):
    """A convex function of weights; scores are the log-odds that the weights give."""

    def scores(self, weights: Floats) -> Floats:
        """The log-odds of each row of the data."""
        ...

    def loss(self, weights: Floats, scores: Floats) -> float:
        """The value to minimise, penalty included."""
        ...

    def direction(self, weights: Floats, scores: Floats) -> Floats | None:
        """The Newton step from these weights; ``None`` if the gradient is small enough to stop."""
        ...


class Stopping(NamedTuple):
    """When to stop iterating."""

    rounds: int
    shortest: float
    """a step is not halved below this share of its length"""
    close: float = 0.0
    """the iteration ends when no weight moves by this much"""


def minimise(objective: Objective, start: Floats, stopping: Stopping) -> Floats:
    """Find the weights with the lowest loss. Each step is halved until the loss does not rise."""
    weights, scores = start, objective.scores(start)
    loss = objective.loss(weights, scores)
    for _ in range(stopping.rounds):
        direction = objective.direction(weights, scores)
        if direction is None:
            break
        length = 1.0
        while length > stopping.shortest:
            moved = weights + length * direction
            moved_scores = objective.scores(moved)
            moved_loss = objective.loss(moved, moved_scores)
            if moved_loss <= loss:
                break
            length /= 2
        else:
            break
        weights, scores, loss = moved, moved_scores, moved_loss
        if float(np.max(np.abs(length * direction))) < stopping.close:
            break
    return weights


def conjugate_gradients(
    product: Callable[[Floats], Floats], right: Floats, residue: float, turns: int
) -> Floats:
    """Solve ``product(x) = right`` until what remains has this share of the length of ``right``."""
    solution = np.zeros_like(right)
    remaining = right.copy()
    direction = remaining.copy()
    size = float((remaining * remaining).sum())
    enough = residue * residue * size
    for _ in range(turns):
        if size <= enough:
            break
        turned = product(direction)
        length = size / float((direction * turned).sum())
        solution += length * direction
        remaining -= length * turned
        new_size = float((remaining * remaining).sum())
        direction = remaining + (new_size / size) * direction
        size = new_size
    return solution


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
