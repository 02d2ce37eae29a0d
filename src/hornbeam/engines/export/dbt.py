"""A scoring query as a model of dbt: ``ref()`` and ``source()`` name the tables, other text is literal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from hornbeam.engines.export.scoring import ScoringModel, scoring_query
from hornbeam.engines.sql.expressions import Dialect, SqlTable, own_column
from hornbeam.errors import OptionError

_MARK = "hornbeam_dbt_table"
"""How the names of tables begin until they are replaced."""


def dbt_query(
    model: ScoringModel,
    dialect: str,
    tables: Mapping[str, SqlTable],
    examples: SqlTable,
    source: str | None = None,
) -> str:
    """The query of ``scoring_query`` with a Jinja expression in the place of each table.

    A table is a ``ref()`` of its name, or a table of the source, if one is named. A table in a schema is a
    table of the source of that name.
    """
    names = list(dict.fromkeys(name for table in [examples, *tables.values()] for name in table.names()))
    mark = _MARK
    while mark in scoring_query(model, dialect, tables, examples):
        mark += "_"
    marked = {name: f"{mark}_{number}_" for number, name in enumerate(names)}
    renamed = {name: (word,) for name, word in marked.items()}
    joined: dict[tuple[str, ...], Mapping[str, Sequence[str]]]
    joined = {renamed[name]: columns for name, columns in model.joined.items() if name in renamed}
    query = scoring_query(
        replace(model, joined=joined),
        dialect,
        {key: table.renamed(renamed) for key, table in tables.items()},
        examples.renamed(renamed),
    )
    query = literal(query)
    for name, word in marked.items():
        identifier = SqlTable((word,), ()).item()
        query = query.replace(Dialect(dialect).text(identifier), relation_text(name, source))
    return query


def relation_text(name: Sequence[str], source: str | None = None) -> str:
    """The Jinja expression of a table.

    >>> relation_text(["orders"]), relation_text(["sales", "orders"])
    ("{{ ref('orders') }}", "{{ source('sales', 'orders') }}")
    """
    if len(name) > 2:
        raise OptionError(
            f'table "{".".join(name)}" is refused: dbt names a table by its source and its name; leave the '
            "database out."
        )
    parts = [*([source] if source and len(name) == 1 else []), *name]
    texts = ", ".join("'" + part.replace("\\", "\\\\").replace("'", "\\'") + "'" for part in parts)
    return f"{{{{ {'ref' if len(parts) == 1 else 'source'}({texts}) }}}}"


def literal(text: str) -> str:
    """Text that Jinja prints as it is.

    >>> literal("kind = '{{ this }}' -- {# not a comment #}")
    "kind = '{{ '{' }}{ this }}' -- {{ '{' }}# not a comment #}"
    """
    return re.sub(r"\{(?=[{%#])", "{{ '{' }}", text)


def whole_key(columns: Sequence[str], dialect: str) -> str:
    """An expression of several columns whose values differ if any of the columns differs."""
    parts: list[exp.Expr] = []
    for name in columns:
        value = exp.cast(exp.column(name, quoted=True), "TEXT")
        length = exp.cast(exp.Length(this=value.copy()), "TEXT")
        parts += [length, exp.Literal.string(":"), value]
    return Dialect(dialect).text(exp.Concat(expressions=parts, safe=False, coalesce=False))


def is_probability(dialect: str) -> str:
    """The condition that the column of probabilities has one."""
    value = own_column("probability")
    return Dialect(dialect).text(
        exp.Between(this=value, low=exp.Literal.number(0), high=exp.Literal.number(1))
    )
