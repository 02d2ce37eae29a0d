"""The page of ``hornbeam serve`` in a real browser: what-if, edit, undo, save, and names that are markup."""

import threading

import pytest
from playwright.sync_api import expect

import hornbeam as hb
from hornbeam.datasets.worlds import shop_files
from hornbeam.engines.registry import open_engine
from hornbeam.files import write_file
from hornbeam.in_place.load import load_quietly
from hornbeam.report.live.server import LiveServer
from hornbeam.report.live.session import LiveModel
from hornbeam.report.live.what_if import ChangeableTables

EVIL = "<img src=x onerror=run()>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A shop in which a kind of products is markup, and a model of it."""
    folder = tmp_path_factory.mktemp("live")
    (folder / "shop").mkdir()
    for name, text in shop_files(n_customers=200).items():
        if name.startswith("shop/"):
            write_file(folder / name, text.replace("shoes", EVIL))
    database = load_quietly(folder / "shop", target="customers.churned")
    classifier = hb.RLRClassifier(
        database=database, n_bags=1, validate=False, n_steps=80, per_constant=False, max_effects=5
    )
    hb.save_model(classifier.fit(*database.examples()).model_, folder / "m.json")
    return folder


@pytest.fixture
def live(folder, tmp_path, browser):
    """A page of the served model, and everything that went wrong in it."""
    model = hb.load_model(folder / "m.json")
    database = load_quietly(folder / "shop", origin=model.settings)
    tables = ChangeableTables(folder / "shop", model.settings, {})
    session = LiveModel(
        model, open_engine("memory", database), database.examples_of("churned"), tables, tmp_path
    )
    with LiveServer(session) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        context = browser.new_context(viewport={"width": 1200, "height": 900}, reduced_motion="reduce")
        page = context.new_page()
        problems: list[str] = []
        asked: list[str] = []
        page.on("console", lambda said: problems.append(said.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(server.address)
        page.wait_for_selector(".verdict")
        yield page, problems
        assert all(url.startswith(server.address) for url in asked)
        context.close()
        server.shutdown()


def shown(page, key):
    page.fill("#key", key)
    page.click("#find button")
    expect(page.locator(".verdict")).to_contain_text(f"Customer {key}:")


def test_what_if_edit_undo_and_save(live, folder, tmp_path):
    page, problems = live
    shown(page, "c7")
    before = page.text_content(".verdict")
    cell = page.get_by_label("age of customers row 8")
    cell.fill("79" if int(cell.input_value()) < 50 else "20")
    cell.press("Tab")
    page.wait_for_selector("#moved")
    assert page.text_content("#moved") not in ("0", "+0")
    assert all("age" in text for text in page.locator(".moves .moved").all_text_contents())
    row = page.locator(".near", has=page.get_by_role("heading", name="orders")).locator("tbody tr").first
    row.get_by_role("button").click()
    page.wait_for_selector("tr.removed")
    page.click("#reset")
    page.wait_for_selector("#moved", state="detached")
    assert page.text_content(".verdict") == before

    loss, effects = page.text_content("#loss"), page.locator(".cards > li").count()
    page.fill("#by", "<b>Ann</b>")
    page.get_by_role("button", name="Switch off: effect 1", exact=True).click()
    expect(page.locator(".cards > li")).to_have_count(effects - 1)
    assert page.text_content("#loss") != loss
    assert "(by <b>Ann</b>)" in page.text_content("#edits")
    expect(page.locator(".verdict")).not_to_have_text(before)
    page.get_by_role("button", name="Must fall: effect 1", exact=True).click()
    expect(page.locator("#edits li")).to_have_count(2)
    page.click("#undo")
    expect(page.locator("#edits li")).to_have_count(1)
    page.fill("#file", "mine.json")
    page.get_by_role("button", name="Save as a new model").click()
    expect(page.locator("#saved")).to_have_text("Saved as mine.json.")
    saved = hb.load_model(tmp_path / "mine.json")
    assert saved == hb.load_model(folder / "m.json").edited("off 1", by="<b>Ann</b>")
    assert problems == []


def test_what_is_wrong_is_said_on_the_page(live):
    page, problems = live
    shown(page, "c7")
    cell = page.get_by_label("age of customers row 8")
    cell.fill("<i>old</i>")
    cell.press("Tab")
    page.wait_for_selector("#problem:not([hidden])")
    assert '"<i>old</i>" is not a number' in page.text_content("#problem")
    page.fill("#key", "nobody")
    page.click("#find button")
    expect(page.locator("#problem")).to_contain_text("nobody")
    assert all("409" in text for text in problems)


def test_names_that_are_markup_are_text(live):
    page, problems = live
    assert EVIL in page.text_content("#effects")
    assert page.locator("#main img").count() == 0
    assert problems == []


@pytest.mark.parametrize("width", [360, 1200])
def test_the_page_fits_its_window(live, width):
    page, _ = live
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
