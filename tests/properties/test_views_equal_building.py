"""Data seen under another schema are what would have been built under it in the first place."""

from hypothesis import given
from hypothesis import strategies as st

from hornbeam.data.build import build
from hornbeam.data.database import Database
from hornbeam.data.under_schema import under
from hornbeam.logic.schema import Schema

ARITIES = {"t": 2, "p": 1, "q": 2, "r": 3}
TYPES = ("x", "y", "z")
NAMES = st.sampled_from(["a", "b", "c", "d", "e"])


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    types = st.sampled_from(TYPES)
    return Schema({name: tuple(draw(types) for _ in range(arity)) for name, arity in ARITIES.items()})


@st.composite
def contents(draw: st.DrawFn):
    facts = {}
    for name in ("p", "q", "r"):
        if draw(st.booleans()):
            rows = draw(st.lists(st.tuples(*[NAMES] * ARITIES[name]), max_size=6))
            facts[name] = [[row[i] for row in rows] for i in range(ARITIES[name])]
    keys = draw(st.lists(st.tuples(NAMES, NAMES), max_size=5, unique=True))
    return facts, {"t": (keys, [number % 2 for number in range(len(keys))])}


def plain(database: Database) -> object:
    """Everything by name: populations, facts, examples in order."""
    facts = {}
    for predicate in ("p", "q", "r"):
        populations = [database.population(name) for name in database.schema.types_of(predicate)]
        columns = database.relation(predicate).columns
        decoded = [population.decode(column) for population, column in zip(populations, columns, strict=True)]
        facts[predicate] = sorted(zip(*decoded, strict=True))
    keys, labels = database.examples("t")
    populations = {name: sorted(database.population(name).names) for name in database.schema.types()}
    return populations, facts, keys.tolist(), labels.tolist()


@given(schemas(), schemas(), contents())
def test_a_view_is_what_would_have_been_built(own: Schema, wanted: Schema, given_contents):
    facts, examples = given_contents
    seen = under(build(own, (), facts, examples), wanted)
    assert plain(seen) == plain(build(wanted, (), facts, examples))


@given(schemas(), schemas(), contents())
def test_rows_of_a_view_are_sorted_and_distinct(own: Schema, wanted: Schema, given_contents):
    facts, examples = given_contents
    seen = under(build(own, (), facts, examples), wanted)
    for relation in seen.relations.values():
        rows = list(zip(*(column.tolist() for column in relation.columns), strict=True))
        assert rows == sorted(set(rows))
