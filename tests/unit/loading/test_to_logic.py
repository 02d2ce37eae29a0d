"""Tables as logic: the facts, types and modes that each kind of table gives."""

from datetime import date

import pandas as pd
import polars as pl
import pytest

import hornbeam as hb
from folders import facts_of
from hornbeam.errors import ModelError, SchemaError
from hornbeam.model.clause_model import Model
from hornbeam.model.predict import data_for

USERS = {
    "user_id": [1, 2, 3],
    "job": ["nurse", None, "clerk"],
    "age": [20, 30, None],
    "born": [date(2000, 1, 2), None, date(1990, 5, 6)],
    "premium": [True, False, None],
    "city": [7, 7, None],
}
CITIES = {"city": [7, 8], "name": ["Rome", "Bonn"]}
MOVIES = {"movie_id": ["a", "b"], "romance": [True, False]}
RATINGS = {"user_id": [1, 1, 2], "movie_id": ["a", "b", "a"], "stars": [3, 4, 4], "good": [False, True, True]}
TABLES = {"users": USERS, "cities": CITIES, "movies": MOVIES, "ratings": RATINGS}


def frames(tables=TABLES):
    return {name: pl.DataFrame(columns) for name, columns in tables.items()}


def texts(database):
    return sorted(f"{atom.predicate}({','.join(map(str, atom.args))})" for atom in facts_of(database))


def modes_of(database):
    return {str(mode).removesuffix(".") for mode in database.modes}


def test_each_table_gives_its_facts_and_what_is_missing_gives_none():
    assert texts(hb.load(frames())) == sorted(
        [
            *("job(1,nurse)", "job(3,clerk)"),
            *("age(1,20)", "age(2,30)"),
            *("born(1,2000-01-02)", "born(3,1990-05-06)"),
            "premium(1)",
            *("city(1,7)", "city(2,7)"),
            *("name(7,Rome)", "name(8,Bonn)"),
            "romance(a)",
            *("ratings(1,a)", "ratings(1,b)", "ratings(2,a)"),
            *("stars(1,a,3)", "stars(1,b,4)", "stars(2,a,4)"),
            *("good(1,b)", "good(2,a)"),
        ]
    )


def test_the_order_of_links_is_that_of_columns_unless_it_is_stated():
    turned = hb.load(frames(), schema={"ratings": {"arguments": ["movie_id", "user_id"]}})
    assert turned.schema.types_of("stars") == ("movies", "users", "stars_value")
    assert [text for text in texts(turned) if "ratings" in text] == [
        *("ratings(a,1)", "ratings(a,2)", "ratings(b,1)"),
    ]
    with pytest.raises(
        SchemaError, match=r'^\[ratings\] arguments: column "stars" is not a link; leave it out.$'
    ):
        hb.load(frames(), schema={"ratings": {"arguments": ["stars"]}})


def test_a_model_knows_links_by_name_whatever_the_order_of_columns():
    persons = {"id": list(range(8)), "ill": [True, False] * 4}
    # Who is ill knows somebody; the others are known.
    knows = {"who": [0, 2, 4, 6], "whom": [1, 3, 5, 7]}
    tables = frames({"persons": persons, "knows": knows})
    other = tables | {"knows": tables["knows"].select("whom", "who")}
    schema = {
        "persons": {"key": "id"},
        "knows": {"links": {"who": "persons", "whom": "persons"}, "key": False},
    }
    database = hb.load(tables, target="persons.ill", schema=schema)
    X, y = database.examples()
    fitted = hb.RLRClassifier(database=database, n_steps=1, max_literals=2).fit(X, y)
    assert "knows(A,B)" in str(fitted.model_)
    settings = fitted.model_.settings
    expected = fitted.predict_proba(X)
    assert fitted.predict_proba(X, database=hb.load(other, origin=settings)).tolist() == expected.tolist()
    with pytest.raises(
        ModelError,
        match=r'table "knows" links whom,who in the data, but who,whom in the model; set their order',
    ):
        fitted.predict_proba(X, database=hb.load(other, target="persons.ill", schema=schema))


def test_links_that_a_model_file_of_old_turns_round_are_refused():
    database = hb.load(frames(), target="users.premium")
    turned = hb.load(
        frames(), target="users.premium", schema={"ratings": {"arguments": ["movie_id", "user_id"]}}
    )
    tables = {
        name: {k: v for k, v in stated.items() if k != "arguments"}
        for name, stated in database.origin["tables"].items()
    }
    of_old = Model("premium", database.schema, 0.0, (), dict(database.origin) | {"tables": tables})
    assert data_for(of_old, database)[0].schema == database.schema
    with pytest.raises(
        ModelError, match=r"good takes movies,users in the data, but users,movies in the model"
    ):
        data_for(of_old, turned)


