"""Runs every ``.case`` file of this folder on both counters; README.md here describes the format."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from every_engine import both_counters
from hornbeam.data.build import build
from hornbeam.data.database import Codes, Database
from hornbeam.data.numbers import read_times
from hornbeam.engines.clauses.contract import Counts
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.errors import HornbeamError
from hornbeam.logic.parse import parse_clause, parse_fact, parse_mode
from hornbeam.logic.schema import Schema

FILES = sorted(Path(__file__).parent.glob("*.case"))
WORLD = ("predicates", "numeric", "constants", "facts")
QUESTIONS = ("clause", "fact", "mode")
OUTCOMES = ("counts", "error", "refused")


@dataclass(frozen=True)
class Section:
    word: str
    line: int
    lines: tuple[str, ...]

    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True)
class GoldenCase:
    database: Database
    questions: tuple[tuple[Section, Section], ...]
    """what is asked, and what must come out"""


def sections(text: str) -> Iterator[Section]:
    word, start, lines = "", 0, []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("%"):
            continue
        if line[0].isspace():
            assert word, f"line {number}: a line before any section"
            lines.append(line.strip())
        else:
            if word:
                yield Section(word, start, tuple(lines))
            word, start, lines = line.split()[0], number, []
            assert word in (*WORLD, *QUESTIONS, *OUTCOMES), f"line {number}: no section is called {word!r}"
    yield Section(word, start, tuple(lines))


def read(text: str) -> GoldenCase:
    world: dict[str, list[str]] = {word: [] for word in WORLD}
    questions = []
    asked = None
    for section in sections(text):
        if section.word in WORLD:
            world[section.word] += section.lines
        elif section.word in QUESTIONS:
            assert asked is None, f"line {section.line}: the question before has no outcome"
            asked = section
        else:
            assert asked is not None, f"line {section.line}: nothing was asked"
            questions.append((asked, section))
            asked = None
    assert asked is None and questions, "the last question has no outcome"
    return GoldenCase(database_of(**world), tuple(questions))


def database_of(
    predicates: list[str], numeric: list[str], constants: list[str], facts: list[str]
) -> Database:
    schema = Schema(
        dict(map(parse_fact, predicates)), {name: kind for name, (kind,) in map(parse_fact, numeric)}
    )
    ranges: dict[str, list[str]] = {}
    for type_name, (name,) in map(parse_fact, constants):
        ranges.setdefault(type_name, []).append(name)
    rows: dict[str, list[tuple[str, ...]]] = {}
    times: dict[str, list[float]] = {}
    for line in facts:
        text, _, time = re.sub(r"\s%.*", "", line).partition(" @ ")
        predicate, names = parse_fact(text)
        rows.setdefault(predicate, []).append(names)
        if time:
            times.setdefault(predicate, []).append(float(read_times([time.strip()])[0]))
    columns = {predicate: list(zip(*names, strict=True)) for predicate, names in rows.items()}
    return build(schema, (), columns, ranges=ranges, times=times)


def problem(asked: Section, schema: Schema) -> str:
    """The error that reading the text gives."""
    read_text = {"clause": lambda text: parse_clause(text, schema), "fact": parse_fact, "mode": parse_mode}
    try:
        return f"no error: {read_text[asked.word](asked.text())}"
    except HornbeamError as error:
        return f"{type(error).__name__}: {error}"


def count(engine: type[Engine], database: Database, asked: Section, keys: Codes) -> Counts | Skipped:
    (counts,) = counter_of(engine(database)).count([parse_clause(asked.text(), database.schema)], keys)
    return counts


def check(engine: type[Engine], database: Database, asked: Section, expected: Section) -> None:
    if expected.word == "error":
        assert problem(asked, database.schema) == expected.text()
    elif expected.word == "refused":
        head = parse_clause(asked.text(), database.schema).head
        found = count(engine, database, asked, np.zeros((1, len(head.args)), dtype=np.int32))
        assert isinstance(found, Skipped) and expected.text() in found.reason
    else:
        rows = [re.sub(r"\s%.*", "", line).rsplit(maxsplit=2) for line in expected.lines]
        examples = [atom.partition(" @ ") for atom, _, _ in rows]
        atoms = [parse_fact(atom) for atom, _, _ in examples]
        names = np.array([atom.args for atom in atoms], dtype=object)
        if examples[0][1]:
            names = np.column_stack([names, np.array([cutoff for _, _, cutoff in examples], dtype=object)])
        found = count(engine, database, asked, database.encode_keys(atoms[0].predicate, names))
        assert isinstance(found, Counts), found
        counted = zip(rows, found.true.tolist(), strict=True)
        assert [[row[0], str(true), str(found.total - true)] for row, true in counted] == rows


@both_counters
@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_case(path: Path, engine: type[Engine]) -> None:
    case = read(path.read_text(encoding="utf-8"))
    for asked, expected in case.questions:
        try:
            check(engine, case.database, asked, expected)
        except AssertionError as failure:
            failure.add_note(f"{path.name}:{asked.line}: {asked.text()}")
            raise
