"""Policies: learned from demonstrations and from episodes, acting, explaining, in one file."""

import json
import random

import pytest

import hornbeam as hb
from hornbeam.errors import DataError, HornbeamError, ModelError
from hornbeam.logic.parse_effect import parse_effect
from hornbeam.model.clause_model import Model
from hornbeam.model.effects import FittedEffect
from hornbeam.policies.episodes import Episode, Memory, Transition
from hornbeam.policies.fitting import summed
from hornbeam.policies.language import WorldLanguage
from hornbeam.policies.worlds import schema_of

ACTIONS = {"eat": ("fruit",), "wait": ()}
PREDICATES = {"ripe": ("fruit",), "near": ("fruit", "fruit"), "hungry": ()}


LANGUAGE = WorldLanguage.of({"next": ("place", "place"), "at": ("place",), "goal": ("place",)})


class Orchard:
    """One step each: a ripe fruit is worth 1, another one costs 1, and waiting is worth nothing."""

    def reset(self, *, seed=None):
        rng = random.Random(seed)
        self.ripe = {name for name in "abc" if rng.random() < 0.4}
        return self.facts(), {"actions": self.actions()}

    def facts(self):
        return [("fruit", name) for name in "abc"] + [("ripe", name) for name in sorted(self.ripe)]

    def actions(self):
        return [("wait",), *(("eat", name) for name in "abc")]

    def step(self, action):
        reward = 0.0 if action[0] == "wait" else 1.0 if action[1] in self.ripe else -1.0
        return self.facts(), reward, True, False, {"actions": []}


def shown(number):
    """Demonstrations in which ripe fruits are eaten, and without any one waits."""
    rng = random.Random(number)
    for _ in range(number):
        ripe = [name for name in "abcd" if rng.random() < 0.4]
        facts = [("fruit", name) for name in "abcd"] + [("ripe", name) for name in ripe]
        actions = [("wait",), *(("eat", name) for name in "abcd")]
        yield facts, actions, [("eat", name) for name in ripe] or [("wait",)]


@pytest.fixture(scope="module")
def imitator():
    return hb.RelationalPolicy(ACTIONS, PREDICATES, max_effects=2).imitate(shown(40))


STATE = [("fruit", "p"), ("fruit", "q"), ("ripe", "q")]
CHOICES = [("wait",), ("eat", "p"), ("eat", "q")]


def test_an_imitator_does_what_was_shown(imitator):
    assert imitator.act(STATE, CHOICES) == ("eat", "q")
    assert imitator.act(STATE[:2], CHOICES) == ("wait",)


def test_act_returns_the_action_as_it_was_given(imitator):
    listed = [["eat", "q"], ["eat", "p"]]
    assert imitator.act(STATE, listed) is listed[0]


def test_a_learner_finds_what_pays():
    policy = hb.RelationalPolicy(ACTIONS, PREDICATES, max_effects=2)
    policy.learn(Orchard(), iterations=2, trajectories=40, held_out=10)
    assert policy.act(STATE, CHOICES) == ("eat", "q")
    assert sum(each.kept for each in policy.history_) == 1
    kept = next(each for each in policy.history_ if each.kept)
    assert kept.held_out_return == max(each.held_out_return for each in policy.history_)
    assert f"The policy of iteration {kept.number} of 2" in policy.show()
    assert policy.score(Orchard(), 10, 1_000_000) == kept.held_out_return
    assert policy.act(STATE[:2], CHOICES) == ("wait",)


class Corridor:
    """Ten places in a row, of which the last is the goal; every step costs 1, and one may turn back."""

    def reset(self, *, seed=None):
        self.place = random.Random(seed).randrange(9)
        return self.facts(), {"actions": self.actions()}

    def facts(self):
        links = [("next", f"p{number}", f"p{number + 1}") for number in range(9)]
        return [*links, ("at", f"p{self.place}"), ("goal", "p9")]

    def actions(self):
        near = [each for each in (self.place - 1, self.place + 1) if 0 <= each < 10]
        return [("go", f"p{each}") for each in near]

    def step(self, action):
        self.place = int(action[1][1:])
        done = self.place == 9
        return self.facts(), 0.0 if done else -1.0, done, False, {"actions": [] if done else self.actions()}


@pytest.fixture(scope="module")
def walker():
    language = {"next": ("place", "place"), "at": ("place",), "goal": ("place",)}
    policy = hb.RelationalPolicy({"go": ("place",)}, language, {"after": "next"}, max_effects=4)
    return policy.learn(Corridor(), iterations=2, trajectories=6, held_out=8)


