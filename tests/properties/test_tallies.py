"""Every engine tallies the groundings of a body as the definition does (``docs/effects.md``)."""

import pytest
from hypothesis import given, settings

from effect_bodies import TallyCase, check_tallies, tally_cases
from every_engine import every_other_engine
from hornbeam.engines.contract import Engine
from hornbeam.engines.memory import fact_slices
from hornbeam.engines.memory import tally as memory_tally
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from strategies import CASES


@every_other_engine
@given(case=tally_cases())
@settings(max_examples=CASES)
def test_an_engine_tallies_what_the_definition_tallies(engine: type[Engine], case: TallyCase) -> None:
    check_tallies(engine(case.database), case, NaiveEngine(case.database).tally(case.requests, case.keys))


@given(case=tally_cases())
@settings(max_examples=CASES)
def test_a_body_that_is_split_is_tallied_the_same(case: TallyCase) -> None:
    expected = NaiveEngine(case.database).tally(case.requests, case.keys)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory_tally, "SPLIT_ROWS", 0)
        patch.setattr(memory_tally, "SPLIT_GROWTH", 0)
        patch.setattr(fact_slices, "DENSE_KEYS", 0)
        engine = MemoryEngine(case.database)
        check_tallies(engine, case, expected)
        check_tallies(engine, case, expected)
