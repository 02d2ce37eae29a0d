"""The user's words for a model: the target as a question, its labels, and what rows of tables are called.

All of it is derived from the names in the schema and from what a model keeps about its tables. The logical
names, by which files and clauses refer to predicates and constants, never change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from hornbeam.logic.clauses import format_constant
from hornbeam.logic.english.nouns import (
    flag_phrase,
    is_verb,
    link_name,
    noun_of,
    plain_name,
    plural_of,
    singular_of,
)
from hornbeam.logic.schema import Schema

EXAMPLE = "example"
LOG_ODDS = "the log-odds"


@dataclass(frozen=True, slots=True)
class Wording:
    """Words for a target and its data; without any, sentences use logic notation and ``its``."""

    question: str = ""
    """``Which users have gender F?``"""
    subject: str = ""
    """what the model predicts of an example: ``gender F``; empty for the head in logic notation"""
    example: str = ""
    """what an example is: ``user``; empty for pairs"""
    labels: tuple[str, str] = ("negative", "positive")
    """the names of the labels 0 and 1"""
    nouns: Mapping[str, str] = field(default_factory=dict)
    """the noun of a type, in the singular, where its name is not the best word"""
    rows: Mapping[str, str] = field(default_factory=dict)
    """for a column of a link table, by predicate: the noun of the table's rows; for others: their words"""
    columns: Mapping[str, str] = field(default_factory=dict)
    """the words for a predicate that a table or a column gives, which are those of its name"""
    values: frozenset[str] = frozenset()
    """types without a name of their own that only last arguments have: constants are values, not things"""
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """by type, the display name of some of its keys"""
    single: frozenset[str] = frozenset()
    """columns of tables, by predicate, that link a row to one other row at most"""
    numeric: bool = False
    """whether the target is a number, which is larger or smaller, not likelier"""
    unit: str = LOG_ODDS
    """what curves add to, if the target is no number"""

    @property
    def owner(self) -> str:
        """``the user's``, or ``its``."""
        return f"the {self.example}'s" if self.example else "its"

    def noun(self, type_name: str) -> str:
        """The noun of a type; singular only if the type is described."""
        return self.nouns.get(type_name) or plain_name(noun_of(type_name))

    def column(self, predicate: str) -> str:
        """The words for a predicate."""
        return self.columns.get(predicate) or plain_name(predicate)

    def row(self, predicate: str) -> str:
        """The noun of the rows that the facts of a predicate come from."""
        return self.rows.get(predicate) or plain_name(predicate)

    def name(self, type_name: str, constant: str) -> str:
        """The display name of a constant."""
        return self.names.get(type_name, {}).get(constant, constant)

    def constant(self, type_name: str, constant: str) -> str:
        """A constant in a sentence: its display name, or as it is in logic notation."""
        return self.names.get(type_name, {}).get(constant) or format_constant(constant)


PLAIN = Wording()
"""No words of the user: logic notation."""


class _Target(NamedTuple):
    """The parts of a target such as ``users.gender=F``."""

    table: str = ""
    column: str = ""
    value: str | None = None


def wording_of(
    target: str,
    schema: Schema,
    settings: Mapping[str, object],
    of_class: str = "",
    names: Mapping[str, Mapping[str, str]] | None = None,
    numeric: bool = False,
    unit: str = LOG_ODDS,
) -> Wording:
    """The words for a target; ``settings`` are those of a model, which describe its tables.

    >>> schema = Schema({"gender_f": ("users",), "age": ("users", "age_value")})
    >>> wording_of("gender_f", schema, {"target": "users.gender=F", "tables": {"users": {}}}).question
    'Which users have gender F?'
    >>> wording_of("smokes", Schema({"smokes": ("person",)}), {}).question
    'Which persons smoke?'
    """
    tables = settings.get("tables")
    described = tables if isinstance(tables, Mapping) else {}
    parts = _parts(str(settings.get("target", "")), described)
    if parts.value is not None and (linked := _linked_type(parts, described)):
        parts = parts._replace(value=(names or {}).get(linked, {}).get(parts.value, parts.value))
    types = schema.types_of(target)
    nouns = _nouns(schema, target, described)
    example = nouns.get(types[0], noun_of(types[0])) if len(types) == 1 else ""
    things = [nouns.get(name) or noun_of(name) for name in types]
    subject, question = _question(target, parts, things, of_class, described)
    if numeric:
        question = f"How large is {subject} for each {' and '.join(things)}?"
    return Wording(
        question=question,
        subject=subject if example else "",
        example=example,
        labels=_labels(subject, parts, of_class),
        nouns=nouns,
        rows=_rows(schema, described),
        columns=_columns(schema, described),
        values=_values(schema, target, described),
        names=names or {},
        single=_single(schema, described),
        numeric=numeric,
        unit=unit,
    )


