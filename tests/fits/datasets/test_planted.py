"""Worlds with one planted feature: their truth, their files, and that the default finds the feature."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from every_engine import every_engine
from hornbeam.data.database import Database, Examples
from hornbeam.data.numbers import Floats
from hornbeam.engines.contract import Engine
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.questions import FeatureRequest
from hornbeam.errors import DataError, OptionError
from hornbeam.in_place.load import load_quietly
from hornbeam.learning.effects.learner import fit
from hornbeam.learning.options import EffectOptions
from hornbeam.logic.effects import Body, Recent
from hornbeam.logic.parse_effect import parse_effect
from hornbeam.model.evaluate import evaluate
from planted_world import FEATURES, TARGET, PlantedWorld, is_same_order, planted

EVERY_FEATURE = pytest.mark.parametrize("feature", FEATURES)


def loaded(world: PlantedWorld, folder: Path) -> Database:
    world.write(folder / "world")
    return load_quietly(folder / "world", examples=folder / "world" / "examples.csv", target=TARGET)


def examples_of(database: Database) -> tuple[Examples, list[int]]:
    """The examples of a world, and the row of each in the table of examples."""
    examples = database.examples_of(database.target_named(None))
    return examples, [
        int(name[1:]) for name in database.names_of(examples.target, examples.keys)[:, 0].tolist()
    ]


@every_engine
def test_the_stated_effects_have_the_planted_values(engine: type[Engine], tmp_path: Path) -> None:
    """The values are computed without an engine, so this is a test of cut-offs, too."""
    worlds = [planted(feature, 12, seed=3) for feature in FEATURES]
    database = loaded(worlds[0], tmp_path)
    assert all(world.tables["events"] == worlds[0].tables["events"] for world in worlds)
    examples, places = examples_of(database)
    requests = [request_of(world, database) for world in worlds]
    found = engine(database).features(requests, examples.keys)
    for world, values in zip(worlds, found, strict=True):
        np.testing.assert_allclose(np.asarray(values), world.values[places], rtol=1e-12, err_msg=str(world))


@EVERY_FEATURE
def test_labels_are_drawn_with_the_true_probabilities(feature: str) -> None:
    world = planted(feature, 3_000)
    labels, p = np.array(world.tables["examples"]["label"]), world.probabilities
    for low, high in ((0.0, 0.3), (0.3, 0.7), (0.7, 1.0)):
        these = (p >= low) & (p <= high)
        assert these.sum() > 200, "the feature varies"
        # Five standard deviations of a sum of coin flips.
        assert abs(labels[these].sum() - p[these].sum()) < 5 * np.sqrt((p * (1 - p))[these].sum())
    assert 0.75 < evaluate(labels, p).auc_roc < 0.97


@EVERY_FEATURE
def test_the_default_finds_the_planted_feature(feature: str, tmp_path: Path) -> None:
    """One of the two most important effects has the planted feature, or one that orders all examples so.

    Two, because an effect may share its work with a near copy: how many events, and how many kinds of them.

    The same feature of a few events more or less, such as the last 20 of mostly fewer, passes if the orders
    are nearly the same. Other equivalents do not.
    """
    world = planted(feature, 500)
    database = loaded(world, tmp_path)
    examples, places = examples_of(database)
    engine = MemoryEngine(database)
    strongest = fit(engine, examples, EffectOptions()).model.effects[:2]
    requests = [FeatureRequest(*each.effect[:3]) for each in strongest]
    expected, stated = world.values[places], request_of(world, database)
    found = zip(requests, engine.features(requests, examples.keys), strict=True)
    assert any(is_planted(*each, stated, expected) for each in found), strongest


@pytest.mark.parametrize("power", [-900, 900])
def test_the_unit_of_a_column_does_not_matter(power: int, tmp_path: Path) -> None:
    """Numbers may be huge or tiny: times a power of 2 they give the same predictions."""
    world = planted("mean", 300)
    found = []
    for name, factor in (("plain", 1.0), ("scaled", 2.0**power)):
        tables = {**world.tables, "events": dict(world.tables["events"])}
        tables["events"]["amount"] = [each * factor for each in world.tables["events"]["amount"]]
        replace(world, tables=tables).write(tmp_path / name)
        examples_file = tmp_path / name / "examples.csv"
        database = load_quietly(tmp_path / name, examples=examples_file, target=TARGET)
        examples, _ = examples_of(database)
        engine = MemoryEngine(database)
        model = fit(engine, examples, EffectOptions(n_bags=2)).model
        assert any("amount(B,C)" in str(each.effect) for each in model.effects)
        found.append(model.probabilities(engine, examples.keys))
    np.testing.assert_allclose(found[1], found[0], atol=0.02)


def is_planted(request: FeatureRequest, values: Floats, stated: FeatureRequest, expected: Floats) -> bool:
    """Whether a feature is the planted one, with its values in the same or nearly the same order."""
    if is_same_order(np.asarray(values), expected):
        return True
    if (request.feature, unlimited(request.body)) != (stated.feature, unlimited(stated.body)):
        return False
    known = ~np.isnan(expected) & ~np.isnan(values)
    ranks = [np.argsort(np.argsort(each[known])) for each in (values, expected)]
    return bool(np.mean(known | np.isnan(expected)) > 0.95 and np.corrcoef(*ranks)[0, 1] > 0.95)


def unlimited(body: Body) -> Body:
    """A body without limits in time."""
    return tuple(step.atom if isinstance(step, Recent) else step for step in body)


def request_of(world: PlantedWorld, database: Database) -> FeatureRequest:
    """The planted feature as it is stated."""
    feature, _, clause = world.planted.effect.partition(" : ")
    head, body, kind, _ = parse_effect(f"{feature} [else: 0] : {clause}", database.schema)
    return FeatureRequest(head, body, kind)


def test_what_counts_as_the_same_order() -> None:
    values = np.array([1.0, 2.0, 2.0, np.nan, 5.0])
    assert is_same_order(values, values * 3 - 7)
    assert is_same_order(values, -values)
    assert is_same_order(values, values + 1e-12)
    assert not is_same_order(values, np.array([1.0, 2.0, 3.0, np.nan, 5.0])), "one tells more"
    assert not is_same_order(values, np.array([1.0, 2.0, 2.0, 0.0, 5.0])), "one is missing"
    assert not is_same_order(values, np.array([1.0, 5.0, 5.0, np.nan, 2.0])), "neither grows with the other"


def test_the_same_arguments_give_the_same_world() -> None:
    one, other = planted("mean", 50, seed=5), planted("mean", 50, seed=5)
    assert one.tables == other.tables
    assert one.tables != planted("mean", 50, seed=6).tables


def test_what_is_wrong_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r'no feature "meen"\. .*Did you mean "mean"\?'):
        planted("meen")
    with pytest.raises(OptionError, match=r"n_examples is 0, but must be between 1 and"):
        planted("mean", 0)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match="has files already; name a new folder"):
        planted("mean", 5).write(tmp_path)
    with pytest.raises(DataError, match=r"cannot be made \("):
        planted("mean", 5).write(tmp_path / "notes.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_examples_have_rows_after_their_cut_offs_and_some_have_none_before(tmp_path: Path) -> None:
    planted("mean", 300).write(tmp_path)
    with (tmp_path / "examples.csv").open() as file:
        cutoffs = {row["thing_id"]: row["cutoff"] for row in csv.DictReader(file)}
    with (tmp_path / "events.csv").open() as file:
        events = list(csv.DictReader(file))
    before = [row for row in events if row["at"] < cutoffs[row["thing_id"]]]
    assert 0.5 < len(before) / len(events) < 0.9
    assert 0 < len(cutoffs) - len({row["thing_id"] for row in before}) < 30
