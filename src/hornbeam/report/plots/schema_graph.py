"""The schema as a graph: relations linked to the types of their arguments, with those of a model highlighted.

Three columns that never overlap: relations the model uses, types, relations it does not use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hornbeam.data.database import Database
from hornbeam.drawing.figure import Figure
from hornbeam.drawing.markup import Markup, element, together
from hornbeam.drawing.shapes import bar, label, shortened

_ROW, _BOX, _TOP = 36, 26, 34
"""Height of a row, of the box in it, and of the names of the columns."""
_WIDTH, _SIDE, _MIDDLE = 900, 250, 200
"""Width of the drawing, of the columns of relations, and of the column of types."""
_TYPES_LEFT = (_WIDTH - _MIDDLE) / 2
_MOST = 40
"""Maximum number of relations in a column."""
_LETTER = 8.2
"""Width of a letter, estimated generously."""


class _Columns(NamedTuple):
    """The names in each column, from top to bottom."""

    used: list[str]
    """the target first"""
    types: list[str]
    unused: list[str]


def schema_graph(database: Database, target: str, used: Sequence[str]) -> Figure:
    """Relations and types of a database; those that a model of the target uses are highlighted."""
    predicates = database.schema.predicates
    read = [name for name in predicates if name in used and name != target]
    unread = sorted(
        (name for name in predicates if name not in used and name != target),
        key=lambda name: -database.n_facts(name),
    )
    columns = _arranged([target, *read], unread[:_MOST], predicates)
    height = _TOP + _ROW * max(map(len, columns)) + 4
    caption = (
        f"The model uses {len(read)} of {len(read) + len(unread)} relations. "
        "The numbers count facts and constants."
    )
    if len(unread) > _MOST:
        caption += f" {len(unread) - _MOST} more unused relations are not drawn."
    in_model = {target: "target"} | dict.fromkeys(read, "yes") | dict.fromkeys(unread, "no")
    rows = tuple(
        (name, word, ", ".join(predicates[name]), "" if name == target else f"{database.n_facts(name):,}")
        for name, word in in_model.items()
    )
    return Figure(
        title="Relations and types",
        caption=caption,
        width=_WIDTH,
        height=height,
        drawing=together(_shapes(database, columns, height)),
        header=("relation", "in the model", "types of its arguments", "facts"),
        rows=rows,
    )


def _shapes(database: Database, columns: _Columns, height: int) -> Iterator[Markup]:
    """Links first, so that boxes are drawn over their ends."""
    target = columns.used[0]
    predicates = database.schema.predicates
    type_heights = dict(_heights(columns.types, height))
    heights = dict(_heights(columns.used, height)) | dict(_heights(columns.unused, height))
    right = _WIDTH - _SIDE
    sides = [(name, right, right, _TYPES_LEFT + _MIDDLE, "unlit") for name in columns.unused]
    sides += [(name, 0, _SIDE, _TYPES_LEFT, "goal" if name == target else "lit") for name in columns.used]
    for name, _, start, end, style in sides:
        types = predicates[name]
        for place, type_name in enumerate(types):
            # Links of one relation to the same type are drawn beside each other.
            shift = (place - (len(types) - 1) / 2) * 5
            yield _link((start, heights[name] + shift), (end, type_heights[type_name] + shift / 2), style)
    for name, left, _, _, style in sides:
        facts = "" if name == target else f"{database.n_facts(name):,}"
        yield _box((left, heights[name]), _SIDE, name, facts, style)
    used_types = {name for relation in columns.used for name in predicates[relation]}
    for name in columns.types:
        style = "type lit" if name in used_types else "type unlit"
        size = f"{len(database.population(name)):,}"
        yield _box((_TYPES_LEFT, type_heights[name]), _MIDDLE, name, size, style)
    yield label(_SIDE / 2, 16, "in the model", "title")
    yield label(_WIDTH / 2, 16, "types", "title")
    if columns.unused:
        yield label(_WIDTH - _SIDE / 2, 16, "not used", "title")


def _heights(names: Sequence[str], height: int) -> Iterator[tuple[str, float]]:
    """The boxes of a column with the heights of their middles; the column is centred."""
    first = _TOP + (height - _TOP - _ROW * len(names)) / 2 + _ROW / 2
    return ((name, first + _ROW * place) for place, name in enumerate(names))


def _arranged(used: list[str], unused: list[str], predicates: Mapping[str, Sequence[str]]) -> _Columns:
    """Columns in an order that makes few links cross.

    Each column is sorted a few times by the mean position of the boxes that its boxes are linked to.
    """
    types = list(dict.fromkeys(name for relation in (*used, *unused) for name in predicates[relation]))
    for _ in range(4):
        linked: dict[str, list[float]] = {name: [] for name in types}
        for names in (used, unused):
            for place, relation in enumerate(names):
                for name in predicates[relation]:
                    linked[name].append(place / len(names))
        types = sorted(types, key={name: _mean(places) for name, places in linked.items()}.__getitem__)
        place_of = {name: place for place, name in enumerate(types)}
        middle = {
            relation: _mean([place_of[name] for name in predicates[relation]])
            for relation in (*used, *unused)
        }
        # The target stays on top.
        used = [used[0], *sorted(used[1:], key=middle.__getitem__)]
        unused = sorted(unused, key=middle.__getitem__)
    return _Columns(used, types, unused)


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / max(len(numbers), 1)


def _link(start: tuple[float, float], end: tuple[float, float], style: str) -> Markup:
    (x1, y1), (x2, y2) = start, end
    bend = (x1 + x2) / 2
    return element(
        "path",
        d=f"M{x1:g} {y1:.1f}C{bend:g} {y1:.1f} {bend:g} {y2:.1f} {x2:g} {y2:.1f}",
        class_=f"link {style}",
    )


def _box(place: tuple[float, float], width: int, name: str, number: str, style: str) -> Markup:
    """A rounded box with a name and a number; its place is the middle of its left side."""
    x, y = place
    room = int((width - 40) / _LETTER) - len(number)
    return element(
        "g",
        element("title", name),
        bar(x + 1, y - _BOX / 2, width - 2, _BOX, "pill", rx=_BOX / 2),
        label(x + 16, y + 4.5, shortened(name, room), "word", "start"),
        label(x + width - 16, y + 4.5, number, "size", "end") if number else None,
        class_=style,
    )
