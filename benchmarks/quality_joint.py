"""Joint models against separate ones, on the same folds.

    python benchmarks/quality_joint.py [citations] [uwcse] [webkb] [smokers] [other] [growth] [--again]
        [--report]

Citations: papers with words, links and six topics, ten public splits; only training labels are used. Beside
separate and joint models there are logistic regression on words, and iterative classification: logistic
regression on words and the shares of neighbours' labels, applied ten times; both choose their penalty inside
the training data. UW-CSE: advisedby with professor, student and inphase hidden and predicted. WebKB: faculty,
student and course roles hidden together: that a person teaches a course is known, whether as professor or as
assistant is not; a tenth of the labels of the test is known, or none. Smokers: generated worlds in which some
labels are known, and learned from; where none is, the model is learned in another world. Other: learned in
one world of smokers with all labels, predicted in another one with some known. The separate models are those
of the joint model, on the same folds. Growth: seconds of one sweep of mean field over two links. Results go
to results/joint.json after each fold; folds with results are not run again.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score

import hornbeam as hb
import measure
from hornbeam.data.build import build
from hornbeam.data.database import Database, Population
from hornbeam.data.names import Numbered
from hornbeam.datasets.worlds import smokers
from hornbeam.joint.inference import mean_field
from hornbeam.joint.neighbours import (
    LinkedThings,
    Neighbours,
    Reaches,
    Term,
    TermWeights,
    own_scores,
    term_values,
)
from hornbeam.joint.predict import Together, predict_together, world_of
from hornbeam.joint.things import JointTarget, KnownKeys, things_of
from hornbeam.logic.parse import parse_clause, parse_mode
from hornbeam.logic.schema import Schema
from measure import DATA, say, table

Row = dict[str, Any]
SHARES = (0.0, 0.1, 0.5)
LINKS = (10_000, 100_000, 1_000_000)
WORLDS = 5
PERSONS = 1_000
TIMES = 10
"""Rounds of iterative classification."""


def main() -> None:
    parts: dict[str, Callable[[], Iterator[tuple[str, Callable[[], Row]]]]] = {
        "citations": _citations,
        "uwcse": _uwcse,
        "webkb": _webkb,
        "smokers": _smokers,
        "other": _other,
        "growth": _growth,
    }
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[*parts, []])
    parser.add_argument("--again", action="store_true", help="run folds that have results too")
    parser.add_argument("--report", action="store_true", help="only write the tables again")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    results = measure.load("joint")
    for part in [] if given.report else given.parts or list(parts):
        for name, work in parts[part]():
            if name in results.get(part, {}) and not given.again:
                continue
            row = work()
            results = measure.load("joint")
            results.setdefault(part, {})[name] = row
            results["machine"] = measure.machine(["hornbeam", "numpy", "scipy", "scikit-learn"])
            measure.save("joint", results)
            say(f"{part} {name}: {row}")
    measure.write_section("joint", _text(results))


# --- citations -------------------------------------------------------------------------------


def _citations() -> Iterator[tuple[str, Callable[[], Row]]]:
    folder = DATA / "citeseer_graph"
    frames = {name: pd.read_csv(folder / f"{name}.csv") for name in ("papers", "links", "words")}
    splits = pd.read_csv(folder / "splits.csv")
    database = hb.load(frames, target="papers.topic")
    papers = frames["papers"]
    labelled = papers["topic"].notna().to_numpy()
    for number in range(10):
        split = splits[f"split{number}"].to_numpy()
        train, test = (labelled & (split == name) for name in ("train", "test"))
        yield f"split {number}", lambda train=train, test=test: _citation_split(database, frames, train, test)


def _citation_split(
    database: Database, frames: dict[str, pd.DataFrame], train: npt.NDArray[Any], test: npt.NDArray[Any]
) -> Row:
    papers = frames["papers"]
    X, y = papers[["paper_id"]].to_numpy(), papers["topic"].to_numpy()
    row = _by_hand(frames, y, train, test)
    start = time.process_time()
    joint = hb.JointClassifier(database=database, target="papers.topic").fit(X[train], y[train])
    row["seconds"] = round(time.process_time() - start, 1)
    together = joint._together({"papers.topic": X[test]}, None, None)
    chances = together.probabilities("topic", X[test])
    alone = together.world.model.member("topic").chances(
        together.world.engine, together.world.database.encode_keys("topic", X[test])
    )
    row["settled"] = str(joint.convergence_)
    nothing = joint.predict_proba(X[test], evidence=(X[:0], y[:0]))
    truth = np.searchsorted(joint.classes_, y[test].astype(str))
    for name, found in (("separate", alone), ("joint", chances), ("joint, no label known", nothing)):
        row[name] = round(float((found.argmax(axis=1) == truth).mean()), 4)
        row[f"{name}, log-loss"] = round(float(-np.log(found[np.arange(len(truth)), truth]).mean()), 4)
    return row


def _by_hand(
    frames: dict[str, pd.DataFrame], y: npt.NDArray[Any], train: npt.NDArray[Any], test: npt.NDArray[Any]
) -> Row:
    """The accuracy of logistic regression on words, and of iterative classification."""
    place = {key: number for number, key in enumerate(frames["papers"]["paper_id"])}
    size = len(place)
    words = frames["words"]
    entries = (words["paper_id"].map(place), words["word"].astype("category").cat.codes)
    X = sparse.csr_matrix((np.ones(len(words)), entries), shape=(size, words["word"].nunique()))
    ends = [frames["links"][name].map(place).to_numpy() for name in ("paper_id", "other_id")]
    links = sparse.csr_matrix((np.ones(len(ends[0])), ends), shape=(size, size))
    links = ((links + links.T) > 0).astype(np.float64)
    shares = sparse.diags(1.0 / np.maximum(np.asarray(links.sum(axis=1)).ravel(), 1.0)) @ links
    chosen = LogisticRegressionCV(Cs=[0.03, 0.1, 0.3, 1.0], cv=5, max_iter=300).fit(X[train], y[train])
    topics = chosen.classes_

    def known(labels: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        given = np.where(train, np.where(train, y, ""), labels).astype(str)
        return (given[:, None] == topics[None, :].astype(str)).astype(np.float64)

    guessed = chosen.predict(X)
    first = known(guessed)
    penalty = float(np.ravel(chosen.C_)[0])
    both = LogisticRegression(C=penalty, max_iter=300)
    both.fit(sparse.hstack([X, shares @ first]).tocsr()[train], y[train])
    labels = guessed
    for _ in range(TIMES):
        labels = both.predict(sparse.hstack([X, shares @ known(labels)]).tocsr())
    return {
        "logistic regression on words": round(float((guessed[test] == y[test]).mean()), 4),
        "iterative classification": round(float((labels[test] == y[test]).mean()), 4),
    }


# --- facts -----------------------------------------------------------------------------------


def _uwcse() -> Iterator[tuple[str, Callable[[], Row]]]:
    for number in range(1, 6):
        yield (
            f"fold {number}",
            lambda number=number: _facts_fold(
                "uwcse", number, ["advisedby", "professor", "student", "inphase"]
            ),
        )


def _webkb() -> Iterator[tuple[str, Callable[[], Row]]]:
    for number in range(1, 5):
        yield f"fold {number}", lambda number=number: _webkb_fold(number)


ROLES = ["faculty", "student", "courseprof"]
WEBKB = {
    "faculty": ("person",),
    "student": ("person",),
    "courseprof": ("course", "person"),
    "teaches": ("course", "person"),
    "project": ("proj", "person"),
    "sameperson": ("person", "person"),
}


def _webkb_fold(number: int) -> Row:
    train, test = (_webkb_world(number, split) for split in ("train", "test"))
    start = time.process_time()
    joint = hb.JointClassifier(database=train[0], targets=ROLES).fit(train[1])
    row: Row = {"seconds": round(time.process_time() - start, 1)}
    database, labels = test
    rng = np.random.default_rng(number)
    for share in (0.0, 0.1):
        known = {name: rng.random(len(truth)) < share for name, (_, truth) in labels.items()}
        given = {
            name: (keys[known[name]], truth[known[name]]) for name, (keys, truth) in labels.items() if share
        }
        asked = {name: keys for name, (keys, _) in labels.items()}
        together = predict_together(world_of(joint.model_, database, asked, given))
        for name, (keys, truth) in labels.items():
            found = _scores(together, name, keys, truth, ~known[name])
            row |= {f"{name}, {share:.0%} known, {score}": value for score, value in found.items()}
    return row


def _webkb_world(number: int, split: str) -> tuple[Database, dict[str, tuple[Any, Any]]]:
    """The links of a fold without roles, and the keys and labels of each role."""
    folder = DATA / "webkb" / f"fold{number}" / split
    found: dict[str, set[tuple[str, ...]]] = {}
    for name in ("facts", "pos", "neg"):
        for text in (folder / f"{split}_{name}.txt").read_text(encoding="utf-8").splitlines():
            predicate, _, names = text.strip().rstrip(".").rstrip(")").partition("(")
            role = predicate if name != "neg" else f"no {predicate}"
            if names:
                found.setdefault(role, set()).add(tuple(each.strip() for each in names.split(",")))
    found["teaches"] = found["courseprof"] | found["courseta"]
    links = {
        name: list(zip(*sorted(found[name]), strict=True)) for name in ("teaches", "project", "sameperson")
    }
    persons = sorted(
        {key[0] for name in ("faculty", "no faculty", "student") for key in found[name]}
        | {key[1] for key in found["teaches"] | found["project"]}
    )
    modes = [
        f"{name}({','.join(signs)})."
        for name in links
        for first, second in [WEBKB[name]]
        for signs in ((f"+{first}", f"-{second}"), (f"-{first}", f"+{second}"))
    ]
    heads = [f"{name}({','.join(f'+{each}' for each in WEBKB[name])})." for name in ROLES]
    database = build(Schema(WEBKB), tuple(map(parse_mode, heads + modes)), links, ranges={"person": persons})
    people = np.array([[each] for each in persons], dtype=object)
    pairs = np.array(sorted(found["teaches"]), dtype=object)
    labels: dict[str, tuple[Any, Any]] = {
        name: (people, np.array([(each,) in found[name] for each in persons], dtype=np.int64))
        for name in ("faculty", "student")
    }
    labels["courseprof"] = (
        pairs,
        np.array([tuple(each) in found["courseprof"] for each in pairs.tolist()], dtype=np.int64),
    )
    return database, labels


def _facts_fold(data: str, number: int, targets: list[str]) -> Row:
    train, test = (hb.load(DATA / data / f"fold{number}", split) for split in ("train", "test"))
    start = time.process_time()
    joint = hb.JointClassifier(database=train, targets=targets)
    joint.fit({name: _labels(train, name) for name in targets})
    row: Row = {"seconds": round(time.process_time() - start, 1)}
    asked = {name: _labels(test, name)[0] for name in targets}
    world = world_of(joint.model_, test, asked, {})
    together = predict_together(world)
    row["settled"] = str(together.inferred.convergence)
    for name in targets:
        keys, truth = _labels(test, name)
        found = _scores(together, name, keys, np.searchsorted(joint.classes_[name], truth))
        row |= {f"{name}, {score}": value for score, value in found.items()}
    return row


def _labels(database: Database, name: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Keys and labels of a target: its examples; or, made of its facts, those of all persons."""
    if name in database.example_sets:
        return database.examples(name)
    names = np.array(list(database.population("person").names), dtype=object)
    columns = database.relation(name).columns
    if len(columns) == 1:
        labels = np.zeros(len(names), dtype=np.int64)
        labels[columns[0]] = 1
        return names.reshape(-1, 1), labels
    values = np.full(len(names), "none", dtype=object)
    values[columns[0]] = database.population(database.schema.types_of(name)[1]).decode(columns[1])
    return names.reshape(-1, 1), values.astype(str)


