"""The files of a dbt model: a description for each column of the query, and text that Jinja leaves alone."""

from collections import defaultdict
from pathlib import Path

import duckdb
import pytest
import yaml
from jinja2 import Environment

from hornbeam.engines.sql.expressions import SqlTable
from hornbeam.errors import OptionError
from hornbeam.logic.clauses import Atom, Clause
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.files import load_model
from hornbeam.report.dbt import DbtPlace, dbt_files

MODELS = Path(__file__).parents[2] / "golden" / "models"


def rendered(text):
    """The query as dbt hands it to the database."""
    return Environment().from_string(text).render(ref=lambda name: name, source=lambda *name: ".".join(name))


def files(model, **place):
    made = dbt_files(model, DbtPlace(**{"name": "scored"} | place))
    assert list(made) == ["models/scored.sql", "models/scored.yml"]
    (properties,) = yaml.safe_load(made["models/scored.yml"])["models"]
    return made["models/scored.sql"], properties


@pytest.mark.parametrize("path", ["rlr_effects.json", "rlr.json"])
def test_each_column_of_the_query_has_a_description(path):
    model = load_model(MODELS / path)
    query, properties = files(model)
    base = duckdb.connect()
    facts, examples = model.places(None, None)
    for name, types in model.schema.predicates.items():
        facts.setdefault(name, SqlTable((name,), tuple(f"arg{number + 1}" for number in range(len(types)))))
    columns = defaultdict(dict)
    for predicate, table in [*facts.items(), (model.target, examples)]:
        for column, type_ in zip(table.columns, model.schema.types_of(predicate), strict=True):
            columns[table.name[0]][column] = {"number": "DOUBLE"}.get(model.schema.numeric.get(type_), "TEXT")
        for column in filter(None, (table.time, table.true)):
            columns[table.name[0]].setdefault(column, "TIMESTAMP" if column == table.time else "BOOLEAN")
    for name, kinds in columns.items():
        base.execute(f"CREATE TABLE {name} ({', '.join(map(' '.join, kinds.items()))})")
    made = [column[0] for column in base.execute(rendered(query)).description]
    assert [column["name"] for column in properties["columns"]] == made
    assert all(column["description"] for column in properties["columns"])


def test_names_of_any_characters_stay_as_they_are():
    odd = "a\"{{ 1 }}{% x %}\\n\u2028\U0001f600'"
    schema = Schema({"rich": ("t",), "kind": ("t", "k")})
    clause = Clause(Atom("rich", (0,)), (Atom("kind", (0, odd)),))
    query, properties = files(Model("rich", schema, 0.0, (WeightedClause(clause, (0.0, 1.0, 0.0), 1),)))
    (described,) = [each for each in properties["columns"] if each["name"] == "true_1"]
    assert str(clause) in rendered(described["description"])
    assert "{{ 1 }}{% x %}" in rendered(query)


def test_a_table_in_a_schema_is_a_table_of_a_source():
    model = Model("rich", Schema({"rich": ("t",), "old": ("t",)}), 0.0, ())
    made = dbt_files(model, DbtPlace("scored"), {"old": ("raw.old", ["id"])}, ("people", ["id"]))
    assert "FROM {{ ref('people') }}" in made["models/scored.sql"]
    made = dbt_files(model, DbtPlace("scored", source="raw"), None, ("people", ["id"]))
    assert "FROM {{ source('raw', 'people') }}" in made["models/scored.sql"]
    with pytest.raises(OptionError, match="leave the database out"):
        dbt_files(model, DbtPlace("scored"), None, ("a.b.people", ["id"]))


@pytest.mark.parametrize(
    ("name", "better"), [("my-model", "--name my_model"), ("2x", "--name _2x"), ("people", "people_scored")]
)
def test_a_name_that_dbt_refuses_is_refused(name, better):
    model = Model("rich", Schema({"rich": ("t",)}), 0.0, ())
    with pytest.raises(OptionError, match=better):
        dbt_files(model, DbtPlace(name), None, ("people", ["id"]))
