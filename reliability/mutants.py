"""Check that the tests notice small faults in the code: ``python reliability/mutants.py ridge --record``.

Each mutant changes one thing in a module (an operator, a comparison, a number, a condition), and a fast
part of the tests must fail with it. Mutants run in forked processes, so that NumPy and pytest are imported
once. ``--most N`` tries N mutants, chosen at random with a fixed seed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import importlib.abc
import importlib.util
import io
import os
import random
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

from results import ROOT, record, recorded

TESTS: dict[str, tuple[str, list[str]]] = {
    "ridge": ("hornbeam.learning.search.ridge", ["tests/unit/learning/test_ridge.py"]),
    "refine": (
        "hornbeam.logic.refine",
        ["tests/unit/logic/test_refine.py", "tests/unit/logic/test_bodies.py"],
    ),
    "plan": (
        "hornbeam.engines.clauses.plan",
        ["tests/unit/engines/test_plan.py", "tests/golden/test_golden.py", "-k", "memory or test_plan"],
    ),
    "link_targets": ("hornbeam.loading.tables.link_targets", ["tests/properties/test_link_targets.py"]),
    "linked_groups": (
        "hornbeam.learning.effects.examples.linked_groups",
        [
            "tests/fits/learning/test_linked_groups.py",
            "-k",
            "connected or refused or whole or many_arguments",
        ],
    ),
    "candidates": ("hornbeam.learning.effects.candidates", ["tests/fits/learning/test_candidates.py"]),
    "windows": (
        "hornbeam.learning.effects.links",
        ["tests/fits/learning/test_candidates.py", "-k", "windows"],
    ),
    "memory_tally": (
        "hornbeam.engines.memory.tally",
        [
            "tests/unit/engines/test_tallies.py",
            "tests/properties/test_tallies.py",
            "-k",
            "memory or split or hub",
        ],
    ),
    "sql_tallies": (
        "hornbeam.engines.sql.tallies.queries",
        ["tests/unit/engines/test_tallies.py", "tests/properties/test_features.py", "-k", "duckdb"],
    ),
    "bag_steps": (
        "hornbeam.learning.effects.steps.bag_steps",
        ["tests/unit/learning/test_effect_steps.py"],
    ),
    "types": ("hornbeam.loading.tables.columns.types", ["tests/unit/loading/test_types.py"]),
}
"""A module, and the fast tests that must notice its mutants."""
CASES = "60"
"""Random cases of each property, the same for every mutant."""
SECONDS = 60
"""CPU seconds that the tests of a mutant may take; a mutant that takes longer counts as noticed."""
_OTHER_OPERATOR: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Break: ast.Continue,
    ast.Continue: ast.Break,
}
_OTHER_NAME = {"min": "max", "max": "min", "any": "all", "all": "any", "True": "False", "False": "True"}


class Mutant(NamedTuple):
    """A changed module: the line of the change, the code before and after it, and the whole tree."""

    line: int
    before: str
    after: str
    tree: ast.Module

    @property
    def text(self) -> str:
        return f"line {self.line}: {self.before}  ->  {self.after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=TESTS)
    parser.add_argument("--most", type=int, default=10**6)
    parser.add_argument(
        "--again", action="store_true", help="only mutants that were not noticed the last time"
    )
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    module, tests = TESTS[options.part]
    path = ROOT / "src" / (module.replace(".", "/") + ".py")
    found = list(mutants(path.read_text(encoding="utf-8")))
    before = recorded("mutants").get(options.part) if options.again else None
    if before is not None:
        chosen = [each for each in found if each.text in before["survivors"]]
    else:
        chosen = random.Random(1).sample(found, min(options.most, len(found)))
    os.environ["HORNBEAM_CASES"] = CASES
    _warm_up()
    if _noticed(module, str(path), ast.parse(path.read_text(encoding="utf-8")), tests):
        sys.exit("the tests fail without any mutant: mend them first")
    survivors = [
        each
        for each in sorted(chosen, key=lambda each: each[:3])
        if not _noticed(module, str(path), each.tree, tests)
    ]
    killed = len(chosen) - len(survivors)
    print(f"{options.part}: {killed} of {len(chosen)} mutants noticed ({len(found)} possible)")
    for each in survivors:
        print(f"  {each.text}")
    if options.record:
        figures = {
            "possible": len(found),
            "tried": len(chosen) if before is None else before["tried"],
            "noticed": killed if before is None else before["tried"] - len(survivors),
            "survivors": [each.text for each in survivors],
        }
        record("mutants", {options.part: figures})


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a module, with one change each; annotations and docstrings are not changed."""
    tree = ast.parse(source)
    nodes = [node for node in _code(tree) if _changes(node)]
    for number, node in enumerate(nodes):
        for change in range(len(_changes(node))):
            other = copy.deepcopy(tree)
            twin = [each for each in _code(other) if _changes(each)][number]
            _changes(twin)[change]()
            line = getattr(node, "lineno", 0)
            yield Mutant(line, _shown(node), _shown(twin), other)


