"""ILP-RLR: clauses by a Progol-style learner, then weights of relational logistic regression.

The first stage covers the positives greedily. For a positive that no clause covers yet, it makes the bottom
clause (everything that is true about the example under the modes), and searches best-first among subsets of
its literals for the body of greatest compression: covered positives minus covered negatives minus literals
(Muggleton, "Inverse entailment and Progol", 1995). The second stage fits the weights of all clauses jointly.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from hornbeam.data.database import Codes
from hornbeam.data.relations import Examples
from hornbeam.data.sampling import atom_texts, sampled
from hornbeam.engines.clauses.contract import Counts
from hornbeam.engines.clauses.counters import counter_of
from hornbeam.engines.clauses.counting.count import count_all
from hornbeam.engines.clauses.counting.holding import Body, CanonicalParts, Holding, Truth
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.errors import LimitError
from hornbeam.learning.history import History
from hornbeam.learning.loop import NO_CONTROL, Control, Pause, run
from hornbeam.learning.numbers import Labels
from hornbeam.learning.options import ILPOptions
from hornbeam.learning.problem import Fit, check_labels, language_for
from hornbeam.logic.canonical import canonical
from hornbeam.logic.clauses import Clause, cut, literal_variables
from hornbeam.logic.refine import Language
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.files import WEIGHTED_CLAUSES, register_kind
from hornbeam.rivals.ilp_rlr.bottom import BottomLiteral, Saturation, reduced
from hornbeam.rivals.ilp_rlr.likelihood import joint_weights

LEARNER = "ilp-rlr"
ALL_COVERED = "every positive covered or tried"


class Covers(NamedTuple):
    """A body, and the numbers of examples it covers."""

    body: Body
    positives: int
    negatives: int

    @property
    def compression(self) -> int:
        return self.positives - self.negatives - len(self.body)


@dataclass(frozen=True, slots=True)
class RuleStep:
    """A clause of the first stage, and the cost of the search for it."""

    number: int
    """counts from 1"""
    clause: Clause
    positives: int
    """positives that it covers and no earlier clause does"""
    negatives: int
    """negatives of the sample that it covers"""
    compression: int
    counted: int
    """bodies that had to be counted"""
    seconds: float

    @property
    def title(self) -> str:
        return str(self.clause)

    @property
    def candidates(self) -> int:
        return self.counted

    def as_dict(self) -> dict[str, object]:
        return {
            "step": self.number,
            "clause": str(self.clause),
            "positives": self.positives,
            "negatives": self.negatives,
            "compression": self.compression,
            "counted": self.counted,
            "seconds": self.seconds,
        }


class CoverState(NamedTuple):
    """The clauses so far, the positives that none of them covers, and the number of positives tried."""

    uncovered: Truth
    tried: int = 0
    steps: tuple[RuleStep, ...] = ()
    ended: str | None = None


@dataclass(frozen=True, eq=False)
class CoverProblem:
    """The part of the search that is the same for all positives."""

    holding: Holding
    parts: CanonicalParts
    saturation: Saturation
    positive: Truth
    seeds: Sequence[int]
    """the positives, in the order of their texts"""
    options: ILPOptions

    def covered(self, bodies: Sequence[Body]) -> list[Truth | None]:
        """The examples that each body covers; ``None`` if a part of the body was skipped."""
        asked = [self.parts.new(cut(body, self.parts.head.args)) for body in bodies]
        clauses = list(dict.fromkeys(chain.from_iterable(asked)))
        known = dict(zip(clauses, self.holding.hold(clauses), strict=True))
        covered: list[Truth | None] = []
        for each in asked:
            truths = [truth for clause in each if (truth := known[clause]) is not None]
            covered.append(np.logical_and.reduce(truths) if len(truths) == len(each) else None)
        return covered


def fit(
    engine: Engine,
    examples: Examples,
    options: ILPOptions | None = None,
    control: Control = NO_CONTROL,
) -> Fit[Model]:
    """Learn clauses, then their weights, from examples with labels 0 and 1.

    Ctrl-C and ``control.should_stop`` end the search for clauses; those found so far are weighed.
    """
    options = options or ILPOptions()
    database = engine.database
    target, keys, labels = examples.target, examples.keys, examples.labels
    check_labels(examples)
    language = language_for(database, target, False, options.n_thresholds, keys)
    kept = sampled(database, target, keys, labels, options.neg_pos_ratio, options.seed)
    problem = _problem(engine, language, keys[kept], labels[kept], options)
    nothing = CoverState(problem.positive)
    state, ending = run(nothing, lambda: nothing, lambda state, pause: step(problem, state, pause), control)
    counts, skipped = _counted(engine, [each.clause for each in state.steps], keys)
    prior, weights = joint_weights(list(counts.values()), labels, options.l2)
    weighted = tuple(
        WeightedClause(clause, weight, counts[clause].total)
        for clause, weight in zip(counts, weights, strict=True)
    )
    settings = options.settings() | dict(database.origin) | ending.settings()
    model = Model(target, database.schema, prior, weighted, settings, LEARNER)
    return Fit(
        model, History(state.steps, ending.reason, ending.cut, (*problem.holding.skipped.values(), *skipped))
    )


def _counted(
    engine: Engine, clauses: Sequence[Clause], keys: Codes
) -> tuple[dict[Clause, Counts], list[Skipped]]:
    """Counts of clauses for all examples, without clauses that are too expensive to count for all of them."""
    counts: dict[Clause, Counts] = {}
    skipped: list[Skipped] = []
    for clause in clauses:
        try:
            (counts[clause],) = count_all(counter_of(engine), [clause], keys)
        except LimitError:
            skipped += [
                each for each in counter_of(engine).count([clause], keys) if isinstance(each, Skipped)
            ]
    return counts, skipped


def _problem(
    engine: Engine, language: Language, keys: Codes, labels: Labels, options: ILPOptions
) -> CoverProblem:
    texts = atom_texts(engine.database, language.head.predicate, keys)
    return CoverProblem(
        holding=Holding(counter_of(engine), keys),
        parts=CanonicalParts(language.head),
        saturation=Saturation(engine.database, language, options.max_rounds, options.max_recall),
        positive=labels == 1,
        seeds=sorted(np.flatnonzero(labels == 1).tolist(), key=texts.__getitem__),
        options=options,
    )


def step(problem: CoverProblem, state: CoverState, pause: Pause) -> tuple[CoverState, tuple[RuleStep, ...]]:
    """Search for a clause that covers the next uncovered positive."""
    started, counted = time.perf_counter(), problem.holding.counted
    tried = state.tried
    while tried < len(problem.seeds) and not state.uncovered[problem.seeds[tried]]:
        tried += 1
    if tried == len(problem.seeds):
        return state._replace(tried=tried, ended=ALL_COVERED), ()
    key = problem.holding.keys[problem.seeds[tried]].tolist()
    state = state._replace(tried=tried + 1)
    bottom = reduced(problem.saturation.bottom(key), problem.parts.arity)
    best = best_body(problem, bottom, state.uncovered, pause)
    if best is None:
        return state, ()
    (truth,) = problem.covered([best.body])
    assert truth is not None
    info = RuleStep(
        number=len(state.steps) + 1,
        clause=canonical(Clause(problem.parts.head, best.body)),
        positives=best.positives,
        negatives=best.negatives,
        compression=best.compression,
        counted=problem.holding.counted - counted,
        seconds=time.perf_counter() - started,
    )
    return state._replace(uncovered=state.uncovered & ~truth, steps=(*state.steps, info)), (info,)


def best_body(
    problem: CoverProblem, bottom: Sequence[BottomLiteral], uncovered: Truth, pause: Pause
) -> Covers | None:
    """The body of greatest compression among those examined, or None if no compression is above zero.

    The body of greatest compression is extended first. Among equals the shorter one wins, then the one
    whose text comes first.
    """
    arity = problem.parts.arity
    best: Covers | None = None
    examined = 0
    seen: set[frozenset[int]] = set()
    waiting: list[tuple[int, int, tuple[int, ...]]] = [(0, 0, ())]
    while waiting and examined < problem.options.max_bodies:
        pause()
        _, _, chosen = heapq.heappop(waiting)
        longer = []
        named = set(range(arity)).union(*(literal_variables(bottom[at].literal) for at in chosen))
        for at, (_, needs) in enumerate(bottom):
            group = frozenset((*chosen, at))
            if at not in chosen and group not in seen and needs <= named:
                seen.add(group)
                longer.append((*chosen, at))
        examined += len(longer)
        bodies = [tuple(bottom[at].literal for at in members) for members in longer]
        for members, body, truth in zip(longer, bodies, problem.covered(bodies), strict=True):
            if truth is None:
                continue
            positives = int(np.count_nonzero(truth & uncovered))
            negatives = int(np.count_nonzero(truth & ~problem.positive))
            covers = Covers(body, positives, negatives)
            if best is None or _beats(covers, best, problem):
                best = covers
            # A longer body covers no further positive; at best it covers no negative.
            if len(body) < problem.options.max_literals and positives - len(body) - 1 > best.compression:
                heapq.heappush(waiting, (-covers.compression, len(body), members))
    return best if best is not None and best.compression > 0 else None


def _beats(challenger: Covers, best: Covers, problem: CoverProblem) -> bool:
    one, other = (challenger.compression, -len(challenger.body)), (best.compression, -len(best.body))
    if one != other:
        return one > other
    texts = [str(canonical(Clause(problem.parts.head, each.body))) for each in (challenger, best)]
    return texts[0] < texts[1]


register_kind(LEARNER, WEIGHTED_CLAUSES)
