"""Made worlds whose labels only the future tells: they are refused, or nothing is learned from them."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import hornbeam as hb
from folders import write
from hornbeam.engines.registry import open_engine
from hornbeam.errors import DataWarning, SchemaError
from hornbeam.logic.parse_effect import parse_effect
from hornbeam.model.clause_model import Model
from hornbeam.model.effects import FittedEffect

Tables = dict[str, pd.DataFrame]
N = 1200
CUTOFF = "2024-03-01"
DRAW = np.random.default_rng(5)
POSITIVE = DRAW.random(N) < 0.4
KEYS = [f"c{number}" for number in range(N)]


def day(month: int) -> pd.Timestamp:
    return pd.Timestamp(f"2024-{month:02d}-{DRAW.integers(1, 28):02d}")


def customers(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"customer_id": KEYS, **columns})


def visits() -> pd.DataFrame:
    rows = [(key, day(1)) for key in KEYS for _ in range(DRAW.integers(1, 4))]
    return pd.DataFrame(rows, columns=["customer_id", "visited"])


def orders(month: int = 6) -> pd.DataFrame:
    """Orders before the cut-off for everybody, and afterwards for positives alone."""
    rows = [(key, day(1)) for key in KEYS for _ in range(DRAW.integers(1, 4))]
    rows += [(key, day(month)) for key, label in zip(KEYS, POSITIVE, strict=True) if label]
    frame = pd.DataFrame(rows, columns=["customer_id", "ordered"])
    return frame.assign(order_id=[f"o{number}" for number in range(len(frame))])


def lines(of: pd.DataFrame) -> pd.DataFrame:
    """A line of each order; who ordered is a link of the line too, so that lines alone tell the label."""
    named = {
        "line_id": [f"l{n}" for n in range(len(of))],
        "order_id": of.order_id,
        "customer_id": of.customer_id,
    }
    return pd.DataFrame({**named, "amount": DRAW.integers(1, 9, len(of))})


def two_dates() -> Tables:
    table = orders()
    return {"orders": table.assign(shipped=table.ordered + pd.Timedelta(days=2))}


def dates_as_text() -> Tables:
    return {"orders": orders().assign(ordered=lambda table: table.ordered.dt.strftime("%Y-%m-%d"))}


def dates_in_another_form() -> Tables:
    return {"orders": orders().assign(ordered=lambda table: table.ordered.dt.strftime("%d.%m.%Y"))}


def own_table() -> Tables:
    closed = [day(6) if label else day(9) for label in POSITIVE]
    return {"customers": customers(closed=closed, spent=np.where(POSITIVE, 9, 1))}


def own_table_with_empty_dates() -> Tables:
    return {"customers": customers(closed=[day(6) if label else pd.NaT for label in POSITIVE])}


def one_to_one() -> Tables:
    outcomes = customers(recorded=[day(6) for _ in KEYS], result=np.where(POSITIVE, "bad", "good"))
    return {"outcomes": outcomes}


def order_lines() -> Tables:
    table = orders()
    return {"orders": table, "lines": lines(table)}


def chain() -> Tables:
    table = orders()
    of_orders = lines(table)
    returned = {"return_id": [f"r{n}" for n in range(len(of_orders))], "line_id": of_orders.line_id}
    returns = pd.DataFrame({**returned, "customer_id": of_orders.customer_id})
    return {"orders": table, "lines": of_orders, "returns": returns}


def birthday_beside_two_dates() -> Tables:
    return {"orders": two_dates()["orders"].assign(born=pd.Timestamp("1980-01-01"))}


def things_with_dates() -> Tables:
    """Links without times to things that are dated: campaigns that begin after the cut-off."""
    campaigns = pd.DataFrame({"campaign_id": ["one", "other"], "begun": [day(6), day(9)]})
    rows = [(key, "one" if label else "other") for key, label in zip(KEYS, POSITIVE, strict=True)]
    joined = pd.DataFrame(rows, columns=["customer_id", "campaign_id"])
    return {"campaigns": campaigns, "joined": joined}


def days_as_numbers() -> Tables:
    return {"orders": orders().assign(ordered=lambda t: t.ordered.dt.strftime("%Y%m%d").astype(int))}


def months() -> Tables:
    return {"orders": orders().assign(ordered=lambda table: table.ordered.dt.strftime("%Y-%m"))}


def moments_with_zones() -> Tables:
    paid = orders().ordered.dt.tz_localize("Asia/Tokyo")
    return {"orders": orders().assign(ordered=paid, paid=paid)}


def pairs_with_two_dates() -> Tables:
    rows = [(key, KEYS[DRAW.integers(N)], day(6), day(7)) for key, label in labelled() if label]
    return {"referrals": pd.DataFrame(rows, columns=["customer_id", "friend_id", "asked", "answered"])}


def pairs_with_a_date() -> Tables:
    rows = [(key, KEYS[DRAW.integers(N)], day(6)) for key, label in labelled() if label]
    return {"referrals": pd.DataFrame(rows, columns=["customer_id", "friend_id", "asked"])}


def a_column_that_is_written_again() -> Tables:
    """Whoever came back was seen last after the cut-off, the others long before."""
    return {"customers": customers(last_seen=[day(6) if label else day(1) for label in POSITIVE])}


def a_column_that_is_empty_until_later() -> Tables:
    reasons = ["moved" if label else None for label in POSITIVE]
    return {"exits": customers(left=[day(6) for _ in KEYS], reason=reasons)}


def keys_of_two_columns() -> Tables:
    """Lines link to orders by customer and number; orders have times."""
    table = orders().assign(number=lambda rows: rows.groupby("customer_id").cumcount())
    of = table[["customer_id", "number"]].assign(amount=DRAW.integers(1, 9, len(table)))
    of["line_id"] = [f"l{number}" for number in range(len(of))]
    return {"orders": table.drop(columns="order_id"), "lines": of}


def notes_of_dated_orders() -> Tables:
    """Rows that link to dated orders, and to the customers through these alone."""
    table = orders()
    notes = {"note_id": [f"n{n}" for n in range(len(table))], "order_id": table.order_id}
    return {"orders": table, "notes": pd.DataFrame({**notes, "words": DRAW.integers(1, 90, len(table))})}


def a_date_that_comes_later() -> Tables:
    """Orders of January are paid back in June where the label is true: the row is old, the cell is not."""
    table = orders(1)
    back = [day(6) if key in LATE else pd.NaT for key in table.customer_id]
    return {"orders": table.assign(paid_back=back)}


def labelled() -> list[tuple[str, bool]]:
    return list(zip(KEYS, POSITIVE.tolist(), strict=True))


LATE = {key for key, label in labelled() if label}
SCHEMAS = {
    "keys_of_two_columns": {
        "orders": {"key": ["customer_id", "number"], "links": {"customer_id": "customers"}},
        "lines": {
            "key": "line_id",
            "joined": {"of_order": ["customer_id", "number"]},
            "links": {"of_order": "orders", "customer_id": "customers"},
        },
    }
}

WORLDS: list[tuple[Callable[[], Tables], bool]] = [
    (two_dates, True),
    (dates_as_text, True),
    (dates_in_another_form, True),
    (own_table, True),
    (own_table_with_empty_dates, True),
    (one_to_one, False),
    (order_lines, False),
    (chain, False),
    (birthday_beside_two_dates, True),
    (things_with_dates, False),
    (days_as_numbers, True),
    (months, True),
    (moments_with_zones, True),
    (pairs_with_two_dates, True),
    (pairs_with_a_date, False),
    (a_column_that_is_written_again, True),
    (a_column_that_is_empty_until_later, False),
    (keys_of_two_columns, False),
    (notes_of_dated_orders, False),
    (a_date_that_comes_later, True),
]


def examples() -> pd.DataFrame:
    return pd.DataFrame({"customer_id": KEYS, "cutoff": CUTOFF, "label": POSITIVE.astype(int)})


def held_out_auc(database: hb.Database) -> float:
    keys, labels = database.examples()
    order = np.random.default_rng(1).permutation(N)
    train, test = order[: N // 3], order[N // 3 :]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there is nothing to learn
        model = hb.RLRClassifier(database=database, n_bags=2, n_steps=60).fit(keys[train], labels[train])
    return float(roc_auc_score(labels[test], model.predict_proba(keys[test])[:, 1]))


def load(tables: Tables, schema: Any = None, **more: Any) -> hb.Database:
    whole = {"customers": customers(), "visits": visits(), **tables}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hb.load(whole, target="churned(customers)", schema=schema, **({"examples": examples()} | more))


@pytest.mark.parametrize(("world", "refused"), WORLDS, ids=[world.__name__ for world, _ in WORLDS])
def test_a_label_that_only_the_future_tells_is_refused_or_not_learned(
    world: Callable[[], Tables], refused: bool
) -> None:
    tables, schema = world(), SCHEMAS.get(world.__name__)
    if refused:
        with pytest.raises(SchemaError, match=r"cut-offs.* time.* time = false"):
            load(tables, schema)
        return
    assert abs(held_out_auc(load(tables, schema)) - 0.5) <= 0.05


@pytest.mark.parametrize("engine", [None, "duckdb"])
def test_a_guessed_time_later_than_examples_is_refused_with_what_to_state(
    engine: str | None, tmp_path: Path
) -> None:
    for name, frame in {"orders": orders(1), **a_column_that_is_written_again()}.items():
        frame.to_parquet(tmp_path / f"{name}.parquet")
    given = {"target": "churned(customers)", "examples": examples(), "engine": engine}
    message = (
        r'"last_seen" was taken as .* rows of 4\d\d of 1,200 examples come later .*unused = \["last_seen"\]'
    )
    with pytest.raises(SchemaError, match=message), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hb.load(tmp_path, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hb.load(tmp_path, schema={"customers": {"unused": ["last_seen"]}}, **given).close()
        hb.load(tmp_path, schema={"customers": {"time": "last_seen"}}, **given).close()


def test_days_as_numbers_are_a_time_if_stated() -> None:
    stated = {"orders": {"dates": {"ordered": "%Y%m%d"}, "time": "ordered"}}
    assert abs(held_out_auc(load(days_as_numbers(), stated)) - 0.5) <= 0.05


@pytest.mark.parametrize("time", ["ordered", "shipped"])
def test_a_stated_time_is_enough(time: str) -> None:
    assert abs(held_out_auc(load(two_dates(), {"orders": {"time": time}})) - 0.5) <= 0.05


def test_a_date_after_the_cut_off_is_missing() -> None:
    """All orders are made before the cut-off, and those of positives alone are shipped after it."""
    table = orders(month=2)
    late = table.ordered >= pd.Timestamp("2024-02-01")
    table["shipped"] = table.ordered + pd.to_timedelta(np.where(late, 90, 2), "D")
    tables = {"orders": table.assign(ordered=day(1))}
    told = {"orders": {"time": "ordered", "key": "order_id"}}
    database = load(tables, told)
    shipped = database.times["shipped"]
    assert ((shipped >= pd.Timestamp(CUTOFF).value / 1000).sum(), len(shipped)) == (late.sum(), len(table))
    ahead = load(tables, {"orders": {**told["orders"], "known": ["shipped"]}})
    assert (ahead.times["shipped"] < pd.Timestamp(CUTOFF).value / 1000).all()


def test_time_false_wins_and_later_rows_are_counted_in_a_warning() -> None:
    whole = {"customers": customers(), "visits": visits(), **two_dates()}
    later = int((whole["orders"].shipped >= CUTOFF).sum())
    options = {"target": "churned(customers)", "examples": examples(), "schema": {"orders": {"time": False}}}
    with pytest.warns(DataWarning, match=f'"orders": {later} rows are dated at or after .* time = false'):
        database = hb.load(whole, **options)
    assert "orders_customer_id" not in database.times
    assert "visits_customer_id" in database.times
    assert database.origin["tables"]["orders"]["time"] is False  # type: ignore[index]


def test_links_take_over_the_times_of_what_they_link_to() -> None:
    whole = {"customers": customers(), **order_lines()}
    with pytest.warns(DataWarning, match=r'"lines": a row takes over the time .* "orders" \(order_id\)'):
        database = hb.load(whole, target="churned(customers)", examples=examples())
    ordered = dict(zip(whole["orders"].order_id, whole["orders"].ordered, strict=True))
    expected = [ordered[order].value / 1000 for order in whole["lines"].order_id]
    assert sorted(database.times["amount"].tolist()) == sorted(expected)
    stated = {"lines": {"time_of": ["order_id"]}, "orders": {"time": "ordered"}}
    again = load(order_lines(), stated)
    assert again.origin["tables"]["lines"]["time_of"] == ["order_id"]  # type: ignore[index]
    with pytest.raises(
        SchemaError, match=r'\[lines\] time_of: "customer_id" links to "customers", whose rows'
    ):
        load(order_lines(), {"lines": {"time_of": ["customer_id"]}})


def test_tables_in_place_have_the_same_times(tmp_path: Path) -> None:
    """The same refusals, notices, times and counts as for tables that are loaded."""
    tables = {"customers": customers(), **chain(), **one_to_one()}
    for name, table in tables.items():
        table.to_parquet(tmp_path / f"{name}.parquet")
    asked: dict[str, Any] = {"target": "churned(customers)", "examples": examples()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = hb.load(tmp_path, **asked)
        placed = hb.load(tmp_path, **asked, engine="duckdb")
    assert loaded.origin == placed.origin
    assert sorted(loaded.times) == sorted(placed.facts.timed())
    clauses = ["lines_customer_id(B,A)", "returns_customer_id(B,A)", "outcomes(A)", "recorded(A,B)"]
    for body in clauses:
        counts = [
            hb.count(each, f"churned(A) :- {body}.", engine=engine).true
            for each, engine in ((loaded, "memory"), (placed, "duckdb"))
        ]
        assert (np.asarray(counts[0]) == np.asarray(counts[1])).all(), body
    shipped = tables["orders"].assign(shipped=tables["orders"].ordered + pd.Timedelta(days=2))
    shipped.to_parquet(tmp_path / "orders.parquet")
    for engine in (None, "duckdb"):
        with pytest.raises(SchemaError, match=r'"orders" has [0-9]+ rows dated at or after it'):
            hb.load(tmp_path, **asked, engine=engine)


def test_exported_sql_sees_what_the_model_sees(tmp_path: Path) -> None:
    import duckdb

    tables = {"customers": customers(), **chain(), **one_to_one()}
    for name, table in tables.items():
        table.to_parquet(tmp_path / f"{name}.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        database = hb.load(tmp_path, target="churned(customers)", examples=examples())
    texts = [
        "count [< 2: -1; else: 1] : churned(A) :- returns_customer_id(B,A).",
        "count [< 1: -1; else: 1] : churned(A) :- recorded(A,B).",
        "since B [missing: 0.5; < 300: 1; else: 2] : churned(A) :- recorded(A,B).",
    ]
    effects = tuple(FittedEffect(parse_effect(text)) for text in texts)
    model = Model("churned", database.schema, 0.0, (), dict(database.origin), effects=effects)
    keys, _ = database.examples()
    later = np.where(np.arange(N) % 2 == 0, "2024-08-01", CUTOFF)
    keys = np.column_stack([keys[:, 0], later]).astype(object)
    engine = open_engine("memory", database)
    expected = model.probabilities(engine, database.encode_keys("churned", keys))
    assert len(np.unique(expected)) > 2
    connection = duckdb.connect()
    for name in tables:
        connection.execute(f"CREATE VIEW {name} AS FROM '{tmp_path / name}.parquet'")
    asked = pd.DataFrame({"customer_id": keys[:, 0], "at": pd.to_datetime(keys[:, 1])})
    connection.register("asked", asked)
    told = connection.execute(model.sql("duckdb", examples=("asked", ["customer_id"], None, "at"))).df()
    in_order = asked.merge(told, on=["customer_id"])
    assert np.allclose(in_order.probability, expected, atol=1e-12)


def test_inspect_says_since_when_rows_are_known(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    write(
        tmp_path / "shop",
        {
            "customers.csv": "customer_id,born\nc1,1980-02-03\nc2,1990-02-03\n",
            "orders.csv": "order_id,customer_id,ordered\no1,c1,2024-01-05\no2,c2,2024-06-05\n",
            "lines.csv": "line_id,order_id,amount\nl1,o1,3\nl2,o2,4\nl3,o2,5\n",
        },
    )
    asked = tmp_path / "asked.csv"
    asked.write_text("customer_id,cutoff,label\nc1,2024-03-01,1\nc2,2024-03-01,0\n")
    words = ("inspect", str(tmp_path / "shop"), "--target", "churned(customers)", "--examples", str(asked))
    status, out, said = run(*words)
    assert status == 0, said
    assert "customers: 2 rows, things, key customer_id, known from the start" in out
    assert "time of order_id -> orders" in out
    status, out, _ = run(*words, "--toml")
    assert 'time_of = ["order_id"]' in out
    assert "time = false" in out
    status, _, said = run(*words[:2], *words[4:])
    assert (status, "--examples is refused without --target" in said) == (2, True)
