"""A model with the data to use it on: one target, or for a joint model all, guessed together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hornbeam.cli.data import TEST, MadeFold, load_data, located
from hornbeam.cli.flags import Counting, ExampleSource, LinkedSource
from hornbeam.cli.output import print_message, say
from hornbeam.errors import OptionError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from hornbeam.cli.flags import Counting, LinkedSource
    from hornbeam.data.database import Database, Examples
    from hornbeam.engines.contract import Engine
    from hornbeam.joint.fitting.learner import JointFit
    from hornbeam.joint.model import JointModel
    from hornbeam.learning.loop import Control
    from hornbeam.learning.options import Options
    from hornbeam.model.files import LearnedModel


class Opened(NamedTuple):
    """A model, and an engine on the data with the types and predicates of the model."""

    learned: LearnedModel
    engine: Engine
    database: Database
    """the data as they were loaded"""


def open_model(model: Path, source: LinkedSource, counting: Counting, *, negatives: bool = True) -> Opened:
    """Read a model and load the data to use it on; without ``negatives``, no pairs are drawn as examples."""
    from hornbeam.errors import ModelError, Place
    from hornbeam.model.files import JOINT, load_model

    learned = load_model(model)
    if learned.learner == JOINT:
        raise ModelError(
            "this command does not take joint models; use predict, evaluate, explain, show or report.",
            Place(str(model)),
        )
    return _opened(learned, source, counting, negatives=negatives)


def _opened(learned: LearnedModel, source: LinkedSource, counting: Counting, *, negatives: bool) -> Opened:
    """Load the data to use a model on."""
    from hornbeam.engines.registry import open_engine
    from hornbeam.model.predict import data_for

    budget = counting.budget
    database = load_for(learned, source, counting, negatives=negatives)
    seen, notices = data_for(learned, database)
    say(notices)
    return Opened(learned, open_engine(counting.engine_name, seen, budget, **counting.place()), database)


def load_for(
    learned: LearnedModel, source: LinkedSource, counting: Counting, *, negatives: bool = True
) -> Database:
    """Load the data to use a model on."""
    from hornbeam.engines.registry import engine_module
    from hornbeam.errors import SchemaError, TargetError
    from hornbeam.loading.facts.layout import MODES_INFERRED

    engine_module(counting.engine_name)  # an unknown engine is refused before anything is loaded
    origin = learned.settings if "tables" in learned.settings else None
    _check_rule(learned, source)
    more = {} if negatives or origin is None or _holds_facts(source) else {"negatives": "none"}
    # A model of tables has its target in its settings, as the user typed it. For facts, it is a predicate.
    target = None if origin else learned.target
    try:
        database = load_data(source, counting, TEST, target=target, origin=origin, **more)
    except TargetError:
        if target is None:
            raise
        raise SchemaError(
            f'the model predicts "{target}", which these tables do not have; name the data that it is for.'
        ) from None
    # InferredLabels modes do not matter here: the model has its own types and modes.
    say(notice for notice in database.notices if notice != MODES_INFERRED)
    return database


def examples_of(learned: LearnedModel, source: LinkedSource, counting: Counting) -> tuple[Engine, Examples]:
    """Load the data for a model that was read, with the examples of its target."""
    opened = _opened(learned, source, counting, negatives=True)
    return opened.engine, _examples(opened)


def _examples(opened: Opened) -> Examples:
    from hornbeam.model.predict import examples_for

    learned, engine, database = opened
    # If the loaded data have no examples of the target, this error names the targets that they have.
    database.examples_of(learned.target)
    return examples_for(learned, engine.database.examples_of(learned.target))


def _check_rule(learned: LearnedModel, source: LinkedSource) -> None:
    """Refuse a meaning of cut-offs that is not the one that the model was learned with."""
    from hornbeam.data.numbers import CutoffRule
    from hornbeam.errors import OptionError

    given = source.at_cutoff if isinstance(source, ExampleSource) else None
    if given is None or "times" not in learned.settings:
        return
    own = CutoffRule.of_settings(learned.settings).at_cutoff
    if given != own:
        raise OptionError(
            f"--at-cutoff {given} is refused: the model was learned with {own}, and predictions follow the "
            "model; leave the option out."
        )


def _holds_facts(source: LinkedSource) -> bool:
    from hornbeam.loading.kind_of_source import holds_facts

    place = located(source.data)
    return isinstance(place, MadeFold) or holds_facts(Path(place), source.schema is not None)


class OpenedTarget(NamedTuple):
    """A model of one target, an engine on the data, and the examples of the target."""

    learned: LearnedModel
    engine: Engine
    examples: Examples
    known: npt.NDArray[np.bool_] | None = None
    """in a joint model, the examples whose labels are evidence"""
    note: str = ""
    """what a reader must know of the predictions of a joint model"""

    def unknown(self) -> Examples:
        """The examples whose labels are no evidence."""
        return self.examples if self.known is None else self.examples.at(~self.known)


def open_targets(
    model: Path, source: LinkedSource, counting: Counting, evidence: Path | None = None
) -> list[OpenedTarget]:
    """Read a model and load the data: with the examples of its target, or of all targets of a joint model."""
    from hornbeam.model.files import JOINT, load_model

    learned = load_model(model)
    if learned.learner == JOINT:
        from hornbeam.joint.model import JointModel

        assert isinstance(learned, JointModel)
        return _open_joint(learned, source, counting, evidence)
    if evidence is not None:
        raise OptionError("--evidence is refused: only joint models use labels of other things.")
    return [OpenedTarget(learned, *examples_of(learned, source, counting))]


def _open_joint(
    model: JointModel, source: LinkedSource, counting: Counting, evidence: Path | None
) -> list[OpenedTarget]:
    """The targets of a joint model, with all unknown labels guessed together."""
    import numpy as np

    from hornbeam.joint.predict import predict_together, world_of
    from hornbeam.joint.targets import examples_in, names_in, read_evidence
    from hornbeam.joint.view import view_of

    database = load_for(model, source, counting.loading(), negatives=hasattr(source, "examples"))
    arities = {each.target: model.schema.arity(each.target.name) for each in model.members}
    labels = None if evidence is None else read_evidence(evidence, arities)
    found = predict_together(world_of(model, database, {}, labels, counting.budget))
    say(found.notices)
    world, n_known = found.world, sum(int(each.things.known.sum()) for each in found.world.linked.values())
    print_message(f"{found.inferred.convergence}; {n_known:,} labels are known")
    opened = []
    for target in arities:
        given = examples_in(database, target.name).as_given()
        keys = world.database.encode_keys(target.name, names_in(database, given))
        things = world.linked[target.name].things
        known = np.isin(things.places_of(keys), np.flatnonzero(things.known))
        note = (
            f"The labels are guessed together with those of linked things. The {int(known.sum()):,} examples "
            f"whose labels are known are left out. {str(found.inferred.convergence).capitalize()}."
        )
        examples = replace(given, keys=keys)
        opened.append(OpenedTarget(view_of(found, target.name), world.engine, examples, known, note))
    return opened


def open_explained(
    model: Path, source: LinkedSource, counting: Counting, evidence: Path | None, asked: str
) -> tuple[LearnedModel, Engine]:
    """Read a model and load the data to explain an example, of whose target a joint model has its model."""
    from hornbeam.model.files import JOINT, load_model

    learned = load_model(model)
    if learned.learner != JOINT and evidence is None:
        return open_model(model, source, counting, negatives=False)[:2]
    opened = open_targets(model, source, counting, evidence)
    names = {each.learned.target: each for each in opened}
    return names.get(asked.partition("(")[0].strip(), opened[0])[:2]


def named_target(opened: Sequence[OpenedTarget], asked: str | None) -> tuple[OpenedTarget, str | None]:
    """The target that a report shows, and its class: from ``CLASS`` of the first one, or ``TARGET=CLASS``."""
    name, equals, of_class = (asked or "").partition("=")
    for each in opened:
        if each.learned.target == name:
            return each, of_class if equals else None
    return opened[0], asked


def check_joint(options: Options, others: Mapping[str, object]) -> None:
    """Refuse what joint models cannot do."""
    for flag, value in others.items():
        if value is not None:
            raise OptionError(f"{flag} is refused: joint models do not have it.")
    if getattr(options, "loss", "") == "choice":
        raise OptionError("--loss choice is refused: joint models have no choices.")
    if options.learner != "rlr" or options.preset == "paper":
        raise OptionError("--joint is refused: it needs the learner rlr with its default preset.")


def learn_joint(
    database: Database, targets: list[str], labels: Path | None, options: Options, control: Control
) -> JointFit:
    """Learn a joint model from labels in a file or in the data; without targets, of all with examples."""
    from hornbeam.joint.fitting.learner import fit_joint
    from hornbeam.joint.targets import task_of, tasks_in

    every = sorted(database.example_sets) if len(database.example_sets) > 1 else []
    names = targets or every or [database.target_named(None)]
    found = tasks_in(labels, database, names) if labels else [task_of(database, name) for name in names]
    return fit_joint(database, found, options, control=control)
