"""Simulators for policies: the relational worlds of the KR 2020 protocol, and planning problems in PDDL.

Each speaks the interface of gymnasium: ``reset(seed=...)`` and ``step(action)``, with facts as observations
and the applicable actions in ``info["actions"]``.
"""

import random
import re
from collections import defaultdict, deque
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

FLOOR = "floor"


class Blocks:
    """Towers of blocks, from bottom to top, with the tasks ``stack``, ``unstack`` and ``on``."""

    actions: ClassVar = {"move": ("block", "block")}
    predicates: ClassVar = {
        "on": ("block", "block"),
        "clear": ("block",),
        "floor": ("block",),
        "goal_on": ("block", "block"),
    }
    closures: ClassVar = {"above": "on"}

    def __init__(self, task, sizes, horizon=None):
        self.task, self.sizes, self.horizon = task, sizes, horizon

    def reset(self, *, seed=None):
        rng = random.Random(seed)
        while True:
            self._draw(rng, rng.choice(self.sizes))
            if not self.done():
                break
        self.steps = 0
        return self.facts(), {"actions": self.applicable()}

    def _draw(self, rng, size):
        names = [f"b{number}" for number in range(size)]
        rng.shuffle(names)
        self.towers = []
        for name in names:
            place = rng.randrange(len(self.towers) + 1)
            if place == len(self.towers):
                self.towers.append([name])
            else:
                self.towers[place].append(name)
        self.goal = rng.sample(names, 2) if self.task == "on" else None

    def facts(self):
        facts = [("floor", FLOOR)]
        for tower in self.towers:
            facts += [("on", upper, lower) for lower, upper in zip([FLOOR, *tower], tower, strict=False)]
            facts.append(("clear", tower[-1]))
        return [*facts, ("goal_on", *self.goal)] if self.goal else facts

    def applicable(self):
        tops = [tower[-1] for tower in self.towers]
        moves = [("move", tower[-1], FLOOR) for tower in self.towers if len(tower) > 1]
        return moves + [("move", one, other) for one in tops for other in tops if one != other]

    def done(self):
        if self.task == "stack":
            return len(self.towers) == 1
        if self.task == "unstack":
            return all(len(tower) == 1 for tower in self.towers)
        return (self.goal[1], self.goal[0]) in [pair for tower in self.towers for pair in pairwise(tower)]

    def step(self, action):
        _, upper, lower = action
        touched = next(list(tower) for tower in self.towers if upper in tower)
        source = next(tower for tower in self.towers if tower[-1] == upper)
        source.pop()
        target = next((tower for tower in self.towers if tower and tower[-1] == lower), None)
        if target is None:
            self.towers.append([upper])
        else:
            target.append(upper)
        self.towers = [tower for tower in self.towers if tower]
        self.steps += 1
        ended = self.horizon is not None and self.steps >= self.horizon
        done = self.done()
        return self.facts(), self._reward(touched, done), done, ended, {"actions": self.applicable()}

    def _reward(self, touched, done):
        number = sum(map(len, self.towers))
        if self.task == "stack":
            return 2.0 if done else -1.0 / max(map(len, self.towers))
        if self.task == "unstack":
            return 10.0 if done else -(1.0 - len(self.towers) / number)
        if done:
            return 10.0
        return -0.1 if {*self.goal} & {*touched} else -1.0

    def optimum(self):
        """The least number of steps to the goal."""
        if self.task == "stack":
            return sum(map(len, self.towers)) - max(map(len, self.towers))
        if self.task == "unstack":
            return sum(len(tower) - 1 for tower in self.towers)
        one, other = self.goal
        upper = next(tower for tower in self.towers if one in tower)
        lower = next(tower for tower in self.towers if other in tower)
        above_one = len(upper) - upper.index(one) - 1
        above_other = len(lower) - lower.index(other) - 1
        if upper is not lower:
            return above_one + above_other + 1
        return max(above_one, above_other) + 1


