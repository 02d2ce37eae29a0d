"""The default learner: effects with curves, chosen by small steps and judged on held-out examples.

1. Paths lead from the examples along links (``paths``). Each offers features of its groundings
   (``candidates``), which become a few bins (``bins``).
2. Weights per constant are fitted together, as one block (``constants``).
3. Boosting takes many small steps over the candidates, for several bags at once (``boosting``, ``bagging``).
   The examples outside the bags choose the number of steps, which may be none.
4. The average of the bags is the long model. The short one has fewer effects (``shortening``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hornbeam.data.relations import Examples
from hornbeam.data.sampling import in_order, key_hashes, sampled
from hornbeam.engines.contract import Engine
from hornbeam.learning.effects.bagging import SHARE, design, fold_numbers
from hornbeam.learning.effects.boosting import Steps, boost
from hornbeam.learning.effects.candidates import FeatureCandidate, Offers, Pool
from hornbeam.learning.effects.constants import ConstantWeights, constant_weights
from hornbeam.learning.effects.groups import groups_of
from hornbeam.learning.effects.paths import Path, PathFinder
from hornbeam.learning.effects.shortening import Long, shortened
from hornbeam.learning.effects.vocabulary import Vocabulary
from hornbeam.learning.effects.windows import windows_of
from hornbeam.learning.history import ALL_STEPS, History
from hornbeam.learning.loop import NO_CONTROL, Control
from hornbeam.learning.losses.loss import Logistic, Loss
from hornbeam.learning.numbers import Floats, round_weight
from hornbeam.learning.options import ALL, EffectOptions
from hornbeam.learning.problem import Fit, check_labels
from hornbeam.logic.clauses import Atom, head_atom
from hornbeam.logic.effect_types import kind_of_type, variable_types
from hornbeam.logic.effects import (
    FIRST,
    LAST,
    MAXIMUM,
    MINIMUM,
    VALUE,
    Body,
    Curve,
    Effect,
    Feature,
    in_order_of_use,
)
from hornbeam.logic.schema import NUMBER, value_of
from hornbeam.model.clause_model import Model
from hornbeam.model.effects import FittedEffect, mean_level
from hornbeam.model.readable.constants import shown_names
from hornbeam.model.training import key_names, training_of

DATED = (VALUE, MINIMUM, MAXIMUM, FIRST, LAST)
"""Features of a date that are dates themselves."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What the steps of a fit share."""

    engine: Engine
    head: Atom
    examples: Examples
    options: EffectOptions
    loss: Loss
    targets: Floats


def fit(
    engine: Engine, examples: Examples, options: EffectOptions, control: Control = NO_CONTROL
) -> Fit[Model]:
    """Learn a model of the target from examples with labels 0 and 1."""
    check_labels(examples)
    database, target = engine.database, examples.target
    kept = examples.at(
        sampled(database, target, examples.keys, examples.labels, options.neg_pos_ratio, options.seed)
    )
    kept = kept.at(in_order(database, target, kept.keys, kept.labels))
    head = head_atom(target, database.schema.arity(target))
    problem = Problem(engine, head, kept, options, Logistic(), kept.labels.astype(np.float64))
    paths, offers = _candidates(problem)
    block = _block(problem, paths)
    long = _Boosted(problem, offers.pool, block)
    prior, effects = long.effects()
    # Corrects the log-odds for the negatives that sampling left out.
    prior += math.log((kept.labels == 0).sum() / (examples.labels == 0).sum())
    clauses = () if block is None else block.clauses
    average = prior + sum(map(mean_level, effects)) + (0.0 if block is None else block.mean)
    settings = options.settings() | dict(database.origin) | long.settings()
    settings["average_log_odds"] = round(average, 6)
    names = {} if block is None else shown_names(block.clauses, database.schema, database.display_names)
    settings |= {"names": names} if names else {}
    training = training_of(key_names(database, examples))
    model = Model(
        target,
        database.schema,
        round_weight(prior),
        clauses,
        settings,
        "rlr",
        effects=effects,
        training=training,
    )
    return Fit(model, History((), ALL_STEPS, False, tuple(offers.skipped)))


