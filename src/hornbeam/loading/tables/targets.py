"""The target to learn from tables, and its examples.

A target is ``users.premium`` (a flag), ``users.gender=F`` (one value against the others), ``users.age>30``
(one side of a threshold against the other: ``>``, ``>=``, ``<``, ``<=``),
``users.occupation`` (each value is a class), ``users.age`` (a number), ``ratings`` (the rows of a link
table against unlinked pairs), ``users`` (all keys, without labels), or ``churned(users)``: a new name, whose
labels come from an examples file or as ``y``. The column of the label gives no predicate, and if a link table
is the target, none of its columns does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNLABELLED, Coded
from hornbeam.data.relations import MOST_CLASSES
from hornbeam.data.rows import fold, unfold
from hornbeam.errors import DataError, OptionError, SchemaError, TargetError, did_you_mean, plural
from hornbeam.loading.tables.columns.cells import read_moment, read_number, reads
from hornbeam.loading.tables.columns.column import MISSING, Column, Domain
from hornbeam.loading.tables.columns.types import nearly_numbers
from hornbeam.loading.tables.given import GivenExamples, Labels
from hornbeam.loading.tables.roles import Form, Plan
from hornbeam.loading.tables.schema_file import Role
from hornbeam.loading.tables.to_logic import FactColumns, LogicMap, is_true

if TYPE_CHECKING:
    from hornbeam.logic.english.wording import TargetCondition

MOST_PAIRS = 50_000_000
"""The most examples that are made from a link table."""
MANY_PAIRS = 1_000_000
"""Up to this many pairs, all unlinked ones are negatives by default; beyond it, the user must choose."""
NO_NEGATIVES = "none"


@dataclass(frozen=True, slots=True)
class Target:
    """A target, resolved to the names of tables and columns."""

    text: str
    table: str | None = None
    column: str | None = None
    value: str | None = None
    """in words, the value or the side of a threshold that makes a label positive"""
    arguments: tuple[str, ...] = ()
    """for a new target: the tables whose keys are its arguments"""
    threshold: TargetCondition | None = None

    @property
    def name(self) -> str:
        """The predicate of the head, before a clash with another predicate is resolved."""
        if self.table is None:
            return self.text.partition("(")[0].strip().lower()
        if self.column is None:
            return self.table.lower()
        words = self.value if self.threshold is None or self.value is None else self.value.replace(" ", "_")
        return (self.column if words is None else f"{self.column}_{words}").lower()

    @property
    def word(self) -> str:
        """The word for a positive label; that for a negative one has ``not`` before it."""
        from hornbeam.logic.english.nouns import plain_name

        return self.value or plain_name(self.column or self.name)


def find_target(text: str, plans: Sequence[Plan]) -> Target:
    """The target that a text names; upper and lower case may differ."""
    from hornbeam.logic.english.wording import condition_of

    names = [plan.name for plan in plans]
    new = re.fullmatch(r"\s*([^\s().=]+)\s*\(([^()]*)\)\s*", text)
    if new:
        arguments = tuple(_named(word.strip(), names, "Tables", "no table") for word in new[2].split(","))
        for plan in plans:
            if plan.name in arguments and plan.form is Form.LINK:
                raise SchemaError(
                    f'"{plan.name}" is a link table, whose rows have no key; name a table with a key instead.'
                )
        return Target(text, arguments=arguments)
    for exactly in (True, False):
        # Names may hold dots and equals signs: the longest name that fits is meant.
        for plan in sorted(plans, key=lambda plan: -len(plan.name)):
            if _same(text, plan.name, exactly):
                return Target(text, plan.name)
            if not _same(text[: len(plan.name) + 1], plan.name + ".", exactly):
                continue
            rest = text[len(plan.name) + 1 :]
            for column in sorted(plan.table.columns, key=lambda name: -len(name)):
                if _same(rest, column, exactly):
                    return Target(text, plan.name, column)
                given = condition_of(rest[len(column) :])
                if given is not None and _same(rest[: len(column)], column, exactly):
                    threshold = given if given.operator != "=" else None
                    return Target(text, plan.name, column, given.words, threshold=threshold)
    table, dot, column = text.partition(".")
    for plan in plans:
        if dot and plan.name.lower() == table.lower():
            word, columns = re.split("[<>=]", column)[0], list(plan.table.columns)
            raise SchemaError(
                f'table "{plan.name}" has no column "{word}". {did_you_mean(word, columns, "Columns")}'
            )
    word = re.split("[<>=]", text)[0].strip().lower()
    named = [f"{plan.name}.{name}" for plan in plans for name in plan.table.columns if name.lower() == word]
    if named:
        choices = " or ".join(named)
        raise TargetError(f'no target "{text}": a column needs its table, as in {choices} (--target).')
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


def tables_of(target: Target) -> list[str]:
    """The tables whose things, or pairs of things, are the examples of a target."""
    return [target.table] if target.table is not None else list(target.arguments)


def argument_tables(target: Target, plans: Sequence[Plan]) -> list[str]:
    """The table of things of each argument of a target."""
    if target.table is None:
        return list(target.arguments)
    plan = _plan(target, plans)
    if plan.form is Form.LINK:
        return list(plan.links.values())
    linked = target.column is not None and target.column in plan.links and target.value is None
    return [plan.name, *([plan.links[str(target.column)]] if linked else [])]


def reached_from(target: Target, plans: Sequence[Plan]) -> set[str]:
    """The tables of a target, and those that links connect with them."""
    near = {plan.name: {*plan.links.values()} for plan in plans}
    for plan in plans:
        for other in plan.links.values():
            near[other].add(plan.name)
    reached, waiting = set(tables_of(target)), tables_of(target)
    while waiting:
        new = near[waiting.pop()] - reached
        reached |= new
        waiting += new
    return reached


def without_label(plans: Sequence[Plan], target: Target) -> list[Plan]:
    """The plans with the target's column as the label: it gives no predicate."""
    for plan in plans:
        if plan.name == target.table and target.column is not None and target.column == plan.key:
            raise SchemaError(
                f'"{target.text}" is the key of its table, which cannot be learned; name another column.'
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
    """For each argument of the head the names that its column may have in examples, the main one first.

    If several arguments are keys of one table, its key is numbered: ``id_1``, ``id_2``.
    """
    by_name = {plan.name: plan for plan in plans}
    if target.table is None:
        aliases = [_aliases(by_name[table]) for table in target.arguments]
        if len(set(target.arguments)) == len(target.arguments):
            return aliases
        return [
            (*_numbered(names[0], target.arguments, place), *names) for place, names in enumerate(aliases)
        ]
    plan = by_name[target.table]
    if plan.form is Form.LINK:
        return [(column, *_aliases(by_name[other])) for column, other in plan.links.items()]
    if target.column is not None and target.column in plan.links and target.value is None:
        return [_aliases(plan), (target.column, *_aliases(by_name[plan.links[target.column]]))]
    return [_aliases(plan)]


def _numbered(name: str, tables: Sequence[str], place: int) -> tuple[str, ...]:
    """The name with the number of its table so far, if the table occurs more than once."""
    number = tables[: place + 1].count(tables[place])
    return (f"{name}_{number}",) if tables.count(tables[place]) > 1 else ()


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

    For a link, ``negatives`` is "all", "none", or a number of negatives per positive. With ``lenient``,
    as for prediction, a value or a label that no row has is not an error.
    """
    if target.table is None:
        return None
    plan = _plan(target, plans)
    if plan.form is Form.LINK:
        if target.column is not None:
            raise SchemaError(
                f'"{target.text}" is a column of a link table, whose rows have no key; give the table a key, '
                f'state rows = true for it, or make the table itself the target: "{plan.name}".'
            )
        columns = [facts.argument(plan, name) for name in plan.links]
        populations = [facts.things(other).names for other in plan.links.values()]
        return _linked(target, columns, populations, negatives, seed)
    things = facts.things(plan.name)
    plan, things = _with_keys(plan, things)
    if target.column is None:
        if negatives not in (None, NO_NEGATIVES) and not lenient:
            raise TargetError(_no_link(plan))
        return GivenExamples([things], np.full(len(things), UNLABELLED, dtype=np.int8))
    if target.column in plan.links and target.value is None:
        columns = [things, facts.argument(plan, target.column)]
        populations = [things.names, facts.things(plan.links[target.column]).names]
        return _linked(target, columns, populations, negatives, seed)
    if negatives not in (None, NO_NEGATIVES):
        raise OptionError(
            f'negatives are for a target that is a link; here every row of "{plan.name}" is an example.'
        )
    column = plan.table.columns[target.column]
    if not plan.table.size and not lenient:
        raise DataError(f'table "{plan.name}" is empty, so there are no examples of "{target.text}".')
    role = plan.roles[target.column]
    if target.value is None and role is Role.NUMBER:
        return GivenExamples.of_numbers([things], column.numbers())
    labels, classes = _labels(target, column, role, lenient)
    if classes:
        return GivenExamples([things], labels, classes)
    return GivenExamples([things], labels, label_texts=_label_texts(target, column))


def _with_keys(plan: Plan, things: Coded) -> tuple[Plan, Coded]:
    """The rows that have a key; a row lacks it if its key dangles as a link."""
    present = things.codes != MISSING
    if present.all():
        return plan, things
    columns = {
        name: replace(column, codes=column.codes[present]) for name, column in plan.table.columns.items()
    }
    table = replace(plan.table, columns=columns, size=int(present.sum()))
    return replace(plan, table=table), Coded(things.names, things.codes[present])


def _no_link(plan: Plan) -> str:
    """Why a table alone is no target: its rows are things, not links."""
    why = f'its rows have the key "{plan.key}"' if plan.key else "its rows have no key and are no links"
    columns = [name for name in plan.table.columns if name != plan.key]
    column = f" ({plan.name}.{columns[0]})" if columns else ""
    return (
        f'negatives are for a target that is a link, but table "{plan.name}" is none, because {why}; name a '
        f"column{column}, or state key = false and links = {{ ... }} in schema.toml."
    )


def _labels(target: Target, column: Column, role: Role, lenient: bool) -> tuple[Labels, tuple[str, ...]]:
    missing = column.codes == MISSING
    if target.threshold is not None:
        return _beyond(target.threshold, target, column), ()
    if target.value is not None:
        if target.value not in column.texts and not lenient:
            hint = did_you_mean(target.value, column.texts, "Values")
            raise DataError(f'no row of "{target.table}" has {column.name} = "{target.value}". {hint}')
        equal = np.array([text == target.value for text in column.texts] + [False], dtype=np.int8)
        return np.where(missing, UNLABELLED, equal[column.codes]).astype(np.int8), ()
    if role is Role.FLAG:
        return np.where(missing, UNLABELLED, is_true(column)).astype(np.int8), ()
    where = f'"{target.text}" holds {plural(column.n_values, "different value")}'
    if role in (Role.DATE, Role.TIME):
        first = column.texts[len(column.texts) // 2] if column.texts else "0"
        raise DataError(
            f"{where}, which are dates: such a label cannot be learned; name one value "
            f'("{target.text}={first}"), or state the role "category" if they are classes.'
        )
    if column.n_values > MOST_CLASSES:
        nearly = nearly_numbers(column)
        reason = "" if nearly is None else f" The {nearly.message}"
        raise DataError(
            f"{where}, more than the limit of {MOST_CLASSES} classes; "
            f'name one value, such as "{target.text}={column.texts[0]}".{reason}'
        )
    if column.n_values < 2 and not lenient:
        raise DataError(f"{where}; learning needs rows of at least two classes.")
    return np.where(missing, UNLABELLED, column.codes).astype(np.int8), tuple(column.texts)


def _beyond(threshold: TargetCondition, target: Target, column: Column) -> Labels:
    """1 for values on the side of a threshold that the target names, 0 for others."""
    operator, text = threshold
    numbers = column.domain is Domain.NUMBER
    if not numbers and column.domain not in (Domain.DATE, Domain.MOMENT):
        raise DataError(
            f'"{target.text}" compares "{column.name}" with {text}, but it holds {column.domain.value} '
            "values; name a column of numbers or dates."
        )
    reader = read_number if numbers else read_moment
    if not reads(reader, text) or text == "NaN":
        kind = "a number" if numbers else "a date such as 2024-12-31"
        raise DataError(f'"{target.text}" compares "{column.name}" with "{text}", which is not {kind}.')
    sides = {">=": np.greater_equal, "<=": np.less_equal, ">": np.greater, "<": np.less}
    labels = sides[operator](column.values, reader(text)).astype(np.int8)
    return np.append(labels, np.int8(UNLABELLED))[column.codes]


def _label_texts(target: Target, column: Column) -> tuple[str, str]:
    """What a column has for false and true; ``not F`` for false if it has several values other than F."""
    if target.threshold is not None and target.value is not None:
        return f"not {target.value}", target.value
    if target.value is not None:
        others = [text for text in column.texts if text != target.value]
        return (others[0] if len(others) == 1 else f"not {target.value}"), target.value
    own = dict(zip(column.values.astype(bool).tolist(), column.texts, strict=True))
    usual = ("0", "1") if column.is_whole else ("false", "true")
    return own.get(False, usual[0]), own.get(True, usual[1])


# --- links as targets ------------------------------------------------------------------------


def read_negatives(text: str) -> str | float:
    """The value of ``--negatives``: ``all``, or a number of unlinked pairs per linked one.

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
            f'negatives "{text}" is refused: it must be "all", or the number of negatives per link, above 0.'
        )
    return ratio


