"""The targets of fuzzing: every reader of text that may come from a stranger.

A target takes the bytes of a file. Whatever they are, reading succeeds or raises a ``HornbeamError`` of one
sentence. Fast readers must agree with the careful one, and printed modes, clauses, effects and models must
read back as themselves.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from hornbeam.errors import HornbeamError, Place
from hornbeam.loading.facts.background import background_of
from hornbeam.loading.facts.imports import FileRole, SourceFile
from hornbeam.loading.facts.reader import Contents, read_carefully, read_contents
from hornbeam.loading.files import read_text
from hornbeam.loading.tables.schema_file import check_statements, read_schema_file
from hornbeam.logic.canonical import canonical
from hornbeam.logic.english.clauses import text_of
from hornbeam.logic.english.curves import curve_table
from hornbeam.logic.english.effects import effect_sentence
from hornbeam.logic.parse import parse_clause, parse_mode
from hornbeam.logic.parse_effect import parse_effect
from hornbeam.logic.schema import DATE, NUMBER, Schema
from hornbeam.model.files import load_model, model_text, parse_model

Target = Callable[[bytes], None]

SCHEMA = Schema(
    {
        "cancer": ("person",),
        "friends": ("person", "person"),
        "smokes": ("person",),
        "age": ("person", "years"),
        "born": ("person", "day"),
    },
    {"years": NUMBER, "day": DATE},
)
TABLES = {"users": ["id", "age", "gender"], "ratings": ["user_id", "movie_id", "rating", "at"]}
MOST_LITERALS = 6
"""Longer bodies are not put into canonical form: that takes long for many similar literals, as documented."""
_folder = tempfile.TemporaryDirectory(prefix="hornbeam-fuzz-")
_file = Path(_folder.name) / "input"


def _written(data: bytes) -> Path:
    _file.write_bytes(data)
    return _file


def facts(data: bytes) -> None:
    """A file of facts or examples: the fast readers give the same result as the careful one."""
    path = _written(data)
    fast = _content(path, careful=False)
    assert fast == _content(path, careful=True), "fast and careful readers differ"


def modes(data: bytes) -> None:
    """A background file, and a mode by itself: a printed mode is the same mode."""
    path = _written(data)
    contents = _read(path, careful=False, bare_modes=True)
    if isinstance(contents, Contents):
        try:
            found = background_of([SourceFile(FileRole.BACKGROUND, contents)])
        except HornbeamError as error:
            _one_sentence(error)
        else:
            for mode in found.modes:
                assert parse_mode(str(mode)) == mode, mode


def clauses(data: bytes) -> None:
    """A clause, with a schema and without: a printed clause is the same clause."""
    text = data.decode("utf-8", "replace")
    for schema in (None, SCHEMA):
        try:
            clause = parse_clause(text, schema)
        except HornbeamError as error:
            _one_sentence(error)
            continue
        assert parse_clause(str(clause), schema) == clause, clause
        if len(clause.body) <= MOST_LITERALS:
            smallest = canonical(clause)
            assert canonical(parse_clause(str(smallest), schema)) == smallest, smallest


def effects(data: bytes) -> None:
    """An effect, with a schema and without: the text of a printed effect is the same text."""
    text = data.decode("utf-8", "replace")
    for schema in (None, SCHEMA):
        try:
            effect = parse_effect(text, schema)
        except HornbeamError as error:
            _one_sentence(error)
            continue
        assert str(parse_effect(str(effect), schema)) == str(effect), effect
        assert curve_table(effect.curve, effect.feature)
        if schema is not None:
            assert text_of(effect_sentence(effect, schema)).endswith(".")


def models(data: bytes) -> None:
    """A model file of any learner: what is read can be shown and written, and reads back as itself."""
    try:
        model = load_model(_written(data))
    except HornbeamError as error:
        _one_sentence(error)
        return
    text = model_text(model)
    assert model_text(parse_model(text)) == text
    assert str(model) and model.size_text and model.predicates() is not None


def schemas(data: bytes) -> None:
    """A ``schema.toml``, by itself and beside tables."""
    try:
        stated = read_schema_file(_written(data))
        check_statements(stated, TABLES, Place("schema.toml"))
    except HornbeamError as error:
        _one_sentence(error)


TARGETS: dict[str, Target] = {
    each.__name__: each for each in (facts, modes, clauses, effects, models, schemas)
}


def _content(path: Path, careful: bool) -> object:
    """The content of a file of facts, to compare: its facts by predicate in order, its other statements."""
    contents = _read(path, careful, bare_modes=False)
    if not isinstance(contents, Contents):
        return contents
    rows = {
        signature: [[column.names[code] for code in column.codes] for column in columns]
        for signature, columns in contents.facts.items()
    }
    return rows, contents.others


def _read(path: Path, careful: bool, bare_modes: bool) -> Contents | str:
    """The contents of a file, or the sentence that says why it cannot be read."""
    reader = read_carefully if careful else read_contents
    try:
        return reader(path, read_text(path), bare_modes)
    except HornbeamError as error:
        return _one_sentence(error)


def _one_sentence(error: HornbeamError) -> str:
    text = str(error)
    assert text.endswith((".", "?", ")")), text
    assert len(text) < 100_000, len(text)
    return text
