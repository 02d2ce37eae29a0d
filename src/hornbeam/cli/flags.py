"""Arguments and flags that several verbs share, alone and in groups.

A verb takes a group as one parameter; ``hornbeam.cli.command`` turns each field into a flag.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Self

import typer

from hornbeam.cli.command import looks_like_target
from hornbeam.errors import OptionError

DATA, OUTPUT, LEARNING, COUNTING = "Data", "Output", "Learning", "Counting"
"""Headings of the help."""

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A folder of facts and examples, a folder of tables (CSV or Parquet), a DuckDB or SQLite file, "
        "a PostgreSQL connection string, catalog:SCHEMA for Spark, or the name of a data set, such as uwcse "
        "or uwcse/fold3 (see hornbeam datasets list).",
    ),
]
Split = Annotated[
    str | None,
    typer.Option(
        "--split",
        metavar="SPLIT",
        help="Split to read from a folder of facts. Default: test if the command reads a model, else train.",
        rich_help_panel=DATA,
    ),
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        metavar="FILE",
        help="Keys, links and types of the tables. Default: schema.toml in DATA, else inferred.",
        rich_help_panel=DATA,
    ),
]
AllowOutside = Annotated[
    bool,
    typer.Option(
        "--allow-outside",
        help="Also read files that the data name outside DATA and the folder above it, and views of a DuckDB "
        "file that read other files. Only for data that you trust.",
        rich_help_panel=DATA,
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="WORD",
        help="For tables: a further word that stands for a missing value, besides words such as NA; may be "
        "given several times. none: no word does.",
        rich_help_panel=DATA,
    ),
]
AllViews = Annotated[
    bool,
    typer.Option(
        "--views",
        help="Also read all views of a database. Default: those that schema.toml names, or all if there is "
        "no table.",
        rich_help_panel=DATA,
    ),
]
TableTarget = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="NAME",
        help="For tables: what to learn, such as users.gender=F.",
        rich_help_panel=DATA,
    ),
]
ExamplesFile = Annotated[
    Path | None,
    typer.Option(
        "--examples",
        metavar="FILE",
        help="CSV or Parquet file of examples: their keys, and optionally the columns label and cutoff.",
        rich_help_panel=DATA,
    ),
]
AtCutoff = Annotated[
    str | None,
    typer.Option(
        "--at-cutoff",
        metavar="before|include",
        help="Whether a fact at the very time of a cut-off is ignored (before) or counts (include). "
        "Default: as for the model, else before.",
        rich_help_panel=DATA,
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="DATE",
        help="Freeze the data: ignore facts at or after this time, whatever the cut-offs.",
        rich_help_panel=DATA,
    ),
]
Negatives = Annotated[
    str | None,
    typer.Option(
        "--negatives",
        metavar="all|RATIO",
        help="For a link table: use all unlinked pairs as negatives, or sample this many per link.",
        rich_help_panel=DATA,
    ),
]
Dangling = Annotated[
    str | None,
    typer.Option(
        "--dangling",
        metavar="drop|error|keep",
        help="For tables: if a link names a key that does not exist, leave the link out, stop with an error, "
        "or keep it and add the key.  [default: drop, or error if most rows have such links]",
        rich_help_panel=DATA,
    ),
]
EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="Engine that counts: memory, duckdb, postgres, spark or naive. Default: memory, or duckdb for "
        "tables that do not fit the memory.",
        rich_help_panel=COUNTING,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory budget for partial results, such as 500MB (default: 2GB); if no engine is named, also "
        "for tables (default: half of the memory of the machine or container).",
        rich_help_panel=COUNTING,
    ),
]
Scratch = Annotated[
    str | None,
    typer.Option(
        "--scratch",
        metavar="PLACE",
        help="DuckDB: folder for data that exceed the budget. PostgreSQL: schema for temporary results.",
        rich_help_panel=COUNTING,
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="MASTER",
        help="Spark: the master, such as yarn. Default: local.",
        rich_help_panel=COUNTING,
    ),
]
EvidenceFile = Annotated[
    Path | None,
    typer.Option(
        "--evidence",
        metavar="FILE",
        help="For a joint model: CSV or Parquet file of known labels (keys and a column label; for several "
        "targets, also a column target). Default: the labels of training, if the facts are the same.",
        rich_help_panel=DATA,
    ),
]
_GivenModel = Annotated[
    Path | None, typer.Argument(metavar="MODEL", help="Model file (JSON).", show_default=False)
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file (JSON).")]
_ModelOption = Annotated[
    Path | None, typer.Option("--model", metavar="FILE", help="Model file (JSON); the same as MODEL.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="FILE", help="Write the result to this file, not to stdout.", rich_help_panel=OUTPUT
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel=OUTPUT)]


@dataclass(frozen=True, slots=True)
class ModelFlags:
    """The model to use: the argument after the data, or the option."""

    given_model: _GivenModel = None
    model: _ModelOption = None

    @property
    def path(self) -> Path:
        """The file of the model."""
        given = [path for path in (self.given_model, self.model) if path is not None]
        if len(given) != 1:
            problem = "no model is named" if not given else f"two models are named, {given[0]} and {given[1]}"
            raise OptionError(f"{problem}; name the file of one, such as model.json.")
        if looks_like_target(str(given[0])):
            raise OptionError(
                f'"{given[0]}" is no model file. A model knows its target; to learn one, run: '
                f"hornbeam fit DATA --target {given[0]} --model model.json"
            )
        return given[0]


@dataclass(frozen=True, slots=True)
class Source:
    """The data to read."""

    data: Data
    split: Split = None
    schema: SchemaFile = None
    allow_outside: AllowOutside = False
    missing: Missing = None
    views: AllViews = False

    def table_options(self) -> dict[str, Any]:
        """The flags that are options of ``load`` for tables."""
        return {
            each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("data", "split")
        }


@dataclass(frozen=True, slots=True)
class LinkedSource(Source):
    """The data to read, and what to do about links to missing keys."""

    dangling: Dangling = None


@dataclass(frozen=True, slots=True)
class ExampleSource(LinkedSource):
    """The data to read, with examples."""

    examples: ExamplesFile = None
    negatives: Negatives = None
    at_cutoff: AtCutoff = None
    as_of: AsOf = None


@dataclass(frozen=True, slots=True)
class Counting:
    """The engine that counts, and its budget."""

    engine: EngineName = None
    memory: Memory = None

    @property
    def engine_name(self) -> str:
        """The engine that is named, or the default; facts in place are counted where they are."""
        return self.engine or "memory"

    @property
    def stated(self) -> int | None:
        """The memory budget in bytes, if it is stated."""
        return None if self.memory is None else read_size(self.memory)

    @property
    def budget(self) -> int:
        """The memory budget for partial results in bytes."""
        return read_size(self.memory or "2GB")

    def loading(self, needed: bool = True) -> Self:
        """The same; if the data must be loaded, no engine is chosen by their size."""
        return replace(self, engine=self.engine_name) if needed else self

    def place(self) -> dict[str, str | None]:
        """Options of the engine that say where it works."""
        return {}


@dataclass(frozen=True, slots=True)
class CountingInPlace(Counting):
    """The engine and its budget, for verbs that can count tables in place."""

    scratch: Scratch = None
    master: Master = None

    def place(self) -> dict[str, str | None]:
        return {"scratch": self.scratch, "master": self.master}


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
