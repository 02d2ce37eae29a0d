"""Keys, links, roles and times of tables that nobody describes."""

import polars as pl
import pytest

from hornbeam.errors import Place
from hornbeam.loading.tables.roles import Form, plans
from hornbeam.loading.tables.schema_file import Role, statements
from hornbeam.loading.tables.sources.frames import read_frames

IDS = list(range(30))


def planned(frames, stated=None, **options):
    tables = read_frames({name: pl.DataFrame(columns) for name, columns in frames.items()}, {})
    found, _ = plans(tables, statements(stated or {}, Place("schema")), **options)
    return {plan.name: plan for plan in found}


USERS = {"user_id": IDS, "age": [20 + n % 7 for n in IDS]}


@pytest.mark.parametrize(
    ("table", "columns", "key"),
    [
        ("users", {"user_id": IDS, "age": IDS}, "user_id"),
        ("users", {"age": IDS, "id": IDS}, "id"),
        ("Users", {"age": IDS, "UserID": IDS}, "UserID"),
        ("categories", {"n": IDS, "category": [f"c{n}" for n in IDS]}, "category"),
        ("people", {"name": [f"p{n}" for n in IDS], "age": IDS}, "name"),
        ("people", {"age": IDS, "size": IDS}, None),
        ("people", {"weight": [n + 0.5 for n in IDS]}, None),
        ("people", {"name": ["a", *["b"] * 29]}, None),
        ("people", {"code": [None, *[f"p{n}" for n in IDS[1:]]]}, None),
    ],
)
def test_a_key_is_unique_and_named_like_one_or_first(table, columns, key):
    assert planned({table: columns})[table].key == key


def test_the_first_column_of_a_link_table_is_no_key_even_where_it_is_unique():
    films = {"movie_id": IDS, "romance": [n % 2 == 0 for n in IDS]}
    ratings = {"user_id": IDS[:9], "movie_id": IDS[:9][::-1]}
    found = planned({"users": USERS, "movies": films, "ratings": ratings})
    assert found["ratings"].key is None
    assert found["ratings"].links == {"user_id": "users", "movie_id": "movies"}
    assert found["ratings"].form is Form.LINK


@pytest.mark.parametrize("columns", [("team_1", "team_2"), ("teamA", "teamB"), ("home_team", "away_team")])
def test_two_columns_named_after_one_table_make_a_link_table_even_where_the_first_is_unique(columns):
    names = [f"t{n}" for n in IDS]
    one, other = columns
    few = {one: names[:4], other: names[4:8]}
    many = {one: names[10:20] * 2, other: names[5:25]}
    found = planned({"teams": {"team": names}, "cup": few, "league": many})
    assert found["cup"].key is None
    assert all(found[name].links == {one: "teams", other: "teams"} for name in ("cup", "league"))


def test_a_table_that_tells_more_of_things_has_their_keys():
    found = planned({"users": USERS, "profiles": {"user_id": IDS[:9], "wealth": IDS[:9]}})
    assert (found["profiles"].key, dict(found["profiles"].links)) == ("user_id", {"user_id": "users"})


def test_a_table_that_tells_more_of_things_may_link_to_others_too():
    films = {"movie_id": IDS, "romance": [n % 2 == 0 for n in IDS]}
    profiles = {"user_id": IDS[:9], "favourite_movie": IDS[9:18]}
    found = planned({"users": USERS, "movies": films, "profiles": profiles})
    assert found["profiles"].key == "user_id"
    assert found["profiles"].links == {"user_id": "users", "favourite_movie": "movies"}


@pytest.mark.parametrize(
    ("columns", "links"),
    [
        ({"n": IDS, "user_id": IDS}, {"user_id": "users"}),
        ({"n": IDS, "user": IDS}, {"user": "users"}),
        ({"n": IDS, "sold_to_user_id": IDS}, {"sold_to_user_id": "users"}),
        ({"n": IDS, "buyer_id": IDS}, {"buyer_id": "users"}),
        ({"n": IDS, "age": [5] * 30}, {}),
        ({"n": IDS, "user_id": [str(n) for n in IDS]}, {"user_id": "users"}),
        ({"n": IDS, "user_id": [n + 1000 for n in IDS]}, {}),
    ],
)
def test_a_link_needs_values_and_a_name_that_fit(columns, links):
    """Ages lie among the numbers of users, too: values alone say too little."""
    found = planned(
        {"users": USERS, "orders": columns}, {"orders": {"key": False}, "users": {"key": "user_id"}}
    )
    assert {name: other for name, other in found["orders"].links.items() if name != "n"} == links


