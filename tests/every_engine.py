"""The engines that the shared test suites run on; add a new engine here."""

from importlib.util import find_spec
from shutil import which

import numpy as np
import pytest

import servers
from hornbeam.data.database import Codes
from hornbeam.engines.clauses.contract import Counts
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.clauses.counting.count_cache import CountCache
from hornbeam.engines.contract import Engine
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.engines.sql.drivers.duckdb import DuckDBEngine
from hornbeam.logic.clauses import Clause
from strategies import Case

ENGINES: dict[str, type[Engine]] = {"naive": NaiveEngine, "memory": MemoryEngine, "duckdb": DuckDBEngine}

MISSING: dict[str, str] = {}
"""Engines that cannot run here, and what they need; the test summary lists them."""

if find_spec("psycopg") and servers.can_run_postgres():
    from hornbeam.engines.sql.drivers.postgres import PostgresEngine

    ENGINES["postgres"] = PostgresEngine
else:
    MISSING["postgres"] = "psycopg, and a server in HORNBEAM_POSTGRES or the programs initdb and pg_ctl"

if find_spec("pyspark") and find_spec("pyarrow") and which("java"):
    from hornbeam.engines.sql.drivers.spark import SparkEngine

    ENGINES["spark"] = SparkEngine
else:
    MISSING["spark"] = "pyspark, pyarrow and java"

SLOWER = {"duckdb": 20, "postgres": 20, "spark": 400}
"""Slow engines get fewer random cases, by this factor."""
BUDGETS = (0, 50, 200, 500, 1_000, 2_000, 5_000, 20_000, 100_000)
"""Memory budgets in bytes, from nothing to enough."""

every_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES.keys())
_OTHERS = {name: engine for name, engine in ENGINES.items() if engine is not NaiveEngine}
every_other_engine = pytest.mark.parametrize("engine", _OTHERS.values(), ids=_OTHERS.keys())
"""All engines but the reference engine."""

both_counters = pytest.mark.parametrize("engine", [NaiveEngine, MemoryEngine], ids=["naive", "memory"])
"""The engines whose clauses are counted in different ways if facts are in memory."""
counter_in_memory = pytest.mark.parametrize("engine", [MemoryEngine], ids=["memory"])

_QUICK = {name: engine for name, engine in ENGINES.items() if SLOWER.get(name, 1) < 100}
every_quick_engine = pytest.mark.parametrize("engine", _QUICK.values(), ids=_QUICK.keys())
"""All engines on which many queries for one case take no minutes."""


def true_counts(engine: Engine, clause: Clause, keys: Codes) -> list[int]:
    """The true counts of a clause; the test fails if it is skipped."""
    (counts,) = counter_of(engine).count([clause], keys)
    assert isinstance(counts, Counts), counts
    return [int(count) for count in counts.true]


def check_counts(engine: type[Engine], case: Case) -> None:
    """An engine counts the same as the reference engine."""
    expected = counter_of(NaiveEngine(case.database)).count(case.clauses, case.keys)
    found = counter_of(engine(case.database)).count(case.clauses, case.keys)
    for clause, right, counts in zip(case.clauses, expected, found, strict=True):
        assert isinstance(counts, Counts), counts
        assert counts.true.tolist() == right.true.tolist(), clause
        assert counts.total == right.total, clause


def check_sums(engine: type[Engine], case: Case, gradients: list[int]) -> None:
    """A session returns the sums and columns of the counts of the reference engine."""
    d = gradients[: len(case.keys)]
    clauses = list(dict.fromkeys(case.clauses))
    session = CountCache(counter_of(engine(case.database)), case.keys)
    session.set_gradients(np.array(d, dtype=np.int64))
    sums = session.sums(clauses)
    assert list(sums.clauses) == clauses and sums.skipped == ()
    expected = counter_of(NaiveEngine(case.database)).count(clauses, case.keys)
    for i, (clause, right) in enumerate(zip(clauses, expected, strict=True)):
        t = right.true.tolist()
        assert sums.total[i] == right.total
        assert sums.true[i] == sum(t)
        assert sums.true_squared[i] == sum(x * x for x in t)
        assert sums.true_gradient[i] == sum(x * y for x, y in zip(t, d, strict=True))
        assert session.column(clause).tolist() == t
    session.close()
