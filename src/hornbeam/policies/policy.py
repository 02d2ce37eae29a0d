"""Relational policies: one readable model for each lifted action, by which a ground action is chosen."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from hornbeam.data.keys import key_text
from hornbeam.errors import DataError, OptionError, SchemaError, did_you_mean, plural
from hornbeam.files import write_file
from hornbeam.learning.options import EffectOptions
from hornbeam.model.clause_model import Model
from hornbeam.model.scales import CHOICE, SQUARED
from hornbeam.policies.decisions import Decision, differences, model_words
from hornbeam.policies.episodes import Action, Environment, Episode, Memory, episode, refused
from hornbeam.policies.fitting import Worth, fitted_models, group_of, summed
from hornbeam.policies.language import CATEGORY, NUMBER, STATE, WORLD, State, WorldLanguage, typed_names
from hornbeam.policies.policy_file import policy_text, read_policy
from hornbeam.policies.policy_page import policy_page
from hornbeam.policies.scoring import PreparedModel, StateFacts, head_of

if TYPE_CHECKING:
    from hornbeam.report import Report

HELD_OUT, FIRST_HELD_OUT = 20, 1_000_000
"""The number of starts that judge the iterates of a policy, and the seed of the first of them."""
EXPLORING = 0.6
"""The share of the iterations after which exploration is at its least."""
KEPT = 0.999
"""The share of the long model's gain that effects keep: a small loss in many states makes plans longer."""
LITERALS = 3
"""The largest number of links and conditions in a body: longer ones took twice the time, and were no better
in worlds larger than those learned from."""
NEARLY = 1e-9
"""Scores that differ by less are equal."""


class Iterate(NamedTuple):
    """An iteration of ``learn``: what was known, and how good the policy was on held-out starts."""

    number: int
    actions_tried: int
    effects: int
    held_out_return: float
    kept: bool = False