def _scores(
    together: Together, name: str, keys: npt.NDArray[Any], truth: npt.NDArray[Any], rows: Any = slice(None)
) -> Row:
    """Scores of the separate and of the joint model of a target, on some of the keys."""
    member = together.world.model.member(name)
    codes = together.world.database.encode_keys(name, keys[rows])
    found: Row = {}
    truth = truth[rows]
    for way, chances in (
        ("separate", member.chances(together.world.engine, codes)),
        ("joint", together.probabilities(name, keys[rows])),
    ):
        labels = list(range(member.target.size))
        found[f"log-loss, {way}"] = round(float(log_loss(truth, chances, labels=labels)), 5)
        if member.target.classes:
            found[f"accuracy, {way}"] = round(float((chances.argmax(axis=1) == truth).mean()), 4)
        else:
            found[f"AUC-ROC, {way}"] = round(float(roc_auc_score(truth, chances[:, 1])), 4)
            found[f"AUC-PR, {way}"] = round(float(average_precision_score(truth, chances[:, 1])), 4)
    return found


# --- generated worlds ------------------------------------------------------------------------


def _smokers() -> Iterator[tuple[str, Callable[[], Row]]]:
    for seed in range(WORLDS):
        yield f"world {seed}", lambda seed=seed: _smokers_world(seed)


