"""Many fits in one process: ``python reliability/soak.py --fits 200 --record``.

Each round loads data, fits (with a checkpoint), saves, loads, predicts and explains; every tenth round also
counts in DuckDB and reads tables. Memory after a round must stay flat, and no file, thread or connection
may be left behind.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from statistics import median

import psutil

from hornbeam import load
from hornbeam.engines.registry import open_engine
from hornbeam.learning.effects.learner import fit
from hornbeam.learning.loop import Control
from hornbeam.learning.options import effect_options
from hornbeam.model.explain import explain
from hornbeam.model.files import load_model, save_model
from results import ROOT, record

MOST_GROWTH = 0.05
TABLES = ROOT / "tests" / "golden" / "models" / "data"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=200)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("error", ResourceWarning)
    with tempfile.TemporaryDirectory(prefix="hornbeam-soak-") as folder:
        # All temporary files are created here, where they are counted.
        temporary = Path(folder) / "tmp"
        temporary.mkdir()
        os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
        found = soaked(Path(folder), temporary, options.fits)
    print(json.dumps(found))
    if options.record:
        record("soak", found)
    grown = found["growth"] > MOST_GROWTH
    left = found["files_left"] + found["handles_left"] + found["threads_left"] + found["connections_left"]
    sys.exit(1 if grown or left else 0)


def soaked(folder: Path, temporary: Path, fits: int) -> dict[str, float]:
    """Run ``fits`` rounds; memory growth is measured between the first third of them and the last."""
    data = _written(folder / "data")
    process = psutil.Process()
    megabytes: list[float] = []
    models = set()
    before: tuple[int, int, int] | None = None
    warm = max(fits // 10, 10)
    for number in range(fits):
        models.add(_round(data, folder, tables=number % 10 == 0))
        gc.collect()
        megabytes.append(process.memory_info().rss / 2**20)
        if number + 1 == warm:
            before = _open_things(process)
    after = _open_things(process)
    assert before is not None
    assert len(models) == 1, "the same data gave two models"
    later = megabytes[warm:]
    third = max(len(later) // 3, 1)
    early, late = median(later[:third]), median(later[-third:])
    return {
        "fits": fits,
        "megabytes_early": round(early, 1),
        "megabytes_late": round(late, 1),
        "growth": round(late / early - 1, 4),
        "files_left": sum(1 for _ in temporary.rglob("*")),
        "handles_left": max(after[0] - before[0], 0),
        "threads_left": max(after[1] - before[1], 0),
        "connections_left": max(after[2] - before[2], 0),
    }


def _open_things(process: psutil.Process) -> tuple[int, int, int]:
    return process.num_fds(), process.num_threads(), len(process.net_connections())


def _round(data: Path, folder: Path, tables: bool) -> str:
    database = load(data)
    examples = database.examples_of("cancer")
    engine = open_engine("memory", database)
    options = effect_options(n_bags=2, max_literals=2)
    state = folder / "state"
    fitted = fit(engine, examples, options, Control(checkpoint=state))
    (state / "checkpoint.json").unlink()
    path = folder / "model.json"
    save_model(fitted.model, path)
    model = load_model(path)
    expected = model.probabilities(engine, examples.keys)
    explain(model, engine, examples.keys[0], database.names_of("cancer", examples.keys[:1])[0])
    if tables:
        again = model.probabilities(open_engine("duckdb", database), examples.keys)
        assert expected.tolist() == again.tolist()
        load(TABLES, target="persons.cancer")
    return path.read_text()


def _written(folder: Path) -> Path:
    folder.mkdir()
    names = [f"p{number}" for number in range(200)]
    friends = "".join(
        f"friends({names[number]},{names[(number * step + step) % 200]}).\n"
        for number in range(200)
        for step in (3, 7, 11)
    )
    smokes = "".join(f"smokes({name}).\n" for name in names[::3])
    (folder / "facts.txt").write_text(friends + smokes)
    (folder / "pos.txt").write_text("".join(f"cancer({name}).\n" for name in names[::3]))
    (folder / "neg.txt").write_text("".join(f"cancer({name}).\n" for name in names[1::3]))
    return folder


if __name__ == "__main__":
    main()
