"""The schema as a graph: relations tied to the types of their arguments, those a model uses lit up.

Three columns that never overlap: relations the model uses, types, relations it does not use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hornbeam.data.database import Database
from hornbeam.drawing.figure import Figure, bar, label
from hornbeam.drawing.markup import Child, Markup, element, together

_ROW, _PILL, _TOP = 36, 26, 34
_WIDTH, _SIDE, _MIDDLE = 900, 250, 200
_MOST = 40
"""relations in a column, at most"""
_LETTER = 8.2
"""the width of a letter, rather too much than too little"""


def schema_graph(database: Database, target: str, used: Sequence[str]) -> Figure:
    """Relations and types of a database, with those that a model of the target uses lit up."""
    predicates = database.schema.predicates
    lit = [name for name in predicates if name in used and name != target]
    unlit = sorted(
        (name for name in predicates if name not in used and name != target),
        key=lambda name: -database.n_facts(name),
    )
    left, right = [target, *lit], unlit[:_MOST]
    types = list(dict.fromkeys(name for each in (*left, *right) for name in predicates[each]))
    left, types, right = _untangled(left, types, right, predicates)
    height = _TOP + _ROW * max(len(left), len(types), len(right)) + 4
    lit_types = {name for each in left for name in predicates[each]}
    places = {
        name: y for names in (left, right) for name, y in zip(names, _spread(len(names), height), strict=True)
    }
    of_types = dict(zip(types, _spread(len(types), height), strict=True))
    middle = (_WIDTH - _MIDDLE) / 2
    links: list[Child] = []
    boxes: list[Child] = []
    for names, x, end, start, style in (
        (right, _WIDTH - _SIDE, middle + _MIDDLE, _WIDTH - _SIDE, "unlit"),
        (left, 0, middle, _SIDE, "lit"),
    ):
        for name in names:
            kind = "goal" if name == target else style
            for place, type_name in enumerate(predicates[name]):
                shift = (place - (len(predicates[name]) - 1) / 2) * 5
                links.append(_link(start, places[name] + shift, end, of_types[type_name] + shift / 2, kind))
            facts = "" if name == target else f"{database.n_facts(name):,}"
            boxes.append(_pill(x, places[name], _SIDE, name, facts, kind))
    for name in types:
        size = f"{len(database.population(name)):,}"
        boxes.append(
            _pill(
                middle, of_types[name], _MIDDLE, name, size, "type lit" if name in lit_types else "type unlit"
            )
        )
    heads = [
        label(_SIDE / 2, 16, "in the model", "title"),
        label(_WIDTH / 2, 16, "types", "title"),
        label(_WIDTH - _SIDE / 2, 16, "not used", "title") if right else None,
    ]
    more = len(unlit) - len(right)
    caption = (
        f"The model reads {len(lit)} of {len(lit) + len(unlit)} relations. Numbers are facts and constants."
    )
    if more:
        caption += f" {more} more that it does not use are left out of the drawing."
    rows = [(target, "target", _types_text(predicates[target]), "")]
    rows += [(name, "yes", _types_text(predicates[name]), f"{database.n_facts(name):,}") for name in lit]
    rows += [(name, "no", _types_text(predicates[name]), f"{database.n_facts(name):,}") for name in unlit]
    return Figure(
        title="Relations and types",
        caption=caption,
        width=_WIDTH,
        height=height,
        drawing=together([*links, *boxes, *heads]),
        header=("relation", "in the model", "types of its arguments", "facts"),
        rows=tuple(rows),
    )


def _types_text(types: Sequence[str]) -> str:
    return ", ".join(types)


def _spread(number: int, height: int) -> list[float]:
    """Places of so many boxes, in the middle of the height."""
    first = _TOP + (height - _TOP - _ROW * number) / 2 + _ROW / 2
    return [first + _ROW * place for place in range(number)]


def _untangled(
    left: list[str], types: list[str], right: list[str], predicates: Mapping[str, Sequence[str]]
) -> tuple[list[str], list[str], list[str]]:
    """Each column in the order of the mean place of what its boxes are tied to, a few times over."""
    for _ in range(4):
        at = {name: place / len(names) for names in (left, right) for place, name in enumerate(names)}
        tied: dict[str, list[float]] = {name: [] for name in types}
        for predicate, place in at.items():
            for name in predicates[predicate]:
                tied[name].append(place)
        types = sorted(types, key=lambda name: sum(tied[name]) / max(len(tied[name]), 1))
        height = {name: place for place, name in enumerate(types)}

        def mean(predicate: str, height: Mapping[str, int] = height) -> float:
            own = predicates[predicate]
            return sum(height[name] for name in own) / max(len(own), 1)

        # The target stays on top.
        left = [left[0], *sorted(left[1:], key=mean)]
        right = sorted(right, key=mean)
    return left, types, right


def _link(x1: float, y1: float, x2: float, y2: float, style: str) -> Markup:
    bend = (x1 + x2) / 2
    return element(
        "path",
        d=f"M{x1:g} {y1:.1f}C{bend:g} {y1:.1f} {bend:g} {y2:.1f} {x2:g} {y2:.1f}",
        class_=f"link {style}",
    )


def _pill(x: float, y: float, width: int, name: str, number: str, style: str) -> Markup:
    room = int((width - 40) / _LETTER) - len(number)
    short = name if len(name) <= room else f"{name[: room - 1]}…"
    return element(
        "g",
        element("title", name),
        bar(x + 1, y - _PILL / 2, width - 2, _PILL, "pill", round_=_PILL / 2),
        label(x + 16, y + 4.5, short, "word", "start"),
        label(x + width - 16, y + 4.5, number, "size", "end") if number else None,
        class_=style,
    )
