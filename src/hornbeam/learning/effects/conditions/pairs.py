"""Pairs of candidates: which conditions on the example itself may narrow which candidates, and to what."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.learning.effects.bodies import BodyLimits, n_conditions
from hornbeam.learning.effects.candidates import FeatureCandidate
from hornbeam.learning.effects.links.paths import FACTS, NUMBER, Path
from hornbeam.learning.effects.steps.pairs import AT_LEAST, EITHER, NEVER, Pair, PairRules
from hornbeam.logic import clauses
from hornbeam.logic.clauses import Comparison
from hornbeam.logic.effects import Body, Equals, rename_step, step_variables
from hornbeam.logic.features import COUNT, KINDS, MONTH, VALUE

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
