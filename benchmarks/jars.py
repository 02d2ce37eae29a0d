"""BoostSRL and SRLBoost, run as their users run them: the programs inside the srlearn package.

They are started as programs on a copy of the data, because they write into the folders they read.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from measure import TIMED_OUT, ProcessRun, run_process

PACKAGE = "srlearn==0.5.5"
TREES = 10
SETTINGS = """\
setParam: nodeSize=2.
setParam: maxTreeDepth=3.
setParam: numOfClauses=100.
setParam: numOfCycles=100.
usePrologVariables: true.
"""


@dataclass(frozen=True)
class System:
    """One of the programs in one of its two kinds of model."""

    name: str
    jar: str
    flags: tuple[str, ...]


SYSTEMS = (
    System("BoostSRL MLN-Boost", "BoostSRL.jar", ("-combine", "-mln", "-mlnClause")),
    System("BoostSRL RDN-Boost", "BoostSRL.jar", ("-combine",)),
    System("SRLBoost MLN-Boost", "SRLBoost.jar", ("-mln", "-mlnClause")),
    System("SRLBoost RDN-Boost", "SRLBoost.jar", ()),
)


def java() -> str | None:
    """The Java program, where there is one."""
    return shutil.which("java")


def fetch(folder: Path) -> Path:
    """The folder with the two programs, taken out of the package as pip gets it."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), PACKAGE]
    subprocess.run(pip, check=True)
    [wheel] = folder.glob("srlearn-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in ("BoostSRL.jar", "SRLBoost.jar"):
            (folder / name).write_bytes(archive.read(f"srlearn/{name}"))
    return folder


def prepare(train: Path, background: Path, folder: Path) -> Path:
    """A copy of the training files, with the modes in the form these programs want."""
    copy = folder / "train"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    for kind in ("pos", "neg", "facts"):
        shutil.copy(train / f"train_{kind}.txt", copy)
    modes = re.findall(r"^\s*(?:mode:)?\s*(\w+\([^)]*\))", background.read_text(), flags=re.MULTILINE)
    lines = "".join(f"mode: {mode}.\n" for mode in modes)
    (copy / "train_bk.txt").write_text(SETTINGS + lines)
    return copy


def learn(system: System, jars: Path, train: Path, target: str, limit: int) -> ProcessRun:
    """Learn once: ten trees or steps, two negatives for one positive."""
    shutil.rmtree(train / "models", ignore_errors=True)
    command = [
        *("java", "-jar", jars / system.jar, "-l", "-train", train, "-target", target),
        *("-trees", str(TREES), "-negPosRatio", "2", *system.flags),
    ]
    return run_process(command, limit=limit)


def outcome(run: ProcessRun, limit: int) -> str:
    """How it ended, in a few words."""
    if run.status == TIMED_OUT:
        return f"not done in {limit} CPU-s"
    failure = re.search(r"(\w+(?:Exception|Error))\b", run.output)
    if run.status:
        return f"failed ({failure[1] if failure else f'status {run.status}'})"
    return "done" if "Total learning time" in run.output else "ended without a model"
