"""What is asked about bodies, and what engines answer for rows of keys."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.rows import Integers
from hornbeam.logic.clauses import Atom
from hornbeam.logic.effects import Body, Feature, body_text

Codes = npt.NDArray[np.int32]


class FeatureRequest(NamedTuple):
    """A body and one feature of its groundings."""

    head: Atom
    body: Body
    feature: Feature

    def __str__(self) -> str:
        return body_text(self.head, self.body)


class ValueRequest(NamedTuple):
    """A body and one of its variables, whose values are asked for."""

    head: Atom
    body: Body
    variable: int

    def __str__(self) -> str:
        return body_text(self.head, self.body)


class FrequentConstant(NamedTuple):
    """A constant of a variable, and the number of examples whose groundings have it."""

    name: str
    examples: int


class CountsByConstant(NamedTuple):
    """Numbers of groundings that are not 0, by example and constant of a variable, in order of examples."""

    row: Integers
    """position of the example"""
    code: npt.NDArray[np.int32]
    """code of the constant; -1 for an unknown key"""
    number: Integers


class GroundingRows(NamedTuple):
    """The groundings that made the value of a feature of one example."""

    number: int
    columns: tuple[npt.NDArray[Any], ...] | None
    """the values of the variables that were asked for: floats if they are numeric, else codes, with a row for
    each different combination; None if they are too many to list"""
