"""Connection strings of PostgreSQL: which texts are meant as one, and what of them must not be shown."""

from __future__ import annotations

import re

from hornbeam.errors import DataError

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