def _linked(
    target: Target,
    columns: Sequence[Coded],
    populations: Sequence[Sequence[str]],
    negatives: str | float | None,
    seed: int,
) -> GivenExamples:
    """Linked pairs as positives; all others, or a sample drawn by names and seed alone, as negatives."""
    complete = np.logical_and.reduce([column.codes != MISSING for column in columns])
    columns = [Coded(column.names, column.codes[complete]) for column in columns]
    # Keys of dangling links that were kept belong to the population, too.
    names = [sorted({*known, *column.names}) for known, column in zip(populations, columns, strict=True)]
    sizes = [len(each) for each in names]
    total = int(np.prod([*map(int, sizes)], dtype=object)) if sizes else 0
    if total >= 2**63:
        raise DataError(f'"{target.text}" has {total:,} possible examples, more than the limit of 2^63.')
    positives = np.unique(_numbers(columns, names))
    if not len(positives):
        raise DataError(
            f'table "{target.table}" has no row that links two keys: there is nothing to learn from.'
        )
    wanted = _wanted(target, negatives, total, len(positives))
    numbers = np.concatenate([positives, _others(positives, total, wanted, seed)])
    labels = np.zeros(len(numbers), dtype=np.int8)
    labels[: len(positives)] = 1
    keys = [Coded(each, codes) for each, codes in zip(names, unfold(numbers, sizes), strict=True)]
    return GivenExamples(keys, labels, closed=True)


