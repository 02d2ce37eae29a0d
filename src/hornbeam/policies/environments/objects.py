"""Names that are shared by environments of all packages: types of objects, and packages that are missing."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from hornbeam.errors import OptionError
from hornbeam.policies.language import CATEGORY, NUMBER, WORLD, logical_name

OBJECT = "object"
"""The type of all objects, where types have types below them."""


def type_name(given: str, taken: Collection[str]) -> str:
    """The name of a type, which no predicate or action may have.

    >>> type_name("Block", {"on"}), type_name("truck", {"truck", "at"})
    ('block', 'truck_object')
    """
    name = logical_name(given.strip())
    return f"{name}_{OBJECT}" if name in {*taken, NUMBER, CATEGORY, WORLD} else name


@contextmanager
def needed(package: str) -> Iterator[None]:
    """Says what to install if a package is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise OptionError(
            f"environments of {package} need the package {error.name}, which is not installed: "
            'pip install "hornbeam[environments]".'
        ) from None
