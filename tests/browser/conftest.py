"""A real browser for reports, which are opened from a file with the network off."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        pytest.skip("no chromium on the PATH (apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        # Tests may run as root, for whom there is no sandbox.
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Tab:
    """A page opened from a file, and everything that went wrong in it."""

    def __init__(self, browser, path: Path, **options) -> None:
        self.context = browser.new_context(
            offline=True, viewport={"width": 1200, "height": 900}, reduced_motion="reduce", **options
        )
        self.page = self.context.new_page()
        self.problems: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda said: self.problems.append(f"{said.type}: {said.text}"))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())


@pytest.fixture
def open_tab(browser) -> Iterator:
    tabs: list[Tab] = []

    def open_tab(path: Path, **options) -> Tab:
        tabs.append(Tab(browser, path, **options))
        return tabs[-1]

    yield open_tab
    for tab in tabs:
        tab.context.close()
