"""Databases for the counting benchmarks: integer columns drawn by NumPy, names made only when asked for."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Codes, Database, Population, Relation
from hornbeam.data.names import Numbered
from hornbeam.datasets.worlds.building import database_of, labelled, modes_of, with_examples
from hornbeam.logic.parse import parse_mode
from hornbeam.logic.schema import schema_of

CITIES = 100
TRAITS = 16
MODES = tuple(
    parse_mode(text)
    for text in (
        "cancer(+person).",
        "friends(+person,-person).",
        "friends(-person,+person).",
        "smokes(+person).",
        "lives(+person,#city).",
        "has(+person,#trait).",
        "advisedby(+person,+person).",
        "publication(-title,+person).",
        "publication(+title,-person).",
    )
)


@dataclass(frozen=True)
class World:
    """A database and the examples to count for."""

    name: str
    database: Database
    keys: Codes

    def facts(self) -> int:
        return sum(map(len, self.database.relations.values()))


def friendships(persons: int, edges: int, seed: int = 0) -> World:
    """Power-law friendships, 30% smokers, each in one of 100 cities; every person is an example."""
    rng = np.random.default_rng(seed)
    people = np.arange(persons, dtype=np.int32)
    relations = {
        "friends": _distinct_pairs(rng, edges, (persons, persons)),
        "smokes": Relation((people[rng.random(persons) < 0.3],)),
        "lives": Relation((people, rng.integers(0, CITIES, persons, dtype=np.int32))),
    }
    populations = {"person": persons, "city": CITIES}
    name = f"{_short(edges)} friendships, {_short(persons)} persons"
    return World(name, database(relations, populations), people[:, None])


def with_traits(world: World, seed: int = 0) -> World:
    """The world with ``has(person,trait)``: each person has each of 16 traits with probability 0.3."""
    sizes = {name: len(population) for name, population in world.database.populations.items()}
    which = np.random.default_rng(seed).random((sizes["person"], TRAITS)) < 0.3
    has = Relation(tuple(column.astype(np.int32) for column in np.nonzero(which)))
    relations = {**world.database.relations, "has": has}
    return World(world.name, database(relations, sizes | {"trait": TRAITS}), world.keys)


def publications(rows: int = 1_000_000, persons: int = 100_000, pairs: int = 200_000, seed: int = 0) -> World:
    """Who wrote what; half of the example pairs share a title, half are drawn at random."""
    rng = np.random.default_rng(seed)
    titles = rows * 2 // 5
    written = _distinct_pairs(rng, rows, (titles, persons))
    title, person = written.columns
    # Rows are sorted by title, so neighbours often share one.
    neighbours = np.flatnonzero(title[1:] == title[:-1])
    chosen = rng.choice(neighbours, pairs // 2)
    together = np.stack([person[chosen], person[chosen + 1]], axis=1)
    apart = rng.integers(0, persons, (pairs - len(together), 2), dtype=np.int32)
    keys = np.ascontiguousarray(rng.permutation(np.concatenate([together, apart])), dtype=np.int32)
    populations = {"person": persons, "title": titles}
    name = f"{_short(rows)} publications, {_short(pairs)} pairs"
    return World(name, database({"publication": written}, populations), keys)


def pairs_with_constants(
    persons: int = 1000, pairs: int = 5000, constants: int = 500, each: int = 5, seed: int = 0
) -> Database:
    """Pairs of persons who match or not; each person has some topics and some skills of very many.

    A match is likelier, the more of the first tenth of all topics one has, and of all skills the other.
    """
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(persons, dtype=np.int32), each)
    had = {
        name: np.argsort(rng.random((persons, constants)), axis=1)[:, :each].astype(np.int32)
        for name in ("topic", "skill")
    }
    chosen = rng.choice(persons * persons, pairs, replace=False)
    keys = np.stack(np.divmod(chosen, persons), axis=1).astype(np.int32)
    liked = sum((had[name][keys[:, side]] < constants // 10).sum(axis=1) for side, name in enumerate(had))
    database = database_of(
        modes_of(["match +person +person", "topic +person #topic", "skill +person #skill"]),
        {"person": Population(Numbered("p", persons))}
        | {name: Population(Numbered(name[0], constants)) for name in had},
        {name: (person, which.ravel()) for name, which in had.items()},
    )
    return with_examples(database, labelled(rng, "match", keys, 1 / (1 + np.exp(2.5 - 0.8 * liked))))


def _distinct_pairs(rng: np.random.Generator, count: int, sizes: tuple[int, int]) -> Relation:
    """Distinct pairs whose ends both have power-law degrees (expected degree ~ rank**-0.5)."""
    # One order for both ends where they are of one type: who has many friends is a friend of many.
    ends = [rng.permutation(size) for size in sorted(set(sizes), reverse=True)]
    ends = ends * 2 if sizes[0] == sizes[1] else ends if sizes[0] > sizes[1] else ends[::-1]
    keys = np.empty(0, dtype=np.int64)
    while len(keys) < count:
        drawn = (count - len(keys)) * 5 // 4 + 1000
        first, second = (
            end[(size * rng.random(drawn) ** 2).astype(np.int64)]
            for end, size in zip(ends, sizes, strict=True)
        )
        keys = np.union1d(keys, first * sizes[1] + second)
    kept: npt.NDArray[np.int64] = np.sort(rng.choice(keys, count, replace=False))
    columns = np.divmod(kept, sizes[1])
    return Relation(tuple(column.astype(np.int32) for column in columns))


def database(relations: dict[str, Relation], sizes: dict[str, int]) -> Database:
    populations = {name: Population(Numbered(name[0], size)) for name, size in sizes.items()}
    return Database(schema_of(MODES), MODES, MappingProxyType(populations), MappingProxyType(relations))


def _short(number: int) -> str:
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if number >= size:
            return f"{number / size:g}{unit}"
    return str(number)
