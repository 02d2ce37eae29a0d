"""Environments of pyRDDLGym: Markov decision processes in RDDL, whose fluents become facts."""

from __future__ import annotations

from itertools import product
from typing import Any

from hornbeam.errors import OptionError
from hornbeam.policies.environments.objects import needed, type_name
from hornbeam.policies.language import NUMBER, logical_name

NOOP = "noop"
"""The action that does nothing."""


def made(name: str) -> RddlEnvironment:
    """The environment of a domain of rddlrepository and one of its instances."""
    domain, slash, instance = name.partition("/")
    if not slash or not instance:
        raise OptionError(f'"rddl:{name}" names no instance; write "rddl:SysAdmin_MDP_ippc2011/1".')
    with needed("pyRDDLGym"):
        import pyRDDLGym
        from rddlrepository.core.manager import RDDLRepoManager
    known = RDDLRepoManager().list_problems()
    if domain not in known:
        raise OptionError(f'rddlrepository has no domain "{domain}"; its names are such as {known[0]}.')
    try:
        return RddlEnvironment(pyRDDLGym.make(domain, instance))
    except (ValueError, OSError) as error:
        raise OptionError(f'pyRDDLGym cannot make "{name}": {error}') from None


def adapted(env: Any) -> RddlEnvironment:
    """An environment that pyRDDLGym made."""
    return RddlEnvironment(env)


class RddlEnvironment:
    """One instance of a domain: true fluents are facts, numbers are attributes, one action at a time."""

    def __init__(self, env: Any) -> None:
        if env.vectorized:
            raise OptionError("the environment is vectorized; make it without vectorized=True.")
        self._env, model = env, env.model
        self._ground: dict[tuple[str, ...], dict[str, bool]] = {}
        kinds = {name: kind for name, kind in model.variable_types.items() if not name.endswith("'")}
        lifted = [name for name, kind in kinds.items() if kind == "action-fluent"]
        for name in lifted:
            if model.variable_ranges[name] != "bool":
                raise OptionError(
                    f'the action "{name}" takes a number; policies choose among actions of objects only.'
                )
        seen = [name for name, kind in kinds.items() if kind in ("non-fluent", self._observed())]
        taken = {logical_name(each) for each in [*lifted, *seen]}
        self._types = {each: type_name(each, taken) for each in model.type_to_objects}
        self.actions = {name: self._arguments(name) for name in lifted} | {NOOP: ()}
        self.predicates = {name: self._arguments(name) + self._value(name) for name in seen}
        self._fixed = [(self._types[kind], each) for each, kind in model.object_to_type.items()]
        self._fixed += self._true(model.ground_vars_with_values(model.non_fluents))

    def _observed(self) -> str:
        return "observ-fluent" if self._env.sampler.is_pomdp else "state-fluent"

    def _arguments(self, name: str) -> tuple[str, ...]:
        return tuple(self._types[each] for each in self._env.model.variable_params[name])

    def _value(self, name: str) -> tuple[str, ...]:
        """The type of the value of a fluent that is not true or false."""
        kind = self._env.model.variable_ranges[name]
        return () if kind == "bool" else (self._types.get(kind, NUMBER),)

    def _true(self, values: dict[str, Any]) -> list[Any]:
        facts: list[Any] = []
        for ground, value in values.items():
            name, objects = self._env.model.parse_grounded(ground)
            if not self._value(name):
                facts += [(name, *objects)] if value else []
            elif value is not None:
                facts.append((name, *objects, value if isinstance(value, str) else float(value)))
        return facts

    def reset(self, seed: int) -> tuple[list[Any], list[Any]]:
        """The first state; the seed decides what happens by chance."""
        values, _ = self._env.reset(seed=seed)
        return self._fixed + self._true(values), self._applicable()

    def step(self, action: Any) -> tuple[list[Any], list[Any], float, bool, bool]:
        """What comes of an action that was applicable."""
        if action not in self._ground:
            raise OptionError(f"{action!r} is not applicable here; take one of the applicable actions.")
        values, reward, terminated, truncated, _ = self._env.step(self._ground[action])
        facts = self._fixed + self._true(values)
        actions = [] if terminated else self._applicable()
        return facts, actions, float(reward), bool(terminated), bool(truncated)

    def _applicable(self) -> list[Any]:
        model, sampler = self._env.model, self._env.sampler
        self._ground = {(NOOP,): {}}
        for name in self.actions:
            if name == NOOP:
                continue
            own = [model.type_to_objects[each] for each in model.variable_params[name]]
            for objects in product(*own):
                self._ground[name, *objects] = {model.ground_var(name, objects): True}
        if model.preconditions:
            self._ground = {
                action: fluents
                for action, fluents in self._ground.items()
                if sampler.check_action_preconditions(sampler.prepare_actions_for_sim(fluents), silent=True)
            }
        return [*self._ground]
