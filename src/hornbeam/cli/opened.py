"""A model together with the data to use it on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hornbeam.cli.data import TEST, MadeFold, load_data, located
from hornbeam.cli.flags import Counting, ExampleSource, LinkedSource
from hornbeam.cli.messages import say

if TYPE_CHECKING:
    from hornbeam.data.database import Database, Examples
    from hornbeam.engines.contract import Engine
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
    # Inferred modes do not matter here: the model has its own types and modes.
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
