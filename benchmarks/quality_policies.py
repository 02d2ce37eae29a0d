"""How well policies act: relational worlds by fitted Q iteration, and planning problems by imitation.

    python benchmarks/quality_policies.py [--only PART ...] [--seeds 3] [--tasks NAME ...]

The parts: *choices*: a made world of 2,000 choices among 5 with two planted effects. *worlds*: the protocol
of Das and others (KR 2020): 5 trajectories in each of at most 8 iterations, a goal counts if it is reached
within the optimum plus 2 steps in worlds larger than those learned from; one set of options for all tasks.
*planning*: domains of the learning track of IPC 2023, learned from optimal actions in problems of at most 12
objects and played greedily, never entering a state twice; no search. *speed*: seconds for one answer.
Results go to results/policies.json after each line. Planning problems come from HORNBEAM_DATA or
../shared/data.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import mean
from typing import Any, NamedTuple

import hornbeam as hb
import measure
from choice_world import sessions, sessions_probabilities
from hornbeam.model.evaluate import evaluate_choices
from measure import DATA, say, table
from simulators import Blocks, Domain, Logistics, Planning, demonstrations, problems

ITERATIONS, TRAJECTORIES, HORIZON = 8, 5, 15
"""Iterations, trajectories in each, and the most steps of a trajectory unless a task says otherwise."""
TESTS, FIRST_TEST = 50, 2_000_000
"""The number of starts of each test, and the seed of the first."""
ROUNDS = ("choices", "worlds", "planning", "speed")
EFFECTS, STATES = 15, 60
"""In planning, the largest number of effects of an action, and of states of each problem beside its plan."""
MOST_STEPS, MOST_SECONDS = 1_500, 150.0
"""The limits of one plan, and of playing one set of problems in CPU seconds."""


class Task(NamedTuple):
    """A task of the protocol: worlds of some sizes, the sizes that test, and what is published."""

    make: Callable[[Sequence[Any], int | None], Any]
    train: Sequence[Any]
    test: Sequence[Any]
    published: float
    goal: float
    horizon: int = HORIZON
    """the most steps of a trajectory"""


TASKS: Mapping[str, Task] = {
    "unstack": Task(lambda sizes, end: Blocks("unstack", sizes, end), (4, 5, 6), (7,), 0.79, 0.98),
    "on(a,b)": Task(lambda sizes, end: Blocks("on", sizes, end), (4,), (5, 6, 7), 0.32, 0.92),
    "stack": Task(lambda sizes, end: Blocks("stack", sizes, end), (3, 4, 5), (6, 7), 0.82, 0.92),
    "logistics": Task(Logistics, ((5, 3, 3),), ((7, 3, 5),), 0.84, 0.90, 50),
}
"""The published figures are the best of three systems after 20 to 25 iterations."""
DOMAINS: Mapping[str, Mapping[str, str]] = {
    "ferry": {},
    "miconic": {},
    "blocksworld": {"above": "on", "goal_above": "goal_on"},
    "spanner": {},
}
"""Domains with the closures that a person would state."""
LEVELS = ("easy", "medium")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=ROUNDS, default=ROUNDS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tasks", nargs="+", choices=[*TASKS, *DOMAINS], default=[*TASKS, *DOMAINS])
    options = parser.parse_args()
    results = measure.load("policies")
    if "choices" in options.only:
        _keep(results, "choices", "2,000 choices", choices())
    for name in TASKS if "worlds" in options.only else ():
        for seed in range(options.seeds) if name in options.tasks else ():
            _keep(results, "worlds", f"{name} {seed}", played(TASKS[name], seed))
    for name in DOMAINS if "planning" in options.only else ():
        if name in options.tasks:
            planned(results, name)
    if "speed" in options.only:
        for size in (10, 100):
            _keep(results, "speed", str(size), speed(size))
    measure.write_section("policies", text(results))


def _keep(results: dict[str, Any], part: str, name: str, line: Mapping[str, Any]) -> None:
    results["machine"] = measure.machine(["hornbeam", "numpy"])
    results.setdefault(part, {})[name] = dict(line)
    measure.save("policies", results)
    say(f"{part}, {name}: {line}")


# --- choices -------------------------------------------------------------------------------------


def choices() -> dict[str, Any]:
    """A model of one made world, scored on another one."""
    world, fresh = sessions(2000, 5), sessions(2000, 5, seed=1)
    start = time.process_time()
    model = hb.RLRClassifier(database=world, loss="choice", choice="session").fit(*world.examples())
    cpu = time.process_time() - start
    examples = fresh.examples_of("taken")
    truth = evaluate_choices(examples.labels, sessions_probabilities(fresh), examples.keys[:, 0] // 5)
    scores = hb.evaluate(model, fresh)
    return {
        "log_loss": scores.log_loss,
        "true_log_loss": truth.log_loss,
        "equal_chances": scores.equal_chances,
        "hit_rate": scores.hit_rate,
        "true_hit_rate": truth.hit_rate,
        "first_effects": [str(each.effect) for each in model.model_.effects[:2]],
        "effects": len(model.model_.effects),
        "cpu": cpu,
    }


# --- relational worlds ---------------------------------------------------------------------------


def played(task: Task, seed: int) -> dict[str, Any]:
    """A policy learned in small worlds, and the share of large ones that it solves nearly optimally."""
    start = time.process_time()
    env = task.make(task.train, task.horizon)
    policy = hb.RelationalPolicy(
        actions=env.actions, predicates=env.predicates, closures=env.closures, random_state=seed
    )
    policy.learn(env, iterations=ITERATIONS, trajectories=TRAJECTORIES)
    cpu = time.process_time() - start
    solved = {
        str(size): mean(_solves(policy, task, size, seed, n) for n in range(TESTS)) for size in task.test
    }
    return {"solved": solved, "mean": mean(solved.values()), "cpu": cpu, "effects": _effects(policy)}


def _solves(policy: hb.RelationalPolicy, task: Task, size: Any, seed: int, number: int) -> bool:
    env = task.make([size], None)
    observation, info = env.reset(seed=FIRST_TEST + 1000 * seed + number)
    for _ in range(env.optimum() + 2):
        answer = env.step(policy.act(observation, info["actions"]))
        observation, _, done, _, info = answer
        if done:
            return True
    return False


def _effects(policy: hb.RelationalPolicy) -> dict[str, int]:
    return {name: len(model.effects) for name, model in policy.models_.items()}


# --- planning ------------------------------------------------------------------------------------


def planned(results: dict[str, Any], name: str) -> None:
    """A policy learned from small problems of a domain, and how many large ones it solves."""
    folder = DATA / "ipc2023" / name
    domain = Domain(folder / "domain.pddl")
    start = time.process_time()
    shown = demonstrations(problems(domain, folder / "training" / "easy")[:40], random.Random(0), more=STATES)
    searching = time.process_time() - start
    actions, predicates = Planning.language(domain)
    start = time.process_time()
    policy = hb.RelationalPolicy(
        actions=actions, predicates=predicates, closures=DOMAINS[name], max_effects=EFFECTS
    ).imitate(shown)
    about = {
        "states": len(shown),
        "searching": searching,
        "cpu": time.process_time() - start,
        "effects": _effects(policy),
    }
    for level in LEVELS:
        found, objects, start = [], 0, time.process_time()
        for problem in problems(domain, folder / "testing" / level):
            if time.process_time() - start > MOST_SECONDS:
                break
            found.append(plan_length(policy, problem))
            objects = max(objects, len(problem.objects) if found[-1] else 0)
        line = {
            "solved": sum(each is not None for each in found),
            "tried": len(found),
            "longest": max((each for each in found if each is not None), default=0),
            "objects": objects,
            "playing": time.process_time() - start,
        }
        _keep(results, "planning", f"{name} {level}", about | line)


def plan_length(policy: hb.RelationalPolicy, problem: Planning) -> int | None:
    """The number of actions to the goal, greedily and never into a state again; None if it is not reached."""
    observation, info = problem.reset()
    seen = {problem.state}
    for number in range(1, MOST_STEPS + 1):
        scores = policy.scores(observation, info["actions"])
        order = sorted(range(len(scores)), key=lambda place: -scores[place])
        fresh = (place for place in order if problem.after(problem.state, info["actions"][place]) not in seen)
        best = next(fresh, None)
        if best is None:
            return None
        observation, _, done, _, info = problem.step(info["actions"][best])
        seen.add(problem.state)
        if done:
            return number
    return None


# --- speed ---------------------------------------------------------------------------------------


def speed(size: int) -> dict[str, Any]:
    """Seconds to answer one state of so many blocks: the task stack, by a policy of its own."""
    task = TASKS["stack"]
    env = task.make(task.train, task.horizon)
    policy = hb.RelationalPolicy(actions=env.actions, predicates=env.predicates, closures=env.closures)
    policy.learn(env, iterations=4, trajectories=TRAJECTORIES)
    larger = task.make([size], None)
    states = []
    for number in range(10):
        observation, info = larger.reset(seed=number)
        states.append((observation, info["actions"]))
    timing, _ = measure.best_of(5, lambda: [policy.act(*each) for each in states])
    return {"seconds": timing.cpu / len(states), "actions": mean(len(actions) for _, actions in states)}


# --- the tables ----------------------------------------------------------------------------------


def text(results: Mapping[str, Any]) -> str:
    parts = [measure.machine_line(results["machine"])]
    made = results.get("choices", {}).get("2,000 choices")
    if made is not None:
        share = made["log_loss"] / made["true_log_loss"] - 1.0
        parts.append(
            f"2,000 choices among 5, of which two effects decide: log-loss {made['log_loss']:.4f} on new "
            f"choices, {100 * share:.1f} % above the truth's ({made['true_log_loss']:.4f}; equal chances "
            f"{made['equal_chances']:.4f}); hit rate {made['hit_rate']:.3f} (truth "
            f"{made['true_hit_rate']:.3f}); {made['effects']} effects in {made['cpu']:.1f} CPU-s."
        )
    parts.append(_worlds(results.get("worlds", {})))
    parts.append(_planning(results.get("planning", {})))
    fast = [
        f"{size} blocks ({line['actions']:.0f} actions) in {measure.seconds(line['seconds'])}"
        for size, line in results.get("speed", {}).items()
    ]
    if fast:
        parts.append(f"One state is answered with {', with '.join(fast)}.")
    return "\n\n".join(filter(None, parts))


def _worlds(lines: Mapping[str, Any]) -> str:
    rows = []
    for name, task in TASKS.items():
        own = [line for key, line in lines.items() if key.rpartition(" ")[0] == name]
        if own:
            met = mean(each["mean"] for each in own)
            rows.append(
                (
                    name,
                    f"{met:.2f}",
                    " ".join(f"{each['mean']:.2f}" for each in own),
                    f"{task.published:.2f}",
                    f"{task.goal:.2f}{'' if met >= task.goal else ', **missed**'}",
                    f"{mean(each['cpu'] for each in own):.0f}",
                    f"{max(sum(each['effects'].values()) for each in own)}",
                )
            )
    header = ("task", "within optimum + 2", "each seed", "published best", "goal", "CPU-s", "effects")
    return table(header, rows) if rows else ""


def _planning(lines: Mapping[str, Any]) -> str:
    rows = [
        (
            name,
            f"{line['solved']} of {line['tried']}",
            f"{line['longest']:,}",
            f"{line['objects']:,}",
            f"{line['states']}",
            f"{max(line['effects'].values())}",
            f"{line['cpu']:.0f}",
            f"{line['playing']:.0f}",
        )
        for name, line in lines.items()
    ]
    header = (
        "domain", "solved", "longest plan", "objects, at most", "states shown", "effects per action",
        "CPU-s to learn", "CPU-s to play",
    )  # fmt: skip
    return table(header, rows) if rows else ""


if __name__ == "__main__":
    main()
