"""What is to be learned from tables, and its examples.

``users.premium`` (a flag), ``users.gender=F`` (one value against the others), ``users.occupation`` (each
value a class), ``ratings`` (the rows of a link table against pairs that have none), ``users`` (all of
them, without a label), and ``churned(users)``: a new name, whose labels come from an examples file or as
``y``. The column of the label is never a predicate; of a link table that is a target, no column is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNLABELLED, Coded
from hornbeam.errors import DataError, OptionError, SchemaError, TargetError, did_you_mean, plural
from hornbeam.loading.tables.column import MISSING, Column
from hornbeam.loading.tables.roles import Form, Plan
from hornbeam.loading.tables.schema_file import Role
from hornbeam.loading.tables.to_logic import FactColumns, LogicMap, is_true

MOST_CLASSES = 100
MOST_PAIRS = 50_000_000
"""More examples than this are not made of a link table."""
MANY_PAIRS = 1_000_000
"""Up to so many pairs, all that are not linked are negatives unless something else is asked for."""
NO_NEGATIVES = "none"
Labels = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be learned, as far as the tables' names tell."""

    text: str
    table: str | None = None
    column: str | None = None
    value: str | None = None
    arguments: tuple[str, ...] = ()
    """of a new target: the tables whose keys are its arguments"""

    @property
    def name(self) -> str:
        """The predicate of the head, before it is made different from the others."""
        if self.table is None:
            return self.text.partition("(")[0].strip().lower()
        if self.column is None:
            return self.table.lower()
        return (self.column if self.value is None else f"{self.column}_{self.value}").lower()


@dataclass(frozen=True, eq=False)
class GivenExamples:
    """Examples by name: a column of keys per argument, labels, and the classes that labels stand for."""

    keys: Sequence[Coded]
    labels: Labels
    classes: tuple[str, ...] = ()
    cutoffs: npt.NDArray[np.float64] | None = None
    closed: bool = False
    """whether every key that is not among them is known to be negative"""


def find_target(text: str, plans: Sequence[Plan]) -> Target:
    """The target that a text names; letters may be in another case."""
    names = [plan.name for plan in plans]
    new = re.fullmatch(r"\s*([^\s().=]+)\s*\(([^()]*)\)\s*", text)
    if new:
        arguments = tuple(_named(word.strip(), names, "Tables", "no table") for word in new[2].split(","))
        for plan in plans:
            if plan.name in arguments and plan.form is Form.LINK:
                raise SchemaError(
                    f'"{plan.name}" is a link table; the arguments of a target are tables of things.'
                )
        return Target(text, arguments=arguments)
    for exactly in (True, False):
        # Names may hold dots and equals signs: the longest that fit are meant.
        for plan in sorted(plans, key=lambda plan: -len(plan.name)):
            if _same(text, plan.name, exactly):
                return Target(text, plan.name)
            if not _same(text[: len(plan.name) + 1], plan.name + ".", exactly):
                continue
            rest = text[len(plan.name) + 1 :]
            for column in sorted(plan.table.columns, key=lambda name: -len(name)):
                if _same(rest, column, exactly):
                    return Target(text, plan.name, column)
                if _same(rest[: len(column) + 1], column + "=", exactly):
                    return Target(text, plan.name, column, rest[len(column) + 1 :])
    table, dot, column = text.partition(".")
    for plan in plans:
        if dot and plan.name.lower() == table.lower():
            word, columns = column.partition("=")[0], list(plan.table.columns)
            raise SchemaError(
                f'table "{plan.name}" has no column "{word}". {did_you_mean(word, columns, "Columns")}'
            )
    word = text.partition("=")[0].lower()
    named = [f"{plan.name}.{name}" for plan in plans for name in plan.table.columns if name.lower() == word]
    if named:
        raise TargetError(f'no target "{text}": a column is named with its table, as {" or ".join(named)}.')
    raise TargetError(
        f'no target "{text}": give a column (table.column or table.column=value), a link table, or a new '
        f"name with its arguments such as churned({names[0] if names else 'users'}). "
        f"{did_you_mean(table, names, 'Tables')}"
    )


def _same(one: str, other: str, exactly: bool) -> bool:
    return one == other if exactly else one.lower() == other.lower()


def _named(word: str, known: Sequence[str], kinds: str, missing: str) -> str:
    for name in known:
        if name.lower() == word.lower():
            return name
    raise SchemaError(f'{missing} "{word}". {did_you_mean(word, known, kinds)}')


def without_label(plans: Sequence[Plan], target: Target) -> list[Plan]:
    """The plans with the target's column as the label: it gives no predicate."""
    for plan in plans:
        if plan.name == target.table and target.column is not None and target.column == plan.key:
            raise SchemaError(
                f'"{target.text}" is the key of its table, which is no label; name another column.'
            )
    return [
        replace(plan, roles={**plan.roles, target.column: Role.LABEL})
        if plan.name == target.table and target.column is not None
        else plan
        for plan in plans
    ]


