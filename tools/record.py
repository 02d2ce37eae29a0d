"""Write what commands print into the documents: each session that no longer prints what is shown is recorded.

    python tools/record.py [DOCUMENT ...]

Blocks are run as ``tests/contract/test_documents.py`` runs them, in one empty folder per document. Output
that still agrees with what is shown is left as it is.
"""

from __future__ import annotations

import doctest
import os
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "contract")]

import test_documents as documents  # noqa: E402

COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


def main() -> None:
    os.environ.setdefault("HORNBEAM_DATA", str(documents.DATA))
    for document in [Path(name).resolve() for name in sys.argv[1:]] or documents.DOCUMENTS:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            record(document, Path(folder))


def record(document: Path, folder: Path) -> None:
    """Run the blocks of a document in order, and write those that changed."""
    text = document.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    found = {entry.name for entry in documents.DATA.iterdir()} if documents.DATA.is_dir() else set()
    printed = ""
    for block in [*documents.blocks_of_worlds(document), *documents.blocks_of(document)]:
        if block.data and block.data not in found:
            continue
        new = block.text
        if block.title is not None:
            path = folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.kind == "console":
            new = COMMAND.sub(lambda match: recorded_command(match, folder), block.text)
        elif block.kind == "python" and ">>> " in block.text:
            new = recorded_session(block.text, names, document)
        elif block.kind == "python":
            printed = documents.run_statements(block.text, names, document)
        elif block.kind == "output" and not documents.agrees(block.text, printed):
            new = printed
        if not block.text:
            raise SystemExit(f"{document.relative_to(ROOT)}: a block is empty; write ... in it")
        if new != block.text:
            text = text.replace(block.text, new)
            print(f"{document.relative_to(ROOT)}: recorded\n{new}")
    document.write_text(text, encoding="utf-8")


def recorded_command(match: re.Match[str], folder: Path) -> str:
    """A command and what it prints now, unless that agrees with what is shown."""
    command, shown = match[1], match[2]
    printed = documents.printed_by(command, shown, folder).stdout
    if " > " in command or documents.agrees(shown, printed):
        return match[0]
    return f"$ {command}\n{printed}"


def recorded_session(text: str, names: dict[str, object], document: Path) -> str:
    """A session of Python with what it prints now."""
    parts = doctest.DocTestParser().parse(text, document.name)
    recorded = []
    for part in parts:
        if isinstance(part, str):
            recorded.append(part)
            continue
        want = part.want
        seen: list[str] = []
        code = compile(part.source, document.name, "single")
        shown, sys.stdout = sys.stdout, _Lines(seen)  # type: ignore[assignment]
        try:
            exec(code, names)
        except Exception:
            if part.exc_msg is None:
                raise
        finally:
            sys.stdout = shown
        got = "".join(seen)
        lines = part.source.splitlines()
        source = "\n".join([f">>> {lines[0]}", *(f"... {line}" for line in lines[1:])])
        recorded.append(f"{source}\n{want if documents.agrees(want, got) or part.exc_msg else got}")
    return "".join(recorded)


class _Lines:
    """A stream that keeps what is written."""

    def __init__(self, seen: list[str]) -> None:
        self.seen = seen

    def write(self, text: str) -> int:
        self.seen.append(text)
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""


if __name__ == "__main__":
    main()
