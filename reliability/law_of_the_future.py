"""Many random worlds with another future: ``python reliability/law_of_the_future.py --worlds 5000 --record``.

In each world, a model is learned twice, from data that differ only at and after the last cut-off: its bytes
must be the same. Predictions are made again after changes at and after an example's own cut-off. Every tenth
world is also learned in place in DuckDB. ``--seconds`` ends the campaign earlier.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator

from results import ROOT, record

sys.path.insert(0, str(ROOT / "tests"))
EVERY = 10
"""One world of so many is learned in place too."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first world")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    found = campaign(range(options.first, options.first + options.worlds), options.seconds)
    print(json.dumps(found))
    if options.record:
        record("law_of_the_future", found)
    sys.exit(1 if found["faults"] else 0)


def campaign(seeds: range, seconds: float) -> dict[str, int]:
    """Run worlds until the time is over; what breaks the law is printed with its seed."""
    from future_worlds import LEARNERS, law_holds

    learners = list(LEARNERS)
    end = time.monotonic() + seconds
    found = {"worlds": 0, "in_place": 0, "faults": 0, "learners": len(learners)}
    for seed in _until(end, seeds):
        learner, in_place = learners[seed % len(learners)], seed % EVERY == 0
        broken = law_holds(seed, learner, in_place)
        found["worlds"] += 1
        found["in_place"] += in_place
        found["faults"] += bool(broken)
        for what in broken:
            print(f"world {seed}, {learner}: {what}", flush=True)
    return found


def _until(end: float, seeds: range) -> Iterator[int]:
    for seed in seeds:
        if time.monotonic() > end:
            return
        yield seed


if __name__ == "__main__":
    main()
