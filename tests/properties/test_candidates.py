"""The clauses of a search as components: the same clauses, and the sums that the definition gives them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.data.database import Codes, Database
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.clauses.counting import product_sums
from hornbeam.engines.clauses.counting.candidates import ComponentNumbers, candidates
from hornbeam.engines.clauses.counting.count_cache import CountCache
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.learning.search.ridge import Response, gains
from hornbeam.logic.clauses import head_atom
from hornbeam.logic.parse import parse_mode
from hornbeam.logic.refine import Language, memoised
from hornbeam.logic.schema import schema_of
from strategies import STRANGER, TARGET, databases, key_rows, modes, schemas, with_cutoffs

MOST = 3
"""literals of a clause"""


@st.composite
def searches(draw: st.DrawFn) -> tuple[Database, Language, Codes]:
    """A database, a language over it, and keys, some of them with cut-offs."""
    database = draw(schemas().flatmap(databases))
    schema = database.schema
    constants = {
        (name, position): (*database.population(type_name).names, STRANGER)[: draw(st.integers(0, 6))]
        for name, types in schema.predicates.items()
        for position, type_name in enumerate(types)
    }
    language = Language(head_atom(TARGET, schema.arity(TARGET)), schema, draw(modes(schema)), constants)
    keys = draw(key_rows(database, [language.empty()]))
    if draw(st.booleans()):
        cutoffs = draw(st.lists(st.sampled_from((0.0, 2.7)), min_size=len(keys), max_size=len(keys)))
        keys = with_cutoffs(database, keys, np.array(cutoffs))
    return database, language, keys


@given(search=searches(), data=st.data())
def test_candidates_are_all_refinements_with_the_sums_of_the_definition(
    search: tuple[Database, Language, Codes], data: st.DataObject
) -> None:
    database, language, keys = search
    refine = memoised(language)
    numbers = ComponentNumbers(language.head, refine.bodies.clause, MOST)
    session, right = (
        CountCache(counter_of(engine(database)), keys) for engine in (MemoryEngine, NaiveEngine)
    )
    random = np.random.default_rng(len(keys))
    beam = [language.empty()]
    for _ in range(MOST):
        gradients = random.integers(-(2**30), 2**30, len(keys))
        session.set_gradients(gradients)
        right.set_gradients(gradients)
        extensions = [refine.extensions(clause) for clause in beam]
        found = candidates(numbers, [each for each in extensions if each is not None])
        assert found is not None
        clauses = list(found)
        assert len(set(clauses)) == len(clauses)
        assert set(clauses) == {finer for clause in beam for finer in refine(clause)}
        if not clauses:
            return
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(product_sums, "LEAST_ATOMS", 1)
            patch.setattr(product_sums, "FEW", data.draw(st.sampled_from((0.0, 1.0))))
            # With a low limit, clauses are summed one by one.
            patch.setattr(product_sums, "LIMIT", data.draw(st.sampled_from((2**62, 2**62, 2**33))))
            sums = session.sums(found)
        expected = right.sums(clauses)
        for name in ("total", "true", "true_squared", "true_gradient"):
            assert list(getattr(sums, name)) == getattr(expected, name), name
        assert sums.counted == expected.counted
        response = Response(len(keys), int(gradients.sum()), int(gradients.astype(object) @ gradients))
        if len(keys):
            one, other = gains(sums, response, 1.0), gains(expected, response, 1.0)
            assert np.allclose(one, other, rtol=1e-12, atol=0.0)
        beam = data.draw(st.lists(st.sampled_from(clauses), min_size=1, max_size=3, unique=True))


def test_more_components_than_keys_can_tell_apart_are_refused() -> None:
    words = tuple(map(parse_mode, ("target(+x)", "p(+x,-x)", "q(+x)", "r(+x)")))
    language = Language(head_atom(TARGET, 1), schema_of(words), words)
    refine = memoised(language)
    extensions = refine.extensions(language.empty())
    assert extensions is not None
    for most, allowed in ((16, True), (32, False)):
        found = candidates(ComponentNumbers(language.head, refine.bodies.clause, most), [extensions])
        assert (found is not None) == allowed
