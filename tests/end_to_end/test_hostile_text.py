"""Text that is written to do harm: reading it takes time and memory in proportion, and ends in one sentence.

Each text is read in a process of its own, which the system would end if it took a hundred times what
it needs: nothing here depends on how fast the machine is.
"""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = 120
"""of processor time; reading takes one or two"""
READ = """
import sys, resource
memory = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
from pathlib import Path
from hornbeam.errors import HornbeamError
from hornbeam.loading.facts.background import background_of
from hornbeam.loading.facts.reader import read_contents
from hornbeam.loading.files import read_text
from hornbeam.loading.facts.imports import FileRole, SourceFile
path = Path(sys.argv[1])
try:
    for bare_modes in (False, True):
        contents = read_contents(path, read_text(path), bare_modes)
        background_of([SourceFile(FileRole.BACKGROUND, contents)])
        print(sum(len(columns[0].codes) for columns in contents.facts.values()), len(contents.others))
except HornbeamError as error:
    print(str(error).removeprefix(str(path)))
"""


def read(path: Path, memory: int) -> str:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))

    done = subprocess.run(
        [sys.executable, "-c", READ, str(path), str(memory)], capture_output=True, text=True, preexec_fn=limit
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    return done.stdout


MANY = 200_000
LONG = {
    "a fact of many arguments": ("p(" + "a," * (MANY // 2) + "a).", "more than 1,000 arguments"),
    "a mode of many arguments": ("mode: p(" + "+a," * (MANY // 3) + "+a).", "more than 1,000 arguments"),
    "rules on one line": ("p(X) :- q(X). " * (MANY // 14), f"0 {MANY // 14}\n"),
    "modes on one line": ("mode: p(+a,-b). " * (MANY // 16), f"0 {MANY // 16}\n"),
    "facts on one line": ("p(a). " * (MANY // 6), f"{MANY // 6} 0\n"),
    "facts and rules on one line": ("p(a). q(b) :- p(b). " * (MANY // 20), f"{MANY // 20} {MANY // 20}\n"),
    "open brackets": ("setParam: " + "[" * MANY, "0 1\n"),
    "open parentheses in a setting": ("setParam: " + "(" * MANY, "0 1\n"),
    "quotes that never close": ("setParam: " + "'\\" * (MANY // 2), "0 1\n"),
    "quotes in a rule that never close": ("p(X) :- " + "'\\" * (MANY // 2), "0 1\n"),
    "empty lines in a rule": ("p(X) :- " + "\n" * MANY + "q(X).", "0 1\n"),
    "nesting": ("p(" + "f(" * (MANY // 2), 'nested term "f(...)"'),
    "parentheses": ("(" * MANY, "expected a predicate name"),
    "colons": (":" * MANY, "expected a predicate name"),
    "NUL": ("\0" * MANY, "after the predicate name"),
    "NUL in a name": ("p(a\0b)." * (MANY // 8), f"{MANY // 8} 0\n"),
}


@pytest.mark.parametrize("name", LONG)
def test_reading_takes_time_in_proportion(name: str, tmp_path: Path) -> None:
    text, expected = LONG[name]
    path = tmp_path / "facts.txt"
    path.write_text(text, newline="")
    assert expected in read(path, 2 << 30)


@pytest.mark.parametrize(
    ("start", "each", "expected"),
    [
        ("", "a", 'expected "(" after the predicate name'),
        ("% ", "a", "0 0\n"),
    ],
)
def test_a_line_of_thirty_megabytes(start: str, each: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "facts.txt"
    path.write_text(start + each * (30_000_000 // len(each)))
    assert expected in read(path, 3 << 30)
