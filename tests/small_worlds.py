"""Small random worlds for learners: a few people, what they like, how old they are, and examples."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from hornbeam.data.build import build
from hornbeam.data.database import Database
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.naive import NaiveEngine
from hornbeam.learning.problem import Fit
from hornbeam.logic.parse import parse_mode
from hornbeam.logic.schema import NUMBER, Schema, schema_of
from hornbeam.model.files import model_text, parse_model

MODES = tuple(
    map(
        parse_mode,
        (
            "friends(+person,-person).",
            "friends(-person,+person).",
            "smokes(+person).",
            "likes(+person,#thing).",
            "likes(+person,-thing).",
            "age(+person,-years).",
        ),
    )
)
PERSONS = ("ann", "bob", "cat", "Dan")
THINGS = ("tea", "rum")
AGES = ("7", "30", "65")
PAIRS = tuple((a, b) for a in PERSONS for b in PERSONS)


@st.composite
def worlds(draw: st.DrawFn, numeric: bool = True) -> tuple[Database, str]:
    """A database with examples of one target, which has one argument or two; both labels occur."""
    facts = {
        "friends": draw(st.lists(st.sampled_from(PAIRS), max_size=7)),
        "smokes": draw(st.lists(st.sampled_from([(a,) for a in PERSONS]), max_size=3)),
        "likes": draw(st.lists(st.sampled_from([(a, b) for a in PERSONS for b in THINGS]), max_size=4)),
        "age": draw(st.lists(st.sampled_from([(a, b) for a in PERSONS for b in AGES]), max_size=3)),
    }
    target, rows = draw(st.sampled_from([("risk", [(a,) for a in PERSONS]), ("near", list(PAIRS))]))
    chosen = draw(st.lists(st.sampled_from(rows), min_size=2, max_size=6, unique=True))
    more = len(chosen) - 2
    labels = [1, 0, *draw(st.lists(st.integers(0, 1), min_size=more, max_size=more))]
    modes = (parse_mode(f"{target}({','.join('+person' for _ in rows[0])})."), *MODES)
    columns = {name: [list(c) for c in zip(*rows, strict=True)] for name, rows in facts.items() if rows}
    predicates = schema_of(modes).predicates
    schema = Schema(predicates, {"years": NUMBER} if numeric else {})
    return build(schema, modes, columns, {target: (chosen, labels)}), target


def same_by_every_engine(fit: Callable[..., Fit[Any]], world: tuple[Database, str], options: object) -> Any:
    """The model that a learner makes of a world, whatever the engine; a file of it reads back."""
    database, target = world
    examples = database.examples_of(target)
    model, other = (fit(engine(database), examples, options).model for engine in (NaiveEngine, MemoryEngine))
    assert model == other
    assert parse_model(model_text(model)) == model
    return model
