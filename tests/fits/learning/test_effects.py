"""The learner of effects: what it may use, how it is watched, stopped, saved and continued."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hornbeam.data.build import build
from hornbeam.data.database import Database
from hornbeam.datasets.worlds import smokers, university
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.errors import DataError, ModelError
from hornbeam.in_place.load import load_quietly
from hornbeam.learning.effects.learner import fit
from hornbeam.learning.effects.links import PathFinder, Vocabulary
from hornbeam.learning.history import INTERRUPTED, NO_EFFECT, Collected, Record, Round
from hornbeam.learning.loop import Control
from hornbeam.learning.options import EffectOptions, effect_options
from hornbeam.learning.problem import Fit
from hornbeam.logic.clauses import Atom, Comparison
from hornbeam.logic.effects import Equals
from hornbeam.logic.parse import parse_mode
from hornbeam.logic.schema import schema_of
from hornbeam.model.clause_model import Model
from hornbeam.model.files import model_text, parse_model
from orders_world import shoppers
from plain_options import few

WORLD = university(2, seed=3)
TARGET = "advisedby"
OPTIONS = effect_options(n_bags=3)


def learned(
    options: EffectOptions = OPTIONS, database: Database = WORLD, target: str = TARGET, **control: object
) -> Fit[Model]:
    examples = database.examples_of(target)
    return fit(MemoryEngine(database), examples, options, Control(**control))  # type: ignore[arg-type]


def at(number: int):  # type: ignore[no-untyped-def]
    """Interrupts a fit after a number of steps."""

    def interrupt(record: Record) -> None:
        if record.number == number:
            raise KeyboardInterrupt

    return interrupt


# --- watching and stopping -----------------------------------------------------------------------


def test_a_fit_tells_of_each_path_then_of_rounds_of_steps() -> None:
    records: list[Record] = []
    fitted = learned(on_step=records.append)
    paths = [each for each in records if isinstance(each, Collected)]
    rounds = [each for each in records if isinstance(each, Round)]
    assert records == [*paths, *rounds]
    assert [each.path for each in paths] == list(range(1, paths[-1].paths + 1))
    assert sum(each.candidates for each in paths) == fitted.model.settings["candidates"]
    assert [each.number for each in rounds[:3]] == [4, 8, 12]
    assert fitted.history.steps == tuple(rounds)
    assert len({each.base_loss for each in rounds}) == 1
    assert rounds[0].held_out_loss is not None and rounds[0].base_loss is not None
    assert rounds[0].held_out_loss < rounds[0].base_loss


def test_the_history_has_the_loss_beside_that_of_the_base_rate() -> None:
    fitted = learned()
    settings = fitted.model.settings
    loss, base = settings["held_out_loss"], settings["base_loss"]
    score, length = fitted.history.scores()
    assert score == f"out-of-bag log-loss {loss:.4f}, base rate {base:.4f}"
    kept, of_long = settings["gain_kept"], settings["effects_of_long"]
    number = len(fitted.model.effects)
    assert length == f"{number} effects keep {100 * kept:.0f} % of what {of_long} gain on held-out examples"
    assert fitted.history.as_dict()["score"] == score and fitted.history.as_dict()["length"] == length
    assert learned(replace(OPTIONS, max_effects="all")).history.scores()[1:] == ()
    assert learned(replace(OPTIONS, n_bags=1)).history.score.startswith("cross-validated log-loss")


def world_of_films(seed: int) -> Database:
    """People and the films that they saw; each film has a weight in who likes something."""
    random = np.random.default_rng(seed)
    weights = random.normal(0, 1.5, 60)
    seen = [random.choice(60, 10, replace=False) for _ in range(400)]
    labels = [int(random.random() < 1 / (1 + np.exp(-weights[each].sum()))) for each in seen]
    modes = tuple(map(parse_mode, ["likes(+person).", "saw(+person,-film).", "saw(-person,+film)."]))
    people = [f"p{number}" for number in range(400)]
    pairs = [(person, f"f{film}") for person, films in zip(people, seen, strict=True) for film in films]
    facts = {"saw": [list(column) for column in zip(*pairs, strict=True)]}
    return build(schema_of(modes), modes, facts, {"likes": ([(person,) for person in people], labels)})


def test_weights_per_constant_must_help_beside_effects() -> None:
    kept = learned(effect_options(), world_of_films(seed=2), "likes").model
    assert [len(each.constants) for each in kept.clauses] == [60]
    # Which friends somebody has says less than how many of them smoke.
    assert learned(effect_options(), smokers(n_persons=300, seed=2), "cancer").model.clauses == ()


def test_the_base_rate_is_not_that_of_weights_per_constant() -> None:
    database = world_of_films(seed=2)
    with_weights, without = (
        learned(effect_options(per_constant=each), database, "likes").model for each in (True, False)
    )
    assert with_weights.clauses and not without.clauses
    assert parse_model(model_text(with_weights)) == with_weights
    assert with_weights.settings["base_loss"] == without.settings["base_loss"]


def test_a_stop_between_steps_keeps_the_best_number_of_steps_so_far() -> None:
    cut = learned(on_step=at(40))
    assert cut.model.settings["cut"] == cut.history.ended == INTERRUPTED
    assert cut.history.cut
    whole = learned(replace(OPTIONS, n_steps=40))
    assert cut.history.steps == whole.history.steps
    assert cut.model.effects == whole.model.effects
    assert cut.history.kept == whole.history.kept
    assert [str(each) for each in cut.history.notices()] == [
        f"the fit was stopped early (interrupted); the model has {cut.history.kept} steps."
    ]


def test_a_stop_while_candidates_are_collected_leaves_the_prior() -> None:
    asked = iter([None] * 3)
    for control in ({"should_stop": lambda: next(asked, "time limit")}, {"on_step": at(0)}):
        cut = learned(**control)
        assert cut.history.cut and not cut.history.steps and not cut.model.effects
        labels = WORLD.examples_of(TARGET).labels
        chance = 1 / (1 + np.exp(-cut.model.prior))
        assert chance == pytest.approx(float(labels.mean()), rel=1e-6)


def test_a_stop_is_asked_for_before_each_path_and_between_steps() -> None:
    asked = [0]

    def never() -> None:
        asked[0] += 1

    records: list[Record] = []
    learned(on_step=records.append, should_stop=never)
    assert asked[0] >= len(records)


# --- checkpoints ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "first"), [(4, 4), (28, 28), (40, 28), (52, 52)])
def test_a_fit_continues_to_the_same_bytes(tmp_path: Path, number: int, first: int) -> None:
    whole = learned()
    learned(checkpoint=tmp_path, on_step=at(number))
    seen: list[Record] = []
    again = learned(checkpoint=tmp_path, on_step=seen.append)
    assert next(each.number for each in seen if each.number) == first
    assert model_text(again.model) == model_text(whole.model)
    assert again.history == whole.history


def test_a_finished_checkpoint_takes_no_more_steps(tmp_path: Path) -> None:
    whole = learned(checkpoint=tmp_path)
    saved = (tmp_path / "checkpoint.json").read_bytes()
    seen: list[Record] = []
    again = learned(checkpoint=tmp_path, on_step=seen.append)
    assert not any(each.number for each in seen)
    assert model_text(again.model) == model_text(whole.model)
    assert again.history == whole.history
    assert (tmp_path / "checkpoint.json").read_bytes() == saved


def test_a_checkpoint_of_another_fit_is_refused_before_any_work(tmp_path: Path) -> None:
    learned(checkpoint=tmp_path, on_step=at(28))
    seen: list[Record] = []
    with pytest.raises(DataError, match="a fit with different options; name another folder"):
        learned(replace(OPTIONS, l2=7.0), checkpoint=tmp_path, on_step=seen.append)
    assert seen == []


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ('"candidates": "', '"candidates": "0', DataError, "a fit with different candidates"),
        ('"chosen": [[', '"chosen": [[-7, ', ModelError, '"chosen" must be a list of whole numbers from -1'),
    ],
)
def test_a_damaged_checkpoint_is_refused(
    tmp_path: Path, old: str, new: str, error: type[Exception], message: str
) -> None:
    learned(checkpoint=tmp_path, on_step=at(28))
    path = tmp_path / "checkpoint.json"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(error, match=message):
        learned(checkpoint=tmp_path)


# --- options -------------------------------------------------------------------------------------


def bodies(model: Model) -> list[tuple[object, ...]]:
    return [each.effect.body for each in model.effects]


@pytest.mark.parametrize("most", [1, 2])
def test_max_literals_bounds_links_and_conditions_together(most: int) -> None:
    model = learned(replace(OPTIONS, max_literals=most, max_effects="all")).model
    assert model.effects and max(map(len, bodies(model))) == most


def test_no_conditions_means_no_constant_no_comparison_and_no_flag() -> None:
    free = learned(replace(OPTIONS, max_effects="all")).model
    bound = learned(replace(OPTIONS, max_effects="all", max_conditions=0)).model

    def conditions(model: Model) -> int:
        return sum(
            isinstance(step, Equals | Comparison) or (isinstance(step, Atom) and len(step.args) == 1)
            for body in bodies(model)
            for step in body
        )

    assert conditions(free) > 0 and bound.effects and conditions(bound) == 0


def test_max_effects_caps_the_model_and_all_is_the_long_one() -> None:
    sizes = {
        most: len(learned(replace(OPTIONS, max_effects=most)).model.effects) for most in (1, None, "all")
    }
    assert sizes[1] == 1 < sizes[None] <= sizes["all"]


def test_a_larger_share_of_the_gain_needs_more_effects() -> None:
    lengths, long = [], learned(replace(OPTIONS, max_effects="all")).model
    for share in (0.5, 0.97, 1.0):
        fitted = learned(replace(OPTIONS, keep_gain=share))
        settings = fitted.model.settings
        lengths.append(len(fitted.model.effects))
        assert settings["gain_kept"] >= share or lengths[-1] in (20, 120, settings["effects_of_long"])
        assert settings["gain_kept"] == 1.0 or settings["held_out_loss"] > long.settings["held_out_loss"]
    assert lengths == sorted(lengths) and lengths[0] < lengths[-1]


def test_of_coin_flips_nothing_is_learned() -> None:
    """In one world of ten something is, by chance; without the limit, in every other one."""
    learned_something = 0
    for seed in range(20):
        draw = np.random.default_rng(seed)
        columns = {f"x{n}": draw.normal(size=60).round(3) for n in range(10)}
        things = {"id": [f"t{n}" for n in range(60)], **columns, "good": draw.integers(0, 2, 60)}
        database = load_quietly(
            {"things": pl.DataFrame(things)}, schema={"things": {"key": "id"}}, target="things.good"
        )
        fitted = fit(MemoryEngine(database), database.examples_of("good"), EffectOptions())
        learned_something += fitted.model.effects != ()
        assert fitted.model.effects or fitted.history.ended == NO_EFFECT
    assert learned_something <= 4


def test_without_validation_all_steps_are_done() -> None:
    fitted = learned(replace(OPTIONS, validate=False, n_steps=90))
    assert fitted.history.steps[-1].number == fitted.history.kept == 90


@pytest.mark.parametrize("ratio", [None, 1.0])
def test_a_model_without_effects_has_the_base_rate_or_the_given_prior(ratio: float | None) -> None:
    modes = (parse_mode("sick(+person)."), parse_mode("tall(+person)."))
    persons = [f"p{number}" for number in range(110)]
    examples = ([(person,) for person in persons], [1] * 10 + [0] * 100)
    database = build(schema_of(modes), modes, {"tall": [persons]}, {"sick": examples})
    options = effect_options(neg_pos_ratio=ratio)
    base = learned(options, database, "sick")
    assert base.history.ended == NO_EFFECT and not base.model.effects
    assert 1 / (1 + np.exp(-base.model.prior)) == pytest.approx(10 / 110)
    given = learned(replace(options, prior=-0.5), database, "sick")
    assert given.model.prior == pytest.approx(-0.5, abs=1e-12)
    assert [str(each) for each in given.history.notices()] == [
        f"{NO_EFFECT}: the model predicts its prior for every example."
    ]


def test_a_prior_is_where_the_steps_start() -> None:
    near, far = (
        learned(replace(OPTIONS, prior=prior, n_steps=4, learning_rate=0.01)).model
        for prior in ("base-rate", 3.0)
    )
    assert near.prior != far.prior


# --- engines and order ---------------------------------------------------------------------------


def test_a_few_examples_teach_what_is_true_of_them_on_each_engine() -> None:
    modes = tuple(map(parse_mode, ["risk(+person).", "friends(+person,-person).", "smokes(+person)."]))
    persons = [f"p{number}" for number in range(8)]
    facts = {"smokes": [persons[:4]], "friends": [persons, persons[1:] + persons[:1]]}
    labels = [1] * 4 + [0] * 4
    database = build(schema_of(modes), modes, facts, {"risk": ([(p,) for p in persons], labels)})
    examples = database.examples_of("risk")
    models = [fit(engine(database), examples, few()).model for engine in (MemoryEngine, NaiveEngine)]
    assert model_text(models[0]) == model_text(models[1])
    assert models[0].effects[0].effect.body == (Atom("smokes", (0,)),)
    found = models[0].probabilities(MemoryEngine(database), examples.keys)
    assert found[examples.labels == 1].min() > found[examples.labels == 0].max()


def test_codes_of_constants_do_not_choose_between_equally_frequent_ones() -> None:
    modes = tuple(map(parse_mode, ["risk(+person).", "colour(+person,#colour)."]))
    persons, colours = [f"p{number}" for number in range(24)], ["red", "blue", "green", "pink"]
    own = [colours[number % 4] for number in range(24)]
    labels = [number % 2 for number in range(24)]
    models = set()
    for order in (list(range(24)), list(range(24))[::-1]):
        facts = {"colour": [[persons[each] for each in order], [own[each] for each in order]]}
        database = build(schema_of(modes), modes, facts, {"risk": ([(p,) for p in persons], labels)})
        models.add(model_text(fit(MemoryEngine(database), database.examples_of("risk"), few()).model))
    assert len(models) == 1


def test_the_order_of_examples_does_not_matter() -> None:
    database = shoppers(200, seed=1)
    examples = database.examples_of("returns")
    texts = set()
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(examples))
        texts.add(model_text(fit(MemoryEngine(database), examples.at(order), OPTIONS).model))
    assert len(texts) == 1


def test_the_loss_is_that_of_the_effects_that_are_kept() -> None:
    """One effect predicts worse than all of them, and the score says so."""
    losses = {}
    for most in (1, 2, "all"):
        fitted = learned(replace(OPTIONS, max_effects=most))
        settings = fitted.model.settings
        losses[most] = settings["held_out_loss"]
        assert f"log-loss {losses[most]:.4f}, base rate {settings['base_loss']:.4f}" in fitted.history.score
        assert most == "all" or len(fitted.model.effects) == most
        rounds = [each.held_out_loss for each in fitted.history.steps if isinstance(each, Round)]
        assert most != "all" or losses[most] <= min(loss for loss in rounds if loss is not None)
    assert losses["all"] < losses[1] < settings["base_loss"]
    assert losses[2] < losses[1]


@pytest.mark.parametrize(
    ("number", "options", "most"),
    [
        (1_600, {}, 800),
        (1_600, {"n_steps": 20}, 20),
        (1_600, {"validate": False}, 600),
    ],
)
def test_with_more_examples_there_may_be_more_steps(number: int, options: dict[str, Any], most: int) -> None:
    modes = tuple(map(parse_mode, ["risk(+person).", "tall(+person)."]))
    persons = [f"p{place}" for place in range(number)]
    labels = [place % 2 for place in range(number)]
    database = build(
        schema_of(modes), modes, {"tall": [persons[::7]]}, {"risk": ([(p,) for p in persons], labels)}
    )
    fitted = fit(MemoryEngine(database), database.examples_of("risk"), effect_options(n_bags=2, **options))
    assert fitted.model.settings["n_steps"] == most


def test_one_link_reaches_the_things_that_a_pair_shares() -> None:
    database = university(n_departments=2, seed=0)
    head = Atom("advisedby", (0, 1))
    shared = {}
    for most in (0, 1, 2):
        paths = PathFinder(Vocabulary(database, "advisedby"), head, {}, most).paths()
        shared[most] = {path.body for path in paths if path.meets and path.links}
    assert shared[0] < shared[1] <= shared[2]
    assert any({0, 1} <= {term for step in body for term in step.args} for body in shared[1])


def records(n_persons: int, seed: int) -> Database:
    """Pairs of records, which are often of one person if they have the same name and year of birth."""
    draw = np.random.default_rng(seed)
    names, years = draw.integers(0, 40, n_persons), draw.integers(1950, 1990, n_persons)
    frame = {
        "person": [f"p{number}" for number in range(2 * n_persons)],
        "name": [f"n{name}" for name in np.repeat(names, 2)],
        "born": np.where(draw.random(2 * n_persons) < 0.9, np.repeat(years, 2), 1949).tolist(),
    }
    pairs = [(f"p{2 * number}", f"p{2 * number + 1}") for number in range(n_persons)]
    pairs += [(f"p{2 * number}", f"p{(2 * number + 5) % (2 * n_persons)}") for number in range(n_persons)]
    examples = {"arg1": [a for a, _ in pairs], "arg2": [b for _, b in pairs]}
    examples["label"] = ["1"] * n_persons + ["0"] * n_persons
    tables = {"persons": pl.DataFrame(frame)}
    return load_quietly(tables, target="same(persons,persons)", examples=pl.DataFrame(examples))


def test_a_pair_may_have_the_same_number_as_it_may_have_the_same_name() -> None:
    database = records(60, seed=0)
    paths = PathFinder(Vocabulary(database, "same"), Atom("same", (0, 1)), {}).paths()
    equal = {step.predicate for path in paths if path.meets for step in path.body}
    assert equal == {"name", "born"}


def test_two_things_that_have_one_value_each_share_at_most_one() -> None:
    """So no share among the shared values is offered: it would say no more than their number."""
    database = records(60, seed=0)
    examples = database.examples_of("same")
    model, naive = (fit(engine(database), examples, few()).model for engine in (MemoryEngine, NaiveEngine))
    assert model_text(model) == model_text(naive)
    assert model.effects
    assert "share" not in {each.effect.feature.kind for each in model.effects}
    paths = PathFinder(Vocabulary(database, "same"), Atom("same", (0, 1)), {}).paths()
    assert all(path.single for path in paths if path.meets)


def test_links_of_some_things_to_themselves_tell_these_things_from_others() -> None:
    modes = tuple(map(parse_mode, ["risk(+person).", "same(+person,-person).", "friends(+person,-person)."]))
    persons = [f"p{number}" for number in range(8)]
    facts = {"same": [persons[:4], persons[:4]], "friends": [persons, persons[1:] + persons[:1]]}
    examples_of_risk = ([(person,) for person in persons], [1] * 4 + [0] * 4)
    database = build(schema_of(modes), modes, facts, {"risk": examples_of_risk})
    examples = database.examples_of("risk")
    models = [fit(engine(database), examples, few()).model for engine in (MemoryEngine, NaiveEngine)]
    assert model_text(models[0]) == model_text(models[1])
    assert models[0].effects[0].effect.body == (Atom("same", (0, 0)),)


def test_the_errors_of_a_short_model_are_those_of_its_own_effects() -> None:
    """Columns that say nearly the same share the work in the long model, in each bag in another way."""
    random = np.random.default_rng(4)
    signal = random.normal(size=800)
    columns = {f"x{n}": (signal + 0.1 * random.normal(size=800)).round(3) for n in range(8)}
    labels = random.random(800) < 1 / (1 + np.exp(-1.5 * signal))
    names = [f"t{n}" for n in range(800)]
    things = pl.DataFrame({"id": names, **columns, "good": labels.astype(int)})
    database = load_quietly({"things": things}, schema={"things": {"key": "id"}}, target="things.good")
    examples = database.examples_of("good")

    def of_first(**options: Any) -> tuple[float, float]:
        first = fit(MemoryEngine(database), examples, EffectOptions(**options)).model.effects[0]
        ends = first.effect.curve.ends
        return ends[-1][1] - ends[0][0], first.errors[-1]

    level, error = of_first(max_effects=1)
    level_of_one, error_of_one = of_first(max_effects="all")
    assert level > 2 * level_of_one
    assert error / level < 0.5 * error_of_one / level_of_one
