"""A command imports what it uses: what each verb has loaded at its end."""

from pathlib import Path

import pytest
from tools.house import verbs

UNUSED = {
    "fit": {"datasets", "estimators", "joint", "policies", "report", "rivals"},
    "predict": {"datasets", "estimators", "joint", "policies", "report", "rivals"},
    "show": {"datasets", "estimators", "in_place", "joint", "policies", "report", "rivals"},
    "inspect": {"datasets", "estimators", "in_place", "joint", "policies", "report", "rivals"},
}
"""Rooms that the verb does without on tables."""
FACTS = "hornbeam.loading.facts."
OF_TABLES = {FACTS + "layout"}
"""What tables need of the room of facts: the names of splits."""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory) -> dict[str, list[str]]:
    folder: Path = tmp_path_factory.mktemp("shop")
    return dict(verbs(folder))


@pytest.mark.parametrize("verb", UNUSED)
def test_a_command_imports_no_room_that_it_does_not_use(loaded, verb):
    assert UNUSED[verb].isdisjoint(name.split(".")[1] for name in loaded[verb] if "." in name)


@pytest.mark.parametrize("verb", UNUSED)
def test_tables_need_no_reader_of_facts(loaded, verb):
    assert {name for name in loaded[verb] if name.startswith(FACTS)} <= OF_TABLES
