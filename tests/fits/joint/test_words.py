"""Joint models in words: what neighbours do, and why one thing has its label."""

import numpy as np
import pytest

import hornbeam as hb
from citations import tables
from hornbeam.joint.neighbours import Neighbours, Term, TermWeights
from hornbeam.joint.predict import predict_together, world_of
from hornbeam.joint.things import JointTarget
from hornbeam.joint.view import LabelView
from hornbeam.joint.words import neighbours_text
from hornbeam.logic.english.wording import PLAIN
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema

SCHEMA = Schema({"smokes": ("person",), "topic": ("person",), "friends": ("person", "person")})
SMOKES, TOPIC = JointTarget("smokes"), JointTarget("topic", ("ai", "db"))
TARGETS = {"smokes": SMOKES, "topic": TOPIC}


def term(text, of, reading):
    return Term(of, reading, (parse_clause(text, SCHEMA),))


def words(target, used, weights):
    entry = Neighbours(0.8, (used,), -0.5, (0.0,) * target.columns, (weights,), (0.6, 0.4))
    other = Neighbours(0.2, losses=(0.6, 0.7))
    return neighbours_text((entry, other), TARGETS, target, (SCHEMA, PLAIN))


@pytest.mark.parametrize(
    ("reading", "weight", "sentence"),
    [
        ("share", 2.0, "The probability rises with the share of its friends that smoke: from none to all"),
        ("count", -0.5, "The probability falls with the number of its friends that smoke: each one more"),
    ],
)
def test_a_weight_of_a_target_that_is_true_or_false_is_a_sentence(reading, weight, sentence):
    used = term("smokes(A) :- friends(A,B), smokes(B).", "smokes", reading)
    text = words(SMOKES, used, TermWeights(0.0, ((weight,),)))
    assert f"1. {sentence} changes the odds by × {np.exp(weight):.{2 if weight < 0 else 3}g}." in text
    assert "Its own facts count 0.5 times" in text
    assert "If about 20 % of the labels are known: neighbours are not used" in text


def test_weights_of_pairs_are_listed_with_the_strongest_first():
    used = term("topic(A) :- friends(A,B), topic(B).", "topic", "share")
    text = words(TOPIC, used, TermWeights(1.5, ((0.01, -1.0), (0.4, 0.2))))
    assert "A label is likelier, the larger its share among its friends" in text
    lines = [line.strip() for line in text.splitlines() if "neighbours " in line and "odds of" in line]
    assert [line.split(" × ")[0] for line in lines] == [
        "neighbours ai: odds of db",
        "neighbours db: odds of ai",
        "neighbours db: odds of db",
    ]


def test_a_target_without_terms_says_so():
    text = neighbours_text((Neighbours(0.8),), TARGETS, SMOKES, (SCHEMA, PLAIN))
    assert text == "Neighbours of smokes are not used: each person is predicted alone."


def test_an_explanation_is_in_words_and_has_the_facts_of_the_thing_itself():
    found = tables(hint=0.6)
    found["papers"]["title"] = [f"On {name}" for name in found["papers"]["paper_id"]]
    X, y = found["papers"][["paper_id"]].to_numpy(), found["papers"]["topic"].to_numpy()
    database = hb.load(found, target="papers.topic")
    joint = hb.JointClassifier(
        database=database, target="papers.topic", options={"n_bags": 1, "n_steps": 20, "max_effects": 2}
    ).fit(X[:100], y[:100])
    explained = joint.explain(X[120:121])[0]
    text = str(explained)
    assert "of the paper's links are" in text
    assert "On p" in text  # neighbours have their display names
    assert "(alone " in text
    fields = explained.as_dict()
    assert sum(each["contribution"] for each in fields["reasons"]) == pytest.approx(fields["log_odds"])
    assert fields["probability"] == pytest.approx(joint.predict_proba(X[120:121]).max())
    neighbours = next(each for each in fields["reasons"] if "neighbours" in each)
    assert neighbours["reached"] == len(neighbours["neighbours"])
    # Its own words and those around it, by the surroundings model, which gives the score here.
    (own,) = (each for each in fields["reasons"] if "details" in each)
    assert own["details"][0]["because"] in text
    assert own["details"][0]["because"].startswith("of w")
    # A paper that the data do not link has its separate model's reasons.
    with pytest.warns(hb.HornbeamWarning):
        alone = joint.explain([["nobody"]])[0]
    assert alone.probability == alone.alone
    assert "the paper's word" in str(alone)
    known = joint.explain(X[:1])[0]
    assert (known.probability, [each.words for each in known.reasons]) == (1.0, ["its label is known"])
    assert "What neighbours do to topic" in joint.model_.words()
    assert "Which topic do papers have?" in joint.model_.words()


def test_the_parts_of_a_report_add_up_to_the_guesses():
    found = tables(hint=0.6)
    X, y = found["papers"][["paper_id"]].to_numpy(), found["papers"]["topic"].to_numpy()
    database = hb.load(found, target="papers.topic")
    joint = hb.JointClassifier(
        database=database, target="papers.topic", options={"n_bags": 1, "n_steps": 20}
    ).fit(X[:100], y[:100])
    together = predict_together(world_of(joint.model_, database, {}))
    names = np.array([*X[100:].tolist(), ["nobody"]], dtype=object)
    keys = together.world.database.encode_keys("topic", names)
    for label in range(3):
        view = LabelView(together, joint.model_.members[0], label)
        parts = list(view.contributions(together.world.engine, keys))
        assert len(parts) == len(view.report_parts())
        chances = view.probabilities(together.world.engine, keys)
        assert chances[:-1] == pytest.approx(joint.predict_proba(X[100:])[:, label])