@pytest.mark.parametrize(("keys", "linked"), [(range(1, 31), False), (range(1000, 4000, 100), True)])
def test_numbers_alone_make_a_link_only_where_they_hardly_fit_by_chance(keys, linked):
    users = {"user_id": list(keys), "age": IDS}
    orders = {"item": ["x", "y", "z"] * 20, "rank": [*keys, *keys]}
    found = planned({"users": users, "orders": orders})
    assert dict(found["orders"].links) == ({"rank": "users"} if linked else {})


def test_text_alone_makes_a_link_whatever_the_name():
    names = [f"p{number}" for number in IDS]
    found = planned({"people": {"id": names, "age": IDS}, "visits": {"id": IDS, "person": names}})
    assert dict(found["visits"].links) == {"person": "people"}


@pytest.mark.parametrize(
    ("values", "role"),
    [
        ([True, False] * 15, Role.FLAG),
        ([0, 1] * 15, Role.FLAG),
        ([0, 1, 2] * 10, Role.NUMBER),
        ([0.5, 1.5] * 15, Role.NUMBER),
        (["a", "b"] * 15, Role.CATEGORY),
        (["a"] * 30, Role.UNUSED),
        ([7] * 30, Role.UNUSED),
        ([None] * 30, Role.UNUSED),
    ],
)
def test_the_role_of_a_column(values, role):
    assert planned({"users": {**USERS, "x": values}})["users"].roles["x"] is role


def test_text_that_is_nearly_unique_is_not_used():
    columns = {"user_id": list(range(200)), "note": [f"note {n}" for n in range(200)]}
    assert planned({"users": columns})["users"].roles["note"] is Role.UNUSED


DAYS = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 1, 30), eager=True).to_list()


@pytest.mark.parametrize(
    ("column", "values", "time"),
    [
        ("taken", DAYS, "taken"),
        ("born", DAYS, None),
        ("birth_date", DAYS, None),
        ("rated_at", [1000 + 7 * n for n in range(30)], None),
    ],
)
def test_the_only_date_of_rows_that_link_is_when_they_came_to_be(column, values, time):
    users = [n // 2 for n in IDS]
    found = planned({"users": USERS, "visits": {"user_id": users, "x": IDS, column: values}})
    assert found["visits"].time == time


def test_many_numbers_named_like_a_time_are_one():
    many = {"user_id": IDS * 4, "stars": [1, 2, 3] * 40, "rated_at": list(range(120))}
    assert planned({"users": USERS, "visits": many})["visits"].time == "rated_at"


def test_two_dates_are_no_guess():
    assert planned({"users": USERS, "visits": {"user_id": IDS, "a": DAYS, "b": DAYS}})["visits"].time is None


@pytest.mark.parametrize(
    ("columns", "stated", "form"),
    [
        ({"user_id": [1, 1, 2], "hobby": ["a", "b", "a"]}, {}, Form.LINK),
        ({"user_id": [1, 1, 2], "hobby": ["a", "a", "a"]}, {}, Form.ROWS),
        ({"user_id": [1, 1, 2], "pressure": [3, 4, 5]}, {}, Form.ROWS),
        ({"user_id": [1, 1, 2], "pressure": [3, 4, 5]}, {"rows": False}, Form.LINK),
        ({"user_id": [1, 1, 2], "hobby": ["a", "b", "a"]}, {"rows": True}, Form.ROWS),
        ({"user_id": [1, 1, 2], "a": ["x", "y", "z"], "b": ["x", "y", "z"]}, {}, Form.ROWS),
    ],
)
def test_rows_that_say_something_twice_are_things(columns, stated, form):
    stated = {"links": {"user_id": "users"}, **stated}
    assert planned({"users": USERS, "t": columns}, {"t": stated})["t"].form is form


def test_what_is_guessed_is_said_and_what_is_stated_is_not():
    frames = {"users": USERS, "visits": {"user_id": IDS * 2, "x": IDS * 2}}
    tables = read_frames({name: pl.DataFrame(columns) for name, columns in frames.items()}, {})
    _, notices = plans(tables, {})
    assert [str(notice) for notice in notices] == [
        'keys and links were inferred (users: "user_id" is the key; visits: "user_id" links to '
        '"users"). Run `hornbeam inspect` to check these; override them in schema.toml.'
    ]
    stated = {"users": {"key": "user_id"}, "visits": {"key": False, "links": {"user_id": "users"}}}
    stated["users"]["links"] = {}
    _, notices = plans(tables, statements(stated, Place("schema")))
    assert notices == []
