"""The separate models of the targets in training, and what they say of things.

Beside the ordinary model, an *inner* model is learned. It follows at most one link to many, because labels of
neighbours tell better what lies further away; and it has no weights for single things of the target's own
types, which would be labels of neighbours in disguise, and unknown in other data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Examples
from hornbeam.data.numbers import Floats
from hornbeam.data.sampling import sampled
from hornbeam.engines.contract import Engine
from hornbeam.joint.model import label_chances
from hornbeam.joint.neighbours import OwnScores, own_scores
from hornbeam.joint.things import JointTarget, JointTask, Things, things_of
from hornbeam.learning.classes import ClassFit, fit_classes
from hornbeam.learning.effects.examples.bagging import example_hashes, fold_numbers, shares
from hornbeam.learning.history import INTERRUPTED
from hornbeam.learning.learners import learn
from hornbeam.learning.loop import Control
from hornbeam.learning.options import EffectOptions, Options
from hornbeam.learning.problem import Fit
from hornbeam.model.class_model import ClassModel, learned_together
from hornbeam.model.clause_model import Model
from hornbeam.model.files import LearnedModel
from hornbeam.model.scales import sigmoid, softmax

AnyFit = Fit[LearnedModel] | ClassFit


@dataclass(frozen=True, slots=True)
class InnerOptions(EffectOptions):
    """The options of an inner model."""

    own_constants: ClassVar[bool] = False


class Separate(NamedTuple):
    """The ordinary model of a target, and the inner one."""

    ordinary: AnyFit
    inner: AnyFit


@dataclass(frozen=True, eq=False)
class Part:
    """One target in training."""

    things: Things
    """labels are those of training"""
    own: OwnScores
    """held-out for training examples, if there are such scores"""
    folds: npt.NDArray[np.int64]
    """the fold of each training example that has held-out scores, else -1"""
    draws: Floats
    """a number from 0 to 1 for each training example, by its hash"""
    counts: Floats
    """for each label, for how many training examples one stands that the models were learned from"""
    by_fold: tuple[OwnScores, ...] = ()
    """for each fold what models say that were learned without it; empty if ``own`` is for all folds"""


def separate(engine: Engine, task: JointTask, options: Options, control: Control) -> AnyFit:
    """The ordinary model of a target, learned without the facts of any target.

    Ctrl-C is passed on: a joint model needs all of its separate models.
    """
    target, evidence = task
    examples = Examples(target.name, evidence.keys, evidence.labels.astype(np.int8), target.classes)
    fitted: AnyFit
    if target.classes:
        fitted = fit_classes(options.learner, engine, examples, options, control)
    else:
        fitted = learn(options.learner, engine, examples, options, control)
    if fitted.history.ended == INTERRUPTED:
        raise KeyboardInterrupt
    return fitted


def both_models(engine: Engine, task: JointTask, options: EffectOptions, control: Control) -> Separate:
    """The ordinary and the inner model of a target.

    For pairs they are the same: things of pairs have no weights, and facts about both lie two links away.
    """
    ordinary = separate(engine, task, options, control)
    if task.evidence.keys.shape[1] > 1:
        return Separate(ordinary, ordinary)
    return Separate(ordinary, separate(engine, task, inner_options(options), control))


def inner_options(options: EffectOptions) -> InnerOptions:
    """The options of the inner model beside a model with some options."""
    return InnerOptions(**options.settings() | {"max_links": min(options.max_links, 1)})  # type: ignore[arg-type]


def with_settings(model: LearnedModel, settings: Mapping[str, object]) -> LearnedModel:
    """The model with the settings that all models of a file share."""
    if isinstance(model, ClassModel) and model.is_together:
        together = [replace(each, settings=settings) for each in model.together()]
        return learned_together(model.classes, together, model.averages)
    if isinstance(model, ClassModel):
        models = tuple(with_settings(each, settings) for each in model.models)
        return replace(model, models=models, settings=settings)
    return replace(model, settings=settings) if isinstance(model, Model) else model


class Parts(NamedTuple):
    """A target in training: with the scores of its inner model, and with those of the ordinary one."""

    with_inner: Part
    ordinary: Part


def parts_of(engine: Engine, task: JointTask, fits: Separate, options: EffectOptions) -> Parts:
    """What the models of a target say of all things, and the folds of the training examples."""
    target, evidence = task
    things = things_of(engine.database, target, evidence)
    places = things.places_of(evidence.keys)
    hashes = example_hashes(engine, target.name, evidence.keys, options)
    counts = _counts(engine, task, options)

    def predicted(fit: AnyFit) -> _Predicted:
        of_all = label_chances(target, fit.model, engine, things.keys)
        return _Predicted(of_all, _held_out(target, fit, len(places)))

    def part(*by_models: _Predicted) -> Part:
        held = [each.held_out for each in by_models]
        known = (places >= 0) & ~np.isnan(np.column_stack(held)).any(axis=1)
        chances = [each.of_all.copy() for each in by_models]
        for of_all, of_examples in zip(chances, held, strict=True):
            of_all[places[known]] = of_examples[known]
        folds = np.full(len(things), -1, dtype=np.int64)
        folds[places[known]] = fold_numbers(hashes)[known]
        draws = np.ones(len(things))
        draws[places[known]] = shares(hashes, -2)[known]
        return Part(things, own_scores(target, chances[0], chances[-1]), folds, draws, counts)

    ordinary = predicted(fits.ordinary)
    inner = ordinary if fits.inner is fits.ordinary else predicted(fits.inner)
    return Parts(part(ordinary, inner), part(ordinary))


class _Predicted(NamedTuple):
    """The probabilities of labels by a model: of all things, and held-out ones of the training examples."""

    of_all: Floats
    held_out: Floats


def _counts(engine: Engine, task: JointTask, options: EffectOptions) -> Floats:
    """For each label, how many training examples there are for one that is in the samples of all models."""
    target, (keys, labels) = task
    in_all = np.ones(len(labels), dtype=np.bool_)
    # Of more than two classes, which are learned together, none is left out.
    for label in (1,) if target.size == 2 else ():
        true = (labels == label).astype(np.int8)
        rows = sampled(engine.database, target.name, keys, true, options.neg_pos_ratio, options.seed)
        in_all &= np.isin(np.arange(len(labels)), rows)
    every, kept = (np.bincount(each, minlength=target.size) for each in (labels, labels[in_all]))
    counts: Floats = every / np.maximum(kept, 1)
    return np.maximum(counts, 1.0)


def _held_out(target: JointTarget, fit: AnyFit, size: int) -> Floats:
    """The probability of each label of each training example, from models learned without it."""
    if fit.held_out is None:
        return np.full((size, target.size), np.nan)
    scores = fit.held_out.reshape(size, -1)
    if scores.shape[1] == 1:
        chances = sigmoid(scores[:, 0])
        return np.column_stack([1.0 - chances, chances])
    # Where there are no scores there are no probabilities.
    return softmax(scores)
