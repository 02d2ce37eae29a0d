"""Every clause is counted, or an error names the clause and the reason."""

import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.data.database import Codes
from hornbeam.engines.clauses.contract import Counts
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.clauses.counting.count import LEAST_KEYS, count_all
from hornbeam.engines.clauses.naive import NaiveCounter
from hornbeam.engines.contract import Skipped
from hornbeam.engines.naive import NaiveEngine
from hornbeam.errors import LimitError
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema

SCHEMA = Schema({"friends": ("person", "person"), "cancer": ("person",)})
PEOPLE = [f"p{number}" for number in range(300)]
DATABASE = build(SCHEMA, (), {"friends": [PEOPLE, PEOPLE[1:] + PEOPLE[:1]]}, ranges={"person": PEOPLE})
CLAUSE = parse_clause("cancer(A) :- friends(A,B).", SCHEMA)
KEYS = np.arange(300, dtype=np.int32).reshape(-1, 1)


class Small(NaiveCounter):
    """Refuses more than a number of examples at once; the integer type differs from call to call."""

    def __init__(self, most: int) -> None:
        super().__init__(NaiveEngine(DATABASE))
        self.most = most

    def count(self, clauses, keys: Codes) -> list[Counts | Skipped]:
        if len(keys) > self.most:
            return [Skipped(clause, "too many examples", len(keys), self.most) for clause in clauses]
        dtype = np.uint64 if keys[0, 0] % 2 else np.int8
        return [Counts(c.true.astype(dtype), c.total) for c in super().count(clauses, keys)]


def test_what_does_not_fit_at_once_is_counted_in_parts():
    (whole,) = counter_of(NaiveEngine(DATABASE)).count([CLAUSE], KEYS)
    (parts,) = count_all(Small(LEAST_KEYS), [CLAUSE], KEYS)
    assert parts.true.tolist() == whole.true.tolist()
    assert parts.true.dtype == np.int64
    assert parts.total == whole.total


def test_what_does_not_fit_in_parts_either_is_refused():
    with pytest.raises(LimitError) as caught:
        count_all(Small(0), [CLAUSE], KEYS)
    assert str(caught.value) == (
        "cancer(A) :- friends(A,B). cannot be counted: too many examples (estimate 37, limit 0)."
    )
