"""The option ``group``: examples of one larger thing are learned from together or held out together."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.data.database import Database
from hornbeam.engines.registry import open_engine
from hornbeam.errors import HornbeamError, OptionError
from hornbeam.learning.effects.examples.bagging import FOLDS, design, example_hashes, fold_numbers
from hornbeam.learning.effects.examples.linked_groups import MOST_ARGUMENTS, things_of_group
from hornbeam.learning.learners import learn
from hornbeam.learning.options import EffectOptions
from hornbeam.loading import load
from hornbeam.model.files import model_text

CITATIONS, POSITIONS = 30, 300


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Positions of citations: the label is that of the citation, and nothing else tells it."""
    random = np.random.default_rng(1)
    labels = random.random(CITATIONS) < 0.5
    words = [("id", "word")] + [(f"w{n}", f"word{n}") for n in range(40)]
    positions = [("id", "citation_id", "word_id", "starts")]
    for n in range(POSITIONS):
        citation = n % CITATIONS
        positions.append((f"p{n}", f"c{citation}", f"w{random.integers(40)}", str(int(labels[citation]))))
    citations = [("id", "year")] + [(f"c{n}", str(1900 + n)) for n in range(CITATIONS)]
    for name, rows in {"words": words, "positions": positions, "citations": citations}.items():
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    return tmp_path


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("n_bags", [1, 10])
def test_each_citation_is_in_a_bag_as_a_whole(folder: Path, engine: str, n_bags: int) -> None:
    database = hb.load(folder, target="positions.starts", engine=engine)
    examples = database.examples_of("starts")
    counting = open_engine(engine, database)
    options = EffectOptions(group="citations", n_bags=n_bags)
    hashes = example_hashes(counting, "starts", examples.keys, options)
    names = database.population("positions").decode(examples.keys[:, 0])
    citation = np.array([int(name[1:]) % CITATIONS for name in names])
    parts = np.column_stack([design(hashes, n_bags).weights, fold_numbers(hashes)])
    for number in range(CITATIONS):
        assert len(np.unique(parts[citation == number], axis=0)) == 1
    assert len(np.unique(fold_numbers(hashes))) == FOLDS
    alone = example_hashes(counting, "starts", examples.keys, EffectOptions())
    assert len(np.unique(alone)) == POSITIONS
    database.close()


def test_held_out_positions_of_a_known_citation_look_better_than_they_are(folder: Path) -> None:
    """The year names the citation: without the group, held-out positions are judged by their citation."""
    database = hb.load(folder, target="positions.starts")

    def loss(**options: Any) -> float:
        settings = learned(database, n_steps=100, min_support=1, **options).settings
        return float(settings["held_out_loss"] - settings["base_loss"])

    assert loss() < -0.3
    assert loss(group="citations") > -0.1


def learned(database: Database, engine: str = "memory", **options: Any) -> Any:
    examples = database.examples_of("starts")
    return learn("rlr", open_engine(engine, database), examples, EffectOptions(**options)).model


def test_engines_agree_and_the_model_names_the_group(folder: Path) -> None:
    texts = []
    for engine in ("memory", "duckdb"):
        database = hb.load(folder, target="positions.starts", engine=engine)
        model = learned(database, engine, group="Citations", n_steps=20)
        assert model.settings["group"] == "Citations"
        texts.append(model_text(model))
        database.close()
    assert texts[0] == texts[1]
    assert "group" not in learned(hb.load(folder, target="positions.starts"), n_steps=1).settings


@pytest.mark.parametrize(
    ("group", "sentence"),
    [
        ("citation", 'no table "citation" for group. Tables are: citations, positions, word_value, words.'),
        ("", "group='' is refused: it must be a name or None."),
    ],
)
def test_a_group_that_cannot_be_is_one_sentence(folder: Path, group: str, sentence: str) -> None:
    database = hb.load(folder, target="positions.starts")
    with pytest.raises(HornbeamError) as caught:
        learned(database, group=group)
    assert sentence in str(caught.value)


