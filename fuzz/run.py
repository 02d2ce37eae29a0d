"""Coverage-guided fuzzing of one target: ``python fuzz/run.py facts --seconds 600``.

Starts from ``fuzz/seeds/TARGET``, learns which bytes reach new code, and stops at the first input
that raises anything but our errors, takes more than 20 seconds, or more than 2 GB. Such an input is
left in the working folder; once the fault is mended it goes into ``fuzz/found/TARGET``, which the
tests replay for ever. ``--record`` writes what a clean run did to the results.
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
"""megabytes that one input may take the process to"""
PATIENCE = 20
"""seconds that one input may take"""
LONGEST = 8192
"""bytes of an input"""


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
    """Every input is a file: in memory, where the system has such a folder."""
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
    # The product and the parsers of the standard library that it leans on; not NumPy.
    with atheris.instrument_imports(include=["hornbeam", "tomllib", "json"]):
        import hornbeam.learning.boosting.mln_boost
        import hornbeam.learning.trees.model
        import hornbeam.study.agg_lr.model
        import hornbeam.study.ilp_rlr.learner  # noqa: F401
        import targets
    custom = {"custom_mutator": _mutator} if target == "models" else {}
    atheris.Setup([sys.argv[0], *rest], targets.TARGETS[target], **custom)
    atheris.Fuzz()


def _mutator(data: bytes, most: int, seed: int) -> bytes:
    """Three times in four a change of the document, otherwise of its bytes."""
    import atheris

    from trees import mutated

    changed = mutated(data, most, seed) if seed % 4 else None
    return atheris.Mutate(data, most) if changed is None else changed


def _figures(log: str) -> dict[str, int]:
    """What libFuzzer says at its end: how many inputs, how much of the code they reached."""
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
