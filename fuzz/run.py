"""Coverage-guided fuzzing of one target: ``python fuzz/run.py facts --seconds 600``.

Fuzzing starts from ``fuzz/seeds/TARGET``, learns which bytes reach new code, and stops at the first input
that raises anything but our errors, takes more than 20 seconds, or more than 2 GB. This input is left in the
working folder. When the fault is mended, put the input into ``fuzz/found/TARGET``: the tests run all inputs
there. ``--record`` writes the figures of a run without a fault to the records.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MEMORY = 2048
"""Megabytes that the process may take."""
PATIENCE = 20
"""Seconds that one input may take."""
LONGEST = 8192
"""Bytes of an input, at most."""


def main() -> None:
    options = _options()
    if options.inside:
        _fuzz(options.target, options.rest)
    folder = tempfile.mkdtemp(prefix=f"hornbeam-fuzz-{options.target}-", dir=_fast_folder())
    done = subprocess.run(
        [
            *(sys.executable, __file__, options.target, "--inside", folder),
            *filter(None, [_seeds(options.target)]),
            *(f"-max_total_time={options.seconds}", f"-rss_limit_mb={MEMORY}", f"-timeout={PATIENCE}"),
            *(f"-dict={HERE / 'words' / options.target}", f"-artifact_prefix={folder}/"),
            *(f"-max_len={LONGEST}", "-print_final_stats=1", f"-seed={options.seed}"),
        ],
        capture_output=True,
        text=True,
        errors="replace",
        env=os.environ | {"TMPDIR": folder},
    )
    if done.returncode != 0:
        print("\n".join((done.stdout + done.stderr).splitlines()[-60:]), file=sys.stderr)
        sys.exit(done.returncode)
    shutil.rmtree(folder)
    found = _figures(done.stderr) | {"cpu_seconds": round(_cpu_of_children())}
    print(f"{options.target}: {found['inputs']:,} inputs, {found['edges']:,} edges, no fault")
    if options.record:
        sys.path.insert(0, str(HERE.parent / "reliability"))
        from results import record

        record("fuzzing", {options.target: {"seconds": options.seconds} | found})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options, options.rest = parser.parse_known_args()
    return options


def _fast_folder() -> str | None:
    """A folder in memory, if the system has one: every input is written to a file."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _seeds(target: str) -> str:
    folder = HERE / "seeds" / target
    return str(folder) if folder.is_dir() else ""


def _fuzz(target: str, rest: list[str]) -> None:
    """The process in which libFuzzer runs; it never returns."""
    import atheris

    sys.path.insert(0, str(HERE))
    # Hornbeam and the parsers of the standard library that it uses; not NumPy.
    with atheris.instrument_imports(include=["hornbeam", "tomllib", "json"]):
        import targets
    custom = {"custom_mutator": _mutator} if target == "models" else {}
    atheris.Setup([sys.argv[0], *rest], targets.TARGETS[target], **custom)
    atheris.Fuzz()


def _mutator(data: bytes, most: int, seed: int) -> bytes:
    """Change the JSON document in three cases out of four, else its bytes."""
    import atheris

    from trees import mutated

    changed = mutated(data, most, seed) if seed % 4 else None
    return atheris.Mutate(data, most) if changed is None else changed


def _figures(log: str) -> dict[str, int]:
    """The figures that libFuzzer prints at its end: inputs, and edges of the code they reached."""
    edges = re.findall(r"cov: (\d+)", log)
    units = re.search(r"number_of_executed_units:\s*(\d+)", log)
    corpus = re.findall(r"corp: (\d+)/", log)
    peak = re.search(r"peak_rss_mb:\s*(\d+)", log)
    return {
        "inputs": int(units[1]) if units else 0,
        "edges": int(edges[-1]) if edges else 0,
        "kept": int(corpus[-1]) if corpus else 0,
        "peak_megabytes": int(peak[1]) if peak else 0,
    }


if __name__ == "__main__":
    main()
