"""Models with effects: predictions by the definition, the same after saving, and the same when compact."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effect_strategies import curves, effects_of
from hornbeam.data.database import Codes, Database
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.questions import FeatureRequest
from hornbeam.logic.clauses import Clause, head_atom
from hornbeam.logic.effects import Curve, in_order_of_use, rename_step
from hornbeam.logic.schema import number_of
from hornbeam.model.class_model import ClassModel
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.effects import FittedEffect
from hornbeam.model.explain import explain
from hornbeam.model.files import model_text, parse_model
from hornbeam.model.readable.reasons import EffectReason
from hornbeam.model.training import Training, training_of
from strategies import CASES, TARGET, TIMES, bodies, databases, key_rows, schemas, with_cutoffs

SOME = settings(deadline=None, max_examples=max(CASES // 8, 1))
weights = st.floats(-5, 5)


def _bounded(curve: Curve) -> Curve:
    """The curve with levels between -9 and 9, so that sums of them are exact enough."""
    levels = tuple(max(-9.0, min(9.0, level)) for level in curve.levels)
    return curve._replace(levels=levels, missing=max(-9.0, min(9.0, curve.missing)))


@st.composite
def fitted_effects(draw: st.DrawFn, database: Database) -> FittedEffect:
    effect = draw(effects_of(database))
    bounded = _bounded(effect.curve)
    size = len(bounded.levels) + 1
    errors = st.lists(st.floats(0, 3), min_size=size, max_size=size).map(tuple)
    examples = st.lists(st.integers(0, 10**12), min_size=size, max_size=size).map(tuple)
    return FittedEffect(
        effect._replace(curve=bounded),
        draw(st.floats(0, 10)),
        draw(st.one_of(st.just(()), errors)),
        draw(st.one_of(st.just(()), examples)),
        (bounded.low + bounded.high) / 2 if bounded.slope else None,
    )


@st.composite
def models(draw: st.DrawFn, database: Database) -> Model:
    """A model of up to three effects, some of them twice, and up to two weighted clauses."""
    effects = draw(st.lists(fitted_effects(database), max_size=3))
    if effects and draw(st.booleans()):
        first, curve = effects[0].effect, _bounded(draw(curves()))
        # A date has no slope.
        curve = curve if first.curve.slope else curve._replace(slope=0.0, low=0.0, high=0.0)
        effects.append(FittedEffect(first._replace(curve=curve)))
    head = head_atom(TARGET, database.schema.arity(TARGET))
    clauses = [
        WeightedClause(
            Clause(head, draw(bodies(database, most_literals=2))), (0.5, draw(weights), draw(weights)), 7
        )
        for _ in range(draw(st.integers(0, 2)))
    ]
    training = draw(
        st.one_of(st.none(), st.lists(st.lists(st.text(), max_size=2), max_size=3).map(training_of))
    )
    return Model(
        TARGET, database.schema, draw(weights), tuple(clauses), {"seed": 1}, "rlr", tuple(effects), training
    )


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Database, Codes, Model]:
    database = draw(schemas().flatmap(databases))
    keys = draw(key_rows(database, ()))
    if draw(st.booleans()):
        drawn = draw(st.lists(st.sampled_from(TIMES), min_size=len(keys), max_size=len(keys)))
        keys = with_cutoffs(database, keys, np.array(drawn, dtype=np.float64))
    return database, keys, draw(models(database))


@given(worlds())
@SOME
def test_a_saved_model_has_the_same_bytes_and_predicts_the_same(world) -> None:  # type: ignore[no-untyped-def]
    database, keys, model = world
    text = model_text(model)
    back = parse_model(text, "m.json")
    assert isinstance(back, Model)
    assert model_text(back) == text
    assert (back.effects, back.training) == (model.effects, model.training)
    assert back.predicates() == model.predicates()
    engine = MemoryEngine(database)
    assert back.probabilities(engine, keys).tobytes() == model.probabilities(engine, keys).tobytes()


@given(worlds())
@SOME
def test_an_effect_adds_the_level_of_its_value(world) -> None:  # type: ignore[no-untyped-def]
    database, keys, model = world
    engine = MemoryEngine(database)
    added = list(model.contributions(engine, keys))[len(model.clauses) :]
    for fitted, column in zip(model.effects, added, strict=True):
        head, body, feature, curve = fitted.effect
        (values,) = engine.features([FeatureRequest(head, body, feature)], keys)
        for value, level in zip(values, column, strict=True):
            if np.isnan(value):
                assert level == curve.missing
            else:
                place = sum(value >= number_of(cut) for cut in curve.cuts)
                assert level == pytest.approx(curve.levels[place] + curve.risen(value), abs=1e-9)
    total = model.prior + sum(model.contributions(engine, keys))
    assert np.allclose(model.scores(engine, keys), total, rtol=0, atol=1e-9)


@given(worlds())
@SOME
def test_a_compact_model_predicts_the_same(world) -> None:  # type: ignore[no-untyped-def]
    database, keys, model = world
    engine = MemoryEngine(database)
    compact = model.compact()
    parts = [(*each.effect[:3], *each.effect.curve[4:]) for each in compact.effects]
    assert len(set(parts)) == len(parts)
    assert model_text(parse_model(model_text(compact))) == model_text(compact)
    assert np.allclose(compact.scores(engine, keys), model.scores(engine, keys), rtol=0, atol=1e-9)


@given(worlds(), st.integers(1, 9))
@SOME
def test_the_numbers_of_variables_do_not_matter(world, more) -> None:  # type: ignore[no-untyped-def]
    database, keys, model = world
    arity = database.schema.arity(TARGET)
    renamed = []
    for fitted in model.effects:
        effect = fitted.effect
        names = {variable: variable * more + 3 for variable in range(arity, 60)}
        variable = effect.feature.variable
        other = effect._replace(
            body=tuple(rename_step(step, names) for step in effect.body),
            feature=effect.feature._replace(variable=names.get(variable, variable)),
        )
        assert in_order_of_use(other) == effect
        renamed.append(replace(fitted, effect=other))
    other_model = replace(model, effects=tuple(renamed))
    assert model_text(other_model) == model_text(model)
    engine = MemoryEngine(database)
    assert other_model.scores(engine, keys).tobytes() == model.scores(engine, keys).tobytes()


@given(worlds())
@SOME
def test_models_of_classes_with_effects_come_back(world) -> None:  # type: ignore[no-untyped-def]
    database, keys, model = world
    other = replace(model, prior=model.prior + 1, effects=model.effects[:1], training=Training(0, "0" * 32))
    classes = ClassModel(TARGET, database.schema, ("a", "b", "c"), (model, other, model), {"seed": 1})
    text = model_text(classes)
    back = parse_model(text)
    assert model_text(back) == text
    engine = MemoryEngine(database)
    assert back.probabilities(engine, keys).tobytes() == classes.probabilities(engine, keys).tobytes()


@given(worlds())
@SOME
def test_reasons_add_up_and_hold_the_rows_that_made_a_value(world) -> None:  # type: ignore[no-untyped-def]
    database, keys, model = world
    engine = MemoryEngine(database)
    for key in keys[:2]:
        names = ["it"] * database.schema.arity(TARGET)
        explanation = explain(model, engine, key, names, shown=10**6)
        added = explanation.prior + sum(reason.contribution for reason in explanation.reasons)
        assert np.isclose(added, explanation.log_odds, rtol=0, atol=1e-9)
        assert str(explanation)
        for reason in explanation.reasons:
            if not isinstance(reason, EffectReason):
                continue
            assert reason.variables == () or len(reason.groundings) <= reason.n_groundings
            if reason.effect.feature.kind == "count":
                assert reason.n_groundings == reason.value
            if reason.value is None:
                assert reason.contribution == reason.effect.curve.missing
