"""The gallery is written from its problems and from the recorded results, and its pictures are there."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "gallery.md"


@pytest.fixture
def gallery(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    import gallery

    return gallery


def test_the_page_is_that_of_the_recorded_results(gallery):
    assert PAGE.read_text(encoding="utf-8") == gallery.page(gallery.measure.load("gallery"))


def test_there_are_at_least_four_problems_each_with_two_programs_and_a_picture(gallery):
    found = gallery.measure.load("gallery")
    measured = [name for name in gallery.PROBLEMS if name in found]
    assert len(measured) >= 4
    for name in measured:
        assert set(found[name]["scores"]) == {"Hornbeam", gallery.OTHER}
        assert len(gallery.PROBLEMS[name].code.splitlines()) <= 5


def test_the_pictures_are_of_the_effects_that_the_page_names():
    for sentence, picture in re.findall(r"!\[(.*)\]\((.*)\)", PAGE.read_text(encoding="utf-8")):
        drawn = (PAGE.parent / picture).read_text(encoding="utf-8")
        assert sentence.partition(";")[0].replace("'", "&#39;") in drawn.replace("'", "&#39;")
