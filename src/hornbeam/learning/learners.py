"""Every learner by name: where it lives, and what it may be told. Each is imported when asked for."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from hornbeam.data.relations import Examples
from hornbeam.engines.contract import Engine
from hornbeam.errors import OptionError, did_you_mean
from hornbeam.learning.loop import NO_CONTROL, Control
from hornbeam.learning.options import Options, fit_options
from hornbeam.learning.problem import Fit
from hornbeam.model.files import LearnedModel

RLR = "rlr"


class Home(NamedTuple):
    """The module of a learner, the name of its class of options there, and what it can do."""

    module: str
    options: str
    checkpoint: bool
    """whether a fit can be saved step by step, and taken up again"""
    presets: bool = False
    """whether its options come in named sets"""


LEARNERS = {
    "agg-lr": Home("hornbeam.study.agg_lr.learner", "AggOptions", checkpoint=False),
    "ilp-rlr": Home("hornbeam.study.ilp_rlr.learner", "ILPOptions", checkpoint=False),
    "mln-boost": Home("hornbeam.learning.boosting.mln_boost", "MLNOptions", checkpoint=True),
    "rdn-boost": Home("hornbeam.learning.trees.rdn_boost", "RDNOptions", checkpoint=True),
    RLR: Home("hornbeam.learning.boosting.boost", "FitOptions", checkpoint=True, presets=True),
}


def home_of(learner: str) -> Home:
    """Where a learner lives; an unknown one is an error that names those there are.

    >>> home_of("rdn")
    Traceback (most recent call last):
    hornbeam.errors.OptionError: no learner "rdn". Learners are: agg-lr, ilp-rlr, mln-boost, rdn-boost, rlr.
    """
    if learner not in LEARNERS:
        raise OptionError(f'no learner "{learner}". {did_you_mean(learner, LEARNERS, "Learners")}')
    return LEARNERS[learner]


def options_class(learner: str) -> type[Options]:
    """The class of a learner's options."""
    home = home_of(learner)
    found: type[Options] = getattr(import_module(home.module), home.options)
    return found


def options_for(learner: str, preset: str | None = None, **explicit: object) -> Options:
    """The options of a learner: those given, the others as the preset or the learner has them.

    An option that the learner does not have is refused, by name.

    >>> options_for("agg-lr", n_steps=3)
    Traceback (most recent call last):
    hornbeam.errors.OptionError: learner "agg-lr" has no option "n_steps". Options are: feature, l2, \
max_literals, neg_pos_ratio, seed.
    """
    home = home_of(learner)
    if home.presets:
        return fit_options(preset or "default", **explicit)
    if preset is not None:
        raise OptionError(f'learner "{learner}" has no presets; leave preset="{preset}" out.')
    kind = options_class(learner)
    for name in explicit:
        if name not in kind.names():
            hint = did_you_mean(name, kind.names(), "Options")
            raise OptionError(f'learner "{learner}" has no option "{name}". {hint}')
    return kind(**explicit)


def learn(
    learner: str, engine: Engine, examples: Examples, options: Options, control: Control = NO_CONTROL
) -> Fit[LearnedModel]:
    """Learn a model of the examples' target, with the options that ``options_for`` gives for the learner."""
    home = home_of(learner)
    if control.checkpoint is not None and not home.checkpoint:
        raise OptionError(f'learner "{learner}" has no checkpoints; leave checkpoint out.')
    fitted: Fit[LearnedModel] = import_module(home.module).fit(engine, examples, options, control)
    return fitted
