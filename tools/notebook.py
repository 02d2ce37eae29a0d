"""Run the notebook docs/notebook.ipynb and write what its cells show.

    python tools/notebook.py            writes the outputs
    python tools/notebook.py --check    fails if a cell shows something else than is written

The notebook is run as a notebook would: what a cell prints and what its last line is worth are its outputs.
"""

from __future__ import annotations

import ast
import io
import json
import os
import sys
import tempfile
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "notebook.ipynb"


def main() -> None:
    document = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    stale = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        codes = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
        for number, cell in enumerate(codes, start=1):
            outputs = run("".join(cell["source"]), names, number)
            if outputs != cell["outputs"]:
                stale.append(number)
            cell["outputs"], cell["execution_count"] = outputs, number
        os.chdir(NOTEBOOK.parent)
    if "--check" not in sys.argv[1:]:
        NOTEBOOK.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    elif stale:
        sys.exit(f"cells {', '.join(map(str, stale))} show something else: run python tools/notebook.py")


def run(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """The outputs of a cell, in the form of the file."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(tree, f"cell {number}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data = {"text/html": _lines(str(value._repr_html_())), **data}
        outputs.append(
            {"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}
        )
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    main()
