"""Arguments and options that verbs share, and the reading of sizes and durations."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from hornbeam.errors import OptionError

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Folder of facts and examples, folder of tables (CSV, Parquet), DuckDB or SQLite file, "
        "PostgreSQL connection string, or catalog:SCHEMA of Spark.",
    ),
]
SchemaFile = Annotated[
    Path | None,
    typer.Option("--schema", metavar="FILE", help="What the tables are (default: schema.toml in DATA)."),
]
ExamplesFile = Annotated[
    Path | None,
    typer.Option("--examples", metavar="FILE", help="CSV or Parquet: keys, optionally label and cutoff."),
]
Negatives = Annotated[
    str | None,
    typer.Option(
        "--negatives", metavar="all|RATIO", help="Of a link table: all other pairs, or so many per link."
    ),
]
Dangling = Annotated[
    str, typer.Option("--dangling", metavar="error|drop|keep", help="Links to keys that are not there.")
]
ModelFile = Annotated[Path, typer.Option("--model", metavar="FILE", help="Model file (JSON).")]
Split = Annotated[str | None, typer.Option("--split", metavar="SPLIT", help="Which split of the data.")]
EngineName = Annotated[
    str,
    typer.Option("--engine", metavar="ENGINE", help="What counts: memory, duckdb, postgres, spark, naive."),
]
Scratch = Annotated[
    str | None,
    typer.Option(
        "--scratch", metavar="PLACE", help="Folder for what DuckDB spills; schema for tables in PostgreSQL."
    ),
]
Master = Annotated[
    str | None, typer.Option("--master", metavar="MASTER", help="Of Spark, such as yarn (default: local).")
]
Memory = Annotated[
    str, typer.Option("--memory", metavar="SIZE", help="Budget for partial results: 500MB, 2GB.")
]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write CSV there, not to stdout.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def read_size(text: str) -> int:
    """Bytes from a size: ``500MB``, ``2GB`` (thousands), ``2GiB`` (1024s), or a bare number.

    >>> read_size("2GB"), read_size("1.5 kib"), read_size("10")
    (2000000000, 1536, 10)
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(i?)b?", text.strip().lower())
    size = 0
    if match and (match[2] or not match[3]):
        size = int(float(match[1]) * (_BINARY if match[3] else _UNITS)[match[2]])
    if size < 1:
        raise OptionError(f"--memory {text} is refused: it must be a size such as 500MB or 2GB.")
    return size


def read_duration(text: str) -> float:
    """Seconds from a duration: ``90``, ``90s``, ``10m``, ``1.5h``, ``1h30m``.

    >>> read_duration("10m"), read_duration("1h30m"), read_duration("0.5")
    (600.0, 5400.0, 0.5)
    """
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)\s*([smhd]?)\s*", text.strip().lower())
    if not parts or "".join("".join(part) for part in parts) != re.sub(r"\s", "", text.lower()):
        raise OptionError(f"--time {text} is refused: it must be a duration such as 30s, 10m or 2h.")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)
