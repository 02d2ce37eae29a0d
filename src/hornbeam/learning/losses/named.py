"""Every loss by its name; the module of a loss is imported when it is used."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import cast

from hornbeam.learning.losses.loss import Loss
from hornbeam.learning.options import AUTO
from hornbeam.model.scales import CHOICE, LOGISTIC, SOFTMAX, SQUARED

LOSSES: Mapping[str, str] = {
    LOGISTIC: "loss.Logistic",
    SQUARED: "squared.Squared",
    "absolute": "absolute.Absolute",
    "huber": "huber.Huber",
    "poisson": "poisson.Poisson",
    CHOICE: "choice.ChoiceLoss",
    SOFTMAX: "classes.ClassLoss",
}
"""The module and the class of each loss."""


@cache
def loss_named(name: str) -> Loss:
    """The loss of this name."""
    module, _, its_class = LOSSES[name].partition(".")
    return cast("Loss", getattr(import_module(f"hornbeam.learning.losses.{module}"), its_class)())


def loss_for(name: str, numeric: bool) -> Loss:
    """The loss of this name; ``auto`` is squared error for numbers, and log-loss for labels."""
    return loss_named((SQUARED if numeric else LOGISTIC) if name == AUTO else name)
