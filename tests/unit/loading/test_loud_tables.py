"""What is easily overlooked in tables is said or refused: links, missing words, headers, indexes, labels."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import hornbeam as hb
from hornbeam import HornbeamError
from hornbeam.loading.inspect.inspectors import inspect_tables
from hornbeam.loading.options import TableOptions

TEAMS = "team_id,city\n" + "".join(f"{number},c{number % 3}\n" for number in range(1, 31))


def folder(path: Path, **tables: str) -> Path:
    for name, text in tables.items():
        (path / f"{name}.csv").write_text(text, newline="")
    return path


def games(*columns: str, last: str = "7") -> str:
    """Games, whose columns after the key all hold keys of teams, except perhaps in the last row."""
    rows = [",".join([str(n), *[str(n * 7 % 30 + 1)] * len(columns), str(n % 2)]) for n in range(90)]
    rows.append(",".join(["90", *[last] * len(columns), "0"]))
    return "\n".join([",".join(["game_id", *columns, "won"]), *rows]) + "\n"


def notices(source: Any, **options: Any) -> str:
    return "\n".join(map(str, hb.load(source, **options).notices))


# --- links by values -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["team_1", "team2", "teamB", "home_team", "team_id_2"])
def test_a_column_named_after_a_table_that_holds_its_keys_is_a_link(name: str, tmp_path: Path) -> None:
    database = hb.load(folder(tmp_path, teams=TEAMS, games=games(name)), target="games.won")
    assert database.schema.predicates[name.lower()] == ("games", "teams")


def test_a_column_that_may_be_a_link_is_named_with_the_line_for_the_schema(tmp_path: Path) -> None:
    data = folder(tmp_path, teams=TEAMS, games=games("team_1", "team_size"))
    (suspicion,) = inspect_tables(data, TableOptions()).suspicions
    assert (suspicion.table, suspicion.column) == ("games", "team_size")
    line = 'links = { team_1 = "teams", team_size = "teams" }'
    assert suspicion.why == (
        f'all of its values are keys of "teams"; if it is a link, state {line} under [games] in schema.toml'
    )


def test_a_column_of_nearly_only_keys_is_a_link_too(tmp_path: Path) -> None:
    data = folder(tmp_path, teams=TEAMS, games=games("team_1", last="99"))
    inspected = inspect_tables(data, TableOptions())
    assert inspected.tables[0].links == {"team_1": "teams"}
    (suspicion,) = inspected.suspicions
    assert suspicion.why == '1 key in 1 row is not in "teams" (first: 99); not used'


def coded(share: float, n_values: int = 20) -> str:
    """Flights whose destinations are codes, this share of them codes of airports."""
    known = round(share * n_values)
    words = [f"X{n:02}" if n < known else f"Y{n:02}" for n in range(n_values)]
    return "flight,dest\n" + "".join(f"{n % 30},{words[n % n_values]}\n" for n in range(4 * n_values))


AIRPORTS = "faa,alt\n" + "".join(f"X{n:02},{n}\n" for n in range(40))


@pytest.mark.parametrize(("share", "is_link"), [(1.0, True), (0.75, True), (0.7, False), (0.5, False)])
def test_a_column_is_a_link_if_three_quarters_of_it_are_keys(
    share: float, is_link: bool, tmp_path: Path
) -> None:
    data = folder(tmp_path, airports=AIRPORTS, flights=coded(share))
    found = hb.load(data).origin["tables"]
    assert found["flights"]["links"] == ({"dest": "airports"} if is_link else {})  # type: ignore[index]
    near = [each.why for each in inspect_tables(data, TableOptions()).suspicions if each.column == "dest"]
    suggested = f'{share:.0%} of its values are keys of "airports"; if it is a link, state links'
    assert any(why.startswith(suggested) for why in near) is not is_link


def test_a_column_of_which_less_than_half_are_keys_is_not_named(tmp_path: Path) -> None:
    data = folder(tmp_path, airports=AIRPORTS, flights=coded(0.45))
    assert not [each for each in inspect_tables(data, TableOptions()).suspicions if each.column == "dest"]


@pytest.mark.parametrize("name", ["flight", "flight_id", "flights"])
def test_a_table_is_not_linked_to_itself_where_its_keys_are_a_plain_range(name: str, tmp_path: Path) -> None:
    flights = f"id,{name}\n" + "".join(f"{n},{n % 25 + 1}\n" for n in range(1, 101))
    assert hb.load(folder(tmp_path, flights=flights)).origin["tables"]["flights"]["links"] == {}  # type: ignore[index]


def test_a_table_is_linked_to_itself_where_its_keys_are_words(tmp_path: Path) -> None:
    people = "id,reports_to\n" + "".join(f"p{n},p{n // 3}\n" for n in range(30))
    links = hb.load(folder(tmp_path, people=people)).origin["tables"]["people"]["links"]  # type: ignore[index]
    assert links == {"reports_to": "people"}


def test_values_alone_make_no_link_and_no_suspicion(tmp_path: Path) -> None:
    data = folder(tmp_path, teams=TEAMS, games=games("goals"))
    inspection = inspect_tables(data, TableOptions())
    assert not inspection.suspicions and not inspection.tables[0].links


# --- dates and numbers in other forms --------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "others"),
    [
        ("%d.%m.%Y", 0), ("%Y/%m/%d", 0), ("%m/%d/%Y", 0), ("%d %b %Y", 0), ("%d.%m.%y", 0), ("%b %d, %Y", 0),
        ("%d/%m/%Y %H:%M", 0), ("%m/%d/%Y", 1),
    ],
)  # fmt: skip
def test_dates_that_are_not_read_are_named_with_the_line_that_reads_them(
    form: str, others: int, tmp_path: Path
) -> None:
    """All days of a year; or only days up to the 12th, which may be months."""
    days = [day for day in pd.date_range("2023-01-01", "2023-12-31") if not others or day.day <= 12]
    text = "id,born\n" + "".join(f'{n},"{day.strftime(form)}"\n' for n, day in enumerate(days))
    data = folder(tmp_path, users=text)
    line = f'dates = {{ born = "{form}" }}'
    said = notices(data)
    assert "its values look like dates, such as " in said and line in said
    assert (" or dates = " in said) == bool(others)
    (data / "schema.toml").write_text(f"[users]\n{line}\n")
    assert "look like dates" not in notices(data)
    assert hb.load(data).schema.numeric == {"born_value": "date"}


@pytest.mark.parametrize("words", [["1,5", "20", "1.234,75"], ["1,234.50", "20.25", "1,000,000"]])
def test_numbers_with_commas_are_named(words: list[str], tmp_path: Path) -> None:
    text = "id,paid\n" + "".join(f'u{n},"{word}"\n' for n, word in enumerate(words))
    assert 'column "paid" is read as text; its values look like numbers' in notices(
        folder(tmp_path, users=text)
    )


@pytest.mark.parametrize("words", [["a", "b"], ["1.2.3", "1.2.4"], ["12", "13,x"], ["05", "06"]])
def test_other_texts_are_not_taken_for_dates_or_numbers(words: list[str], tmp_path: Path) -> None:
    text = "id,kind\n" + "".join(f'u{n},"{word}"\n' for n, word in enumerate(words))
    assert "look like" not in notices(folder(tmp_path, users=text))


def test_text_in_frames_that_reads_as_dates_or_numbers_is_named() -> None:
    """Frames say what a column is; text from a CSV file that pandas read is often more than text."""
    days = [f"2024-01-{1 + n % 28:02d}" for n in range(60)]
    numbers = [str(n / 4) for n in range(60)]
    codes = [str(n % 9) for n in range(60)]
    said = notices({"events": pd.DataFrame({"id": range(60), "at": days, "paid": numbers, "code": codes})})
    assert 'column "at" is read as text; its values look like dates' in said
    assert 'column "paid" is read as text; its values look like numbers, such as 0.0; if they are, ' in said
    assert '"code"' not in said


@pytest.mark.parametrize(
    ("form", "stated"),
    [("%Y-%m-%d", {}), ("%d.%m.%Y", {"dates": {"at": "%d.%m.%Y"}}), ("%Y-%m-%dT%H:%MZ", {})],
)
def test_cut_offs_and_times_may_be_text(form: str, stated: dict[str, Any]) -> None:
    """Where no time is stated, the error says which column may be one; text cut-offs are read."""
    days = [day.strftime(form) for day in pd.date_range("2024-01-01", periods=28)]
    frames = {
        "users": pd.DataFrame({"user_id": ["a", "b"]}),
        "events": pd.DataFrame({"event_id": range(28), "user_id": ["a", "b"] * 14, "at": days}),
    }
    examples = pd.DataFrame(
        {"user_id": ["a", "b"], "cutoff": ["2024-01-03", "2024-01-09T01:00Z"], "label": [0, 1]}
    )
    options: dict[str, Any] = {"target": "good(users)", "examples": examples}
    with pytest.raises(HornbeamError, match=r'state .*time = "at" or time = false under \[events\]'):
        hb.load(frames, **options)
    database = hb.load(frames, **options, schema={"events": {"time": "at", **stated}})
    assert sorted(hb.count(database, "good(A) :- user_id(B,A).").true) == [1, 4]


def test_examples_with_columns_that_are_not_used_say_so() -> None:
    """A column of cut-offs under another name would let every example see the future."""
    frames = {
        "users": pd.DataFrame({"user_id": ["a", "b"]}),
        "events": pd.DataFrame(
            {"event_id": [1, 2], "user_id": ["a", "b"], "at": pd.date_range("2024", periods=2)}
        ),
    }
    examples = pd.DataFrame({"user_id": ["a", "b"], "date": ["2024-01-01"] * 2, "label": [0, 1]})
    said = notices(frames, target="good(users)", examples=examples)
    assert 'examples: column "date" is not used; every example sees all rows' in said
    assert 'must be named "cutoff"' in said
    named = examples.rename(columns={"date": "cutoff"}).assign(probability=0.5, predicted=1, note="x")
    said = notices(frames, target="good(users)", examples=named)
    assert 'examples: column "note" is not used.' in said and "predicted" not in said


@pytest.mark.parametrize("value", [Decimal(1) / 3, Fraction(1, 3), Decimal("123456789012345678.9")])
def test_numbers_with_more_digits_than_a_float_are_numbers(value: Any) -> None:
    frame = pd.DataFrame({"id": range(3), "x": pd.Series([value, None, value * 2], dtype=object)})
    database = hb.load({"things": frame})
    assert database.schema.numeric == {"x_value": "number"}
    assert database.numbers["x_value"].tolist() == [float(value), float(value * 2)]


# --- missing words ---------------------------------------------------------------------------


WORDS = ["?", "NA", "NULL", "NaN"]
VALUES = [("31", "number"), ("2024-12-31", "date"), ("true", "boolean"), ("0.5", "number")]


@pytest.mark.parametrize(("engine", "size"), [(None, 9), (None, 3000), ("duckdb", 9)])
@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize(("value", "kind"), VALUES)
def test_words_for_nothing_among_other_values_are_missing(
    word: str, value: str, kind: str, engine: str | None, size: int, tmp_path: Path
) -> None:
    text = "id,a,y\n" + "".join(f"u{n},{value if n % 3 else word},{n % 2}\n" for n in range(size))
    database = hb.load(folder(tmp_path, users=text), target="users.y", engine=engine)
    said = "\n".join(map(str, database.notices))
    is_word = word not in ("NULL", "NaN")
    assert (
        f"words such as NA are missing values in {size // 3:,} cells of 1 column (users.a)" in said
    ) is is_word
    assert database.n_facts("a") == size - size // 3
    (table,) = inspect_tables(tmp_path, TableOptions()).tables
    assert table.columns[1].domain == kind and table.columns[1].n_missing == size // 3


def column_of(tmp_path: Path, words: Sequence[str], **options: Any) -> Any:
    text = "id,a\n" + "".join(f"u{n},{word}\n" for n, word in enumerate(words))
    (table,) = inspect_tables(folder(tmp_path, users=text), TableOptions(**options)).tables
    return table.columns[1]


@pytest.mark.parametrize(
    ("words", "n_values", "n_missing"),
    [
        (["low", "NA", "high"], 2, 1),
        (["low", "n/a", "high"], 3, 0),
        (["DE", "NA", "US"], 3, 0),
        (["DE", "NA", "USA"], 2, 1),
        (["NA", "NA"], 0, 2),
        (["-", "?"], 2, 0),
        (["low", "NULL", "NaN"], 1, 2),
    ],
)
def test_na_in_text_is_missing_unless_the_other_words_are_codes_of_two_letters(
    words: list[str], n_values: int, n_missing: int, tmp_path: Path
) -> None:
    column = column_of(tmp_path, words)
    assert (column.n_values, column.n_missing) == (n_values, n_missing)


def test_further_words_are_stated_for_all_tables_or_for_one(tmp_path: Path) -> None:
    words = ["1", "2", "old", "NA"]
    assert column_of(tmp_path, words).domain == "text"
    assert column_of(tmp_path, words, missing=["old"]).n_missing == 2
    assert column_of(tmp_path, ["1", "NA", "NULL"], missing=["none"]).n_values == 3
    assert column_of(tmp_path, words, schema={"users": {"missing": ["old"]}}).domain == "number"
    assert column_of(tmp_path, ["1", "NA"], schema={"users": {"missing": []}}).domain == "text"
    # What a table states about itself counts more.
    both = column_of(tmp_path, ["1", "NA"], schema={"users": {"missing": []}}, missing=["old"])
    assert both.domain == "text"
    with pytest.raises(HornbeamError, match="none is refused beside other words"):
        column_of(tmp_path, words, missing=["none", "old"])


def test_stated_words_are_missing_in_frames_too() -> None:
    frame = pd.DataFrame({"id": range(3), "x": ["old", "b", "c"], "n": [-1, 5, 6]})
    database = hb.load({"things": frame}, missing=["old", "-1"])
    assert database.n_facts("x") == 2 and database.n_facts("n") == 2


def test_stated_words_in_parquet_in_place_are_refused(tmp_path: Path) -> None:
    pd.DataFrame({"id": range(3), "x": ["old", "b", "c"]}).to_parquet(tmp_path / "things.parquet")
    with pytest.raises(HornbeamError, match="in place only text files can have them"):
        hb.load(tmp_path, engine="duckdb", missing=["old"])


def test_a_model_keeps_the_words_for_missing_values(tmp_path: Path) -> None:
    text = "id,a,y\n" + "".join(f"u{n},{n if n % 3 else 'old'},{n % 2}\n" for n in range(9))
    first = hb.load(folder(tmp_path, users=text), target="users.y", missing=["old"])
    again = hb.load(tmp_path, origin=first.origin)
    assert again.schema == first.schema and again.n_facts("a") == first.n_facts("a") == 6


# --- text files ------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", [None, "duckdb"])
@pytest.mark.parametrize(("usual", "other"), [("\n", "\r\n"), ("\r\n", "\n"), ("\r\n", "\r")])
def test_mixed_line_ends_are_refused_with_the_line(
    usual: str, other: str, engine: str | None, tmp_path: Path
) -> None:
    text = f"id,y{usual}1,0{usual}2,1{other}3,0{usual}"
    with pytest.raises(HornbeamError) as refused:
        hb.load(folder(tmp_path, users=text), target="users.y", engine=engine)
    ends = f"this line ends with {other!r}, but the lines before it with {usual!r}; ".replace("'", "")
    assert str(refused.value).endswith(f"users.csv:3: {ends}give all lines the same end.")


@pytest.mark.parametrize("engine", [None, "duckdb"])
@pytest.mark.parametrize("first", ["1,F,24", "2024-12-31,F", "1.5,1.5"])
def test_a_file_without_a_header_is_refused(first: str, engine: str | None, tmp_path: Path) -> None:
    with pytest.raises(
        HornbeamError, match=r"users.csv:1: the first row should name the columns, but begins with"
    ):
        hb.load(folder(tmp_path, users=f"{first}\n{first}\n"), engine=engine)


def test_years_may_be_names_of_columns(tmp_path: Path) -> None:
    database = hb.load(folder(tmp_path, lands="land,2023,2024\nA,1,2\nB,3,4\n"))
    assert set(database.schema.predicates) == {"2023", "2024"}


# --- frames ----------------------------------------------------------------------------------

ORDERS = pd.DataFrame({"order_id": range(6), "user_id": [10, 20, 20, 30, 40, 10]})
COLUMNS = {"y": [0, 1, 0, 1], "sex": list("abab")}
KEYS = pd.Index([10, 20, 30, 40], name="user_id")


@pytest.mark.parametrize(
    "users",
    [
        pd.DataFrame(COLUMNS, index=KEYS),
        pd.DataFrame({**COLUMNS, "user_id": KEYS}).set_index("user_id", drop=False),
    ],
)
def test_an_index_with_a_name_is_a_column(users: pd.DataFrame) -> None:
    database = hb.load({"users": users, "orders": ORDERS}, target="users.y")
    assert database.schema.predicates["user_id"] == ("orders", "users")
    assert sorted(database.population("users").names) == ["10", "20", "30", "40"]


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (pd.Index(list("abcd")), 'table "users" has an index without a name; if it holds the key, name it'),
        (pd.Index(list("abcd"), name="sex"), 'table "users" has an index and a column "sex" that differ'),
    ],
)
def test_an_index_that_cannot_be_a_column_is_refused(index: Any, message: str) -> None:
    with pytest.raises(HornbeamError, match=message):
        hb.load({"users": pd.DataFrame(COLUMNS, index=index)}, target="users.y")


def test_row_numbers_as_an_index_are_no_column() -> None:
    assert not notices({"users": pd.DataFrame(COLUMNS)})
    filtered = pd.DataFrame(COLUMNS, index=[0, 2, 5, 7])
    assert "its index has no name and is not used" in notices({"users": filtered})


# --- targets ---------------------------------------------------------------------------------

USERS = "id,y,age\n" + "".join(f"{n},{n % 2},{20 + n}\n" for n in range(30))


@pytest.mark.parametrize("engine", [None, "duckdb"])
def test_tables_without_a_link_to_the_target_are_named(engine: str | None, tmp_path: Path) -> None:
    rooms, beds = "room,size\nr1,4\nr2,5\n", "bed_id,room\nb1,r1\nb2,r2\n"
    data = folder(tmp_path, users=USERS, rooms=rooms, beds=beds)
    said = notices(data, target="users.y", engine=engine)
    assert 'no link connects "beds", "rooms" with the target, so the model cannot use these tables' in said
    assert 'no link connects "users" with the target' in notices(data, target="rooms.size=4", engine=engine)


def test_a_target_without_a_key_is_named_as_the_reason(tmp_path: Path) -> None:
    users = "name,y\n" + "a,1\nb,0\n" * 5
    data = folder(tmp_path, users=users, orders="order_id,name\n1,a\n2,b\n")
    assert '(table "users" has no key that links could name)' in notices(data, target="users.y")


@pytest.mark.parametrize("engine", [None, "duckdb"])
def test_missing_labels_are_counted(engine: str | None, tmp_path: Path) -> None:
    users = USERS + "30,,50\n31,,51\n"
    said = notices(folder(tmp_path, users=users), target="users.y", engine=engine)
    assert '2 rows of 32 in "users" have no value of "y": nothing is learned from them.' in said


@pytest.mark.parametrize("pair", [("true", "false"), ("yes", "no")])
def test_an_odd_third_label_is_named(pair: tuple[str, str], tmp_path: Path) -> None:
    users = "id,y,age\n" + "".join(f"{n},{pair[n % 2]},{20 + n}\n" for n in range(30)) + "30,maybe,50\n"
    said = notices(folder(tmp_path, users=users), target="users.y")
    assert (
        f'"users.y" holds {pair[0]} and {pair[1]}, but also "maybe" in 1 row, so it is learned as 3' in said
    )
    assert "maybe" not in notices(folder(tmp_path, users=users), target="users.y=maybe")


# --- exports of other programs ---------------------------------------------------------------


@pytest.mark.parametrize("engine", [None, "duckdb"])
def test_an_index_that_pandas_wrote_without_a_name_is_left_out(engine: str | None, tmp_path: Path) -> None:
    users = pd.DataFrame({"name": [f"n{n % 4}" for n in range(30)], "y": [n % 2 for n in range(30)]})
    users.sample(20, random_state=0).assign(id=range(20)).to_parquet(tmp_path / "users.parquet")
    with hb.load(tmp_path, target="users.y", engine=engine) as database:
        stated = database.origin["tables"]["users"]  # type: ignore[index]
    assert stated["key"] == "id" and set(stated["roles"]) == {"name", "y"}


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_stated_arguments_make_a_link_table_whatever_its_rows(rows: int) -> None:
    users = pd.DataFrame({"id": ["a", "b", "c"]})
    friends = pd.DataFrame({"who": ["a", "a", "a"], "whom": ["b", "b", "c"]})[:rows]
    links = {"who": "users", "whom": "users"}
    schema = {"users": {"key": "id"}, "friends": {"links": links, "arguments": ["who", "whom"]}}
    database = hb.load({"users": users, "friends": friends}, schema=schema)
    assert database.schema.types_of("friends") == ("users", "users")


def test_a_key_is_not_guessed_among_stated_links() -> None:
    users = pd.DataFrame({"id": ["a", "b", "c"]})
    friends = pd.DataFrame({"who": ["a"], "whom": ["b"]})
    schema = {"users": {"key": "id"}, "friends": {"links": {"who": "users", "whom": "users"}}}
    database = hb.load({"users": users, "friends": friends}, schema=schema)
    assert database.schema.types_of("friends") == ("users", "users")
