"""Effects in English: one sentence each, in the words of the tables."""

import pytest

from hornbeam.logic.effects import Curve, Feature
from hornbeam.logic.english.clauses import text_of
from hornbeam.logic.english.curves import curve_table
from hornbeam.logic.english.effects import effect_sentence
from hornbeam.logic.english.phrases import feature_pieces
from hornbeam.logic.english.wording import wording_of
from hornbeam.logic.parse_effect import parse_effect
from hornbeam.logic.schema import DATE, NUMBER, Schema

SCHEMA = Schema(
    {
        "bad": ("users",),
        "pair": ("users", "users"),
        "user_id": ("orders", "users"),
        "amount": ("orders", "amount_value"),
        "status": ("orders", "status_value"),
        "paid": ("orders",),
        "birthday": ("users", "day"),
        "team_id": ("users", "teams"),
        "age": ("teams", "age_value"),
        "vip": ("users",),
        "friend": ("users", "users"),
        "ratings": ("users", "movies"),
        "rating": ("users", "movies", "rating_value"),
        "genre": ("movies", "genre_value"),
    },
    {"amount_value": NUMBER, "day": DATE, "age_value": NUMBER, "rating_value": NUMBER},
)
RISES = "[< 3: -0.3; < 7: 0; else: 0.4]"
DIPS = "[< 15: 0; < 35: -1; else: 1]"


