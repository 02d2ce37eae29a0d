"""Generated worlds: their size, their truth, and that a seed repeats."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from every_engine import ENGINES
from hornbeam.data.database import Database
from hornbeam.data.names import Numbered
from hornbeam.datasets.worlds import (
    SMOKERS_TRUTH,
    UNIVERSITY_TRUTH,
    smokers,
    smokers_probabilities,
    university,
    university_probabilities,
)
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.contract import Engine
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.errors import OptionError
from hornbeam.logic.parse import parse_clause
from hornbeam.model.clause_model import Model
from hornbeam.model.evaluate import evaluate
from orders_world import SHOPPERS_TRUTH, shoppers, shoppers_probabilities

WORLDS = pytest.mark.parametrize(
    ("world", "size", "target", "truth", "probabilities"),
    [
        (smokers, 40, "cancer", SMOKERS_TRUTH, smokers_probabilities),
        (university, 1, "advisedby", UNIVERSITY_TRUTH, university_probabilities),
        (shoppers, 40, "returns", SHOPPERS_TRUTH, shoppers_probabilities),
    ],
    ids=["smokers", "university", "shoppers"],
)
World = Callable[..., Database]


def facts(database: Database) -> int:
    return sum(map(len, database.relations.values()))


def same(first: Database, second: Database) -> bool:
    """Whether facts, names, examples and labels are equal."""

    def parts(database: Database) -> list[object]:
        names = {name: list(population.names) for name, population in database.populations.items()}
        columns = {name: [c.tolist() for c in r.columns] for name, r in database.relations.items()}
        examples = {name: (e.keys.tolist(), e.labels.tolist()) for name, e in database.example_sets.items()}
        return [names, columns, examples]

    return parts(first) == parts(second)


@WORLDS
def test_the_same_seed_is_the_same_world(
    world: World, size: int, target: str, truth: Model, probabilities: object
) -> None:
    assert same(world(size, seed=5), world(size, seed=5))
    assert not same(world(size, seed=5), world(size, seed=6))


@WORLDS
def test_facts_and_examples_grow_in_proportion(
    world: World, size: int, target: str, truth: Model, probabilities: object
) -> None:
    small, large = world(size * 25), world(size * 250)
    assert facts(large) == pytest.approx(10 * facts(small), rel=0.1)
    assert len(large.examples_of(target)) == 10 * len(small.examples_of(target))


@WORLDS
@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES.keys())
def test_the_stated_truth_gives_the_true_probabilities(
    engine: type[Engine],
    world: World,
    size: int,
    target: str,
    truth: Model,
    probabilities: Callable[[Database], np.ndarray],
) -> None:
    database = world(size)
    keys = database.examples_of(target).keys
    assert truth.target == target
    expected = truth.probabilities(engine(database), keys)
    np.testing.assert_allclose(probabilities(database), expected, rtol=1e-12)


@WORLDS
def test_labels_are_drawn_with_the_true_probabilities(
    world: World, size: int, target: str, truth: Model, probabilities: Callable[[Database], np.ndarray]
) -> None:
    database = world(size * 250)
    labels, p = database.examples_of(target).labels, probabilities(database)
    # The number of positives is a sum of coin flips; five standard deviations is one in two million.
    assert abs(labels.sum() - p.sum()) < 5 * np.sqrt((p * (1 - p)).sum())
    for low, high in ((0.0, 0.3), (0.3, 0.7), (0.7, 1.0)):
        these = (p >= low) & (p <= high)
        spread = np.sqrt((p * (1 - p))[these].sum())
        assert abs(labels[these].sum() - p[these].sum()) < 5 * spread
    assert 0.7 < evaluate(labels, p).auc_roc < 0.99


@WORLDS
def test_a_learner_can_be_run_on_it(
    world: World, size: int, target: str, truth: Model, probabilities: object
) -> None:
    database = world(size)
    assert target in database.schema.predicates
    assert {mode.predicate for mode in database.modes} == set(database.schema.predicates)
    assert set(database.relations) == set(database.schema.predicates) - {target}
    labels = database.examples_of(target).labels
    assert labels.tolist() == sorted(labels.tolist(), reverse=True)
    assert set(labels.tolist()) == {0, 1}
    for predicate, relation in database.relations.items():
        for column, type_name in zip(relation.columns, database.schema.types_of(predicate), strict=True):
            assert column.min() >= 0 and column.max() < len(database.population(type_name))


def test_smokers_at_the_default_size() -> None:
    database = smokers()
    labels = database.examples_of("cancer").labels
    assert facts(database) == pytest.approx(150_000, rel=0.02)
    assert (labels == 0).sum() / (labels == 1).sum() == pytest.approx(1.32, rel=0.02)


def test_friendship_goes_both_ways_and_nobody_is_their_own_friend() -> None:
    left, right = smokers(500).relation("friends").columns
    pairs = set(zip(left.tolist(), right.tolist(), strict=True))
    assert pairs == {(b, a) for a, b in pairs}
    assert all(a != b for a, b in pairs)


def test_numbers_of_friends_follow_a_power_law() -> None:
    friends = np.bincount(smokers(100_000, exponent=2.5).relation("friends").columns[0])
    # Beyond x, a share of about x**-1.5 is left: twice the friends, 2.8 times rarer.
    shares = [np.count_nonzero(friends > x) for x in (20, 40, 80, 160)]
    ratios = [a / b for a, b in pairwise(shares)]
    assert all(2.2 < ratio < 3.6 for ratio in ratios)


def test_homophily_is_the_share_of_friendships_within_ones_kind() -> None:
    def mixed(homophily: float) -> float:
        database = smokers(20_000, homophily=homophily)
        smokes = np.zeros(20_000, dtype=bool)
        smokes[database.relation("smokes").columns[0]] = True
        left, right = database.relation("friends").columns
        return float(np.mean(smokes[left] != smokes[right]))

    assert mixed(1.0) == 0.0
    assert mixed(0.5) == pytest.approx(mixed(0.0) / 2, rel=0.05)
    assert mixed(0.0) == pytest.approx(2 * 0.4 * 0.6, rel=0.05)


def test_options_of_smokers_do_what_they_say() -> None:
    database = smokers(20_000, mean_friends=4, smoking=0.1)
    assert len(database.relation("friends")) == pytest.approx(80_000, rel=0.05)
    assert len(database.relation("smokes")) == pytest.approx(2_000, rel=0.1)
    assert len(smokers(100, mean_friends=0).relation("friends")) == 0
    assert len(smokers(1).population("person")) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_persons": 0}, "n_persons is 0, but must be between 1 and 2.14748e+09."),
        ({"mean_friends": -1}, "mean_friends is -1, but must be at least 0."),
        ({"exponent": 2}, "exponent is 2, but must be at least 2.01."),
        ({"smoking": 1.5}, "smoking is 1.5, but must be between 0 and 1."),
        ({"homophily": -0.1}, "homophily is -0.1, but must be between 0 and 1."),
    ],
)
def test_options_of_smokers_out_of_range_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        smokers(**options)
    assert str(caught.value) == message


def test_a_university_has_at_least_one_department() -> None:
    with pytest.raises(OptionError, match=r"n_departments is 0, but must be between 1 and"):
        university(0)


def test_the_planted_clause_foretells_better_than_assisting_which_foretells_too() -> None:
    database = university(30)
    examples = database.examples_of("advisedby")
    planted = UNIVERSITY_TRUTH.clauses[0].clause
    assert str(planted) == "advisedby(A,B) :- publication(C,A), publication(C,B)."
    assisting = parse_clause("advisedby(A,B) :- ta(C,A), taughtby(C,B).", database.schema)
    counted = counter_of(MemoryEngine(database)).count([planted, assisting], examples.keys)
    best, other = (evaluate(examples.labels, 1 - 0.5**counts.true).auc_roc for counts in counted)
    assert 0.6 < other < best - 0.1


def test_numbered_names_are_a_sequence_like_any_other() -> None:
    names = Numbered("p", 12)
    plain = [f"p{number}" for number in range(12)]
    assert list(names) == plain == names[:] and list(reversed(names)) == plain[::-1]
    assert (len(names), names[0], names[-1], names[3:5]) == (12, "p0", "p11", ["p3", "p4"])
    assert [name in names for name in ("p11", "p12", "p01", "p", "q1", "p-1", "p²")] == [True] + [False] * 6
    assert names.index("p7") == 7 and names.count("p7") == 1
    with pytest.raises(ValueError, match="not one of"):
        names.index("p12")
    with pytest.raises(IndexError):
        names[12]
