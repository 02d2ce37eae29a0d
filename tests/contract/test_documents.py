"""Every session in the documents is run as a reader would run it, in one empty folder per document."""

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
_BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHECK = doctest.OutputChecker()


def expected_outputs(session: str) -> list[tuple[str, str]]:
    """Commands of a console session, each with the output shown after it."""
    pairs = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", session, re.MULTILINE)
    assert pairs, "a console block must begin with a command after '$ '"
    return pairs


def run_console(session: str, folder: Path) -> None:
    for command, shown in expected_outputs(session):
        program, *words = shlex.split(command)
        assert program == "hornbeam", f"only hornbeam is run in documents: {command}"
        done = subprocess.run(
            [sys.executable, "-m", "hornbeam", *words],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert CHECK.check_output(shown, done.stdout, doctest.ELLIPSIS), (
            f"{command}\nshown:\n{shown}\nprinted:\n{done.stdout}"
        )


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_sessions_of_a_document_run_as_shown(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for kind, text in _BLOCK.findall(document.read_text(encoding="utf-8")):
        if kind == "console":
            run_console(text, tmp_path)
            continue
        assert ">>> " in text, f"a python block without a session cannot be checked:\n{text}"
        test = doctest.DocTestParser().get_doctest(text, names, document.name, str(document), 0)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        runner.run(test, clear_globs=False)
        names = test.globs
        assert runner.summarize(verbose=False).failed == 0, f"a session of {document.name} differs, see above"


def test_the_readme_begins_with_a_session():
    blocks = _BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert {kind for kind, _ in blocks} == {"console", "python"}
