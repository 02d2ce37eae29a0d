"""The user's words: the target as a question, labels by name, and nouns for tables and types."""

import pytest

from hornbeam.logic.effects import Feature
from hornbeam.logic.english.clauses import text_of
from hornbeam.logic.english.curves import range_of, shape_of
from hornbeam.logic.english.effects import effect_sentence
from hornbeam.logic.english.wording import named_by_target, wording_of
from hornbeam.logic.parse_effect import parse_effect
from hornbeam.logic.schema import NUMBER, Schema

TABLES = {
    "users": {"key": "user_id", "roles": {"gender": "category", "age": "number", "premium": "flag"}},
    "movies": {"key": "movie_id", "roles": {"age": "number"}},
    "ratings": {"key": False, "arguments": ["user_id", "movie_id"], "roles": {"stars": "number"}},
}
TYPES = {
    "users_age": ("users", "users_age_value"),
    "movies_age": ("movies", "movies_age_value"),
    "ratings": ("users", "movies"),
    "stars": ("users", "movies", "stars_value"),
}
NUMERIC = {"users_age_value": NUMBER, "movies_age_value": NUMBER, "stars_value": NUMBER}


@pytest.mark.parametrize(
    ("head", "types", "target", "of_class", "question", "labels"),
    [
        ("gender_f", ("users",), "users.gender=F", "", "Which users have gender F?", ("not F", "F")),
        ("gender_f", ("users",), "Users.GENDER=F", "", "Which users have gender F?", ("not F", "F")),
        ("gender", ("users",), "users.gender", "M", "Which users have gender M?", ("not M", "M")),
        (
            "premium",
            ("users",),
            "users.premium",
            "",
            "For which users is premium true?",
            ("not premium", "premium"),
        ),
        (
            "churned",
            ("users",),
            "churned(users)",
            "",
            "For which users is churned true?",
            ("not churned", "churned"),
        ),
        (
            "ratings",
            ("users", "movies"),
            "ratings",
            "",
            "Which users and movies are linked by ratings?",
            ("not ratings", "ratings"),
        ),
    ],
)
def test_a_target_of_tables_is_a_question(head, types, target, of_class, question, labels):
    wording = wording_of(head, Schema({head: types}), {"tables": TABLES, "target": target}, of_class)
    assert wording.question == question
    assert wording.labels == labels


def test_a_target_of_facts_is_a_question():
    pair = Schema({"advised_by": ("person", "person"), "taught": ("course", "person")})
    assert wording_of("advised_by", pair, {}).question == "For which pairs of persons is advised by true?"
    assert wording_of("taught", pair, {}).question == "For which pairs of course and person is taught true?"


def sentence(text: str, schema: Schema, settings: dict[str, object]) -> str:
    effect = parse_effect(text, schema)
    wording = wording_of(effect.head.predicate, schema, settings)
    return text_of(effect_sentence(effect, schema, False, wording))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "value B [< 30: 0; else: 1] : gender_f(A) :- users_age(A,B).",
            "gender F is likelier if the user's age is 30 or more.",
        ),
        (
            "mean C [< 30: 0; else: 1] : gender_f(A) :- ratings(A,B), movies_age(B,C).",
            "gender F is likelier if the mean age of the user's movies is 30 or more.",
        ),
        (
            "share [< 0.125: 0; else: 1] : gender_f(A) :- ratings(A,B), C = number of stars(D,B,E), C >= 5.",
            "gender F is likelier if the share of the user's movies with at least 5 ratings is "
            "12.5 % or more.",
        ),
    ],
)
def test_sentences_use_the_words_of_the_tables(text, expected):
    schema = Schema({"gender_f": ("users",), **TYPES}, NUMERIC)
    assert sentence(text, schema, {"tables": TABLES, "target": "users.gender=F"}) == expected


def test_a_target_that_names_a_linked_thing_says_what_people_call_it():
    tables = {"Track": {"links": {"GenreId": "Genre"}, "roles": {}}, "Genre": {"links": {}}}
    settings: dict[str, object] = {"tables": tables, "target": "Track.GenreId=1"}
    schema = Schema({"genreid_1": ("track",), "genreid": ("track", "genre")})
    named = wording_of("genreid_1", schema, settings, names={"genre": {"1": "Rock"}})
    assert (named.question, named.labels) == ("Which tracks have genre Rock?", ("not Rock", "Rock"))
    assert wording_of("genreid_1", schema, settings).question == "Which tracks have genre 1?"
    assert named_by_target(settings) == ("genre", "1")
    assert named_by_target({"tables": tables, "target": "Track.Title=1"}) is None


