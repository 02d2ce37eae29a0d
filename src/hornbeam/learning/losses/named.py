"""Every loss by its name."""

from __future__ import annotations

from collections.abc import Mapping

from hornbeam.learning.losses.absolute import Absolute
from hornbeam.learning.losses.choice import ChoiceLoss
from hornbeam.learning.losses.loss import Logistic, Loss
from hornbeam.learning.losses.poisson import Poisson
from hornbeam.learning.losses.squared import Squared
from hornbeam.learning.options import AUTO
from hornbeam.model.scales import LOGISTIC, SCALES, SQUARED

_LOSSES: tuple[Loss, ...] = (Logistic(), Squared(), Absolute(), Poisson(), ChoiceLoss())
LOSSES: Mapping[str, Loss] = {name: {each.name: each for each in _LOSSES}[name] for name in SCALES}


def loss_for(name: str, numeric: bool) -> Loss:
    """The loss of this name; ``auto`` is squared error for numbers, and log-loss for labels."""
    return LOSSES[(SQUARED if numeric else LOGISTIC) if name == AUTO else name]