def test_types_populations_and_numeric_types():
    database = hb.load(frames())
    assert database.schema.types_of("stars") == ("users", "movies", "stars_value")
    assert sorted(database.population("users").names) == ["1", "2", "3"]
    assert sorted(database.population("cities").names) == ["7", "8"]
    assert dict(database.schema.numeric) == {
        "age_value": "number",
        "born_value": "date",
        "stars_value": "number",
    }


def test_modes_come_from_the_schema():
    modes = modes_of(hb.load(frames(), target="users.premium"))
    assert {
        "job(+users,#job_value)",
        "age(+users,`age_value)",
        "age(+users,#age_value)",
        "born(+users,`born_value)",
        "city(+users,-cities)",
        "city(-users,+cities)",
        "ratings(+users,-movies)",
        "ratings(-users,+movies)",
        "stars(+users,-movies,`stars_value)",
        "good(+users,-movies)",
        "romance(+movies)",
        "premium(+users)",
    } <= modes
    assert not any(mode.startswith("premium") and mode != "premium(+users)" for mode in modes)


@pytest.mark.parametrize(
    ("target", "column"), [("users.premium", "premium"), ("users.job=nurse", "job"), ("users.job", "job")]
)
def test_the_label_never_becomes_a_predicate(target, column):
    database = hb.load(frames(), target=target)
    assert not any(atom.predicate == column for atom in facts_of(database))
    assert column not in {mode.predicate for mode in database.modes} - set(database.example_sets)


def test_no_column_of_a_link_table_that_is_the_target_is_a_predicate():
    database = hb.load(frames(), target="ratings")
    assert {atom.predicate for atom in facts_of(database)}.isdisjoint({"ratings", "stars", "good"})
    keys, labels = database.examples()
    assert {tuple(key) for key, label in zip(keys.tolist(), labels, strict=True) if label} == {
        ("1", "a"),
        ("1", "b"),
        ("2", "a"),
    }
    assert len(labels) == 6


def test_rows_without_a_key_that_repeat_are_things_with_numbers():
    visits = {"user_id": [1, 1], "movie_id": ["a", "a"], "price": [2.5, 3.5]}
    database = hb.load(frames(TABLES | {"ratings": visits}))
    found = [text for text in texts(database) if text.startswith(("user_id", "movie_id", "price"))]
    assert found == [
        "movie_id(1,a)",
        "movie_id(2,a)",
        "price(1,2.5)",
        "price(2,3.5)",
        "user_id(1,1)",
        "user_id(2,1)",
    ]


def test_columns_of_one_name_are_told_apart_by_their_tables():
    movies = {"movie_id": ["a", "b"], "age": [3, 4]}
    found = {text.partition("(")[0] for text in texts(hb.load(frames(TABLES | {"movies": movies})))}
    assert {"users_age", "movies_age"} <= found
    assert "age" not in found


def test_discretise_once_is_the_simple_option():
    """A number with the role of a category is a constant like any other."""
    database = hb.load(frames(), schema={"users": {"roles": {"age": "category"}}})
    assert "age_value" not in database.schema.numeric
    assert "age(+users,#age_value)" in modes_of(database)


@pytest.mark.parametrize(
    "keys", [[1, 2, 3], [1.0, 2.0, 3.0], ["1", "2", "3"], pd.array([1, 2, 3], dtype="Int64")], ids=str
)
def test_a_key_becomes_text_once(keys):
    """1, 1.0 and '1' of one column are the same thing, in tables that link to each other too."""
    users = pd.DataFrame({"user_id": keys, "age": [20, 30, 40]})
    visits = pd.DataFrame({"user_id": [1, 1, 3], "shop": ["x", "y", "x"]})
    database = hb.load({"users": users, "visits": visits})
    found = texts(database)
    assert "age(1,20)" in found
    assert sum(text.startswith("shop(") for text in found) == 3
    assert sorted(database.population("users").names) == ["1", "2", "3"]


def test_a_link_that_lacks_some_keys_is_still_of_whole_numbers():
    """pandas turns a column of keys with gaps into floats."""
    users = pd.DataFrame({"user_id": [1, 2, 3], "boss_id": [None, 1, 2]})
    database = hb.load({"users": users}, schema={"users": {"links": {"boss_id": "users"}}})
    assert texts(database) == ["boss_id(2,1)", "boss_id(3,2)"]


def test_facts_can_be_led_back_to_their_columns(tmp_path):
    from hornbeam.loading.inspect.inspectors import inspect_tables
    from hornbeam.loading.options import TableOptions

    places = inspect_tables(frames(), TableOptions()).places
    assert places["stars"] == {"table": "ratings", "columns": ["user_id", "movie_id", "stars"]}
    assert places["good"] == {"table": "ratings", "columns": ["user_id", "movie_id"], "true": "good"}
    assert places["city"] == {"table": "users", "columns": ["user_id", "city"]}
