"""Episodes in environments that speak gymnasium's interface, and what fitted Q iteration makes of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from hornbeam.drawing.figure import Figure
from hornbeam.errors import DataError, OptionError
from hornbeam.policies.language import State
from hornbeam.policies.plan_picture import plan_picture

MOST_STEPS = 500
"""An episode ends after this many steps, even if the environment never ends it."""
MOST_SWEEPS, SMALL = 200, 1e-9
"""How often the worth of states is computed from that of the next ones, unless it changes by less."""

NEARLY_BEST = 0.05
"""An action counts as best if it is worse by at most this share of the difference between the best and the
worst of its state."""


class Environment(Protocol):
    """What is asked of an environment: that of gymnasium, with facts as observations.

    ``info["actions"]`` holds the applicable actions; it is empty after the end.
    """

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]: ...
    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]: ...


class Transition(NamedTuple):
    """A step of an episode: what was seen, what was done, and what came of it."""

    observation: Any
    actions: Sequence[Any]
    action: Any
    reward: float
    next_observation: Any
    next_actions: Sequence[Any]
    """the actions that are applicable afterwards; none after a final state"""


class Episode(NamedTuple):
    """The steps from a start to an end, and how it ended."""

    steps: tuple[Transition, ...]
    terminated: bool
    """whether a final state was reached, rather than a limit of time"""

    def returned(self, discount: float = 1.0) -> float:
        """The discounted sum of the rewards."""
        total = 0.0
        for step in reversed(self.steps):
            total = step.reward + discount * total
        return total

    def picture(self, title: str = "An episode") -> Figure:
        """The actions in order as a figure. Notebooks display it; ``save`` writes it as SVG."""
        return plan_picture(title, [step.action for step in self.steps])


Chooser = Callable[[Any, Sequence[Any]], Any]


def episode(env: Environment, seed: int, choose: Chooser) -> Episode:
    """One episode from the start that a seed gives."""
    observation, info = _reset(env, seed)
    actions = actions_of(info)
    steps: list[Transition] = []
    terminated = False
    while actions and len(steps) < MOST_STEPS:
        action = choose(observation, actions)
        answer = env.step(action)
        if not isinstance(answer, tuple) or len(answer) != 5:
            raise OptionError(
                "the environment's step must return five values, as gymnasium's does: observation, reward, "
                "terminated, truncated, info."
            )
        following, reward, terminated, truncated, info = answer
        later = [] if terminated else actions_of(info)
        steps.append(Transition(observation, actions, action, float(reward), following, later))
        observation, actions = following, later
        if terminated or truncated:
            break
    return Episode(tuple(steps), bool(terminated))


def actions_of(info: Any) -> list[Any]:
    """The applicable actions that an environment gives."""
    try:
        return list(info["actions"])
    except (KeyError, TypeError):
        raise OptionError(
            'the environment gives no applicable actions: its info must have the entry "actions", a list.'
        ) from None


def _reset(env: Environment, seed: int) -> tuple[Any, Any]:
    if not hasattr(env, "reset") or not hasattr(env, "step"):
        raise OptionError(
            f"{env!r} is no environment: it must have reset(seed=...) and step(action), as gymnasium's have."
        )
    answer = env.reset(seed=seed)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise OptionError("the environment's reset must return two values, as gymnasium's does.")
    return answer


Action = tuple[str, ...]
"""The name of an action, then its objects."""


@dataclass
class Outcome:
    """What came of an action in a state, whenever it was tried."""

    times: int = 0
    reward: float = 0.0
    """the sum of the rewards"""
    after: dict[int, int] = field(default_factory=dict)
    """how often each next state followed; -1 for the end"""

    def worth(self, values: Mapping[int, float], discount: float) -> float:
        """The mean reward, and what the states are worth that followed."""
        later = sum(times * values[after] for after, times in self.after.items())
        return (self.reward + discount * later) / self.times


class Memory:
    """What was seen so far: each different state once, and what came of each action tried there."""

    def __init__(self, read: Callable[[Any], State], named: Callable[[Any], Action]) -> None:
        self._read, self._named = read, named
        self.states: list[State] = []
        self.actions: list[Sequence[Action]] = []
        """the applicable actions of each state"""
        self.outcomes: dict[tuple[int, Action], Outcome] = {}
        self._places: dict[frozenset[Any], int] = {}

    def add(self, seen: Episode) -> None:
        """Remember the steps of an episode."""
        for step in seen.steps:
            place = self._place(step.observation, step.actions)
            outcome = self.outcomes.setdefault((place, self._named(step.action)), Outcome())
            outcome.times += 1
            outcome.reward += step.reward
            after = self._place(step.next_observation, step.next_actions) if step.next_actions else -1
            outcome.after[after] = outcome.after.get(after, 0) + 1

    def _place(self, observation: Any, actions: Sequence[Any]) -> int:
        """The number of a state; equal facts are the same state."""
        state = self._read(observation)
        facts = {(name, *row) for name, rows in state.facts.items() for row in rows}
        key = frozenset(facts | {(name, each) for name, own in state.objects.items() for each in own})
        if key not in self._places:
            self._places[key] = len(self.states)
            self.states.append(state)
            self.actions.append([self._named(each) for each in actions])
        return self._places[key]

    def targets(
        self, scores: Callable[[int], Sequence[float]] | None, discount: float
    ) -> Iterator[tuple[int, Action, float, float]]:
        """For each action tried its state, its name, what it is worth, and how often it was tried.

        A state is worth what its best action is: of those that were tried by what came of them, of the
        others by ``scores``, which has a score for each applicable action. So what was found at the end of an
        episode reaches its beginning at once.
        """
        tried: dict[int, dict[Action, Outcome]] = {}
        for (place, action), outcome in self.outcomes.items():
            tried.setdefault(place, {})[action] = outcome
        others = [
            self._best_untried(place, tried.get(place, {}), scores) for place in range(len(self.states))
        ]
        values = {place: 0.0 if best == -math.inf else best for place, best in enumerate(others)} | {-1: 0.0}
        for _ in range(MOST_SWEEPS):
            change = 0.0
            for place in reversed(tried):
                own = max(outcome.worth(values, discount) for outcome in tried[place].values())
                best = max(own, others[place])
                change = max(change, abs(best - values[place]))
                values[place] = best
            if change < SMALL:
                break
        for (place, action), outcome in self.outcomes.items():
            yield place, action, outcome.worth(values, discount), float(outcome.times)

    def best(self, scores: Callable[[int], Sequence[float]]) -> Iterator[tuple[int, Action, float]]:
        """For each applicable action of each state its name, and 1 if it is nearly the best, else 0."""
        for place, actions in enumerate(self.actions):
            if not actions:
                continue
            own = scores(place)
            enough = max(own) - NEARLY_BEST * (max(own) - min(own))
            for action, score in zip(actions, own, strict=True):
                yield place, action, float(score >= enough)

    def difference(self, scores: Callable[[int], Sequence[float]]) -> float:
        """How much the best and the worst action of a state differ in the mean; 1 if they never differ."""
        own = [scores(place) for place, actions in enumerate(self.actions) if len(actions) > 1]
        return (sum(max(each) - min(each) for each in own) / len(own) if own else 0.0) or 1.0

    def _best_untried(
        self, place: int, tried: Container[Action], scores: Callable[[int], Sequence[float]] | None
    ) -> float:
        """The highest score of the actions of a state that were not tried."""
        if scores is None:
            return -math.inf
        own = zip(self.actions[place], scores(place), strict=True)
        return max((score for action, score in own if action not in tried), default=-math.inf)


def refused(action: Any) -> DataError:
    """The error for something that is no action."""
    return DataError(f'{action!r} is no action; write it as a tuple such as ("move", "a", "b").')