def _smokers_world(seed: int) -> Row:
    """Learn from the persons whose labels are known; where none is, learn in another world."""
    targets = ["smokes", "cancer"]
    other, world = (smokers(n_persons=PERSONS, seed=2 * seed + number) for number in (0, 1))
    # Other persons, not only another world: what was learned about a person by name is of no use.
    world = replace(world, populations={"person": Population(Numbered("q", PERSONS))})
    rng = np.random.default_rng(seed)
    row: Row = {}
    for share in SHARES:
        known = rng.random(PERSONS) < share
        labels = {name: _labels(world, name) for name in targets}
        given = {name: (keys[known], truth[known]) for name, (keys, truth) in labels.items()}
        source = world if share else other
        joint = hb.JointClassifier(database=source, targets=targets)
        joint.fit(given if share else {name: _labels(other, name) for name in targets})
        together = predict_together(world_of(joint.model_, world, {}))
        for name, (keys, truth) in labels.items():
            found = _scores(together, name, keys, truth, ~known)
            row |= {f"{name}, {share:.0%} known, {score}": value for score, value in found.items()}
    return row


def _other() -> Iterator[tuple[str, Callable[[], Row]]]:
    for seed in range(WORLDS):
        yield f"world {seed}", lambda seed=seed: _other_world(seed)


