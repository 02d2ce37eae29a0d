"""Display names: titles of films instead of their keys, stated or guessed, and never learned from."""

from pathlib import Path

import numpy as np
import pytest

import hornbeam as hb
from folders import write
from hornbeam.engines.memory.engine import MemoryEngine
from hornbeam.engines.registry import open_engine
from hornbeam.errors import SchemaError
from hornbeam.in_place.load import load_quietly
from hornbeam.logic.english.clauses import text_of
from hornbeam.logic.english.phrases import feature_pieces
from hornbeam.logic.english.wording import Wording, wording_of
from hornbeam.logic.parse import parse_clause
from hornbeam.logic.parse_effect import parse_effect
from hornbeam.logic.schema import Schema
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.effects import FittedEffect
from hornbeam.model.explain import explain
from hornbeam.model.readable.constants import constants_card, constants_lines, shown_names
from hornbeam.model.scales import LOG_ODDS

USERS = "user_id,gender\n" + "".join(f"u{n},{'FM'[n % 2]}\n" for n in range(8))
MOVIES = "movie_id,title,slogan\n" + "".join(f"{n},Film {n},Slogan {n} for all\n" for n in range(30))
SEEN = "user_id,movie_id\n" + "".join(f"u{n % 8},{n}\n" for n in range(30))


@pytest.fixture
def folder(tmp_path) -> Path:
    return write(tmp_path / "tables", {"users.csv": USERS, "movies.csv": MOVIES, "seen.csv": SEEN})


def test_a_column_called_title_names_the_rows(folder):
    database = hb.load(folder, target="users.gender=F")
    assert dict(database.display_names) == {"movies": {str(n): f"Film {n}" for n in range(30)}}
    assert "0" in database.population("movies").names


def test_a_schema_states_the_column_and_a_model_keeps_it(folder):
    database = hb.load(folder, target="users.gender=F", schema={"movies": {"name": "slogan"}})
    assert database.display_names["movies"]["3"] == "Slogan 3 for all"
    again = hb.load(folder, origin=dict(database.origin))
    assert again.display_names == database.display_names


def test_names_are_read_again_with_the_settings_of_a_model(folder):
    database = hb.load(folder, target="users.gender=F")
    assert "name" not in database.origin["tables"]["movies"]
    assert hb.load(folder, origin=dict(database.origin)).display_names == database.display_names


def test_names_that_many_rows_share_are_no_display_names(tmp_path):
    movies = "movie_id,title\n" + "".join(f"{n},Film {n % 4}\n" for n in range(30))
    files = {"users.csv": USERS, "movies.csv": movies, "seen.csv": SEEN}
    database = hb.load(write(tmp_path / "tables", files), target="users.gender=F")
    assert dict(database.display_names) == {}


def test_labels_name_single_rows_and_count_more_than_the_column(folder):
    schema = {"movies": {"labels": {3: "The third"}}, "users": {"labels": {"u1": "Ann"}}}
    database = hb.load(folder, target="users.gender=F", schema=schema)
    assert database.display_names["movies"]["3"] == "The third"
    assert database.display_names["movies"]["4"] == "Film 4"
    assert database.display_names["users"] == {"u1": "Ann"}
    again = hb.load(folder, origin=dict(database.origin))
    assert again.display_names == database.display_names


def test_labels_name_rows_of_tables_in_place(folder):
    schema = {"movies": {"labels": {"3": "The third"}}, "users": {"labels": {"u1": "Ann"}}}
    database = hb.load(folder, target="users.gender=F", schema=schema, engine="duckdb")
    assert database.display_names["movies"]["3"] == "The third"
    assert database.display_names["movies"]["4"] == "Film 4"
    assert dict(database.display_names["users"]) == {"u1": "Ann"}


def test_what_a_row_is_can_be_stated(folder):
    schema = {"movies": {"words": "film"}, "users": {"words": "viewer"}}
    database = hb.load(folder, target="users.gender=F", schema=schema)
    head = next(iter(database.example_sets), "gender_f")
    wording = wording_of(head, database.schema, dict(database.origin))
    assert (wording.question, wording.noun("movies")) == ("Which viewers have gender F?", "film")


@pytest.mark.parametrize("labels", [["Rock"], {"1": 2}, {"1": ""}])
def test_labels_that_are_no_texts_are_refused(folder, labels):
    with pytest.raises(SchemaError, match="labels must be pairs of a key and a text"):
        hb.load(folder, target="users.gender=F", schema={"movies": {"labels": labels}})


def test_names_in_words_of_capitals_name_the_rows(tmp_path):
    movies = "MovieID,MovieName\n" + "".join(f"{n},Film {n}\n" for n in range(30))
    seen = "user_id,MovieID\n" + "".join(f"u{n % 8},{n}\n" for n in range(30))
    folder = write(tmp_path / "tables", {"users.csv": USERS, "Movies.csv": movies, "seen.csv": seen})
    assert hb.load(folder, target="users.gender=F").display_names["movies"]["3"] == "Film 3"


