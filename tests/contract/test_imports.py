"""A command imports what it uses: what each verb has loaded at its end."""

from pathlib import Path

import pytest
from tools.house import verbs

NEVER = ("datasets", "engines.clauses", "estimators", "joint", "policies", "report", "rivals")
IN_PLACE = ("in_place.columns", "in_place.database", "in_place.groundings", "in_place.open", "engines.sql")
SENTENCES = ("logic.english.clauses", "logic.english.effects", "logic.english.phrases", "model.readable")
UNUSED = {
    "fit": (*NEVER, *IN_PLACE, *SENTENCES, "learning.boosting", "learning.classes", "model.editing"),
    "predict": (*NEVER, *IN_PLACE, "drawing", "learning.effects", "learning.losses"),
    "show": (*NEVER, *IN_PLACE, "engines.memory", "learning.effects"),
    "inspect": (*NEVER, *IN_PLACE, "drawing", "engines", "learning.effects", "model"),
}
"""Rooms and modules that the verb does without on tables."""
OF_TABLES = {"loading.facts.layout"}
"""What tables need of the room of facts: the names of splits."""
AT_MOST = {"fit": 150, "predict": 118, "show": 66, "inspect": 74}
"""Modules of ours that the verb loads."""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory) -> dict[str, list[str]]:
    folder: Path = tmp_path_factory.mktemp("shop")
    found = {
        verb: [name.partition(".")[2] for name in each.names if "." in name] for verb, each in verbs(folder)
    }
    assert all(found[verb] for verb in UNUSED)
    return found


@pytest.mark.parametrize("verb", UNUSED)
def test_a_command_imports_nothing_that_it_does_not_use(loaded, verb):
    unused = tuple(f"{name}." for name in UNUSED[verb])
    assert [name for name in loaded[verb] if f"{name}.".startswith(unused)] == []


@pytest.mark.parametrize("verb", UNUSED)
def test_tables_need_no_reader_of_facts(loaded, verb):
    assert {name for name in loaded[verb] if name.startswith("loading.facts.")} <= OF_TABLES


@pytest.mark.parametrize("verb", UNUSED)
def test_a_command_loads_no_more_modules_than_stated(loaded, verb):
    assert len(loaded[verb]) <= AT_MOST[verb]
