"""A picture of an episode: a column for each action, a row for each object, and a dot where they meet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hornbeam.drawing.figure import Figure
from hornbeam.drawing.markup import Child, together
from hornbeam.drawing.shapes import dot, label, line, shortened
from hornbeam.errors import DataError, plural

STEP, ROW, TOP, MARGIN = 26.0, 20.0, 30.0, 12.0
"""Width of a column, height of a row, room above the rows, and around the whole picture."""
LETTER, LONGEST = 7.0, 24
"""Width of a letter, and the most letters of a name."""
MOST_ACTIONS, MOST_OBJECTS = 200, 100
"""Larger pictures would not be read."""


def plan_picture(title: str, actions: Sequence[Any]) -> Figure:
    """The actions of an episode from left to right; objects are in the order of their first use."""
    if not actions:
        raise DataError("the episode has no action, so there is nothing to draw.")
    shown = actions[:MOST_ACTIONS]
    objects = list(dict.fromkeys(str(name) for action in shown for name in action[1:]))[:MOST_OBJECTS]
    kinds = list(dict.fromkeys(str(action[0]) for action in shown))
    left = MARGIN + LETTER * min(LONGEST, max(map(len, [*objects, *kinds]))) + 10
    right = left + STEP * len(shown)
    heights = {("action", name): TOP + ROW * place for place, name in enumerate(kinds)}
    heights |= {("object", name): TOP + ROW * (len(kinds) + place) for place, name in enumerate(objects)}
    drawn: list[Child] = []
    for (kind, name), y in heights.items():
        drawn.append(
            label(left - 10, y + 4, shortened(name, LONGEST), "name" if kind == "action" else "tick", "end")
        )
        drawn.append(line(left - 4, y, right, y, "grid"))
    for number, action in enumerate(shown):
        drawn += _column(number, action, left + STEP * (number + 0.5), heights)
    caption = (
        f"{plural(len(actions), 'action')} from left to right; below each, the objects that it is about."
    )
    if len(actions) > MOST_ACTIONS:
        caption += f" The first {MOST_ACTIONS} are drawn."
    table = [
        (str(number), str(action[0]), ", ".join(map(str, action[1:])))
        for number, action in enumerate(actions, start=1)
    ]
    size = round(right + MARGIN), round(TOP + ROW * len(heights) + MARGIN)
    return Figure(title, caption, *size, together(drawn), ("step", "action", "objects"), tuple(table))


def _column(
    number: int, action: Sequence[Any], x: float, heights: Mapping[tuple[str, str], float]
) -> Iterator[Child]:
    """An action with its objects, and its number at every fifth step."""
    names = [("object", str(name)) for name in action[1:]]
    used = [heights[name] for name in names if name in heights]
    top = heights["action", str(action[0])]
    hint = f"{number + 1}. {action[0]}({', '.join(map(str, action[1:]))})"
    yield line(x, top, x, max([top, *used]), "axis")
    yield dot(x, top, 5, "dot positive", hint)
    yield from (dot(x, y, 4, "dot", hint) for y in used)
    if (number + 1) % 5 == 0:
        yield label(x, TOP - ROW + 4, str(number + 1))