def head_types(target: Target, plans: Sequence[Plan], mapping: LogicMap) -> tuple[str, ...]:
    """The types of the head's arguments."""
    if target.table is None:
        return tuple(mapping.types[table] for table in target.arguments)
    plan = _plan(target, plans)
    if plan.form is Form.LINK:
        return tuple(mapping.types[other] for other in plan.links.values())
    if target.column is not None and target.column in plan.links and target.value is None:
        return mapping.types[plan.name], mapping.types[plan.links[target.column]]
    return (mapping.types[plan.name],)


def key_columns(target: Target, plans: Sequence[Plan]) -> list[tuple[str, ...]]:
    """For each argument of the head the names that a column of an examples file may have."""
    by_name = {plan.name: plan for plan in plans}
    if target.table is None:
        return [_aliases(by_name[table]) for table in target.arguments]
    plan = by_name[target.table]
    if plan.form is Form.LINK:
        return [(column, *_aliases(by_name[other])) for column, other in plan.links.items()]
    if target.column is not None and target.column in plan.links and target.value is None:
        return [_aliases(plan), (target.column, *_aliases(by_name[plan.links[target.column]]))]
    return [_aliases(plan)]


def _aliases(plan: Plan) -> tuple[str, ...]:
    return tuple(filter(None, (plan.key, plan.name)))


def _plan(target: Target, plans: Sequence[Plan]) -> Plan:
    return next(plan for plan in plans if plan.name == target.table)


def examples_in_tables(
    target: Target,
    plans: Sequence[Plan],
    facts: FactColumns,
    negatives: str | float | None = None,
    seed: int = 0,
    lenient: bool = False,
) -> GivenExamples | None:
    """The examples that the tables themselves hold; None for a new target.

    ``negatives`` are those of a link: "all", "none", or so many for each positive. With ``lenient``, as
    prediction needs it, a value or a label that no row has is no error.
    """
    if target.table is None:
        return None
    plan = _plan(target, plans)
    if plan.form is Form.LINK:
        if target.column is not None:
            raise SchemaError(
                f'"{target.text}" is a column of a link table, whose rows have no key; give the table a key, '
                f'state rows = true for it, or learn its rows: "{plan.name}".'
            )
        columns = [facts.argument(plan, name) for name in plan.links]
        populations = [facts.things(other).names for other in plan.links.values()]
        return _linked(target, columns, populations, negatives, seed)
    things = facts.things(plan.name)
    if target.column is None:
        return GivenExamples([things], np.full(len(things), UNLABELLED, dtype=np.int8))
    if target.column in plan.links and target.value is None:
        columns = [things, facts.argument(plan, target.column)]
        populations = [things.names, facts.things(plan.links[target.column]).names]
        return _linked(target, columns, populations, negatives, seed)
    if negatives not in (None, NO_NEGATIVES):
        raise OptionError(
            f'negatives are for targets that are links; every row of "{plan.name}" is an example.'
        )
    column = plan.table.columns[target.column]
    if not plan.table.size and not lenient:
        raise DataError(f'table "{plan.name}" is empty, so there are no examples of "{target.text}".')
    labels, classes = _labels(target, column, plan.roles[target.column], lenient)
    return GivenExamples([things], labels, classes)


