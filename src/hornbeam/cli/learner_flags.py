"""The flags of learner options, made from their declarations.

An option may be declared by several learners; the preset ``paper`` of ``rlr`` counts as one of them here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, make_dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hornbeam.cli.output import say
from hornbeam.errors import OptionError
from hornbeam.learning.options import ALL, OPTIONS, PAPER, Options, PaperOptions
from hornbeam.learning.options.declared import GROUPS, RENAMED
from hornbeam.learning.options.option import (
    Bound,
    NameOrNone,
    Number,
    OneOf,
    Phrases,
    Share,
    Whole,
    YesNo,
)

if TYPE_CHECKING:
    from hornbeam.learning.options.option import Declared

IN_PAPER = f"preset {PAPER}"
CLASSES: Mapping[str, type[Options]] = {"rlr": OPTIONS["rlr"], IN_PAPER: PaperOptions, **OPTIONS}
"""The classes of options, by the name that help has for their learner."""


def _by_name() -> dict[str, dict[str, Declared]]:
    by_name: dict[str, dict[str, Declared]] = {}
    for learner, options in CLASSES.items():
        for name, declared in options.declared().items():
            by_name.setdefault(name, {})[learner] = declared
    return by_name


DECLARED = _by_name()
"""For each option, its declaration by each learner that has it."""


def flag_of(name: str) -> str:
    """The flag of an option.

    >>> flag_of("n_steps"), flag_of("max_literals")
    ('--steps', '--max-literals')
    """
    return next(iter(DECLARED[name].values())).flag


# --- the flag of an option -----------------------------------------------------------------------


def _annotation(name: str) -> Any:
    """The type and the flag of an option; None means that it is not given."""
    by_learner = DECLARED[name]
    option = next(iter(by_learner.values())).option
    flag, bound = flag_of(name), _widest(name)
    names = f"{flag}/--no-{flag.removeprefix('--')}" if isinstance(bound, YesNo) else flag
    type_, metavar = _typed(bound, option.none)
    info = typer.Option(names, metavar=metavar, help=help_of(by_learner), rich_help_panel=_panel(name))
    return Annotated[type_ | None, info]


OF_OTHERS = "Only for --preset paper and for other learners"
"""The heading of options that the default does not have."""


def _is_of_others(name: str) -> bool:
    return "rlr" not in DECLARED[name]


def _panel(name: str) -> str:
    """The heading of an option in the help: its group, if the default learner has it."""
    return OF_OTHERS if _is_of_others(name) else next(iter(DECLARED[name].values())).option.group


def _widest(name: str) -> Bound:
    """The bound of the learner that allows most words for an option."""
    return max((each.bound for each in DECLARED[name].values()), key=lambda bound: len(bound.words))


def _typed(bound: object, none: str) -> tuple[Any, str | None]:
    """The type that typer parses for a bound, and the placeholder that help shows for the value."""
    match bound:
        case YesNo():
            return bool, None
        case NameOrNone():
            return str, "TABLE"
        case Phrases():
            return list[str], "PHRASE"
        case OneOf(words):
            return str, "|".join(words)
        case Whole() | Number() | Share() if bound.words:
            return str, "|".join(["NUMBER", *(typed_text(word, none) for word in bound.words)])
        case Whole():
            return int, "NUMBER"
        case _:
            return float, "NUMBER"


def help_of(by_learner: Mapping[str, Declared]) -> str:
    """What an option does, and its default for each learner that has it."""
    option = next(iter(by_learner.values())).option
    learners: dict[str, list[str]] = {}
    for learner, declared in by_learner.items():
        learners.setdefault(typed_text(declared.default, option.none), []).append(learner)
    if (len(by_learner) == len(CLASSES) and len(learners) == 1) or list(by_learner) == ["rlr"]:
        return f"{option.help}  [default: {next(iter(learners))}]"
    defaults = "; ".join(f"{', '.join(names)}: {value}" for value, names in learners.items())
    return f"{option.help}  [{defaults}]"


def typed_text(value: object, none: str = ALL) -> str:
    """A value as it is typed; ``none`` is the word for None."""
    if value is None or value == ():
        return none
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


_BY_GROUP = sorted(
    DECLARED,
    key=lambda name: (_is_of_others(name), GROUPS.index(next(iter(DECLARED[name].values())).option.group)),
)
_OLD = {
    old: typer.Option(f"--{old.replace('_', '-')}", hidden=True, help=f"Old name of {flag_of(new)}.")
    for old, new in RENAMED.items()
}
LearnerFlags: Any = make_dataclass(
    "LearnerFlags",
    [(name, _annotation(name), field(default=None)) for name in _BY_GROUP]
    + [(name, Annotated[str | None, info], field(default=None)) for name, info in _OLD.items()],
    frozen=True,
)
"""A field for each option of each learner, and for old names of options; None means that it is not given."""


# --- from what was typed to the options of a learner ---------------------------------------------


def explicit_options(flags: Any) -> dict[str, object]:
    """The options that were typed, with their values."""
    typed = {name: getattr(flags, name) for name in DECLARED}
    for old, new in RENAMED.items():
        if (value := getattr(flags, old)) is not None and typed[new] is None:
            say([f"--{old.replace('_', '-')} is now called {flag_of(new)}."])
            typed[new] = value
    return {name: _read(name, value) for name, value in typed.items() if value not in (None, [])}


def _read(name: str, value: object) -> object:
    """The value of an option; typer leaves it as text if the option takes numbers and words."""
    bound, none = _widest(name), next(iter(DECLARED[name].values())).option.none
    if isinstance(bound, OneOf | NameOrNone) or not isinstance(value, str):
        return value
    if value == none and None in bound.words:
        return None
    try:
        return int(value) if isinstance(bound, Whole) else float(value)
    except ValueError:
        return value


def chosen_options(learner: str, preset: str | None, flags: Any, checkpoint: bool) -> Options:
    """The options of a learner; an error names the flag as it is typed."""
    from hornbeam.learning.learners import home_of, options_for

    home = home_of(learner)
    explicit = explicit_options(flags)
    names = OPTIONS[learner].names()
    known = {*names, *(PaperOptions.names() if home.presets else ())}
    refused = [flag_of(name) for name in explicit if name not in known]
    refused += ["--preset"] * (preset is not None and not home.presets)
    refused += ["--checkpoint"] * (checkpoint and not home.checkpoint)
    if refused:
        raise OptionError(
            f"{refused[0]} is refused: learner {learner} has no such option; "
            f"it has {_listed(map(flag_of, names))}."
        )
    try:
        return options_for(learner, preset, **explicit)
    except OptionError as error:
        if error.option is None:
            raise
        raise OptionError(_sentence(error)) from None


def _listed(flags: Iterable[str]) -> str:
    return ", ".join(sorted(flags))


def _sentence(error: OptionError) -> str:
    """The error in the words of the command line."""
    assert error.option is not None
    flag, none = flag_of(error.option), next(iter(DECLARED[error.option].values())).option.none
    typed = flag if isinstance(error.value, bool) else f"{flag} {typed_text(error.value, none)}"
    if error.preset is not None:
        more = "" if error.successor is None else f"; without it, see {flag_of(error.successor)}"
        return f"{typed} is refused: it belongs to --preset {error.preset}{more}."
    assert isinstance(error.bound, Whole | Number | Share | OneOf | NameOrNone | Phrases | YesNo)
    return f"{typed} is refused: it must be {error.bound.text(lambda word: typed_text(word, none))}."
