"""Reports in a real browser, opened from a file with the network off, as people open them."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.data.database import Database
from hornbeam.datasets.worlds import university
from hornbeam.drawing.markup import percent_text
from hornbeam.engines.registry import open_engine
from hornbeam.learning.boosting import boost
from hornbeam.learning.options import fit_options
from hornbeam.logic.clauses import Atom, Clause
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.evaluate import evaluate
from hornbeam.model.explain import explain, named_groundings
from hornbeam.report import About, report
from hornbeam.report.numbers.evidence import PER_EXAMPLE

PAGE_TITLE = "For which pairs of persons is advisedby true?"
TARGET = "advisedby"
EVIL = [
    "<script>document.title='run'</script>",
    "</script><script>document.title='run'</script>",
    "<img src=x onerror=\"document.title='run'\">",
    "\"quoted\" & 'quoted' \\ `back` ${document.title='run'}",
    "emoji 🌳 and \u2028 lines \u202e turned",
    "x" * 300,
    "{{data}}",
    "half a pair \ud800",
]


class World:
    """A model on data, its report, and what the report must say."""

    def __init__(self, folder: Path) -> None:
        training, self.database = university(n_departments=4, seed=0), university(n_departments=4, seed=1)
        examples = training.examples_of(TARGET)
        options = fit_options("paper", n_steps=8, max_literals=2)
        fitted = boost.fit(open_engine("memory", training), examples, options)
        self.model = fitted.model
        self.engine = open_engine("memory", self.database)
        self.examples = self.database.examples_of(TARGET)
        self.probabilities = self.model.probabilities(self.engine, self.examples.keys)
        self.path = folder / "report.html"
        about = About("a university", "test", history=fitted.history.as_dict(), phases=(("load", 0.25),))
        report(self.model, self.engine, self.examples, about).save(self.path)

    def name(self, place: int) -> list[str]:
        return self.database.names_of(TARGET, self.examples.keys[[place]])[0].tolist()


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> World:
    return World(tmp_path_factory.mktemp("report"))


def number(text: str) -> float:
    return float(text.replace("−", "-").replace(",", "").replace("+", ""))


def first_cells(page, column: int) -> list[str]:
    return page.locator(f"#table tbody tr td:nth-child({column})").all_inner_texts()


def test_it_opens_without_network_and_without_complaint(world, open_tab):
    tab = open_tab(world.path)
    assert tab.page.title() == PAGE_TITLE
    assert tab.page.locator("h1").inner_text() == PAGE_TITLE
    assert tab.problems == []
    assert tab.asked == [world.path.as_uri()]


def test_the_scores_are_the_models(world, open_tab):
    page = open_tab(world.path).page
    scores = evaluate(world.examples.labels, world.probabilities)
    tiles = page.locator("#summary .tiles b").all_inner_texts()
    assert [tile.replace("\u00a0", " ") for tile in tiles] == [
        percent_text(scores.auc_roc, 1),
        percent_text(scores.auc_pr, 1),
        f"{scores.log_loss:.3f}",
    ]
    page.locator("#summary summary").click()
    rows = page.locator("#summary tbody tr")
    names, values = rows.locator("th").all_inner_texts(), rows.locator("td:nth-child(2)").all_inner_texts()
    assert dict(zip(names, values, strict=True)) == {
        "AUC-ROC": f"{scores.auc_roc:.4f}",
        "AUC-PR": f"{scores.auc_pr:.4f}",
        "AUC-PR 2:1": f"{scores.auc_pr_2to1:.4f}",
        "Log-loss": f"{scores.log_loss:.4f}",
        "Brier": f"{scores.brier:.4f}",
    }


def test_every_clause_is_there_with_its_weights(world, open_tab):
    page = open_tab(world.path).page
    for place, weighted in enumerate(world.model.compact().clauses, start=1):
        item = page.locator(f"#part-{place}")
        assert item.locator(".logic").inner_text().replace(" ", "") == str(weighted.clause).replace(" ", "")
        shown, reading = re.fullmatch(r"\[(.*)\] ?(.*)", item.locator(".weights").inner_text()).groups()
        assert list(map(number, shown.split(", "))) == pytest.approx(weighted.weights, rel=1e-3)
        assert reading == ("" if weighted.feature == "count" else weighted.feature)


def test_the_table_is_sorted_by_mouse_and_keyboard(world, open_tab):
    page = open_tab(world.path).page
    highest = np.sort(world.probabilities)[::-1]
    assert first_cells(page, 3) == [percent_text(value, 1) for value in highest[:25]]
    head = page.locator("#table thead th").nth(2)
    assert head.get_attribute("aria-sort") == "descending"
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert first_cells(page, 3) == [percent_text(value, 1) for value in np.sort(world.probabilities)[:25]]
    page.locator("#table thead th").nth(0).locator("button").focus()
    page.keyboard.press("Enter")
    names = sorted(", ".join(world.name(place)) for place in range(len(world.examples)))
    assert first_cells(page, 1) == names[:25]


def test_the_table_is_filtered_and_turned(world, open_tab):
    page = open_tab(world.path).page
    total = len(world.examples)
    page.locator("#label").select_option("1")
    positives = int(world.examples.labels.sum())
    assert page.locator("#found").inner_text() == f"{positives} of {total:,} examples"
    page.locator("#label").select_option("")
    name = world.name(7)[0]
    page.locator("#find").fill(f"{name.upper()}, ")
    matching = sum(f"{name}, " in ", ".join(world.name(place)) for place in range(total))
    assert page.locator("#found").inner_text() == f"{matching} of {total:,} examples"
    page.locator("#find").fill("")
    page.locator("#wrong").check()
    wrong = int(((world.probabilities >= 0.5) != (world.examples.labels == 1)).sum())
    assert page.locator("#found").inner_text() == f"{wrong} of {total:,} examples"
    page.locator("#wrong").uncheck()
    page.locator("#next").click()
    second = np.sort(world.probabilities)[::-1][25:50]
    assert first_cells(page, 3) == [percent_text(value, 1) for value in second]


def test_an_example_opens_with_the_models_explanation(world, open_tab):
    page = open_tab(world.path).page
    place = int(world.probabilities.argsort()[-3])
    name = world.name(place)
    page.locator("#find").fill(", ".join(name))
    page.locator("#table tbody tr").first.click()
    expected = explain(world.model, world.engine, world.examples.keys[place], name)
    assert page.locator("#why h3").inner_text() == ", ".join(name)
    assert page.locator("#why .verdict b").inner_text() == percent_text(expected.probability, 1)
    rows = page.locator("#why .fall-row:not(.head)")
    *texts, last = rows.locator(".adds").all_inner_texts()
    assert last == percent_text(expected.probability, 1)
    adds = [number(text) for text in texts]
    telling = [reason for reason in expected.reasons if reason.contribution]
    assert adds[0] == pytest.approx(expected.prior, rel=5e-3)
    assert adds[1 : 1 + len(telling)] == pytest.approx([each.contribution for each in telling], rel=5e-3)
    assert adds[-1] == pytest.approx(expected.log_odds, rel=5e-3)
    with_groundings = [reason for reason in telling if reason.variables and reason.true][:PER_EXAMPLE]
    for reason, row in zip(telling, rows.all()[1:], strict=False):
        text = row.inner_text()
        if reason.variables:
            assert f"true {reason.true:,}, false {reason.false:,}" in text
            every = named_groundings(world.database, reason.clause, world.examples.keys[place], 10**6)
            told = row.locator(".counts code").all_inner_texts()
            assert bool(told) == (reason in with_groundings)
            for shown in told:
                single = len(reason.variables) == 1
                values = (
                    [(v,) for v in shown.split(", ")] if single else re.findall(r"\((.*?), (.*?)\)", shown)
                )
                assert len(values) == min(reason.true, 4)
                assert set(values) <= set(every)


def test_an_example_is_opened_by_keyboard_alone(world, open_tab):
    page = open_tab(world.path).page
    page.locator("#table tbody button").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    place = int(np.argsort(-world.probabilities, kind="stable")[2])
    assert page.locator("#why h3").inner_text() == ", ".join(world.name(place))
    assert page.evaluate("document.activeElement.id") == "why"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.textContent") == ", ".join(world.name(place))


def test_a_threshold_tells_what_it_does(world, open_tab):
    page = open_tab(world.path).page
    slider = page.locator("#threshold")
    slider.focus()
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    found = world.probabilities >= 0.70
    positive = world.examples.labels == 1
    assert page.locator("#threshold-value").inner_text() == "70 %"
    assert page.locator("#at-tp").inner_text() == f"{int((found & positive).sum()):,}"
    assert page.locator("#at-fp").inner_text() == f"{int((found & ~positive).sum()):,}"
    assert page.locator("#at-fn").inner_text() == f"{int((~found & positive).sum()):,}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_nothing_stands_in_the_way_of_anybody(world, open_tab, scheme, width):
    from axe_playwright_python.sync_playwright import Axe

    page = open_tab(world.path, color_scheme=scheme).page
    page.set_viewport_size({"width": width, "height": 900})
    for summary in page.locator("summary").all():
        summary.click()
    found = Axe().run(page).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] != "minor"] == []


@pytest.mark.parametrize("width", [1200, 390])
def test_the_page_is_never_wider_than_the_window(world, open_tab, width):
    page = open_tab(world.path).page
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_light_and_dark_can_be_chosen(world, open_tab):
    page = open_tab(world.path, color_scheme="light").page
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.locator("#theme").click()
    assert page.evaluate(ground) != light
    page.locator("#theme").click()
    assert page.evaluate(ground) == light


def test_without_scripts_all_but_the_table_is_there(world, open_tab):
    page = open_tab(world.path, java_script_enabled=False).page
    assert page.locator("#quality svg").count() == 5
    assert page.locator("noscript").count() == 1
    assert not page.locator("#table").is_visible()


# --- names that would like to be more than names -------------------------------------------------


def evil_world() -> tuple[Database, Model]:
    """A world whose predicates, types and constants are all hostile."""
    relation, kind = EVIL[0], EVIL[2]
    schema = Schema({EVIL[1]: (kind,), relation: (kind, EVIL[3]), EVIL[6]: (kind,)})
    facts = {relation: [EVIL, EVIL[::-1]], EVIL[6]: [EVIL[:2]]}
    examples = {EVIL[1]: ([[name] for name in EVIL], [1, 0, 1, 0, 1, 0, 1, 0])}
    database = build(schema, (), facts, examples)
    clauses = (
        WeightedClause(Clause(Atom(EVIL[1], (0,)), (Atom(relation, (0, 1)),)), (0.5, 1.0, -0.25), 8),
        WeightedClause(Clause(Atom(EVIL[1], (0,)), (Atom(relation, (0, EVIL[6])),)), (0.0, -1.0, 0.25), 1),
    )
    return database, Model(EVIL[1], schema, 0.0, clauses, {"note": EVIL[0]})


def plain(name: str) -> str:
    """As a browser shows it: white space is a space, and half a pair of surrogates a question mark."""
    return re.sub(r"\s+", " ", name.encode("utf-8", "replace").decode())


def test_hostile_names_are_text_and_run_nothing(tmp_path, open_tab):
    database, model = evil_world()
    path = tmp_path / "report.html"
    about = About(EVIL[2], EVIL[3], history={"steps": [], "ended": EVIL[0], "skipped": []}, notes=(EVIL[1],))
    report(model, open_engine("memory", database), database.examples_of(EVIL[1]), about).save(path)
    tab = open_tab(path)
    page = tab.page
    assert tab.problems == []
    assert tab.asked == [path.as_uri()]
    assert EVIL[1] in page.title()
    shown = set(first_cells(page, 1))
    assert set(map(plain, shown)) == set(map(plain, EVIL))
    for row in range(len(EVIL)):
        page.locator("#table tbody button").nth(row).click()
        assert page.locator("#why h3").is_visible()
    assert page.evaluate("document.querySelectorAll('main img, main script').length") == 0
    assert EVIL[1] in page.title()
    assert EVIL[0] in page.locator("#why").inner_text() or EVIL[0] in page.locator("#clauses").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1200
    assert tab.problems == []


def test_a_script_that_got_into_the_page_would_not_run(world, tmp_path, open_tab):
    """The policy in the file holds, should escaping ever fail."""
    path = tmp_path / "broken.html"
    text = world.path.read_text(encoding="utf-8")
    added = "<main><script>document.title='run'</script><img src=x onerror=\"document.title='run'\">"
    path.write_text(text.replace("<main", f"{added}</main><main", 1), encoding="utf-8")
    tab = open_tab(path)
    assert tab.page.title() == PAGE_TITLE
    assert any("Content Security Policy" in problem for problem in tab.problems)


def test_many_examples_are_sampled_and_the_page_says_so(world, tmp_path, open_tab):
    path = tmp_path / "few.html"
    report(world.model, world.engine, world.examples, shown=100).save(path)
    page = open_tab(path).page
    total = len(world.examples)
    assert f"100 of {total:,} examples" in page.locator("#examples .lead").inner_text()
    assert page.locator("#found").inner_text() == "100 examples"


def test_constants_with_weights_of_their_own_are_told(tmp_path, open_tab):
    schema = Schema({"likes": ("person",), "saw": ("person", "film")})
    seen = [["ann", "ann", "bob", "cat"], ["alien", "brazil", "brazil", "clue"]]
    database = build(schema, (), {"saw": seen}, {"likes": ([["ann"], ["bob"], ["cat"]], [1, 0, 1])})
    clause = Clause(Atom("likes", (0,)), (Atom("saw", (0, 1)),))
    constants = (("alien", 2.0), ("brazil", -1.0))
    weighted = WeightedClause(clause, (0.0, 1.0, 0.0), 3, "count", 1, constants)
    model = Model("likes", schema, 0.5, (weighted,))
    path = tmp_path / "report.html"
    report(model, open_engine("memory", database), database.examples_of("likes")).save(path)
    page = open_tab(path).page
    assert (
        page.locator("#part-1 .saying")
        .inner_text()
        .endswith("depends on which films B there are with saw(A, B).")
    )
    assert page.locator("#part-1 .weights").inner_text() == "[B: +2 alien, −1 brazil]"
    told = {}
    for name in ("ann", "bob", "cat"):
        page.locator("#find").fill(name)
        page.locator("#table tbody button").first.click()
        told[name] = page.locator("#why .by-constant").all_inner_texts()
    assert told == {"ann": ["alien +2, brazil −1"], "bob": ["brazil −1"], "cat": []}


def test_the_picture_in_the_documents_shows_what_a_report_shows(browser):
    script = Path(__file__).parents[2] / "tools" / "picture.py"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
