"""Every block of the documents is run as a reader would run it, in one empty folder per document.

A block is a file with its name (``title="shop/customers.csv"``), a session of the command line
(``console``), Python as a session or as statements (``python``), or what the block above it printed
(``output``). Plain words and drawings are ``text``; nothing else is allowed. A block below the comment
``<!-- data: NAME -->`` needs a named data set, and is run where the data are. The comment
``<!-- world: DOCUMENT -->`` says that a document uses the data that another one makes up.
"""

import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import redirect_stdout
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import pytest

from public_data import DATA

ROOT = Path(__file__).resolve().parents[2]
COPY = ROOT / "docs" / "index.md"
"""The first page of the site is written from README.md, whose blocks are run."""
DOCUMENTS = sorted([ROOT / "README.md", *(set((ROOT / "docs").rglob("*.md")) - {COPY})])
LINKING = sorted([*ROOT.glob("*.md"), *ROOT.glob("benchmarks/*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(
    r"^(?:<!-- data: (\w+) -->\n)?```(\w*)[ \t]*([^\n]*)\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL
)
TITLE = re.compile(r'title="([^"]+)"')
SAID = re.compile(r"^(note: |hornbeam: |out-of-bag |cross-validated |explains |wrote )", re.MULTILINE)
WORLD = re.compile(r"^<!-- world: (\S+) -->$", re.MULTILINE)
CHECK = doctest.OutputChecker()


class Block(NamedTuple):
    kind: str
    title: str | None
    text: str
    data: str


def blocks_of(document: Path) -> list[Block]:
    found = []
    for data, kind, rest, text in FENCE.findall(document.read_text(encoding="utf-8")):
        title = TITLE.search(rest)
        found.append(Block(kind, title and title[1], text, data))
    return found


def blocks_of_worlds(document: Path) -> Iterator[Block]:
    """The blocks that make up the data of the documents that this one names: all before the first command."""
    for name in WORLD.findall(document.read_text(encoding="utf-8")):
        yield from takewhile(lambda block: block.kind != "console", blocks_of(document.parent / name))


def agrees(shown: str, printed: str) -> bool:
    return CHECK.check_output(shown, printed, doctest.ELLIPSIS)


def printed_by(command: str, shown: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a command prints, with notes and errors if some are shown. The output may go to a file."""
    command, _, file = command.partition(" > ")
    program, *words = shlex.split(command)
    assert program == "hornbeam", f"only hornbeam is run in documents: {command}"
    done = subprocess.run(
        [sys.executable, "-m", "hornbeam", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if SAID.search(shown) else subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    refused = re.search(r"^hornbeam: ", shown, re.MULTILINE) is not None
    assert done.returncode == (2 if refused else 0), f"{command}\n{done.stdout}{done.stderr}"
    if file:
        (folder / file.strip()).write_text(done.stdout, encoding="utf-8")
    return done


def run_console(session: str, folder: Path) -> None:
    """Each command, and that it prints what is shown after it; notes and errors too, where some are shown."""
    pairs = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", session, re.MULTILINE)
    assert pairs, "a console block must begin with a command after '$ '"
    for command, shown in pairs:
        printed = printed_by(command, shown, folder).stdout
        if " > " not in command:
            assert agrees(shown, printed), f"{command}\nshown:\n{shown}\nprinted:\n{printed}"


def run_session(text: str, names: dict[str, object], document: Path) -> dict[str, object]:
    test = doctest.DocTestParser().get_doctest(text, names, document.name, str(document), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, clear_globs=False)
    assert runner.summarize(verbose=False).failed == 0, f"a session of {document.name} differs, see above"
    return test.globs


def run_statements(text: str, names: dict[str, object], document: Path) -> str:
    """What the statements print."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(text, str(document), "exec"), names)
    return printed.getvalue()


def run_blocks(document: Path, folder: Path, found: Collection[str]) -> None:
    """Run the blocks in order; those that need data only where these are found."""
    names: dict[str, object] = {"__name__": "__main__"}
    printed = None
    for kind, title, text, data in [*blocks_of_worlds(document), *blocks_of(document)]:
        if data and data not in found:
            continue
        if kind != "output":
            assert not printed, f"printed, but not shown:\n{printed}"
        if title is not None:
            path = folder / title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif kind == "console":
            run_console(text, folder)
        elif kind == "python" and ">>> " in text:
            names = run_session(text, names, document)
        elif kind == "python":
            printed = run_statements(text, names, document)
        elif kind == "output":
            assert printed is not None, f"nothing was run that printed:\n{text}"
            assert agrees(text, printed), f"shown:\n{text}\nprinted:\n{printed}"
            printed = None
        else:
            assert kind in ("", "text"), f"a block of {kind} is not run: give it a title, or call it text"
    assert not printed, f"printed, but not shown:\n{printed}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_blocks_of_a_document_run_as_shown(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HORNBEAM_DATA", str(DATA))
    run_blocks(document, tmp_path, {entry.name for entry in DATA.iterdir()} if DATA.is_dir() else ())


def test_every_fence_of_the_documents_is_seen():
    for document in DOCUMENTS:
        fences = re.findall(r"^\s*```", document.read_text(encoding="utf-8"), re.MULTILINE)
        assert len(fences) == 2 * len(blocks_of(document)), f"{document}: a block is indented or not closed"


def test_the_readme_begins_with_a_session():
    kinds = {block.kind for block in blocks_of(ROOT / "README.md")}
    assert kinds >= {"console", "python"}


@pytest.mark.parametrize("document", LINKING, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_within_the_project_lead_somewhere(document):
    text = FENCE.sub("", document.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:|#", link):
            continue
        assert (document.parent / link.partition("#")[0]).exists(), f"{document.name}: no {link}"


def test_the_notebook_shows_what_its_cells_do():
    script = [sys.executable, str(ROOT / "tools" / "notebook.py"), "--check"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
