"""Whether the default learner finds a feature that is planted: its power for each kind of feature.

    python benchmarks/quality_features.py [--worlds 3]

The labels of a world depend on one feature of a thing's events; noise is beside it.
*Found* means that the most important effect has the planted feature, or one that is a strictly monotone
function of it on all training examples. The share of the possible gain is in log-loss on 2,000 examples of
another world with the same truth: 100% is that of the true probabilities, 0% that of the base rate.
Results go to results/features.json after each line; ``make reference`` writes docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

import measure
from hornbeam.data.database import Database, Examples
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.questions import FeatureRequest
from hornbeam.in_place.load import load_quietly
from hornbeam.learning.effects.learner import fit
from hornbeam.learning.options import EffectOptions
from hornbeam.logic.effects import body_text
from planted_world import FEATURES, TARGET, PlantedWorld, is_same_order, planted

SIZES = (500, 2_000)
FRESH = 2_000
FRESH_SEED = 1_000
"""The seed of the world of fresh examples."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worlds", type=int, default=3)
    worlds = parser.parse_args().worlds
    results = measure.load("features")
    results["machine"] = measure.machine(["hornbeam", "numpy"])
    results["order"] = {"features": {name: each.sentence for name, each in FEATURES.items()}, "sizes": SIZES}
    for name in FEATURES:
        fresh = planted(name, FRESH, FRESH_SEED)
        data = _loaded(fresh)
        for n in SIZES:
            lines = [_line(name, n, seed, fresh, data) for seed in range(worlds)]
            results.setdefault("lines", {}).setdefault(name, {})[str(n)] = lines
            measure.say(f"{name} {n}: {lines}")
        measure.save("features", results)


def _line(name: str, n: int, seed: int, fresh: PlantedWorld, data: Database) -> dict[str, Any]:
    """What a fit to one world found."""
    world = planted(name, n, seed)
    database = _loaded(world)
    examples = _examples(database)
    engine = MemoryEngine(database)
    start = time.process_time()
    model = fit(engine, examples, EffectOptions(seed=seed)).model
    cpu = time.process_time() - start
    first = max(model.effects, key=lambda effect: effect.importance, default=None)
    found = False
    if first is not None:
        head, body, feature, _ = first.effect
        (values,) = engine.features([FeatureRequest(head, body, feature)], examples.keys)
        found = is_same_order(np.asarray(values), world.values[_places(database, examples)])
    asked = _examples(data)
    chances = model.probabilities(MemoryEngine(data), asked.keys)
    base = np.full(len(chances), examples.labels.mean())
    true = fresh.probabilities[_places(data, asked)]
    loss, base_loss, true_loss = (float(log_loss(asked.labels, each)) for each in (chances, base, true))
    return {
        "found": found,
        "first": "" if first is None else f"{feature} : {body_text(head, body)}",
        "gain": (base_loss - loss) / (base_loss - true_loss),
        "effects": len(model.effects) + len(model.clauses),
        "cpu": cpu,
    }


def _loaded(world: PlantedWorld) -> Database:
    with tempfile.TemporaryDirectory(prefix="hornbeam-features-") as folder:
        place = Path(folder) / "world"
        world.write(place)
        return load_quietly(place, examples=place / "examples.csv", target=TARGET)


def _examples(database: Database) -> Examples:
    return database.examples_of(database.target_named(None))


def _places(database: Database, examples: Examples) -> list[int]:
    """The row of each example in the table of examples."""
    return [int(name[1:]) for name in database.names_of(examples.target, examples.keys)[:, 0].tolist()]


if __name__ == "__main__":
    main()
