"""Effects as text and in English: what is printed reads back, and every effect has a sentence."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from effect_strategies import curves, effects_of, finite
from hornbeam.errors import HornbeamError
from hornbeam.logic import features as kinds
from hornbeam.logic.clauses import Atom, Comparison, Not, head_atom
from hornbeam.logic.effects import Effect, Equals, Feature, NumberOf, Recent, body_text, new_variables_of
from hornbeam.logic.english.clauses import text_of
from hornbeam.logic.english.curves import curve_rows, curve_table
from hornbeam.logic.english.effects import effect_sentence
from hornbeam.logic.english.phrases import feature_pieces
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.parse_effect import parse_effect, parse_feature
from strategies import CASES, databases, schemas

SOME = settings(deadline=None, max_examples=max(CASES // 8, 1))
words = st.one_of(
    st.text(min_size=1, max_size=6),
    st.sampled_from(
        ["last", "within", "number", "of", "not", "true", "missing", "else", "count", "a;b", "[x]"]
    ),
)
names = words.map(str.lower).filter(bool)
"""Names of predicates ignore case and print in lower case."""


@st.composite
def nasty_effects(draw: st.DrawFn) -> Effect:
    """Effects whose names are any text; variables are numbered by first use."""
    arity = draw(st.integers(1, 2))
    head = head_atom(draw(names), arity)
    known, used, body = set(range(arity)), arity, []
    for _ in range(draw(st.integers(0, 4))):
        form = draw(st.sampled_from(("atom", "not", "recent", "number", "compare", "equals")))
        if form == "compare":
            value = draw(st.one_of(finite.map(lambda number: number + 0.0), st.datetimes()))
            operator = draw(st.sampled_from((">=", "<")))
            body.append(Comparison(draw(st.sampled_from(sorted(known))), operator, value))
            continue
        if form == "equals":
            body.append(Equals(draw(st.sampled_from(sorted(known))), draw(words)))
            continue
        number = used
        used += form == "number"
        args = []
        for _ in range(draw(st.integers(1, 3))):
            term = draw(st.one_of(st.sampled_from([*sorted(known), used]), words))
            used += term == used
            args.append(term)
        atom = Atom(draw(names), tuple(args))
        last = draw(st.one_of(st.none(), st.integers(1, 100)))
        within = draw(st.one_of(st.none(), st.floats(0, 1e9, exclude_min=True)))
        step = {
            "atom": atom,
            "not": Not(atom),
            "recent": Recent(atom, last, within) if last or within else atom,
            "number": NumberOf(number, atom),
        }[form]
        known |= set(new_variables_of(step, known))
        body.append(step)
    offered = [Feature(kind, variable) for kind in kinds.OF_VARIABLES for variable in sorted(known)]
    offered += [Feature(kind) for kind in (kinds.COUNT, kinds.MONTH, *kinds.OF_TIMES)]
    offered += [Feature(kinds.SHARE)] if body else []
    return Effect(head, tuple(body), draw(st.sampled_from(offered)), draw(curves(draw(st.booleans()))))


@given(nasty_effects())
@SOME
def test_the_text_of_an_effect_reads_back(effect: Effect) -> None:
    back = parse_effect(str(effect))
    assert str(back) == str(effect)
    assert back[:3] == effect[:3]
    assert back.curve.cuts == effect.curve.cuts
    assert parse_feature(str(effect.feature), body_text(effect.head, effect.body)) == effect[:3]


@given(nasty_effects(), st.data())
@SOME
def test_damaged_text_is_read_or_refused_with_its_place(effect: Effect, data: st.DataObject) -> None:
    text = str(effect)
    at = data.draw(st.integers(0, len(text)))
    insert = data.draw(st.sampled_from(["", "[", "]", ";", ":", "<", "(", "'", " last ", "A", " else", "9"]))
    damaged = text[:at] + insert + text[at + data.draw(st.integers(0, 3)) :]
    try:
        back = parse_effect(damaged)
    except HornbeamError as error:
        assert str(error).startswith("effect:"), error
    else:
        assert str(parse_effect(str(back))) == str(back)


@given(st.data())
@SOME
def test_an_effect_of_a_schema_reads_back_and_has_a_sentence(data: st.DataObject) -> None:
    database = data.draw(schemas().flatmap(databases))
    effect = data.draw(effects_of(database))
    assert str(parse_effect(str(effect), database.schema)) == str(effect)
    sentence = text_of(effect_sentence(effect, database.schema, dated=data.draw(st.booleans())))
    assert sentence.endswith(".")
    assert "  " not in sentence.replace(str(effect.head), "")
    phrase = text_of(feature_pieces(effect, database.schema))
    if not phrase.startswith("whether "):
        assert phrase in text_of(effect_sentence(effect, database.schema))


@given(curves(), st.sampled_from(["count", "mean"]), finite)
@SOME
def test_every_value_is_in_one_row_of_the_table(curve, kind, value) -> None:  # type: ignore[no-untyped-def]
    feature = Feature(kind, None if kind == "count" else 1)
    rows = curve_rows(curve, feature)
    assert [(row.level, row.level if row.end is None else row.end) for row in rows[: len(curve.levels)]] == [
        *curve.ends
    ]
    assert len(curve_table(curve, feature).splitlines()) == len(rows)
    assert all(row.odds == math.exp(min(row.level, 709.0)) for row in rows)


def test_words_of_the_language_are_names_where_a_parenthesis_follows() -> None:
    text = "count [else: 1] : within(A) :- last(A,B), last 3 last(B,C), within 2 within(C), number(C)."
    effect = parse_effect(text)
    assert str(effect) == text
    assert effect.body[1] == Recent(Atom("last", (1, 2)), 3)


def test_a_body_without_steps_of_its_own_reads_as_a_clause() -> None:
    text = "bad(A) :- orders(A,B), not paid(B), amount(B,C), C >= 5."
    assert parse_effect(f"count [else: 0] : {text}").body == parse_clause(text).body