def test_a_learner_says_which_action_is_best_wherever_it_is(walker):
    assert {*walker.models_} == {"go"}
    env = Corridor()
    for place in (1, 5, 8):
        env.place = place
        back, on = walker.scores(env.facts(), env.actions())
        assert on > back


def test_a_score_is_that_of_the_choice_and_what_the_action_is_worth_in_a_unit():
    """An effect of both models is there once, and its curves are added."""
    policy = hb.RelationalPolicy({"go": ("place",)}, {"at": ("place",), "goal": ("place",)})
    schema = schema_of(LANGUAGE, {"go": ("place",)})
    at, goal = (
        parse_effect(f"count [< 1: {low}; else: {high}] : go(A) :- {name}(A).")
        for name, low, high in (("at", -1.0, 1.0), ("goal", -2.0, 4.0))
    )
    choice = {"go": Model("go", schema, 0.5, (), effects=(FittedEffect(at, 1.0),), loss="choice")}
    worth = {"go": Model("go", schema, 3.0, (), effects=(FittedEffect(at, 1.0), FittedEffect(goal, 3.0)))}
    both = summed(choice, worth, 2.0)
    assert [str(each) for each in both["go"].effects] == [
        "count [< 1: -1.5; else: 1.5] : go(A) :- at(A).",
        "count [< 1: -1; else: 2] : go(A) :- goal(A).",
    ]
    policy._keep(both)
    assert policy.scores([("at", "a"), ("goal", "b")], [("go", "a"), ("go", "b")]) == [2.5, 2.5]


def test_the_unit_is_the_mean_difference_of_the_best_and_the_worst_action_of_a_state():
    memory = Memory(lambda facts: LANGUAGE.state(facts), lambda action: tuple(action))
    assert memory.difference(lambda place: []) == 1.0
    env = Corridor()
    for place in (0, 4, 5):
        env.place = place
        actions = env.actions()
        memory.add(Episode((Transition(env.facts(), actions, actions[0], -1.0, [], []),), True))
    assert memory.difference(lambda place: [[7.0], [2.0, 3.0], [9.0, 4.0]][place]) == 3.0
    assert memory.difference(lambda place: [1.0, 1.0]) == 1.0


def test_actions_that_are_nearly_the_best_of_a_state_are_as_good_as_the_best():
    memory = Memory(lambda facts: LANGUAGE.state(facts), lambda action: tuple(action))
    env = Corridor()
    env.place = 4
    three = [("go", "p3"), ("go", "p5"), ("go", "p6")]
    memory.add(Episode((Transition(env.facts(), three, three[1], -1.0, [], []),), True))
    for scores, good in (
        ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]),
        ([0.0, 9.6, 10.0], [0.0, 1.0, 1.0]),
        ([-3.0, -4.0, -7.0], [1.0, 0.0, 0.0]),
    ):
        assert [each for _, _, each in memory.best(lambda place, own=scores: own)] == good


def test_a_learner_is_one_file_too_and_its_explanations_add_up(walker, tmp_path):
    walker.save(tmp_path / "walker.json")
    again = hb.RelationalPolicy.load(tmp_path / "walker.json")
    env = Corridor()
    facts, info = env.reset(seed=3)
    assert again.scores(facts, info["actions"]) == walker.scores(facts, info["actions"])
    alone = walker.explain(facts, info["actions"][:1])
    assert sum(each.adds for each in alone.differences) == pytest.approx(alone.score, abs=0.02)


def test_what_was_found_at_the_end_of_an_episode_reaches_its_beginning():
    """Without any model, each state is worth what the rest of the episode gave, discounted."""
    memory = Memory(lambda facts: LANGUAGE.state(facts), lambda action: tuple(action))
    env = Corridor()
    env.place = 0
    steps = []
    for place in range(1, 10):
        before, actions = env.facts(), env.actions()
        after, reward, done, _, info = env.step(("go", f"p{place}"))
        steps.append(Transition(before, actions, ("go", f"p{place}"), reward, after, info["actions"]))
    memory.add(Episode(tuple(steps), done))
    found = {action[1]: worth for _, action, worth, _ in memory.targets(None, 0.5)}
    assert found == {f"p{n}": pytest.approx(-sum(0.5**k for k in range(9 - n))) for n in range(1, 10)}
    # The score of an action that was not tried counts, if it is higher.
    scores = [[7.0] * len(actions) for actions in memory.actions]
    better = {action[1]: worth for _, action, worth, _ in memory.targets(scores.__getitem__, 0.5)}
    assert better["p1"] == pytest.approx(-1 + 0.5 * 7)


