"""The long model: many small steps over the candidates, averaged over bags, and the effects made of it."""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from hornbeam.errors import plural
from hornbeam.learning.effects.bodies import n_conditions
from hornbeam.learning.effects.candidates import FeatureCandidate, Pool
from hornbeam.learning.effects.conditions import NO_SEARCH, Search, candidate_of
from hornbeam.learning.effects.constants import ConstantWeights
from hornbeam.learning.effects.examples.bagging import SHARE
from hornbeam.learning.effects.examples.groups import all_alone
from hornbeam.learning.effects.examples.problem import Problem
from hornbeam.learning.effects.lines import (
    LineData,
    LineEnds,
    Lines,
    LineValues,
    fitted_lines,
    line_values,
    lines_or_steps,
    share_of_lines,
    simple_candidates,
)
from hornbeam.learning.effects.shortening import Idea, Long, Short, Wanted, shortened
from hornbeam.learning.effects.steps.bag_steps import StepData, Steps
from hornbeam.learning.effects.steps.boosting import Boosting
from hornbeam.learning.effects.steps.gains import score_table
from hornbeam.learning.effects.steps.pairs import Bins, Pair, row_of
from hornbeam.learning.history import Round, loss_text
from hornbeam.learning.losses.loss import PLAIN_UNIT, Score
from hornbeam.learning.numbers import Floats, round_weight
from hornbeam.learning.options import ALL, BASE_RATE
from hornbeam.learning.workers import ALONE, Jobs
from hornbeam.logic.effects import (
    Body,
    Curve,
    Effect,
    Feature,
    Recent,
    has_dates,
    in_order_of_use,
    predicates_in,
)
from hornbeam.logic.schema import DATE, NUMBER, value_of
from hornbeam.model.effects import FittedEffect

OfClasses = tuple[tuple[FittedEffect, ...], ...]
"""The effects of each class in the same order; without classes, the effects once."""
PENALTY = 30.0
"""Ridge penalty of the difference of the factor from 1: few examples make little of it."""
LEAST_FACTOR, DIGITS = 0.5, 4
"""The smallest factor, and its number of decimals."""
MORE_STEPS = 1.5
"""Number of steps of the model, as a multiple of the number that is best for its judges."""
NOISE = 1.5
"""The steps must lower the loss of held-out examples by this many standard errors: of worlds of coin flips,
fewer than one in ten does by chance."""

NOISE_OF_LINES = 2.25
"""Where no steps do, lines must by this many: they are a second chance for noise."""


class Beside(NamedTuple):
    """Lines beside the steps."""

    share: float
    """their share in the scores"""
    lines: Lines
    values: LineValues


