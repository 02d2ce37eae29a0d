"""Model files: equal models are equal files, every bit comes back, and damage is one sentence."""

import json
import math
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.errors import DataError, ModelError
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema
from hornbeam.model import files as model_json
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.files import (
    FORMAT_VERSION,
    ModelKind,
    load_model,
    model_text,
    parse_model,
    register_kind,
    save_model,
)

SCHEMA = Schema({"friends": ("person", "person"), "likes": ("person", "thing"), "cancer": ("person",)})
MODEL = Model(
    "cancer",
    SCHEMA,
    -0.1,
    (
        WeightedClause(
            parse_clause("cancer(A) :- friends(A,B), not likes(B,'It\\'s Ü').", SCHEMA), (0.1, 2e-17, -1.5), 3
        ),
        WeightedClause(parse_clause("cancer(A) :- friends(A,A).", SCHEMA), (1 / 3, 0.0, 5e199), 10**30),
    ),
    {"l2": 10.0, "seed": 0, "neg_pos_ratio": None, "stop": "best"},
)


def test_a_saved_model_is_the_same_model(tmp_path):
    save_model(MODEL, tmp_path / "m.json")
    assert load_model(tmp_path / "m.json") == MODEL


def test_the_layout_is_fixed():
    small = Model("t", Schema({"t": ("x",)}), 0.5, (), {"seed": 1, "l2": 2.0})
    assert model_text(small) == (
        '{\n  "clauses": [],\n  "format_version": 1,\n  "learner": "rlr",\n  "prior": 0.5,\n'
        '  "schema": {\n    "t": ["x"]\n  },\n  "settings": {\n    "l2": 2.0,\n    "seed": 1\n  },\n'
        '  "target": "t"\n}\n'
    )


def test_equal_models_are_equal_files_whatever_the_order_of_their_fields():
    schema = Schema(dict(reversed(SCHEMA.predicates.items())))
    other = Model("cancer", schema, -0.1, MODEL.clauses, dict(reversed(MODEL.settings.items())))
    assert model_text(other) == model_text(MODEL)


@given(st.tuples(*[st.floats(-1e200, 1e200) for _ in range(3)]), st.integers(0, 10**40))
@settings(deadline=None)
def test_every_bit_of_the_weights_comes_back(weights, total):
    clause = parse_clause("cancer(A) :- friends(A,B).", SCHEMA)
    text = model_text(Model("cancer", SCHEMA, weights[0], (WeightedClause(clause, weights, total),)))
    (back,) = parse_model(text).clauses
    assert [w.hex() for w in back.weights] == [w.hex() for w in weights]
    assert back.total == total
    assert model_text(parse_model(text)) == text


@given(st.text(min_size=1))
@settings(deadline=None)
def test_any_constant_comes_back(name):
    clause = parse_clause("cancer(A) :- likes(A,x).", SCHEMA)
    atom = clause.body[0]._replace(args=(0, name))
    model = Model("cancer", SCHEMA, 0.0, (WeightedClause(clause._replace(body=(atom,)), (0.0, 1.0, 0.0), 1),))
    assert parse_model(model_text(model)) == model


def damaged(**changes):
    document = json.loads(model_text(MODEL))
    for name, value in changes.items():
        if value is ...:
            del document[name]
        else:
            document[name] = value
    return json.dumps(document)


