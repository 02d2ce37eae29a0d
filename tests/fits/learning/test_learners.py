"""What every learner does alike: repeatable, order-free, stoppable, and exact about its options."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hornbeam.data.build import build
from hornbeam.data.database import Database, Examples
from hornbeam.datasets.worlds import university
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.errors import DataError, LimitError, OptionError, SchemaError
from hornbeam.learning.learners import LEARNERS, learn, options_class, options_for
from hornbeam.learning.loop import Control, time_limit
from hornbeam.logic.parse import parse_mode
from hornbeam.logic.schema import schema_of
from hornbeam.model.explain import explain
from hornbeam.model.files import load_model, model_text, parse_model, save_model
from hornbeam.rivals.agg_lr.model import AggregateModel

BASELINES = sorted(set(LEARNERS) - {"rlr"})
BOOSTED = ["mln-boost", "rdn-boost"]
SMALL: dict[str, dict[str, object]] = {
    "agg-lr": {},
    "ilp-rlr": {},
    "mln-boost": {"n_steps": 4, "max_literals": 2, "beam_width": 3},
    "rdn-boost": {"n_steps": 4, "beam_width": 3},
    "rlr": {"n_steps": 40, "max_literals": 2, "n_bags": 2},
}
WORLD = university(n_departments=2, seed=1)
TARGET = "advisedby"


def fitted(learner: str, database: Database = WORLD, engine: type = MemoryEngine, control=None, **options):
    examples = database.examples_of(TARGET)
    told = options_for(learner, **SMALL[learner] | options)
    return learn(learner, engine(database), examples, told, Control(**(control or {})))


def shuffled(database: Database) -> Database:
    """The same world with facts, examples and constants in another order."""
    rng = np.random.default_rng(1)
    facts = {}
    for predicate, relation in database.relations.items():
        types = database.schema.types_of(predicate)
        order = rng.permutation(len(relation))
        facts[predicate] = [
            database.population(name).decode(column[order])
            for name, column in zip(types, relation.columns, strict=True)
        ]
    keys, labels = database.examples(TARGET)
    order = rng.permutation(len(labels))
    return build(
        database.schema, database.modes, facts, {TARGET: (keys[order].tolist(), labels[order].tolist())}
    )


@pytest.mark.parametrize("learner", BASELINES)
def test_the_same_bytes_from_run_to_run_and_from_any_order_of_the_data(learner):
    text = model_text(fitted(learner).model)
    assert model_text(fitted(learner).model) == text
    assert model_text(fitted(learner, shuffled(WORLD)).model) == text


@pytest.mark.parametrize("learner", BASELINES)
def test_the_naive_engine_learns_the_same(learner):
    small = university(n_departments=1, seed=2)
    examples = small.examples_of(TARGET)
    rows = np.r_[0:6, len(examples) - 12 : len(examples)]
    told = options_for(learner, **SMALL[learner] | {"max_literals": 1})
    models = [
        learn(learner, engine(small), examples.at(rows), told).model for engine in (NaiveEngine, MemoryEngine)
    ]
    assert model_text(models[0]) == model_text(models[1])


@pytest.mark.parametrize("learner", [*BASELINES, "rlr"])
def test_a_model_is_saved_read_predicts_and_explains(learner, tmp_path):
    model = fitted(learner).model
    save_model(model, tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert again == model
    assert str(again) == str(model)
    given = options_for(learner, **SMALL[learner]).settings()
    stated = {name: value for name, value in given.items() if value is not None}
    assert model.settings.items() >= stated.items()
    assert model.learner == learner
    engine, examples = MemoryEngine(WORLD), WORLD.examples_of(TARGET)
    probabilities = again.probabilities(engine, examples.keys)
    assert np.array_equal(probabilities, model.probabilities(engine, examples.keys))
    assert probabilities[examples.labels == 1].mean() > probabilities[examples.labels == 0].mean() + 0.1
    names = WORLD.names_of(TARGET, examples.keys[:1])[0]
    explained = explain(again, engine, examples.keys[0], names)
    assert explained.probability == probabilities[0]
    assert model.size_text.split()[0].isdigit()
    assert len(explained.as_dict()["reasons"]) == len(explained.reasons) > 0
    telling = [reason for reason in explained.reasons if reason.contribution]
    assert telling
    assert all(f" because {reason.because(tuple(names))}" in str(explained) for reason in telling)


@pytest.mark.parametrize("learner", BASELINES)
def test_another_seed_draws_other_negatives_and_none_keeps_all(learner):
    assert model_text(fitted(learner, neg_pos_ratio=0.5).model) != model_text(
        fitted(learner, neg_pos_ratio=0.5, seed=1).model
    )
    everything = fitted(learner, neg_pos_ratio=None, **({"redraw": False} if learner == "rdn-boost" else {}))
    seeded = fitted(
        learner, neg_pos_ratio=None, seed=1, **({"redraw": False} if learner == "rdn-boost" else {})
    )
    same = {"seed": 0}
    assert replace(everything.model, settings=same) == replace(seeded.model, settings=same)


@pytest.mark.parametrize("learner", BASELINES)
def test_a_time_limit_and_ctrl_c_leave_a_model_that_is_marked(learner):
    late = fitted(learner, control={"should_stop": time_limit(0.0)})
    assert (late.history.cut, late.history.ended, late.model.settings["cut"]) == (
        True,
        "time limit",
        "time limit",
    )
    assert late.history.steps == ()
    assert parse_model(model_text(late.model)) == late.model

    def interrupt(step) -> None:
        raise KeyboardInterrupt

    cut = fitted(learner, control={"on_step": interrupt})
    assert len({step.number for step in cut.history.steps}) == 1
    if learner != "agg-lr":  # which has one step only
        assert cut.history.cut
        assert cut.model.settings["cut"] == "interrupted"


@pytest.mark.parametrize("learner", BASELINES)
def test_the_history_tells_what_was_done(learner):
    seen = []
    done = fitted(learner, control={"on_step": seen.append})
    assert tuple(seen) == done.history.steps
    assert done.history.cut is False
    written = done.history.as_dict()["steps"]
    assert [step["step"] for step in written] == [step.number for step in seen]
    assert all(step.title and step.candidates >= 0 for step in seen)


@pytest.mark.parametrize("learner", BOOSTED)
@pytest.mark.parametrize("number", [1, 3])
def test_a_checkpoint_goes_on_to_the_same_bytes(learner, number, tmp_path):
    def stop(step) -> None:
        if step.number == number:
            raise KeyboardInterrupt

    fitted(learner, control={"checkpoint": tmp_path, "on_step": stop})
    seen = []
    resumed = fitted(learner, control={"checkpoint": tmp_path, "on_step": seen.append})
    assert {step.number for step in seen} == set(range(number + 1, 5))
    assert model_text(resumed.model) == model_text(fitted(learner).model)
    finished = fitted(learner, control={"checkpoint": tmp_path, "on_step": seen.append})
    assert model_text(finished.model) == model_text(resumed.model)
    assert finished.history == resumed.history


def test_a_checkpoint_of_another_learner_is_refused(tmp_path):
    fitted("mln-boost", control={"checkpoint": tmp_path})
    with pytest.raises(DataError, match="this checkpoint belongs to a fit with different options"):
        fitted("rdn-boost", control={"checkpoint": tmp_path})


@pytest.mark.parametrize("learner", BASELINES)
def test_what_does_not_fit_the_budget_is_skipped_and_recorded(learner):
    examples = WORLD.examples_of(TARGET)
    told = options_for(learner, **SMALL[learner])
    engine = MemoryEngine(WORLD, memory=10_000)
    if learner == "agg-lr":
        with pytest.raises(LimitError, match="features of 640 examples fill the memory budget"):
            learn(learner, engine, examples, told)
        return
    done = learn(learner, engine, examples, told)
    assert len(done.history.skipped) > 0
    assert "that could not be counted" in str(done.history.notices()[-1])


@pytest.mark.parametrize("learner", [*BASELINES, "rlr"])
@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([1, 1], "no negative example of"),
        ([0, 0], "no positive example of"),
        ([1, 2], "must be 0 or 1, found 2"),
    ],
)
def test_labels_are_checked(learner, labels, sentence):
    keys = WORLD.examples_of(TARGET).keys[:2]
    with pytest.raises(DataError, match=sentence):
        examples = Examples(TARGET, keys, np.array(labels, dtype=np.int8))
        learn(learner, MemoryEngine(WORLD), examples, options_for(learner))


@pytest.mark.parametrize("learner", [*BASELINES, "rlr"])
def test_a_language_that_can_say_nothing_is_refused(learner):
    with pytest.raises(SchemaError, match=r"no literal can be added to advisedby\(A,B\)"):
        fitted(learner, replace(WORLD, modes=WORLD.modes[:1]))


@pytest.mark.parametrize("learner", BASELINES)
def test_facts_that_tell_nothing_leave_the_prior(learner):
    modes = tuple(map(parse_mode, ["advisedby(+person,+person).", "student(+person)."]))
    nothing = build(schema_of(modes), modes, {}, {TARGET: ([["a", "b"], ["c", "d"]], [1, 0])})
    done = fitted(learner, nothing)
    assert done.model.size_text.startswith("0 ")
    keys = nothing.examples_of(TARGET).keys
    assert len(set(done.model.probabilities(MemoryEngine(nothing), keys).tolist())) == 1
    assert parse_model(model_text(done.model)) == done.model


# --- options ------------------------------------------------------------------------------------


def test_every_option_has_a_bound_and_says_what_it_must_be():
    for learner in LEARNERS:
        for name in options_class(learner).names():
            with pytest.raises(OptionError, match=f"^{name}=.* is refused: it must be "):
                options_for(learner, **{name: object()})


@pytest.mark.parametrize(
    ("learner", "option"),
    [
        ("agg-lr", "n_steps"),
        ("agg-lr", "beam_width"),
        ("ilp-rlr", "n_steps"),
        ("ilp-rlr", "negation"),
        ("mln-boost", "l2"),
        ("mln-boost", "max_depth"),
        ("rdn-boost", "stop"),
        ("rdn-boost", "l2"),
    ],
)
def test_an_option_that_a_learner_lacks_is_refused_by_name(learner, option):
    with pytest.raises(OptionError, match=f'learner "{learner}" has no option "{option}". Options are: '):
        options_for(learner, **{option: 1})


def test_presets_and_checkpoints_are_refused_where_there_are_none(tmp_path):
    with pytest.raises(OptionError, match=r'learner "mln-boost" has no presets; leave preset="paper" out\.'):
        options_for("mln-boost", "paper")
    with pytest.raises(OptionError, match=r'learner "agg-lr" has no checkpoints; leave checkpoint out\.'):
        fitted("agg-lr", control={"checkpoint": tmp_path})
    with pytest.raises(
        OptionError, match=r'no learner "rnd-boost"\. Learners are: .*Did you mean "rdn-boost"\?'
    ):
        options_for("rnd-boost")


@pytest.mark.parametrize(
    ("option", "values"), [("max_depth", (1, 3)), ("max_leaves", (2, 4)), ("min_examples", (1, 60))]
)
def test_limits_of_a_tree_are_kept(option, values):
    from hornbeam.rivals.trees.trees import Leaf, leaves, places

    for value in values:
        model = fitted("rdn-boost", **{option: value, "max_depth": 3} | {option: value}).model
        assert len(model.trees) > 0
        for tree in model.trees:
            ends = [place.tree for place in leaves(tree)]
            nodes = [place for place in places(tree) if not isinstance(place.tree, Leaf)]
            if option == "max_leaves":
                assert len(ends) <= value
            elif option == "min_examples":
                assert min(leaf.examples for leaf in ends) >= value
            else:
                assert len(ends) <= 2**value
                assert len(nodes) == len(ends) - 1


def test_tests_of_a_tree_have_at_most_so_many_literals():
    from hornbeam.rivals.trees.trees import Node, places

    for most in (1, 2):
        model = fitted("rdn-boost", max_literals=most).model
        lengths = {
            len(place.tree.test)
            for tree in model.trees
            for place in places(tree)
            if isinstance(place.tree, Node)
        }
        assert max(lengths) == most


def test_clauses_per_step_are_what_a_step_adds():
    done = fitted("mln-boost", clauses_per_step=2)
    assert [step.number for step in done.history.steps] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert len(done.model.clauses) == 8


# --- aggregates in files ------------------------------------------------------------------------


def test_a_model_of_aggregates_reads_as_what_it_weighs():
    model = fitted("agg-lr").model
    assert isinstance(model, AggregateModel)
    first, second, *_ = str(model).splitlines()
    assert first.startswith("prior -")
    assert first.endswith(", counts and distinct values as ln(1 + n)")
    assert second.startswith("[")
    assert any("count publication(C,A), publication(C,B) (mean" in line for line in str(model).splitlines())
    assert any("distinct " in line for line in str(model).splitlines())
