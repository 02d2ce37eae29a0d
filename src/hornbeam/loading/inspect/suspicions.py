"""Columns that may be a mistake: empty, constant, nearly unique, dangling, or leaking the label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hornbeam.data.database import UNLABELLED, Coded
from hornbeam.data.ranking import ranking
from hornbeam.loading.tables.columns.column import MISSING, TIMES, Column, Domain
from hornbeam.loading.tables.columns.folding import spellings
from hornbeam.loading.tables.database import Relational
from hornbeam.loading.tables.given import GivenExamples
from hornbeam.loading.tables.guess import is_constant, is_flag, is_nearly_unique, possible_links
from hornbeam.loading.tables.link_targets import LinkTargets
from hornbeam.loading.tables.roles import Plan
from hornbeam.loading.tables.schema_file import Role
from hornbeam.loading.tables.to_logic import FactColumns

LEAK = 0.99
"""A column that alone reaches this AUC-ROC probably became known only together with the label."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A column that may be a mistake, and why."""

    table: str
    column: str
    why: str


def odd_columns(plan: Plan) -> Iterator[Suspicion]:
    """Columns with dangling links, without values, with one value, or with nearly one value per row."""
    for name, links in plan.dangling.items():
        done = "other commands refuse this unless --dangling is drop or keep" if links.most else "not used"
        why = f"{links}; {done}"
        yield Suspicion(plan.name, name, why)
    for name, column in plan.table.columns.items():
        role = plan.roles[name]
        if role in (Role.KEY, Role.LINK):
            continue
        unused = "" if role is not Role.UNUSED else "; not used"
        if not column.n_values and plan.table.size:
            yield Suspicion(plan.name, name, f"no row has a value{unused}")
        elif is_constant(column, plan.table.size):
            yield Suspicion(plan.name, name, f"the same value ({column.texts[0]}) in every row{unused}")
        elif column.domain is Domain.TEXT and is_nearly_unique(column, plan.table.size):
            shown = f"{column.n_values:,} different texts in {plan.table.size:,} rows"
            yield Suspicion(plan.name, name, f"{shown}{unused}")
        elif role is Role.CATEGORY and column.domain is Domain.TEXT and not column.stays:
            found = spellings(column.texts, plan.name, name)
            if found:
                yield Suspicion(plan.name, name, found)


def unstated_links(plans: Sequence[Plan]) -> Iterator[Suspicion]:
    """Columns that are no links, but share a word with a table whose keys are nearly all of their values."""
    tables = {plan.name: plan.table for plan in plans}
    keys = {plan.name: plan.key for plan in plans if plan.key is not None}
    targets = LinkTargets(tables, keys)
    for plan in plans:
        for name, column in plan.table.columns.items():
            if plan.roles[name] in (Role.KEY, Role.LINK, Role.TIME):
                continue
            for other, share in possible_links(plan.table, column, targets):
                much = "all" if share == 1.0 else f"{share:.0%}"
                line = ", ".join(f'{link} = "{table}"' for link, table in {**plan.links, name: other}.items())
                yield Suspicion(
                    plan.name,
                    name,
                    f'{much} of its values are keys of "{other}"; if it is '
                    f"a link, state links = {{ {line} }} under [{plan.name}] in schema.toml",
                )


def suspicious_columns(relational: Relational) -> list[str]:
    """What may be a mistake in tables, without a look at the label: ``orders.note: no row has a value``."""
    suspicions = [each for plan in relational.plans for each in odd_columns(plan)]
    suspicions += unstated_links(relational.plans)
    return [f"{each.table}.{each.column}: {each.why}" for each in suspicions]


def leaks(
    relational: Relational, table: str, label: str | None, given: GivenExamples, facts: FactColumns
) -> Iterator[Suspicion]:
    """Columns that predict the label on their own.

    These are columns of the target's table, columns of a table with one row per thing, and links whose number
    of rows predicts the label.
    """
    known = given.labels != UNLABELLED
    for wanted in range(len(given.classes)) if given.classes else (1,):
        truth = given.labels[known] == wanted
        if truth.all() or not truth.any():
            continue
        of_class = f" of {given.classes[wanted]}" if given.classes else ""
        for plan in relational.plans:
            links = [link for link, other in plan.links.items() if other == table and plan.name != table]
            for link in links:
                rows = facts.argument(plan, link)
                score = ranking(truth, _number_of_rows(rows, given.keys[0])[known]).auc_roc()
                if max(score, 1.0 - score) >= LEAK:
                    why = f"the number of rows alone predicts the label{of_class} (AUC-ROC {score:.3f})"
                    yield Suspicion(plan.name, link, f"{why}: a leak?")
            one_each = next((link for link in links if plan.table.columns[link].is_unique), None)
            if plan.name != table and one_each is None:
                continue
            rows = given.keys[0] if one_each is None else facts.argument(plan, one_each)
            for name, column in plan.table.columns.items():
                is_label = plan.name == table and name == label
                if is_label or name == one_each or plan.roles[name] in (Role.KEY, Role.UNUSED):
                    continue
                score = _alone(_of_things(column, rows, given.keys[0]), known, truth)
                if score >= LEAK:
                    why = f"alone predicts the label{of_class} (AUC-ROC {score:.3f}): a leak?"
                    yield Suspicion(plan.name, name, why)


def _of_things(column: Column, rows: Coded, things: Coded) -> Column:
    """The value of a column for each thing, given the thing of each row; no thing has two rows."""
    codes = {rows.names[thing]: code for thing, code in zip(rows.codes.tolist(), column.codes, strict=True)}
    by_thing = [codes.get(things.names[thing], MISSING) for thing in things.codes.tolist()]
    return replace(column, codes=np.array(by_thing, dtype=np.int32))


def _alone(column: Column, known: npt.NDArray[np.bool_], truth: npt.NDArray[np.bool_]) -> float:
    codes = column.codes[known] + 1
    ordered = column.domain in TIMES and not is_flag(column)
    if ordered:
        # Numbers are ranked by their order, up or down: as categories they would predict any label.
        score = ranking(truth, codes.astype(np.float64)).auc_roc()
        return max(score, 1.0 - score)
    if is_nearly_unique(column, len(column)):
        return 0.0
    sizes = np.bincount(codes, minlength=column.n_values + 1)
    positives = np.bincount(codes, weights=truth, minlength=column.n_values + 1)
    return ranking(truth, (positives / np.maximum(sizes, 1))[codes]).auc_roc()


def _number_of_rows(link: Coded, things: Coded) -> npt.NDArray[np.float64]:
    per_code = np.bincount(link.codes[link.codes != MISSING], minlength=len(link.names))
    numbers = dict(zip(link.names, per_code.tolist(), strict=True))
    return np.array([numbers.get(name, 0) for name in things.names], dtype=np.float64)[things.codes]
