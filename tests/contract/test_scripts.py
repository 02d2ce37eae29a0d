"""Scripts and documents name modules, functions and files that exist."""

import ast
import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(
    path for folder in ("benchmarks", "fuzz", "reliability", "tools") for path in ROOT.glob(f"{folder}/*.py")
)
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")])
PLACE = re.compile(r"\b(?:benchmarks|docs|fuzz|reliability|src|tests|tools)/[\w./-]*\w")


def imported_names(path: Path) -> list[tuple[str, str | None]]:
    """The modules of hornbeam that a script imports anywhere, with the names it takes from them."""
    names: list[tuple[str, str | None]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "hornbeam":
            names += [(str(node.module), alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            names += [
                (alias.name, None) for alias in node.names if alias.name.partition(".")[0] == "hornbeam"
            ]
    return names


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_script_imports_what_exists(path: Path) -> None:
    for module, name in imported_names(path):
        found = importlib.import_module(module)
        if name is not None and not hasattr(found, name):
            importlib.import_module(f"{module}.{name}")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_script_names_files_that_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for place in re.findall(r"\btests/[\w./]*\.py\b", text):
        assert (ROOT / place).is_file(), place


def test_mutants_are_made_of_modules_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "reliability"))
    monkeypatch.delitem(sys.modules, "mutants", raising=False)
    import mutants

    for module, _ in mutants.TESTS.values():
        assert (ROOT / "src" / f"{module.replace('.', '/')}.py").is_file(), module


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_document_names_files_that_exist(path: Path) -> None:
    # The changelog tells of files as they were.
    if path.name != "CHANGELOG.md":
        for place in PLACE.findall(path.read_text(encoding="utf-8")):
            assert (ROOT / place).exists(), f"{path.name}: {place}"
