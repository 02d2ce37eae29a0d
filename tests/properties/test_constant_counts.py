"""Weights of constants: one pass over a clause gives what counting each constant by itself gives."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from every_engine import every_engine
from hornbeam.engines.contract import Engine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.logic.clauses import Atom, Comparison
from hornbeam.model.features import WeightedClause, feature_values
from hornbeam.model.groundings.constants import at_once, contribution_of_constants, counts_by_constant
from strategies import CASES, STRANGER, Case, timed_cases


@every_engine
@given(case=timed_cases(), feature=st.sampled_from(("count", "log")))
@settings(max_examples=max(CASES // 2, 1))
def test_one_pass_gives_what_single_clauses_give(engine: type[Engine], case: Case, feature: str) -> None:
    for clause in case.clauses:
        compared = [literal.variable for literal in clause.body if isinstance(literal, Comparison)]
        types = {
            term: name
            for atom in clause.body
            if isinstance(atom, Atom)
            for term, name in zip(atom.args, case.database.schema.types_of(atom.predicate), strict=True)
            if isinstance(term, int) and term not in (*clause.head.args, *compared)
        }
        for each, name in types.items():
            names = [*case.database.population(name).names[::-1], STRANGER]
            constants = tuple((constant, 0.1 + 0.3 * place) for place, constant in enumerate(names))
            weighted = WeightedClause(clause, (0.0, 0.0, 0.0), 0, feature, each, constants)
            expected = np.zeros(len(case.keys))
            for single, true in counts_by_constant(weighted, NaiveEngine(case.database), case.keys):
                expected += single.weights[1] * feature_values(true.astype(np.float64), feature)
            found = contribution_of_constants(weighted, engine(case.database), case.keys)
            assert found.tolist() == expected.tolist(), (clause, each)
            only_links = all(isinstance(literal, Atom) for literal in clause.body)
            is_numeric = name in case.database.schema.numeric
            counts = at_once(weighted, engine(case.database), case.keys)
            assert (counts is None) == (is_numeric or not only_links)