def test_a_link_column_or_table_as_target_asks_which_things_are_linked():
    tables = {
        "Customer": {"links": {"SupportRepId": "Employee"}},
        "Employee": {"links": {}},
        "PlayedBy": {"links": {"CustomerId": "Customer", "EmployeeId": "Employee"}, "arguments": ["x", "y"]},
    }
    types = ("customer", "employee")
    schema = Schema({"supportrepid": types, "playedby": types})
    for target, name in (("Customer.SupportRepId", "support rep"), ("PlayedBy", "played by")):
        head = target.rpartition(".")[2].lower()
        question = wording_of(head, schema, {"tables": tables, "target": target}).question
        assert question == f"Which customers and employees are linked by {name}?"


def test_names_of_tables_and_columns_become_words():
    tables = {
        "Track": {"key": "TrackId", "roles": {"UnitPrice": "number", "BPM": "number"}, "links": {}},
        "OrderLines": {
            "key": "OrderLineId",
            "links": {"TrackId": "Track", "CustomerKey": "Customer"},
            "roles": {"Quantity": "number"},
        },
        "Customer": {"key": "CustomerKey", "links": {}, "roles": {"IsVIP": "flag"}},
    }
    schema = Schema(
        {
            "isvip": ("customer",),
            "unitprice": ("track", "unitprice_value"),
            "bpm": ("track", "bpm_value"),
            "quantity": ("orderlines", "quantity_value"),
            "trackid": ("orderlines", "track"),
            "customerkey": ("orderlines", "customer"),
        },
        {"unitprice_value": "number", "bpm_value": "number", "quantity_value": "number"},
    )
    settings: dict[str, object] = {"tables": tables, "target": "Customer.IsVIP"}
    wording = wording_of("isvip", schema, settings)
    assert wording.question == "Which customers are VIP?"
    assert (wording.column("trackid"), wording.column("customerkey")) == ("track", "customer")
    body = "isvip(A) :- customerkey(B,A)"
    assert sentence(f"count [< 3: 0; else: 1] : {body}.", schema, settings) == (
        "is VIP is likelier if the number of the customer's order lines is 3 or more."
    )
    body = f"{body}, trackid(B,C)"
    assert sentence(f"mean D [< 3: 0; else: 1] : {body}, unitprice(C,D).", schema, settings) == (
        "is VIP is likelier if the mean unit price of the tracks of the customer's order lines is 3 or more."
    )
    assert "mean BPM of" in sentence(f"mean D [< 3: 0; else: 1] : {body}, bpm(C,D).", schema, settings)


def test_types_that_the_loader_named_get_nouns():
    schema = Schema(
        {
            "active": ("active_1",),
            "bond": ("bond_1", "bond_1", "bond_3"),
            "element": ("bond_1", "element_2"),
            "hasatom": ("active_1", "bond_1"),
        }
    )
    assert sentence(
        "count [< 1: 0; else: 1] : active(A) :- hasatom(A,B), element(B,C), C = cl.", schema, {}
    ) == ("active is likelier if the number of the example's atoms with element cl is 1 or more.")
    assert sentence(
        "count [< 6: 0; else: 1] : active(A) :- hasatom(A,B), bond(B,C,D), D = b_2.", schema, {}
    ) == ("active is likelier if the number of bonds with bond type b_2 of the example's atoms is 6 or more.")


def test_small_turns_are_no_part_of_a_shape():
    assert shape_of((0.0, 1.0, 0.9, 2.0)) == "rises"
    assert shape_of((0.0, 1.0, 0.2, 2.0)) == "varies"
    assert shape_of((1.0, 1.0)) == "is flat"


def test_ranges_of_shares_are_in_percent():
    assert range_of(Feature("share"), None, 0.1) == "below 10 %"
    assert range_of(Feature("share"), 0.29, None) == "29 % or more"