def test_an_explanation_adds_up_to_the_difference_of_the_scores(imitator):
    for choices in (CHOICES, CHOICES[1:]):
        decision = imitator.explain(STATE, choices)
        assert decision.action == ("eat", "q")
        assert "eat(q) scores" in str(decision)
        total = sum(each.adds for each in decision.differences)
        assert total == pytest.approx(decision.score - decision.runner_up_score, abs=0.02)


def test_a_policy_is_one_file(imitator, tmp_path):
    imitator.save(tmp_path / "policy.json")
    again = hb.RelationalPolicy.load(tmp_path / "policy.json")
    assert again.scores(STATE, CHOICES) == imitator.scores(STATE, CHOICES)
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == (tmp_path / "policy.json").read_text()


@pytest.mark.parametrize(
    "change, sentence",
    [
        (lambda fields: fields.pop("models"), 'field "models" is missing'),
        (lambda fields: fields["models"].pop("eat"), "do not fit the actions"),
        (lambda fields: fields["models"]["eat"].update(prior="x"), "must be a finite number"),
        (lambda fields: fields.update(kind="cake"), "this is not a policy"),
        (lambda fields: fields.update(format_version=9), "format version 9"),
    ],
)
def test_a_damaged_file_gets_a_sentence(imitator, tmp_path, change, sentence):
    path = tmp_path / "policy.json"
    imitator.save(path)
    fields = json.loads(path.read_text())
    change(fields)
    path.write_text(json.dumps(fields))
    with pytest.raises(ModelError, match=sentence):
        hb.RelationalPolicy.load(path)


def test_the_report_shows_every_action(imitator):
    page = imitator.report().html
    assert "eat(A: fruit)" in page and "wait()" in page


class Silent(Orchard):
    def reset(self, *, seed=None):
        return super().reset(seed=seed)[0], {}


def fresh(actions=ACTIONS, predicates=PREDICATES, **more):
    return hb.RelationalPolicy(actions, predicates, **more)


BAD = [
    (lambda policy: policy.act(STATE, []), "the list of actions is empty"),
    (lambda policy: policy.act([], CHOICES), "the state has no facts"),
    (lambda policy: policy.act(STATE, [("eat", "z")]), 'names the fruit "z", which no fact of the state has'),
    (lambda policy: policy.act(STATE, [("eat",)]), "has 0 objects, but eat takes 1"),
    (lambda policy: policy.act(STATE, [("drink", "p")]), "is no action of this policy"),
    (lambda policy: policy.act(STATE, ["eat"]), "'eat' is no action; write it as a tuple"),
    (lambda policy: fresh().act(STATE, CHOICES), "has learned nothing yet"),
    (lambda policy: fresh().save("x"), "has learned nothing yet"),
    (lambda policy: fresh(discount=2), "discount=2 is refused"),
    (lambda policy: fresh({"ripe": ("fruit",)}), "has the name of a predicate"),
    (lambda policy: fresh({}), "actions is empty"),
    (lambda policy: fresh({"state_value": ("fruit",)}), "choose another name"),
    (lambda policy: fresh().imitate([(STATE, CHOICES, [("eat", "z")])]), "demonstration 0|names the fruit"),
    (lambda policy: fresh().imitate([(STATE, CHOICES, [])]), "show no good action"),
    (lambda policy: fresh().imitate([STATE[:2]]), "must be a state, its applicable actions"),
    (lambda policy: fresh().learn(Silent(), iterations=1), "gives no applicable actions"),
    (lambda policy: fresh().learn("world"), "is no environment"),
    (lambda policy: fresh().learn(Orchard(), iterations=0), "whole numbers of at least 1"),
]


@pytest.mark.parametrize("bad, sentence", BAD)
def test_bad_input_gets_a_sentence(imitator, bad, sentence):
    with pytest.raises(HornbeamError, match=sentence):
        bad(imitator)


def test_an_episode_is_drawn_with_a_dot_for_each_object():
    steps = tuple(
        Transition([], [], ("eat", name), 0.0, [], []) for name in ("apple", "a<b", "apple", "pear", "plum")
    )
    figure = Episode(steps, True).picture("A meal")
    drawn = figure.document()
    assert "a&lt;b" in drawn and drawn.count("<circle") == 10
    assert figure.rows[1] == ("2", "eat", "a<b") and "5 actions" in figure.caption
    with pytest.raises(DataError, match="no action"):
        Episode((), True).picture()
