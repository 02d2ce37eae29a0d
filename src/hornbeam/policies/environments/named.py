"""Environments by name or as made by their packages; several of them as one."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

from hornbeam.errors import OptionError, did_you_mean

ADAPTORS = {
    "pddlgym": "hornbeam.policies.environments.planning",
    "rddl": "hornbeam.policies.environments.rddl",
}
"""The module of each package; its ``made`` makes an environment of a name, ``adapted`` adapts one."""
PACKAGES = {"pddlgym": "pddlgym", "rddl": "pyRDDLGym"}
"""The package that defines the environments."""


class OneEnvironment(Protocol):
    """What an adaptor gives."""

    actions: Mapping[str, tuple[str, ...]]
    predicates: Mapping[str, tuple[str, ...]]

    def reset(self, seed: int) -> tuple[Any, list[Any]]: ...
    def step(self, action: Any) -> tuple[Any, list[Any], float, bool, bool]: ...


class RelationalEnvironment:
    """An environment whose observations are facts, with the language that a policy of it needs.

    ``actions`` and ``predicates`` are those of ``hb.RelationalPolicy``. ``reset`` and ``step`` are as in
    gymnasium, with the applicable actions in ``info["actions"]``.
    """

    def __init__(self, environments: Sequence[OneEnvironment], horizon: int | None) -> None:
        self._environments, self._own = environments, environments[0]
        self._horizon, self._steps = horizon, 0
        self.actions, self.predicates = dict(self._own.actions), dict(self._own.predicates)
        for other in environments[1:]:
            if (other.actions, other.predicates) != (self._own.actions, self._own.predicates):
                raise OptionError("the environments have different actions or predicates; give one domain.")

    def __repr__(self) -> str:
        actions = ", ".join(f"{name}({', '.join(types)})" for name, types in self.actions.items())
        return f"RelationalEnvironment(actions: {actions}; {len(self.predicates)} predicates)"

    def reset(self, *, seed: int | None = None) -> tuple[list[Any], dict[str, Any]]:
        """Begin an episode; the seed says which of several environments, and which start."""
        if seed is None:
            seed = random.randrange(2**31)
        self._own, self._steps = random.Random(seed).choice(self._environments), 0
        facts, actions = self._own.reset(seed)
        return facts, {"actions": actions}

    def step(self, action: Any) -> tuple[list[Any], float, bool, bool, dict[str, Any]]:
        """Take an applicable action: the facts afterwards, the reward, and whether the episode ended."""
        facts, actions, reward, terminated, truncated = self._own.step(action)
        self._steps += 1
        truncated = truncated or self._steps == self._horizon
        return facts, reward, terminated, truncated, {"actions": [] if terminated else actions}


def environment(*given: Any, horizon: int | None = None) -> RelationalEnvironment:
    """Environments of pddlgym or pyRDDLGym, for ``hb.RelationalPolicy``; install the extra ``environments``.

    Each is a name, ``"pddlgym:PDDLEnvFerry-v0"`` or ``"rddl:SysAdmin_MDP_ippc2011/1"`` (the domain and the
    instance of rddlrepository), or an object that these packages made. Of several, which must have the
    same actions and predicates, the seed of an episode chooses one. ``horizon`` ends an episode after so
    many steps.

    Of a planning problem, the goal is facts too: ``goal_on`` has the literals of the goal about ``on``,
    ``todo_on`` those that are not true yet. If types have types below them, objects have the one type
    ``object``, and facts such as ``is_truck`` say what they are.
    """
    if not given:
        raise OptionError('environment needs at least one environment, such as "pddlgym:PDDLEnvFerry-v0".')
    if horizon is not None and (not isinstance(horizon, int) or horizon < 1):
        raise OptionError(f"horizon={horizon!r} is refused: it must be a whole number of at least 1.")
    return RelationalEnvironment([_one(each) for each in given], horizon)


def _one(given: Any) -> OneEnvironment:
    if not isinstance(given, str):
        unwrapped = getattr(given, "unwrapped", given)
        packages = {each.__module__.partition(".")[0] for each in type(unwrapped).__mro__}
        for kind, package in PACKAGES.items():
            if package in packages:
                return _adaptor(kind).adapted(unwrapped)  # type: ignore[no-any-return]
        raise OptionError(f"{given!r} is no environment of {' or '.join(PACKAGES.values())}.")
    kind, _, name = given.partition(":")
    if kind not in ADAPTORS or not name:
        raise OptionError(
            f'"{given}" names no environment. {did_you_mean(kind, ADAPTORS, "Packages")} Write '
            '"pddlgym:PDDLEnvFerry-v0" or "rddl:SysAdmin_MDP_ippc2011/1".'
        )
    return _adaptor(kind).made(name)  # type: ignore[no-any-return]


def _adaptor(kind: str) -> Any:
    return import_module(ADAPTORS[kind])
