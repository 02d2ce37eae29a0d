"""The tables that a model was learned from: where the facts of each predicate are, and the examples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from hornbeam.errors import OptionError
from hornbeam.loading.tables.columns.column import Table
from hornbeam.loading.tables.database import statements_of_model, with_columns_of
from hornbeam.loading.tables.roles import Form, plans
from hornbeam.loading.tables.targets import Target, find_target, key_columns, without_label
from hornbeam.loading.tables.to_logic import map_tables
from hornbeam.logic.schema import DATE


class PredicatePlace(NamedTuple):
    """The table of a predicate, the column of each argument, the column that must be true, that of times."""

    table: str
    columns: tuple[str | None, ...]
    """None stands for the number of the row"""
    true: str | None
    time: str | None


class LearnedTables(NamedTuple):
    """What the settings of a model say about its tables."""

    predicates: Mapping[str, PredicatePlace]
    keys: tuple[str, ...]
    """the name of each argument of the target"""
    examples: str | None
    """the table that has a row for each example; None if there is none"""

    def places(
        self, used: Iterable[str], schema: Mapping[str, Sequence[str]], given: Iterable[str] = ()
    ) -> dict[str, tuple[str, tuple[str, ...], str | None, str | None]]:
        """The table, columns, flag and time of the predicates of a schema.

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
        return {
            name: (place.table, columns, place.true, place.time)
            for name, place in self.predicates.items()
            if len(columns := tuple(filter(None, place.columns))) == len(schema.get(name, ()))
        }


def learned_tables(settings: Mapping[str, object]) -> LearnedTables | None:
    """The tables in the settings of a model; None if it was not learned from tables."""
    if "tables" not in settings:
        return None
    stated = statements_of_model(settings)
    dates = settings.get("times") == DATE
    empty = [with_columns_of(Table(name, {}, 0), each, dates) for name, each in stated.items()]
    planned, _ = plans(empty, stated)
    times = {plan.name: plan.time for plan in planned}
    text = settings.get("target")
    target = find_target(text, planned) if isinstance(text, str) else None
    mapping = map_tables(planned if target is None else without_label(planned, target))
    predicates = {
        each.name: PredicatePlace(each.table, each.columns, each.flag, times[each.table])
        for each in mapping.predicates
    }
    if target is None:
        return LearnedTables(predicates, (), None)
    keys = tuple(names[0] for names in key_columns(target, planned))
    forms = {plan.name: plan.form for plan in planned}
    return LearnedTables(predicates, keys, _table_of_examples(target, keys, forms))


def key_names(settings: Mapping[str, object], arity: int) -> tuple[str, ...]:
    """The names of the columns with the keys of examples: those of the tables, else ``arg1 arg2 ...``."""
    learned = learned_tables(settings)
    if learned is None or len(learned.keys) != arity:
        return tuple(f"arg{number + 1}" for number in range(arity))
    return learned.keys


def examples_table(settings: Mapping[str, object], arity: int) -> tuple[str, tuple[str, ...]]:
    """The table of examples to score if none is named, and the columns of its keys."""
    learned = learned_tables(settings)
    if learned is None or len(learned.keys) != arity:
        return "examples", key_names({}, arity)
    return learned.examples or "examples", learned.keys


def _table_of_examples(target: Target, keys: tuple[str, ...], forms: Mapping[str, Form]) -> str | None:
    """The table whose rows are the examples: that of a column, or the only argument of a new target."""
    tables = target.arguments if target.table is None else (target.table,)
    if len(keys) != 1 or len(tables) != 1 or forms[tables[0]] is not Form.THINGS:
        return None
    return tables[0]
