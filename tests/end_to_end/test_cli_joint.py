"""Joint models on the command line: from tables and from a folder of facts with several targets."""

from __future__ import annotations

import json

import numpy as np
import pytest

import hornbeam as hb
from citations import TOPICS, tables

FAST = ("--bags", "1", "--steps", "20")


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    """A folder of tables, and files of the training keys and of the other keys."""
    folder = tmp_path_factory.mktemp("citations")
    (folder / "data").mkdir()
    found = tables()
    for name, frame in found.items():
        frame.to_csv(folder / "data" / f"{name}.csv", index=False)
    keys = found["papers"][["paper_id"]]
    keys[:80].to_csv(folder / "train.csv", index=False)
    keys[80:].to_csv(folder / "test.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def fitted(papers):
    from hornbeam.cli import main

    words = ["fit", papers / "data", "--joint", "--target", "papers.topic", "--model", papers / "m.json"]
    words += ["--examples", papers / "train.csv", *FAST]
    with pytest.raises(SystemExit) as left:
        main(list(map(str, words)))
    assert left.value.code == 0
    return papers / "m.json"


def test_the_command_line_predicts_as_python_does(run, papers, fitted):
    found = tables()
    X, y = found["papers"][["paper_id"]].to_numpy(), found["papers"]["topic"].to_numpy()
    database = hb.load(papers / "data", target="papers.topic")
    joint = hb.JointClassifier(
        database=database, target="papers.topic", options={"n_bags": 1, "n_steps": 20}
    ).fit(X[:80], y[:80])
    done = run("predict", papers / "data", "--model", fitted, "--examples", papers / "test.csv")
    assert done.status == 0
    assert "mean field converged" in done.err
    assert "80 labels are known" in done.err
    rows = done.rows()
    assert [row["paper_id"] for row in rows] == X[80:, 0].tolist()
    told = np.array([[float(row[f"probability_{topic}"]) for topic in TOPICS] for row in rows])
    assert np.array_equal(told, joint.predict_proba(X[80:]))


def test_a_time_limit_within_which_nothing_is_learned_writes_nothing(run, papers, tmp_path):
    words = (
        "fit",
        papers / "data",
        "--joint",
        "--target",
        "papers.topic",
        "--examples",
        papers / "train.csv",
    )
    done = run(*words, *FAST, "--time", "0s", "--model", tmp_path / "m.json")
    assert done.status == 1
    assert "nothing was learned within --time 0s, so nothing was written" in done.err
    assert not (tmp_path / "m.json").exists()


def test_evidence_in_a_file_replaces_that_of_training(run, papers, fitted, tmp_path):
    found = tables()["papers"].rename(columns={"topic": "label"})
    found[:120].to_csv(tmp_path / "evidence.csv", index=False)
    words = ("predict", papers / "data", "--model", fitted, "--examples", papers / "test.csv")
    done = run(*words, "--evidence", tmp_path / "evidence.csv")
    assert (done.status, "120 labels are known" in done.err) == (0, True)
    known = {row["paper_id"]: row["label"] for row in found[80:120].to_dict("records")}
    for row in done.rows()[:40]:
        assert float(row[f"probability_{known[row['paper_id']]}"]) == 1.0
    found[["paper_id"]].to_csv(tmp_path / "no_labels.csv", index=False)
    wrong = run(*words, "--evidence", tmp_path / "no_labels.csv")
    assert (wrong.status, 'needs a column "label"' in wrong.err) == (2, True)


def test_a_joint_model_is_scored_explained_and_shown(run, papers, fitted):
    scored = run("evaluate", papers / "data", "--model", fitted, "--json")
    scores = json.loads(scored.out)
    assert scored.status == 0
    assert scores["accuracy"] > 0.6
    explained = run("explain", papers / "data", "--model", fitted, "--example", "topic(p120)")
    assert (explained.status, "(alone " in explained.out) == (0, True)
    wrong = run("explain", papers / "data", "--model", fitted, "--example", "subject(p120)")
    assert (wrong.status, 'but the model predicts "topic"' in wrong.err) == (2, True)
    by_key = run("explain", papers / "data", "--model", fitted, "--example", "p120")
    assert by_key.out == explained.out
    assert "What neighbours do to topic" in run("show", fitted).out
    shown = run("show", fitted, "--logic")
    assert (shown.status, "links(A,B), topic(B)" in shown.out) == (0, True)
    query = run("sql", fitted)
    assert (query.status, query.err.strip().count("\n")) == (2, 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--target", "a", "--target", "b"), "only with --joint"),
        (("--joint", "--learner", "rdn-boost"), "it needs the learner rlr"),
        (("--joint", "--preset", "paper"), "it needs the learner rlr"),
        (("--joint", "--report", "r.html"), "--report is refused"),
        (("--joint", "--engine", "duckdb", "--target", "papers.topic"), "joint models need the data loaded"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(run, papers, words, said, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    done = run("fit", papers / "data", *words)
    assert (done.status, said in done.err) == (2, True)
    assert done.err.count("Traceback") == 0


def test_evidence_is_for_joint_models_only(run, papers, tmp_path):
    model = tmp_path / "alone.json"
    assert run("fit", papers / "data", "--target", "papers.topic", "--model", model, *FAST).status == 0
    done = run("predict", papers / "data", "--model", model, "--evidence", papers / "train.csv")
    assert (done.status, "only joint models" in done.err) == (2, True)


@pytest.fixture
def facts(tmp_path):
    """A folder of facts with two targets in one file of examples, for training and for the test."""
    rng = np.random.default_rng(2)
    for split in ("train", "test"):
        folder = tmp_path / split
        folder.mkdir()
        group = rng.random(300) < 0.5
        left, right = rng.integers(300, size=(2, 3000))
        same = ((group[left] == group[right]) | (rng.random(3000) < 0.1)) & (left != right)
        pairs = zip(left[same][:700].tolist(), right[same][:700].tolist(), strict=True)
        lines = [f"friends({split}{a},{split}{b})." for a, b in pairs]
        (folder / f"{split}_facts.txt").write_text("\n".join(lines) + "\n")
        labels = {True: [], False: []}
        for person, member in enumerate(group.tolist()):
            for target, chance in (("smokes", 0.9 if member else 0.1), ("sporty", 0.2 if member else 0.8)):
                labels[bool(rng.random() < chance)].append(f"{target}({split}{person}).")
        (folder / f"{split}_pos.txt").write_text("\n".join(labels[True]) + "\n")
        (folder / f"{split}_neg.txt").write_text("\n".join(labels[False]) + "\n")
    modes = "mode: friends(+person,-person).\nmode: friends(-person,+person).\nmode: smokes(+person).\n"
    (tmp_path / "background.txt").write_text(modes + "mode: sporty(+person).\n")
    return tmp_path


def test_several_targets_in_one_folder_of_facts(run, facts, tmp_path):
    model = tmp_path / "m.json"
    words = ("fit", facts, "--joint", "--target", "smokes", "--target", "sporty", "--model", model)
    done = run(*words, *FAST)
    assert done.status == 0
    assert "smokes: held-out log-loss" in done.err
    assert " % of the labels known" in done.err
    every = tmp_path / "every.json"
    assert run("fit", facts, "--joint", "--model", every, *FAST).status == 0
    assert every.read_bytes() == model.read_bytes()
    predicted = run("predict", facts, "--model", model)
    assert (predicted.status, "0 labels are known" in predicted.err) == (0, True)
    rows = predicted.rows()
    assert {row["target"] for row in rows} == {"smokes", "sporty"}
    assert len(rows) == 600
    evidence = tmp_path / "evidence.csv"
    known = ["target,person,label"] + [
        f"{row['target']},{row['arg1']},{row['label']}" for row in rows if int(row["arg1"][4:]) < 150
    ]
    evidence.write_text("\n".join(known) + "\n")
    scores = json.loads(run("evaluate", facts, "--model", model, "--json", "--evidence", evidence).out)
    assert scores["smokes"]["auc_roc"] > 0.7
    assert scores["sporty"]["auc_roc"] > 0.7


def test_labels_of_several_targets_come_from_the_file_alone(run, tmp_path):
    found = tables()
    every = found["papers"].assign(good=np.where(found["papers"]["topic"] == "ai", "yes", "no"))
    train = every[:80]
    rows = [f"topic,{row.paper_id},{row.topic}\ngood,{row.paper_id},{row.good}" for row in train.itertuples()]
    (tmp_path / "train.csv").write_text("\n".join(["target,paper_id,label", *rows]) + "\n")
    texts = []
    for name, papers in (("all", every), ("some", every.assign(good=every["good"].where(every.index < 80)))):
        (tmp_path / name).mkdir()
        for table, frame in (found | {"papers": papers}).items():
            frame.to_csv(tmp_path / name / f"{table}.csv", index=False)
        words = ["fit", tmp_path / name, "--joint", "--target", "papers.topic", "--target", "papers.good"]
        words += ["--examples", tmp_path / "train.csv", "--model", tmp_path / f"{name}.json", *FAST]
        assert run(*words).status == 0
        texts.append((tmp_path / f"{name}.json").read_text())
    assert texts[0] == texts[1]
    known = json.loads(texts[0])["known"]
    assert sum(len(each["keys"]) for each in known if each["target"] == "good") == 80
    (tmp_path / "train.csv").write_text("paper_id,label\np0,ai\n")
    refused = run(*words)
    assert (refused.status, 'need a column "target"' in refused.err) == (2, True)


def test_a_table_without_links_is_learned_alone_and_says_so(run, tmp_path):
    rows = [f"c{n},{n % 50},{'yes' if n % 50 > 25 else 'no'}" for n in range(100)]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "customers.csv").write_text("\n".join(["customer_id,age,left", *rows]) + "\n")
    words = (
        "fit",
        tmp_path / "data",
        "--joint",
        "--target",
        "customers.left",
        "--model",
        tmp_path / "m.json",
    )
    done = run(*words, *FAST)
    assert done.status == 0
    assert "too few training examples are linked to others; each is predicted alone" in done.err


def test_a_joint_model_has_a_report_of_each_class(run, papers, fitted, tmp_path):
    page = tmp_path / "report.html"
    done = run("report", papers / "data", "--model", fitted, "--class", "db", "--out", page)
    assert done.status == 0, done.err
    text = page.read_text()
    assert "The labels are guessed together with those of linked things." in text
    assert "A label is likelier" in text
    refused = run("report", papers / "data", "--model", fitted, "--class", "chess", "--out", page)
    assert refused.status == 2
    assert 'no model of class "chess"' in refused.err
