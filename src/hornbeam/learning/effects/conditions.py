"""Second conditions: a condition that says much by itself narrows its path, and the path is offered again.

Two conditions on the things of one path are looked at together only if one of them lowers the loss by itself
more than most. A narrowed path is a path like any other: it offers means, shares and counts of what is left.
Each bag chooses its own conditions from its own examples, and only bags that chose a condition may use its
candidates: otherwise the examples outside a bag would judge a choice in which they had a part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.learning.effects.bodies import BodyLimits, n_conditions
from hornbeam.learning.effects.candidates import FeatureCandidate, Pool
from hornbeam.learning.effects.constants import Weighted
from hornbeam.learning.effects.examples.groups import all_alone
from hornbeam.learning.effects.links import FACTS, FLAG, NUMBER, Attribute, Path
from hornbeam.learning.effects.steps.bag_parts import BagParts
from hornbeam.learning.effects.steps.bag_steps import StepData, Steps
from hornbeam.learning.effects.steps.gains import score_table
from hornbeam.learning.effects.steps.pairs import AT_LEAST, EITHER, NEVER, Pair, PairRules
from hornbeam.learning.numbers import Floats
from hornbeam.learning.workers import ALONE, Jobs
from hornbeam.logic import clauses
from hornbeam.logic.clauses import Comparison
from hornbeam.logic.effects import Body, Equals, rename_step, step_variables
from hornbeam.logic.features import COUNT, KINDS, MONTH, VALUE

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


"""Features that depend on the order of the steps of a body."""
ANY = 1 << 30


def rules_of(
    candidates: Sequence[FeatureCandidate], path_of: Sequence[Path], limits: BodyLimits
) -> PairRules:
    """The pairs that are allowed; ``path_of`` has the path of each of the first candidates.

    Candidates without a path are those of narrowed paths.
    """
    sides = [_sides(each, path) for each, path in zip(candidates, path_of, strict=False)]
    sides += [NEVER] * (len(candidates) - len(sides))
    attributes: dict[Body, int] = {}
    about = [attributes.setdefault(_unconditional(each.request.body), len(attributes)) for each in candidates]
    sizes = [_sizes(each, side) for each, side in zip(candidates, sides, strict=True)]
    most = ANY if limits.literals is None else limits.literals
    return PairRules(
        np.array(sides, dtype=np.int64),
        np.array([_outside(each, limits) for each in candidates], dtype=np.int64),
        np.array(about, dtype=np.int64),
        np.array(sizes, dtype=np.int64).reshape(-1, 4),
        (limits.conditions, most),
    )


def _sides(candidate: FeatureCandidate, path: Path) -> int:
    """Whether a candidate may be a condition on the example itself: a number, a category or a flag."""
    kind, variable = candidate.request.feature
    if path.links or not path.single or not candidate.cuts:
        return NEVER
    if kind == COUNT:
        return AT_LEAST
    numbers = {a.node.variable for a in path.attributes if a.kind in (NUMBER, FACTS)}
    return EITHER if kind == VALUE and variable in numbers else NEVER


def _outside(candidate: FeatureCandidate, limits: BodyLimits) -> int:
    """The bin of the examples that do not meet a condition; -1 if the candidate may not be narrowed."""
    kind, _ = candidate.request.feature
    if kind == MONTH or KINDS[kind].edge or n_conditions(candidate.request.body) >= limits.conditions:
        return -1
    # Cuts of counts are above 0, which is in the first bin.
    return int(KINDS[kind].whole)


def _sizes(candidate: FeatureCandidate, sides: int) -> tuple[int, int, int, int]:
    """Conditions and literals of a candidate that is a condition, and of one that is narrowed."""
    body = candidate.request.body
    more = int(sides == EITHER)
    return n_conditions(body) + more, len(body) + more, n_conditions(body), len(body)


def _unconditional(body: Body) -> Body:
    return tuple(step for step in body if not isinstance(step, Equals | Comparison))


def candidate_of(pair: Pair, candidates: Sequence[FeatureCandidate]) -> FeatureCandidate:
    """A pair as a candidate: the condition comes first, because the last step of a body may be special."""
    condition, narrowed = candidates[pair.condition], candidates[pair.narrowed]
    (_, body, feature), cuts, _ = condition
    if feature.kind == VALUE:
        assert feature.variable is not None
        operator = clauses.BELOW if pair.is_below else clauses.AT_LEAST
        body = (*body, Comparison(feature.variable, operator, cuts[pair.cut - 1]))
    (head, own, narrowed_feature), *_ = narrowed
    names = _apart(own, body, {term for term in head.args if isinstance(term, int)})
    steps = tuple(rename_step(step, names) for step in own if step not in body)
    variable = narrowed_feature.variable
    if variable is not None:
        narrowed_feature = narrowed_feature._replace(variable=names.get(variable, variable))
    request = narrowed.request._replace(body=(*body, *steps), feature=narrowed_feature)
    return narrowed._replace(request=request)


def _apart(body: Body, other: Body, head: set[int]) -> dict[int, int]:
    """New numbers for the variables of a body that another one uses for something else.

    Two paths may number their variables alike. What common steps bind is the same in both bodies.
    """
    own, taken = ({v for step in each for v in step_variables(step)} for each in (body, other))
    common = {v for step in body if step in other for v in step_variables(step)}
    free = max(own | taken | head, default=0) + 1
    return {v: free + place for place, v in enumerate(sorted((own & taken) - common - head))}


WORTH_OF_SECOND = 0.7
"""The share of its gain that counts if a candidate has a second condition."""


class Search(NamedTuple):
    """Pairs of candidates, and candidates that are not for all bags."""

    pairs: PairRules | None = None
    """the pairs of candidates that are allowed; None for none"""
    bags: Mapping[int, frozenset[int]] = {}
    """the bags that may use a candidate; all bags may use the candidates that are not named"""

    def worth(self, candidates: Sequence[FeatureCandidate], n_bags: int) -> Floats:
        """For each candidate and bag, the share of the gain that counts.

        Candidates with a second condition are the best of many, so their gains count less.
        """
        conditions = np.array([n_conditions(each.request.body) for each in candidates])
        worth = np.repeat(np.where(conditions > 1, WORTH_OF_SECOND, 1.0)[:, None], n_bags, axis=1)
        for candidate, bags in self.bags.items():
            worth[candidate, [bag for bag in range(n_bags) if bag not in bags]] = 0.0
        return worth

    def without_conditions(self, which: npt.NDArray[np.bool_]) -> Search:
        """The same without some candidates as conditions of pairs."""
        if self.pairs is None or not which.any():
            return self
        sides = np.where(which, NEVER, self.pairs.sides)
        return self._replace(pairs=self.pairs._replace(sides=sides))


NO_SEARCH = Search()
