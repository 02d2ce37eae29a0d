"""Presets of ``rlr``: each has a learner and options of its own."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from hornbeam.errors import HornbeamWarning, OptionError, did_you_mean
from hornbeam.learning.options.declared import DEFAULT, PAPER, RENAMED, EffectOptions, PaperOptions
from hornbeam.learning.options.option import Options

PRESETS: Mapping[str, Options] = MappingProxyType({DEFAULT: EffectOptions(), PAPER: PaperOptions()})


def effect_options(**explicit: object) -> EffectOptions:
    """The options of the default preset, with explicit values in place of the defaults.

    >>> effect_options(beam_width=10)
    Traceback (most recent call last):
    hornbeam.errors.OptionError: beam_width=10 is refused: it belongs to preset "paper"; \
for preset "default" see max_links.
    """
    return replace(EffectOptions(), **_own(DEFAULT, explicit))  # type: ignore[arg-type]


def paper_options(**explicit: object) -> PaperOptions:
    """The options of the preset ``paper``, with explicit values in place of the published ones.

    >>> paper_options(n_steps=3).beam_width
    1
    >>> paper_options(n_bags=3)
    Traceback (most recent call last):
    hornbeam.errors.OptionError: n_bags=3 is refused: it belongs to preset "default".
    """
    return replace(PaperOptions(), **_own(PAPER, explicit))  # type: ignore[arg-type]


def fit_options(preset: str = DEFAULT, **explicit: object) -> EffectOptions | PaperOptions:
    """The options of a preset, with explicit values in place of the preset's."""
    if preset not in PRESETS:
        raise OptionError(f'no preset "{preset}". {did_you_mean(str(preset), PRESETS, "Presets")}')
    return paper_options(**explicit) if preset == PAPER else effect_options(**explicit)


def new_name(name: str, names: tuple[str, ...]) -> str:
    """The name of an option today; an old name gives a warning."""
    new = RENAMED.get(name, name)
    if new == name or new not in names:
        return name
    warnings.warn(f"the option {name} is now called {new}.", HornbeamWarning, stacklevel=5)
    return new


def _own(preset: str, explicit: Mapping[str, object]) -> dict[str, object]:
    """The explicit values, if they are of options that the preset has."""
    own = PRESETS[preset].names()
    values = {new_name(name, own): value for name, value in explicit.items()}
    for name, value in values.items():
        if name not in own:
            raise _refusal(preset, name, value)
    return values


def _refusal(preset: str, name: str, value: object) -> OptionError:
    for other, options in PRESETS.items():
        if name in options.names():
            successor = options.declared()[name].option.successor
            more = f'; for preset "{preset}" see {successor}' if successor else ""
            return OptionError(
                f'{name}={value!r} is refused: it belongs to preset "{other}"{more}.',
                option=name,
                value=value,
                preset=other,
                successor=successor or None,
            )
    return OptionError(f'no option "{name}". {did_you_mean(name, PRESETS[preset].names(), "Options")}')
