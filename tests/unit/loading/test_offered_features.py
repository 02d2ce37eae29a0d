"""What ``inspect`` says that a column offers is what the learner uses of it."""

import json
import warnings
from pathlib import Path

import pytest

import hornbeam as hb
from hornbeam.loading.inspect.features import features_of
from hornbeam.loading.inspect.inspectors import inspect_tables
from hornbeam.loading.options import TableOptions
from hornbeam.loading.tables.schema_file import Role
from hornbeam.logic.clauses import Comparison
from hornbeam.logic.effects import Equals, NumberOf, atom_in
from table_worlds import as_pandas, shop


def test_inspect_lists_features_in_words_and_in_json():
    inspected = inspect_tables(as_pandas(shop(), Path()), TableOptions("users.gender=F"))
    text = str(inspected)
    assert "features that columns offer:\n" in text
    assert "  number (length in min, stars, age, height): value, mean, sum, smallest, " in text
    assert (
        "  time (rated_at): time since the first and the latest row, the first and the latest value" in text
    )
    tables = json.loads(json.dumps(inspected.as_dict()))["tables"]
    offered = {column["column"]: column["features"] for table in tables for column in table["columns"]}
    assert offered["romance"] == ["count", "share"]
    assert offered["stars"][-2:] == ["first", "last"]
    assert offered["gender"] == []


@pytest.mark.parametrize("role", [Role.KEY, Role.LABEL, Role.UNUSED])
def test_some_columns_offer_nothing(role):
    assert features_of(role, timed=True) == ()


def test_a_model_uses_only_features_that_its_columns_offer():
    frames = as_pandas(shop(), Path())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inspected = inspect_tables(frames, TableOptions("users.gender=F"))
        database = hb.load(frames, target="users.gender=F")
    columns = [column for table in inspected.tables for column in table.columns]
    offered = {column.predicate.partition("(")[0]: column.features for column in columns if column.predicate}
    model = hb.RLRClassifier(database=database, n_bags=2).fit(*database.examples()).model_
    checked = 0
    for fitted in model.effects:
        steps = [step for step in fitted.effect.body if not isinstance(step, Equals | Comparison)]
        last = atom_in(steps[-1])
        if last is not None and not isinstance(steps[-1], NumberOf) and last.predicate in offered:
            assert fitted.effect.feature.kind in offered[last.predicate]
            checked += 1
    assert checked
