"""What a notebook shows: models, explanations and reports as HTML that nothing breaks out of."""

import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from hornbeam import AggLRClassifier, RDNBoostClassifier, RLRClassifier
from hornbeam.datasets.worlds import smokers
from hornbeam.errors import HornbeamWarning
from hornbeam.logic.clauses import Atom, Clause
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.explain import ClauseReason, Explanation
from hornbeam.report import roc_plot

EVIL = "<script>alert('x')</script>"


class Text(HTMLParser):
    """The text of some HTML, and the elements it has."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.tags = "", set()
        self.feed(html)

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)


@pytest.fixture(scope="module")
def world():
    database = smokers(n_persons=80, seed=5)
    X, y = database.examples("cancer")
    return database, X, y


@pytest.fixture(scope="module")
def classifier(world):
    database, X, y = world
    return RLRClassifier(database=database, target="cancer", n_steps=2, max_literals=2).fit(X, y)


def test_a_model_shows_its_effects_and_its_weights_per_constant(classifier):
    shown = Text(classifier.model_._repr_html_())
    model = classifier.model_
    assert model.effects
    for effect in model.effects:
        assert str(effect) in shown.text
    for weighted in model.clauses:
        assert weighted.each is not None
        strongest, weight = max(weighted.constants, key=lambda each: each[1])
        # Clauses with the same weights share a card, which shows what they add together.
        alike = sum(each.constants == weighted.constants for each in model.clauses)
        assert f"× {math.exp(weight * alike):.3g}{strongest}" in shown.text


def test_a_model_of_clauses_shows_them(world):
    database, X, y = world
    paper = RLRClassifier(database=database, target="cancer", preset="paper", n_steps=2, max_literals=2)
    model = paper.fit(X, y).model_
    shown = Text(model._repr_html_())
    assert model.clauses
    for weighted in model.clauses:
        assert str(weighted.clause) in shown.text
        assert f"{weighted.weights[1]:.4g}" in shown.text


def test_other_models_show_themselves(world):
    database, X, y = world
    aggregates = AggLRClassifier(database=database, target="cancer", max_literals=1).fit(X, y).model_
    assert str(aggregates.features[0].aggregate) in Text(aggregates._repr_html_()).text
    trees = RDNBoostClassifier(database=database, target="cancer", n_steps=1).fit(X, y).model_
    assert trees._repr_svg_().startswith("<svg")


def test_an_explanation_shows_what_adds_up(classifier, world):
    (explanation,) = classifier.explain(world[1][:1])
    shown = Text(explanation._repr_html_())
    for reason in explanation.reasons:
        assert not reason.contribution or reason.because(explanation.key) in shown.text
    assert explanation.heading in shown.text


def test_names_are_text():
    clause = Clause(Atom(EVIL, (0,)), (Atom("q", (0, EVIL)),))
    schema = Schema({EVIL: ("box",), "q": ("box", "box")})
    model = Model(EVIL, schema, 0.0, (WeightedClause(clause, (0.0, 1.0, 0.0), 1),))
    reason = ClauseReason(clause, (0.0, 1.0, 0.0), 1, 0, 1.0, (), ())
    explanation = Explanation(EVIL, (EVIL,), 0.0, 1.0, 0.73, (reason,))
    for html in (model._repr_html_(), explanation._repr_html_()):
        shown = Text(html)
        assert "script" not in shown.tags
        assert "alert(" in shown.text


def test_an_estimator_reports_with_and_without_labels(classifier, world, tmp_path):
    _, X, y = world
    classifier.report(X, y).save(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "AUC-PR 2:1" in text
    assert "Learning curve" in text
    assert "Mean log-loss of the held-out examples" in text
    assert "do not have both labels" in classifier.report(X[:3]).html
    assert re.search(r"<iframe srcdoc=", classifier.report(X[:3])._repr_html_())


def test_an_estimator_of_classes_reports_one_of_them(world):
    database, X, _ = world
    jobs = np.array([("cook", "smith", "monk")[number % 3] for number in range(len(X))])
    classifier = RLRClassifier(database=database, target="cancer", preset="paper", n_steps=1, max_literals=1)
    classifier.fit(X, jobs)
    assert "the model of class monk alone" in classifier.report(X, jobs, of_class="monk").html


def test_keys_that_the_data_do_not_have_keep_their_names(classifier, world):
    _, X, _ = world
    with pytest.warns(HornbeamWarning, match="nobody"):
        html = classifier.report(np.array([["nobody"], X[0]], dtype=object), [1, 0]).html
    assert f'"names":[["nobody","{X[0][0]}"]]' in html


def test_the_same_report_comes_out_the_same(classifier, world):
    _, X, y = world
    assert classifier.report(X, y).html == classifier.report(X, y).html


def test_a_figure_leaves_the_colours_of_a_notebook_alone():
    assert ":root" not in roc_plot([1, 0], [0.9, 0.1])._repr_svg_()