@pytest.mark.parametrize(
    ("effect", "sentence"),
    [
        (
            f"mean V {RISES} : bad(A) :- within 30 last 5 user_id(B,A), amount(B,V).",
            "bad(A) is likelier the larger the mean amount of its last 5 orders in the last 30 days.",
        ),
        (
            "sum V [missing: -0.2; < 3: 1; < 4: 0; else: -1] : bad(A) :- user_id(B,A), amount(B,V).",
            "bad(A) is less likely the larger the total amount of its orders; a missing value lowers the "
            "log-odds by 0.2.",
        ),
        (
            "count [< 1: 0; else: 1] : bad(A) :- user_id(B,A), status(B,open), amount(B,V), V >= 5.",
            "bad(A) is likelier if the number of its orders with status open and amount at least 5 is 1 "
            "or more.",
        ),
        ("count [< 1: 0; else: -1] : bad(A) :- vip(A).", "bad(A) is less likely if vip(A)."),
        (
            f"count {RISES} : bad(A) :- vip(A), friend(A,B), user_id(C,B), not paid(C).",
            "bad(A) is likelier the larger the number of orders that are not paid of its friends "
            "(for examples that are vip; others have 0).",
        ),
        (
            "share [< .5: 0; < .7: -1; else: -1] : bad(A) :- user_id(B,A), not status(B,open).",
            "bad(A) is less likely if the share of its orders without status open is 50 % or more.",
        ),
        (
            f"value V {DIPS} : bad(A) :- team_id(A,B), age(B,V).",
            "bad(A) is least likely if the age of its team is 15 to below 35.",
        ),
        (
            "value V [< 2001-01-01: 0; < 2003-01-01: 1; else: 0] : bad(A) :- birthday(A,V).",
            "bad(A) is likeliest if its birthday is 2001-01-01 to before 2003-01-01.",
        ),
        (
            f"since V {DIPS} : bad(A) :- birthday(A,V).",
            "bad(A) is least likely if the number of days since its birthday is 15 to below 35.",
        ),
        (
            f"since last {RISES} : bad(A) :- within 1 user_id(B,A).",
            "bad(A) is likelier the larger the number of days since the latest of its orders in the last "
            "day.",
        ),
        (
            f"mean R {RISES} : bad(A) :- rating(A,M,R), genre(M,'Sci-Fi').",
            "bad(A) is likelier the larger the mean rating of its movies with genre 'Sci-Fi'.",
        ),
        (
            f"count {RISES} : bad(A) :- ratings(A,M), genre(M,G), G = drama.",
            "bad(A) is likelier the larger the number of its movies with genre drama.",
        ),
        (
            "share [< .5: 0; else: 1] : bad(A) :- friend(A,B), team_id(B,C), C = reds.",
            "bad(A) is likelier if the share of reds among teams of its friends is 50 % or more.",
        ),
        (
            "share [< .5: 0; else: 1] : bad(A) :- user_id(B,A), status(B,open), amount(B,V), V >= 5.",
            "bad(A) is likelier if the share with amount at least 5 among its orders with status open is "
            "50 % or more.",
        ),
        (
            f"distinct G {RISES} : bad(A) :- ratings(A,M), genre(M,G).",
            "bad(A) is likelier the larger the number of different genres of its movies.",
        ),
        (
            f"count {RISES} : pair(A,B) :- ratings(A,M), ratings(B,M).",
            "pair(A, B) is likelier the larger the number of movies of A that B has too.",
        ),
        (
            "share [< 1: -0.3; else: 0.4] : pair(A,B) :- ratings(B,M), ratings(A,M).",
            "pair(A, B) is likelier if the share of movies of B that A has too is 100 %.",
        ),
        (
            f"count {RISES} : pair(A,B) :- friend(A,C), friend(C,B).",
            "pair(A, B) is likelier the larger the number of friends of A linked to B by friend.",
        ),
        (
            f"count {RISES} : pair(A,B) :- ratings(A,M), M = m3.",
            "pair(A, B) is likelier if the movie of A is m3.",
        ),
        (
            "max N [< 3: 0; < 4: -1; < 5: 3; else: -2] : bad(A) :- ratings(A,M), N = number of ratings(U,M).",
            "bad(A) depends on the largest number of users of its movies.",
        ),
        (
            f"min D {DIPS} : bad(A) :- birthday(A,D), vip(A).",
            "bad(A) is least likely if its smallest birthday (for examples that are vip) is 15 to below 35.",
        ),
        (
            "mean V [missing: 0.3; < 3: -1; < 4: 0; else: 1] : bad(A) :- vip(A), user_id(B,A), amount(B,V).",
            "bad(A) is likelier the larger the mean amount of its orders (for examples that are vip); other "
            "examples and missing values raise the log-odds by 0.3.",
        ),
        (
            f"distinct M {RISES} : bad(A) :- ratings(A,M), genre(M,drama).",
            "bad(A) is likelier the larger the number of its different movies with genre drama.",
        ),
        (
            f"mean V {RISES} : bad(A) :- within 90 user_id(B,C), amount(B,V).",
            "bad(A) is likelier the larger the mean amount of all orders in the last 90 days.",
        ),
        (
            f"count {RISES} : bad(A) :- within 90 user_id(B,C).",
            "bad(A) is likelier the larger the number of all orders in the last 90 days.",
        ),
        (
            "share [< .5: 0; else: 1] : bad(A) :- within 90 user_id(B,C), status(B,D), D = open.",
            "bad(A) is likelier if the share of all orders in the last 90 days with status open is 50 % or "
            "more.",
        ),
        (
            f"distinct C {RISES} : bad(A) :- within 90 user_id(B,C).",
            "bad(A) is likelier the larger the number of different users of all orders in the last 90 days.",
        ),
        (
            "share [missing: 1; < .5: 0; else: 1] : pair(A,B) :- N = number of ratings(A,C), N >= 3, "
            "ratings(A,M), ratings(B,M).",
            "pair(A, B) is likelier if the share of movies of A that B has too (for pairs in which A has at "
            "least 3 movies) is 50 % or more; other pairs and missing values raise the log-odds by 1.",
        ),
        (
            f"count {RISES} : pair(A,B) :- vip(A), birthday(B,V), V < '2001-01-01', ratings(A,M).",
            "pair(A, B) is likelier the larger the number of movies of A (for pairs in which A is vip and "
            "the birthday of B is below 2001-01-01; others have 0).",
        ),
        (
            f"mean R {RISES} : bad(A) :- ratings(A,M), ratings(U,M), rating(U,M,R), R >= 3, vip(U).",
            "bad(A) is likelier the larger the mean rating of the users with rating at least 3 and that are "
            "vip of its movies.",
        ),
        (
            f"mean V {RISES} : bad(A) :- user_id(B,A), friend(A,C), vip(C), amount(B,V).",
            "bad(A) is likelier the larger the mean amount of its orders (for examples with friends that are "
            "vip).",
        ),
        (
            f"mean V {RISES} : bad(A) :- friend(A,B), team_id(B,C), C = reds, user_id(D,B), amount(D,V).",
            "bad(A) is likelier the larger the mean amount of the orders of its friends with team reds.",
        ),
        (
            f"mean V {RISES} : bad(A) :- last 1 user_id(B,A), amount(B,V).",
            "bad(A) is likelier the larger the mean amount of its last order.",
        ),
        (
            "month [< 3: 1; else: 1] : bad(A) :- true.",
            "bad(A) does not depend on the month of the cut-off.",
        ),
    ],
)
def test_an_effect_is_one_sentence(effect: str, sentence: str) -> None:
    assert text_of(effect_sentence(parse_effect(effect, SCHEMA), SCHEMA, dated=True)) == sentence


