"""Cut-off times: what lies at or after an example's cut-off does not exist for it, in every engine."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from every_engine import BUDGETS, both_counters, check_counts, check_sums, counter_in_memory, true_counts
from hornbeam.data.database import Codes, Database, Relation
from hornbeam.data.numbers import AT_CUTOFF, INCLUDE, CutoffRule
from hornbeam.engines.clauses.contract import Counts
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from strategies import CASES, TARGET, TIMES, Case, other_futures, timed_cases, with_cutoffs


def plain(case: Case) -> Codes:
    """The keys without cut-offs."""
    return case.keys[:, : case.database.schema.arity(TARGET)]


def before(database: Database, cutoff: float) -> Database:
    """The database without the facts that do not exist at a cut-off, and without times."""
    relations = dict(database.relations)
    for predicate, times in database.times.items():
        columns = relations[predicate].columns
        if cutoff == np.inf:
            exists = np.full(len(times), True)
        elif database.rule.at_cutoff == INCLUDE:
            exists = times <= cutoff
        else:
            # A fact at minus infinity has always existed.
            exists = (times < cutoff) | (times == -np.inf)
        relations[predicate] = Relation(tuple(column[exists] for column in columns))
    return replace(database, relations=relations, times={})


@counter_in_memory
@given(case=timed_cases())
@settings(max_examples=CASES)
def test_an_engine_counts_what_the_definition_counts(engine: type[Engine], case: Case) -> None:
    check_counts(engine, case)


def under_rule(case: Case, rule: CutoffRule) -> Case:
    """The case with its cut-offs read under another rule."""
    assert case.cutoffs is not None
    database = case.database.under_rule(rule)
    return replace(case, database=database, keys=with_cutoffs(database, plain(case), case.cutoffs))


@both_counters
@given(case=timed_cases(), at_cutoff=st.sampled_from(AT_CUTOFF))
def test_facts_exist_before_the_cut_off(engine: type[Engine], case: Case, at_cutoff: str) -> None:
    """Each key is counted as if the facts that are not before its cut-off did not exist."""
    case = under_rule(case, CutoffRule(at_cutoff))
    assert case.cutoffs is not None
    for clause in case.clauses:
        found = true_counts(engine(case.database), clause, case.keys)
        for place, cutoff in enumerate(case.cutoffs.tolist()):
            earlier = before(case.database, cutoff)
            (alone,) = true_counts(engine(earlier), clause, plain(case)[place : place + 1])
            assert found[place] == alone
            assert counter_of(engine(earlier)).total(clause) == counter_of(engine(case.database)).total(
                clause
            )


@both_counters
@given(case=timed_cases(), as_of=st.sampled_from((*TIMES, 0.0, 2.7)), at_cutoff=st.sampled_from(AT_CUTOFF))
def test_frozen_data_are_those_before_a_date(
    engine: type[Engine], case: Case, as_of: float, at_cutoff: str
) -> None:
    """The frozen protocol: a cut-off after the date is the date, and examples without one have it too."""
    frozen = under_rule(case, CutoffRule(at_cutoff, as_of))
    assert case.cutoffs is not None
    earlier = replace(case, cutoffs=np.minimum(case.cutoffs, as_of))
    rolling = under_rule(earlier, CutoffRule(at_cutoff))
    for clause in case.clauses:
        counts = true_counts(engine(frozen.database), clause, frozen.keys)
        assert counts == true_counts(engine(rolling.database), clause, rolling.keys)


@both_counters
@given(case=timed_cases(), at_cutoff=st.sampled_from(AT_CUTOFF), data=st.data())
def test_no_fact_at_or_after_the_cut_off_changes_a_count(
    engine: type[Engine], case: Case, at_cutoff: str, data: st.DataObject
) -> None:
    case = under_rule(case, CutoffRule(at_cutoff))
    assert case.cutoffs is not None
    last = data.draw(st.sampled_from(sorted({*case.cutoffs.tolist()}) or [0.0]))
    earlier = case.cutoffs <= last
    changed = data.draw(other_futures(case.database, last))
    keys = with_cutoffs(changed, plain(case)[earlier], case.cutoffs[earlier])
    for clause in case.clauses:
        expected = true_counts(engine(case.database), clause, case.keys[earlier])
        assert true_counts(engine(changed), clause, keys) == expected


@both_counters
@given(case=timed_cases())
def test_without_times_or_without_an_end_cut_offs_change_nothing(engine: type[Engine], case: Case) -> None:
    endless = with_cutoffs(case.database, plain(case), np.full(len(case.keys), np.inf))
    timeless = replace(case.database, times={})
    for clause in case.clauses:
        expected = true_counts(engine(case.database), clause, plain(case))
        assert true_counts(engine(case.database), clause, endless) == expected
        assert true_counts(engine(timeless), clause, case.keys) == expected


@given(case=timed_cases(), budget=st.sampled_from(BUDGETS))
@settings(max_examples=max(CASES // 2, 1))
def test_a_small_budget_skips_or_counts_but_never_miscounts(case: Case, budget: int) -> None:
    expected = counter_of(NaiveEngine(case.database)).count(case.clauses, case.keys)
    together = counter_of(MemoryEngine(case.database, budget)).count(case.clauses, case.keys)
    used = MemoryEngine(case.database, budget)
    backwards = [counter_of(used).count([clause], case.keys)[0] for clause in reversed(case.clauses)][::-1]
    for clause, right, one, other in zip(case.clauses, expected, together, backwards, strict=True):
        if isinstance(one, Skipped):
            assert one.clause == clause and one.estimate > one.budget
            assert one == other
        else:
            assert isinstance(other, Counts)
            assert one.true.tolist() == other.true.tolist() == right.true.tolist(), clause


@both_counters
@given(case=timed_cases(), gradients=st.lists(st.integers(-(2**30), 2**30), min_size=12, max_size=12))
def test_a_session_sums_what_exists_at_the_cut_offs(
    engine: type[Engine], case: Case, gradients: list[int]
) -> None:
    check_sums(engine, case, gradients)
