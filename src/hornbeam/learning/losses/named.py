"""Every loss by its name."""

from __future__ import annotations

from collections.abc import Mapping

from hornbeam.learning.losses.absolute import Absolute
from hornbeam.learning.losses.loss import Logistic, Loss
from hornbeam.learning.losses.poisson import Poisson
from hornbeam.learning.losses.squared import Squared
from hornbeam.learning.options import AUTO

LOSSES: Mapping[str, Loss] = {each.name: each for each in (Logistic(), Squared(), Absolute(), Poisson())}
NUMERIC = tuple(name for name in LOSSES if name != Logistic.name)
"""The losses of numeric targets; the first is the default."""


def loss_for(name: str, numeric: bool) -> Loss:
    """The loss of this name; ``auto`` is squared error for numbers, and log-loss for labels."""
    return LOSSES[(NUMERIC[0] if numeric else Logistic.name) if name == AUTO else name]