def _labels(target: Target, column: Column, role: Role, lenient: bool) -> tuple[Labels, tuple[str, ...]]:
    missing = column.codes == MISSING
    if target.value is not None:
        if target.value not in column.texts and not lenient:
            hint = did_you_mean(target.value, column.texts, "Values")
            raise DataError(f'no row of "{target.table}" has {column.name} = "{target.value}". {hint}')
        equal = np.array([text == target.value for text in column.texts] + [False], dtype=np.int8)
        return np.where(missing, UNLABELLED, equal[column.codes]).astype(np.int8), ()
    if role is Role.FLAG:
        return np.where(missing, UNLABELLED, is_true(column)).astype(np.int8), ()
    where = f'"{target.text}" holds {plural(column.n_values, "different value")}'
    if role in (Role.NUMBER, Role.DATE, Role.TIME):
        first = column.texts[len(column.texts) // 2] if column.texts else "0"
        raise DataError(
            f"{where}, which are {'numbers' if role is Role.NUMBER else 'dates'}: such a label cannot be "
            "learned yet; "
            f'name one value ("{target.text}={first}"), or state the role "category" if they are classes.'
        )
    if column.n_values > MOST_CLASSES:
        raise DataError(
            f"{where}, more than the {MOST_CLASSES} classes that are learned at once; "
            f'name one value, such as "{target.text}={column.texts[0]}".'
        )
    if column.n_values < 2 and not lenient:
        raise DataError(f"{where}; learning needs rows of two classes at least.")
    return np.where(missing, UNLABELLED, column.codes).astype(np.int8), tuple(column.texts)


# --- links as targets ------------------------------------------------------------------------


def read_negatives(text: str) -> str | float:
    """``all``, or a ratio: so many pairs without a link for each with one.

    >>> read_negatives("all"), read_negatives("ratio 5"), read_negatives("2.5")
    ('all', 5.0, 2.5)
    """
    word = text.strip().lower()
    if word == "all":
        return word
    try:
        ratio = float(word.removeprefix("ratio").lstrip(" ="))
    except ValueError:
        ratio = 0.0
    if not 0 < ratio < np.inf:
        raise OptionError(
            f'negatives "{text}" are refused: they must be "all", or a number above 0: so many for each link.'
        )
    return ratio


def _linked(
    target: Target,
    columns: Sequence[Coded],
    populations: Sequence[Sequence[str]],
    negatives: str | float | None,
    seed: int,
) -> GivenExamples:
    """Linked keys as positives; others, all or a sample that depends on names and seed only, as negatives."""
    complete = np.logical_and.reduce([column.codes != MISSING for column in columns])
    columns = [Coded(column.names, column.codes[complete]) for column in columns]
    # Keys that were kept though their table lacks them belong to the population, too.
    names = [sorted({*known, *column.names}) for known, column in zip(populations, columns, strict=True)]
    sizes = [len(each) for each in names]
    total = int(np.prod([*map(int, sizes)], dtype=object)) if sizes else 0
    if total >= 2**63:
        raise DataError(f'"{target.text}" has {total:,} possible keys, more than can be told apart.')
    positives = np.unique(_numbers(columns, names))
    if not len(positives):
        raise DataError(
            f'table "{target.table}" has no row that links two keys: there is nothing to learn from.'
        )
    wanted = _wanted(target, negatives, total, len(positives))
    numbers = np.concatenate([positives, _others(positives, total, wanted, seed)])
    labels = np.zeros(len(numbers), dtype=np.int8)
    labels[: len(positives)] = 1
    keys = []
    for each, size in zip(reversed(names), reversed(sizes), strict=True):
        numbers, codes = np.divmod(numbers, size)
        keys.append(Coded(each, codes.astype(np.int32)))
    return GivenExamples(keys[::-1], labels, closed=True)


def _wanted(target: Target, negatives: str | float | None, total: int, positives: int) -> int:
    rest = total - positives
    wanted = rest
    if negatives == NO_NEGATIVES:
        return 0
    if negatives is None and total > MANY_PAIRS:
        raise OptionError(
            f'"{target.text}" links {positives:,} of {total:,} pairs: say which others are negatives by '
            'negatives (--negatives): "all", or a number, so many for each link.'
        )
    if negatives is not None and negatives != "all":
        ratio = read_negatives(negatives) if isinstance(negatives, str) else negatives
        wanted = min(rest, max(1, int(float(ratio) * positives + 0.5)))
    if wanted + positives > MOST_PAIRS:
        raise OptionError(
            f'"{target.text}" would have {wanted + positives:,} examples, more than {MOST_PAIRS:,}; '
            "ask for fewer negatives, so many for each link, by a number."
        )
    return wanted


def _numbers(columns: Sequence[Coded], names: Sequence[Sequence[str]]) -> npt.NDArray[np.int64]:
    numbers = np.zeros(len(columns[0]), dtype=np.int64)
    for column, known in zip(columns, names, strict=True):
        places = {name: place for place, name in enumerate(known)}
        codes = np.array([places[name] for name in column.names], dtype=np.int64)
        numbers = numbers * len(known) + codes[column.codes]
    return numbers


def _others(positives: npt.NDArray[np.int64], total: int, wanted: int, seed: int) -> npt.NDArray[np.int64]:
    """So many numbers below the total that are no positives, rising."""
    generator = np.random.default_rng(seed)
    if total <= 4 * (wanted + len(positives)):
        free = np.ones(total, dtype=bool)
        free[positives] = False
        rest = np.flatnonzero(free)
        return rest if wanted == len(rest) else np.sort(generator.choice(rest, wanted, replace=False))
    found = np.empty(0, dtype=np.int64)
    while len(found) < wanted:
        drawn = np.concatenate([found, generator.integers(0, total, 2 * (wanted - len(found)) + 16)])
        _, first = np.unique(drawn, return_index=True)
        drawn = drawn[np.sort(first)]
        found = drawn[~np.isin(drawn, positives)][:wanted]
    return np.sort(found)
