"""Environments of pddlgym: planning problems in PDDL, whose goal becomes facts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

from hornbeam.errors import OptionError
from hornbeam.policies.environments.objects import OBJECT, needed, type_name
from hornbeam.policies.language import logical_name

GOAL, TODO, KIND = "goal_", "todo_", "is_"
"""How predicates begin that say what is the goal, what of it is not true yet, and what an object is."""


def made(name: str) -> PlanningEnvironment:
    """The environment of pddlgym with this name."""
    with needed("pddlgym"):
        import pddlgym
    from gym.error import Error

    try:
        return PlanningEnvironment(pddlgym.make(name).unwrapped)
    except Error as error:
        raise OptionError(f'pddlgym has no environment "{name}": {error}') from None


def adapted(env: Any) -> PlanningEnvironment:
    """An environment that pddlgym made."""
    return PlanningEnvironment(env)


class PlanningEnvironment:
    """Problems of a planning domain; actions are the applicable ones.

    Literals of a goal that are in a disjunction or below a quantifier, or that must not be true, are no
    facts: a policy cannot see them.
    """

    def __init__(self, env: Any) -> None:
        self._env, domain = env, env.domain
        if env._inference_mode == "prolog" and shutil.which("swipl") is None:
            raise OptionError(
                f'the domain "{domain.domain_name}" has conditions for which pddlgym needs SWI-Prolog; '
                "install the program swipl."
            )
        self._ground: dict[tuple[str, ...], Any] = {}
        lifted = {each.name: each for each in env.action_predicates}
        stated = {name: each for name, each in domain.predicates.items() if name not in lifted}
        parents = domain.type_to_parent_types or {}
        self._kinds = {str(name): sorted(str(each).strip() for each in own) for name, own in parents.items()}
        self._flat = all(own == [name.strip()] for name, own in self._kinds.items())
        taken = {logical_name(each) for each in {*lifted, *stated}}
        # Types of an untyped domain, and of one with a hierarchy.
        self._types = {
            name: type_name(name, taken) if self._flat and name != "default" else type_name(OBJECT, taken)
            for name in {*self._kinds, *(str(t) for each in lifted.values() for t in each.var_types)}
        }
        self.actions = {name: self._typed(each) for name, each in lifted.items()}
        self.predicates = {
            form + name: self._typed(each) for name, each in stated.items() for form in ("", GOAL, TODO)
        }
        if not self._flat:
            one = (type_name(OBJECT, taken),)
            self.predicates |= {KIND + each: one for own in self._kinds.values() for each in own}

    def _typed(self, predicate: Any) -> tuple[str, ...]:
        return tuple(self._types.get(str(each), OBJECT) for each in predicate.var_types or ())

    def reset(self, seed: int) -> tuple[list[Any], list[Any]]:
        """The first state of the problem that a seed gives."""
        state, _ = self._env.reset(seed=seed % 2**32)
        return self._facts(state), self._applicable(state)

    def step(self, action: Any) -> tuple[list[Any], list[Any], float, bool, bool]:
        """What comes of an action that was applicable."""
        if action not in self._ground:
            raise OptionError(f"{action!r} is not applicable here; take one of the applicable actions.")
        state, reward, done, truncated, _ = self._env.step(self._ground[action])
        return self._facts(state), [] if done else self._applicable(state), float(reward), done, truncated

    def _facts(self, state: Any) -> list[Any]:
        facts = [_tuple(each) for each in state.literals if each.predicate.name not in self.actions]
        for each in _literals(state.goal):
            if not each.is_negative:
                facts.append((GOAL + each.predicate.name, *_names(each)))
                if each not in state.literals:
                    facts.append((TODO + each.predicate.name, *_names(each)))
        for each in sorted(state.objects):
            kind = str(each.var_type)
            facts.append((self._types[kind], each.name))
            if not self._flat:
                facts += [(KIND + own, each.name) for own in self._kinds[kind]]
        return facts

    def _applicable(self, state: Any) -> list[Any]:
        from pddlgym.core import InvalidAction, get_successor_state

        env, found = self._env, []
        for each in sorted(env.action_space.all_ground_literals(state)):
            if not env._dynamic_action_space:
                # Without names of operators, every action is offered, whether it does something or not.
                try:
                    get_successor_state(state, each, env.domain, True, env._inference_mode)
                except InvalidAction:
                    continue
            found.append(each)
        self._ground = {_tuple(each): each for each in found}
        return [*self._ground]


def _names(literal: Any) -> list[str]:
    return [each.name for each in literal.variables]


def _tuple(literal: Any) -> tuple[str, ...]:
    return literal.predicate.name, *_names(literal)


def _literals(goal: Any) -> Iterator[Any]:
    """The literals that a goal needs, all of them."""
    from pddlgym.structs import Literal, LiteralConjunction

    if isinstance(goal, Literal):
        yield goal
    elif isinstance(goal, LiteralConjunction):
        for each in goal.literals:
            yield from _literals(each)