def _candidates(problem: Problem) -> tuple[list[Path], Offers]:
    """The paths for the target, and the candidates that they offer."""
    engine, options, examples = problem.engine, problem.options, problem.examples
    cut = engine.database.cutoffs_of(examples.target, examples.keys) is not None
    windows = windows_of(engine.database, examples) if cut else {}
    finder = PathFinder(
        Vocabulary(engine.database, examples.target), problem.head, windows, options.max_links
    )
    paths = finder.paths()
    size = len(examples.labels)
    support = options.min_support or max(3, size // 500)
    pool = Pool(options.n_cuts, support, engine.memory // 4)
    offers = Offers(engine, problem.head, examples.keys, pool, options.n_thresholds, cut)
    for path in paths:
        offers.of_path(path)
    offers.of_cutoffs()
    return paths, offers


def _block(problem: Problem, paths: list[Path]) -> ConstantWeights | None:
    examples, options = problem.examples, problem.options
    if not options.per_constant or len(problem.head.args) > 1:
        return None
    keys = examples.keys[:, :1]
    folds = fold_numbers(key_hashes(problem.engine.database, examples.target, keys, options.seed))
    return constant_weights(problem.engine, problem.head, paths, (examples.keys, examples.labels), folds)


class _Boosted:
    """The long model of a fit, and the effects made of it."""

    def __init__(self, problem: Problem, pool: Pool, block: ConstantWeights | None) -> None:
        self.problem, self.options, self.pool = problem, problem.options, pool
        examples, options = problem.examples, problem.options
        self.block = block
        offset = np.zeros(len(examples.labels)) if block is None else block.crossed - block.crossed.mean()
        bins = np.array(pool.rows) if pool.rows else np.zeros((0, len(examples.labels)), dtype=np.uint8)
        self.groups = groups_of(bins, [problem.targets, offset])
        self.bins = np.ascontiguousarray(bins[:, self.groups.first])
        self.targets, self.offset = problem.targets[self.groups.first], offset[self.groups.first]
        self.design = design(
            problem.engine.database, examples.target, examples.keys, options.n_bags, options.seed
        )
        self.weights = self.groups.summed(self.design.weights)
        self.sizes = self.groups.sizes
        self.bags = boost(
            self.bins,
            _score_table(pool.candidates, int(self.bins.max(initial=0)) + 1),
            (self.targets, self.sizes),
            self.weights,
            problem.loss,
            Steps(options.n_steps, options.learning_rate, options.l2, options.l2),
            self.offset,
        )
        losses = np.array(self.bags.mean_losses)
        self.steps = int(np.argmin(losses)) if options.validate else len(losses) - 1

    def settings(self) -> dict[str, object]:
        """What was chosen, and how well the long model predicts held-out examples."""
        losses = self.bags.mean_losses
        return {
            "steps": self.steps,
            "candidates": len(self.pool.candidates),
            "held_out_loss": round(losses[self.steps], 6),
            "base_loss": round(losses[0], 6),
        }

    def effects(self) -> tuple[float, tuple[FittedEffect, ...]]:
        """The intercept and the effects of the model, the most important first."""
        curves, intercepts = self._curves()
        used = sorted({candidate for each in curves for candidate in each})
        if not used:
            return self._based(self._mean(intercepts)), ()
        bins = self.bins[used]
        models = self._scores(curves, intercepts)
        averaged = models[:, list(self.design.averaged)].mean(axis=1)
        long = Long(
            bins,
            np.column_stack([models, averaged]),
            np.column_stack([self.weights, self.sizes]),
            self._tables(used, curves),
            self.offset,
        )
        most = self.options.max_effects
        if most != ALL:
            limit = None if most is None else int(most)
            gained = self.bags.mean_losses[0] - self.bags.mean_losses[self.steps]
            short = shortened(long, self.targets, self.problem.loss, limit, (self.options.validate, gained))
            if limit is not None or (short.enough and self.options.validate):
                levels = dict(zip((used[place] for place in short.chosen), short.curves, strict=True))
                return self._based(short.intercept), self._ordered(levels, curves)
        return self._long(used, curves, intercepts)

    def _long(
        self, used: list[int], curves: list[dict[int, Floats]], intercepts: list[float]
    ) -> tuple[float, tuple[FittedEffect, ...]]:
        """The average of the models as it is."""
        averaged = self.design.averaged
        levels = {
            candidate: sum((self._levels(curves[bag], candidate) for bag in averaged), self._none())
            / len(averaged)
            for candidate in used
        }
        return self._based(self._mean(intercepts)), self._ordered(levels, curves)

    def _curves(self) -> tuple[list[dict[int, Floats]], list[float]]:
        """For each model the curves after the chosen number of steps, and the intercept."""
        curves: list[dict[int, Floats]] = []
        intercepts: list[float] = []
        for start, additions in zip(self.bags.start, self.bags.additions, strict=True):
            own: dict[int, Floats] = {}
            done = [each for each in additions[: self.steps] if each.candidate >= 0]
            for candidate, change, _ in done:
                levels = own.setdefault(candidate, self._none())
                levels[: len(change)] += change
            curves.append(own)
            intercepts.append(done[-1].intercept if done else float(start))
        return curves, intercepts

    def _scores(self, curves: list[dict[int, Floats]], intercepts: list[float]) -> Floats:
        """The score of each example in each model."""
        scores = np.repeat(np.array(intercepts)[None, :], len(self.targets), axis=0)
        scores += self.offset[:, None]
        for column, own in enumerate(curves):
            for candidate, levels in own.items():
                scores[:, column] += levels[self.bins[candidate]]
        return scores

    def _tables(self, used: list[int], curves: list[dict[int, Floats]]) -> list[Floats]:
        """The curves of each model, and of the average, with a row for each candidate that is used."""
        tables = [np.array([self._levels(own, candidate) for candidate in used]) for own in curves]
        averaged = sum((tables[bag] for bag in self.design.averaged), np.zeros_like(tables[0]))
        return [*tables, averaged / len(self.design.averaged)]

    def _ordered(
        self, levels: dict[int, Floats], curves: list[dict[int, Floats]]
    ) -> tuple[FittedEffect, ...]:
        made = [self._effect(candidate, curve, curves) for candidate, curve in levels.items()]
        kept = [each for each in made if each.importance > 0]
        return tuple(sorted(kept, key=lambda each: (-each.importance, str(each.effect))))

    def _effect(self, candidate: int, levels: Floats, curves: list[dict[int, Floats]]) -> FittedEffect:
        """The effect of a candidate; neighbouring bins with equal levels become one."""
        (head, body, feature), cuts, _ = self.pool.candidates[candidate]
        bins = self.bins[candidate]
        counts = np.bincount(bins, self.sizes, minlength=len(cuts) + 2)
        added = levels[bins]
        mean = float((added * self.sizes).sum() / self.sizes.sum())
        importance = float((np.abs(added - mean) * self.sizes).sum() / self.sizes.sum())
        spread = self._spread(candidate, curves)
        rounded = [round_weight(level) for level in levels[: len(cuts) + 2].tolist()]
        starts = [1, *(b for b in range(2, len(cuts) + 2) if rounded[b] != rounded[b - 1])]
        ends = [*starts[1:], len(cuts) + 2]
        kind = self._kind(body, feature)
        curve = Curve(
            tuple(value_of(cuts[start - 2], kind) for start in starts[1:]),
            tuple(rounded[start] for start in starts),
            rounded[0] if counts[0] else 0.0,
        )
        errors: tuple[float, ...] = ()
        if len(self.design.averaged) > 1:
            errors = tuple(round(float(spread[start]), 6) for start in (0, *starts))
        examples = [int(counts[0]), *(int(counts[a:b].sum()) for a, b in zip(starts, ends, strict=True))]
        effect = in_order_of_use(Effect(head, body, feature, curve))
        return FittedEffect(effect, round(importance, 9), errors, tuple(examples))

    def _kind(self, body: Body, feature: Feature) -> str:
        """Whether the values of a feature are numbers or dates."""
        if feature.variable is None or feature.kind not in DATED:
            return NUMBER
        types = variable_types(self.problem.engine.database.schema, self.problem.head, body)
        return kind_of_type(self.problem.engine.database.schema, types[feature.variable]) or NUMBER

    def _spread(self, candidate: int, curves: list[dict[int, Floats]]) -> Floats:
        """The standard error of each level, from its spread between bags that share most examples."""
        bags = [self._levels(curves[bag], candidate) for bag in self.design.averaged]
        errors: Floats = np.std(np.array(bags), axis=0) * math.sqrt(SHARE / (1.0 - SHARE))
        return errors

    def _levels(self, own: dict[int, Floats], candidate: int) -> Floats:
        levels = own.get(candidate)
        return self._none() if levels is None else levels

    def _none(self) -> Floats:
        return np.zeros(int(self.bins.max(initial=0)) + 1)

    def _mean(self, intercepts: list[float]) -> float:
        return math.fsum(intercepts[bag] for bag in self.design.averaged) / len(self.design.averaged)

    def _based(self, intercept: float) -> float:
        """The prior of the model: weights per constant bring their own intercept."""
        if self.block is None:
            return intercept
        return intercept - self.block.mean


def _score_table(candidates: list[FeatureCandidate], size: int) -> Floats:
    """The score of each bin of each candidate."""
    table = np.zeros((len(candidates), size))
    for row, candidate in zip(table, candidates, strict=True):
        row[: len(candidate.scores)] = candidate.scores[:size]
    return table
