"""Whole databases as vendors ship them, without a schema file: right keys, links, times and types, few notes.

One has the shape of a music shop, one that of a trader: views, pictures, several dates, keys of text and of
two columns, names with spaces, empty tables, and links to rows that are not there.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import pytest

from hornbeam.loading.inspect.inspectors import inspect_tables
from hornbeam.loading.options import TableOptions

MUSIC = """
CREATE TABLE Artist (ArtistId INTEGER PRIMARY KEY, Name NVARCHAR(120));
CREATE TABLE Album (AlbumId INTEGER PRIMARY KEY, Title NVARCHAR(160),
    ArtistId INTEGER REFERENCES Artist (ArtistId));
CREATE TABLE Genre (GenreId INTEGER PRIMARY KEY, Name NVARCHAR(120));
CREATE TABLE Track (TrackId INTEGER PRIMARY KEY, Name NVARCHAR(200),
    AlbumId INTEGER REFERENCES Album (AlbumId), GenreId INTEGER REFERENCES Genre (GenreId),
    Composer NVARCHAR(220), Milliseconds INTEGER, UnitPrice NUMERIC(10,2));
CREATE TABLE Playlist (PlaylistId INTEGER PRIMARY KEY, Name NVARCHAR(120));
CREATE TABLE PlaylistTrack (PlaylistId INTEGER REFERENCES Playlist (PlaylistId),
    TrackId INTEGER REFERENCES Track (TrackId), PRIMARY KEY (PlaylistId, TrackId));
CREATE TABLE Employee (EmployeeId INTEGER PRIMARY KEY, LastName NVARCHAR(20),
    ReportsTo INTEGER REFERENCES Employee (EmployeeId), BirthDate DATETIME, HireDate DATETIME);
CREATE TABLE Customer (CustomerId INTEGER PRIMARY KEY, Country NVARCHAR(40), PostalCode NVARCHAR(10),
    SupportRepId INTEGER REFERENCES Employee (EmployeeId));
CREATE TABLE Invoice (InvoiceId INTEGER PRIMARY KEY, CustomerId INTEGER REFERENCES Customer (CustomerId),
    InvoiceDate DATETIME, BillingCountry NVARCHAR(40), Total NUMERIC(10,2));
CREATE TABLE InvoiceLine (InvoiceLineId INTEGER PRIMARY KEY, InvoiceId INTEGER REFERENCES Invoice (InvoiceId),
    TrackId INTEGER REFERENCES Track (TrackId), UnitPrice NUMERIC(10,2), Quantity INTEGER);
"""
TRADE = """
CREATE TABLE Categories (CategoryID INTEGER PRIMARY KEY, CategoryName TEXT, Picture BLOB);
CREATE TABLE Customers (CustomerID TEXT PRIMARY KEY, ContactTitle TEXT, Country TEXT);
CREATE TABLE CustomerDemographics (CustomerTypeID TEXT PRIMARY KEY, CustomerDesc TEXT);
CREATE TABLE Employees (EmployeeID INTEGER PRIMARY KEY, Title TEXT, BirthDate DATE, HireDate DATE, Photo BLOB,
    ReportsTo INTEGER REFERENCES Employees (EmployeeID));
CREATE TABLE Shippers (ShipperID INTEGER PRIMARY KEY, CompanyName TEXT);
CREATE TABLE Products (ProductID INTEGER PRIMARY KEY, CategoryID INTEGER REFERENCES Categories (CategoryID),
    UnitPrice NUMERIC, Discontinued TEXT);
CREATE TABLE Orders (OrderID INTEGER PRIMARY KEY, CustomerID TEXT REFERENCES Customers (CustomerID),
    EmployeeID INTEGER REFERENCES Employees (EmployeeID), OrderDate DATETIME, RequiredDate DATETIME,
    ShippedDate DATETIME, ShipVia INTEGER REFERENCES Shippers (ShipperID), Freight NUMERIC);
CREATE TABLE "Order Details" (OrderID INTEGER REFERENCES Orders (OrderID),
    ProductID INTEGER REFERENCES Products (ProductID), UnitPrice NUMERIC, Quantity INTEGER, Discount REAL,
    PRIMARY KEY (OrderID, ProductID));
