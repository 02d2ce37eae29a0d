"""Presets: named sets of values for all options of ``rlr``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from hornbeam.errors import OptionError, did_you_mean
from hornbeam.learning.options.declared import FitOptions

DEFAULT = "default"
"""The preset that was chosen by cross-validation inside training data."""
PAPER = "paper"
"""The preset that is the algorithm as it was published."""


def _preset(name: str) -> FitOptions:
    declared = FitOptions.declared().values()
    return FitOptions(**{each.name: each.presets[name] for each in declared if name in each.presets})


PRESETS: Mapping[str, FitOptions] = MappingProxyType({name: _preset(name) for name in (DEFAULT, PAPER)})


def fit_options(preset: str = DEFAULT, **explicit: object) -> FitOptions:
    """The options of a preset, with explicit values in place of the preset's.

    An option may need other options to have an effect. If they are off, a value from the preset is kept,
    but an explicit value is refused.

    >>> fit_options("paper", n_steps=3).beam_width
    1
    >>> fit_options("paper", validate=True)
    Traceback (most recent call last):
    hornbeam.errors.OptionError: validate=True is refused: it does nothing without refit=True.
    """
    if preset not in PRESETS:
        raise OptionError(f'no preset "{preset}". {did_you_mean(str(preset), PRESETS, "Presets")}')
    declared = FitOptions.declared()
    for name in explicit:
        if name not in declared:
            raise OptionError(f'no option "{name}". {did_you_mean(name, declared, "Options")}')
    options = replace(PRESETS[preset], **explicit)  # type: ignore[arg-type]
    for name, value in explicit.items():
        needs = declared[name].option.needs if value else {}
        lacking = {other: needed for other, needed in needs.items() if getattr(options, other) != needed}
        if lacking:
            words = " and ".join(f"{other}={needed!r}" for other, needed in lacking.items())
            raise OptionError(
                f"{name}={value!r} is refused: it does nothing without {words}.",
                option=name,
                value=value,
                needs=lacking,
            )
    return options
