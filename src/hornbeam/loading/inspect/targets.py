"""What may be learned from tables: their flags, categories with few values, numbers and links."""

from __future__ import annotations

from hornbeam.errors import listed
from hornbeam.loading.inspect.findings import Inspection
from hornbeam.loading.tables.roles import Form
from hornbeam.loading.tables.schema_file import Role

FEWEST, MOST = 2, 20
"""A category is offered as a target if it has at least and at most so many values."""
SHOWN = 12
"""Maximum number of columns of a kind that are listed."""


def possible_targets(inspected: Inspection) -> str:
    """The columns and tables that may be a target, as a sentence for each kind.

    Categories come first, because a number may be a code, and of these flags, then those with fewest values.
    More than two values that have fewer than two rows each are names of rows, and no labels.
    """
    found: list[tuple[int, str]] = []
    numbers, links = [], []
    for table in inspected.tables:
        if table.form == Form.LINK.value:
            links.append(table.name)
            continue
        for column in table.columns:
            name = f"{table.name}.{column.name}"
            if column.role == Role.FLAG.value and column.n_values == FEWEST:
                found.append((0, f"{name} (yes or no)"))
            elif column.role == Role.CATEGORY.value and FEWEST <= column.n_values <= MOST:
                if column.n_values == FEWEST or 2 * column.n_values <= table.rows - column.n_missing:
                    found.append((column.n_values, f"{name} ({column.n_values} values)"))
            elif column.role == Role.NUMBER.value and column.n_values >= FEWEST:
                numbers.append(name)
    labels = [text for _, text in sorted(found, key=lambda each: each[0])]
    kinds = [("labels", labels), ("numbers", numbers), ("links between things", links)]
    return "; ".join(f"{kind}: {listed(names, SHOWN)}" for kind, names in kinds if names)
