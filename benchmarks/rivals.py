"""The same counts by other means: SQL factorised by hand in DuckDB, and bare scipy products.

Both know the one body they count and its best plan; neither parses a clause, checks a bound or keeps
a result. What they have prepared beforehand (tables, CSR matrices) is not part of their time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import duckdb
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from worlds import World

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Body:
    """A clause and the two other ways to count it."""

    name: str
    clause: str
    sql: str
    """rows (key, t) or (key, t) for pairs by row number; keys without a row count 0"""
    kernel: Callable[[Matrices], Integers]


class Tables:
    """The facts as DuckDB tables of 32-bit integers, on one thread."""

    def __init__(self, world: World, names: tuple[str, ...]) -> None:
        self.connection = duckdb.connect(config={"threads": 1})
        self.size = len(world.keys)
        arrays = {
            name: {f"c{i}": column for i, column in enumerate(world.database.relation(name).columns)}
            for name in names
        }
        arrays["examples"] = {"id": np.arange(self.size, dtype=np.int32)} | {
            f"k{i}": np.ascontiguousarray(world.keys[:, i]) for i in range(world.keys.shape[1])
        }
        for name, columns in arrays.items():
            self.connection.register("columns_of_facts", columns)
            self.connection.execute(f"CREATE TABLE {name} AS SELECT * FROM columns_of_facts")
            self.connection.unregister("columns_of_facts")

    def count(self, sql: str) -> dict[str, npt.NDArray[np.generic]]:
        """One row per example: its number and its count."""
        return self.connection.execute(sql).fetchnumpy()

    def column(self, rows: dict[str, npt.NDArray[np.generic]]) -> Integers:
        """The counts in the order of the examples."""
        counts = np.empty(self.size, dtype=np.int64)
        counts[rows["id"]] = rows["t"].astype(np.int64)
        return counts


class Matrices:
    """The facts as CSR matrices of 64-bit ones, made when first asked for."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._made: dict[str, sp.csr_matrix] = {}

    def get(self, predicate: str, transposed: bool = False) -> sp.csr_matrix:
        name = predicate + "'" * transposed
        if name not in self._made:
            database = self.world.database
            columns = database.relation(predicate).columns
            shape = tuple(len(database.population(t)) for t in database.schema.types_of(predicate))
            ones = np.ones(len(columns[0]), dtype=np.int64)
            matrix = sp.coo_matrix((ones, columns), shape=shape)
            self._made[name] = (matrix.T if transposed else matrix).tocsr()
        return self._made[name]

    @cached_property
    def smokes(self) -> Integers:
        return self._members("smokes", slice(None))

    def lives_in(self, city: int) -> Integers:
        """1 for those who live in the city: a row of the transposed matrix, spread out."""
        lives = self.get("lives", transposed=True)
        vector = np.zeros(lives.shape[1], dtype=np.int64)
        vector[lives.indices[lives.indptr[city] : lives.indptr[city + 1]]] = 1
        return vector

    def _members(self, predicate: str, rows: slice) -> Integers:
        vector = np.zeros(len(self.world.database.population("person")), dtype=np.int64)
        vector[self.world.database.relation(predicate).columns[0][rows]] = 1
        return vector

    @property
    def keys(self) -> npt.NDArray[np.int32]:
        return self.world.keys


def _degrees(matrix: sp.csr_matrix) -> Integers:
    return np.diff(matrix.indptr).astype(np.int64)


def _two_hops(facts: Matrices) -> Integers:
    friends = facts.get("friends")
    return (friends @ _degrees(friends))[facts.keys[:, 0]]


def _chain_with_a_constant(facts: Matrices) -> Integers:
    friends = facts.get("friends")
    return (friends @ (friends @ facts.lives_in(7)))[facts.keys[:, 0]]


def _tree(facts: Matrices) -> Integers:
    friends = facts.get("friends")
    smokes = facts.smokes
    branches = (friends @ smokes) * _degrees(facts.get("friends", transposed=True)) * smokes
    return (friends @ branches)[facts.keys[:, 0]]


def _pairs(facts: Matrices) -> Integers:
    wrote = facts.get("publication", transposed=True)
    shared = wrote[facts.keys[:, 0]].multiply(wrote[facts.keys[:, 1]])
    return np.asarray(shared.sum(axis=1), dtype=np.int64).ravel()


def _triangles(facts: Matrices) -> Integers:
    friends = facts.get("friends")
    returning = (friends @ friends).multiply(facts.get("friends", transposed=True))
    return np.asarray(returning.sum(axis=1), dtype=np.int64).ravel()[facts.keys[:, 0]]


def _for_every_example(counted: str) -> str:
    return f"SELECT e.id, coalesce(c.t, 0) AS t FROM examples e LEFT JOIN ({counted}) c ON e.k0 = c.key"


TWO_HOPS = Body(
    "two-hop chain",
    "cancer(A) :- friends(A,B), friends(B,C).",
    _for_every_example(
        """
        WITH hops AS (SELECT c0 AS key, count(*) AS t FROM friends GROUP BY c0)
        SELECT f.c0 AS key, sum(hops.t) AS t FROM friends f JOIN hops ON f.c1 = hops.key GROUP BY f.c0
        """
    ),
    _two_hops,
)
CONSTANT = Body(
    "chain with a constant",
    "cancer(A) :- friends(A,B), friends(B,C), lives(C,c7).",
    _for_every_example(
        """
        WITH there AS (
            SELECT f.c0 AS key, count(*) AS t FROM friends f JOIN lives ON f.c1 = lives.c0
            WHERE lives.c1 = 7 GROUP BY f.c0)
        SELECT f.c0 AS key, sum(there.t) AS t FROM friends f JOIN there ON f.c1 = there.key GROUP BY f.c0
        """
    ),
    _chain_with_a_constant,
)
TREE = Body(
    "tree of three branches",
    "cancer(A) :- friends(A,B), smokes(B), friends(B,C), smokes(C), friends(D,B).",
    _for_every_example(
        """
        WITH smoking AS (
            SELECT f.c0 AS key, count(*) AS t FROM friends f JOIN smokes ON f.c1 = smokes.c0 GROUP BY f.c0),
        fans AS (SELECT c1 AS key, count(*) AS t FROM friends GROUP BY c1),
        branches AS (
            SELECT s.c0 AS key, smoking.t * fans.t AS t FROM smokes s
            JOIN smoking ON smoking.key = s.c0 JOIN fans ON fans.key = s.c0)
        SELECT f.c0 AS key, sum(b.t) AS t FROM friends f JOIN branches b ON f.c1 = b.key GROUP BY f.c0
        """
    ),
    _tree,
)
PAIRS = Body(
    "pairs",
    "advisedby(A,B) :- publication(C,A), publication(C,B).",
    """
    SELECT e.id, coalesce(c.t, 0) AS t FROM examples e LEFT JOIN (
        SELECT e.id, count(*) AS t FROM examples e
        JOIN publication p ON p.c1 = e.k0 JOIN publication q ON q.c1 = e.k1 AND q.c0 = p.c0 GROUP BY e.id
    ) c ON c.id = e.id
    """,
    _pairs,
)
TRIANGLE = Body(
    "triangle",
    "cancer(A) :- friends(A,B), friends(B,C), friends(C,A).",
    _for_every_example(
        """
        SELECT f.c0 AS key, count(*) AS t FROM friends f
        JOIN friends g ON g.c0 = f.c1 JOIN friends h ON h.c0 = g.c1 AND h.c1 = f.c0 GROUP BY f.c0
        """
    ),
    _triangles,
)
ACYCLIC = (TWO_HOPS, CONSTANT, TREE)
