"""What is learned can be told apart by its words: no two candidates have the same phrase."""

import csv
import random
from pathlib import Path

import numpy as np
import pytest

from hornbeam.data.database import Database
from hornbeam.datasets.worlds import university
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.in_place.load import load_quietly
from hornbeam.learning.effects import learner
from hornbeam.learning.effects.candidates import FeatureCandidate
from hornbeam.learning.effects.conditions import candidate_of
from hornbeam.learning.effects.steps.pairs import EITHER, NEVER, Pair
from hornbeam.learning.loop import NO_CONTROL
from hornbeam.learning.options import EffectOptions
from hornbeam.logic.effects import Curve, Effect, in_order_of_use
from hornbeam.logic.english.clauses import text_of
from hornbeam.logic.english.phrases import feature_pieces
from hornbeam.logic.english.wording import wording_of

TEAMS, MATCHES = 40, 240


def league(folder: Path) -> Database:
    """Teams that are linked to matches by two columns, and to owners by one."""
    rng = random.Random(1)
    teams = [
        (f"t{n}", rng.choice(["n", "s"]), rng.randint(1, 9), f"o{n % 15}", rng.random() < 0.5)
        for n in range(TEAMS)
    ]
    pairs = [rng.sample(range(TEAMS), 2) for _ in range(MATCHES)]
    matches = [
        (
            f"m{n}",
            f"t{home}",
            f"t{away}",
            rng.choice(["cup", "league"]),
            rng.randint(0, 5),
            rng.random() < 0.3,
        )
        for n, (home, away) in enumerate(pairs)
    ]
    owners = [(f"o{n}", rng.choice(["fr", "it", "es"]), rng.randint(30, 80)) for n in range(15)]
    tables = {
        "teams": (["team_id", "region", "size", "owner_id", "up"], teams),
        "matches": (["match_id", "home_team_id", "away_team_id", "kind", "goals", "late"], matches),
        "owners": (["owner_id", "land", "age"], owners),
    }
    for name, (header, rows) in tables.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([header, *rows])
    links = 'links = { home_team_id = "teams", away_team_id = "teams" }\n'
    (folder / "schema.toml").write_text(f'[matches]\nkey = "match_id"\n{links}')
    return load_quietly(folder, target="teams.up")


def offered(database: Database, some_pairs: int) -> list[FeatureCandidate]:
    """All candidates of a fit, and pairs of them."""
    examples = database.examples_of(database.target_named(None))
    problem, _ = learner._problem(MemoryEngine(database), examples, EffectOptions())
    _, offers, search = learner._candidates(problem, lambda: None, NO_CONTROL)
    candidates, rules = offers.pool.candidates, search.pairs
    assert rules is not None
    conditions = np.flatnonzero(rules.sides > NEVER).tolist()
    rng = random.Random(2)
    pairs = []
    for _ in range(some_pairs):
        condition, narrowed = rng.choice(conditions), rng.randrange(len(candidates))
        if rules.outside[narrowed] >= 0 and rules.allow(condition, np.array([narrowed]))[0]:
            cut = rng.randint(1, len(candidates[condition].cuts))
            is_below = bool(rules.sides[condition] == EITHER) and rng.random() < 0.5
            pairs.append(candidate_of(Pair(condition, cut, is_below, narrowed), candidates))
    assert len(pairs) > some_pairs // 10
    return [*candidates, *pairs]


@pytest.mark.parametrize("world", ["university", "league"])
def test_no_two_features_have_the_same_words(world: str, tmp_path: Path) -> None:
    """A condition that a sentence does not say makes it equal to the sentence without the condition."""
    database = university(n_departments=3, seed=1) if world == "university" else league(tmp_path)
    target = database.target_named(None)
    wording = wording_of(target, database.schema, database.origin)
    found: dict[str, set[str]] = {}
    for candidate in offered(database, 2_000):
        head, body, feature = candidate.request
        assert len(set(body)) == len(body), "a condition and what it narrows may begin alike"
        effect = in_order_of_use(Effect(head, body, feature, Curve((1.0,), (0.0, 1.0))))
        phrase = text_of(feature_pieces(effect, database.schema, wording=wording))
        found.setdefault(phrase, set()).add(str(effect))
    assert {phrase: each for phrase, each in found.items() if len(each) > 1} == {}
    assert len(found) > 300