class RelationalPolicy:
    """A policy for relational worlds that people can read: effects say which action is good where.

    ``actions`` has the types of the objects of each action, ``predicates`` and ``closures`` are those of
    ``hb.worlds``. States are facts in any of its forms; an action is a tuple of its name and its objects.
    ``discount`` is the worth of a reward one step later; ``max_effects`` limits the effects of each action,
    after ``learn`` to twice as many: which action is the best, and what it is worth.

    After ``imitate`` or ``learn``: ``models_`` has the model of each action. After ``learn``, ``history_``
    lists the iterations, and which of them was kept.

    >>> predicates = {"gold": ("coin",), "dull": ("coin",)}
    >>> policy = RelationalPolicy(actions={"take": ("coin",)}, predicates=predicates)
    >>> states = [[("gold", "a"), ("dull", "b"), ("dull", "c")], [("dull", "a"), ("gold", "c")]] * 5
    >>> choices = [[("take", fact[1]) for fact in state] for state in states]
    >>> good = [[("take", fact[1]) for fact in state if fact[0] == "gold"] for state in states]
    >>> _ = policy.imitate(zip(states, choices, good))
    >>> policy.act([("dull", "x"), ("gold", "y")], [("take", "x"), ("take", "y")])
    ('take', 'y')
    """

    def __init__(
        self,
        actions: Mapping[str, Sequence[str]],
        predicates: Mapping[str, Sequence[str]],
        closures: Mapping[str, str] | None = None,
        discount: float = 0.95,
        max_effects: int = 12,
        max_links: int = 2,
        random_state: int = 0,
    ) -> None:
        self.actions, self.predicates, self.closures = actions, predicates, closures
        self.discount, self.max_effects, self.max_links = discount, max_effects, max_links
        self.random_state = random_state
        if not 0 <= discount <= 1:
            raise OptionError(f"discount={discount!r} is refused: it must be a number from 0 to 1.")
        self._heads = typed_names(actions, "actions")
        if not self._heads:
            raise OptionError('actions is empty; state them, such as {"move": ("block", "block")}.')
        self._language = WorldLanguage.of(predicates, closures)
        for name, types in self._heads.items():
            if name in self._language.predicates:
                raise OptionError(f'the action "{name}" has the name of a predicate; give it another name.')
            if {NUMBER, CATEGORY, WORLD} & {*types}:
                raise OptionError(f'the action "{name}" takes {", ".join(types)}; objects of types only.')
        if STATE in {*self._heads, *self._language.predicates, *self._language.types}:
            raise OptionError(f'"{STATE}" is what a state is worth; choose another name.')
        self._language = self._language.with_types(each for own in self._heads.values() for each in own)
        self._options = EffectOptions(
            max_effects=max_effects,
            max_links=max_links,
            per_constant=False,
            n_bags=5,
            n_steps=200,
            learning_rate=0.2,
            keep_gain=KEPT,
            max_literals=LITERALS,
            seed=random_state,
        )
        self.models_: dict[str, Model] = {}
        self.history_: tuple[Iterate, ...] = ()
        self._prepared: dict[str, PreparedModel] = {}
        self._random = random.Random(random_state)

    def __repr__(self) -> str:
        known = ", ".join(f"{name}: {model.size_text}" for name, model in self.models_.items())
        actions = ", ".join(f"{name}({', '.join(types)})" for name, types in self._heads.items())
        return f"RelationalPolicy({known or f'{actions}; not learned yet'})"

    # --- learning --------------------------------------------------------------------------------

    def imitate(self, demonstrations: Iterable[tuple[Any, Sequence[Any], Sequence[Any]]]) -> Self:
        """Learn from demonstrations: a state, its applicable actions, and the good ones of them."""
        states: list[State] = []
        worths: list[Worth] = []
        for number, shown in enumerate(demonstrations):
            where = f"demonstration {number}"
            if not isinstance(shown, tuple | list) or len(shown) != 3:
                raise DataError(
                    f"{where} must be a state, its applicable actions, and the good ones of them."
                )
            state = self._language.state(shown[0], where)
            named = [self._named(each, state) for each in shown[1]]
            good = {self._named(each, state) for each in shown[2]}
            if not good <= {*named}:
                stranger = sorted(good - {*named})[0]
                raise DataError(f"{where}: the good action {stranger} is not among the applicable ones.")
            worths += [Worth(len(states), each, float(each in good)) for each in dict.fromkeys(named)]
            states.append(state)
        if not any(each.value for each in worths):
            raise DataError("the demonstrations show no good action; give at least one.")
        self._keep(self._fitted(states, worths, CHOICE))
        self.history_ = ()
        return self

    def learn(
        self,
        env: Environment,
        iterations: int = 20,
        trajectories: int = 5,
        epsilon: tuple[float, float] = (1.0, 0.1),
        time_limit: float | None = None,
        held_out: int = HELD_OUT,
    ) -> Self:
        """Learn which actions are best by fitted Q iteration, from episodes in an environment.

        Each iteration learns what states and actions are worth, and then, as ``imitate`` does, which action
        is the best of each state that was seen. A score is the sum of both: which action is the best holds in
        larger worlds, too, and what it is worth tells apart actions that were all good in those that were
        seen. An action has at most ``max_effects`` for each of both.

        In each iteration, some episodes explore: an action is random with a probability that falls from the
        first to the last number of ``epsilon``. The policy that is kept is that of the iteration with the
        best mean return from ``held_out`` starts that no episode learned from. ``time_limit`` ends learning
        after so many seconds.
        """
        if iterations < 1 or trajectories < 1 or held_out < 1:
            raise OptionError("iterations, trajectories and held_out must be whole numbers of at least 1.")
        memory = Memory(self._language.state, self._named)
        facts: dict[int, StateFacts] = {}
        end = None if time_limit is None else time.monotonic() + time_limit
        rng = random.Random(self.random_state)
        done: list[Iterate] = []
        best: dict[str, Model] = {}
        worths: dict[str, PreparedModel] = {}
        self._keep({})
        for number in range(1, iterations + 1):
            share = min(1.0, (number - 1) / max(1.0, EXPLORING * iterations))
            chance = epsilon[0] + share * (epsilon[1] - epsilon[0])
            for _ in range(trajectories):
                memory.add(episode(env, rng.randrange(FIRST_HELD_OUT), self._explorer(chance, rng)))
            if not memory.outcomes:
                raise DataError("the environment offered no action in any episode; nothing can be learned.")
            scores = self._worths_in(memory, facts, worths) if worths else None
            targets = memory.targets(scores, self.discount)
            returns = self._fitted(memory.states, [Worth(*each) for each in targets], SQUARED)
            worths = _prepared(returns)
            scores = self._worths_in(memory, facts, worths)
            choices = self._fitted(memory.states, [Worth(*each) for each in memory.best(scores)], CHOICE)
            self._keep(summed(choices, returns, memory.difference(scores)))
            mean = self.score(env, held_out, FIRST_HELD_OUT)
            size = sum(len(model.effects) for model in self.models_.values())
            if not done or mean >= max(each.held_out_return for each in done):
                best = dict(self.models_)
            done.append(Iterate(number, len(memory.outcomes), size, mean))
            if end is not None and time.monotonic() > end:
                break
        self._keep(best)
        last = max(range(len(done)), key=lambda place: (done[place].held_out_return, place))
        self.history_ = tuple(each._replace(kept=place == last) for place, each in enumerate(done))
        return self

    def _fitted(self, states: Sequence[State], worths: Sequence[Worth], loss: str) -> dict[str, Model]:
        # The actions of a state stay together: they are one choice, or share what comes after.
        options = replace(self._options, loss=loss, group=None if loss == CHOICE else group_of(states))
        return fitted_models(self._language, self._heads, states, worths, options)

    def _keep(self, models: dict[str, Model]) -> None:
        self.models_ = models
        self._prepared = _prepared(models)

    def _explorer(self, chance: float, rng: random.Random) -> Any:
        """Chooses at random with a probability, and otherwise by the policy."""

        def choose(observation: Any, actions: Sequence[Any]) -> Any:
            if not self.models_ or rng.random() < chance:
                return rng.choice(actions)
            return self.act(observation, actions)

        return choose

    def _worths_in(
        self, memory: Memory, facts: dict[int, StateFacts], worths: Mapping[str, PreparedModel]
    ) -> Callable[[int], Sequence[float]]:
        """What the actions of each state that was seen are worth, by some models."""

        def scores(place: int) -> list[float]:
            if place not in facts:
                facts[place] = StateFacts(self._language, memory.states[place])
            own = worths[STATE].score(facts[place], head_of((), ()))
            return [own + each for each in self._scores(facts[place], memory.actions[place], worths)]

        return scores

    # --- deciding --------------------------------------------------------------------------------

    def act(self, state: Any, actions: Sequence[Any]) -> Any:
        """The applicable action with the highest score, as it was given; of equal ones, any."""
        scores = self.scores(state, actions)
        most = max(scores)
        best = [action for action, score in zip(actions, scores, strict=True) if score >= most - NEARLY]
        return best[0] if len(best) == 1 else self._random.choice(best)

    def scores(self, state: Any, actions: Sequence[Any]) -> list[float]:
        """The score of each applicable action in a state.

        After ``imitate``, an action is as probable to be good as its exponential among those of all actions;
        after ``learn``, what it is worth is added.
        """
        return self._scores(*self._asked(state, actions), self._prepared)

    def _asked(self, state: Any, actions: Sequence[Any]) -> tuple[StateFacts, list[Action]]:
        if not self.models_:
            raise OptionError("the policy has learned nothing yet; call imitate or learn first.")
        actions = list(actions)
        if not actions:
            raise DataError("the list of actions is empty, so there is nothing to choose from.")
        known = self._language.state(state)
        return StateFacts(self._language, known), [self._named(each, known) for each in actions]

    def _scores(
        self, facts: StateFacts, actions: Sequence[Action], models: Mapping[str, PreparedModel]
    ) -> list[float]:
        return [
            models[name].score(facts, head_of(self._heads[name], tuple(objects)))
            for name, *objects in actions
        ]

    def _named(self, action: Any, state: State | None = None) -> Action:
        """An action by its logical name and the texts of its objects, which the state must have."""
        if not isinstance(action, tuple | list) or not action or not isinstance(action[0], str):
            raise refused(action)
        name = action[0] if action[0] in self._heads else action[0].lower().replace("-", "_")
        types = self._heads.get(name)
        if types is None:
            hint = did_you_mean(name, self._heads, "Actions")
            raise SchemaError(f"{action!r} is no action of this policy. {hint}")
        if len(types) != len(action) - 1:
            raise SchemaError(
                f"{action!r} has {plural(len(action) - 1, 'object')}, but {name} takes {len(types)}: "
                f"{name}({', '.join(types)})."
            )
        objects = [each if type(each) is str else key_text(each) for each in action[1:]]
        for each, type_name in zip(objects, types, strict=True) if state is not None else ():
            if each not in state.objects[type_name]:  # type: ignore[union-attr]
                raise DataError(
                    f'{action!r} names the {type_name} "{each}", which no fact of the state has; add the '
                    f'fact ("{type_name}", "{each}") if it exists.'
                )
        return (name, *objects)

    def explain(self, state: Any, actions: Sequence[Any]) -> Decision:
        """The chosen action, and why not the runner-up: the difference of what each effect adds."""
        facts, named = self._asked(state, actions)
        scores = self._scores(facts, named, self._prepared)
        order = sorted(range(len(named)), key=lambda place: -scores[place])
        asked = [(named[place], head_of(self._heads[named[place][0]], named[place][1:])) for place in order]
        listed, other = list(actions), None if len(order) == 1 else order[1]
        return Decision(
            listed[order[0]],
            scores[order[0]],
            None if other is None else listed[other],
            None if other is None else scores[other],
            differences(self._prepared, facts, asked[0], None if other is None else asked[1]),
        )

    # --- reading and keeping ---------------------------------------------------------------------

    def show(self) -> str:
        """The policy in words: where it comes from, and the effects of each action as tables."""
        known = [model_words(model, self._heads.get(name, ())) for name, model in self.models_.items()]
        return "\n\n".join([f"{self!r}{self._kept_text()}", *known])

    def _kept_text(self) -> str:
        kept = [each for each in self.history_ if each.kept]
        if not kept:
            return ""
        return (
            f"\nThe policy of iteration {kept[0].number} of {len(self.history_)}, whose mean return on "
            f"held-out starts was best: {kept[0].held_out_return:.4g}"
        )

    def report(self) -> Report:
        """An HTML page with the effects of each action. Notebooks display it; ``save`` writes it."""
        return policy_page(repr(self), self._kept_text().strip(), self.models_, self._heads)

    def save(self, path: str | Path) -> None:
        """Write the policy to a JSON file, models and all."""
        if not self.models_:
            raise OptionError("the policy has learned nothing yet; call imitate or learn before save.")
        given = {
            "actions": {name: list(types) for name, types in self._heads.items()},
            "predicates": {
                name: list(types)
                for name, types in self._language.predicates.items()
                if name not in self._language.closures
            },
            "closures": dict(self._language.closures),
            "discount": self.discount,
            "max_effects": self.max_effects,
            "max_links": self.max_links,
            "random_state": self.random_state,
        }
        write_file(path, policy_text(given, self.models_, [each._asdict() for each in self.history_]))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a policy that ``save`` wrote."""
        given, models, history = read_policy(path)
        policy = cls(**given)
        policy._keep(models)
        policy.history_ = tuple(Iterate(**each) for each in history)
        return policy

    # --- judging ---------------------------------------------------------------------------------

    def play(self, env: Environment, seed: int = 0) -> Episode:
        """One episode in an environment, in which the policy chooses every action."""
        return episode(env, seed, self.act)

    def score(self, env: Environment, episodes: int = 100, seed: int = 0) -> float:
        """The mean discounted return of some episodes, whose starts have the seeds from ``seed`` on."""
        if episodes < 1:
            raise OptionError(f"episodes={episodes!r} is refused: it must be a whole number of at least 1.")
        returns = [self.play(env, seed + number).returned(self.discount) for number in range(episodes)]
        return sum(returns) / len(returns)


def _prepared(models: Mapping[str, Model]) -> dict[str, PreparedModel]:
    return {name: PreparedModel(model) for name, model in models.items()}
