"""Second conditions: a condition that says much by itself narrows its path, and the path is offered again.

Two conditions on the things of one path are looked at together only if one of them lowers the loss by itself
more than most. A narrowed path is a path like any other: it offers means, shares and counts of what is left.
Each bag chooses its own conditions from its own examples, and only bags that chose a condition may use its
candidates: otherwise the examples outside a bag would judge a choice in which they had a part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hornbeam.learning.effects.candidates import Pool
from hornbeam.learning.effects.constants import Weighted
from hornbeam.learning.effects.examples.groups import all_alone
from hornbeam.learning.effects.links.paths import FLAG, Attribute, Path
from hornbeam.learning.effects.steps.bag_parts import BagParts
from hornbeam.learning.effects.steps.bag_steps import StepData, Steps
from hornbeam.learning.effects.steps.gains import score_table
from hornbeam.learning.numbers import Floats
from hornbeam.learning.workers import ALONE, Jobs
from hornbeam.logic.clauses import Comparison
from hornbeam.logic.effects import Body, Equals

MOST_NARROWED = 10
"""Maximum number of conditions of a bag that narrow paths; each attribute of a path has one at most."""
MANY_BINS = 5_000_000
"""With at least this many bins, workers compare some of the candidates."""


def narrowed_paths(
    data: Weighted, weights: Floats, l2: float, pool: Pool, path_of: Sequence[Path], jobs: Jobs = ALONE
) -> list[tuple[Path, frozenset[int]]]:
    """The paths narrowed by the best conditions of each bag, and the bags that chose them.

    ``path_of`` has the path of each candidate, and column k of ``weights`` the weight of each example in
    bag k.
    """
    places = [number for number, path in enumerate(path_of) if path.links and not path.single]
    if not places:
        return []
    gains = _first_gains(data, weights, l2, (pool, places), jobs)
    found: dict[Path, set[int]] = {}
    for bag, of_bag in enumerate(gains.T):
        order = np.argsort(-np.round(of_bag, 9), kind="stable")
        best = [places[place] for place in order.tolist() if of_bag[place] > 0]
        for path in _chosen(best, pool, path_of):
            found.setdefault(path, set()).add(bag)
    return [(path, frozenset(bags)) for path, bags in found.items()]


def _chosen(best: list[int], pool: Pool, path_of: Sequence[Path]) -> list[Path]:
    """The paths narrowed by the first conditions among some candidates."""
    chosen: dict[tuple[Body, Attribute], Path] = {}
    for number in best:
        path, (_, body, _) = path_of[number], pool.candidates[number].request
        attribute = _attribute_of(path, body)
        if attribute is not None:
            chosen.setdefault((path.body, attribute), _narrowed(path, body, attribute))
        if len(chosen) == MOST_NARROWED:
            break
    return list(chosen.values())


def _first_gains(
    data: Weighted, weights: Floats, l2: float, candidates: tuple[Pool, list[int]], jobs: Jobs
) -> Floats:
    """What each of some candidates gains in a first step of each bag.

    Equal examples are one, as later in boosting; sums are exact, so gains are the same.
    """
    pool, places = candidates
    number = len(data.targets)
    groups = all_alone(number) if data.loss.together else pool.hashes.groups(pool.rows, [data.targets])
    bins = np.array([pool.rows[place][groups.first] for place in places])
    scores = score_table([pool.candidates[place].scores for place in places], int(bins.max()) + 1)
    steps = Steps(1, 1.0, l2, l2)
    targets, sizes = data.targets[groups.first], groups.sizes(data.weights)
    own = StepData(bins, scores, targets, sizes, data.loss, steps)
    return BagParts(own, groups.summed(weights), jobs if bins.size >= MANY_BINS else ALONE).gains(len(bins))


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
