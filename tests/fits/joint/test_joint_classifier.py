"""Joint models as users call them: no label leaks, separate models without links, files, several targets."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import hornbeam as hb
from citations import TOPICS, tables
from hornbeam.errors import DataError, OptionError
from hornbeam.model.files import model_text, parse_model

FAST = {"n_bags": 1, "n_steps": 20}
CLEAR = 0.6
"""Words say enough of a topic for separate models to learn from 80 papers without links."""
NOTHING = "no effect lowers the loss on held-out examples"


@cache
def frames(n_links=300):
    return tables(n_links=n_links) if n_links else tables(n_links=0, hint=CLEAR)


def keys_and_labels(found):
    papers = found["papers"]
    return papers[["paper_id"]].to_numpy(), papers["topic"].to_numpy()


@cache
def learned(n_links=300):
    found = frames(n_links)
    X, y = keys_and_labels(found)
    database = hb.load(found, target="papers.topic")
    return hb.JointClassifier(database=database, target="papers.topic", options=FAST).fit(X[:80], y[:80])


def test_neighbours_help_where_links_matter():
    X, y = keys_and_labels(frames())
    alone = hb.RLRClassifier(database=learned().database, target="papers.topic", **FAST).fit(X[:80], y[:80])
    assert learned().classes_.tolist() == list(TOPICS)
    assert learned().score(X[80:], y[80:]) > alone.score(X[80:], y[80:]) + 0.1
    assert learned().convergence_.converged
    assert "links(A,B), topic(B)" in str(learned().model_)


def test_labels_outside_training_do_not_matter():
    found = dict(frames())
    X, y = keys_and_labels(found)
    papers = found["papers"].copy()
    papers.loc[80:, "topic"] = None
    blank = hb.load(found | {"papers": papers}, target="papers.topic")
    other = clone(learned()).set_params(database=blank).fit(X[:80], y[:80])
    assert np.array_equal(other.predict_proba(X), learned().predict_proba(X))
    assert model_text(other.model_) == model_text(learned().model_)
    wrong = papers.assign(topic=np.roll(found["papers"]["topic"], 7))
    changed = hb.load(found | {"papers": wrong}, target="papers.topic")
    assert np.array_equal(
        learned().predict_proba(X, database=changed, evidence=(X[:80], y[:80])), learned().predict_proba(X)
    )


def test_without_links_the_answer_is_that_of_separate_models_exactly():
    X, y = keys_and_labels(frames(0))
    joint = learned(0)
    alone = hb.RLRClassifier(database=joint.database, target="papers.topic", **FAST).fit(X[:80], y[:80])
    assert np.array_equal(joint.predict_proba(X[80:]), alone.predict_proba(X[80:]))


def test_a_thing_without_links_has_the_probability_of_its_separate_model_exactly():
    found = tables(hint=CLEAR)
    X, y = keys_and_labels(found)
    lonely = "p100"
    links = found["links"]
    found["links"] = links[(links.paper_id != lonely) & (links.other_id != lonely)]
    database = hb.load(found, target="papers.topic")
    joint = hb.JointClassifier(database=database, target="papers.topic", options=FAST).fit(X[:80], y[:80])
    alone = hb.RLRClassifier(database=database, target="papers.topic", **FAST).fit(X[:80], y[:80])
    assert np.array_equal(joint.predict_proba([[lonely]]), alone.predict_proba([[lonely]]))
    assert not np.array_equal(joint.predict_proba(X[101:]), alone.predict_proba(X[101:]))


def test_known_labels_stay_and_others_may_be_given_at_prediction():
    X, y = keys_and_labels(frames())
    known = learned().predict_proba(X[:80])
    assert np.array_equal(np.array(TOPICS)[known.argmax(axis=1)], y[:80])
    assert set(known.ravel().tolist()) == {0.0, 1.0}
    nothing = learned().predict_proba(X[80:], evidence=(X[:0], y[:0]))
    more = learned().predict_proba(X[130:], evidence=(X[:130], y[:130]))
    assert not np.array_equal(nothing, learned().predict_proba(X[80:]))
    assert not np.array_equal(more, learned().predict_proba(X[130:]))
    with pytest.raises(DataError, match="not one of those that the model knows"):
        learned().predict_proba(X, evidence=(X[:1], ["chess"]))


def test_the_order_and_the_repetition_of_keys_do_not_matter():
    X, _ = keys_and_labels(frames())
    shuffled = np.random.default_rng(0).integers(80, 150, size=60)
    assert np.array_equal(learned().predict_proba(X[shuffled]), learned().predict_proba(X)[shuffled])


def test_of_two_labels_of_a_key_the_last_one_counts_everywhere():
    X, y = keys_and_labels(frames())
    wrong = np.array([TOPICS[(TOPICS.index(topic) + 1) % len(TOPICS)] for topic in y[:30]])
    joint = clone(learned()).fit(np.vstack([X[:30], X[:80]]), np.concatenate([wrong, y[:80]]))
    assert model_text(joint.model_) == model_text(learned().model_)
    assert np.array_equal(joint.predict_proba(X), learned().predict_proba(X))


def test_a_model_file_holds_everything(tmp_path):
    text = model_text(learned().model_)
    assert model_text(parse_model(text)) == text
    assert parse_model(text) == learned().model_
    hb.save_model(learned().model_, tmp_path / "m.json")
    assert hb.load_model(tmp_path / "m.json") == learned().model_


def test_an_explanation_names_known_and_guessed_neighbours():
    X, _ = keys_and_labels(frames())
    known, other = learned().explain(np.array([X[0], X[120]]))
    assert "because its label is known" in str(known)
    text = str(other)
    assert "(alone " in text
    assert "(known)" in text
    assert "(guessed" in text
    assert other.as_dict()["reasons"]
    assert other.probability == learned().predict_proba(X[120:121]).max()


def test_links_alone_are_enough_and_both_of_two_classes_are_explained():
    found = {name: frame for name, frame in frames().items() if name != "words"}
    found["papers"] = found["papers"].assign(topic=np.where(found["papers"]["topic"] == "ai", "ai", "none"))
    X, y = keys_and_labels(found)
    database = hb.load(found, target="papers.topic")
    with pytest.warns(hb.HornbeamWarning, match=NOTHING):  # alone, a paper has nothing that tells its topic
        joint = clone(learned()).set_params(database=database).fit(X[:80], y[:80])
    chances = joint.predict_proba(X[80:])
    assert (joint.classes_[chances.argmax(axis=1)] == y[80:]).mean() > 0.8
    explained = joint.explain(X[80:])
    assert {each.title.rpartition(" ")[2] for each in explained} == {"ai", "none"}
    assert all("because of its own facts\n" in str(each) for each in explained)
    assert [each.probability for each in explained] == chances.max(axis=1).tolist()


def test_several_targets_are_learned_and_predicted_together():
    rng = np.random.default_rng(1)
    size = 150
    group = rng.random(size) < 0.5
    names = np.array([f"a{n}" for n in range(size)])
    left, right = rng.integers(size, size=(2, 4000))
    same = (group[left] == group[right]) & (left != right)
    people = pd.DataFrame(
        {
            "person_id": names,
            "smokes": (rng.random(size) < np.where(group, 0.9, 0.1)).astype(int),
            "happy": (rng.random(size) < np.where(group, 0.2, 0.8)).astype(int),
        }
    )
    friends = pd.DataFrame({"person_id": names[left[same]], "friend_id": names[right[same]]})
    database = hb.load(
        {"people": people, "friends": friends.drop_duplicates().head(400)}, target="people.smokes"
    )
    X = people[["person_id"]].to_numpy()
    smokes, happy = people.smokes.to_numpy(), people.happy.to_numpy()
    joint = hb.JointClassifier(database=database, targets=["people.smokes", "people.happy"], options=FAST)
    with pytest.warns(hb.HornbeamWarning, match=NOTHING):  # alone, a person has nothing that tells its labels
        joint.fit({"people.smokes": (X[:100], smokes[:100]), "people.happy": (X[:100], happy[:100])})
    found = joint.predict_proba({"people.smokes": X[100:], "people.happy": X[100:]})
    assert set(found) == {"people.smokes", "people.happy"}
    for name, truth in (("people.smokes", smokes), ("people.happy", happy)):
        assert found[name].shape == (50, 2)
        assert ((found[name][:, 1] > 0.5) == truth[100:]).mean() > 0.7
    assert parse_model(model_text(joint.model_)) == joint.model_


def test_what_cannot_be_done_is_refused(tmp_path):
    found = frames()
    X, y = keys_and_labels(found)
    joint = hb.JointClassifier(database=learned().database, target="papers.topic")
    with pytest.raises(DataError, match=r'no target "papers[.]colour"'):
        clone(joint).set_params(target="papers.colour").fit(X, y)
    for name, frame in found.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    with (
        hb.load(tmp_path, target="papers.topic", engine="duckdb") as in_place,
        pytest.raises(hb.HornbeamError, match="joint models need the data loaded"),
    ):
        clone(joint).set_params(database=in_place).fit(X, y)


def test_evidence_that_does_not_fit_is_refused():
    X, y = keys_and_labels(frames())
    with pytest.raises(DataError, match="has 5 keys, but 3 labels"):
        learned().predict_proba(X, evidence=(X[:5], y[:3]))
    with pytest.raises(DataError, match=r"must be a pair \(X, y\)"):
        learned().predict_proba(X, evidence=X[:3])


def test_evidence_about_unknown_keys_is_left_out_with_a_warning():
    X, y = keys_and_labels(frames())
    more = np.array([*X[:80].tolist(), ["nobody"]], dtype=object)
    with pytest.warns(hb.HornbeamWarning, match=r"evidence: 1 of 81 keys .*their labels are left out"):
        found = learned().predict_proba(X, evidence=(more, [*y[:80], y[0]]))
    assert np.array_equal(found, learned().predict_proba(X))


def test_keys_may_be_a_plain_list():
    X, _ = keys_and_labels(frames())
    assert np.array_equal(learned().predict_proba(X[:, 0].tolist()), learned().predict_proba(X))


def test_a_target_is_named_once_and_links_are_bounded():
    X, y = keys_and_labels(frames())
    twice = ["papers.topic", "topic"]
    joint = hb.JointClassifier(database=learned().database, targets=twice, options=FAST)
    with pytest.raises(OptionError, match='names "topic" twice'):
        joint.fit(dict.fromkeys(twice, (X, y)))
    with pytest.raises(OptionError, match="max_links=-1 is refused"):
        clone(learned()).set_params(max_links=-1).fit(X, y)


def test_a_joint_model_is_not_scored_as_its_separate_model():
    with pytest.raises(OptionError, match="evaluate does not take joint models"):
        hb.evaluate(learned())


def test_cut_offs_are_refused():
    found = dict(frames())
    X, y = keys_and_labels(found)
    days = pd.date_range("2020-01-01", periods=len(found["links"]), freq="D")
    found["links"] = found["links"].assign(day=days)
    database = hb.load(found, target="papers.topic")
    joint = clone(learned()).set_params(database=database)
    with pytest.raises(OptionError, match="do not take examples with cut-offs"):
        joint.fit(np.column_stack([X, ["2020-02-01"] * len(X)]), y)
    frozen = hb.load(found, target="papers.topic", as_of="2020-02-01")
    with pytest.raises(OptionError, match="do not take data with as_of"):
        joint.set_params(database=frozen).fit(X, y)


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [("pairs", [[0.5] * len(TOPICS)], "rows"), ("of", "colour", "chains of links")],
)
def test_terms_of_a_file_that_do_not_fit_are_refused(field, value, wanted):
    document = json.loads(model_text(learned().model_))
    entry = next(each for each in document["targets"][0]["neighbours"] if each["terms"])
    entry["terms"][0][field] = value
    with pytest.raises(hb.HornbeamError, match=wanted):
        parse_model(json.dumps(document))
