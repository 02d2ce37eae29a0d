"""What a user states about tables: ``schema.toml``, or the same as a dict.

One section per table. Every line is optional: what is not stated comes from the catalogue of the
database or is inferred::

    [ratings]
    file = "u.data"                                      # the name of the file, if not ratings.csv
    separator = "\\t"
    encoding = "latin-1"
    columns = ["user_id", "movie_id", "rating", "at"]    # the file has no header
    missing = ["old"]                                    # further words for a missing value; [] for none
    joined = { user_at = ["user_id", "at"] }             # a column that is made of several others
    key = "rating_id"                                    # false: no column is the key; a list joins columns
    name = "title"                                       # what people call a row; it is only shown
    labels = { 1 = "Rock" }                              # what people call the row with this key
    words = "line"                                       # what a row is, in sentences
    links = { user_id = "users", movie_id = "movies" }   # columns that hold keys of other tables
    arguments = ["user_id", "movie_id"]                  # the order of the links of a link table
    time = "at"                                          # the time of a row; false: known from the start
    time_of = ["order_id"]                               # links: a row has the time of these rows
    known = ["due"]                                      # dates that are known ahead
    roles = { rating = "category" }                      # flag category number date unused
    unused = ["comment"]
    dates = { born = "%d.%m.%Y" }                        # how dates that are not ISO are written
    fold = ["user_id"]                                   # spaces around values and capitals do not count
    rows = true                                          # each row is a thing of its own
    use = false                                          # leave the table out
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import cast

from hornbeam.errors import OptionError, ParseError, Place, SchemaError, did_you_mean
from hornbeam.loading.files import read_text
from hornbeam.loading.tables.columns.cells import EMPTY_WORDS
from hornbeam.logic.english.nouns import plain_name, singular_of

_SETTINGS = (
    *("file", "separator", "encoding", "columns", "missing", "dates"),
    *(
        "joined",
        "key",
        "name",
        "labels",
        "words",
        "links",
        "arguments",
        "time",
        "time_of",
        "known",
        "roles",
        "unused",
        "fold",
        "rows",
        "use",
    ),
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
    missing: tuple[str, ...] | None = None
    """further words that stand for a missing value; empty if no word does, only empty text"""

    @property
    def empty_words(self) -> tuple[str, ...]:
        """The words that are missing values in every column."""
        return () if self.missing == () else (*EMPTY_WORDS, *(self.missing or ()))

    @property
    def reads_words(self) -> bool:
        """Whether words such as NA are missing values, by the rule of ``cells``."""
        return self.missing != ()


@dataclass(frozen=True, slots=True)
class Statement:
    """What is stated about one table; None or empty where nothing is stated."""

    file: str | None = None
    form: TextForm = field(default_factory=TextForm)
    joined: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """columns that are made of several others, by name"""
    key: str | None = None
    """the key column; empty text if the table has no key"""
    name: str | None = None
    """the column with display names of the rows"""
    labels: Mapping[str, str] = field(default_factory=dict)
    """display names of single rows, by key; they count more than the column"""
    words: str | None = None
    """what a row is, in the singular"""
    links: Mapping[str, str] | None = None
    """the linked table by column"""
    arguments: tuple[str, ...] = ()
    """the linking columns in the order of arguments; by default, the order of the columns"""
    time: str | None = None
    """the column with the time of a row; empty text if all rows are known from the start"""
    time_of: tuple[str, ...] = ()
    """linking columns: a row has the time of the rows that it links to, the latest of them"""
    known: tuple[str, ...] = ()
    """columns of dates that are known ahead, before the day that they name"""
    roles: Mapping[str, Role] = field(default_factory=dict)
    dates: Mapping[str, str] = field(default_factory=dict)
    fold: tuple[str, ...] = ()
    """columns in which spaces around values and capital letters do not count"""
    rows: bool | None = None
    use: bool = True

    def unused(self) -> frozenset[str]:
        """Columns that give no predicate."""
        return frozenset(column for column, role in self.roles.items() if role is Role.UNUSED)

    def parts(self) -> frozenset[str]:
        """Columns of which others are made."""
        return frozenset(part for parts in self.joined.values() for part in parts)

    def unread(self, table: str) -> frozenset[str]:
        """Columns that need not be read: unused ones that cannot hold display names and are not joined."""
        return frozenset(
            column
            for column in self.unused() - self.parts()
            if column != self.name and not (self.name is None and looks_like_name(column, table))
        )


def joined_name(columns: Sequence[str]) -> str:
    """The name of a column that is made of several.

    >>> joined_name(["year", "team"])
    'year_team'
    """
    return "_".join(columns)


def _are_columns(value: object) -> bool:
    """Whether this is a list of different names of columns."""
    named = isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(e, str) for e in value)
    return named and len(set(cast("Sequence[str]", value))) == len(cast("Sequence[str]", value))


def looks_like_name(column: str, table: str) -> bool:
    """Whether a column may hold what people call the rows of a table.

    >>> [looks_like_name(column, "movies") for column in ("Title", "movie_name", "MovieName", "url")]
    [True, True, True, False]
    """
    first, _, last = plain_name(column).lower().rpartition(" ")
    several = plain_name(table).lower()
    return last in _NAMES and first in ("", "full", "display", "company", singular_of(several), several)


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
        "columns": list(form.columns) or None,
        "missing": None if form.missing is None else list(form.missing),
        "dates": dict(statement.dates),
        "fold": list(statement.fold) or None,
    }
    # An empty list of missing words says something.
    return {word: value for word, value in settings.items() if value or value == []}


def with_files_of(stated: Statements, files: Statements) -> dict[str, Statement]:
    """The statements about tables, with the settings of their files taken from other statements."""
    merged = dict(files)
    for table, statement in stated.items():
        # The file is never taken from ``stated``: a model must not name a file outside the data.
        of_file = files.get(table, Statement())
        form = of_file.form
        if form.missing is None:
            form = replace(form, missing=statement.form.missing)
        merged[table] = replace(statement, file=of_file.file, form=form, dates=of_file.dates)
    return merged


def with_missing(
    stated: Statements, tables: Iterable[str], words: Sequence[str] | None
) -> dict[str, Statement]:
    """The statements with further words for missing values in all tables; ``none`` says that no word is one.

    >>> with_missing({}, ["users"], ["old"])["users"].form.missing
    ('old',)
    """
    if words is None:
        return dict(stated)
    is_none = list(words) == ["none"]
    if "none" in words and not is_none:
        raise OptionError("missing=none is refused beside other words: it says that no word is missing.")
    more = {}
    for table in tables:
        statement = stated.get(table, Statement())
        of_table = statement.form.missing
        # What a table states about itself counts more than what is stated for all.
        if of_table is None or (of_table and not is_none):
            missing = () if is_none else tuple(dict.fromkeys([*(of_table or ()), *words]))
            more[table] = replace(statement, form=replace(statement.form, missing=missing))
    return {**stated, **more}


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
            missing=self._texts("missing") if "missing" in self._section else None,
        )
        roles = {column: self._role(column, word) for column, word in self._mapping("roles").items()}
        roles |= dict.fromkeys(self._texts("unused"), Role.UNUSED)
        joined = self._joined()
        if isinstance(self._section.get("key"), list | tuple):
            columns = self._texts("key")
            if not columns:
                raise self._wrong("key", "a column, a list of columns, or false")
            key: str | None = joined_name(columns)
            joined |= {joined_name(columns): columns}
        else:
            key = "" if self._section.get("key") is False else self._text("key")
        time = "" if self._section.get("time") is False else self._text("time")
        time_of = self._texts("time_of")
        if time_of and time is not None:
            raise self._wrong("time", "left out, because time_of is stated")
        links = self._mapping("links") if "links" in self._section else None
        return Statement(
            file=self._text("file"),
            form=form,
            joined=joined,
            key=key,
            name=self._text("name"),
            labels=self._labels(),
            words=self._text("words"),
            links=links,
            arguments=self._texts("arguments"),
            time=time,
            time_of=time_of,
            known=self._texts("known"),
            roles=roles,
            dates=self._mapping("dates"),
            fold=self._texts("fold"),
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

    def _joined(self) -> dict[str, tuple[str, ...]]:
        value = self._section.get("joined", {})
        if not isinstance(value, Mapping) or not all(map(_are_columns, value.values())):
            raise self._wrong("joined", "pairs of a new column and a list of columns")
        return {name: tuple(parts) for name, parts in value.items()}

    def _labels(self) -> dict[str, str]:
        value = self._section.get("labels", {})
        if not isinstance(value, Mapping) or not all(
            isinstance(each, str) and each for each in value.values()
        ):
            raise self._wrong("labels", "pairs of a key and a text")
        return {str(key): label for key, label in value.items()}

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
        for name, parts in statement.joined.items():
            if name in tables[table]:
                raise SchemaError(
                    f'[{table}] joined: there is a column "{name}" already; give the new one another name.',
                    place,
                )
            for part in parts:
                if part not in tables[table]:
                    hint = did_you_mean(part, tables[table], "Columns")
                    raise SchemaError(f'[{table}] no column "{part}" to join. {hint}', place)
        columns = [*tables[table], *statement.joined]
        named = [*statement.roles, *statement.dates, *(statement.links or ()), *statement.arguments]
        named += [*statement.time_of, *statement.known, *statement.fold]
        for column in [*named, *filter(None, (statement.key, statement.name, statement.time))]:
            if column not in columns and statement.roles.get(column) is not Role.UNUSED:
                hint = did_you_mean(column, columns, "Columns")
                linked = stated.get((statement.links or {}).get(column, ""), Statement())
                if linked.key is not None and linked.key in linked.joined:
                    words = ", ".join(f'"{part}"' for part in linked.joined[linked.key])
                    hint += f" A key of several columns is linked by joined = {{ {column} = [{words}] }}."
                raise SchemaError(f'[{table}] has no column "{column}". {hint}', place)
        for column, other in (statement.links or {}).items():
            if other not in tables:
                hint = did_you_mean(other, tables, "Tables")
                raise SchemaError(
                    f'[{table}] links: "{column}" names "{other}", which is not a table. {hint}', place
                )
