"""The default learner: effects with curves, chosen by small steps and judged on held-out examples.

1. Paths lead from the examples along links (``paths``). Each offers features of its groundings
   (``candidates``), which become a few bins (``bins``).
2. Weights per constant are fitted together, as one block (``constants``).
3. Boosting takes many small steps over the candidates, for several bags at once (``boosting``, ``bagging``).
   The examples outside the bags choose the number of steps, which may be none. If examples have cut-offs,
   later examples choose it. They may put lines beside the steps, or in their place (``lines``).
4. The average of the bags is the long model (``long_model``). The short model has fewer effects
   (``shortening``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.relations import Examples
from hornbeam.data.rows import distinct_rows
from hornbeam.data.sampling import in_order, sampled
from hornbeam.engines.contract import Engine, Skipped
from hornbeam.errors import DataError, OptionError
from hornbeam.learning.checkpoint import Checkpoint, Replay, Saved, fit_fingerprint, read_round
from hornbeam.learning.effects.bodies import BodyLimits
from hornbeam.learning.effects.candidates import Offers
from hornbeam.learning.effects.collecting import Collecting, KeptCandidates, PathSettings, is_worth_workers
from hornbeam.learning.effects.conditions import NO_SEARCH, Search, narrowed_paths, rules_of
from hornbeam.learning.effects.constants import ConstantWeights, Weighted, constant_weights
from hornbeam.learning.effects.examples.bagging import fold_numbers
from hornbeam.learning.effects.examples.problem import Problem
from hornbeam.learning.effects.links import (
    MOST_ATTRIBUTES,
    MOST_PATHS,
    Path,
    PathFinder,
    Vocabulary,
    windows_of,
)
from hornbeam.learning.effects.long_model import LongModel, OfClasses
from hornbeam.learning.effects.steps.boosting import most_steps
from hornbeam.learning.effects.strength import at_best_strength
from hornbeam.learning.history import ALL_STEPS, INTERRUPTED, NO_EFFECT, Collected, History, Record, Round
from hornbeam.learning.loop import NO_CONTROL, Control, Ending, Pause, Shared, run
from hornbeam.learning.losses.loss import Loss, Score
from hornbeam.learning.losses.named import loss_for
from hornbeam.learning.numbers import Floats, round_weight
from hornbeam.learning.options import BASE_RATE, EffectOptions
from hornbeam.learning.problem import Fit, check_labels, check_values, language_for, prior_of
from hornbeam.learning.workers import ALONE, Jobs
from hornbeam.logic.clauses import Atom, head_atom
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.effects import mean_level
from hornbeam.model.scales import LOGISTIC, NUMERIC_LOSSES, SCALES
from hornbeam.model.training import key_names, training_of

FEWEST_CUTS, MOST_CUTS = 8, 32
"""Maximum number of cuts of a curve: for labels of few examples, and for those of many and for numbers."""
EXAMPLES_PER_CUT = 64
"""Labels of this many examples are worth a cut."""
LEAST_ATTRIBUTES = 300
MOST_VALUES = 10_000_000
"""About this many values of attributes are looked at: with more examples, fewer attributes."""
LEAST_PATHS = 60
MOST_TALLIES = 2_000_000
"""About this many examples are followed along paths: with more examples, fewer paths."""


class EffectState(NamedTuple):
    """An unfinished fit: the models so far, once candidates are collected, and why it ended."""

    long: LongModel | None = None
    groups: Iterator[bool] = iter(())
    """takes a few steps whenever it is asked for the next value"""
    rounds: tuple[Round, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    ended: str | None = None


def fit(
    engine: Engine,
    examples: Examples,
    options: EffectOptions | None = None,
    control: Control = NO_CONTROL,
) -> Fit[Model]:
    """Learn a model of the target from examples with labels 0 and 1, or with numbers.

    Ctrl-C and ``control.should_stop`` end the fit and mark it as cut. The model then has the best number of
    steps so far; it has none if not all candidates were collected.
    """
    problem, rows = _problem(engine, examples, options or EffectOptions())
    with Jobs(control.jobs) as jobs:
        learner = _Learner(problem, examples, rows, control, jobs)
        state, ending = run(EffectState(), learner.start, learner.go_on, control)
        return learner.result(state, ending)


def _problem(
    engine: Engine, examples: Examples, options: EffectOptions
) -> tuple[Problem, npt.NDArray[np.intp]]:
    """The problem, and which of the examples are learned from, in order."""
    database, target = engine.database, examples.target
    loss = loss_for(options.loss, examples.values is not None)
    head = head_atom(target, database.schema.arity(target))
    if loss.name in NUMERIC_LOSSES:
        examples = examples.as_numbers()
    if options.n_cuts is None:
        # An example that is given twice does not tell its features finer than once.
        distinct = len(distinct_rows([*examples.keys.T], len(examples))[0])
        options = replace(options, n_cuts=n_cuts_for(distinct, examples.values is not None))
    if options.choice is not None and not loss.together:
        raise OptionError(f'choice="{options.choice}" is refused: only the loss choice has choices.')
    if examples.values is not None:
        return _numeric_problem(engine, head, examples, options, loss)
    if loss.together:
        return _choice_problem(engine, head, examples, options)
    if examples.classes:
        return _class_problem(engine, head, examples, options)
    check_labels(examples)
    rows = sampled(database, target, examples.keys, examples.labels, options.neg_pos_ratio, options.seed)
    rows = rows[in_order(database, target, examples.keys[rows], examples.labels[rows])]
    kept = examples.at(rows)
    left, all_ = (
        (each.labels == 0) if each.weights is None else each.weights[each.labels == 0]
        for each in (kept, examples)
    )
    correction = math.log(left.sum() / all_.sum())
    targets = kept.labels.astype(np.float64)
    options = replace(options, n_steps=options.n_steps or most_steps(len(kept), options.validate))
    return Problem(engine, head, kept, options, loss, targets, correction=correction), rows


def _choice_problem(
    engine: Engine, head: Atom, examples: Examples, options: EffectOptions
) -> tuple[Problem, npt.NDArray[np.intp]]:
    """The problem of alternatives, and the examples of it in order. No alternative is left out at random."""
    from hornbeam.learning.effects.examples.choices import alternatives_of

    rows, choices, targets, loss, notes = alternatives_of(engine, examples, options)
    options = replace(options, n_steps=options.n_steps or most_steps(len(rows), options.validate))
    kept = examples.at(rows)
    return Problem(engine, head, kept, options, loss, targets, choices=choices, notes=notes), rows


def _class_problem(
    engine: Engine, head: Atom, examples: Examples, options: EffectOptions
) -> tuple[Problem, npt.NDArray[np.intp]]:
    """The problem of more than two classes, and the order of the examples. None is left out at random."""
    from hornbeam.learning.losses.classes import ClassLoss

    _check_class_options(examples, options)
    rows = in_order(engine.database, examples.target, examples.keys, examples.labels)
    options = replace(options, n_steps=options.n_steps or most_steps(len(rows), options.validate))
    targets, loss = examples.labels[rows].astype(np.float64), ClassLoss(len(examples.classes))
    return Problem(engine, head, examples.at(rows), options, loss, targets), rows


def _check_class_options(examples: Examples, options: EffectOptions) -> None:
    target, number = examples.target, len(examples.classes)
    if options.rising or options.falling:
        raise OptionError(
            f'"{target}" has {number} classes, and what raises one lowers others: rising and falling '
            "are for numbers and for two classes."
        )
    if options.prior != BASE_RATE:
        raise OptionError(
            f'prior={options.prior} is refused: "{target}" has {number} classes, which have a prior each; '
            "leave it out."
        )


def n_cuts_for(examples: int, numeric: bool) -> int:
    """The maximum number of cuts of a curve: numbers need finer curves, and many examples bear them.

    >>> n_cuts_for(300, False), n_cuts_for(1_000, False), n_cuts_for(5_000, False), n_cuts_for(300, True)
    (8, 15, 32, 32)
    """
    return MOST_CUTS if numeric else min(MOST_CUTS, max(FEWEST_CUTS, examples // EXAMPLES_PER_CUT))


def _numeric_problem(
    engine: Engine, head: Atom, examples: Examples, options: EffectOptions, loss: Loss
) -> tuple[Problem, npt.NDArray[np.intp]]:
    """The problem of a numeric target, and the order of the examples in it."""
    assert examples.values is not None
    target = examples.target
    if loss.name not in NUMERIC_LOSSES:
        raise DataError(
            f'"{target}" holds numbers, which the loss {loss.name} cannot learn; choose one of '
            f"{', '.join(NUMERIC_LOSSES)}, or learn them as classes."
        )
    check_values(target, examples.values)
    refusal = loss.refusal(examples.values)
    if refusal:
        raise DataError(f'"{target}" cannot be learned: {refusal}.')
    rows = in_order(engine.database, target, examples.keys, examples.labels)
    kept = examples.at(rows)
    assert kept.values is not None
    weights = np.ones(len(kept)) if kept.weights is None else kept.weights
    targets, unit = loss.prepared(kept.values, weights)
    options = replace(options, n_steps=options.n_steps or most_steps(len(kept), options.validate))
    return Problem(engine, head, kept, options, loss, targets, unit), rows


@dataclass(eq=False)
class _Learner:
    """A fit step by step, as the loop of all learners asks for it."""

    problem: Problem
    all_examples: Examples
    rows: npt.NDArray[np.intp]
    """positions of the examples that are learned from"""
    control: Control
    jobs: Jobs
    checkpoint: Checkpoint[Round] | None = None
    saved: Saved[Round] = field(default_factory=Saved)

    def start(self) -> EffectState:
        """Read the checkpoint, if there is one; a checkpoint of another fit is refused before any work."""
        folder, problem = self.control.checkpoint, self.problem
        if folder is not None:
            settings = problem.options.settings() | {"learner": "rlr"}
            settings |= {} if problem.loss.name == LOGISTIC else {"loss": problem.loss.name}
            settings |= {} if not self.all_examples.classes else {"classes": [*self.all_examples.classes]}
            settings |= {} if problem.choices is None else {"choices": problem.targets.tolist()}
            database, memory = problem.engine.database, problem.engine.memory
            fingerprint = fit_fingerprint(database, self.all_examples, settings, memory)
            self.checkpoint = Checkpoint(FilePath(folder), fingerprint, read_round)
            self.saved = self.checkpoint.load(database.schema)
        return EffectState()

    def go_on(self, state: EffectState, pause: Pause) -> tuple[EffectState, Sequence[Record]]:
        """Collect the candidates, or take a few steps."""
        long = state.long
        if long is None:
            return self._collected(pause), ()
        pause()
        renewed = next(state.groups, None)
        if renewed is None:
            state = state._replace(ended=ALL_STEPS)
            self._save(state)
            return state, ()
        last = long.round()
        state = state._replace(rounds=(*state.rounds, last))
        if renewed:
            self._save(state)
        return state, (last,)

    def _collected(self, pause: Pause) -> EffectState:
        paths, offers, search = _candidates(self.problem, pause, self.control, self.jobs)
        pause()
        block = _block(self.problem, paths, self.jobs)
        if block is not None:
            block = at_best_strength(self.problem, offers.pool, block, self.jobs, search, pause)
        pause()
        long = LongModel(self.problem, offers.pool, block, self.jobs, search)
        offers.pool.rows.clear()
        if self.checkpoint is not None:
            self.checkpoint.check_candidates(self.saved.replay, long.fingerprint())
        long.boosting.replay(self.saved.replay.chosen)
        groups = long.boosting.run()
        return EffectState(long, groups, self.saved.steps, tuple(offers.skipped), self.saved.ended)

    def _save(self, state: EffectState) -> None:
        if self.checkpoint is not None and state.long is not None:
            chosen = tuple(map(tuple, state.long.bags.chosen()))
            # Skipped candidates are skipped again when candidates are collected again.
            self.checkpoint.save(state.rounds, (), state.ended, Replay(state.long.fingerprint(), chosen))

    def result(self, state: EffectState, ending: Ending) -> Fit[Any]:
        """The model and the history of the fit."""
        problem, long = self.problem, state.long
        number = max(1, len(problem.examples.classes))
        clauses: Sequence[tuple[WeightedClause, ...]] = ((),) * number
        effects: OfClasses = ((),) * number
        if long is None:
            prior = _prior_alone(problem)
            history = History((), ending.reason, ending.cut, notes=problem.notes)
        else:
            try:
                if number == 1 and not ending.cut:
                    long.add_lines()
                if number > 1 and not ending.cut:
                    long.calibrate()
                prior, effects = long.effects()
            except KeyboardInterrupt:
                ending = Ending(INTERRUPTED, cut=True)
                prior, effects = long.effects(short=False)
            prior = problem.unit.of_model(prior) + problem.correction
            clauses = clauses if long.block is None else long.block.of_classes(number)
            nothing = not ending.cut and not effects[0] and not clauses[0]
            reason = NO_EFFECT if nothing else ending.reason
            said = long.score(), long.length_text(), problem.notes
            history = History(state.rounds, reason, ending.cut, state.skipped, long.steps, *said)
        database = problem.engine.database
        chosen = {} if long is None else long.settings() | self._for_readers(long, prior, effects)
        settings = problem.options.settings() | dict(database.origin) | chosen | ending.settings()
        training = training_of(key_names(database, self.all_examples))
        models = [
            Model(
                problem.examples.target,
                database.schema,
                round_weight(float(own)),
                clauses[place],
                settings,
                "rlr",
                effects=effects[place],
                training=training,
                loss=problem.loss.name,
            )
            for place, own in enumerate(np.ravel(prior))
        ]
        held_out = self._held_out(long)
        if problem.examples.classes:
            from hornbeam.model.class_model import learned_together

            averages = self._averages(long, prior)
            return Fit(learned_together(problem.examples.classes, models, averages), history, held_out)
        return Fit(models[0], history, held_out)

    def _averages(self, long: LongModel | None, prior: Score) -> tuple[float, ...]:
        """With classes, the logarithm of the probability of each for an average example."""
        block = None if long is None else long.block
        return tuple(round(float(each), 6) for each in prior + (0.0 if block is None else block.mean))

    def _held_out(self, long: LongModel | None) -> Floats:
        """For each given example the log-odds from models that were learned without it."""
        scores = np.full((len(self.all_examples), *self.problem.loss.shape), np.nan)
        if long is not None:
            unit = self.problem.unit
            scores[self.rows] = unit.centre + unit.scale * long.held_out_scores() + self.problem.correction
        return scores

    def _for_readers(self, long: LongModel, prior: Score, of_classes: OfClasses) -> dict[str, object]:
        """Settings that no prediction uses: the mean score, and display names of constants with weights."""
        database, block, effects = self.problem.engine.database, long.block, of_classes[0]
        names: dict[str, dict[str, str]] = {}
        if database.display_names:
            from hornbeam.logic.english.wording import named_by_target
            from hornbeam.model.readable.constants import shown_names

            clauses = () if block is None else block.of_classes(len(of_classes))[0]
            fitted = [each.effect for each in effects]
            named = named_by_target(database.origin)
            names = shown_names(clauses, fitted, database.schema, database.display_names, named)
        problem = self.problem
        scale = SCALES[problem.loss.name]
        about: dict[str, object] = {}
        if scale.of_choice or scale.of_class:
            return {"names": names} if names else {}
        of_block = 0.0 if block is None else problem.unit.scale * block.mean
        average = prior + sum(map(mean_level, effects)) + of_block
        if not scale.numeric:
            about = {"average_log_odds": round(average, 6)}
        else:
            constant = problem.unit.of_model(problem.loss.start(problem.targets, problem.weights))
            predicted = scale.of_score(constant)
            about = {"average_score": round_weight(average), "constant": round_weight(predicted)}
            about |= {name: round_weight(value) for name, value in problem.loss.kept(problem.unit).items()}
        return about | ({"names": names} if names else {})


def _prior_alone(problem: Problem) -> Score:
    """The prior of a model without effects."""
    if problem.options.prior != BASE_RATE:
        return float(problem.options.prior)
    if problem.loss.name == LOGISTIC and problem.examples.weights is None:
        return prior_of(problem.examples.labels, BASE_RATE) + problem.correction
    start = problem.loss.start(problem.targets, problem.weights)
    return problem.unit.of_model(start) + problem.correction


def _candidates(
    problem: Problem, pause: Pause, control: Control, jobs: Jobs = ALONE
) -> tuple[list[Path], Offers, Search]:
    """The paths whose attributes are among the candidates, the candidates, and what may be made of them."""
    engine, options, examples = problem.engine, problem.options, problem.examples
    cut = engine.database.cutoffs_of(examples.target, examples.keys) is not None
    windows = windows_of(engine.database, examples) if cut else {}
    vocabulary = Vocabulary(engine.database, examples.target)
    most = min(MOST_ATTRIBUTES, max(LEAST_ATTRIBUTES, MOST_VALUES // len(examples.labels)))
    most_paths = min(MOST_PATHS, max(LEAST_PATHS, MOST_TALLIES // len(examples.labels)))
    finder = PathFinder(vocabulary, problem.head, windows, options.max_links, most, most_paths)
    limits = BodyLimits(options.max_literals, options.max_conditions)
    paths = [path for path in finder.paths() if limits.allow(path.body)]
    settings = PathSettings(
        problem.head,
        examples.keys,
        options.n_cuts or FEWEST_CUTS,
        _support(problem),
        options.n_thresholds,
        limits,
        cut,
    )
    offers = settings.offers(engine, engine.memory // 4)
    if not is_worth_workers(engine.database, paths, len(examples.labels)):
        jobs.close()
    collecting = Collecting(offers, settings, jobs)
    path_of = _first_candidates(problem, collecting, paths, pause, control)
    # With cut-offs, every example sees other facts: there a second condition costs more than it gains.
    search = NO_SEARCH
    if options.max_conditions > 1 and not cut:
        first, weights = len(offers.pool.candidates), problem.bag_weights
        narrowed = dict(narrowed_paths(_weighted(problem), weights, options.l2, offers.pool, path_of, jobs))
        followed = _followed(collecting, list(narrowed), len(paths), pause, control)
        of_bags = {first + place: narrowed[path] for place, path in enumerate(followed)}
        search = Search(rules_of(offers.pool.candidates, path_of, limits), of_bags)
    offers.of_cutoffs()
    if not offers.pool.candidates:
        # An error says if there is nothing that a body could be made of.
        language_for(engine.database, examples.target, False, 0, examples.keys)
    return [path for path in paths if path.body not in offers.left_out], offers, search


def _first_candidates(
    problem: Problem, collecting: Collecting, paths: list[Path], pause: Pause, control: Control
) -> list[Path]:
    """Add the candidates of all paths, perhaps as another fit collected them; returns the path of each."""
    shared = control.shared or Shared()
    kept: KeptCandidates | None = shared.get(_key(problem, paths))
    if kept is not None:
        path_of = kept.give(collecting.offers)
        for number in range(1, len(paths) + 1):
            pause()
            if control.on_step is not None:
                control.on_step(Collected(number, len(paths), 0))
        return path_of
    path_of = _followed(collecting, paths, 0, pause, control)
    if control.shared is not None:
        shared.put(_key(problem, paths), KeptCandidates.of(collecting.offers, path_of))
    return path_of


def _key(problem: Problem, paths: Sequence[Path]) -> tuple[object, ...]:
    """All that candidates depend on, but for the engine, which is the same."""
    types = problem.engine.database.schema.types_of(problem.examples.target)
    bodies = tuple((path, path.attributes) for path in paths)
    keys = problem.examples.keys
    given = problem.options
    options = (given.n_cuts, given.n_thresholds, given.max_literals, given.max_conditions, _support(problem))
    return types, options, bodies, keys.shape, keys.tobytes()


def _followed(
    collecting: Collecting, paths: list[Path], before: int, pause: Pause, control: Control
) -> list[Path]:
    """Add the candidates of paths, of which there were some ``before``, and return the path of each."""
    path_of: list[Path] = []
    with closing(collecting.of_paths(paths)) as numbers:
        pause()
        for number, added in enumerate(numbers, start=1):
            path_of += [paths[number - 1]] * added
            if control.on_step is not None:
                control.on_step(Collected(before + number, before + len(paths), added))
            pause()
    return path_of


def _support(problem: Problem) -> int:
    return problem.options.min_support or max(3, len(problem.examples.labels) // 500)


def _block(problem: Problem, paths: list[Path], jobs: Jobs) -> ConstantWeights | None:
    examples, options = problem.examples, problem.options
    database = problem.engine.database
    # What a thing does at one time says too much about it at another, and about the time.
    cut = database.last_times_of(examples.target, examples.keys) is not None
    if not options.per_constant or len(problem.head.args) > 1 or cut:
        return None
    if not options.own_constants:
        own = database.schema.types_of(examples.target)
        paths = [_without_types(path, own) for path in paths]
    folds = fold_numbers(problem.hashes)
    scale = problem.unit.scale
    return constant_weights(problem.engine, problem.head, paths, _weighted(problem), folds, scale, jobs)


def _weighted(problem: Problem) -> Weighted:
    return Weighted(problem.examples.keys, problem.targets, problem.weights, problem.loss)


def _without_types(path: Path, types: Sequence[str]) -> Path:
    """The path without the attributes that are of some types."""
    return replace(path, attributes=tuple(each for each in path.attributes if each.node.type not in types))
