"""The options of every learner: their meaning, allowed values, defaults and presets."""

from hornbeam.learning.options.declared import (
    ALL,
    BASE_RATE,
    BEST,
    OPTIONS,
    AggOptions,
    EffectOptions,
    FitOptions,
    ILPOptions,
    MLNOptions,
    RDNOptions,
)
from hornbeam.learning.options.option import Options
from hornbeam.learning.options.presets import DEFAULT, PAPER, PRESETS, fit_options

__all__ = [
    "ALL",
    "BASE_RATE",
    "BEST",
    "DEFAULT",
    "OPTIONS",
    "PAPER",
    "PRESETS",
    "AggOptions",
    "EffectOptions",
    "FitOptions",
    "ILPOptions",
    "MLNOptions",
    "Options",
    "RDNOptions",
    "fit_options",
]
