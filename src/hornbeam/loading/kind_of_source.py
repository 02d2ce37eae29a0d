"""What kind of data a source is: the one place that looks at names, file endings and first bytes.

A source is what a user passes to ``load`` or names on the command line. Facts are recognised by the
names of their files (see ``facts.layout``), database files by their first bytes, other files by their
endings.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from hornbeam.errors import DataError, OptionError
from hornbeam.loading.files import entries, is_file, is_folder, reason

Source = str | os.PathLike[str] | Mapping[str, Any]
"""A folder, a file, a connection string, or data frames by table name."""

DEFAULT_SPLIT = "train"
"""The split of a folder of facts that is read unless another one is named."""

FACT_FILES = ("facts", "pos", "neg")
"""Names of the files of a data set of facts, without prefix and ``.txt``."""
SCHEMA_FILE = "schema.toml"
CATALOGUE = "catalog:"
"""The prefix of a source that names a schema of Spark's catalogue."""
_TEXT_ENDINGS = (".csv", ".tsv")
_PARQUET_ENDINGS = (".parquet", ".pq")


class SourceKind(Enum):
    """What a source is."""

    FACTS = "a folder of facts"
    FRAMES = "data frames"
    TABLE_FOLDER = "a folder of tables"
    TEXT_FILE = "a file of delimited text"
    PARQUET_FILE = "a Parquet file"
    DUCKDB_FILE = "a DuckDB file"
    SQLITE_FILE = "a SQLite file"
    OTHER_FILE = "a file of no known kind"
    POSTGRES = "a PostgreSQL server"
    SPARK_CATALOGUE = "a schema of Spark's catalogue"
    NOTHING = "nothing that holds data"
    """no such path, or a folder without facts and tables"""

    @property
    def is_file(self) -> bool:
        """Whether it is one file."""
        return self in _FILES

    @property
    def holds_tables(self) -> bool:
        """Whether ``load`` reads it as tables; a file of no known kind is refused there."""
        return self in (SourceKind.FRAMES, SourceKind.TABLE_FOLDER, SourceKind.POSTGRES, *_FILES)


_FILES = (
    SourceKind.TEXT_FILE,
    SourceKind.PARQUET_FILE,
    SourceKind.DUCKDB_FILE,
    SourceKind.SQLITE_FILE,
    SourceKind.OTHER_FILE,
)


def kind_of_source(source: object, has_schema: bool = False) -> SourceKind:
    """The kind of a source. With ``has_schema``, a schema was given, so that any folder is one of tables.

    >>> kind_of_source("postgresql://localhost/shop").value
    'a PostgreSQL server'
    """
    if isinstance(source, Mapping):
        return SourceKind.FRAMES
    if not isinstance(source, str | os.PathLike):
        raise OptionError(
            f"load does not take a {type(source).__name__}: name a folder, a file or a connection string, or "
            'give tables by their names, such as {"users": frame}.'
        )
    path = Path(source)
    if holds_facts(path, has_schema):
        return SourceKind.FACTS
    if is_connection(source):
        return SourceKind.POSTGRES
    if is_file(path):
        return _kind_of_file(path)
    if is_file(path / SCHEMA_FILE) or table_files_in(path) or (has_schema and is_folder(path)):
        return SourceKind.TABLE_FOLDER
    if isinstance(source, str) and source.startswith(CATALOGUE):
        return SourceKind.SPARK_CATALOGUE
    scheme = other_address(source)
    if scheme is not None:
        # The address may hold a password, so it is not shown.
        raise DataError(
            f"data cannot be read from a {scheme}:// address; name a folder, a file, or a PostgreSQL server "
            f"as {FORM}."
        )
    return SourceKind.NOTHING


# --- folders ---------------------------------------------------------------------------------


def holds_facts(folder: Path, has_schema: bool = False) -> bool:
    """Whether a folder holds files of facts or examples, and no schema says that it holds tables."""
    if has_schema or is_there(folder / SCHEMA_FILE):
        return False
    return any(is_there(folder / f"{kind}.txt") for kind in FACT_FILES) or bool(splits_in(folder))


def splits_in(folder: Path) -> list[str]:
    """Names of the sub-folders that hold the files of a split in BoostSRL layout, sorted."""
    names = [entry.name for entry in entries(folder) if entry.is_dir()]
    return [
        name for name in names if any(is_there(folder / name / f"{name}_{kind}.txt") for kind in FACT_FILES)
    ]