def _other_world(seed: int) -> Row:
    """Learn with all labels of one world; predict in another, where more or fewer persons smoke."""
    targets = ["smokes", "cancer"]
    source = smokers(n_persons=PERSONS, seed=2 * seed)
    joint = hb.JointClassifier(database=source, targets=targets)
    joint.fit({name: _labels(source, name) for name in targets})
    rng = np.random.default_rng(seed)
    row: Row = {}
    for smoking in (0.4, 0.15, 0.7):
        world = smokers(n_persons=PERSONS, seed=2 * seed + 1, smoking=smoking)
        world = replace(world, populations={"person": Population(Numbered("q", PERSONS))})
        labels = {name: _labels(world, name) for name in targets}
        for share in (0.03, 0.1, 0.5):
            known = rng.random(PERSONS) < share
            given = {name: (keys[known], truth[known]) for name, (keys, truth) in labels.items()}
            together = predict_together(world_of(joint.model_, world, {}, given))
            for name, (keys, truth) in labels.items():
                found = _scores(together, name, keys, truth, ~known)
                kind = f"{name}, {smoking:.0%} smoke, {share:.0%} known"
                row |= {f"{kind}, {s}": value for s, value in found.items() if s.startswith("log-loss")}
    return row


def _growth() -> Iterator[tuple[str, Callable[[], Row]]]:
    for number in LINKS:
        yield f"{number:,} links", lambda number=number: _sweep(number)


