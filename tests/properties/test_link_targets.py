"""Links that are found through indexes are those of the definition, which compares every pair of tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.loading.tables.columns.column import Column, Domain, Table
from hornbeam.loading.tables.columns.new_columns import number_column, text_column
from hornbeam.loading.tables.guess import (
    _ENOUGH,
    _FEW,
    _MOST_KEYS,
    _is_numbered_name,
    _last_word,
    _may_be_key,
    guess_links,
    is_plain_range,
)
from hornbeam.loading.tables.link_targets import KEY_ENDINGS, LinkTargets, TableNames, plain, stems, words_of

WORDS = ["user", "users", "film", "films", "city", "cities", "team", "id", "key", "x", "1"]
NAMES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).flatmap(
    lambda words: st.sampled_from(["_".join(words), "".join(words), "".join(word.title() for word in words)])
)


def pairwise_fit(column: str, table: str, key: str) -> int:
    """How well the name of a column fits the key of a table: 0 not at all, 3 by the table's own name."""
    name = plain(column)
    for stem in stems(table):
        if name in {stem, *(stem + ending for ending in KEY_ENDINGS)}:
            return 3
    if column.lower() == key.lower() and plain(key) not in {*KEY_ENDINGS, "name"}:
        return 2
    words = re.split(r"[^a-z0-9]+", column.lower())
    parts = {"".join(words[start:]) for start in range(1, len(words))}
    return int(any(parts & {stem, *(stem + ending for ending in KEY_ENDINGS)} for stem in stems(table)))


def pairwise_links(table: Table, tables: Mapping[str, Table], keys: Mapping[str, str]) -> dict[str, str]:
    links = {}
    for column in table.columns.values():
        if _may_be_key(column) and column.n_values:
            best = max(by_name(table, column, tables, keys), default=None)
            if best is None and keys.get(table.name) != column.name:
                best = by_values(table, column, tables, keys)
            if best is not None:
                links[column.name] = best[-1]
    return links


def share_of(column: Column, key: Column) -> float:
    """The share of a column's values, or if smaller that of its rows, that are among the keys."""
    lost, lost_rows, _ = column.lost(key)
    return min(1 - lost / column.n_values, 1 - lost_rows / (len(column) - column.n_missing))


def by_name(
    table: Table, column: Column, tables: Mapping[str, Table], keys: Mapping[str, str]
) -> Iterator[tuple[float, float, str]]:
    """The tables whose names the name of a column fits, and whose keys most of its values are."""
    own_key = keys.get(table.name) == column.name
    for other, key in keys.items():
        fit = pairwise_fit(column.name, other, key)
        if own_key and (other == table.name or fit < 3):
            continue
        if own_key and pairwise_fit(column.name, table.name, column.name) >= fit:
            continue
        to_itself = other == table.name and is_plain_range(tables[other].columns[key])
        share = share_of(column, tables[other].columns[key])
        if fit and not to_itself and share >= _ENOUGH:
            yield fit, share, other


def by_values(
    table: Table, column: Column, tables: Mapping[str, Table], keys: Mapping[str, str]
) -> tuple[float, float, str] | None:
    """The only table whose keys are most values of a column, if that says enough."""
    holding = [
        other
        for other, key in keys.items()
        if share_of(column, tables[other].columns[key]) >= _ENOUGH
        and not pairwise_fit(column.name, other, key)
    ]
    sharing = [
        other
        for other in holding
        if other != table.name and not stems(other).isdisjoint(words_of(column.name))
    ]
    if len(sharing) == 1 and _is_numbered_name(column.name, sharing[0]):
        return 0.5, 1.0, sharing[0]
    others = sharing or holding
    if len(others) != 1:
        return None
    key_column = tables[others[0]].columns[keys[others[0]]]
    in_order = is_plain_range(key_column)
    like_a_key = _last_word(column.name) in ("id", "key", "uuid") and not (
        others[0] == table.name and in_order
    )
    many = column.n_values >= max(_FEW, _MOST_KEYS * key_column.n_values)
    if column.domain is Domain.TEXT or like_a_key or (column.is_whole and many and not in_order):
        return 0, 1.0, others[0]
    return None


@given(st.lists(NAMES, unique=True, max_size=6), NAMES, st.data())
def test_names_fit_as_in_pairs(tables: list[str], column: str, data: st.DataObject) -> None:
    keys = {table: data.draw(NAMES) for table in tables}
    fits = {table: pairwise_fit(column, table, key) for table, key in keys.items()}
    assert TableNames(tables, keys).fits(column) == {table: fit for table, fit in fits.items() if fit}


@st.composite
def columns(draw: st.DrawFn, name: str, unique: bool) -> Column:
    """A column of whole numbers, with or without gaps, or of text."""
    first, step = draw(st.sampled_from([0, 1, 2**60])), draw(st.sampled_from([1, 3]))
    numbers = draw(st.lists(st.integers(0, 30), min_size=1, max_size=30, unique=unique))
    if draw(st.booleans()):
        return number_column(name, np.array(numbers, dtype=np.int64) * step + first)
    return text_column(name, [f"w{number}" for number in numbers])


@given(st.lists(NAMES, unique_by=str.lower, min_size=1, max_size=5), st.data())
def test_links_are_those_of_the_comparison_of_all_pairs(names: list[str], data: st.DataObject) -> None:
    tables, keys = {}, {}
    for name in names:
        key = data.draw(st.one_of(st.just("id"), NAMES))
        others = data.draw(st.lists(NAMES, unique=True, max_size=3))
        made = {key: data.draw(columns(key, unique=True))}
        made |= {other: data.draw(columns(other, unique=False)) for other in others if other != key}
        tables[name] = Table(name, made, len(made[key]))
        if data.draw(st.booleans()):
            keys[name] = key
    targets = LinkTargets(tables, keys)
    for table in tables.values():
        assert guess_links(table, targets) == pairwise_links(table, tables, keys)


@pytest.mark.parametrize(
    ("column", "fits"),
    [
        ("isbn", {"books": 2}),
        ("ISBN", {"books": 2}),
        ("books", {"books": 3}),
        ("book_id", {"books": 3}),
        ("lent_book_id", {"books": 1}),
        ("isbn_13", {}),
    ],
)
def test_the_name_of_a_key_fits_less_than_that_of_its_table(column: str, fits: dict[str, int]) -> None:
    assert TableNames(["books", "films"], {"books": "isbn", "films": "id"}).fits(column) == fits


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("ties", {"ties", "ty", "tie"}),
        ("boxes", {"boxes", "box"}),
        ("classes", {"classes", "class"}),
        ("as", {"as"}),
        ("gas", {"gas", "ga"}),
        ("user", {"user"}),
        ("shop.Users", {"users", "user"}),
    ],
)
def test_the_singulars_of_a_name(table: str, expected: set[str]) -> None:
    assert stems(table) == expected


@pytest.mark.parametrize("first", [0, -(2**62), 2**62])
@pytest.mark.parametrize("missing", [False, True])
def test_values_at_the_very_bounds_of_a_key_are_among_its_values(first: int, missing: bool) -> None:
    """Large whole numbers are bounds that floats hold only nearly."""
    key = number_column("id", np.array([first, first + 1, first + 2, first + 9], dtype=np.int64))
    column = number_column("x", np.array([first, first + (8 if missing else 9)], dtype=np.int64))
    targets = LinkTargets({"things": Table("things", {"id": key}, 4)}, {"things": "id"})
    assert list(targets.large_enough(column, 1.0)) == ["things"]
    assert targets.share(column, "things") == (0.5 if missing else 1.0)
