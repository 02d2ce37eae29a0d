"""Examples that are alternatives of choices: which are learned from, in which order, which stay together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.relations import Examples
from hornbeam.data.sampling import in_order
from hornbeam.engines.contract import Engine
from hornbeam.errors import DataError, OptionError, plural
from hornbeam.learning.losses.choice import ChoiceLoss, targets_of
from hornbeam.learning.numbers import Floats
from hornbeam.learning.options import EffectOptions
from hornbeam.learning.problem import check_labels
from hornbeam.model.choices import choice_place, choices_at
from hornbeam.model.scales import Integers

Hashes = npt.NDArray[np.uint64]


class Alternatives(NamedTuple):
    """The examples that are learned from, side by side with those of their choice."""

    rows: npt.NDArray[np.intp]
    """their positions among those given"""
    choices: Integers
    """the choice of each, from 0 on"""
    targets: Floats
    loss: ChoiceLoss
    notes: tuple[str, ...]
    """what was left out, as sentences"""


def alternatives_of(engine: Engine, examples: Examples, options: EffectOptions) -> Alternatives:
    """The examples of choices that have a right alternative, in an order that does not depend on files."""
    if examples.values is not None or examples.classes:
        raise DataError(
            f'the loss choice needs labels 0 and 1 of "{examples.target}": whether an alternative is right; '
            "name one value of the column."
        )
    check_labels(examples)
    choices = _choices(engine, examples, options)
    order = in_order(engine.database, examples.target, examples.keys, examples.labels)
    choices = choices[order]
    known = choices >= 0
    has_right = np.zeros(int(choices.max(initial=-1)) + 1, dtype=bool)
    is_right = examples.labels[order] == 1
    if examples.elsewhere is not None:
        is_right |= examples.elsewhere[order, 1] > 0
    has_right[choices[known & is_right]] = True
    kept = known.copy()
    kept[known] = has_right[choices[known]]
    if not kept.any():
        raise DataError(f'no choice of "{examples.target}" has a right alternative; nothing can be learned.')
    _, first, which = np.unique(choices[kept], return_index=True, return_inverse=True)
    # Choices are numbered in the order of their first examples.
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    own = number[which.ravel()]
    together = np.argsort(own, kind="stable")
    rows, own = order[kept][together], own[together]
    _check_equal(engine, examples.at(rows), own)
    targets = targets_of(own, examples.labels[rows].astype(np.float64))
    notes = _notes(int((~known).sum()), int((~has_right[np.unique(choices[known])]).sum()))
    elsewhere = None
    if examples.elsewhere is not None:
        elsewhere = examples.elsewhere[rows][np.flatnonzero(np.diff(own, prepend=-1))]
    return Alternatives(rows, own, targets, ChoiceLoss(len(own) / len(first), elsewhere), notes)


def _choices(engine: Engine, examples: Examples, options: EffectOptions) -> Integers:
    if examples.choices is not None:
        if options.choice is not None:
            raise OptionError(
                f'choice="{options.choice}" is refused: the choice of each example is given already; leave '
                "one of them out."
            )
        return examples.choices
    if options.choice is None:
        raise OptionError(
            "the loss choice needs to know which examples are alternatives of one choice: name the column by "
            'choice, such as choice="session", or give the examples a column "choice".'
        )
    database = engine.database
    place = choice_place(database.schema, examples.target, database.origin, options.choice)
    return choices_at(engine, examples.target, examples.keys, place)


def _check_equal(engine: Engine, examples: Examples, choices: Integers) -> None:
    """Refuse choices whose alternatives have different weights or cut-offs."""
    cutoffs = engine.database.real_cutoffs_of(examples.target, examples.keys)
    for values, what in ((examples.weights, "weights"), (cutoffs, "cut-offs")):
        if values is None:
            continue
        first = values[np.flatnonzero(np.diff(choices, prepend=-1))]
        if not np.array_equal(first[choices], values):
            raise DataError(f"alternatives of one choice have different {what}; give all of them the same.")


def _notes(without_choice: int, without_right: int) -> tuple[str, ...]:
    notes = []
    if without_choice:
        notes.append(f"left out {plural(without_choice, 'example')} without a choice.")
    if without_right:
        notes.append(f"left out {plural(without_right, 'choice')} without a right alternative.")
    return tuple(notes)


def joined(hashes: Hashes, choices: Integers) -> Hashes:
    """Equal hashes for the examples of a choice, and for those that had equal ones before."""
    _, groups = np.unique(hashes, return_inverse=True)
    result = hashes
    for _ in range(len(hashes)):
        least = result
        for which in (choices, groups.ravel()):
            of_group = np.full(int(which.max()) + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
            np.minimum.at(of_group, which, least)
            least = of_group[which]
        if np.array_equal(least, result):
            break
        result = least
    return result
