"""Kill fits at random moments and resume them: ``python reliability/kills.py --kills 200 --record``.

Every model must equal that of an undisturbed fit, byte for byte; no kill may leave an unreadable file.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from hornbeam.datasets.worlds import smokers
from hornbeam.engines.registry import open_engine
from hornbeam.learning.boosting.boost import fit
from hornbeam.learning.loop import Control
from hornbeam.learning.options import paper_options
from hornbeam.model.files import save_model
from results import record

STEPS = 8
OPTIONS = paper_options(
    n_steps=STEPS,
    l2=1.0,
    max_literals=2,
    beam_width=3,
    stop="best",
    populations="training",
    neg_pos_ratio=20.0,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hornbeam-kills-") as folder:
        found = killed(Path(folder), options.kills, options.seed)
    print(json.dumps(found))
    if options.record:
        record("kills", found)
    sys.exit(found["other_models"] or found["unfinished"])


def killed(folder: Path, kills: int, seed: int) -> dict[str, int]:
    """Kill and resume fits until ``kills`` kills have hit a running fit; return the outcomes."""
    database = smokers(n_persons=300, seed=5)
    examples = database.examples_of("cancer")

    def learn(name: str) -> None:
        engine = open_engine("memory", database)
        state = folder / f"state-{name}"
        fitted = fit(engine, examples, OPTIONS, Control(checkpoint=state))
        save_model(fitted.model, folder / f"model-{name}")

    def start(name: str) -> int:
        pid = os.fork()
        if pid == 0:
            try:
                learn(name)
            finally:
                # After an error, the child must not continue as a second parent.
                os._exit(0 if (folder / f"model-{name}").exists() else 1)
        return pid

    # The first fit does the imports for the forked ones; the second measures how long a fit takes.
    learn("whole")
    started = time.perf_counter()
    learn("timed")
    seconds = time.perf_counter() - started
    whole = (folder / "model-whole").read_bytes()
    assert len(json.loads(whole)["clauses"]) == STEPS
    chance = random.Random(seed)
    hit = runs = unfinished = other = in_the_middle = 0
    while hit < kills:
        name = str(runs)
        runs += 1
        pid = start(name)
        time.sleep(chance.uniform(0.0, seconds))
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            hit += 1
            in_the_middle += (folder / f"state-{name}" / "checkpoint.json").exists()
        _, status = os.waitpid(start(name), 0)
        unfinished += status != 0
        model = folder / f"model-{name}"
        other += not model.exists() or model.read_bytes() != whole
    return {
        "kills": hit,
        "after_a_step": in_the_middle,
        "other_models": other,
        "unfinished": unfinished,
    }


if __name__ == "__main__":
    main()
