"""The files of a layout and the files that they import, each read once per role."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from hornbeam.errors import DataError, Place
from hornbeam.loading.facts.layout import Layout
from hornbeam.loading.facts.reader import Contents, read_contents
from hornbeam.loading.facts.statements import Import
from hornbeam.loading.files import read_text


class FileRole(Enum):
    """What the atoms of a file are."""

    BACKGROUND = "background"
    FACTS = "facts"
    POSITIVES = "positive examples"
    NEGATIVES = "negative examples"

    @property
    def gives_examples(self) -> bool:
        return self in (FileRole.POSITIVES, FileRole.NEGATIVES)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that was read, and the role of its atoms."""

    role: FileRole
    contents: Contents


def read_sources(layout: Layout) -> list[SourceFile]:
    """Background, facts, positives and negatives; each file comes after the files that it imports."""
    reader = _ImportReader()
    sources: list[SourceFile] = []
    if layout.background is not None:
        sources.extend(reader.read(layout.background, FileRole.BACKGROUND))
    sources.extend(reader.read(layout.facts, FileRole.FACTS))
    sources.extend(reader.read(layout.positives, FileRole.POSITIVES))
    sources.extend(reader.read(layout.negatives, FileRole.NEGATIVES))
    return sources


@dataclass(slots=True)
class _ImportReader:
    done: set[tuple[FileRole, Path]] = field(default_factory=set)
    """files that were read, and in which role: a second import adds nothing"""
    open: list[Path] = field(default_factory=list)
    """files that are being read, each imported by the one before it"""

    def read(self, path: Path, role: FileRole, asked_by: Place | None = None) -> Iterator[SourceFile]:
        text = read_text(path, asked_by)
        real = _real(path)
        if real in self.open:
            circle = " -> ".join(each.name for each in (*self.open[self.open.index(real) :], real))
            raise DataError(f"these imports lead in a circle: {circle}; remove one of them.", asked_by)
        # An imported file may be background, where modes may stand without "mode:".
        contents = read_contents(path, text, bare_modes=role is FileRole.BACKGROUND or asked_by is not None)
        self.open.append(real)
        for statement in contents.others:
            if isinstance(statement, Import):
                yield from self._import(contents, statement, role)
        self.open.pop()
        self.done.add((role, real))
        yield SourceFile(role, contents)

    def _import(self, contents: Contents, statement: Import, role: FileRole) -> Iterator[SourceFile]:
        path = _imported(contents.path, statement.file)
        real = _real(path)
        # A file that was read as background has given its modes, and its atoms are not examples.
        if (role, real) not in self.done and (FileRole.BACKGROUND, real) not in self.done:
            yield from self.read(path, role, contents.place(statement))


def _imported(path: Path, name: str) -> Path:
    """A file named relative to another file: next to it, or next to the target of a link."""
    beside = path.parent / name
    behind = _real(path).parent / name
    chosen = behind if behind.exists() and not beside.exists() else beside
    # Leave out "train/.." to shorten messages, unless a link makes that another file.
    plain = Path(os.path.normpath(chosen))
    return plain if _real(plain) == _real(chosen) else chosen


def _real(path: Path) -> Path:
    # Unlike Path.resolve this never fails: a circle of links is reported when the file is read.
    return Path(os.path.realpath(path))
