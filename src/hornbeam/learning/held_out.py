"""How much a model explains of examples that it was not learned from, in words for a first look."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.data.database import Examples
from hornbeam.data.numbers import Floats
from hornbeam.data.ranking import ranking
from hornbeam.model.files import LearnedModel, scale_of
from hornbeam.model.scales import SQUARED, softmax


def explained_text(models: Sequence[LearnedModel], held_out: Floats | None, examples: Examples) -> str:
    """The share of the loss of the best constant that is explained, and the AUC, on held-out examples.

    ``models`` are one model, or one for each class; ``held_out`` has a column for each, with the scores that
    it gave to the examples that it was not learned from. Of several classes, the means are said. Empty if no
    example was held out.
    """
    from hornbeam.drawing.markup import percent_text

    shares, areas = [], []
    if held_out is None:
        return ""
    together = scale_of(models[0]).of_class
    columns = np.log(softmax(held_out)) if together else held_out.reshape(-1, len(models))
    for place, (model, scores) in enumerate(zip(models, columns.T, strict=True)):
        own, base = model.settings.get("held_out_loss"), model.settings.get("base_loss")
        if not isinstance(own, float) or not isinstance(base, float) or base <= 0:
            return ""
        if getattr(model, "loss", "") == SQUARED:
            own, base = own * own, base * base  # readers see the root
        shares.append(1.0 - own / base)
        known = ~np.isnan(scores)
        labels = examples.labels[known]
        if examples.classes:
            labels = labels == place + len(examples.classes) - len(models)
        if not scale_of(model).numeric and labels.any() and not labels.all():
            areas.append(ranking(labels, scores[known]).auc_roc())
    share = float(np.mean(shares))
    several = "on average over the classes, " if len(models) > 1 and not together else ""
    what = "mean AUC of the classes" if together else "AUC"
    area = f"; {what} {float(np.mean(areas)):.2f}" if areas else ""
    explained = percent_text(share) if share >= 0.0005 else "nothing"
    return f"explains {several}{explained} of {_left(models[0])}{area} (held-out examples)"


def _left(model: LearnedModel) -> str:
    """What there is to explain."""
    if getattr(model, "loss", "") == SQUARED:
        return "the variance (R2)"
    return "what a constant leaves open" if scale_of(model).numeric else "what the base rate leaves open"