def _shown(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 100 else text[:97] + "..."


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of code that runs: no types, no docstrings, no assertions."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.Assert | ast.Import | ast.ImportFrom):
                continue
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue
            yield node
            yield from _code(node)


def _changes(node: ast.AST) -> list:  # type: ignore[type-arg]
    """Functions that each make one change to a node, in place."""
    found = []

    def change(owner: ast.AST, name: str, value: object) -> None:
        found.append(lambda: setattr(owner, name, value))

    match node:
        case ast.BinOp() | ast.BoolOp() | ast.AugAssign() if type(node.op) in _OTHER_OPERATOR:
            change(node, "op", _OTHER_OPERATOR[type(node.op)]())
        case ast.Compare() if type(node.ops[0]) in _OTHER_OPERATOR:
            change(node, "ops", [_OTHER_OPERATOR[type(node.ops[0])](), *node.ops[1:]])
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            change(node, "op", ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not())
            if isinstance(node.op, ast.Not):
                found[-1] = lambda: setattr(node, "operand", ast.UnaryOp(ast.Not(), node.operand))
        case ast.Constant(value=bool()):
            change(node, "value", not node.value)
        case ast.Constant(value=int() | float()):
            change(node, "value", node.value + 1)
        case ast.If() | ast.IfExp() | ast.While():
            found.append(lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test)))
        case ast.Call(func=ast.Name(id=name)) if name in _OTHER_NAME:
            change(node.func, "id", _OTHER_NAME[name])
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            change(node, "value", ast.Constant(None))
    return found


class _Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module in its changed form."""

    def __init__(self, module: str, path: str, tree: ast.Module) -> None:
        self.module, self.path, self.tree = module, path, tree

    def find_spec(self, name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name != self.module:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)

    def create_module(self, spec):  # type: ignore[no-untyped-def]
        return None

    def exec_module(self, module):  # type: ignore[no-untyped-def]
        exec(compile(ast.fix_missing_locations(self.tree), self.path, "exec"), module.__dict__)


def _warm_up() -> None:
    """Import modules that the tests need and no mutant changes."""
    for name in ("hypothesis", "mpmath", "numpy", "pytest", "scipy.sparse"):
        importlib.import_module(name)


def _noticed(module: str, path: str, tree: ast.Module, tests: list[str]) -> bool:
    """Whether the tests fail with the changed module; they run in a process of their own."""
    pid = os.fork()
    if pid == 0:
        status = 3
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
            sys.meta_path.insert(0, _Loader(module, path, tree))
            import pytest

            os.chdir(ROOT)
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                status = pytest.main(
                    ["-x", "-q", "-p", "no:cacheprovider", "--assert=plain", "--hypothesis-seed=1", *tests]
                )
        finally:
            os._exit(int(status))
    started = time.monotonic()
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status != 0
        if time.monotonic() - started > 20 * SECONDS:
            os.kill(pid, 9)
        time.sleep(0.02)


if __name__ == "__main__":
    main()
