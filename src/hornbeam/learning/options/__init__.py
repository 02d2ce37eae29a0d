"""The options of every learner: their meaning, allowed values, defaults and presets."""

from hornbeam.learning.options.declared import (
    ALL,
    AUTO,
    BASE_RATE,
    DEFAULT,
    OPTIONS,
    PAPER,
    AggOptions,
    EffectOptions,
    ILPOptions,
    MLNOptions,
    PaperOptions,
    RDNOptions,
)
from hornbeam.learning.options.option import Options
from hornbeam.learning.options.presets import (
    PRESETS,
    effect_options,
    fit_options,
    new_name,
    paper_options,
)

__all__ = [
    "ALL",
    "AUTO",
    "BASE_RATE",
    "DEFAULT",
    "OPTIONS",
    "PAPER",
    "PRESETS",
    "AggOptions",
    "EffectOptions",
    "ILPOptions",
    "MLNOptions",
    "Options",
    "PaperOptions",
    "RDNOptions",
    "effect_options",
    "fit_options",
    "new_name",
    "paper_options",
]
