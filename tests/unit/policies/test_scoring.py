"""Scores of one state in plain Python are those of the engines."""

import os

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from effect_strategies import curves
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.logic import features as kinds
from hornbeam.logic.clauses import AT_LEAST, BELOW, Atom, Comparison, Not
from hornbeam.logic.effects import Effect, Equals, Feature, NumberOf, new_variables_of
from hornbeam.model.clause_model import Model
from hornbeam.model.effects import FittedEffect
from hornbeam.policies.language import WorldLanguage
from hornbeam.policies.scoring import PreparedModel, StateFacts, head_of
from hornbeam.policies.worlds import database_of, schema_of

LANGUAGE = WorldLanguage.of(
    {
        "on": ("block", "block"),
        "clear": ("block",),
        "age": ("block", "number"),
        "colour": ("block", "category"),
        "rainy": (),
    },
    {"above": "on"},
)
HEADS = {"move": ("block", "block"), "wait": ()}
SCHEMA = schema_of(LANGUAGE, HEADS)
names = st.sampled_from("abcd")
facts = st.one_of(
    st.tuples(st.just("on"), names, names),
    st.tuples(st.just("clear"), names),
    st.tuples(st.just("block"), names),
    st.tuples(st.just("age"), names, st.integers(-3, 3).map(lambda number: number / 4)),
    st.tuples(st.just("colour"), names, st.sampled_from(["red", "blue"])),
    st.just(("rainy",)),
)
states = st.lists(facts, min_size=1, max_size=14).map(lambda own: [*own, ("block", "a"), ("block", "b")])


@st.composite
def bodies(draw, head):
    """Well-typed steps from a head, and the type of each variable."""
    types = dict(enumerate(SCHEMA.types_of(head.predicate)))
    body = []
    last = max(types, default=-1)  # also of variables inside a "not", whose types end there
    for _ in range(draw(st.integers(0, 4))):
        form = draw(st.sampled_from(["atom", "atom", "atom", "not", "number", "compare", "equals"]))
        numeric = [each for each, own in types.items() if own in ("#", "age_value")]
        if form == "compare" and numeric:
            operator = draw(st.sampled_from([AT_LEAST, BELOW]))
            value = draw(st.sampled_from([-0.5, 0.0, 0.25, 1.0, 2.0]))
            body.append(Comparison(draw(st.sampled_from(numeric)), operator, value))
            continue
        coloured = [each for each, own in types.items() if own == "colour_value"]
        if form == "equals" and coloured:
            body.append(Equals(draw(st.sampled_from(coloured)), draw(st.sampled_from(["red", "green"]))))
            continue
        predicate = draw(st.sampled_from(sorted(set(SCHEMA.predicates) - set(HEADS))))
        own, fresh, args = SCHEMA.types_of(predicate), last + 1, []
        for type_name in own:
            known = [each for each, other in types.items() if other == type_name]
            if known and draw(st.booleans()):
                args.append(draw(st.sampled_from(known)))
            else:
                args.append(fresh)
                fresh += 1
        if all(arg not in types for arg in args):
            continue
        atom = Atom(predicate, tuple(args))
        last = fresh
        step = {"not": Not(atom), "number": NumberOf(fresh, atom)}.get(form, atom)
        new = new_variables_of(step, set(types))
        types |= {each: "#" if form == "number" else own[args.index(each)] for each in new}
        body.append(step)
    return tuple(body), types


@st.composite
def effects(draw):
    name = draw(st.sampled_from(sorted(HEADS)))
    head = Atom(name, tuple(range(len(SCHEMA.types_of(name)))))
    body, types = draw(bodies(head))
    numeric = [each for each, own in types.items() if own in ("#", "age_value")]
    forms = [Feature(kinds.COUNT), *(Feature(kinds.DISTINCT, each) for each in types if each)]
    of_numbers = (kinds.SUM, kinds.MEAN, kinds.MINIMUM, kinds.MAXIMUM, kinds.SPREAD, kinds.VALUE)
    forms += [Feature(kind, each) for each in numeric for kind in of_numbers]
    if body and not new_variables_of(body[-1], {*range(1000)} - {1000}):
        forms.append(Feature(kinds.SHARE))
    return Effect(head, body, draw(st.sampled_from(forms)), draw(curves()))


@settings(max_examples=int(os.environ.get("HORNBEAM_CASES", "120")))
@given(states, st.lists(effects(), min_size=1, max_size=3))
def test_scores_of_a_state_are_those_of_the_engine(given_facts, drawn):
    name = drawn[0].head.predicate
    own = tuple(FittedEffect(each) for each in drawn if each.head.predicate == name)
    model = Model(name, SCHEMA, 0.5, (), effects=own)
    state = LANGUAGE.state(given_facts)
    database = database_of(LANGUAGE, [state], HEADS)
    pairs = [("a", "b"), ("b", "a"), ("a", "a")] if name == "move" else [()]
    keys = [[f"0:{each}" for each in pair] or ["0"] for pair in pairs]
    codes = database.encode_keys(name, np.array(keys, dtype=object))
    expected = model.scores(MemoryEngine(database), codes)
    prepared, seen = PreparedModel(model), StateFacts(LANGUAGE, state)
    scores = [prepared.score(seen, head_of(HEADS[name], pair)) for pair in pairs]
    assert np.allclose(scores, expected, rtol=1e-12, atol=1e-9 * max(1.0, np.abs(expected).max()))
