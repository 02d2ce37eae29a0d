"""Joint models on other data than those of training, of which some labels are known."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import hornbeam as hb
from citations import TOPICS, tables
from hornbeam.data.build import build
from hornbeam.joint.neighbours import Neighbours, Reaches, Term, term_values, with_evidence
from hornbeam.joint.predict import _chosen
from hornbeam.joint.things import JointTarget, KnownKeys, things_of
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.schema import Schema
from hornbeam.model.files import model_text, parse_model

FAST = {"n_bags": 1, "n_steps": 20}


@cache
def learned():
    found = tables(n_papers=200, n_links=500)
    papers = found["papers"]
    database = hb.load(found, target="papers.topic")
    joint = hb.JointClassifier(database=database, target="papers.topic", options=FAST)
    return joint.fit(papers[["paper_id"]].to_numpy(), papers["topic"].to_numpy())


@cache
def other():
    """Other papers with other links, and a paper that has no link at all."""
    found = tables(n_papers=200, n_links=500, seed=1)
    found["papers"]["paper_id"] = "q" + found["papers"]["paper_id"]
    for name in ("paper_id", "other_id"):
        found["links"][name] = "q" + found["links"][name]
    found["words"]["paper_id"] = "q" + found["words"]["paper_id"]
    links = found["links"]
    found["links"] = links[(links.paper_id != "qp199") & (links.other_id != "qp199")]
    papers = found["papers"]
    return (
        hb.load(found, target="papers.topic"),
        papers[["paper_id"]].to_numpy(),
        papers["topic"].to_numpy(),
        found["links"],
    )


@pytest.mark.parametrize(
    ("body", "own"),
    [
        ("professor(B)", True),
        ("student(A)", True),
        ("advisedby(B,A)", True),
        ("advisedby(A,C)", False),
        ("advisedby(C,B)", False),
        ("knows(A,C), professor(C)", False),
    ],
)
def test_other_pairs_of_a_person_are_neighbours_and_not_the_pair_s_own_things(body, own):
    predicates = dict.fromkeys(("advisedby", "knows"), ("person", "person"))
    schema = Schema(predicates | dict.fromkeys(("professor", "student"), ("person",)))
    clause = parse_clause(f"advisedby(A,B) :- {body}.", schema)
    assert Term("professor", "share", (clause,)).near is own


def test_few_labels_are_heard_by_weights_learned_without_labels_if_only_these_help():
    """On the facts of training weights for fewer known labels may help, not those for more."""
    member = learned().model_.members[0]
    term = next(each for each in member.neighbours if each.terms)

    def chosen(most, none, share=0.03, same_facts=True):
        entries = [
            replace(term, known_share=known, losses=(1.2, loss), anywhere=True, only_known=False)
            for known, loss in ((0.03, most), (0.0, none))
        ]
        model = replace(member, neighbours=tuple(entries))
        return model.neighbours_for(share, same_facts)

    assert chosen(most=1.3, none=1.0).known_share == 0.0
    assert chosen(most=1.1, none=1.0).known_share == 0.03
    assert chosen(most=1.0, none=1.1, share=0.0).known_share == 0.0
    assert chosen(most=1.3, none=1.0, same_facts=False).known_share == 0.03
    assert not chosen(most=1.3, none=1.25).terms


def losses(chances, labels):
    return -np.log(chances[np.arange(len(labels)), np.searchsorted(TOPICS, labels)])


@pytest.mark.parametrize("n_known", [10, 30, 100])
def test_known_labels_of_neighbours_help_in_other_data(n_known):
    database, X, y, _ = other()
    alone = learned().predict_proba(X[n_known:], database=database)
    found = learned().predict_proba(X[n_known:], evidence=(X[:n_known], y[:n_known]), database=database)
    assert losses(found, y[n_known:]).mean() < losses(alone, y[n_known:]).mean()


def test_a_paper_without_a_known_neighbour_is_predicted_alone_if_few_labels_are_known():
    database, X, y, links = other()
    known = X[:10, 0]
    near = {*known}
    for _ in range(2):  # terms follow at most two links
        near |= {*links.other_id[links.paper_id.isin(near)], *links.paper_id[links.other_id.isin(near)]}
    alone = learned().predict_proba(X, database=database)
    found = learned().predict_proba(X, evidence=(X[:10], y[:10]), database=database)
    changed = {name for name, a, b in zip(X[:, 0], alone, found, strict=True) if not np.array_equal(a, b)}
    assert "qp199" not in changed
    assert changed <= near
    assert changed - {*known}
    assert {*X[:, 0]} - near


def test_the_known_labels_decide_whether_neighbours_are_heard():
    database, X, y, _ = other()
    rng = np.random.default_rng(0)
    shuffled = rng.permutation(y)
    alone = learned().predict_proba(X[150:], database=database)
    found = learned().predict_proba(X[150:], evidence=(X[:150], shuffled[:150]), database=database)
    assert np.array_equal(found, alone)


def test_another_way_must_be_better_by_a_standard_error():
    cautious, together = Neighbours(0.2, only_known=True), Neighbours(0.8)
    rng = np.random.default_rng(0)
    base = rng.random(100)
    worse = np.column_stack([base + 0.2, base, base + 0.1])
    assert _chosen(worse, cautious, together) is cautious
    assert _chosen(worse[:, [0, 2, 1]], cautious, together) is together
    assert _chosen(worse[:, [1, 0, 2]], cautious, together) == Neighbours(0.2)
    assert _chosen(worse[:10, [1, 0, 2]], cautious, together) is cautious
    noisy = np.column_stack([base + 9, base, rng.permutation(base) - 1e-3])
    assert _chosen(noisy, cautious, together) is cautious


def test_only_known_labels_are_read():
    schema = Schema({"smokes": ("person",), "friends": ("person", "person")})
    rng = np.random.default_rng(3)
    names = [f"p{n}" for n in range(8)]
    left, right = np.nonzero(rng.random((8, 8)) < 0.5)
    kept = left != right
    facts = {"friends": [[names[n] for n in left[kept]], [names[n] for n in right[kept]]]}
    database = build(schema, (), facts, ranges={"person": names})
    target = JointTarget("smokes")
    keys = database.encode_keys("smokes", np.array(names[:4], dtype=object).reshape(-1, 1))
    labels = np.array([0, 1, 1, 0])
    things = things_of(database, target, KnownKeys(keys, labels))
    friends = {(names[a], names[b]) for a, b in zip(left[kept], right[kept], strict=True)}
    clause = parse_clause("smokes(A) :- friends(A,B), smokes(B).", schema)
    beliefs = {"smokes": with_evidence(things, rng.dirichlet(np.ones(2), size=8))}
    for reading in ("share", "count"):
        term = Term("smokes", reading, (clause,))
        values = term_values(Reaches(database, {"smokes": things}), term).hearing(things.known)
        found = values.values(beliefs)[:, 0]
        for name, value in zip(database.names_of("smokes", things.keys)[:, 0], found, strict=True):
            reached = [other for other in names if (name, other) in friends]
            known = [other for other in reached if other in names[:4]]
            share = sum(labels[names.index(each)] for each in known) / len(known) if known else 0.0
            assert value == pytest.approx(share if reading == "share" else share * len(reached))


def test_the_file_of_a_model_has_what_is_for_other_data():
    text = model_text(learned().model_)
    assert '"only_known": 1' in text
    again = parse_model(text)
    assert again == learned().model_
    assert "from known labels only" in str(again)
