"""What a user states about tables: ``schema.toml``, or the same as a dict.

One section per table. Every line is optional: what is not stated comes from the catalogue of the
database or is inferred::

    [ratings]
    file = "u.data"                                      # the name of the file, if not ratings.csv
    separator = "\\t"
    encoding = "latin-1"
    columns = ["user_id", "movie_id", "rating", "at"]    # the file has no header
    missing = ["n/a"]                                    # words that stand for a missing value
    key = "rating_id"                                    # false: no column is the key
    name = "title"                                       # what people call a row; it is only shown
    links = { user_id = "users", movie_id = "movies" }   # columns that hold keys of other tables
    arguments = ["user_id", "movie_id"]                  # the order of the links of a link table
    time = "at"                                          # the time of a row
    roles = { rating = "category" }                      # flag category number date unused
    unused = ["comment"]
    dates = { born = "%d.%m.%Y" }                        # how dates that are not ISO are written
    rows = true                                          # each row is a thing of its own
    use = false                                          # leave the table out
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from hornbeam.errors import ParseError, Place, SchemaError, did_you_mean
from hornbeam.loading.files import read_text

_SETTINGS = (
    *("file", "separator", "encoding", "columns", "missing", "dates"),
    *("key", "name", "links", "arguments", "time", "roles", "unused", "rows", "use"),
)


_NAMES = ("name", "title", "label")
"""Words for columns of display names."""


class Role(Enum):
    """What a column is for."""

    KEY = "key"
    LINK = "link"
    """holds keys of another table"""
    FLAG = "flag"
    CATEGORY = "category"
    NUMBER = "number"
    DATE = "date"
    TIME = "time"
    """the time of a row: it gives no predicate, but is compared with cut-offs"""
    UNUSED = "unused"
    LABEL = "label"
    """the target: it gives no predicate"""


_STATED_ROLES = {role.value: role for role in (Role.FLAG, Role.CATEGORY, Role.NUMBER, Role.DATE, Role.UNUSED)}


@dataclass(frozen=True, slots=True)
class TextForm:
    """How a text file is written; a separator of None is detected in the first row."""

    separator: str | None = None
    encoding: str = "utf-8"
    columns: tuple[str, ...] = ()
    """names of the columns of a file without a header"""
    missing: tuple[str, ...] = ()
    """words that stand for a missing value; empty text always does"""


@dataclass(frozen=True, slots=True)
class Statement:
    """What is stated about one table; None or empty where nothing is stated."""

    file: str | None = None
    form: TextForm = field(default_factory=TextForm)
    key: str | None = None
    """the key column; empty text if the table has no key"""
    name: str | None = None
    """the column with display names of the rows"""
    links: Mapping[str, str] | None = None
    """the linked table by column"""
    arguments: tuple[str, ...] = ()
    """the linking columns in the order of arguments; by default, the order of the columns"""
    time: str | None = None
    roles: Mapping[str, Role] = field(default_factory=dict)
    dates: Mapping[str, str] = field(default_factory=dict)
    rows: bool | None = None
    use: bool = True

    def unused(self) -> frozenset[str]:
        """Columns that give no predicate."""
        return frozenset(column for column, role in self.roles.items() if role is Role.UNUSED)

    def unread(self, table: str) -> frozenset[str]:
        """Columns that need not be read: unused ones that cannot hold display names."""
        return frozenset(
            column
            for column in self.unused()
            if column != self.name and not (self.name is None and looks_like_name(column, table))
        )


def looks_like_name(column: str, table: str) -> bool:
    """Whether a column may hold what people call the rows of a table.

    >>> [looks_like_name(column, "movies") for column in ("Title", "movie_name", "url")]
    [True, True, False]
    """
    words = column.lower().replace(" ", "_").split("_")
    own = table.lower().rstrip("s")
    return words[-1] in _NAMES and (len(words) == 1 or words[0] in ("full", "display", own, table.lower()))


Statements = Mapping[str, Statement]
Document = Mapping[str, object]


def read_schema_file(path: Path) -> dict[str, Statement]:
    """The statements of a ``schema.toml``, by table; errors name the file."""
    text = read_text(path)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParseError(f"this is not TOML: {error}.", Place(str(path))) from None
    except RecursionError:
        raise ParseError(
            "values are nested too deeply; no setting needs more than a table of lists.", Place(str(path))
        ) from None
    return statements(document, Place(str(path)))


def statements(document: Document, place: Place) -> dict[str, Statement]:
    """The statements of a document in the shape of ``schema.toml``.

    >>> statements({"users": {"key": "id"}}, Place("schema"))["users"].key
    'id'
    """
    by_table = {}
    for table, section in document.items():
        if not isinstance(section, Mapping):
            raise SchemaError(
                f'"{table}" must be a section: write [{table}] and its settings below it.', place
            )
        by_table[table] = _SchemaReader(table, section, place).statement()
    return by_table


def file_settings(statement: Statement) -> dict[str, object]:
    """What is stated about the file of a table, in the words of ``schema.toml``."""
    form = statement.form
    settings: dict[str, object] = {
        "file": statement.file,
        "separator": form.separator,
        "encoding": form.encoding if form.encoding != TextForm().encoding else None,
        "columns": list(form.columns),
        "missing": list(form.missing),
        "dates": dict(statement.dates),
    }
    return {word: value for word, value in settings.items() if value}


def with_files_of(stated: Statements, files: Statements) -> dict[str, Statement]:
    """The statements about tables, with the settings of their files taken from other statements."""
    merged = dict(files)
    for table, statement in stated.items():
        # The file is never taken from ``stated``: a model must not name a file outside the data.
        of_file = files.get(table, Statement())
        merged[table] = replace(statement, file=of_file.file, form=of_file.form, dates=of_file.dates)
    return merged


class _SchemaReader:
    """Reads one section and checks each of its lines."""

    def __init__(self, table: str, section: Document, place: Place) -> None:
        self._table = table
        self._section = section
        self._place = place

    def statement(self) -> Statement:
        for word in self._section:
            if word not in _SETTINGS:
                raise SchemaError(
                    f'[{self._table}] has no setting "{word}". {did_you_mean(word, _SETTINGS, "Settings")}',
                    self._place,
                )
        form = TextForm(
            separator=self._separator(),
            encoding=self._text("encoding") or "utf-8",
            columns=self._texts("columns"),
            missing=self._texts("missing"),
        )
        roles = {column: self._role(column, word) for column, word in self._mapping("roles").items()}
        roles |= dict.fromkeys(self._texts("unused"), Role.UNUSED)
        key = "" if self._section.get("key") is False else self._text("key")
        links = self._mapping("links") if "links" in self._section else None
        return Statement(
            file=self._text("file"),
            form=form,
            key=key,
            name=self._text("name"),
            links=links,
            arguments=self._texts("arguments"),
            time=self._text("time"),
            roles=roles,
            dates=self._mapping("dates"),
            rows=self._truth("rows"),
            use=self._truth("use") is not False,
        )

    def _wrong(self, word: str, expected: str) -> SchemaError:
        value = self._section[word]
        return SchemaError(f"[{self._table}] {word} must be {expected}, found {value!r}.", self._place)

    def _text(self, word: str) -> str | None:
        value = self._section.get(word)
        if value is None or (isinstance(value, str) and value):
            return value
        raise self._wrong(word, "a text")

    def _separator(self) -> str | None:
        value = self._text("separator")
        if value is not None and (len(value) != 1 or value in '"\r\n'):
            raise self._wrong("separator", "one character")
        return value

    def _texts(self, word: str) -> tuple[str, ...]:
        value = self._section.get(word, [])
        if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
            raise self._wrong(word, "a list of texts")
        if len(set(value)) < len(value):
            raise self._wrong(word, "a list without repetitions")
        return tuple(value)

    def _mapping(self, word: str) -> dict[str, str]:
        value = self._section.get(word, {})
        if not isinstance(value, Mapping) or not all(isinstance(each, str) for each in value.values()):
            raise self._wrong(word, "pairs of a column and a text")
        return dict(value)

    def _truth(self, word: str) -> bool | None:
        value = self._section.get(word)
        if value is None or isinstance(value, bool):
            return value
        raise self._wrong(word, "true or false")

    def _role(self, column: str, word: str) -> Role:
        if word not in _STATED_ROLES:
            hint = did_you_mean(word, _STATED_ROLES, "Roles")
            raise SchemaError(
                f'[{self._table}] roles: no role "{word}" (column "{column}"). {hint}', self._place
            )
        return _STATED_ROLES[word]


def check_statements(stated: Statements, tables: Mapping[str, Collection[str]], place: Place) -> None:
    """Refuse statements about tables and columns that the data do not have."""
    for table, statement in stated.items():
        if not statement.use:
            continue
        if table not in tables:
            raise SchemaError(f'no table "{table}". {did_you_mean(table, tables, "Tables")}', place)
        columns = tables[table]
        named = [*statement.roles, *statement.dates, *(statement.links or ()), *statement.arguments]
        for column in [*named, *filter(None, (statement.key, statement.name, statement.time))]:
            if column not in columns and statement.roles.get(column) is not Role.UNUSED:
                hint = did_you_mean(column, columns, "Columns")
                raise SchemaError(f'[{table}] has no column "{column}". {hint}', place)
        for column, other in (statement.links or {}).items():
            if other not in tables:
                hint = did_you_mean(other, tables, "Tables")
                raise SchemaError(
                    f'[{table}] links: "{column}" names "{other}", which is not a table. {hint}', place
                )
