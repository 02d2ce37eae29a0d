"""An exported query gives the probabilities of a model with effects, on random worlds and random curves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from effect_bodies import TallyCase, tally_cases
from hornbeam.data.database import Codes, Database
from hornbeam.data.numbers import AT_CUTOFF, BEFORE, CutoffRule, Floats, TimeColumn
from hornbeam.engines.naive import NaiveEngine
from hornbeam.engines.questions import FeatureRequest
from hornbeam.errors import OptionError
from hornbeam.logic import features as kinds
from hornbeam.logic.clauses import Atom
from hornbeam.logic.effects import Body, Curve, Effect, Feature, feature_misfit, new_variables_of
from hornbeam.logic.schema import DATE, NUMBER, number_of, value_of
from hornbeam.model.class_model import ClassModel, learned_together
from hornbeam.model.clause_model import Model
from hornbeam.model.effects import FittedEffect
from hornbeam.model.scales import SOFTMAX
from sql_systems import SYSTEMS, Rows, opened
from strategies import CASES, TARGET, with_cutoffs
from tables_of_worlds import EARLIEST, with_dates_for_times

NOBODY = "nobody"
"""the name of a key that the data do not know. No constant has it: SQL compares names, whoever bears them"""

TYPES = {
    "duckdb": {None: "TEXT", NUMBER: "DOUBLE", DATE: "TIMESTAMP"},
    "postgres": {None: "TEXT", NUMBER: "DOUBLE PRECISION", DATE: "TIMESTAMP"},
    "sqlite": {None: "TEXT", NUMBER: "REAL", DATE: "TEXT"},
}
EVERY_SYSTEM = [system for system in (*SYSTEMS, "sqlite") if system in TYPES]
LEVELS = (-1.5, -0.3, 0.0, 0.25, 0.7, 1.1)


@st.composite
def features(draw: st.DrawFn, database: Database, head: Atom, body: Body) -> Feature:
    """A feature that fits a body: of a variable that a step binds, or of none."""
    known = set(head.args)
    bound = [*known]
    for step in body:
        bound += new_variables_of(step, {*bound})
    kind = draw(st.sampled_from(list(kinds.KINDS)))
    if kind not in kinds.OF_VARIABLES:
        return Feature(kind)
    fitting = [
        feature
        for variable in sorted(map(int, set(bound)))
        if feature_misfit(database.schema, head, body, feature := Feature(kind, variable)) is None
    ]
    return draw(st.sampled_from(fitting)) if fitting else Feature(kinds.COUNT)


@st.composite
def curves(draw: st.DrawFn, values: Floats) -> Curve:
    """A curve some of whose cuts are values of the examples."""
    known = sorted({*values[np.isfinite(values)].tolist(), 1.0, 2.5})
    cuts = sorted(draw(st.lists(st.sampled_from(known), max_size=4, unique=True)))
    levels = draw(st.lists(st.sampled_from(LEVELS), min_size=len(cuts) + 1, max_size=len(cuts) + 1))
    curve = Curve(tuple(cuts), tuple(levels), draw(st.sampled_from(LEVELS)))
    if draw(st.booleans()) or len(known) < 2 or max(map(abs, known)) > 1e6:
        return curve
    low, high = sorted(draw(st.lists(st.sampled_from(known), min_size=2, max_size=2, unique=True)))
    return curve._replace(slope=draw(st.sampled_from([0.25, -0.5])), low=low, high=high)


@pytest.mark.parametrize("system", EVERY_SYSTEM)
@given(case=tally_cases(), at_cutoff=st.sampled_from(AT_CUTOFF), data=st.data())
@settings(max_examples=max(CASES // 10, 1))
def test_the_query_gives_the_models_probabilities(
    system: str, case: TallyCase, at_cutoff: str, data: st.DataObject
) -> None:
    assume(_is_in_tables(case.database))
    database, keys = _under(case, at_cutoff)
    head = case.requests[0].head
    kind = str(database.origin.get("times", NUMBER))
    engine = NaiveEngine(database)
    fitted = []
    for request in case.requests:
        feature = data.draw(features(database, head, request.body))
        assume(feature.kind != kinds.MONTH or kind == DATE)
        (values,) = engine.features([FeatureRequest(head, request.body, feature)], keys)
        assert isinstance(values, np.ndarray)
        fitted.append(FittedEffect(Effect(head, request.body, feature, data.draw(curves(values)))))
    options = {"times": kind, "at_cutoff": at_cutoff} if database.times else {}
    learned = Model(TARGET, database.schema, 0.3, (), options, effects=tuple(fitted))
    keyed = _keyed(database) if data.draw(st.booleans()) else {}
    rows = _rows(system, learned, database, keys, keyed)
    if rows is None:
        return
    for row, chance in zip(rows, learned.probabilities(engine, keys).tolist(), strict=True):
        assert float(str(row[-1])) == pytest.approx(chance, abs=1e-9)


@pytest.mark.parametrize("system", EVERY_SYSTEM)
@given(case=tally_cases(), data=st.data())
@settings(max_examples=max(CASES // 20, 1))
def test_the_query_gives_the_probabilities_of_classes(
    system: str, case: TallyCase, data: st.DataObject
) -> None:
    assume(_is_in_tables(case.database))
    database, keys = _under(case, BEFORE)
    head, engine = case.requests[0].head, NaiveEngine(database)
    kind = str(database.origin.get("times", NUMBER))
    own: list[list[FittedEffect]] = [[], [], []]
    for request in case.requests:
        feature = data.draw(features(database, head, request.body))
        if feature.kind == kinds.MONTH and kind != DATE:
            continue
        (values,) = engine.features([FeatureRequest(head, request.body, feature)], keys)
        assert isinstance(values, np.ndarray)
        first = data.draw(curves(values))._replace(slope=0.0, low=0.0, high=0.0)  # classes learn steps
        levels = st.lists(st.sampled_from(LEVELS), min_size=len(first.levels), max_size=len(first.levels))
        for place, effects in enumerate(own):
            curve = first if not place else Curve(first.cuts, tuple(data.draw(levels)), 0.5 * place)
            effects.append(FittedEffect(Effect(head, request.body, feature, curve)))
    options = {"times": kind, "at_cutoff": BEFORE} if database.times else {}
    members = [
        Model(TARGET, database.schema, 0.1 * place, (), options, effects=tuple(effects), loss=SOFTMAX)
        for place, effects in enumerate(own)
    ]
    learned = learned_together(("a", "b", "c"), members)
    rows = _rows(system, learned, database, keys, {})
    if rows is None:
        return
    for row, chances in zip(rows, learned.probabilities(engine, keys).tolist(), strict=True):
        assert [float(str(value)) for value in row[-3:]] == pytest.approx(chances, abs=1e-9)


def _rows(
    system: str, learned: Model | ClassModel, database: Database, keys: Codes, keyed: dict[str, str]
) -> list[tuple[object, ...]] | None:
    """What the query of a model gives for each key, in their order; None if SQLite cannot say it."""
    cutoffs = database.real_cutoffs_of(TARGET, keys)
    examples = _names(database, keys)
    try:
        query = learned.sql(system, *_places(database, cutoffs is not None, keyed))
    except OptionError as error:
        assert system == "sqlite" and "SQLite has no type for times" in str(error)
        return None
    with opened(system) as run:
        _make_tables(run, system, database, examples, cutoffs, keyed)
        rows = run(query)
    arity = database.schema.arity(TARGET)
    found = {
        (tuple(map(str, row[:arity])), None if cutoffs is None else _time(row[arity])): row for row in rows
    }
    ends = [None] * len(keys) if cutoffs is None else cutoffs.tolist()
    assert len(rows) == len(keys)
    return [found[key] for key in zip(examples, ends, strict=True)]


def _names(database: Database, keys: Codes) -> list[tuple[str, ...]]:
    """The keys of the examples by name."""
    types = database.schema.types_of(TARGET)
    columns = [
        [[*database.population(name).names, NOBODY][code] for code in codes.tolist()]
        for name, codes in zip(types, keys.T, strict=False)
    ]
    return list(zip(*columns, strict=True))


def _time(cutoff: object) -> float:
    """A cut-off in a row as a number; infinity stands for none."""
    if cutoff is None:
        return np.inf
    return number_of(cutoff) if isinstance(cutoff, datetime) else float(str(cutoff))


def _is_in_tables(database: Database) -> bool:
    """In tables a number is its value, whatever its text, and empty text is missing."""
    schema = database.schema
    is_key = any(name in schema.numeric for name in schema.types_of(TARGET))
    names = [name for each in database.populations.values() for name in each.names]
    return (
        not is_key
        and "" not in names
        and all(len(np.unique(each)) == len(each) for each in database.numbers.values())
    )


def _under(case: TallyCase, at_cutoff: str) -> tuple[Database, Codes]:
    """The data under a rule of cut-offs, in which no date and no cut-off is minus infinity."""
    cutoffs = case.database.real_cutoffs_of(TARGET, case.keys)
    database = with_dates_for_times(case.database)
    database = database.under_rule(CutoffRule(at_cutoff))
    if cutoffs is None:
        return database, case.keys
    cutoffs = np.where(cutoffs == -np.inf, EARLIEST, cutoffs)
    if database.origin.get("times") == DATE:
        cutoffs = np.round(cutoffs)
    plain = case.keys[:, : database.schema.arity(TARGET)]
    return database, with_cutoffs(database, plain, cutoffs)


def _keyed(database: Database) -> dict[str, str]:
    """The table of each predicate that can be a column of a table with a row for each thing."""
    schema = database.schema
    tables = {}
    for predicate, types in schema.predicates.items():
        relation = database.relations.get(predicate)
        things = [] if relation is None else relation.columns[0].tolist()
        if len(types) <= 2 and types[0] not in schema.numeric and len(set(things)) == len(things):
            tables[predicate] = f"all_{types[0]}"
    return tables


def _places(database: Database, cutoffs: bool, keyed: dict[str, str]) -> tuple[dict, tuple]:
    tables: dict[str, tuple] = {}
    for predicate, types in database.schema.predicates.items():
        is_timed = predicate in database.times
        if predicate not in keyed:
            columns = [f"c{n}" for n in range(len(types))]
            tables[predicate] = (f"t_{predicate}", columns, None, "day" if is_timed else None)
            continue
        columns = ["thing", predicate][: len(types)]
        time = (TimeColumn(f"day_{predicate}"),) if is_timed else None
        flag = predicate if len(types) == 1 else None
        tables[predicate] = (keyed[predicate], columns, flag, time, [], ["thing"])
    keys = [f"key{n}" for n in range(database.schema.arity(TARGET))]
    return tables, ("asked", keys, None, "upto" if cutoffs else None)


def _text(time: float, kind: str) -> str | None:
    if time == np.inf:
        return None
    return str(value_of(time, kind)) if np.isfinite(time) else "-inf"


def _make_tables(
    run: Callable[[str], Rows],
    system: str,
    database: Database,
    examples: list[tuple[str, ...]],
    cutoffs: Floats | None,
    keyed: dict[str, str],
) -> None:
    schema, types = database.schema, TYPES[system]
    kind = str(database.origin.get("times", NUMBER))
    for table in sorted(set(keyed.values())):
        _make_things(run, system, database, table, [name for name in keyed if keyed[name] == table])
    for predicate, names in schema.predicates.items():
        if predicate in keyed:
            continue
        relation = database.relations.get(predicate)
        columns = [] if relation is None else relation.columns
        values = [
            database.population(name).decode(codes) for name, codes in zip(names, columns, strict=False)
        ]
        rows = [tuple(map(str, row)) for row in zip(*values, strict=True)]
        declared = [f"c{n} {types[schema.numeric.get(name)]}" for n, name in enumerate(names)]
        if predicate in database.times:
            declared.append(f"day {types[kind]}")
            times = [_text(time, kind) for time in database.times[predicate].tolist()]
            rows = [(*row, time) for row, time in zip(rows, times, strict=True)]
        # A row that is there twice is one fact.
        _make(run, f"t_{predicate}", declared, [*rows, *rows[:1]])
    declared = [f"key{n} TEXT" for n in range(schema.arity(TARGET))]
    if cutoffs is not None:
        declared.append(f"upto {types[kind]}")
        texts = [_text(cutoff, kind) for cutoff in cutoffs.tolist()]
        _make(run, "asked", declared, [(*key, text) for key, text in zip(examples, texts, strict=True)])
    else:
        _make(run, "asked", declared, examples)


def _make_things(
    run: Callable[[str], Rows], system: str, database: Database, table: str, predicates: list[str]
) -> None:
    """A table with a row for each thing of a type, and a column for each of some predicates."""
    schema, types = database.schema, TYPES[system]
    kind = str(database.origin.get("times", NUMBER))
    things = database.population(schema.types_of(predicates[0])[0]).names
    rows: list[list[str | None]] = [[name] for name in things]
    declared = ["thing TEXT"]
    for predicate in predicates:
        own = schema.types_of(predicate)
        relation = database.relations.get(predicate)
        codes = [] if relation is None else relation.columns[0].tolist()
        values: list[str] = ["1"] * len(codes)
        if len(own) == 2 and relation is not None:
            values = list(map(str, database.population(own[1]).decode(relation.columns[1])))
        found = dict(zip(codes, values, strict=True))
        declared.append(f"{predicate} {types[schema.numeric.get(own[1])] if len(own) == 2 else 'INTEGER'}")
        for code, row in enumerate(rows):
            row.append(found.get(code))
        if predicate in database.times:
            times = dict(zip(codes, database.times[predicate].tolist(), strict=True))
            declared.append(f"day_{predicate} {types[kind]}")
            for code, row in enumerate(rows):
                row.append(_text(times[code], kind) if code in times else None)
    _make(run, table, declared, [tuple(row) for row in rows])


def _make(run: Callable[[str], Rows], name: str, declared: list[str], rows: list[tuple]) -> None:
    run(f"CREATE TEMPORARY TABLE {name} ({', '.join(declared)})")
    if rows:
        values = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)
        run(f"INSERT INTO {name} VALUES {values}")


def _literal(value: str | None) -> str:
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'"