def test_a_model_keeps_the_names_of_the_constants_that_its_effects_name():
    schema = Schema({"good": ("users",), "seen": ("users", "movies"), "kind": ("movies", "kinds")})
    names = {"movies": {"1": "Alien", "2": "Brazil"}, "kinds": {"7": "Drama", "8": "Farce"}}
    body = "good(A) :- seen(A,B), kind(B,C), C = '7', not seen(A,'2')."
    effect = parse_effect(f"count [< 1: 0; else: 1] : {body}", schema)
    assert shown_names((), [effect], schema, names) == {"movies": {"2": "Brazil"}, "kinds": {"7": "Drama"}}


def test_sentences_say_the_names_of_linked_things_not_their_keys():
    schema = Schema({"good": ("users",), "seen": ("users", "movies"), "kind": ("movies", "kinds")})
    wording = Wording(example="user", names={"kinds": {"7": "Science Fiction"}})
    body = "good(A) :- seen(A,B), kind(B,C), C ="
    known, unknown = (parse_effect(f"count [< 1: 0; else: 1] : {body} '{key}'.", schema) for key in "78")
    assert text_of(feature_pieces(known, schema, False, wording)) == (
        "the number of the user's movies with kind Science Fiction"
    )
    assert text_of(feature_pieces(unknown, schema, False, wording)).endswith("with kind 8")


def test_a_list_of_weights_names_five_and_counts_the_others():
    schema = Schema({"good": ("users",), "seen": ("users", "movies")})
    clause = parse_clause("good(A) :- seen(A,B).")
    weights = [(f"m{n}", float(n + 1)) for n in range(17)] + [("bad", -1.0)]
    card = constants_card([(clause, 1)], weights, schema, Wording(), LOG_ODDS)
    title, rising, falling = constants_lines(card)
    assert title == "Weights of 18 movies (seen)"
    assert rising.count("×") == 5
    assert rising.endswith(" and 12 more")
    assert "more" not in falling


def test_a_stated_column_must_exist(folder):
    with pytest.raises(SchemaError, match='has no column "tilte"'):
        hb.load(folder, target="users.gender=F", schema={"movies": {"name": "tilte"}})


def test_an_explanation_says_the_title_and_keeps_the_key(folder):
    database = hb.load(folder, target="users.gender=F")
    effect = parse_effect("count [< 1: 0; else: 1] : gender_f(A) :- seen(A,B).", database.schema)
    clause = parse_clause("gender_f(A) :- seen(A,B).", database.schema)
    weighted = WeightedClause(clause, (0.0, 0.0, 0.0), 0, "count", 1, (("3", 0.5),))
    model = Model("gender_f", database.schema, 0.0, (weighted,), effects=(FittedEffect(effect),))
    key = database.encode_keys("gender_f", np.array([["u3"]], dtype=object))[0]
    explanation = explain(model, MemoryEngine(database), key, ["u3"])
    first, second = explanation.reasons
    assert "Film 11, Film 19, Film 27, Film 3" in first.because(("u3",))
    assert first.as_dict()["groundings"][0] == {"B": "11"}
    assert second.because(("u3",)).endswith("Film 3 +0.5")
    assert second.as_dict()["constants"] == {"3": 0.5}


@pytest.mark.parametrize("stated", [None, {"movies": {"name": "slogan"}}])
def test_tables_in_place_have_the_same_names(folder, stated):
    loaded = hb.load(folder, target="users.gender=F", schema=stated)
    with hb.load(folder, target="users.gender=F", schema=stated, engine="duckdb") as in_place:
        assert {name: dict(names) for name, names in in_place.display_names.items()} == loaded.display_names
        effect = parse_effect("count [< 1: 0; else: 1] : gender_f(A) :- seen(A,B).", in_place.schema)
        model = Model("gender_f", in_place.schema, 0.0, (), effects=(FittedEffect(effect),))
        shown = []
        for database, engine in ((loaded, "memory"), (in_place, "duckdb")):
            key = database.encode_keys("gender_f", np.array([["u3"]], dtype=object))[0]
            shown.append(str(explain(model, open_engine(engine, database), key, ["u3"])))
        assert shown[0] == shown[1]
        assert "Film 11" in shown[0] or "Slogan 11" in shown[0]
    with hb.load(folder, origin=dict(loaded.origin), engine="duckdb") as again:
        assert dict(again.display_names["movies"]) == loaded.display_names["movies"]


def test_names_that_rows_share_are_told_apart_by_the_key(tmp_path):
    lists = "list_id,name\n1,Music\n2,Movies\n3,Music\n4,Classics\n"
    songs = "song_id,list_id,loud\n" + "".join(f"{n},{n % 4 + 1},{n % 2}\n" for n in range(30))
    folder = write(tmp_path / "tables", {"lists.csv": lists, "songs.csv": songs})
    named = {"1": "Music (1)", "2": "Movies", "3": "Music (3)", "4": "Classics"}
    assert load_quietly(folder, target="songs.loud").display_names["lists"] == named
    with load_quietly(folder, target="songs.loud", engine="duckdb") as placed:
        assert dict(placed.display_names["lists"]) == named
