"""An effect in a model, with what the training data say about it."""

from __future__ import annotations

from dataclasses import dataclass

from hornbeam.logic.effects import Effect


@dataclass(frozen=True, slots=True)
class FittedEffect:
    """An effect of a model; the numbers beside it are for readers, and no prediction uses them."""

    effect: Effect
    importance: float = 0.0
    """mean absolute difference from the mean of what it adds to the score of the training examples"""
    errors: tuple[float, ...] = ()
    """standard error of the level for missing, then of each level of the curve; empty without bags"""
    examples: tuple[int, ...] = ()
    """number of training examples with a missing value, then at each level of the curve"""

    def __str__(self) -> str:
        return str(self.effect)