def _wanted(target: Target, negatives: str | float | None, total: int, positives: int) -> int:
    unlinked = total - positives
    wanted = unlinked
    if negatives == NO_NEGATIVES:
        return 0
    if negatives is None and total > MANY_PAIRS:
        raise OptionError(
            f'"{target.text}" links {positives:,} of {total:,} pairs, too many to use all others as '
            'negatives by default; set negatives (--negatives) to "all", or to a number per link.'
        )
    if negatives is not None and negatives != "all":
        ratio = read_negatives(negatives) if isinstance(negatives, str) else negatives
        wanted = min(unlinked, max(1, int(float(ratio) * positives + 0.5)))
    if wanted + positives > MOST_PAIRS:
        raise OptionError(
            f'"{target.text}" would have {wanted + positives:,} examples, more than {MOST_PAIRS:,}; '
            "set negatives (--negatives) to a smaller number per link."
        )
    return wanted


def _numbers(columns: Sequence[Coded], names: Sequence[Sequence[str]]) -> npt.NDArray[np.int64]:
    codes = []
    for column, known in zip(columns, names, strict=True):
        places = {name: place for place, name in enumerate(known)}
        codes.append(np.array([places[name] for name in column.names], dtype=np.int64)[column.codes])
    return fold(codes, [len(known) for known in names])[0]


def _others(positives: npt.NDArray[np.int64], total: int, wanted: int, seed: int) -> npt.NDArray[np.int64]:
    """A sorted sample of ``wanted`` numbers below the total that are not positives."""
    generator = np.random.default_rng(seed)
    if total <= 4 * (wanted + len(positives)):
        free = np.ones(total, dtype=bool)
        free[positives] = False
        others = np.flatnonzero(free)
        return others if wanted == len(others) else np.sort(generator.choice(others, wanted, replace=False))
    sample = np.empty(0, dtype=np.int64)
    while len(sample) < wanted:
        drawn = np.concatenate([sample, generator.integers(0, total, 2 * (wanted - len(sample)) + 16)])
        _, first = np.unique(drawn, return_index=True)
        drawn = drawn[np.sort(first)]
        sample = drawn[~np.isin(drawn, positives)][:wanted]
    return np.sort(sample)