CREATE VIEW "Orders Qry" AS SELECT * FROM Orders JOIN Customers USING (CustomerID);
CREATE VIEW "Category Sales" AS SELECT CategoryID, count(*) AS Sales FROM Products GROUP BY CategoryID;
"""


def day(number: int, clock: str = "") -> str:
    return f"{date(2010, 1, 1) + timedelta(days=number)}{clock}"


def database(path: Path, statements: str, **tables: Iterable[tuple[object, ...]]) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(statements)
        for name, rows in tables.items():
            rows = list(rows)
            places = ", ".join("?" * len(rows[0]))
            table = name.replace("_", " ")
            connection.executemany(f'INSERT INTO "{table}" VALUES ({places})', rows)
    return path


def music(path: Path) -> Path:
    drawn = random.Random(7)
    pick = drawn.randrange
    pairs = sorted({(pick(8) + 1, pick(300) + 1) for _ in range(700)})
    return database(
        path / "music.sqlite",
        MUSIC,
        Artist=((n, f"Artist {n}") for n in range(1, 61)),
        Album=((n, f"Title {n}", pick(60) + 1) for n in range(1, 91)),
        Genre=((n, f"Genre {n}") for n in range(1, 13)),
        Track=(
            (
                n,
                f"Song {n}",
                pick(90) + 1,
                g + 1,
                None if n % 4 else f"C{n % 30}",
                1000 * pick(400),
                0.99 + (g == 3),
            )
            for n in range(1, 301)
            for g in [pick(12)]
        ),
        Playlist=((n, f"List {n}") for n in range(1, 10)),
        PlaylistTrack=pairs,
        Employee=(
            (n, f"Name {n}", None if n == 1 else (n + 1) // 3, day(-9000 - 400 * n), day(90 * n))
            for n in range(1, 9)
        ),
        Customer=(
            (n, f"Land {n % 9}", f"{n:05}" if n % 2 else f"K{n} 2J", pick(3) + 3) for n in range(1, 60)
        ),
        Invoice=(
            (n, pick(59) + 1, day(n, " 00:00:00"), f"Land {land}", pick(1200) / 100 + land)
            for n in range(1, 401)
            for land in [pick(9)]
        ),
        InvoiceLine=((n, pick(400) + 1, pick(300) + 1, 0.99 + pick(2), 1) for n in range(1, 901)),
    )


def trade(path: Path) -> Path:
    drawn = random.Random(7)
    pick = drawn.randrange
    names = [f"{chr(65 + n // 10)}{chr(65 + n % 10)}XYZ" for n in range(90)]
    return database(
        path / "trade.db",
        TRADE,
        Categories=((n, f"Category {n}", bytes(range(200)) * 9) for n in range(1, 9)),
        Customers=((name, f"Title {n % 7}", f"Land {n % 20}") for n, name in enumerate(names)),
        Employees=(
            (
                n,
                f"Title {n % 4}",
                day(-9000 - 300 * n),
                day(80 * n),
                bytes(999),
                None if n == 1 else 1 + n % 2,
            )
            for n in range(1, 10)
        ),
        Shippers=((n, f"Company {n}") for n in range(1, 4)),
        Products=((n, pick(8) + 1, pick(9000) / 100, str(pick(2))) for n in range(1, 78)),
        Orders=(
            (
                *(10_000 + n, "LOST" if n % 50 == 0 else names[pick(90)], pick(9) + 1),
                *(day(n), day(n + 28), None if n % 30 == 0 else day(n + 2 + pick(9))),
                *(via, pick(40000) / 100 + 300 * (via == 1)),
            )
            for n in range(500)
            for via in [pick(3) + 1]
        ),
        Order_Details=(
            (10_000 + n, product, pick(900) / 10, pick(60) + 1, pick(4) / 20)
            for n in range(500)
            for product in drawn.sample(range(1, 78), 3)
        ),
    )


EXPECTED = {
    music: {
        "Artist": ("ArtistId", {}, None),
        "Album": ("AlbumId", {"ArtistId": "Artist"}, None),
        "Genre": ("GenreId", {}, None),
        "Track": ("TrackId", {"AlbumId": "Album", "GenreId": "Genre"}, None),
        "Playlist": ("PlaylistId", {}, None),
        "PlaylistTrack": (None, {"PlaylistId": "Playlist", "TrackId": "Track"}, None),
        "Employee": ("EmployeeId", {"ReportsTo": "Employee"}, "HireDate"),
        "Customer": ("CustomerId", {"SupportRepId": "Employee"}, None),
        "Invoice": ("InvoiceId", {"CustomerId": "Customer"}, "InvoiceDate"),
        "InvoiceLine": ("InvoiceLineId", {"InvoiceId": "Invoice", "TrackId": "Track"}, None),
    },
    trade: {
        "Categories": ("CategoryID", {}, None),
        "Customers": ("CustomerID", {}, None),
        "CustomerDemographics": ("CustomerTypeID", {}, None),
        "Employees": ("EmployeeID", {"ReportsTo": "Employees"}, "HireDate"),
        "Shippers": ("ShipperID", {}, None),
        "Products": ("ProductID", {"CategoryID": "Categories"}, None),
        "Orders": (
            "OrderID",
            {"CustomerID": "Customers", "EmployeeID": "Employees", "ShipVia": "Shippers"},
            None,
        ),
        "Order Details": (None, {"OrderID": "Orders", "ProductID": "Products"}, None),
    },
}
TYPES = {
    music: {
        ("Track", "Milliseconds"): "number",
        ("Invoice", "InvoiceDate"): "date",
        ("Invoice", "Total"): "number",
    },
    trade: {
        **{("Orders", name): "date" for name in ("OrderDate", "RequiredDate", "ShippedDate")},
        ("Orders", "CustomerID"): "text",
        ("Order Details", "Discount"): "number",
    },
}
TARGETS = {music: "Invoice.Total>10", trade: "Orders.Freight>450"}


@pytest.mark.parametrize("made", [music, trade], ids=["music", "trade"])
def test_a_database_is_understood_without_a_schema_file(made, tmp_path):
    found = inspect_tables(made(tmp_path), TableOptions())
    assert {t.name: (t.key, dict(t.links), t.time) for t in found.tables} == EXPECTED[made]
    domains = {(t.name, c.name): c.domain for t in found.tables for c in t.columns}
    assert {place: domains[place] for place in TYPES[made]} == TYPES[made]
    assert len(found.notices) <= 3
    assert all(len(str(notice)) <= 400 for notice in found.notices)


@pytest.mark.parametrize("made", [music, trade], ids=["music", "trade"])
def test_a_database_is_learned_from_and_reported_without_a_schema_file(made, tmp_path, run):
    data, model, page = made(tmp_path), tmp_path / "model.json", tmp_path / "page.html"
    fitted = run("fit", data, "--target", TARGETS[made], "--model", model, "--bags", 1, "--steps", 20)
    assert fitted.status == 0
    assert fitted.err.count("note: ") <= 3
    assert "no effect lowers" not in fitted.err
    reported = run("report", data, model, "--out", page)
    assert reported.status == 0
    assert reported.err.count("note: ") <= 3
    assert page.stat().st_size > 10_000
