"""Second conditions: a condition that says much by itself narrows its path, and the path is offered again.

Two conditions on the things of one path are looked at together only if one of them lowers the loss by itself
more than most. A narrowed path is a path like any other: it offers means, shares and counts of what is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from hornbeam.learning.effects.candidates import Pool
from hornbeam.learning.effects.links.paths import FLAG, Attribute, Path
from hornbeam.learning.effects.long_model import Problem
from hornbeam.learning.effects.steps.gains import UNIT, cut_gains, line_gains
from hornbeam.logic.clauses import Comparison
from hornbeam.logic.effects import Body, Equals

MOST_NARROWED = 20
"""Maximum number of conditions that narrow paths; each attribute of a path has one at most."""


def narrowed_paths(problem: Problem, pool: Pool, path_of: Sequence[Path]) -> list[Path]:
    """The paths narrowed by the best conditions; ``path_of`` has the path of each candidate."""
    found: dict[tuple[Body, Attribute], Path] = {}
    for number in _by_gain(problem, pool, path_of):
        path, (_, body, _) = path_of[number], pool.candidates[number].request
        attribute = _attribute_of(path, body)
        if attribute is not None:
            found.setdefault((path.body, attribute), _narrowed(path, body, attribute))
        if len(found) == MOST_NARROWED:
            break
    return list(found.values())


def _by_gain(problem: Problem, pool: Pool, path_of: Sequence[Path]) -> Iterator[int]:
    """The candidates on links to many in the order of their gains in a first step."""
    targets, weights, loss, l2 = problem.targets, problem.weights, problem.loss, problem.options.l2
    start = np.full(len(targets), loss.start(targets, weights))
    first, second = (np.rint(each * UNIT) * weights for each in loss.gradients(targets, start))
    places = [number for number, path in enumerate(path_of) if path.links and not path.single]
    if not places:
        return
    size = max(len(pool.candidates[number].scores) for number in places)
    g, h = np.zeros((2, len(places), size, 1))
    scores = np.zeros((len(places), size))
    for place, number in enumerate(places):
        row, own = pool.rows[number], pool.candidates[number].scores
        g[place, :, 0] = np.bincount(row, first, minlength=size) / UNIT
        h[place, :, 0] = np.bincount(row, second, minlength=size) / UNIT
        scores[place, : len(own)] = own
    lines, _ = line_gains(g, h, scores, l2)
    gains = np.maximum(cut_gains(g, h, l2)[0].max(axis=(1, 2)), lines[:, 0])
    order = np.argsort(-np.round(gains, 9), kind="stable")
    yield from (places[place] for place in order.tolist() if gains[place] > 0)


def _attribute_of(path: Path, body: Body) -> Attribute | None:
    """The attribute to which the last step of a body puts a condition; None if it puts none."""
    steps = body[len(path.body) :]
    condition = steps[-1] if steps else None
    for attribute in path.attributes:
        if isinstance(condition, Equals | Comparison):
            if attribute.steps == steps[:-1] and attribute.node.variable == condition.variable:
                return attribute
        elif attribute.kind == FLAG and attribute.steps == steps:
            return attribute
    return None


def _narrowed(path: Path, body: Body, attribute: Attribute) -> Path:
    """The path with the body of a condition, and the other attributes."""
    others = []
    for other in path.attributes:
        steps = tuple(step for step in other.steps if step not in body)
        if other != attribute and (steps or other.kind != FLAG):
            others.append(other._replace(steps=steps))
    return replace(path, body=body, meets=False, attributes=tuple(others))
