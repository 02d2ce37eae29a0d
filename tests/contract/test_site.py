"""The documentation builds as a site, strictly and without a network; what is generated is up to date."""

import html.parser
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = """
import socket, sys
def refuse(*_, **__):
    raise OSError("the site is built without a network")
socket.socket.connect = socket.getaddrinfo = refuse
from mkdocs.__main__ import cli
cli(["build", "--strict", "--quiet", "--site-dir", sys.argv[1]])
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "src"), *sys.path]))},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Page(html.parser.HTMLParser):
    """What a page loads, its identifiers, its links, and its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.names.add(found.get("id", ""))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag in ("script", "img", "iframe") and "src" in found:
            self.loads.append(found["src"])
        elif tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload", "preconnect"):
            self.loads.append(found["href"])

    def handle_data(self, data: str) -> None:
        self.text += data


def test_every_page_of_the_documents_is_in_the_site(site):
    for document in (ROOT / "docs").rglob("*.md"):
        assert (site / document.relative_to(ROOT / "docs").with_suffix(".html")).exists() or (
            document.name == "README.md"
        ), document


def test_the_pages_load_nothing_from_elsewhere(site):
    for path in site.rglob("*.html"):
        for address in Page(path).loads:
            assert "//" not in address, f"{path.name} loads {address}"


def test_links_between_pages_lead_to_something(site):
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    for path, page in pages.items():
        for link in page.links:
            address, _, name = link.partition("#")
            if ":" in address or (not address and not name):
                continue
            goal = (path.parent / address).resolve() if address else path
            assert goal in pages or goal.exists(), f"{path.name}: no {link}"
            assert not name or name in pages[goal].names, f"{path.name}: no {link}"


def test_formulas_are_drawn_by_the_browser_and_tables_are_filled_in(site):
    assert "<math" in (site / "inside.html").read_text(encoding="utf-8")
    benchmarks = Page(site / "benchmarks.html").text
    assert "two-hop chain" in benchmarks and "Not measured yet" not in benchmarks
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert "<!-- table" not in text, f"{path.name}: a table is not there"
        assert "arithmatex" not in text, f"{path.name}: a formula was not understood"


def test_each_class_has_a_page_with_its_parameters_types_and_defaults(site):
    for name in ("RLRClassifier", "RDNBoostClassifier", "Database", "Model", "EffectOptions"):
        assert (site / "reference" / f"{name}.html").exists()
    text = " ".join(Page(site / "reference" / "RLRClassifier.html").text.split())
    assert "n_bags int Number of models that are averaged" in text
    assert "predict_proba" in text and "get_feature_names_out" in text and "__getattr__" not in text
    assert ">>> database = smokers(n_persons=400)" in text


def test_the_written_references_are_not_stale():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "reference.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert done.returncode == 0, done.stderr