def _sweep(n_links: int) -> Row:
    """One sweep of mean field over one and two links, for six classes."""
    database = smokers(n_persons=n_links // 10, mean_friends=10, seed=1)
    size, facts = len(database.population("person")), len(database.relation("friends"))
    target = JointTarget("cancer", tuple("abcdef"))
    things = things_of(database, target, KnownKeys(np.zeros((0, 1), np.int32), np.zeros(0, np.int64)))
    texts = (
        "cancer(A) :- friends(A,B), cancer(B).",
        "cancer(A) :- friends(A,B), friends(B,C), cancer(C).",
    )
    terms = tuple(Term("cancer", "share", (parse_clause(text, database.schema),)) for text in texts)
    reaches = Reaches(database, {"cancer": things})
    values = tuple(term_values(reaches, term) for term in terms)
    weights = tuple(TermWeights(0.5, ()) for _ in terms)
    chances = np.random.default_rng(0).dirichlet(np.ones(6), size=size)
    neighbours = Neighbours(0.0, terms, 0.0, (0.0,) * 6, weights)
    world = {"cancer": LinkedThings(things, own_scores(target, chances), neighbours, values)}
    timing, _ = measure.best_of(3, lambda: mean_field(world, most_sweeps=1))
    return {"links": facts, "things": size, "seconds": round(timing.cpu, 5)}


# --- tables ----------------------------------------------------------------------------------


def _text(results: dict[str, Any]) -> str:
    parts = [measure.machine_line(results["machine"])] if "machine" in results else []
    if "citations" in results:
        cpu = np.mean([row["seconds"] for row in results["citations"].values()])
        parts += [
            f"**Citations**, accuracy on the test papers of each split; a fit takes {cpu:.0f} CPU seconds:",
            _citation_table(results["citations"]),
        ]
    for part, title in (
        ("uwcse", "**UW-CSE**, `professor`, `student` and `inphase` hidden, no label of the test known"),
        ("webkb", "**WebKB**, `faculty`, `student` and course roles hidden"),
        ("smokers", f"**Smokers**, {WORLDS} pairs of worlds of {PERSONS:,} persons"),
        ("other", "**Other data** than those of training, 40 % of whose persons smoke"),
    ):
        if part in results:
            parts += [f"{title}; mean of the folds, difference ± its standard error:", _paired(results[part])]
    if "growth" in results:
        rows = [
            [f"{row['links']:,}", f"{row['things']:,}", measure.seconds(row["seconds"])]
            for row in sorted(results["growth"].values(), key=lambda row: row["links"])
        ]
        parts += [
            "**One sweep** over one and two links, six classes:",
            table(["links", "things", "CPU"], rows),
        ]
    return "\n\n".join(parts)


def _citation_table(rows: dict[str, Row]) -> str:
    ways = [
        "logistic regression on words",
        "iterative classification",
        "separate",
        "joint, no label known",
        "joint",
    ]
    lines = []
    for way in ways:
        values = [rows[name][way] for name in sorted(rows)]
        losses = [rows[name][f"{way}, log-loss"] for name in sorted(rows) if f"{way}, log-loss" in rows[name]]
        loss = f"{np.mean(losses):.3f}" if losses else ""
        error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
        lines.append(
            [way, f"{np.mean(values):.4f} ± {error:.4f}", loss, *(f"{value:.3f}" for value in values)]
        )
    return table(
        ["accuracy", "mean", "log-loss", *(name.removeprefix("split ") for name in sorted(rows))], lines
    )


def _paired(rows: dict[str, Row]) -> str:
    scores = [name.removesuffix(", joint") for name in next(iter(rows.values())) if name.endswith(", joint")]
    lines = []
    for score in scores:
        alone, joint = (
            np.array([row[f"{score}, {way}"] for row in rows.values()]) for way in ("separate", "joint")
        )
        difference = joint - alone
        error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else 0.0
        lines.append(
            [score, f"{alone.mean():.4f}", f"{joint.mean():.4f}", f"{difference.mean():+.4f} ± {error:.4f}"]
        )
    return table(["score", "separate", "joint", "difference"], lines)


if __name__ == "__main__":
    main()