def test_without_dates_a_window_has_no_unit() -> None:
    effect = parse_effect(f"count {RISES} : bad(A) :- within 30 user_id(B,A).", SCHEMA)
    assert text_of(effect_sentence(effect, SCHEMA)) == (
        "bad(A) is likelier the larger the number of its orders at most 30 before the cut-off."
    )


def test_a_curve_is_a_table() -> None:
    assert curve_table(Curve((1.0, 2.0, 5.0), (-0.5, 0.0, 0.1, 1.25)), Feature("count")) == (
        "0          -0.5   odds x 0.607\n"
        "1          0      odds x 1\n"
        "2 to 4     +0.1   odds x 1.11\n"
        "5 or more  +1.25  odds x 3.49"
    )
    assert curve_table(Curve((), (2.0,), -1.0), Feature("mean", 1)) == (
        "any      +2  odds x 7.39\nmissing  -1  odds x 0.368"
    )


@pytest.mark.parametrize(
    ("effect", "phrase"),
    [
        ("count [< 1: 0; else: 1] : bad(A) :- smokes(A).", "whether the person smokes"),
        ("count [< 1: 0; else: 1] : bad(A) :- not smokes(A).", "whether the person does not smoke"),
        ("count [< 1: 0; else: 1] : bad(A) :- vip(A).", "whether the person is vip"),
        (
            "count [< 1: 0; else: 1] : bad(A) :- age(A,B), B < 30, vip(A).",
            "whether the person's age is below 30 and the person is vip",
        ),
        (
            "count [< 2: 0; else: 1] : bad(A) :- age(A,B), B >= 30, friends(A,C), smokes(C).",
            "the number of the person's friends that smoke (for persons with age at least 30; others have 0)",
        ),
        (
            "value B [< 30: 0; else: 1] : bad(A) :- vip(A), age(A,B).",
            "the person's age (for persons that are vip)",
        ),
        ("count [< 2: 0; else: 1] : bad(A) :- friends(A,B), smokes(B).", "the person's friends that smoke"),
        (
            "count [< 2: 0; else: 1] : bad(A) :- friends(A,B), has_car(B).",
            "the person's friends that have car",
        ),
        ("share [< 0.5: 0; else: 1] : bad(A) :- friends(A,B), vip(B).", "the person's friends that are vip"),
        ("share [< 0.5: 0; else: 1] : bad(A) :- friends(A,B), age(B,C).", "friends with a known age"),
        ("share [< 0.5: 0; else: 1] : bad(A) :- friends(A,B), owns(B,C).", "friends with any dogs"),
    ],
)
def test_flags_and_known_values_are_plain_english(effect, phrase):
    types = {"bad": ("person",), "smokes": ("person",), "vip": ("person",), "has_car": ("person",)}
    types |= {"friends": ("person", "person"), "age": ("person", "age_value"), "owns": ("person", "dog")}
    schema = Schema(types, {"age_value": "number"})
    wording = wording_of("bad", schema, {})
    assert phrase in text_of(feature_pieces(parse_effect(effect), schema, wording=wording))


def test_two_links_between_the_same_tables_are_told_apart():
    """The columns of a table name what they lead to; the way back has the name of the column."""
    types = {"up": ("teams",), "home_id": ("games", "teams"), "away_id": ("games", "teams")}
    schema = Schema(types | {"goals": ("games", "goals_value")}, {"goals_value": "number"})
    tables = {"teams": {"key": "id"}, "games": {"links": {"home_id": "teams", "away_id": "teams"}}}
    wording = wording_of("up", schema, {"target": "teams.up", "tables": tables})
    body = "home_id(B,A), away_id(B,C), home_id(D,C), goals(D,E)"
    effect = parse_effect(f"mean E [< 1: 0; else: 1] : up(A) :- {body}.", schema)
    assert text_of(feature_pieces(effect, schema, wording=wording)) == (
        "the mean goals of the games by home of the aways of the team's games by home"
    )