def facts(folder: Path, text: str, people: int) -> Database:
    (folder / "facts.txt").write_text(text)
    (folder / "pos.txt").write_text("".join(f"sick(p{n}).\n" for n in range(0, people, 2)))
    (folder / "neg.txt").write_text("".join(f"sick(p{n}).\n" for n in range(1, people, 2)))
    return load(folder)


def test_one_group_for_all_and_no_way_to_a_group_are_refused(tmp_path: Path) -> None:
    text = (
        "background(t).\n"
        + "".join(f"club(p{n},all).\n" for n in range(6))
        + "star(sun).\nguild(other,smiths).\n"
    )
    (tmp_path / "background.txt").write_text(
        "sick(+person).\nclub(+person,-club).\nstar(+star).\nguild(+person,-guild).\nbackground(+thing).\n"
    )
    database = facts(tmp_path, text, 6)
    engine, keys = open_engine("memory", database), database.examples_of("sick").keys
    with pytest.raises(OptionError, match="all examples are linked to the same thing"):
        things_of_group(engine, "sick", keys, "club")
    with pytest.raises(OptionError, match='no example is linked to a thing of "guild"'):
        things_of_group(engine, "sick", keys, "guild")
    with pytest.raises(OptionError, match='no chain of at most 3 links leads from "sick" to "star"'):
        things_of_group(engine, "sick", keys, "star")


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 5)), min_size=1, max_size=14))
def test_groups_are_connected_parts(tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[int, int]]):
    """Examples have one group exactly if a chain of shared clubs connects them, by a search from each."""
    folder = tmp_path_factory.mktemp("clubs")
    (folder / "background.txt").write_text("sick(+person).\nclub(+person,-club).\n")
    database = facts(folder, "".join(f"club(p{person},c{club}).\n" for person, club in pairs), 8)
    examples = database.examples_of("sick")
    names = database.population("person").decode(examples.keys[:, 0])
    parts = {person: connected(person, pairs) for person in range(8)}
    engine = open_engine("memory", database)
    if (
        len({frozenset(part) for part in parts.values() if part} | {None for p in parts.values() if not p})
        < 2
    ):
        with pytest.raises(OptionError):
            things_of_group(engine, "sick", examples.keys, "club")
        return
    groups = dict(zip(names, things_of_group(engine, "sick", examples.keys, "club"), strict=True))
    for person, part in parts.items():
        assert groups[f"p{person}"] == (min(f"c{club}" for club in part) if part else None)


def connected(person: int, pairs: list[tuple[int, int]]) -> set[int]:
    """The clubs that a chain of shared clubs connects with a person."""
    clubs: set[int] = {club for one, club in pairs if one == person}
    while True:
        people = {one for one, club in pairs if club in clubs}
        more = {club for one, club in pairs if one in people}
        if more == clubs:
            return clubs
        clubs = more


@pytest.mark.parametrize(("arguments", "is_link"), [(MOST_ARGUMENTS, True), (MOST_ARGUMENTS + 1, False)])
def test_predicates_with_many_arguments_are_no_links(tmp_path: Path, arguments: int, is_link: bool) -> None:
    others = ",".join(["x"] * (arguments - 2))
    (tmp_path / "background.txt").write_text(
        f"sick(+person).\nvisit(+person,-club,{','.join(['-other'] * (arguments - 2))}).\n"
    )
    database = facts(tmp_path, "".join(f"visit(p{n},c{n % 3},{others}).\n" for n in range(6)), 6)
    engine, keys = open_engine("memory", database), database.examples_of("sick").keys
    if is_link:
        assert set(things_of_group(engine, "sick", keys, "club")) == {"c0", "c1", "c2"}
    else:
        with pytest.raises(OptionError, match="no chain of at most 3 links"):
            things_of_group(engine, "sick", keys, "club")