def is_there(path: Path) -> bool:
    """Whether a folder has an entry of this name; a link that leads nowhere counts.

    Reading such a link then reports what is wrong with it.
    """
    return os.path.lexists(path)


def table_files_in(folder: Path) -> list[Path]:
    """The files of a folder whose names say that they hold a table, sorted."""
    return [path for path in entries(folder) if _kind_by_name(path) is not None]


# --- files -----------------------------------------------------------------------------------


def kind_of_table_file(path: Path) -> SourceKind:
    """Parquet or delimited text, by the file's name: a name without a known ending is text."""
    return _kind_by_name(path) or SourceKind.TEXT_FILE


def table_name(path: Path) -> str:
    """The table that a file holds: its name without the ending.

    >>> table_name(Path("data/ratings.v2.CSV"))
    'ratings.v2'
    """
    return path.name if _kind_by_name(path) is None else path.name.rpartition(".")[0]


def _kind_by_name(path: Path) -> SourceKind | None:
    name = path.name.lower()
    if name.endswith(_PARQUET_ENDINGS):
        return SourceKind.PARQUET_FILE
    return SourceKind.TEXT_FILE if name.endswith(_TEXT_ENDINGS) else None


def _kind_of_file(path: Path) -> SourceKind:
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as error:
        raise DataError(f'cannot read "{path}": {reason(error)}; name a file that can be read.') from None
    if start == b"SQLite format 3\0":
        return SourceKind.SQLITE_FILE
    if start[8:12] == b"DUCK":
        return SourceKind.DUCKDB_FILE
    return _kind_by_name(path) or SourceKind.OTHER_FILE


_URL = re.compile(r"(?P<scheme>[a-z][\w.-]*)(\+[\w.-]*)?://(?P<rest>.*)", re.DOTALL | re.IGNORECASE)
_PAIRS = re.compile(r"(\w+\s*=.*\s)?(host|dbname|service|hostaddr|password)\s*=.*", re.DOTALL | re.IGNORECASE)
_POSTGRES = re.compile(r"(jdbc:)?postgres(ql)?(:|\+\w).*", re.DOTALL | re.IGNORECASE)
"""An address of PostgreSQL, perhaps misspelt; not the folder ``postgres/data``."""
_PORTS = re.compile(r"(\[[^]]*\]|[^:,]*)(:\d*)?(,(\[[^]]*\]|[^:,]*)(:\d*)?)*")
FORM = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"


def is_connection(source: object) -> bool:
    """Whether a source is a connection string of PostgreSQL, well written or not.

    >>> [is_connection(each) for each in ("postgresql://localhost/shop", "dbname=shop user=ann", "data")]
    [True, True, False]
    """
    if not isinstance(source, str):
        return False
    text = source.strip()
    if _POSTGRES.fullmatch(text):
        return True
    return not _URL.fullmatch(text) and _PAIRS.fullmatch(text) is not None


def other_address(source: object) -> str | None:
    """The scheme of a source that is the address of something else than PostgreSQL.

    >>> other_address("mysql://ann:secret@localhost/shop")
    'mysql'
    """
    url = _URL.fullmatch(source.strip()) if isinstance(source, str) else None
    return None if url is None or is_connection(source) else url["scheme"]


def connection_string(source: str) -> str:
    """A connection string in the form that the driver reads.

    SQLAlchemy's name of a driver is left out. A password with a character that ends it is an error: the
    driver would take the rest of the password for a host and show it.

    >>> connection_string(" PostgreSQL+psycopg://localhost/shop")
    'postgresql://localhost/shop'
    """
    text = source.strip()
    url = _URL.fullmatch(text)
    if url is None:
        if _POSTGRES.fullmatch(text):
            raise unreadable()
        return text
    server, _, database = url["rest"].partition("/")
    names, _, hosts = server.rpartition("@")
    if "@" in names or "@" in database.partition("?")[0] or not _PORTS.fullmatch(hosts.partition("?")[0]):
        raise unreadable()
    return f"postgresql://{url['rest']}"


def unreadable() -> DataError:
    """The error for a connection string that cannot be read; it shows nothing, for it may hold a password."""
    return DataError(
        f"the connection string of PostgreSQL cannot be read; write it as {FORM}, with %40 for @, %2F for / "
        "and %3A for : inside a name or password."
    )