def clause(**changes):
    return [{"clause": "cancer(A) :- friends(A,B).", "total": 3, "weights": [0, 1, 0]} | changes]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "m.json:1:1: this is not a Hornbeam model: not JSON (Expecting value)."),
        (model_text(MODEL)[:-40], "the model file is damaged: not JSON"),
        ("[" * 100_000, "the model file is damaged: not usable JSON."),
        ("[1]", "m.json: this is not a Hornbeam model: not a JSON object."),
        ("{}", "m.json: this is not a Hornbeam model: it has no format_version."),
        (damaged(format_version=FORMAT_VERSION + 1), "m.json: the model has format version 2,"
         " but this Hornbeam reads version 1: install the Hornbeam that wrote it, or fit again."),
        (damaged(format_version="1"), "\"format_version\" must be a whole number of at least 0, found '1'."),
        (damaged(learner="oracle"), 'm.json: unknown learner "oracle"; known learners are: '),
        (damaged(target=...), 'm.json: field "target" is missing; the file is damaged.'),
        (damaged(target="smokes"), "\"target\" must be a predicate of the schema, found 'smokes'."),
        (damaged(prior=...), 'field "prior" is missing; the file is damaged.'),
        (damaged(prior="0"), "\"prior\" must be a finite number, found '0'."),
        (damaged(prior=math.nan), "m.json: the model file is damaged: NaN is not a finite number."),
        (damaged(prior=True), '"prior" must be a finite number, found True.'),
        (damaged(schema=[]), '"schema" must be a JSON object, found [].'),
        (damaged(schema={"cancer": "person"}), '"schema" must be a list of type names for each predicate'),
        (damaged(settings=None), '"settings" must be a JSON object, found None.'),
        (damaged(clauses={}), '"clauses" must be a list, found {}.'),
        (damaged(clauses=["cancer(A)."]), "\"clauses\" must be a list of JSON objects, found 'cancer(A).'."),
        (damaged(clauses=clause(weights=[0, 1])), '"weights" of clause 1 must be three numbers'),
        (damaged(clauses=clause(weights=[0, 1, None])), '"weights" of clause 1 must be a finite number'),
        (damaged(clauses=clause(weights=[0, 1, 10**400])), '"weights" of clause 1 must be a finite number'),
        (damaged(clauses=clause(total=-1)), '"total" of clause 1 must be a whole number'),
        (damaged(clauses=clause(total=1.5)), '"total" of clause 1 must be a whole number'),
        (damaged(clauses=clause(wieghts=1)), 'unknown field "wieghts" of clause 1; remove it.'),
        (damaged(clauses=clause(clause="cancer(A) :- ")), '"clause" of clause 1 must be a clause of'),
        (damaged(clauses=clause(clause="cancer(A) :- foes(A,B).")), 'no predicate "foes"'),
        (damaged(clauses=clause(clause="friends(A,B) :- cancer(A).")), 'must be a clause with head "cancer"'),
        (damaged(comment="mine"), 'm.json: unknown field "comment"; remove it.'),
    ],
)  # fmt: skip
def test_damage_is_one_sentence(tmp_path, text, sentence):
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(ModelError) as caught:
        load_model(tmp_path / "m.json")
    message = str(caught.value).replace(str(tmp_path) + "/", "")
    assert sentence in message
    assert "\n" not in message


PAIR = "cancer(A) :- friends(A,B), cancer(B)."


@pytest.mark.parametrize(
    ("false_counts", "changes"),
    [
        ("population", {"clause": PAIR}),
        ("guarded", {}),
        ("guarded", {"clause": "cancer(A) :- friends(A,B), friends(B,C)."}),
        ("guarded", {"clause": PAIR, "each": 1, "constants": {"ann": 1.0}}),
    ],
    ids=["of the population", "no guard", "a new variable", "of constants"],
)
def test_a_share_of_no_guard_is_refused(false_counts, changes):
    text = damaged(clauses=clause(feature="share", **changes), settings={"false_counts": false_counts})
    with pytest.raises(ModelError) as caught:
        parse_model(text, "m.json")
    assert str(caught.value) == (
        'm.json: "feature" of clause 1 must be another feature, because a share needs false_counts '
        '"guarded" in the settings and a body of two or more literals, where the last literal '
        "introduces no variable, found 'share'."
    )


def test_a_share_of_a_guard_is_read():
    text = damaged(clauses=clause(feature="share", clause=PAIR), settings={"false_counts": "guarded"})
    (weighted,) = parse_model(text).clauses
    assert weighted.feature == "share"


def test_infinite_weights_in_any_spelling_are_refused():
    text = model_text(MODEL).replace("5e+199", "1e999")
    assert "1e999" in text
    with pytest.raises(ModelError, match='"weights" of clause 2 must be a finite number, found inf'):
        parse_model(text)


def test_files_that_cannot_be_read_are_one_sentence(tmp_path):
    with pytest.raises(ModelError, match=r"none\.json: no such model file\."):
        load_model(tmp_path / "none.json")
    with pytest.raises(ModelError, match=r"the model file cannot be read \(Is a directory\)\."):
        load_model(tmp_path)
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelError, match=r"it is not UTF-8 text\."):
        load_model(tmp_path / "binary.json")


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(DataError, match=r"no/m\.json: cannot be written"):
        save_model(MODEL, tmp_path / "no" / "m.json")


@dataclass(frozen=True)
class BaseRate:
    """The simplest model of another learner: one number."""

    target: str
    schema: Schema
    settings: dict[str, object]
    rate: float
    learner: str = "base-rate"


def test_other_learners_add_their_own_kind_of_model(monkeypatch, tmp_path):
    monkeypatch.setattr(model_json, "_kinds", dict(model_json._kinds))
    register_kind(
        "base-rate",
        ModelKind(
            lambda model: {"rate": model.rate},
            lambda common, fields: BaseRate(
                common.target, common.schema, common.settings, fields.number("rate")
            ),
        ),
    )
    model = BaseRate("cancer", SCHEMA, {"seed": 1}, 0.25)
    save_model(model, tmp_path / "m.json")
    assert load_model(tmp_path / "m.json") == model


def test_the_home_of_a_learner_is_imported_when_a_file_asks_for_it(monkeypatch):
    asked = []
    monkeypatch.setitem(model_json.HOMES, "oracle", "hornbeam.oracle")
    monkeypatch.setattr(model_json, "import_module", asked.append)
    with pytest.raises(ModelError, match='unknown learner "oracle"'):
        parse_model(damaged(learner="oracle"))
    assert asked == ["hornbeam.oracle"]
