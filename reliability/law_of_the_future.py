"""Many random worlds with another future: ``python reliability/law_of_the_future.py --worlds 5000 --record``.

In each world, a model is learned twice, from data that differ only at and after the last cut-off: its bytes
must be the same. Predictions are made again after changes at and after an example's own cut-off. Every tenth
world is also learned in place in DuckDB, every 25th in PostgreSQL, and every 10th predicts by definition too.
``--seconds`` ends the campaign earlier; the next one goes on after the worlds that are recorded.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from typing import Any

from results import ROOT, record, recorded

sys.path.insert(0, str(ROOT / "tests"))
NAME = "law_of_the_future"
EVERY = {"duckdb": 10, "postgres": 25, "naive": 10}
"""One world of so many is tried on this engine too; the worlds of naive are not those of duckdb."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=5000)
    parser.add_argument("--again", action="store_true", help="begin anew, not after the recorded worlds")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    before = {} if options.again else recorded(NAME)
    found = _added(before, campaign(range(before.get("worlds", 0), options.worlds), options.seconds))
    print(json.dumps(found))
    if options.record:
        record(NAME, found)
    sys.exit(1 if found["faults"] else 0)


def campaign(seeds: range, seconds: float) -> dict[str, Any]:
    """Run worlds until the time is over; what breaks the law is printed with its seed."""
    from future_worlds import LEARNERS, law_holds

    learners = list(LEARNERS)
    end = time.monotonic() + seconds
    engines = dict.fromkeys(EVERY, 0)
    worlds = faults = 0
    for seed in _until(end, seeds):
        learner, engine = learners[seed % len(learners)], _engine(seed // len(learners))
        broken = law_holds(seed, learner, engine)
        worlds += 1
        faults += bool(broken)
        if engine is not None:
            engines[engine] += 1
        for what in broken:
            print(f"world {seed}, {learner}: {what}", flush=True)
    return {"worlds": worlds, "engines": engines, "faults": faults, "learners": len(learners)}


def _added(before: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """The figures of worlds with those of worlds before them."""
    engines = {
        name: number + before.get("engines", {}).get(name, 0) for name, number in more["engines"].items()
    }
    numbers = {name: more[name] + before.get(name, 0) for name in ("worlds", "faults")}
    return {**numbers, "engines": engines, "learners": more["learners"]}


def _engine(number: int) -> str | None:
    """The other engine on which a world is tried, if any."""
    for place, (engine, every) in enumerate(EVERY.items()):
        if number % every == place:
            return engine
    return None


def _until(end: float, seeds: range) -> Iterator[int]:
    for seed in seeds:
        if time.monotonic() > end:
            return
        yield seed


if __name__ == "__main__":
    main()
