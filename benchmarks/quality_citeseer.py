"""CiteSeer, where the default misses its mark: what features made by hand reach, and where the test lies.

    python benchmarks/quality_citeseer.py

The citations of fold 1 are of four topics; those of the test are all of one that training has not. So
three ways are compared on the test, and on parts of the training data: a fifth of the citations of each
topic, and a whole topic. By hand there are for each position its word and its neighbours' words, flags
and punctuation around it, and how much of each comes before and after it; logistic regression has all of
it, boosted trees the same but for words, of which they have the regression's cross-fitted score.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict

import hornbeam as hb
import measure
from measure import DATA, say, table

TARGET = "infield_ftitle"
FLAGS = ("center", "firstin", "firstnonauthortitletkn", "hascomma", "haspunc", "lastinitial")
WORDS = ("isalphachar", "isdate", "isdigit")
NEAR = (-2, -1, 0, 1, 2)
Features = dict[str, float]


def main() -> None:
    train, test = (hb.load(DATA / "citeseer" / "fold1", split, target=TARGET) for split in ("train", "test"))
    names, labels = train.examples(TARGET)
    citations = np.array([int(re.search(r"\d+", name)[0]) for (name,) in names])  # type: ignore[index]
    parts = {
        "a fifth of the citations held out": citations % 5 == 0,
        **{f"topic {topic} held out": citations // 1000 == topic for topic in (1, 2, 3)},
    }
    ways: dict[str, Callable[..., Any]] = {
        "logistic regression, by hand": _regression,
        "boosted trees, by hand": _trees,
        "hornbeam, default": _ours,
    }
    scores: dict[str, dict[str, float]] = {way: {} for way in ways}
    for name, held in parts.items():
        for way, learned in ways.items():
            found = learned(train, names[~held], labels[~held], citations[~held], train, names[held])
            scores[way][name] = round(float(roc_auc_score(labels[held], found)), 4)
            say(f"{name}, {way}: {scores[way][name]}")
    others, truth = test.examples(TARGET)
    for way, learned in ways.items():
        found = learned(train, names, labels, citations, test, others)
        scores[way]["the test, topic 0"] = round(float(roc_auc_score(truth, found)), 4)
        say(f"test, {way}: {scores[way]['the test, topic 0']}")
    machine = measure.machine(["hornbeam", "numpy", "scikit-learn"])
    measure.save("citeseer", {"machine": machine, "auc_roc": scores})
    columns = list(scores["hornbeam, default"])
    rows = [[way, *(f"{found[column]:.3f}" for column in columns)] for way, found in scores.items()]
    measure.write_section("citeseer", table(["AUC-ROC", *columns], rows))


def _ours(
    train: hb.Database, names: Any, labels: Any, citations: Any, test: hb.Database, others: Any
) -> np.ndarray:
    classifier = hb.RLRClassifier(database=train, target=TARGET).fit(names, labels)
    found: np.ndarray = classifier.predict_proba(others, database=test)[:, 1]
    return found


def _regression(
    train: hb.Database, names: Any, labels: Any, citations: Any, test: hb.Database, others: Any
) -> np.ndarray:
    vectors = DictVectorizer()
    known = vectors.fit_transform({**words, **rest} for words, rest in _features(train, names))
    asked = vectors.transform({**words, **rest} for words, rest in _features(test, others))
    found: np.ndarray = _logistic().fit(_narrow(known), labels).decision_function(asked)
    return found


def _trees(
    train: hb.Database, names: Any, labels: Any, citations: Any, test: hb.Database, others: Any
) -> np.ndarray:
    words, rest = DictVectorizer(), DictVectorizer(sparse=False)
    known, asked = list(_features(train, names)), list(_features(test, others))
    seen = _narrow(words.fit_transform(each[0] for each in known))
    crossed = cross_val_predict(
        _logistic(), seen, labels, groups=citations, cv=GroupKFold(5), method="decision_function"
    )
    score = _logistic().fit(seen, labels).decision_function(words.transform(each[0] for each in asked))
    learned = HistGradientBoostingClassifier(
        max_iter=300, learning_rate=0.05, min_samples_leaf=50, random_state=0
    ).fit(np.c_[rest.fit_transform(each[1] for each in known), crossed], labels)
    found: np.ndarray = learned.decision_function(np.c_[rest.transform(each[1] for each in asked), score])
    return found


def _logistic() -> LogisticRegression:
    return LogisticRegression(C=0.3, solver="liblinear")


def _narrow(matrix: Any) -> Any:
    """The matrix with indices that liblinear takes."""
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return matrix


def _features(database: hb.Database, names: Any) -> Iterator[tuple[Features, Features]]:
    """For each position the words around it, and all else."""
    facts = {predicate: _rows(database, predicate) for predicate in database.relations}
    place = {name: (citation, _number(at)) for name, citation, at in facts["isbibpos"]}
    lengths = Counter(citation for citation, _ in place.values())
    words: dict[tuple[str, int], list[str]] = defaultdict(list)
    for word, at, citation in facts["token"]:
        words[citation, _number(at)].append(word)
    marks: dict[str, dict[str, list[int]]] = {flag: defaultdict(list) for flag in FLAGS}
    for flag in FLAGS:
        for citation, at in facts[flag]:
            marks[flag][citation].append(_number(at))
    for citation, at, mark in facts["followby"]:
        marks.setdefault(mark, defaultdict(list))[citation].append(_number(at))
    kinds = {kind: {word for (word,) in facts[kind]} for kind in WORDS}
    for (name,) in names:
        citation, at = place[name]
        near = {way: words.get((citation, at + way), []) for way in (-1, 0, 1)}
        said = {f"word {way} {word}": 1.0 for way, found in near.items() for word in found}
        rest = {f"at {at}": 1.0, "before": np.log1p(at), "after": np.log1p(lengths[citation] - at)}
        for kind, known in kinds.items():
            rest |= {f"{kind} {way}": 1.0 for way, found in near.items() if known & set(found)}
        for flag, places in marks.items():
            there = places.get(citation, [])
            rest |= {f"{flag} {way}": 1.0 for way in NEAR if at + way in there}
            for side, number in (
                ("before", sum(p < at for p in there)),
                ("after", sum(p > at for p in there)),
            ):
                rest[f"{flag} {side}"] = float(np.log1p(number))
                rest |= {f"{flag} {side} {least}": 1.0 for least in (1, 2, 3, 4) if number >= least}
        yield said, rest


def _rows(database: hb.Database, predicate: str) -> list[tuple[str, ...]]:
    types, relation = database.schema.types_of(predicate), database.relations[predicate]
    columns = (database.population(t).decode(c) for t, c in zip(types, relation.columns, strict=True))
    return list(zip(*columns, strict=True))


def _number(at: str) -> int:
    return int(at[1:])


if __name__ == "__main__":
    main()