def _parts(text: str, tables: Mapping[str, object]) -> _Target:
    """The parts of a target; names may hold dots and equals signs, so the longest table that fits is it."""
    for table in sorted(tables, key=lambda name: -len(name)):
        if text.lower() == table.lower():
            return _Target(table)
        if text.lower().startswith(f"{table.lower()}."):
            section = tables[table]
            after = text[len(table) + 1 :]
            roles = section.get("roles") if isinstance(section, Mapping) else None
            for column in sorted(roles or (), key=lambda name: -len(name)):
                if after.lower() == column.lower():
                    return _Target(table, column)
                if after.lower().startswith(column.lower()) and (given := condition_of(after[len(column) :])):
                    return _Target(table, column, given.words)
            start = re.search("[<>=]", after)
            if start is None:
                return _Target(table, after, None)
            given = condition_of(after[start.start() :])
            return _Target(table, after[: start.start()].rstrip(), given.words if given else None)
    return _Target()


def _linked_type(parts: _Target, tables: Mapping[str, object]) -> str:
    """The type of the things that the column of a target leads to; empty if it is no link."""
    section = tables.get(parts.table)
    links = section.get("links") if isinstance(section, Mapping) else None
    return str(links.get(parts.column, "")).lower() if isinstance(links, Mapping) else ""


def named_by_target(settings: Mapping[str, object]) -> tuple[str, str] | None:
    """The type and the key of the thing that a target such as ``tracks.genre_id=1`` names, if it does."""
    tables = settings.get("tables")
    described = tables if isinstance(tables, Mapping) else {}
    parts = _parts(str(settings.get("target", "")), described)
    linked = _linked_type(parts, described)
    return (linked, parts.value) if linked and parts.value is not None else None


class TargetCondition(NamedTuple):
    """What a target asks of a column: one value, or a value on one side of a threshold."""

    operator: str
    value: str

    @property
    def words(self) -> str:
        """The condition in words."""
        return " ".join(filter(None, (_OPERATORS[self.operator], self.value)))


_OPERATORS = {">=": "at least", "<=": "at most", ">": "above", "<": "below", "=": ""}


def condition_of(text: str) -> TargetCondition | None:
    """The condition at the end of a target, after the name of its column; None if it is none.

    >>> condition_of("=F").words, condition_of(" >= 30").words, condition_of("_id")
    ('F', 'at least 30', None)
    """
    if text.startswith("="):
        return TargetCondition("=", text[1:])
    stripped = text.strip()
    for operator in _OPERATORS:
        if operator != "=" and stripped.startswith(operator):
            return TargetCondition(operator, stripped[len(operator) :].strip())
    return None


def _question(
    target: str, parts: _Target, things: list[str], of_class: str, tables: Mapping[str, object]
) -> tuple[str, str]:
    """What is predicted of an example, and the target as a question."""
    several = plural_of(things[0])
    column = plain_name(parts.column) if parts.column else ""
    value = of_class or parts.value
    if len(things) > 1:
        name = plain_name(target)
        linked = _linked_type(parts, tables)
        if parts.table and (linked or not parts.column):
            name = link_name(parts.column) if linked else plain_name(parts.table)
            return name, f"Which {joined_words([plural_of(each) for each in things])} are linked by {name}?"
        word = joined_words(things) if len(set(things)) > 1 else several
        if of_class:
            return f"{name} {of_class}", f"For which pairs of {word} is {name} {of_class}?"
        return name, f"For which pairs of {word} is {name} true?"
    if column and value is not None:
        return f"{column} {value}", f"Which {several} have {column} {value}?"
    subject = column or plain_name(target)
    if value is not None:
        return f"{subject} {value}", f"Which {several} have {subject} {value}?"
    if is_verb(subject):
        return subject, f"Which {several} {flag_phrase(subject, several=True)}?"
    return subject, f"For which {several} is {subject} true?"


def class_question(target: str, schema: Schema, settings: Mapping[str, object]) -> str:
    """The question that a model of all classes answers.

    >>> schema = Schema({"users_club": ("users",), "age": ("users", "age_value")})
    >>> class_question("users_club", schema, {"target": "users.club", "tables": {"users": {}}})
    'Which club do users have?'
    """
    tables = settings.get("tables")
    described = tables if isinstance(tables, Mapping) else {}
    parts = _parts(str(settings.get("target", "")), described)
    nouns = _nouns(schema, target, described)
    things = [nouns.get(name) or noun_of(name) for name in schema.types_of(target)]
    several = [plural_of(each) for each in dict.fromkeys(things)]
    what = plain_name(parts.column or target)
    return f"Which {what} do {'pairs of ' if len(things) > 1 else ''}{joined_words(several)} have?"


