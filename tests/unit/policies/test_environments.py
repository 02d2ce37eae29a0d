"""Environments of pddlgym and pyRDDLGym, as the packages make them, are facts and applicable actions."""

import random
import subprocess
import sys

import pytest

import hornbeam as hb
from hornbeam.errors import OptionError
from hornbeam.policies.environments.objects import type_name

pytestmark = [
    # Files that these packages leave open, and an old name of their own that they use.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def played(env, steps: int = 15):  # type: ignore[no-untyped-def]
    """The states of a random episode, as the language of a policy reads them, and the applicable actions."""
    language = hb.RelationalPolicy(env.actions, env.predicates)._language
    rng, (facts, info) = random.Random(0), env.reset(seed=3)
    for _ in range(steps):
        state = language.state(facts)
        yield state, info["actions"]
        if not info["actions"]:
            return
        action = rng.choice(info["actions"])
        facts, reward, terminated, truncated, info = env.step(action)
        assert isinstance(reward, float)
        if terminated or truncated:
            return


@pytest.mark.parametrize(
    "name",
    [
        "pddlgym:PDDLEnvManyferry-v0",
        "pddlgym:PDDLEnvBlocks-v0",
        "pddlgym:PDDLEnvSpannerlearning-v0",
        "rddl:SysAdmin_MDP_ippc2011/1",
        "rddl:Navigation_MDP_ippc2011/1",
        "rddl:Wildfire_MDP_ippc2014/1",
    ],
)
def test_episodes_are_facts_and_actions_of_objects_that_exist(name: str) -> None:
    for state, actions in played(hb.environment(name)):
        assert actions or name.endswith("Spannerlearning-v0"), "only in this domain one can get stuck"
        known = {each for own in state.objects.values() for each in own}
        assert {each for action in actions for each in action[1:]} <= known


def test_the_goal_of_a_problem_is_facts_and_what_is_not_true_yet_too() -> None:
    env = hb.environment("pddlgym:PDDLEnvManyferry-v0")
    facts, _ = env.reset(seed=0)
    goal = {fact[1:] for fact in facts if fact[0] == "goal_at"}
    true = {fact[1:] for fact in facts if fact[0] == "at"}
    assert goal
    assert {fact[1:] for fact in facts if fact[0] == "todo_at"} == goal - true
    assert env.predicates["goal_at"] == env.predicates["at"] == ("object", "object")


def test_applicable_actions_change_the_state() -> None:
    """pddlgym offers other actions of this domain too, which do nothing."""
    env = hb.environment("pddlgym:PDDLEnvFerry-v0")
    _, info = env.reset(seed=1)
    assert {action[0] for action in info["actions"]} <= {"sail", "board", "debark"}
    for action in info["actions"]:
        before, _ = env.reset(seed=1)
        after, *_ = env.step(action)
        assert {*before} != {*after}
    with pytest.raises(OptionError, match="not applicable"):
        env.step(("board", "l0"))


def test_objects_of_a_hierarchy_have_one_type_and_say_what_they_are() -> None:
    env = hb.environment("pddlgym:PDDLEnvSpannerlearning-v0")
    facts, _ = env.reset(seed=0)
    assert {each for types in env.actions.values() for each in types} == {"object"}
    assert ("is_man", "bob") in facts and ("is_locatable", "bob") in facts


def test_fluents_are_facts_and_numbers_attributes() -> None:
    env = hb.environment("rddl:Wildfire_MDP_ippc2014/1")
    assert env.predicates["COST_CUTOUT"] == ("number",)
    assert env.predicates["NEIGHBOR"] == ("x_pos", "y_pos", "x_pos", "y_pos")
    facts, info = env.reset(seed=0)
    assert ("noop",) in info["actions"]
    assert any(fact[0] == "COST_CUTOUT" and isinstance(fact[1], float) for fact in facts)


def test_the_same_seed_is_the_same_episode() -> None:
    env = hb.environment(*(f"rddl:SysAdmin_MDP_ippc2011/{number}" for number in (1, 2, 3)))
    one, other = ([*played(env)] for _ in range(2))
    assert one == other
    sizes = set()
    for seed in range(12):
        facts, _ = env.reset(seed=seed)
        sizes.add(sum(fact[0] == "computer" for fact in facts))
    assert len(sizes) > 1


def test_a_horizon_ends_an_episode_but_not_the_world() -> None:
    env = hb.environment("rddl:SysAdmin_MDP_ippc2011/1", horizon=2)
    env.reset(seed=0)
    assert env.step(("noop",))[2:4] == (False, False)
    _, _, terminated, truncated, info = env.step(("noop",))
    assert (terminated, truncated) == (False, True)
    assert info["actions"]


def test_what_the_packages_made_is_adapted() -> None:
    import pddlgym

    env = hb.environment(pddlgym.make("PDDLEnvManyferry-v0"))
    assert env.actions["sail"] == ("object", "object")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "at least one environment"),
        (("ferry",), "names no environment"),
        (("pddlgym:Nothing-v0",), "no environment"),
        (("rddl:SysAdmin_MDP_ippc2011",), "names no instance"),
        (("rddl:Nothing/1",), 'no domain "Nothing"'),
        (("rddl:SysAdmin_MDP_ippc2011/77",), "cannot make"),
        ((7,), "no environment of pddlgym or pyRDDLGym"),
        (("rddl:SysAdmin_MDP_ippc2011/1", "rddl:Navigation_MDP_ippc2011/1"), "different actions"),
        (("rddl:Reservoir_ippc2023/1",), "takes a number"),
    ],
)
def test_what_is_no_environment_is_refused_in_a_sentence(given: tuple[object, ...], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        hb.environment(*given)


def test_a_horizon_of_no_steps_is_refused() -> None:
    with pytest.raises(OptionError, match="horizon=0"):
        hb.environment("rddl:SysAdmin_MDP_ippc2011/1", horizon=0)


def test_what_pddlgym_cannot_do_without_prolog_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(OptionError, match="SWI-Prolog"):
        hb.environment("pddlgym:PDDLEnvQuantifiedblocks-v0")


def test_a_missing_package_is_named_with_its_extra() -> None:
    program = (
        "import sys\nsys.modules['pddlgym'] = None\nimport hornbeam as hb\n"
        "try:\n    hb.environment('pddlgym:PDDLEnvFerry-v0')\n"
        "except hb.HornbeamError as error:\n    print(error)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert 'pip install "hornbeam[environments]"' in found.stdout


def test_types_that_are_predicates_too_get_another_name() -> None:
    assert [type_name(each, {"truck"}) for each in ("Truck", "world", "number", "city")] == [
        "truck_object", "world_object", "number_object", "city",
    ]  # fmt: skip
