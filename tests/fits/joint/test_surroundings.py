"""The surroundings model: its scores by their definition, its reasons, its use and its file."""

from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

import hornbeam as hb
from citations import tables
from hornbeam.errors import HornbeamError
from hornbeam.joint.fitting import constant_weights
from hornbeam.joint.predict import world_of
from hornbeam.model.files import model_text, parse_model


def papers_and_words():
    """Words say enough of a topic for separate models to learn from 100 papers."""
    return tables(hint=0.6)


@cache
def learned():
    found = papers_and_words()
    X, y = found["papers"][["paper_id"]].to_numpy(), found["papers"]["topic"].to_numpy()
    database = hb.load(found, target="papers.topic")
    options = {"n_bags": 1, "n_steps": 20}
    return hb.JointClassifier(database=database, target="papers.topic", options=options).fit(X[:100], y[:100])


def world():
    found = world_of(learned().model_, learned().database, {})
    return found, found.linked["topic"].things, found.model.members[0].surroundings


def by_definition(papers, model):
    """The score of each label, by means over papers that are written out."""
    found = papers_and_words()
    around = {paper: [paper] for paper in papers}
    for one, other in sorted(set(map(tuple, found["links"].to_numpy().tolist()))):
        if one != other:
            around[one].append(other)
            around[other].append(one)
    has = {paper: set() for paper in papers}
    for paper, word in found["words"].to_numpy().tolist():
        has[paper].add(word)
    (listed,) = model.lists
    own, near, far, further = (
        dict(zip(listed.names, map(np.array, each), strict=True)) for each in listed.weights
    )

    def total(paper, weights):
        return sum((weights[word] for word in has[paper] if word in weights), np.zeros(3))

    def mean(paper, of):
        return np.mean([of(other) for other in around[paper]], axis=0)

    def means(paper, steps, weights):
        if not steps:
            return total(paper, weights)
        return mean(paper, lambda each: means(each, steps - 1, weights))

    distances = ((0, own), (1, near), (2, far), (4, further))
    return [np.array(model.bias) + sum(means(paper, *each) for each in distances) for paper in papers]


def test_scores_are_sums_over_own_words_and_means_of_words_around():
    found, things, model = world()
    papers = [str(row[0]) for row in found.database.names_of("topic", things.keys)]
    scores = np.array(by_definition(papers, model))
    wanted = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert model.around(found.database, things).chances == pytest.approx(wanted)


def test_reasons_add_up_to_the_score_beside_the_other_labels():
    found, things, model = world()
    chances = np.log(model.around(found.database, things).chances[7])
    bias = np.array(model.bias)
    for label in range(3):
        others = [each for each in range(3) if each != label]
        wanted = (chances[label] - bias[label]) - np.mean(chances[others] - bias[others])
        assert sum(v for _, v in model.reasons(found.database, things, 7, label)) == pytest.approx(wanted)


def test_it_is_used_on_the_facts_of_training_only():
    entries = learned().model_.members[0].neighbours
    assert any(each.around for each in entries)
    assert not any(each.around and each.anywhere for each in entries)


def test_with_too_many_values_the_constants_that_most_things_have_are_kept(monkeypatch):
    monkeypatch.setattr(constant_weights, "MOST_CELLS", 150 * 7)
    found = papers_and_words()
    X, y = found["papers"][["paper_id"]].to_numpy(), found["papers"]["topic"].to_numpy()
    (listed,) = clone(learned()).fit(X[:100], y[:100]).model_.members[0].surroundings.lists
    papers = found["words"]["word"].value_counts()
    assert len(listed.names) == 6
    assert papers[list(listed.names)].min() >= papers.drop(list(listed.names)).max()


def test_links_that_are_rows_with_a_key_are_followed_like_plain_links():
    found = papers_and_words()
    keyed = found["links"].assign(link_id=[f"l{n}" for n in range(len(found["links"]))])
    database = hb.load(found | {"links": keyed}, target="papers.topic")
    X, y = found["papers"][["paper_id"]].to_numpy(), found["papers"]["topic"].to_numpy()
    other = clone(learned()).set_params(database=database).fit(X[:100], y[:100]).model_.members[0]
    assert {len(clause.body) for clause in other.surroundings.links} == {3}
    (listed,), (plain,) = other.surroundings.lists, world()[2].lists
    assert listed.names == plain.names
    assert np.array(listed.weights) == pytest.approx(np.array(plain.weights), rel=0, abs=1e-6)


def test_labels_outside_training_do_not_matter_around_either():
    found = papers_and_words()
    papers = found["papers"]
    X, y = papers[["paper_id"]].to_numpy(), papers["topic"].to_numpy()
    blank = papers.assign(topic=papers["topic"].where(np.arange(len(papers)) < 100))
    database = hb.load(found | {"papers": blank}, target="papers.topic")
    other = clone(learned()).set_params(database=database).fit(X[:100], y[:100])
    assert model_text(other.model_) == model_text(learned().model_)
    assert world()[0].linked["topic"].neighbours.around
    for known in (0, 40, 100):
        evidence = (X[:known], y[:known])
        chances = learned().predict_proba(X, evidence=evidence)
        assert np.array_equal(other.predict_proba(X, evidence=evidence), chances)


def test_an_explanation_lists_constants_and_neighbours_if_some_are_known():
    X = papers_and_words()["papers"][["paper_id"]].to_numpy()[120:121]
    (with_labels,) = learned().explain(X)
    assert "(known)" in str(with_labels)
    assert "(guessed" in str(with_labels)
    (without,) = learned().explain(X, evidence=(X[:0], []))
    assert not any(each.neighbours for each in without.reasons)
    for each in (with_labels, without):
        (own,) = (reason for reason in each.reasons if reason.details)
        assert own.words == "of its own facts"
        assert f"because {own.details[0][1]}" in str(each)


@pytest.mark.parametrize(
    ("before", "after"),
    [('"topic(A) :- word(A,B)."', '"topic(A) :- word(B,C)."'), ('"place": 1', '"place": 7')],
)
def test_a_file_that_does_not_fit_is_refused(before, after):
    text = model_text(learned().model_)
    assert parse_model(text).members[0].surroundings == learned().model_.members[0].surroundings
    start = text.index('"surroundings"')
    assert before in text[start:]
    with pytest.raises(HornbeamError):
        parse_model(text[:start] + text[start:].replace(before, after, 1))