class Logistics:
    """Trucks that carry boxes between cities; done when a box lies in the city of destination."""

    actions: ClassVar = {
        "load": ("box", "truck"),
        "unload": ("box", "truck"),
        "drive": ("truck", "city"),
    }
    predicates: ClassVar = {
        "truck_at": ("truck", "city"),
        "box_at": ("box", "city"),
        "box_on": ("box", "truck"),
        "destination": ("city",),
    }
    closures: ClassVar = {}

    def __init__(self, sizes, horizon=None):
        self.sizes, self.horizon = sizes, horizon

    def reset(self, *, seed=None):
        rng = random.Random(seed)
        cities, trucks, boxes = rng.choice(self.sizes)
        self.cities = [f"c{number}" for number in range(cities)]
        self.goal = rng.choice(self.cities)
        others = [city for city in self.cities if city != self.goal]
        self.trucks = {f"t{number}": rng.choice(self.cities) for number in range(trucks)}
        self.boxes = {f"b{number}": rng.choice(others) for number in range(boxes)}
        self.steps = 0
        return self.facts(), {"actions": self.applicable()}

    def facts(self):
        facts = [("destination", self.goal), *(("city", city) for city in self.cities)]
        facts += [("truck_at", truck, city) for truck, city in self.trucks.items()]
        kinds = {True: "box_on", False: "box_at"}
        return facts + [(kinds[place in self.trucks], box, place) for box, place in self.boxes.items()]

    def applicable(self):
        loads = [
            ("load", box, truck)
            for box, place in self.boxes.items()
            for truck, city in self.trucks.items()
            if place == city
        ]
        unloads = [("unload", box, place) for box, place in self.boxes.items() if place in self.trucks]
        drives = [
            ("drive", truck, city)
            for truck, here in self.trucks.items()
            for city in self.cities
            if city != here
        ]
        return [*loads, *unloads, *drives]

    def step(self, action):
        name, one, other = action
        if name == "load":
            self.boxes[one] = other
        elif name == "unload":
            self.boxes[one] = self.trucks[other]
        else:
            self.trucks[one] = other
        self.steps += 1
        done = self.goal in self.boxes.values()
        ended = self.horizon is not None and self.steps >= self.horizon
        return self.facts(), 1.0 if done else -0.2, done, ended, {"actions": self.applicable()}

    def optimum(self):
        """The least number of steps to the goal from a start, where no box is on a truck."""
        return 3 if {*self.boxes.values()} & {*self.trucks.values()} else 4


class Domain:
    """A planning domain in PDDL: typed predicates, and actions with literals as preconditions and effects."""

    def __init__(self, path):
        sections = expression(path.read_text())[2:]
        self.predicates = {}
        self.actions = {}
        for section in sections:
            if section[0] == ":predicates":
                self.predicates = {name: tuple(types(parts)) for name, *parts in section[1:]}
            elif section[0] == ":action":
                fields = dict(zip(section[2::2], section[3::2], strict=True))
                pre, effect = literals(fields.get(":precondition", [])), literals(fields[":effect"])
                self.actions[section[1]] = (
                    dict(typed(fields[":parameters"])),
                    [each for each in pre if each[0] != "not"],
                    [each[1] for each in pre if each[0] == "not"],
                    [each for each in effect if each[0] != "not"],
                    [each[1] for each in effect if each[0] == "not"],
                )
        self.parents = {}
        for section in sections:
            if section[0] == ":types":
                self.parents = dict(typed(section[1:]))

    def is_flat(self):
        """Whether no type that is used has types below it."""
        return {*self.parents.values()} <= {"object"}


