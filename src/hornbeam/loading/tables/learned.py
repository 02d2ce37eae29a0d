"""The tables that a model was learned from: where the facts of each predicate are, and the examples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from hornbeam.data.numbers import TimeColumn
from hornbeam.errors import OptionError
from hornbeam.loading.tables.columns.column import Table
from hornbeam.loading.tables.database import DROPPED, PLAIN_NAMES, statements_of_model, with_columns_of
from hornbeam.loading.tables.roles import Form, Plan, plans
from hornbeam.loading.tables.targets import Target, find_target, key_columns, without_label
from hornbeam.loading.tables.to_logic import map_tables, time_columns
from hornbeam.logic.schema import DATE


class PredicatePlace(NamedTuple):
    """The table of a predicate, the column of each argument, the column that must be true, those of times."""

    table: str
    columns: tuple[str | None, ...]
    """None stands for the number of the row"""
    true: str | None
    time: tuple[TimeColumn, ...] | None
    """the columns with times, of which the latest counts"""
    keys: tuple[tuple[str, str, str], ...] = ()
    """columns whose values must be keys to make a fact, each with the table and column of these keys"""
    unique: tuple[str, ...] = ()
    """the key of the table, which differs in each row"""


class LearnedTables(NamedTuple):
    """What the settings of a model say about its tables."""

    predicates: Mapping[str, PredicatePlace]
    keys: tuple[str, ...]
    """the name of each argument of the target"""
    examples: str | None
    """the table that has a row for each example; None if there is none"""
    plain_names: frozenset[str] = frozenset()
    """tables whose names have dots, but no schema"""
    folded: frozenset[tuple[str, str]] = frozenset()
    """tables and their columns in which spaces around values and capital letters do not count"""

    def path(self, table: str) -> str | tuple[str]:
        """The name of a table for ``SqlTable.of``: dots are part of a plain name."""
        return (table,) if table in self.plain_names else table

    def places(
        self, used: Iterable[str], schema: Mapping[str, Sequence[str]], given: Iterable[str] = ()
    ) -> dict[str, tuple[Any, ...]]:
        """The table, columns, flag, time, required keys and own key of the predicates of a schema.

        Rows that were numbered when they were loaded have no key, so a predicate about them has no place. If
        such a predicate is used and no table is given for it, that is an error.
        """
        for name in used:
            place = self.predicates.get(name)
            if place is not None and None in place.columns and name not in given:
                raise OptionError(
                    f'the rows of table "{place.table}" have no key and were numbered for the model, so '
                    f'"{name}" cannot be read from it; name a table with a key for "{name}".'
                )
            if place is not None and name not in given:
                self._check_folded(place)
        return {
            name: (
                *(self.path(place.table), columns, place.true, self._times(place)),
                [(column, self.path(other), key) for column, other, key in place.keys],
                place.unique,
            )
            for name, place in self.predicates.items()
            if len(columns := tuple(filter(None, place.columns))) == len(schema.get(name, ()))
        }

    def _check_folded(self, place: PredicatePlace) -> None:
        """Raise an error if a query would need a column that is folded when it is loaded."""
        for column in (*place.columns, place.true):
            if (place.table, column) in self.folded:
                raise OptionError(
                    f'column "{column}" of table "{place.table}" is folded (schema.toml), which SQL does '
                    "not do: write its values in one spelling in the data, and learn without fold."
                )

    def _times(self, place: PredicatePlace) -> tuple[TimeColumn, ...] | None:
        if place.time is None:
            return None
        paths = {table: self.path(table) for each in place.time for _, table, _ in each.links}
        return tuple(
            TimeColumn(each.column, tuple((link, paths[table], key) for link, table, key in each.links))
            for each in place.time
        )


def learned_tables(settings: Mapping[str, object]) -> LearnedTables | None:
    """The tables in the settings of a model; None if it was not learned from tables."""
    if "tables" not in settings:
        return None
    stated = statements_of_model(settings)
    dates = settings.get("times") == DATE
    empty = [with_columns_of(Table(name, {}, 0), each, dates) for name, each in stated.items()]
    planned, _ = plans(empty, stated)
    by_name = {plan.name: plan for plan in planned}
    links = _dropped_links(planned, settings)
    plain = frozenset(cast("Sequence[str]", settings.get(PLAIN_NAMES, ())))
    folded = frozenset((name, column) for name, each in stated.items() for column in each.fold)
    text = settings.get("target")
    target = find_target(text, planned) if isinstance(text, str) else None
    mapping = map_tables(planned if target is None else without_label(planned, target))
    predicates = {
        each.name: PredicatePlace(
            *(each.table, each.columns, each.flag, time_columns(each, by_name, dates) or None),
            tuple(link for link in links[each.table] if link[0] in each.columns),
            tuple(filter(None, [by_name[each.table].key])),
        )
        for each in mapping.predicates
    }
    if target is None:
        return LearnedTables(predicates, (), None, plain, folded)
    keys = tuple(names[0] for names in key_columns(target, planned))
    forms = {plan.name: plan.form for plan in planned}
    return LearnedTables(predicates, keys, _table_of_examples(target, keys, forms), plain, folded)


def _dropped_links(
    planned: Sequence[Plan], settings: Mapping[str, object]
) -> dict[str, list[tuple[str, str, str]]]:
    """For each table the columns some of whose links were left out, with the linked table and its key."""
    dropped = cast("Mapping[str, Sequence[str]]", settings.get(DROPPED, {}))
    keys = {plan.name: plan.key for plan in planned}
    return {
        plan.name: [
            (name, other, key)
            for name, other in plan.links.items()
            if name in dropped.get(plan.name, ()) and (key := keys[other]) is not None
        ]
        for plan in planned
    }


def joined_columns(settings: Mapping[str, object]) -> dict[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """By the name of a table, the columns that are made of several others, and these."""
    plain = cast("Sequence[str]", settings.get(PLAIN_NAMES, ()))
    return {
        (name,) if name in plain else tuple(name.split(".")): dict(each.joined)
        for name, each in statements_of_model(settings).items()
        if each.joined
    }


def key_names(settings: Mapping[str, object], arity: int) -> tuple[str, ...]:
    """The names of the columns with the keys of examples: those of the tables, else ``arg1 arg2 ...``."""
    learned = learned_tables(settings)
    if learned is None or len(learned.keys) != arity:
        return tuple(f"arg{number + 1}" for number in range(arity))
    return learned.keys


def examples_table(settings: Mapping[str, object], arity: int) -> tuple[str | tuple[str], tuple[str, ...]]:
    """The table of examples to score if none is named, and the columns of its keys."""
    learned = learned_tables(settings)
    if learned is None or len(learned.keys) != arity:
        return "examples", key_names({}, arity)
    return learned.path(learned.examples) if learned.examples else "examples", learned.keys


def _table_of_examples(target: Target, keys: tuple[str, ...], forms: Mapping[str, Form]) -> str | None:
    """The table whose rows are the examples: that of a column, or the only argument of a new target."""
    tables = target.arguments if target.table is None else (target.table,)
    if len(keys) != 1 or len(tables) != 1 or forms[tables[0]] is not Form.THINGS:
        return None
    return tables[0]
