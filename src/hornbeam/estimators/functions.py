"""``hb.count`` and ``hb.evaluate``: the verbs ``count`` and ``evaluate`` of the command line, in Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import Database
from hornbeam.drawing.frames import frame_of
from hornbeam.drawing.notebook import notebook_table
from hornbeam.engines.contract import DEFAULT_MEMORY
from hornbeam.engines.registry import open_engine
from hornbeam.errors import OptionError, plural
from hornbeam.logic.parse import parse_clause
from hornbeam.model.evaluate import ChoiceScores, ClassScores, NumberScores, Scores
from hornbeam.model.files import JOINT, LearnedModel, load_model
from hornbeam.model.predict import data_for, examples_for, scores_of
from hornbeam.model.readable.predictions import Columns, key_columns

if TYPE_CHECKING:
    import pandas

_SHOWN = 10
"""Rows of counts that a notebook shows."""


@dataclass(frozen=True, eq=False)
class ClauseCounts:
    """How often a clause is true for each example, in the order of the data."""

    clause: str
    keys: Columns
    """a column for each argument of the head, and for cut-offs if the examples have any"""
    true: npt.NDArray[np.object_]
    false: npt.NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.true)

    def __repr__(self) -> str:
        total = int(self.true.sum()) if len(self) else 0
        return f"ClauseCounts({plural(len(self), 'example')}, {total:,} true groundings of {self.clause})"

    def to_frame(self) -> pandas.DataFrame:
        """The keys and the counts as a data frame."""
        return frame_of({**self.keys, "true": self.true.tolist(), "false": self.false.tolist()})

    def _repr_html_(self) -> str:
        rows = list(zip(self.true, self.false, *self.keys.values(), strict=True))
        texts = [[f"{row[0]:,}", f"{row[1]:,}", *map(str, row[2:])] for row in rows[:_SHOWN]]
        note = f"and {plural(len(rows) - _SHOWN, 'more example')}" if len(rows) > _SHOWN else ""
        return notebook_table(self.clause, ("true", "false", *self.keys), texts, 2, note)


def count(
    database: Database, clause: str, *, engine: str = "memory", memory: int = DEFAULT_MEMORY
) -> ClauseCounts:
    """Count a clause for every example of its head: how many groundings of its body are true, and false.

    >>> from hornbeam.datasets.worlds import smokers
    >>> counts = count(smokers(n_persons=50), "cancer(A) :- friends(A,B), smokes(B).")
    >>> len(counts), list(counts.keys)
    (50, ['arg1'])
    """
    from hornbeam.engines.clauses.counters import counter_of
    from hornbeam.engines.clauses.counting.count import count_all

    parsed = parse_clause(clause, database.schema)
    examples = database.examples_of(parsed.head.predicate).as_given()
    (counts,) = count_all(counter_of(open_engine(engine, database, memory)), [parsed], examples.keys)
    keys = key_columns(database, examples, database.origin, ["true", "false"])
    places = range(len(examples))
    true = np.array([int(counts.true[place]) for place in places], dtype=object)
    return ClauseCounts(str(parsed), keys, true, np.array([counts.false_of(n) for n in places], dtype=object))


def evaluate(
    model: Any, database: Database | None = None, *, engine: str = "memory", memory: int = DEFAULT_MEMORY
) -> Scores | ClassScores | NumberScores | ChoiceScores:
    """The scores of a model on the labelled examples of a database.

    ``model`` is a model, the path of a model file, or a fitted classifier; for a classifier, the examples are
    those of its own database if none is given. To score predictions of your own, see
    ``hornbeam.model.evaluate``.

    >>> import hornbeam as hb
    >>> from hornbeam.datasets.worlds import smokers
    >>> database = smokers(n_persons=100)
    >>> fitted = hb.RLRClassifier(database=database, n_bags=2).fit(*database.examples("cancer"))
    >>> scores = evaluate(fitted)
    >>> scores.n_pos + scores.n_neg
    100
    """
    learned = _model(model)
    if learned.learner == JOINT:
        raise OptionError(
            "evaluate does not take joint models, whose known labels are evidence: score what predict_proba "
            "says of other keys with hornbeam.model.evaluate, or run hornbeam evaluate."
        )
    data = getattr(model, "database", None) if database is None else database
    if not isinstance(data, Database):
        raise OptionError("evaluate needs a database with examples, as hornbeam.load returns it.")
    seen, _ = data_for(learned, data)
    examples = examples_for(learned, seen.examples_of(learned.target))
    return scores_of(learned, open_engine(engine, seen, memory), examples)


def _model(model: Any) -> LearnedModel:
    """The model that a user names: the model itself, its file, or that of a fitted classifier."""
    if hasattr(model, "model_"):
        learned: LearnedModel = model.model_
        return learned
    if hasattr(model, "probabilities"):
        return model  # type: ignore[no-any-return]
    if isinstance(model, str) or hasattr(model, "__fspath__"):
        return load_model(model)
    raise OptionError(
        f"{type(model).__name__} is no model: give a fitted classifier, a model, or the path of a model file."
    )