class Planning:
    """A problem of a domain; observations have ``goal_p`` and ``todo_p`` for goal literals."""

    def __init__(self, domain, path):
        self.domain, self.path = domain, path
        sections = {each[0]: each for each in expression(path.read_text())[2:]}
        self.objects = dict(typed(sections[":objects"][1:]))
        self.init = frozenset(tuple(each) for each in sections[":init"][1:] if each[0] != "=")
        self.goal = frozenset(map(tuple, literals(sections[":goal"][1])))
        self.state = self.init

    @staticmethod
    def language(domain):
        """The actions and predicates of a policy for a domain; objects of a hierarchy have one type."""
        name = (lambda each: each) if domain.is_flat() else (lambda each: "object")
        predicates = {}
        for predicate, own in domain.predicates.items():
            for form in ("", "goal_", "todo_"):
                predicates[form + predicate] = tuple(map(name, own))
        if not domain.is_flat():
            kinds = {*domain.parents, *domain.parents.values()}
            predicates |= {f"is_{each}": ("object",) for each in sorted(kinds - {"object"})}
        actions = {each: tuple(map(name, parts[0].values())) for each, parts in domain.actions.items()}
        return actions, predicates

    def reset(self, *, seed=None):
        self.state = self.init
        return self.facts(self.state), {"actions": self.applicable(self.state)}

    def step(self, action):
        self.state = self.after(self.state, action)
        done = self.goal <= self.state
        info = {"actions": [] if done else self.applicable(self.state)}
        return self.facts(self.state), 0.0 if done else -1.0, done, False, info

    def facts(self, state):
        facts = list(state)
        facts += [(f"goal_{name}", *rest) for name, *rest in self.goal]
        facts += [(f"todo_{name}", *rest) for name, *rest in self.goal - state]
        if self.domain.is_flat():
            return facts + [(kind, each) for each, kind in self.objects.items()]
        return facts + [(f"is_{kind}", each) for each, kind in self.objects.items()]

    def after(self, state, action):
        parameters, _, _, add, delete = self.domain.actions[action[0]]
        bound = dict(zip(parameters, action[1:], strict=True))
        return (state - {ground(each, bound) for each in delete}) | {ground(each, bound) for each in add}

    def applicable(self, state):
        index = defaultdict(list)
        for fact in state:
            index[fact[0]].append(fact)
        found = set()
        for name, (parameters, positive, negative, _, _) in self.domain.actions.items():
            for bound in self._bindings(index, positive, parameters, {}):
                if all(self.is_a(bound[each], kind) for each, kind in parameters.items()) and not any(
                    holds(ground(each, bound), state) for each in negative
                ):
                    found.add((name, *(bound[each] for each in parameters)))
        return sorted(found)

    def is_a(self, name, kind):
        own = self.objects[name]
        while own not in (kind, "object") and own in self.domain.parents:
            own = self.domain.parents[own]
        return own == kind or kind == "object"

    def _bindings(self, index, positive, parameters, bound):
        if positive:
            (name, *terms), *rest = positive
            for fact in index[name]:
                more = dict(bound)
                if all(
                    more.setdefault(term, each) == each if term[0] == "?" else term == each
                    for term, each in zip(terms, fact[1:], strict=True)
                ):
                    yield from self._bindings(index, rest, parameters, more)
            return
        free = [each for each in parameters if each not in bound]
        if not free:
            yield bound
            return
        for name in self.objects:
            if self.is_a(name, parameters[free[0]]):
                yield from self._bindings(index, [], parameters, {**bound, free[0]: name})

    def distances(self, most):
        """The distance to the goal of each reachable state, and its successors; None if too many."""
        after, waiting = {self.init: {}}, [self.init]
        while waiting:
            state = waiting.pop()
            after[state] = {action: self.after(state, action) for action in self.applicable(state)}
            for later in after[state].values():
                if later not in after:
                    after[later] = {}
                    waiting.append(later)
            if len(after) > most:
                return None
        before = defaultdict(list)
        for state, own in after.items():
            for later in own.values():
                before[later].append(state)
        far = {state: 0 for state in after if self.goal <= state}
        queue = deque(far)
        while queue:
            state = queue.popleft()
            for each in before[state]:
                if each not in far:
                    far[each] = far[state] + 1
                    queue.append(each)
        return far, after


def demonstrations(problems, rng, most_states=3000, more=6):
    """States of small problems, with their applicable actions and the optimal ones."""
    shown = []
    for problem in problems:
        solved = problem.distances(most_states)
        if solved is None:
            continue
        far, after = solved
        state, path = problem.init, []
        while far.get(state, 0) > 0:
            path.append(state)
            best = [later for later in after[state].values() if far.get(later) == far[state] - 1]
            state = rng.choice(best)
        others = [each for each in far if far[each] > 0]
        for each in path + rng.sample(others, min(more, len(others))):
            actions = after[each]
            good = [action for action, later in actions.items() if far.get(later) == far[each] - 1]
            shown.append((problem.facts(each), list(actions), good))
    return shown


def holds(fact, state):
    return fact[1] == fact[2] if fact[0] == "=" else fact in state


def ground(literal, bound):
    return tuple(bound.get(each, each) for each in literal)


def literals(parts):
    """The literals of a conjunction."""
    return parts[1:] if parts and parts[0] == "and" else [parts] if parts else []


def types(parts):
    return [kind for _, kind in typed(parts)]


def typed(parts):
    """Names with their types, from ``a b - t c - u``."""
    found, names, rest = [], [], list(parts)
    while rest:
        name = rest.pop(0)
        if name == "-":
            kind = rest.pop(0)
            found += [(each, kind) for each in names]
            names = []
        else:
            names.append(name)
    return found + [(each, "object") for each in names]


def expression(text):
    """The nested lists of a text in PDDL."""
    stack = [[]]
    for token in re.findall(r"[()]|[^\s()]+", re.sub(r";.*", "", text).lower()):
        if token == "(":
            stack.append([])
        elif token == ")":
            last = stack.pop()
            stack[-1].append(last)
        else:
            stack[-1].append(token)
    return stack[0][0]


def problems(domain, folder):
    return [Planning(domain, Path(each)) for each in sorted(folder.glob("p*.pddl"))]
