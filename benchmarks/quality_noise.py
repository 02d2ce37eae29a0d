"""What the default learner finds where there is nothing, and where there is one thing.

    python benchmarks/quality_noise.py [--worlds 5] [--report]

Noise: labels by coin flip, with columns and linked tables that say nothing. The excess is the log-loss on
2,000 fresh examples less that of the base rate of training. Planted worlds have one effect among 40 columns
of noise. The tables say how much of the possible gain in log-loss (that of the true probabilities) the model
has on 2,000 fresh examples, and in how many worlds its most important effect is of the planted column.
Results go to results/noise.json after each line.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from itertools import product
from statistics import mean, stdev
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.metrics import log_loss

import measure
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.in_place.load import load_quietly
from hornbeam.learning.effects.learner import fit
from hornbeam.learning.options import EffectOptions
from hornbeam.model.clause_model import Model
from measure import say, table

FRESH = 2_000
NOISE = [(n, columns, tables) for n in (200, 1_000) for columns in (5, 20) for tables in (0, 5, 20)]
MOST_EXCESS = {200: 0.02, 1_000: 0.005}
PLANTED_N = (500, 2_000)
PLANTED_COLUMNS = 40
VALUES = 5

Floats = npt.NDArray[np.float64]
Random = np.random.Generator


class World(NamedTuple):
    """Tables with their schema, and the true probability of each example."""

    frames: dict[str, pd.DataFrame]
    schema: dict[str, Any]
    chances: Floats
    planted: str = ""
    """part of the name of the predicate that the labels depend on"""


class Outcome(NamedTuple):
    """Log-losses on the fresh examples, and whether the first effect is the planted one."""

    loss: float
    base_loss: float
    true_loss: float
    found: bool
    effects: int
    cpu: float


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worlds", type=int, default=5)
    parser.add_argument("--report", action="store_true", help="only write the tables")
    arguments = parser.parse_args()
    results = measure.load("noise")
    results["machine"] = measure.machine(["hornbeam", "numpy"])
    makers: dict[str, tuple[int, Callable[[Random, int], World]]] = {
        f"{name} {n}": (n, maker) for name, maker in PLANTED.items() for n in PLANTED_N
    }
    for n, columns, tables in NOISE:
        makers[f"{n} {columns} {tables}"] = (n, _noise_maker(columns, tables))
    for name, (n, maker) in {} if arguments.report else makers.items():
        outcomes = [_outcome(maker, n, seed) for seed in range(arguments.worlds)]
        results.setdefault("worlds", {})[name] = [each._asdict() for each in outcomes]
        measure.save("noise", results)
        measure.write_section("noise", report(results))
        say(f"{name}: {outcomes}")
    measure.write_section("noise", report(results))


# --- worlds ---------------------------------------------------------------------------------------


def things(random: Random, n: int, columns: int) -> World:
    """Things with columns of noise, half of them numbers; a coin decides each label."""
    frame = pd.DataFrame({"thing_id": [f"t{i}" for i in range(n)]})
    for column in range(columns):
        if column % 2:
            frame[f"value{column}"] = [f"v{value}" for value in random.integers(0, VALUES, n)]
        else:
            frame[f"number{column}"] = random.normal(size=n).round(3)
    schema = {"things": {"key": "thing_id"}}
    return World({"things": frame}, schema, np.full(n, 0.5))


def _noise_maker(columns: int, tables: int) -> Callable[[Random, int], World]:
    def made(random: Random, n: int) -> World:
        world = things(random, n, columns)
        for number in range(tables):
            _add_events(world, f"events{number}", random, 5 * n)
        return world

    return made


def _add_events(world: World, name: str, random: Random, rows: int) -> None:
    """A table of events with a number and a value; each event is of one thing."""
    n = len(world.chances)
    world.frames[name] = pd.DataFrame(
        {
            "event_id": [f"{name}_{i}" for i in range(rows)],
            "thing_id": [f"t{i}" for i in random.integers(0, n, rows)],
            "amount": random.normal(size=rows).round(3),
            "sort": [f"s{value}" for value in random.integers(0, VALUES, rows)],
        }
    )
    world.schema[name] = {"key": "event_id", "links": {"thing_id": "things"}}


def _threshold(random: Random, n: int) -> World:
    world = things(random, n, PLANTED_COLUMNS)
    numbers = world.frames["things"]["number0"].to_numpy()
    return world._replace(chances=np.where(numbers > 0.5, 0.85, 0.25), planted="number0")


def _u_shape(random: Random, n: int) -> World:
    world = things(random, n, PLANTED_COLUMNS)
    numbers = world.frames["things"]["number0"].to_numpy()
    return world._replace(chances=_logistic(2 * numbers**2 - 2), planted="number0")


def _identity(random: Random, n: int) -> World:
    """Each thing is at one of 20 places, which has a weight of its own."""
    world = things(random, n, PLANTED_COLUMNS)
    places = random.integers(0, 20, n)
    world.frames["things"]["place_id"] = [f"p{place}" for place in places]
    world.frames["places"] = pd.DataFrame({"place_id": [f"p{place}" for place in range(20)]})
    world.schema["places"] = {"key": "place_id"}
    world.schema["things"]["links"] = {"place_id": "places"}
    return world._replace(chances=_logistic(random.normal(0, 2, 20)[places]), planted="place")


def _share(random: Random, n: int) -> World:
    """Things have orders, orders have lines, lines have products: the share of products of one make."""
    world = things(random, n, PLANTED_COLUMNS)
    liking = random.beta(1, 1, n)
    of_thing = np.repeat(np.arange(n), 4)
    of_order = np.repeat(np.arange(len(of_thing)), 3)
    makes = np.array(["good", *(f"make{value}" for value in range(VALUES))])
    of_product = np.concatenate([np.zeros(20, int), random.integers(1, len(makes), 80)])
    liked = random.random(len(of_order)) < liking[of_thing[of_order]]
    bought = np.where(liked, random.integers(0, 20, len(liked)), random.integers(20, 100, len(liked)))
    frames = {
        "orders": {"order_id": np.arange(len(of_thing)), "thing_id": of_thing},
        "lines": {"line_id": np.arange(len(of_order)), "order_id": of_order, "product_id": bought},
        "products": {"product_id": np.arange(100), "make": makes[of_product]},
    }
    for name, columns in frames.items():
        frame = pd.DataFrame(columns)
        for column in frame.columns:
            if column.endswith("_id"):
                frame[column] = column[0] + frame[column].astype(str)
        world.frames[name] = frame
    world.schema["orders"] = {"key": "order_id", "links": {"thing_id": "things"}}
    world.schema["lines"] = {"key": "line_id", "links": {"order_id": "orders", "product_id": "products"}}
    world.schema["products"] = {"key": "product_id"}
    share = np.bincount(of_thing[of_order], weights=liked, minlength=n) / 12
    return world._replace(chances=_logistic(8 * (share - 0.5)), planted="make")


def _logistic(scores: Floats) -> Floats:
    return 1 / (1 + np.exp(-scores))


PLANTED: Mapping[str, Callable[[Random, int], World]] = {
    "a threshold": _threshold,
    "a U-shaped curve": _u_shape,
    "identity: a weight for each of 20 places": _identity,
    "a share three links away": _share,
}


# --- fits -----------------------------------------------------------------------------------------


def _outcome(maker: Callable[[Random, int], World], n: int, seed: int) -> Outcome:
    random = np.random.default_rng([seed, n])
    world = maker(random, n + FRESH)
    labels = (random.random(n + FRESH) < world.chances).astype(int)
    world.frames["things"]["label"] = labels
    database = load_quietly(world.frames, schema=world.schema, target="things.label")
    examples = database.examples_of(database.target_named(None))
    place = np.array([int(name[1:]) for name in database.names_of(examples.target, examples.keys)[:, 0]])
    learned, fresh = examples.at(np.flatnonzero(place < n)), examples.at(np.flatnonzero(place >= n))
    start = time.process_time()
    engine = MemoryEngine(database)
    model = fit(engine, learned, EffectOptions(seed=seed)).model
    cpu = time.process_time() - start
    truth = fresh.labels
    chances = model.probabilities(engine, fresh.keys)
    base = np.full(len(truth), learned.labels.mean())
    true = world.chances[place[place >= n]]
    losses = (float(log_loss(truth, each)) for each in (chances, base, true))
    size = len(model.effects) + len(model.clauses)
    return Outcome(*losses, bool(world.planted) and _finds(model, world.planted), size, cpu)


def _finds(model: Model, planted: str) -> bool:
    """Whether the most important effect, or weights per constant, are of the planted column."""
    first = sorted(model.effects, key=lambda effect: -effect.importance)[:1]
    return any(planted in str(each) for each in [*first, *model.clauses])


# --- the tables -----------------------------------------------------------------------------------


def report(results: Mapping[str, Any]) -> str:
    """One table for noise and one for planted effects."""
    worlds = results["worlds"]
    noise, planted = [], []
    for n, columns, tables in NOISE:
        outcomes = worlds.get(f"{n} {columns} {tables}", ())
        if outcomes:
            excess = [each["loss"] - each["base_loss"] for each in outcomes]
            met = "met" if mean(excess) <= MOST_EXCESS[n] else "**missed**"
            error = stdev(excess) / len(excess) ** 0.5 if len(excess) > 1 else 0.0
            target = f"<= {MOST_EXCESS[n]}, {met}"
            figures = [f"{mean(excess):+.4f} ± {error:.4f}", f"{max(excess):+.4f}", *_costs(outcomes), target]
            noise.append([f"{n:,}", str(columns), str(tables), str(len(outcomes)), *figures])
    for name, n in product(PLANTED, PLANTED_N):
        outcomes = worlds.get(f"{name} {n}", ())
        if outcomes:
            gains = [
                (each["base_loss"] - each["loss"]) / (each["base_loss"] - each["true_loss"])
                for each in outcomes
            ]
            found = f"{sum(each['found'] for each in outcomes)} of {len(outcomes)}"
            planted.append([name, f"{n:,}", f"{mean(gains):.0%}", found, *_costs(outcomes)])
    header = [
        "examples",
        "columns",
        "tables",
        "worlds",
        "excess log-loss",
        "largest",
        "effects",
        "CPU-s",
        "target",
    ]
    return "\n\n".join(
        [
            measure.machine_line(results["machine"]),
            "**Labels by coin flip**:",
            table(header, noise),
            f"**One effect among {PLANTED_COLUMNS} columns of noise**:",
            table(
                ["planted", "examples", "share of the possible gain", "found", "effects", "CPU-s"], planted
            ),
        ]
    )


def _costs(outcomes: Any) -> list[str]:
    effects, cpu = (mean(each[name] for each in outcomes) for name in ("effects", "cpu"))
    return [f"{effects:.1f}", f"{cpu:.1f}"]


if __name__ == "__main__":
    main()
