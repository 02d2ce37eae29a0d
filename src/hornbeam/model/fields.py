"""The fields of a JSON object in a model file, each checked when it is read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from hornbeam.data.numbers import AT_CUTOFF
from hornbeam.errors import ModelError, Place
from hornbeam.logic.schema import DATE, NUMBER

LARGEST = 1e200
"""The size of the largest number of a model: sums of products with counts must stay finite."""


class Fields:
    """One JSON object. Reading a field that is missing or has the wrong type raises ``ModelError``."""

    def __init__(self, values: Mapping[str, object], place: Place, owner: str = "") -> None:
        self._values = values
        self._place = place
        self._owner = owner
        self._read: set[str] = set()

    def has(self, name: str) -> bool:
        return name in self._values

    def wrong(self, name: str, expected: str, found: object) -> ModelError:
        """The error for a field with a wrong value."""
        shown = repr(found)
        shown = shown if len(shown) <= 80 else shown[:77] + "..."
        return ModelError(f'"{name}"{self._owner} must be {expected}, found {shown}.', self._place)

    def text(self, name: str) -> str:
        value = self._value(name)
        if not isinstance(value, str) or not value:
            raise self.wrong(name, "a text", value)
        return value

    def whole(self, name: str) -> int:
        """A whole number of at least 0."""
        return self._whole(name, self._value(name))

    def wholes(self, name: str) -> tuple[int, ...]:
        """A list of whole numbers of at least 0."""
        return tuple(self._whole(name, value) for value in self.values(name))

    def number(self, name: str) -> float:
        """A finite number."""
        return self.as_number(name, self._value(name))

    def numbers(self, name: str) -> tuple[float, ...]:
        """A list of finite numbers."""
        return tuple(self.as_number(name, value) for value in self.values(name))

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        values = self.values(name)
        if not all(isinstance(value, str) for value in values):
            raise self.wrong(name, "a list of texts", values)
        return tuple(map(str, values))

    def mapping(self, name: str) -> dict[str, object]:
        value = self._value(name)
        if not isinstance(value, dict):
            raise self.wrong(name, "a JSON object", value)
        return value

    def weights(self, name: str) -> tuple[tuple[str, float], ...]:
        """A JSON object of finite numbers, in the order of the file."""
        return tuple((text, self.as_number(name, value)) for text, value in self.mapping(name).items())

    def nested(self, name: str) -> Fields:
        """A JSON object; messages name it by the name of the field."""
        return Fields(self.mapping(name), self._place, f' of "{name}"{self._owner}')

    def objects(self, name: str, each: str) -> Iterator[Fields]:
        """A list of JSON objects; messages name an object by the word ``each`` and its number."""
        for number, value in enumerate(self.values(name), start=1):
            if not isinstance(value, dict):
                raise self.wrong(name, "a list of JSON objects", value)
            yield Fields(value, self._place, f" of {each} {number}{self._owner}")

    def one_by_one(self, lists: tuple[str, ...], number: int, maps: tuple[str, ...] = ()) -> Iterator[Fields]:
        """Objects with one member each of some fields that are lists, or objects of lists, of this length."""
        every: dict[str, list[object]] = {
            name: self._of_length(name, self._value(name), number) for name in lists
        }
        for name in maps:
            of_keys = {key: self._of_length(name, value, number) for key, value in self.mapping(name).items()}
            every[name] = [{key: own[place] for key, own in of_keys.items()} for place in range(number)]
        self._read |= set(self._values)
        for place in range(number):
            own = {name: values[place] for name, values in every.items()}
            yield Fields({**self._values, **own}, self._place, self._owner)

    def _of_length(self, name: str, value: object, number: int) -> list[object]:
        if not isinstance(value, list) or len(value) != number:
            raise self.wrong(name, f"a list of {number} values, one for each class", value)
        return value

    def close(self) -> None:
        """Refuse fields that were not read: a misspelt field must not be ignored."""
        unknown = sorted(set(self._values) - self._read)
        if unknown:
            raise ModelError(f'unknown field "{unknown[0]}"{self._owner}; remove it.', self._place)

    def _value(self, name: str) -> object:
        if name not in self._values:
            raise ModelError(f'field "{name}"{self._owner} is missing; the file is damaged.', self._place)
        self._read.add(name)
        return self._values[name]

    def values(self, name: str) -> list[object]:
        """A list of any JSON values."""
        value = self._value(name)
        if not isinstance(value, list):
            raise self.wrong(name, "a list", value)
        return value

    def as_number(self, name: str, value: object, largest: float = LARGEST) -> float:
        """A value of a field as a finite number, of a limited size because it is added and multiplied."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            if abs(number) <= largest:
                return number
            if math.isfinite(number):
                raise self.wrong(name, f"a number of at most {largest:g} in size", value)
        raise self.wrong(name, "a finite number", value)

    def _whole(self, name: str, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.wrong(name, "a whole number of at least 0", value)
        if value > LARGEST:
            raise self.wrong(name, f"a whole number of at most {LARGEST:g}", value)
        return value


# --- settings: most only say how a model was learned; those that the program uses again are checked --

DEEPEST = 8
"""How deeply settings may be nested."""

NUMBERS = (
    "average_log_odds",
    "average_score",
    "base_loss",
    "constant",
    "effects_of_long",
    "gain_kept",
    "held_out_loss",
)
"""Settings that are finite numbers."""
WORDS: Mapping[str, tuple[str, ...]] = {
    "at_cutoff": AT_CUTOFF,
    "times": (DATE, NUMBER),
}
"""Settings that are one of a few words."""


def read_settings(fields: Fields) -> dict[str, object]:
    """The settings of a model, each of a type that the program can use."""
    values = fields.mapping("settings")
    settings = fields.nested("settings")
    for name, value in values.items():
        _check_plain(settings, name, value, DEEPEST)
    for name in NUMBERS:
        if settings.has(name):
            settings.number(name)
    for name, words in WORDS.items():
        if settings.has(name) and values[name] not in words:
            raise settings.wrong(name, " or ".join(words), values[name])
    if settings.has("choice"):
        settings.text("choice")
    if settings.has("tables"):
        tables = settings.nested("tables")
        for name in settings.mapping("tables"):
            _check_table(tables, name)
    if settings.has("names"):
        names = settings.nested("names")
        for name, texts in settings.mapping("names").items():
            if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
                raise names.wrong(name, "a text for each constant", texts)
    return values


def _check_plain(fields: Fields, name: str, value: object, depth: int) -> None:
    """Refuse numbers that are too large to compute with, and values that are nested without end."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        fields.as_number(name, value)
    if isinstance(value, list | dict):
        if depth == 0:
            raise fields.wrong(name, f"nested at most {DEEPEST} deep", value)
        for each in value.values() if isinstance(value, dict) else value:
            _check_plain(fields, name, each, depth - 1)


def _check_table(tables: Fields, name: str) -> None:
    """What a model says of one table; its links lead to tables of the model."""
    table = tables.nested(name)
    if not any(table.has(word) for word in ("key", "links", "roles")):
        raise tables.wrong(name, "a table with a key, links or roles", {})
    for word in ("links", "roles", "labels"):
        if table.has(word):
            table.mapping(word)
    if table.has("words"):
        table.text("words")
    for column, other in table.mapping("links").items() if table.has("links") else ():
        if isinstance(other, str) and not tables.has(other):
            raise table.wrong("links", "links to tables of the model", {column: other})
