"""How an option is declared, and what a learner's class of options does with the declarations.

An option is described only in its declaration. The check of its value, the flag on the command line, the
parameter of the classifier and the documents are made from it.
"""

from __future__ import annotations

from dataclasses import Field, asdict, dataclass, field, fields
from typing import Any, ClassVar, NamedTuple, get_type_hints

from hornbeam.errors import OptionError
from hornbeam.learning.options.bounds import Bound


@dataclass(frozen=True, slots=True)
class Option:
    """An option, for all learners that have it."""

    help: str
    """sentences that say what it does"""
    group: str
    """the heading under which the command line lists it"""
    bound: Bound
    flag: str = ""
    """its flag on the command line, if not its name with hyphens"""
    none: str = "all"
    """the word for None on the command line"""
    successor: str = ""
    """for an option of the preset ``paper``, the option of the default preset that has its purpose"""

    def default(self, value: object, bound: Bound | None = None, note: str = "") -> Any:
        """A field of a learner's class of options, with its default value.

        ``bound`` is for a learner that allows other values, ``note`` for what it does differently.
        """
        return field(default=value, metadata={"option": self, "bound": bound or self.bound, "note": note})


class Declared(NamedTuple):
    """An option as one learner has it."""

    name: str
    option: Option
    bound: Bound
    note: str
    type: Any
    default: Any

    @property
    def flag(self) -> str:
        """The option's flag on the command line."""
        return self.option.flag or f"--{self.name.replace('_', '-')}"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a learner: everything that changes what is learned, and nothing else."""

    learner: ClassVar[str]
    preset: ClassVar[str | None] = None
    """the preset that has these options, if the learner has presets"""
    summary: ClassVar[str]
    """what the learner is, in a few words"""

    def __post_init__(self) -> None:
        for each in fields(self):
            value, bound = getattr(self, each.name), each.metadata["bound"]
            try:
                taken = bound.take(value)
            except ValueError:
                raise OptionError(
                    f"{each.name}={value!r} is refused: it must be {bound.text()}.",
                    option=each.name,
                    value=value,
                    bound=bound,
                ) from None
            object.__setattr__(self, each.name, taken)

    def settings(self) -> dict[str, object]:
        """The options by name, as a model file stores them."""
        return asdict(self)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of the options."""
        return tuple(each.name for each in fields(cls))

    @classmethod
    def declared(cls) -> dict[str, Declared]:
        """The declarations of the options by name."""
        types = get_type_hints(cls)
        return {each.name: _declared(each, types[each.name]) for each in fields(cls)}


def _declared(each: Field[Any], type_: Any) -> Declared:
    given = each.metadata
    return Declared(each.name, given["option"], given["bound"], given["note"], type_, each.default)
