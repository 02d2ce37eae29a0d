"""Many small fits, compared with the list of what they gave: models that must not change, do not.

    python tests/golden/identity/compare.py [--record] [--only WORDS] [--keep FOLDER] [--against FOLDER]

For each fit, ``list.txt`` has two hashes: one of the predictions, to 12 digits, and one of what the model
file says, without its version and the settings. A fit whose hashes differ is named, and the exit status is 1.

    --record          write the hashes into list.txt (with --only, of these fits alone)
    --only WORDS      only the fits whose names contain all of these words: --only "shop duckdb"
    --keep FOLDER     keep the models and predictions in this folder
    --against FOLDER  compare with models and predictions that were kept, and say how much predictions differ

Fits whose public data are absent are left out. The models are those of one thread for matrix products.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from fits import WORLDS, Fit, fits  # noqa: E402
from public_data import DATA  # noqa: E402

LIST = HERE / "list.txt"
NOT_LEARNED = {"format_version", "settings", "facts", "known", "training"}
"""Entries of a model file that say where it comes from, not what was learned."""


class Results:
    """The files of one run: a model and predictions for each fit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def model(self, fit: Fit) -> Path:
        return self.folder / f"{fit.name.replace('/', '-')}.json"

    def predictions(self, fit: Fit) -> Path:
        return self.model(fit).with_suffix(".csv")

    def hashes(self, fit: Fit) -> tuple[str, str]:
        rows = [[rounded(cell) for cell in row] for row in read(self.predictions(fit))]
        return hash_of(rows), hash_of(learned(json.loads(self.model(fit).read_text())))


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Many small fits, compared with the list of what they gave.")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--only", default="", metavar="WORDS")
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    parser.add_argument("--against", type=Path, metavar="FOLDER")
    given = parser.parse_args(words)
    expected = recorded()
    with tempfile.TemporaryDirectory() as scratch:
        results = Results(given.keep or Path(scratch) / "results")
        wrong = 0
        for fit in chosen(given.only):
            if fit.is_public and not (DATA / fit.data).is_dir():
                print(f"{fit.name:26s} left out: no data at {DATA / fit.data}", flush=True)
                continue
            began = time.process_time()
            run(fit, place_of(fit, Path(scratch)), results)
            found = results.hashes(fit)
            said = "" if found == expected.get(fit.name) else verdict(found, expected.get(fit.name))
            if given.against is not None:
                said += difference(fit, results, Results(given.against))
            wrong += bool(said)
            print(f"{fit.name:26s} {time.process_time() - began:5.1f} s  {said or 'same'}", flush=True)
            expected[fit.name] = found
    print(f"{wrong} fits differ" if wrong else "all the same", f"({time.process_time():.0f} s of CPU here)")
    if given.record:
        record(expected)
        return 0
    return bool(wrong)


def chosen(words: str) -> Iterator[Fit]:
    found = [fit for fit in fits() if all(word in fit.name for word in words.split())]
    if not found:
        sys.exit(f'no fit has "{words}" in its name; the names are in {LIST.name}.')
    yield from found


def place_of(fit: Fit, scratch: Path) -> Path:
    """The folder of the data of a fit; generated data are made when they are first asked for."""
    if fit.is_public:
        return DATA / fit.data
    place = scratch / fit.data.replace(" ", "_")
    if not place.exists():
        WORLDS[fit.data](place)
    return place


def run(fit: Fit, data: Path, results: Results) -> None:
    """Fit, and predict all examples, or those of the folder ``test`` where there is one."""
    shared = [word.format(data=data) for word in fit.shared]
    model, predictions = str(results.model(fit)), str(results.predictions(fit))
    told = [*shared, *(word.format(data=data) for word in fit.predicting)]
    command(fit, "fit", str(data), *fit.options, *shared, "--model", model, "-q")
    command(fit, "predict", str(data), *told, "--model", model, "--out", predictions, "-q")


def command(fit: Fit, *words: str) -> None:
    from hornbeam.cli import main as hornbeam

    err = StringIO()
    try:
        with redirect_stdout(StringIO()), redirect_stderr(err):
            hornbeam(list(words))
    except SystemExit as left:
        if left.code:
            sys.exit(f"{fit.name}: hornbeam {' '.join(words)}\n{err.getvalue()}")


def learned(document: object) -> object:
    """What a model file says about the model itself."""
    if isinstance(document, dict):
        return {key: learned(value) for key, value in document.items() if key not in NOT_LEARNED}
    return [learned(each) for each in document] if isinstance(document, list) else document


def read(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def rounded(cell: str) -> str:
    """A number to 12 digits; any other text as it is."""
    try:
        return f"{float(cell):.12g}" if "." in cell or "e" in cell else cell
    except ValueError:
        return cell


def hash_of(document: object) -> str:
    text = json.dumps(document, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def verdict(found: tuple[str, str], expected: tuple[str, str] | None) -> str:
    if expected is None:
        return "NOT IN THE LIST"
    names = ("predictions", "model")
    wrong = [name for name, one, other in zip(names, found, expected, strict=True) if one != other]
    return f"DIFFERS: {' and '.join(wrong)}"


def difference(fit: Fit, results: Results, other: Results) -> str:
    """How much the predictions differ from those that were kept."""
    if not other.predictions(fit).is_file():
        return f"; nothing of it in {other.folder}"
    if results.hashes(fit) == other.hashes(fit):
        return ""
    largest = 0.0
    for one, two in zip(read(results.predictions(fit)), read(other.predictions(fit)), strict=True):
        for left, right in zip(one, two, strict=True):
            if left != right:
                try:
                    largest = max(largest, abs(float(left) - float(right)))
                except ValueError:
                    return f'; "{left}" where "{right}" was kept'
    return f"; DIFFERS from what was kept, predictions by at most {largest:.2g}"


def recorded() -> dict[str, tuple[str, str]]:
    if not LIST.is_file():
        return {}
    lines = LIST.read_text().splitlines()
    rows = (line.rsplit(maxsplit=2) for line in lines if not line.startswith("#"))
    return {name.strip(): (predictions, model) for name, predictions, model in rows}


def record(found: dict[str, tuple[str, str]]) -> None:
    head = "# Written by `make identity-record`: hashes of the predictions and of the model of each fit.\n"
    names = [fit.name for fit in fits() if fit.name in found]
    LIST.write_text(head + "".join(f"{name:26s} {' '.join(found[name])}\n" for name in names))
    print(f"written: {LIST}")


if __name__ == "__main__":
    sys.exit(main())