class LongModel:
    """Boosted models of a fit, step by step, and the effects made of their average."""

    def __init__(
        self,
        problem: Problem,
        pool: Pool,
        block: ConstantWeights | None,
        jobs: Jobs = ALONE,
        search: Search = NO_SEARCH,
    ) -> None:
        self.problem, self.options, self.pool, self.jobs = problem, problem.options, pool, jobs
        self.directions = _directions(problem, pool)
        self.search = search.without_conditions(self.directions != 0)
        examples, options = problem.examples, problem.options
        self.block = block
        self.shape = problem.loss.shape
        offset = _offset_of(block, (len(examples.labels), *self.shape))
        together = problem.loss.together
        columns = [problem.targets, *offset.reshape(len(offset), -1).T]
        self.groups = all_alone(len(offset)) if together else pool.hashes.groups(pool.rows, columns)
        first = self.groups.first
        self.bins = np.zeros((len(pool.rows), len(first)), dtype=np.uint8)
        for own, row in zip(self.bins, pool.rows, strict=True):
            own[:] = row[first]
        self.levels = int(self.bins.max(initial=0)) + 1
        self.targets, self.offset = problem.targets[self.groups.first], offset[self.groups.first]
        self.design = problem.design
        self.weights = self.groups.summed(problem.bag_weights)
        self.judged = self.groups.summed(problem.judged_weights)
        self.numbers = self.groups.sizes()
        self.sizes = self.groups.sizes(examples.weights)
        start = None
        if options.prior != BASE_RATE:
            start = problem.unit.of_learner(float(options.prior) - problem.correction)
        assert options.n_steps is not None
        steps = Steps(
            options.n_steps,
            options.learning_rate,
            options.l2,
            options.l2,
            start,
            not options.validate,
        )
        self.bin_scores = score_table([each.scores for each in pool.candidates], self.levels)
        directed = self.directions if self.directions.any() else None
        shared = self.bins, self.bin_scores, self.targets, self.sizes, problem.loss, steps
        worth = search.worth(pool.candidates, self.weights.shape[1])
        data = StepData(*shared, self.offset, worth, self.search.pairs, directions=directed)
        self.boosting = Boosting(data, self.weights, jobs, self.judged)
        self.bags = self.boosting.bags
        self.factor = 1.0
        """what all scores are multiplied by"""
        self.lines: Beside | None = None
        """the lines beside the steps, if there are any"""
        self.constant_loss = self._constant_loss()
        self.short: Short | None = None
        """the short model, once it is made"""
        self._surely: dict[int, bool] = {}
        """whether a number of steps gains more than noise does"""
        self.length = 0, 0
        """the numbers of effects of the short model and of the long one"""

    def add_lines(self) -> None:
        """Put lines beside the steps, or in their place, if held-out examples are predicted better so."""
        problem, candidates = self.problem, self.pool.candidates
        schema = problem.engine.database.schema
        simple = [each for each in simple_candidates(candidates, schema) if not self.directions[each]]
        if not simple or not self.options.validate or not self.judged.any() or problem.loss.together:
            return
        values = line_values(problem.engine, candidates, simple, problem.examples.keys)
        offset = self.offset[self.groups.which]
        data = LineData(values, problem.targets, offset, problem.weights, problem.loss)
        lines = fitted_lines(data, problem.bag_weights, problem.judged_weights)
        if lines is None:
            return
        steps = self._scores(*self._of_steps(self.steps))[self.groups.which]
        both = steps, lines.scores(values) + offset[:, None]
        surely = 1.0 if self.steps else NOISE_OF_LINES
        share = share_of_lines(problem.loss, problem.targets, problem.judged_weights, both, surely)
        if share:
            self._separate()
            self.lines = Beside(share, lines, values)

    def _separate(self) -> None:
        """Let each example stand for itself: equal ones in all bins may differ in their lines."""
        which = self.groups.which
        self.bins, self.targets, self.offset = self.bins[:, which], self.targets[which], self.offset[which]
        self.weights, self.judged = self.problem.bag_weights, self.problem.judged_weights
        self.groups = all_alone(len(which))
        self.numbers, self.sizes = self.groups.sizes(), self.problem.weights

    def calibrate(self) -> None:
        """With classes, stretch all scores by the factor that suits examples that models did not learn from.

        Each bag stops where its single model is best; the average of the bags bears larger differences.
        """
        from hornbeam.learning.losses.softmax import LabelDesign, fit_softmax

        scores = self.held_out_scores()
        known = ~np.isnan(scores.reshape(len(scores), -1)[:, 0])
        if not self.shape or not self.options.validate or not known.any() or not self.steps:
            return
        targets, counts = self.problem.targets[known].astype(np.int64), self.problem.weights[known]
        scores = scores[known]
        # The order in which examples are given must not matter.
        order = np.lexsort([counts, targets, *scores.T])
        scores, targets, counts = scores[order], targets[order], counts[order]
        design = LabelDesign(scores, scores[:, :, None], targets, counts)
        self.factor = max(
            round(1.0 + float(fit_softmax(design, np.array([PENALTY]))[0]), DIGITS), LEAST_FACTOR
        )
        self.offset = self.factor * self.offset
        if self.block is not None:
            self.block = self.block.at(self.factor)

    def _row(self, candidate: int) -> Bins:
        """The bins of a candidate or of a pair."""
        return row_of(candidate, self.bins, self.search.pairs)

    def _candidate(self, number: int) -> FeatureCandidate:
        """A candidate, or a pair as one."""
        own = self.pool.candidates
        return own[number] if number < len(own) else candidate_of(Pair.of(number, len(own)), own)

    @property
    def steps(self) -> int:
        """Number of steps in the model: those with the least loss on held-out examples, or all.

        Judges learn from fewer examples, and each is a single model. The average of the bags bears more steps
        than they do; it takes more if these are better for the judges than none.
        """
        if not self.options.validate:
            return self.bags.done
        losses = self.bags.mean_losses
        best = int(np.argmin(losses))
        more = min(int(MORE_STEPS * best), self.bags.done)
        chosen = more if self.problem.is_judged_later and losses[more] < losses[0] else best
        if chosen not in self._surely:
            self._surely[chosen] = self._gains_surely(chosen)
        return chosen if self._surely[chosen] else 0

    def _gains_surely(self, steps: int) -> bool:
        """Whether some steps lower the loss of judged examples by more than noise does."""
        times = self.judged.sum(axis=1)
        if not times.any() or not steps:
            return True
        loss, targets = self.problem.loss, self.targets[:, None]
        before = self.bags.start[None, :] + self.offset[:, None]
        gains = loss.each(targets, before) - loss.each(targets, self._scores(*self._of_steps(steps)))
        # An example that judges several models counts once, with its mean.
        each = (gains * self.judged).sum(axis=1)[times > 0] / times[times > 0]
        sizes = np.minimum(times, self.sizes)[times > 0]
        mean = float((each * sizes).sum() / sizes.sum())
        variance = float((((each - mean) ** 2) * sizes).sum() / sizes.sum())
        return mean > NOISE * math.sqrt(variance / float(sizes.sum()))

    @property
    def held_out_loss(self) -> float | None:
        """The loss of the held-out examples; None if none is held out.

        It is that of the model that is kept, once its effects are known, and of the long model before.
        """
        lost = 0.0 if self.short is None else self.short.lost
        return self._measured(self._long_loss() + lost)

    @property
    def base_loss(self) -> float | None:
        """The loss of the held-out examples under the best constant of each bag."""
        return self._measured(self.constant_loss)

    @property
    def kept_gain(self) -> float | None:
        """The share of the long model's gain on held-out examples that the short model keeps."""
        return None if self.short is None or not math.isfinite(self.short.kept) else self.short.kept

    def _long_loss(self) -> float:
        """The mean loss of the long model on judged examples."""
        if self.lines is None and self.factor == 1.0:
            return self.bags.mean_losses[self.steps]
        each = self.problem.loss.each(self.targets[:, None], self._scores(*self._curves()))
        return float((each * self.judged).sum() / self.judged.sum())

    def round(self) -> Round:
        """A record of the steps done so far."""
        done = self._measured(self.bags.mean_losses[-1])
        return Round(self.bags.done, done, self.base_loss, self.problem.loss.measure)

    def fingerprint(self) -> str:
        """A hash of the candidates by their bins, and of the examples that each model learns from."""
        return blake2b(self.bins.tobytes() + self.weights.tobytes(), digest_size=16).hexdigest()

    def score(self) -> str:
        """How well the model predicts held-out examples, beside a constant."""
        if self.held_out_loss is None or self.base_loss is None:
            return ""
        how = "out-of-bag" if len(self.design.averaged) > 1 else "cross-validated"
        how = "later examples:" if self.problem.is_judged_later else how
        loss = self.problem.loss
        own, base = map(loss_text, (self.held_out_loss, self.base_loss))
        return f"{how} {loss.measure} {own}, {loss.constant} {base}"

    def settings(self) -> dict[str, object]:
        """What was chosen, and how well the model predicts held-out examples."""
        numbers = {"held_out_loss": self.held_out_loss, "base_loss": self.base_loss}
        if self.kept_gain is not None:
            numbers |= {"gain_kept": round(self.kept_gain, 6), "effects_of_long": self.length[1]}
        return {
            "steps": self.steps,
            "candidates": len(self.pool.candidates),
        } | {name: number for name, number in numbers.items() if number is not None}

    def length_text(self) -> str:
        """How much of the long model's gain the effects keep; empty if no effects are left out."""
        few, many = self.length
        if self.kept_gain is None or few == many:
            return ""
        weights = 0 if self.block is None else sum(len(each.constants) for each in self.block.clauses)
        beside = f", beside weights of {plural(weights, 'constant')}," if weights else ""
        verb = "keeps" if few == 1 else "keep"
        share = min(100, math.floor(100 * self.kept_gain + 0.5))
        return f"{plural(few, 'effect')}{beside} {verb} {share} % of what {many:,} gain on held-out examples"

    def _constant_loss(self) -> float:
        """The mean loss of the held-out examples under the best constant of each bag; NaN without any."""
        held_out, loss = self.judged, self.problem.loss
        start = np.array([loss.start(self.targets, weights) for weights in self.weights.T])
        total = float(held_out.sum())
        each = loss.each(self.targets[:, None], start[None, :])
        return float((each * held_out).sum() / total) if total else math.nan

    def _measured(self, mean: float) -> float | None:
        """A mean loss as readers see it; None if no example is held out."""
        if not math.isfinite(mean):
            return None
        loss, unit = self.problem.loss, self.problem.unit
        shown = loss.measured(mean, unit)
        return round(shown, 6) if unit == PLAIN_UNIT else round_weight(shown)

    def effects(self, short: bool = True) -> tuple[Score, OfClasses]:
        """The intercept and the effects of the model, the most important first; with classes, for each class.

        If it need not be ``short``, all effects of the long model are in it, whatever the options say.
        """
        curves, intercepts = self._curves()
        used = sorted({candidate for each in curves for candidate in each})
        if not used:
            start = self._mean(intercepts)
            if self.block is None and self.boosting.steps.start is None:
                start = self.problem.loss.start(self.targets, self.sizes)
            return self._based(start), ((),) * self._n_scores
        bins = np.array([self._row(each) for each in used])
        models = self._scores(curves, intercepts)
        averaged = models[:, list(self.design.averaged)].mean(axis=1)
        tables = self._tables(used, curves)
        lines = {place: line for place, each in enumerate(used) if (line := self._line(each)) is not None}
        for place, line in lines.items():
            lines_or_steps([table[place] for table in tables], bins[place], line, self.sizes)
        long = Long(
            bins,
            np.concatenate([models, averaged[:, None]], axis=1),
            np.column_stack([self.weights, self.sizes]),
            self.judged,
            tables,
            self.offset,
            [_idea(self._candidate(each).request.body) for each in used],
            self.directions[np.array(used) % len(self.directions)],
            [len(self._candidate(each).cuts) + 2 for each in used],
            {place: line for place, line in lines.items() if tables[-1][place][-1]},
        )
        most, validate = self.options.max_effects, self.options.validate
        if short and most != ALL and (validate or most is not None):
            share = self.options.keep_gain if validate else 1.0
            gain = self.constant_loss - self._long_loss()
            wanted = Wanted(share, gain, None if most is None else int(most))
            few = shortened(long, self.targets, self.problem.loss, wanted, self.jobs)
            chosen = [used[place] for place in few.chosen]
            levels, *of_bags = (dict(zip(chosen, own, strict=True)) for own in (few.curves, *few.of_bags))
            intercept, effects = self._ordered(few.intercept, levels, of_bags)
            self.short, self.length = few, (len(effects[0]), len(used))
            return self._based(intercept), effects
        return self._long(used, curves, intercepts)

    def _long(
        self, used: list[int], curves: list[dict[int, Floats]], intercepts: list[Score]
    ) -> tuple[Score, OfClasses]:
        """The average of the models as it is."""
        averaged = self.design.averaged
        levels = {
            candidate: sum((self._levels(curves[bag], candidate) for bag in averaged), self._none())
            / len(averaged)
            for candidate in used
        }
        intercept, effects = self._ordered(self._mean(intercepts), levels, curves)
        return self._based(intercept), effects

    def _curves(self) -> tuple[list[dict[int, Floats]], list[Score]]:
        """For each model its curves, with a level for each bin and, last, a slope; and the intercept."""
        curves, intercepts = self._of_steps(self.steps)
        if self.factor != 1.0:
            curves = [{each: self.factor * own for each, own in bag.items()} for bag in curves]
            intercepts = [self.factor * own for own in intercepts]
        if self.lines is None:
            return curves, intercepts
        share, lines, values = self.lines
        mixed = []
        for model, own in enumerate(curves):
            beside = lines.curves(model, values, self.levels + 1)
            kept = own if share < 1.0 else {}
            mixed.append(
                {
                    each: (1.0 - share) * self._levels(kept, each) + share * self._levels(beside, each)
                    for each in kept | beside
                }
            )
        both = zip(intercepts, lines.intercepts, strict=True)
        return mixed, [(1.0 - share) * own + share * beside for own, beside in both]

    def _of_steps(self, steps: int) -> tuple[list[dict[int, Floats]], list[Score]]:
        """For each model the curves after some steps, and the intercept."""
        curves: list[dict[int, Floats]] = []
        intercepts: list[Score] = []
        for start, additions in zip(self.bags.start, self.bags.additions, strict=True):
            own: dict[int, Floats] = {}
            done = [each for each in additions[:steps] if each.candidate >= 0]
            for candidate, change, _ in done:
                levels = own.setdefault(candidate, self._none())
                levels[: len(change)] += change
            curves.append(own)
            intercepts.append(done[-1].intercept if done else start if self.shape else float(start))
        return curves, intercepts

    def _scores(self, curves: list[dict[int, Floats]], intercepts: list[Score]) -> Floats:
        """The score of each example in each model; with classes, they are the last axis."""
        scores = np.repeat(np.array(intercepts)[None, :], len(self.targets), axis=0)
        scores += self.offset[:, None]
        for column, own in enumerate(curves):
            for candidate, levels in own.items():
                scores[:, column] += self._added(candidate, levels)
        return scores

    def _added(self, candidate: int, levels: Floats) -> Floats:
        """What a curve adds to the score of each example."""
        added: Floats = levels[self._row(candidate)]
        if self.shape:
            return added
        line = self._line(candidate) if levels[-1] else None
        return added if line is None else added + levels[-1] * line

    def _line(self, candidate: int) -> Floats | None:
        """The values of a candidate in the units of its line; None if it has no line."""
        place = None if self.lines is None else self.lines.values.of(candidate)
        return None if self.lines is None or place is None else self.lines.values.columns[place]

    def held_out_scores(self) -> Floats:
        """The mean score of each example in the models that are judged on it; NaN if none is."""
        scores = self._scores(*self._curves())[self.groups.which]
        outside = (self.design.judged > 0).reshape(*self.design.judged.shape, *(1 for _ in self.shape))
        with np.errstate(invalid="ignore"):
            mean: Floats = np.where(outside, scores, 0.0).sum(axis=1) / outside.sum(axis=1)
        return mean

    def _tables(self, used: list[int], curves: list[dict[int, Floats]]) -> list[Floats]:
        """The curves of each model, and of the average, with a row for each candidate that is used."""
        tables = [np.array([self._levels(own, candidate) for candidate in used]) for own in curves]
        averaged = sum((tables[bag] for bag in self.design.averaged), np.zeros_like(tables[0]))
        return [*tables, averaged / len(self.design.averaged)]

    @property
    def _n_scores(self) -> int:
        """How many scores an example has: one for each class."""
        return int(np.prod(self.shape, dtype=int))

    def _ordered(
        self, intercept: Score, levels: dict[int, Floats], curves: list[dict[int, Floats]]
    ) -> tuple[Score, OfClasses]:
        """The intercept, and the effects in the order of their importance; with classes, for each of them."""
        if self.shape:
            from hornbeam.learning.effects.class_levels import all_balanced

            total = self.sizes.sum()
            shares = {
                each: np.bincount(self._row(each), self.sizes, minlength=self.levels) / total
                for each in levels
            }
            intercept, levels, curves = all_balanced(intercept, levels, curves, shares)
        made = [self._effects_of(candidate, curve, curves) for candidate, curve in levels.items()]
        kept = [each for each in made if any(own.importance > 0 for own in each)]
        kept.sort(key=lambda each: (-sum(own.importance for own in each), str(each[0].effect)))
        return intercept, tuple(zip(*kept, strict=True)) if kept else ((),) * self._n_scores

    def _effects_of(
        self, candidate: int, levels: Floats, curves: list[dict[int, Floats]]
    ) -> tuple[FittedEffect, ...]:
        """The effect of a candidate, with classes for each."""
        if not self.shape:
            return (self._effect(candidate, levels, curves),)
        from hornbeam.learning.effects.class_levels import Shown, effects_of_classes

        (head, body, feature), cuts, _ = self._candidate(candidate)
        averaged = self.design.averaged
        bags = [self._levels(curves[bag], candidate) for bag in averaged] if len(averaged) > 1 else []
        named = Effect(head, body, feature, Curve((), (0.0,)))
        shown = Shown(named, cuts, self._kind(body, feature), SHARE / (1.0 - SHARE))
        return effects_of_classes(shown, levels, bags, self._row(candidate), (self.numbers, self.sizes))

    def _effect(self, candidate: int, levels: Floats, curves: list[dict[int, Floats]]) -> FittedEffect:
        """The effect of a candidate; neighbouring bins with equal levels become one."""
        (head, body, feature), cuts, _ = self._candidate(candidate)
        bins = self._row(candidate)
        counts = np.bincount(bins, self.numbers, minlength=len(cuts) + 2)
        added = self._added(candidate, levels)
        mean = float((added * self.sizes).sum() / self.sizes.sum())
        importance = float((np.abs(added - mean) * self.sizes).sum() / self.sizes.sum())
        scale = self.problem.unit.scale
        limits = self._limits(candidate) if levels[-1] else None
        slope = 0.0 if limits is None else round_weight(scale * float(levels[-1]) / limits.deviation)
        base = 0.0 if limits is None or not slope else float(levels[-1] * limits.ends[0])
        rounded = [round_weight(scale * level) for level in (levels[: len(cuts) + 2] + base).tolist()]
        starts = [1, *(b for b in range(2, len(cuts) + 2) if rounded[b] != rounded[b - 1])]
        ends = [*starts[1:], len(cuts) + 2]
        kind = self._kind(body, feature)
        curve = Curve(
            tuple(value_of(cuts[start - 2], kind) for start in starts[1:]),
            tuple(rounded[start] for start in starts),
            round_weight(scale * float(levels[0])) if counts[0] else 0.0,
        )
        centre = None
        if limits is not None and slope:
            curve, centre = curve._replace(slope=slope, low=limits.low, high=limits.high), limits.mean
        errors: tuple[float, ...] = ()
        if len(self.design.averaged) > 1:
            places = [(0, 1), *zip(starts, ends, strict=True)]
            spread = self._spread(candidate, curves, places)
            errors = tuple(scaled(round(each, 6), scale) for each in spread)
        examples = [int(counts[0]), *(int(counts[a:b].sum()) for a, b in zip(starts, ends, strict=True))]
        effect = in_order_of_use(Effect(head, body, feature, curve))
        return FittedEffect(effect, scaled(round(importance, 9), scale), errors, tuple(examples), centre)

    def _limits(self, candidate: int) -> LineEnds | None:
        """Where the line of a candidate begins and ends; None if it has none."""
        place = None if self.lines is None else self.lines.values.of(candidate)
        return None if self.lines is None or place is None else self.lines.values.limits[place]

    def _kind(self, body: Body, feature: Feature) -> str:
        """Whether the values of a feature are numbers or dates."""
        schema = self.problem.engine.database.schema
        return DATE if has_dates(schema, self.problem.head, body, feature) else NUMBER

    def _spread(
        self, candidate: int, curves: list[dict[int, Floats]], places: list[tuple[int, int]]
    ) -> list[float]:
        """The standard error of the mean level of some ranges of bins, each from one bin to before another.

        It is taken from the spread between bags, which share most examples.
        """
        bags = np.array([self._levels(curves[bag], candidate) for bag in self.design.averaged])
        line = self._line(candidate) if bags[:, -1].any() else None
        levels = bags[:, [start for start, _ in places]]
        if line is not None:
            bins = self._row(candidate)
            inside = [line[(start <= bins) & (bins < end)] for start, end in places]
            levels = levels + bags[:, -1:] * [float(each.mean()) if len(each) else 0.0 for each in inside]
        errors = np.std(levels, axis=0) * math.sqrt(SHARE / (1.0 - SHARE))
        return [float(each) for each in errors]

    def _levels(self, own: dict[int, Floats], candidate: int) -> Floats:
        levels = own.get(candidate)
        return self._none() if levels is None else levels

    def _none(self) -> Floats:
        return np.zeros((self.levels + 1, *self.shape))

    def _mean(self, intercepts: list[Score]) -> Score:
        own = np.array([intercepts[bag] for bag in self.design.averaged])
        sums = [math.fsum(column) / len(own) for column in own.reshape(len(own), -1).T.tolist()]
        return np.array(sums) if self.shape else sums[0]

    def _based(self, intercept: Score) -> Score:
        """The prior of the model: weights per constant bring their own intercept."""
        if self.block is None:
            return intercept
        return intercept + self.block.intercept - self.block.crossed.mean(axis=0)


def _offset_of(block: ConstantWeights | None, shape: tuple[int, ...]) -> Floats:
    """What weights per constant add to the score of each example, less what they add on average."""
    if block is None:
        return np.zeros(shape)
    offset: Floats = block.crossed - block.crossed.mean(axis=0)
    return offset


def _idea(body: Body) -> Idea:
    limits = sum(
        (step.last is not None) + (step.within is not None) for step in body if isinstance(step, Recent)
    )
    return Idea(frozenset(predicates_in(body)), n_conditions(body), len(body) + limits)


def _directions(problem: Problem, pool: Pool) -> Floats:
    """For each candidate 1 if its curve may only rise, -1 if it may only fall, else 0."""
    if not problem.options.rising and not problem.options.falling:
        return np.zeros(len(pool.candidates))
    from hornbeam.learning.effects.directions import directions_of

    return directions_of(problem, pool.candidates)


def scaled(value: float, scale: float) -> float:
    """A rounded number in the unit of the model."""
    return value if scale == 1.0 else round_weight(value * scale)
