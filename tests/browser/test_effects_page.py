"""The report of a model with effects, in a real browser: cards, words, order, and room for every label."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hornbeam as hb
from folders import write
from hornbeam.drawing.markup import percent_text
from hornbeam.engines.registry import open_engine
from hornbeam.logic.clauses import Atom, Clause
from hornbeam.logic.parse_effect import parse_effect
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.effects import FittedEffect
from hornbeam.model.training import key_names, training_of
from hornbeam.report import About, report

N_USERS, N_MOVIES = 60, 12
EFFECTS = [
    ("value B [< 30: -0.4; < 50: 0.1; else: 0.5] : gender_f(A) :- age(A,B).", 0.3),
    (
        "share [missing: 0; < 0.25: 0.2; < 0.5: 0.1; < 0.75: -0.1; else: -1.2] "
        ": gender_f(A) :- ratings(A,B), western(B).",
        0.5,
    ),
    ("count [< 1: 0.02; else: -0.26] : gender_f(A) :- job(A,B), B = engineer.", 0.1),
    ("mean C [< 2.1234: 3.5; < 3.9876: 0; else: -2.5] : gender_f(A) :- stars(A,B,C).", 0.2),
]


class EffectsWorld:
    """Tables of users and films, a model with effects and weights of films, and its report."""

    def __init__(self, folder: Path) -> None:
        jobs = ("engineer", "baker", "teacher")
        users = "user_id,age,gender,job\n" + "".join(
            f"u{n},{20 + n % 45},{'F' if n % 3 else 'M'},{jobs[n % 3]}\n" for n in range(N_USERS)
        )
        movies = "movie_id,title,western\n" + "".join(
            f"m{n},A film about <b>{n}</b> & more,{int(n % 4 == 0)}\n" for n in range(N_MOVIES)
        )
        ratings = "user_id,movie_id,stars\n" + "".join(
            f"u{n},m{(n * 5 + k) % N_MOVIES},{1 + (n + k) % 5}\n" for n in range(N_USERS) for k in range(4)
        )
        files = {"users.csv": users, "movies.csv": movies, "ratings.csv": ratings}
        self.database = hb.load(write(folder / "tables", files), target="users.gender=F")
        self.engine = open_engine("memory", self.database)
        self.examples = self.database.examples_of("gender_f")
        self.effects = []
        for text, importance in EFFECTS:
            effect = parse_effect(text, self.database.schema)
            size = len(effect.curve.levels)
            examples = (0, *range(5, 5 + size))
            self.effects.append(FittedEffect(effect, importance, (0.1,) * (size + 1), examples))
        clause = Clause(Atom("gender_f", (0,)), (Atom("ratings", (0, 1)),))
        constants = tuple((f"m{n}", (-1) ** n * (0.1 + n / 20)) for n in range(N_MOVIES))
        weighted = WeightedClause(clause, (0.0, 0.0, 0.0), 0, "log", 1, constants)
        settings = {**self.database.origin, "average_log_odds": -0.5, "n_steps": 600, "steps": 41}
        self.model = Model(
            "gender_f", self.database.schema, -0.2, (weighted,), settings, effects=tuple(self.effects)
        )
        self.path = self.page(folder, "report.html", self.model)

    def page(self, folder: Path, name: str, model: Model) -> Path:
        history = {"steps": [], "ended": "all steps done", "skipped": []}
        about = About("users", "test", history=history, phases=(("load", 0.25),))
        report(model, self.engine, self.examples, about).save(folder / name)
        return folder / name


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> EffectsWorld:
    return EffectsWorld(tmp_path_factory.mktemp("effects"))


def test_the_page_answers_the_question_first_and_folds_settings_away(world, open_tab):
    tab = open_tab(world.path)
    page = tab.page
    assert page.locator("h1").inner_text() == "Which users have gender F?"
    sections = page.evaluate("[...document.querySelectorAll('main > section')].map((each) => each.id)")
    assert sections == ["summary", "clauses", "examples", "quality", "tables", "details"]
    assert page.locator("header .lead").inner_text().startswith("Of two users, one F and one not F,")
    assert page.locator("#details > details[open]").count() == 0
    assert not page.get_by_text("n steps", exact=True).is_visible()
    page.locator("#learning > summary").click()
    assert "41 of at most 600 small steps" in page.locator("#learning").inner_text()
    assert "all steps done" not in page.locator("main").inner_text()
    assert tab.problems == []


def test_each_effect_is_a_card_in_order_of_importance(world, open_tab):
    page = open_tab(world.path).page
    cards = page.locator(".cards > .card:not(.whole)")
    sayings = cards.locator(".saying").all_inner_texts()
    assert [text.partition("Gender F ")[2] for text in sayings] == [
        "is less likely if the share of the user's movies that are western is 75 % or more.",
        "is likelier the larger the user's age.",
        "is less likely the larger the mean stars of the user's movies.",
        "is less likely if the user's job is engineer.",
    ]
    average = world.model.settings["average_log_odds"]
    age = world.effects[0]
    mean = sum(n * level for n, level in zip(age.examples[1:], age.effect.curve.levels, strict=True))
    base = average - mean / sum(age.examples)
    ends = [percent_text(1 / (1 + np.exp(-base - level))) for level in (-0.4, 0.5)]
    assert cards.nth(1).locator(".change b").inner_text() == f"From {ends[0]} to {ends[1]}"
    assert cards.nth(1).locator("svg .sizes").count() == 3
    assert cards.nth(1).locator("svg .error").count() == 3
    cards.nth(3).locator("summary").click()
    assert cards.nth(3).locator("tbody th").all_inner_texts() == ["no", "yes"]


def test_the_rest_of_many_effects_is_counted(world, open_tab, tmp_path):
    first = world.effects[0]
    many = tuple(
        FittedEffect(
            parse_effect(
                f"count [< {n}: -0.5; else: 0.5] : gender_f(A) :- ratings(A,B).", world.model.schema
            ),
            1 / n,
            (),
            first.examples[:3],
        )
        for n in range(1, 23)
    )
    # The same body with the same feature is one effect, so the features must differ.
    many = tuple(
        replace(each, effect=each.effect._replace(body=(*each.effect.body, *((Atom("western", (1,)),) * n))))
        for n, each in enumerate(many)
    )
    page = open_tab(world.page(tmp_path, "many.html", replace(world.model, effects=many))).page
    assert page.locator(".cards > .card:not(.whole)").count() == 22
    assert page.locator(".cards > .card:not(.whole):visible").count() == 10
    page.get_by_text("12 less important effects").click()
    assert page.locator(".cards > .card:not(.whole):visible").count() == 22


def test_films_have_their_titles(world, open_tab):
    page = open_tab(world.path).page
    titles = page.locator("#constants tbody th").all_inner_texts()
    assert "A film about <b>10</b> & more" in titles
    assert not any(title.startswith("m1") for title in titles)


def test_an_explanation_says_the_values_and_ends_in_the_probability(world, open_tab):
    page = open_tab(world.path).page
    page.locator("#find").fill("u59")
    page.locator("#table tbody button").first.click()
    assert page.locator("#why h3").inner_text() == "user u59"
    text = page.locator("#why").inner_text()
    assert "the user's age is 34" in text
    assert "the user's job is engineer: no" in text
    shown = page.locator("#why .fall-row.end .adds").inner_text()
    row = world.database.names_of("gender_f", world.examples.keys)[:, 0].tolist().index("u59")
    keys = world.examples.keys[[row]]
    assert shown == percent_text(float(world.model.probabilities(world.engine, keys)[0]), 1)


def test_the_page_says_whether_the_model_knows_the_examples(world, open_tab, tmp_path):
    own = training_of(key_names(world.database, world.examples))
    page = open_tab(world.page(tmp_path, "own.html", replace(world.model, training=own))).page
    assert "The model was learned from these examples" in page.locator("#summary").inner_text()
    other = training_of([["nobody"]])
    page = open_tab(world.page(tmp_path, "other.html", replace(world.model, training=other))).page
    assert (
        "These are not the examples that the model was learned from." in page.locator("#summary").inner_text()
    )


@pytest.mark.parametrize("width", [1280, 390])
def test_navigation_and_theme_are_on_the_screen(world, open_tab, width):
    page = open_tab(world.path).page
    page.set_viewport_size({"width": width, "height": 900})
    for each in page.locator("nav a, #theme").all():
        box = each.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    links = page.locator("nav .links")
    assert links.evaluate("(node) => node.scrollWidth - node.clientWidth") <= 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [1280, 390])
def test_no_label_of_a_drawing_is_cut(world, open_tab, width):
    page = open_tab(world.path).page
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    cut = page.evaluate(
        """[...document.querySelectorAll('main svg.figure text')].filter((text) => {
            const own = text.getBoundingClientRect(), all = text.closest('svg').getBoundingClientRect();
            return own.left < all.left - 1 || own.right > all.right + 1
                || own.top < all.top - 1 || own.bottom > all.bottom + 1;
        }).map((text) => text.textContent)"""
    )
    assert cut == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_cards_stand_in_nobodys_way(world, open_tab, scheme, width):
    from axe_playwright_python.sync_playwright import Axe

    page = open_tab(world.path, color_scheme=scheme).page
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    found = Axe().run(page).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] != "minor"] == []
