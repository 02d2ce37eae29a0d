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
from hornbeam.loading.files import check_inside, read_text


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


def read_sources(layout: Layout, folder: Path | None = None) -> list[SourceFile]:
    """Background, facts, positives and negatives; each file comes after the files that it imports.

    Imports must not lead out of ``folder`` and its parent.
    """
    reader = _ImportReader(folder)
    sources: list[SourceFile] = []
    if layout.background is not None:
        sources.extend(reader.read(layout.background, FileRole.BACKGROUND))
    sources.extend(reader.read(layout.facts, FileRole.FACTS))
    sources.extend(reader.read(layout.positives, FileRole.POSITIVES))
    sources.extend(reader.read(layout.negatives, FileRole.NEGATIVES))
    return sources


@dataclass(slots=True)
class _ImportReader:
    folder: Path | None
    done: set[tuple[FileRole, Path]] = field(default_factory=set)
    """files that were read, and in which role: a second import adds nothing"""
    open: dict[Path, Iterator[Import]] = field(default_factory=dict)
    """files that are being read, each imported by the one before it, with the imports that remain"""
    written: dict[Path, Path] = field(default_factory=dict)
    """the paths of imported files as they are written, where the file was found behind a link"""

    def read(self, path: Path, role: FileRole) -> Iterator[SourceFile]:
        """A file after all files that it imports. There is no recursion: a chain of imports may be long."""
        contents = [self._opened(path, role)]
        while contents:
            importing = contents[-1]
            real = _real(importing.path)
            statement = next(self.open[real], None)
            if statement is None:
                del self.open[real]
                self.done.add((role, real))
                yield SourceFile(role, contents.pop())
                continue
            imported = _imported(importing.path, statement.file)
            self._check(importing, statement, imported)
            # A file that was read as background has given its modes, and its atoms are not examples.
            if not {(role, _real(imported)), (FileRole.BACKGROUND, _real(imported))} & self.done:
                contents.append(self._opened(imported, role, importing.place(statement)))

    def _check(self, importing: Contents, statement: Import, imported: Path) -> None:
        """Refuse an import that leads out of the folder; links may lead anywhere."""
        written = self.written.get(importing.path, importing.path).parent / statement.file
        if self.folder is not None:
            check_inside(self.folder, written, importing.place(statement))
        self.written.setdefault(imported, written)

    def _opened(self, path: Path, role: FileRole, asked_by: Place | None = None) -> Contents:
        text = read_text(path, asked_by)
        real = _real(path)
        if real in self.open:
            names = [each.name for each in self.open]
            circle = " -> ".join([*names[list(self.open).index(real) :], real.name])
            raise DataError(f"these imports lead in a circle: {circle}; remove one of them.", asked_by)
        # An imported file may be background, where modes may stand without "mode:".
        contents = read_contents(path, text, bare_modes=role is FileRole.BACKGROUND or asked_by is not None)
        self.open[real] = iter([each for each in contents.others if isinstance(each, Import)])
        return contents


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