def joined_words(words: list[str]) -> str:
    """``users and movies``."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _labels(subject: str, parts: _Target, of_class: str) -> tuple[str, str]:
    value = of_class or parts.value or subject
    return f"not {value}", value


def _nouns(schema: Schema, target: str, tables: Mapping[str, object]) -> dict[str, str]:
    """The nouns of types: tables in the singular, and words for types that were named by the loader."""
    nouns = {table.lower(): _row_of(table, section) for table, section in tables.items()}
    nouns |= {f"{predicate}_value": words for predicate, words in _columns(schema, tables).items()}
    nouns = {name: noun for name, noun in nouns.items() if name in schema.types()}
    if tables:
        return nouns
    for name in schema.types():
        if not _is_generated(name, schema):
            nouns[name] = singular_of(plain_name(noun_of(name)))
            continue
        owned = [
            re.sub(r"^has_?", "", predicate)
            for predicate, types in schema.predicates.items()
            if len(types) == 2 and types[1] == name and re.match(r"has_?[a-z]", predicate)
        ]
        if owned:
            nouns[name] = singular_of(plain_name(owned[0]))
        elif name in schema.types_of(target):
            nouns[name] = EXAMPLE
        else:
            nouns[name] = plain_name(name.rpartition("_")[0])
    return nouns


def _row_of(table: str, section: object) -> str:
    """What a row of a table is: as stated, or the name of the table in the singular."""
    stated = section.get("words") if isinstance(section, Mapping) else None
    return stated if isinstance(stated, str) else singular_of(plain_name(table))


def _is_generated(name: str, schema: Schema) -> bool:
    """Whether a type was named after an argument of a predicate, such as ``bond_3``."""
    predicate, _, place = name.rpartition("_")
    types = schema.predicates.get(predicate, ())
    return place.isdigit() and 0 < int(place) <= len(types) and types[int(place) - 1] == name


def _values(schema: Schema, target: str, tables: Mapping[str, object]) -> frozenset[str]:
    """Generated types of last arguments only: their constants have no facts of their own."""
    if tables:
        return frozenset()
    places: dict[str, list[tuple[str, int]]] = {}
    for predicate, types in schema.predicates.items():
        for place, name in enumerate(types):
            places.setdefault(name, []).append((predicate, place))
    return frozenset(
        name
        for name, used in places.items()
        if _is_generated(name, schema)
        and all(each != target and place == len(schema.types_of(each)) - 1 > 0 for each, place in used)
    )


def _columns(schema: Schema, tables: Mapping[str, object]) -> dict[str, str]:
    """The names of tables and columns as words, or ``bond type`` for a third argument of facts."""
    if not tables:
        return {
            predicate: f"{plain_name(predicate)} type"
            for predicate, types in schema.predicates.items()
            if len(types) > 2 and _is_generated(types[-1], schema)
        }
    words = {table.lower(): plain_name(table) for table in tables}
    for table, section in tables.items():
        named = {column: plain_name(column) for column in _roles(section)}
        named |= {column: link_name(column) for column in _links(section)}
        for column, name in named.items():
            words.setdefault(column.lower(), name)
            words[f"{table.lower()}_{column.lower()}"] = name
    return {predicate: name for predicate, name in words.items() if predicate in schema.predicates}


def _rows(schema: Schema, tables: Mapping[str, object]) -> dict[str, str]:
    """For columns of link tables: what a row of the table is."""
    rows = _columns(schema, tables) if tables else {}
    for table, section in tables.items():
        if isinstance(section, Mapping) and section.get("arguments"):
            noun = _row_of(table, section)
            for column in _roles(section):
                for predicate in (column.lower(), f"{table.lower()}_{column.lower()}"):
                    if predicate in schema.predicates:
                        rows[predicate] = noun
    return rows


def _single(schema: Schema, tables: Mapping[str, object]) -> frozenset[str]:
    """The columns of tables of things that link to other things."""
    return frozenset(
        predicate
        for table, section in tables.items()
        if isinstance(section, Mapping) and not section.get("arguments")
        for column in _links(section)
        for predicate in (column.lower(), f"{table.lower()}_{column.lower()}")
        if schema.predicates.get(predicate, ())[:1] == (table.lower(),)
    )


def _roles(section: object) -> list[str]:
    roles = section.get("roles") if isinstance(section, Mapping) else None
    return [str(column) for column in roles] if isinstance(roles, Mapping) else []


def _links(section: object) -> list[str]:
    links = section.get("links") if isinstance(section, Mapping) else None
    return [str(column) for column in links] if isinstance(links, Mapping) else []
