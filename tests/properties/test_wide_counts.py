"""Counts near and beyond every integer width, and many clauses at once on larger worlds."""

from collections.abc import Callable
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from every_engine import counter_in_memory
from hornbeam.data.build import build
from hornbeam.data.database import Database
from hornbeam.datasets.worlds import smokers, university
from hornbeam.engines.clauses.contract import Counts
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.contract import INT64_MAX, Engine, Skipped
from hornbeam.engines.naive import NaiveEngine
from hornbeam.logic.clauses import Atom, Clause, Literal, head_atom
from hornbeam.logic.refine import Language, refinements
from hornbeam.logic.schema import Schema
from strategies import CASES

# --- every possible fact exists: every assignment satisfies every body -----------------------

SCHEMA = Schema({"t": ("x",), "e": ("x", "x"), "v": ("x",), "r": ("x", "x", "x")})


def complete(size: int, strangers: int) -> Database:
    """All facts about some constants, and more constants without facts."""
    names = [f"c{number}" for number in range(size)]
    everybody = [*names, *(f"s{number}" for number in range(strangers))]
    facts = {"v": product(names), "e": product(names, repeat=2), "r": product(names, repeat=3)}
    columns = {predicate: list(zip(*rows, strict=True)) for predicate, rows in facts.items()}
    return build(SCHEMA, (), columns, ranges={"x": everybody})


def chain(length: int) -> list[Literal]:
    return [Atom("e", pair) for pair in pairwise(range(length + 1))]


def star(length: int) -> list[Literal]:
    return [Atom("e", (0, variable)) for variable in range(1, length + 1)]


def comet(length: int) -> list[Literal]:
    """A literal at the head, and all others at its end."""
    return [Atom("e", (0, 1)), *(Atom("e", (1, variable)) for variable in range(2, length + 1))]


def apart(length: int) -> list[Literal]:
    return [Atom("v", (0,)), *(Atom("v", (variable,)) for variable in range(1, length + 1))]


def lasso(length: int) -> list[Literal]:
    """A cycle through the head, and a chain that begins on it."""
    return [*chain(length), Atom("e", (min(length, 2), 0))]


def knot(length: int) -> list[Literal]:
    """A chain whose last three variables are a cycle, the one in the middle weighted by a chain again."""
    if length < 6:
        return chain(length)
    tail = [Atom("e", pair) for pair in pairwise([3, *range(5, length + 1)])]
    return [*chain(4), Atom("e", (4, 2)), Atom("v", (3,)), *tail]


def ladder(length: int) -> list[Literal]:
    """Three arguments: each literal shares one variable with the last and adds one or two."""
    first = [Atom("r", (0, 1, 1))]
    return [*first, *(Atom("r", (variable, variable + 1, variable)) for variable in range(1, length))]


@counter_in_memory
@pytest.mark.parametrize("shape", [chain, star, comet, apart, lasso, knot, ladder])
@settings(max_examples=max(CASES // 50, 1))
@given(size=st.integers(2, 4), length=st.integers(1, 66), strangers=st.integers(0, 1))
@example(size=2, length=62, strangers=0)
@example(size=2, length=63, strangers=0)
@example(size=2, length=53, strangers=0)
@example(size=2, length=32, strangers=1)
def test_counts_are_exact_up_to_the_last_bit_and_refused_beyond(
    engine: type[Engine], shape: Callable[[int], list[Literal]], size: int, length: int, strangers: int
) -> None:
    clause = Clause(head_atom("t", 1), tuple(shape(length)))
    keys = np.array([[0], [-1], [size - 1], [size + strangers - 1]], dtype=np.int32)
    (counts,) = counter_of(engine(complete(size, strangers))).count([clause], keys)
    expected = size**length
    if isinstance(counts, Skipped):
        assert counts.estimate > counts.budget
        assert (size + strangers) ** length > INT64_MAX
    else:
        assert counts.total == (size + strangers) ** length
        assert counts.true.tolist() == [expected, 0, expected, 0 if strangers else expected]


# --- larger worlds ----------------------------------------------------------------------------


def candidates(database: Database, target: str, most: int) -> list[Clause]:
    """The refinements of up to two literals, in the order of a search."""
    head = head_atom(target, database.schema.arity(target))
    language = Language(head, database.schema, database.modes, database.constants)
    first = refinements(language.empty(), language)
    return [*first, *(finer for clause in first for finer in refinements(clause, language))][:most]


@counter_in_memory
@pytest.mark.parametrize(("world", "target"), [(smokers, "cancer"), (university, "advisedby")])
def test_many_clauses_at_once_equal_each_by_itself(
    engine: type[Engine], world: Callable[[int], Database], target: str
) -> None:
    database = world(2_000 if target == "cancer" else 30)
    keys = database.examples_of(target).keys
    clauses = candidates(database, target, most=150)
    together = counter_of(engine(database)).count(clauses, keys)
    used = engine(database)
    for clause, counts in zip(clauses, together, strict=True):
        (alone,) = counter_of(used).count([clause], keys)
        assert isinstance(counts, Counts) and isinstance(alone, Counts)
        assert counts.total == alone.total
        assert counts.true.tolist() == alone.true.tolist(), clause


@counter_in_memory
@pytest.mark.parametrize(("world", "target"), [(smokers, "cancer"), (university, "advisedby")])
def test_a_generated_world_is_counted_as_the_definition_says(
    engine: type[Engine], world: Callable[[int], Database], target: str
) -> None:
    database = world(60 if target == "cancer" else 1)
    keys = database.examples_of(target).keys[::7]
    clauses = [c for c in candidates(database, target, most=150) if len(c.free_variables()) <= 1]
    assert len(clauses) > 5
    for right, counts in zip(
        counter_of(NaiveEngine(database)).count(clauses, keys),
        counter_of(engine(database)).count(clauses, keys),
        strict=True,
    ):
        assert counts.true.tolist() == right.true.tolist()
