"""Models of trees: how they read, as text, clauses, pictures and files; why; and what is refused."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.engines.naive import NaiveEngine
from hornbeam.errors import ModelError
from hornbeam.logic.clauses import Atom
from hornbeam.logic.schema import Schema
from hornbeam.model.explain import explain
from hornbeam.model.files import model_text, parse_model
from hornbeam.rivals.trees.model import DEEPEST, TreeModel
from hornbeam.rivals.trees.trees import Leaf, Node, places

SCHEMA = Schema({"friends": ("person", "person"), "smokes": ("person",), "risk": ("person",)})
SMOKES, FRIEND, HIS = Atom("smokes", (0,)), Atom("friends", (0, 1)), Atom("smokes", (1,))
FRIENDS_OF_FRIEND = Atom("friends", (1, 2))
TREES = (
    Node((FRIEND, HIS), Node((FRIENDS_OF_FRIEND,), Leaf(0.75, 4), Leaf(0.25, 2)), Leaf(-0.5, 9)),
    Node((SMOKES,), Leaf(0.125, 5), Node((FRIEND,), Leaf(0.0625, 3), Leaf(-0.25, 7))),
)
MODEL = TreeModel("risk", SCHEMA, -1.8, TREES, {"seed": 0})
DATABASE = build(
    SCHEMA,
    (),
    {"friends": [["ann", "ann", "bob", "dan"], ["bob", "cat", "cat", "eve"]], "smokes": [["bob", "dan"]]},
)


def explained(name: str):
    (key,) = DATABASE.encode_keys("risk", np.array([[name]], dtype=object))
    return explain(MODEL, NaiveEngine(DATABASE), key, [name])


def test_a_tree_reads_as_questions():
    assert str(MODEL) == (
        "prior -1.8\n"
        "tree 1\n"
        "  friends(A,B), smokes(B)?\n"
        "    yes: friends(B,C)?\n"
        "      yes: 0.75 (4 examples)\n"
        "      no: 0.25 (2 examples)\n"
        "    no: -0.5 (9 examples)\n"
        "tree 2\n"
        "  smokes(A)?\n"
        "    yes: 0.125 (5 examples)\n"
        "    no: friends(A,B)?\n"
        "      yes: 0.0625 (3 examples)\n"
        "      no: -0.25 (7 examples)"
    )


def test_a_tree_reads_as_a_list_of_clauses():
    assert MODEL.clause_text().splitlines()[1:5] == [
        "tree 1, the first clause that holds:",
        "  [0.75] : risk(A) :- friends(A,B), smokes(B), friends(B,C).",
        "  [0.25] : risk(A) :- friends(A,B), smokes(B).",
        "  [-0.5] : risk(A) :- true.",
    ]


def test_values_follow_the_friend_that_the_test_above_named():
    keys = DATABASE.encode_keys("risk", np.array([["ann"], ["bob"], ["dan"], ["eve"]], dtype=object))
    # ann's friend bob smokes and has a friend; bob's only friend cat does not smoke; dan's eve neither.
    assert MODEL.scores(NaiveEngine(DATABASE), keys).tolist() == [
        -1.8 + 0.75 + 0.0625,
        -1.8 - 0.5 + 0.125,
        -1.8 - 0.5 + 0.125,
        -1.8 - 0.5 - 0.25,
    ]


def test_reasons_say_what_holds_with_whom_and_what_does_not():
    assert str(explained("ann")) == (
        "Person ann: risk with probability 27.1 %, log-odds -0.9875\n"
        "  +0.75 because tree 1: friends(ann,B), smokes(B), friends(B,C) holds (B = bob C = cat)\n"
        "  +0.0625 because tree 2: friends(ann,B) holds (B = bob; B = cat); smokes(ann) does not hold\n"
        "  -1.8 from the prior"
    )
    assert "-0.5 because tree 1: friends(eve,B), smokes(B) does not hold" in str(explained("eve"))
    document = json.loads(json.dumps(explained("ann").as_dict()))
    assert document["reasons"][0] == {
        "tree": 1,
        "clause": "risk(A) :- friends(A,B), smokes(B), friends(B,C).",
        "failed": [],
        "contribution": 0.75,
        "groundings": [{"B": "bob", "C": "cat"}],
    }


def test_the_predicates_are_those_of_the_tests():
    assert MODEL.predicates() == ("friends", "smokes")
    assert MODEL.size_text == "2 trees"


# --- pictures -----------------------------------------------------------------------------------


def test_a_picture_shows_every_test_and_leaf():
    root = ElementTree.fromstring(MODEL.picture())
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "2 trees for risk, prior -1.8"
    assert {"friends(A,B),", "smokes(B)?", "friends(B,C)?", "+0.75", "-0.5", "9 examples"} <= set(texts)
    assert texts.count("yes") == texts.count("no") == 4
    boxes = [element for element in root.iter("{http://www.w3.org/2000/svg}rect") if element.get("x")]
    assert len(boxes) == 10


def test_names_in_a_picture_are_text_and_nothing_else():
    odd = "</text><script>alert('x')</script>\x00\x1b[31m\"&" + "n" * 300
    model = TreeModel("risk", SCHEMA, 0.0, (Node((Atom(odd, (0,)),), Leaf(1.0, 1), Leaf(-1.0, 1)),))
    picture = model.picture()
    root = ElementTree.fromstring(picture)
    assert "<script" not in picture
    assert not re.search("[\x00-\x08\x0b-\x1f]", picture)
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
    (shown,) = [
        e.text for e in root.iter("{http://www.w3.org/2000/svg}text") if e.text.startswith("'</text>")
    ]
    assert len(shown) == 60
    assert any("n" * 300 in (e.text or "") for e in root.iter("{http://www.w3.org/2000/svg}title"))


def test_boxes_of_one_tree_do_not_overlap():
    root = ElementTree.fromstring(MODEL.picture())
    boxes = [
        tuple(float(element.get(name)) for name in ("x", "y", "width", "height"))
        for element in root.iter("{http://www.w3.org/2000/svg}rect")
        if element.get("x")
    ]
    assert len(boxes) == sum(1 for tree in MODEL.trees for _ in places(tree))
    for i, (x, y, w, h) in enumerate(boxes):
        for a, b, c, d in boxes[:i]:
            assert x >= a + c or a >= x + w or y >= b + d or b >= y + h


def test_a_model_without_trees_still_has_a_picture():
    ElementTree.fromstring(TreeModel("risk", SCHEMA, 0.5, ()).picture())


# --- files --------------------------------------------------------------------------------------


def test_a_model_reads_back():
    text = model_text(MODEL)
    assert parse_model(text) == MODEL
    assert json.loads(text)["trees"][1]["nodes"][:2] == [
        {"clause": "risk(A) :- smokes(A)."},
        {"value": 0.125, "examples": 5},
    ]


def document(*nodes: dict) -> str:
    whole = json.loads(model_text(MODEL))
    whole["trees"] = [{"nodes": list(nodes)}]
    return json.dumps(whole)


LEAF = {"value": 0.5, "examples": 1}
SMOKING, FRIENDLY = {"clause": "risk(A) :- smokes(A)."}, {"clause": "risk(A) :- friends(A,B)."}


@pytest.mark.parametrize(
    ("nodes", "sentence"),
    [
        ([], '"nodes" of tree 1 must be a complete tree, found'),
        ([SMOKING, LEAF], '"nodes" of tree 1 must be a complete tree, found'),
        ([LEAF, LEAF], '"nodes" of tree 1 must be one tree, found'),
        ([SMOKING, FRIENDLY, LEAF, LEAF, LEAF], "adds a test to the one above, found"),
        ([{"clause": "risk(A) :- true."}, LEAF, LEAF], "adds a test to the one above, found"),
        ([{"clause": "smokes(A) :- risk(A)."}, LEAF, LEAF], 'a clause with head "risk"'),
        ([{"clause": "risk(A) :- smoks(A)."}, LEAF, LEAF], 'no predicate "smoks"'),
        ([{"clause": "risk(A) :- "}, LEAF, LEAF], "a clause of the model's schema"),
        ([{"value": "x", "examples": 1}], '"value" of node 1 of tree 1 must be a finite number'),
        (
            [{"value": 1.0, "examples": -1}],
            '"examples" of node 1 of tree 1 must be a whole number of at least 0',
        ),
        ([{"value": 1.0, "examples": 1, "more": 2}], 'unknown field "more" of node 1 of tree 1; remove it.'),
        ([{"examples": 1}], 'field "clause" of node 1 of tree 1 is missing; the file is damaged.'),
    ],
)
def test_a_damaged_tree_is_one_sentence(nodes, sentence):
    with pytest.raises(ModelError) as error:
        parse_model(document(*nodes))
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_a_tree_of_any_depth_that_a_file_holds_is_read_or_refused():
    def chain(depth: int) -> str:
        bodies = [
            ", ".join(f"friends(A,{'BCDEFGHIJ'[i % 9]}{i // 9 or ''})" for i in range(n + 1))
            for n in range(depth)
        ]
        nodes = [{"clause": f"risk(A) :- {body}."} for body in bodies] + [LEAF] * (depth + 1)
        return document(*nodes)

    assert isinstance(parse_model(chain(DEEPEST)), TreeModel)
    with pytest.raises(ModelError, match=f"at most {DEEPEST} tests below the root"):
        parse_model(chain(DEEPEST + 1))
