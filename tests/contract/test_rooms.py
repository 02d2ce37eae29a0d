"""The shape of the package: small folders, short functions, one class for each name."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "hornbeam"
PUBLIC_SIGNATURES = {
    "cli/verbs/explain.py:explain",
    "cli/verbs/fit.py:fit",
    "cli/verbs/show.py:show",
    "data/build.py:build",
    "in_place/load.py:load",
    "loading/events/examples.py:examples",
}
"""Functions whose parameters are what a user or a test writes by name."""


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield str(path.relative_to(PACKAGE)), ast.parse(path.read_text(encoding="utf-8"))


def functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    for name, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                yield f"{name}:{node.name}", node


def n_parameters(function: ast.FunctionDef) -> int:
    named = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return sum(each.arg not in ("self", "cls") for each in named)


def test_folders_are_small():
    sizes = {
        str(folder.relative_to(PACKAGE)): sum(entry.name != "__pycache__" for entry in folder.iterdir())
        for folder in (PACKAGE, *PACKAGE.rglob("*"))
        if folder.is_dir() and folder.name != "__pycache__"
    }
    assert sizes.pop(".") <= 22
    assert {folder: size for folder, size in sizes.items() if size > 20} == {}


def test_modules_have_at_most_600_lines():
    lines = {str(path.relative_to(PACKAGE)): path.read_text().count("\n") for path in PACKAGE.rglob("*.py")}
    assert {name: number for name, number in lines.items() if number > 600} == {}


def test_functions_have_at_most_60_lines():
    long = [name for name, each in functions() if (each.end_lineno or 0) - each.lineno + 1 > 60]
    assert long == []


def test_functions_have_at_most_7_parameters_but_for_public_signatures():
    assert {name for name, each in functions() if n_parameters(each) > 7} == PUBLIC_SIGNATURES


def test_no_two_classes_have_the_same_name():
    classes = Counter(
        node.name for _, tree in modules() for node in tree.body if isinstance(node, ast.ClassDef)
    )
    assert [name for name, number in classes.items() if number > 1] == []
