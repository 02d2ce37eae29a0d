"""The fields of a JSON object in a model file, each checked when it is read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from hornbeam.errors import ModelError, Place


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

    def as_number(self, name: str, value: object) -> float:
        """A value of a field as a finite number."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            if math.isfinite(number):
                return number
        raise self.wrong(name, "a finite number", value)

    def _whole(self, name: str, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.wrong(name, "a whole number of at least 0", value)
        return value
