"""The option ``group``: examples that are linked to the same thing of a table stay together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hornbeam.data.database import UNKNOWN, Codes
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.engines.questions import ValueRequest
from hornbeam.errors import LimitError, OptionError, did_you_mean
from hornbeam.logic.clauses import Atom, head_atom
from hornbeam.logic.effects import Body
from hornbeam.logic.schema import Schema

MOST_LINKS = 3
"""Maximum number of links from an example to the things of the table."""
MOST_ARGUMENTS = 10
"""Predicates with more arguments are no links."""


def things_of_group(engine: Engine, target: str, keys: Codes, group: str) -> list[str | None]:
    """For each example the name of the group it belongs to; None if it is linked to no thing of the table.

    An example is linked by the fewest links that lead to the table, all of them. Examples that share a thing
    belong together, and so do examples that a chain of such things connects; the first name of the chain is
    the name of the group.
    """
    schema = engine.database.schema
    group = _known(schema, group)
    examples, codes = _linked(engine, target, keys, group)
    distinct, things = np.unique(codes, return_inverse=True)
    names = engine.database.population(group).decode(distinct.astype(np.int32))
    order = sorted(range(len(names)), key=names.__getitem__)
    first = np.empty(len(names), dtype=np.int64)
    first[order] = np.arange(len(names))
    things = things.ravel()
    of_example = np.full(len(keys), len(names), dtype=np.int64)
    while True:
        np.minimum.at(of_example, examples, first[things])
        joined = first.copy()
        np.minimum.at(joined, things, of_example[examples])
        if np.array_equal(joined, first):
            break
        first = joined
    if not len(examples):
        raise OptionError(
            f'group="{group}" is refused: no example is linked to a thing of "{group}"; name a table that '
            "examples belong to."
        )
    if len(set(of_example.tolist())) < 2:
        raise OptionError(
            f'group="{group}" is refused: all examples are linked to the same thing of "{group}", so none '
            "could be held out; name a table with several things that examples belong to."
        )
    sorted_names: list[str | None] = [*(names[place] for place in order), None]
    return [sorted_names[place] for place in of_example.tolist()]


def _known(schema: Schema, group: str) -> str:
    """The type that a group names."""
    types = set(schema.types()) - set(schema.numeric)
    if group.lower() not in types:
        raise OptionError(f'no table "{group}" for group. {did_you_mean(group, sorted(types), "Tables")}')
    return group.lower()


def _linked(engine: Engine, target: str, keys: Codes, group: str) -> tuple[Codes, Codes]:
    """Pairs of an example and a thing of the group."""
    schema = engine.database.schema
    head = head_atom(target, schema.arity(target))
    own = [place for place, name in enumerate(schema.types_of(target)) if name == group]
    pairs = [(np.arange(len(keys)), keys[:, place]) for place in own]
    if not own:
        bodies = _bodies(schema, head, group)
        if not bodies:
            raise OptionError(
                f'group="{group}" is refused: no chain of at most {MOST_LINKS} links leads from "{target}" '
                f'to "{group}"; name a table that examples are linked to.'
            )
        for body, variable in bodies:
            answer = engine.counts_by_constant(ValueRequest(head, body, variable), keys)
            if isinstance(answer, Skipped):
                raise LimitError(f'the links to group "{group}" exceed the memory budget; raise --memory.')
            pairs += [(counts.row, counts.code) for counts in answer]
    examples, codes = (np.concatenate(each) for each in zip(*pairs, strict=True))
    known = codes != UNKNOWN
    return examples[known].astype(np.int64), codes[known].astype(np.int64)


def _bodies(schema: Schema, head: Atom, group: str) -> list[tuple[Body, int]]:
    """The shortest chains of links from the head to things of a type, each with its last variable."""
    arity = len(head.args)
    chains: list[tuple[tuple[Atom, ...], int, str]] = [
        ((), place, name) for place, name in enumerate(schema.types_of(head.predicate))
    ]
    reached = {name for _, _, name in chains}
    for number in range(MOST_LINKS):
        free = arity + MOST_ARGUMENTS * number
        chains = [
            ((*body, atom), last, name)
            for body, variable, type_name in chains
            for atom, last, name in _links(schema, head, (variable, type_name), free)
            if name not in reached
        ]
        reached |= {name for _, _, name in chains}
        found: list[tuple[Body, int]] = [(body, last) for body, last, name in chains if name == group]
        if found:
            return found
    return []


def _links(schema: Schema, head: Atom, start: tuple[int, str], free: int) -> Iterator[tuple[Atom, int, str]]:
    """Atoms that lead from a variable to another one, with that variable and its type."""
    variable, type_name = start
    for predicate in sorted(schema.predicates):
        types = schema.types_of(predicate)
        if predicate == head.predicate or len(types) > MOST_ARGUMENTS:
            continue
        for place, name in enumerate(types):
            for other, reached in enumerate(types):
                if name == type_name and other != place and reached not in schema.numeric:
                    terms = [variable if each == place else free + each for each in range(len(types))]
                    yield Atom(predicate, tuple(terms)), free + other, reached
