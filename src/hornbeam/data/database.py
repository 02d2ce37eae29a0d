"""The facts in columns: constants coded as integers per type; immutable once built.

Codes are an implementation detail: no count, score or model depends on their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.codes import Coded, Coder, NameRows, example_columns, merged_examples
from hornbeam.data.numbers import Floats, moments_of, numbers_of, quantiles, read_times, times_of
from hornbeam.data.relations import UNKNOWN, UNLABELLED, Codes, Examples, Notice, Population, Relation
from hornbeam.errors import DataError, SchemaError, did_you_mean, plural
from hornbeam.logic.clauses import Value
from hornbeam.logic.modes import Kind, Mode
from hornbeam.logic.refine import Constants, Thresholds
from hornbeam.logic.schema import Schema, value_of
from hornbeam.logic.text import format_value

__all__ = [
    "UNKNOWN",
    "UNLABELLED",
    "Coded",
    "Codes",
    "Database",
    "Examples",
    "Notice",
    "Population",
    "Relation",
    "build",
    "merged_examples",
]


@dataclass(frozen=True, eq=False)
class Database:
    """Schema, modes, populations, facts and examples of one split of a data set."""

    schema: Schema
    modes: tuple[Mode, ...]
    populations: Mapping[str, Population]
    relations: Mapping[str, Relation]
    example_sets: Mapping[str, Examples] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    origin: Mapping[str, object] = field(default_factory=dict)
    """of data that came as tables: what each table is, and the target as it was named; models keep it"""
    numbers: Mapping[str, Floats] = field(default_factory=dict)
    """for each numeric type the value of each constant, by code (``schema`` says what values are)"""
    times: Mapping[str, Floats] = field(default_factory=dict)
    """for some predicates the time of each row of their relation; a fact exists for an example whose
    cut-off is that time or later. Facts of other predicates have always existed"""

    def __repr__(self) -> str:
        facts = sum(map(len, self.relations.values()))
        targets = ", ".join(f"{name} ({len(e)})" for name, e in self.example_sets.items()) or "none"
        return (
            f"Database({plural(facts, 'fact')}, {plural(len(self.relations), 'predicate')}, "
            f"{plural(len(self.populations), 'type')}, examples: {targets})"
        )

    def __deepcopy__(self, memo: dict[int, object]) -> Database:
        # Immutable, and often large: scikit-learn's clone copies every parameter of an estimator.
        return self

    def __reduce__(self) -> tuple[object, ...]:
        # Read-only views of dictionaries cannot be pickled; what they show can.
        parts = (dict(self.populations), dict(self.relations), dict(self.example_sets))
        more = (self.notices, dict(self.origin), dict(self.numbers), dict(self.times))
        return _read_only, (self.schema, self.modes, *parts, *more)

    def relation(self, predicate: str) -> Relation:
        """The facts of a predicate of the schema; none is an empty relation."""
        found = self.relations.get(predicate)
        if found is None:
            arity = self.schema.arity(predicate)
            found = Relation(tuple(np.empty(0, dtype=np.int32) for _ in range(arity)))
        return found

    def has_facts(self, predicate: str) -> bool:
        """Whether a predicate of the schema has any fact."""
        return len(self.relation(predicate)) > 0

    def marks(self) -> object:
        """Numbers that change with facts that are not here; None where all facts are."""
        return None

    def close(self) -> None:
        """Let go of whatever the facts are read through; facts that are here need nothing."""

    def population(self, type_name: str) -> Population:
        return self.populations.get(type_name) or Population(())

    def target_named(self, name: str | None) -> str:
        """The target of that name, in any case; without one, the only target that has examples.

        The target of tables may also be named as it was when they were loaded: ``users.gender=F``.
        """
        if name is not None and name != self.origin.get("target"):
            target = name.lower()
            if target not in self.schema.predicates:
                known = self.example_sets or self.schema.predicates
                raise DataError(f'no target "{name}". {did_you_mean(target, known, "Targets")}')
            return target
        if len(self.example_sets) == 1:
            return next(iter(self.example_sets))
        if self.example_sets:
            found = ", ".join(sorted(self.example_sets))
            raise DataError(f"the data have examples of several targets ({found}); name one of them.")
        new = [predicate for predicate in self.schema.predicates if predicate not in self.relations]
        if name is None or len(new) != 1:
            raise DataError(self._no_examples())
        return new[0]

    def _no_examples(self) -> str:
        if "target" in self.origin:
            return (
                f'the target "{self.origin["target"]}" is new, so the tables have no examples of it; give '
                "them by examples (--examples FILE): keys and a label."
            )
        if "tables" in self.origin:
            return "name a target: a column of a table (table.column or table.column=value) or a link table."
        return "the data have no examples; name a target that has some."

    def examples_of(self, target: str) -> Examples:
        """The examples of a target; one without examples is an error that names the targets."""
        if target == self.origin.get("target"):
            target = self.target_named(target)
        try:
            return self.example_sets[target.lower()]
        except KeyError:
            if not self.example_sets and self.origin:
                raise DataError(self._no_examples()) from None
            hint = did_you_mean(target.lower(), self.example_sets, "Targets")
            raise DataError(f'no examples of "{target}". {hint}') from None

    def examples(self, target: str | None = None) -> tuple[npt.NDArray[np.object_], npt.NDArray[Any]]:
        """Keys (names, one column per head argument) and labels of a target's examples.

        Labels are 0 and 1, or the classes as text; examples without a label are left out. The target
        may be left out where only one has examples. Where the examples have cut-offs and the facts have
        times, the cut-offs are one column more, the last.
        """
        examples = self.examples_of(self.target_named(None) if target is None else target).labelled()
        labels = examples.labels
        names = self.names_of(examples.target, examples.keys)
        if examples.cutoffs is not None and self.times:
            texts = [text or "inf" for text in self.cutoff_texts(examples.cutoffs)]
            names = np.column_stack([names, np.array(texts, dtype=object)])
        if examples.classes:
            return names, np.array(examples.classes)[labels]
        return names, labels

    def names_of(self, target: str, keys: Codes) -> npt.NDArray[np.object_]:
        """Names for rows of codes of the target's arguments."""
        types = self.schema.types_of(target)
        names = np.empty((len(keys), len(types)), dtype=object)
        for column, type_name in enumerate(types):
            names[:, column] = self.population(type_name).decode(keys[:, column])
        return names

    def encode_keys(self, target: str, names: npt.NDArray[np.object_]) -> Codes:
        """Codes for rows of names of the target's arguments, ``UNKNOWN`` where the data lack one.

        One column more is taken as cut-offs, where the data have times.
        """
        types = self.schema.types_of(target)
        more = 1 if self.times and names.ndim == 2 and names.shape[1] == len(types) + 1 else 0
        if names.ndim != 2 or names.shape[1] != len(types) + more:
            raise DataError(
                f"X has {names.shape[1] if names.ndim == 2 else names.ndim} columns, but "
                f'"{target}" takes {len(types)}: one column per argument ({", ".join(types)}).'
            )
        codes = np.empty(names.shape, dtype=np.int32)
        for column, type_name in enumerate(types):
            codes[:, column] = self.population(type_name).encode(names[:, column].tolist())
        if more:
            codes[:, -1] = self.cutoff_codes(read_times(names[:, -1].tolist()))
        return codes

    @cached_property
    def moments(self) -> Floats:
        """The distinct times that facts have, sorted."""
        return moments_of(self.times)

    def cutoff_codes(self, cutoffs: Floats) -> Codes:
        """What keys hold of cut-offs: how many of the facts' distinct times are not after each."""
        return np.searchsorted(self.moments, cutoffs, "right").astype(np.int32)

    def cutoffs_of(self, target: str, keys: Codes) -> Floats | None:
        """The last time of a fact that exists for each row of keys; None where keys have no cut-offs."""
        arity = self.schema.arity(target)
        if keys.shape[1] == arity or not self.times:
            return None
        return np.concatenate(([-np.inf], self.moments))[keys[:, arity]]

    def cutoff_texts(self, cutoffs: Floats) -> list[str]:
        """Cut-offs as they were given: numbers, or dates; empty where an example sees everything."""
        kind = str(self.origin.get("times", "number"))
        return [
            format_value(value_of(cutoff, kind)) if np.isfinite(cutoff) else "" for cutoff in cutoffs.tolist()
        ]

    @cached_property
    def constants(self) -> Constants:
        """For each ``#`` argument of a mode, the constants that occur there, sorted."""
        found: dict[tuple[str, int], tuple[str, ...]] = {}
        for mode in self.modes:
            for position, arg in enumerate(mode.args):
                place = (mode.predicate, position)
                if arg.kind is Kind.CONSTANT and place not in found:
                    codes = np.unique(self.relation(mode.predicate).columns[position])
                    found[place] = tuple(sorted(self.population(arg.type).decode(codes)))
        return MappingProxyType(found)

    def frequent(self, predicate: str, position: int, least: int) -> tuple[str, ...]:
        """The constants at an argument that are in at least so many facts, sorted."""
        population = self.population(self.schema.types_of(predicate)[position])
        facts = np.bincount(self.relation(predicate).columns[position], minlength=len(population))
        return tuple(sorted(population.decode(np.flatnonzero(facts >= least).astype(np.int32))))

    def last_cutoff(self, target: str, keys: Codes) -> float:
        """The last cut-off that some rows of keys have: no fact after it exists for any of them."""
        cutoffs = self.cutoffs_of(target, keys)
        return np.inf if cutoffs is None else float(cutoffs.max(initial=-np.inf))

    def thresholds(self, target: str, number: int, until: float = np.inf) -> Thresholds:
        """For each numeric argument of a mode or of the target, thresholds at quantiles of its values.

        At most so many; of each (predicate, argument) once, whatever the body: discretised once. Facts
        after the time ``until`` have no say.
        """
        found: dict[tuple[str, int], tuple[Value, ...]] = {}
        columns = {mode.predicate: self.relation(mode.predicate).columns for mode in self.modes}
        for predicate, times in self.times.items():
            if predicate in columns and until < np.inf:
                columns[predicate] = tuple(column[times <= until] for column in columns[predicate])
        if target in self.example_sets:
            columns[target] = tuple(self.example_sets[target].keys.T)
        for predicate, codes in columns.items():
            for position, type_name in enumerate(self.schema.types_of(predicate)):
                kind = self.schema.numeric.get(type_name)
                if kind is not None and number:
                    values = quantiles(self.numbers[type_name][codes[position]], number, kind)
                    if values:
                        found[predicate, position] = values
        return MappingProxyType(found)


def _read_only(
    schema: Schema,
    modes: tuple[Mode, ...],
    populations: dict[str, Population],
    relations: dict[str, Relation],
    example_sets: dict[str, Examples],
    notices: tuple[Notice, ...],
    origin: Mapping[str, object],
    numbers: dict[str, Floats],
    times: dict[str, Floats],
) -> Database:
    return Database(
        schema,
        modes,
        MappingProxyType(populations),
        MappingProxyType(relations),
        MappingProxyType(example_sets),
        notices,
        MappingProxyType(dict(origin)),
        MappingProxyType(numbers),
        MappingProxyType(times),
    )


def build(
    schema: Schema,
    modes: Sequence[Mode],
    facts: Mapping[str, Sequence[Sequence[str] | Coded]],
    examples: Mapping[str, tuple[NameRows | Sequence[Coded], Sequence[int]]] | None = None,
    ranges: Mapping[str, Sequence[str]] | None = None,
    notices: Sequence[Notice] = (),
    origin: Mapping[str, object] | None = None,
    times: Mapping[str, Sequence[float] | Floats] | None = None,
    cutoffs: Mapping[str, Sequence[float] | Floats] | None = None,
) -> Database:
    """A database from names: facts as columns per predicate, examples and their labels per target.

    Examples are rows of names, or coded columns. One given twice counts once; one given with both
    labels is positive; both are said. ``times`` has the time of each row of some predicates' facts,
    ``cutoffs`` the cut-off of each example of some targets; the same key with another cut-off is
    another example. The values of constants of numeric types are read from their names.

    >>> db = build(Schema({"smokes": ("person",)}), (), {"smokes": [["ann", "bob", "ann"]]})
    >>> len(db.relation("smokes")), len(db.population("person"))
    (2, 2)
    """
    said = list(notices)
    coder = Coder(schema.types())
    for type_name, names in (ranges or {}).items():
        coder.encode(names, type_name)
    coded_facts = {
        predicate: [
            coder.encode(column, type_name)
            for column, type_name in zip(columns, _types(schema, predicate, len(columns)), strict=True)
        ]
        for predicate, columns in facts.items()
    }
    coded_examples = {}
    for target, (given, labels) in (examples or {}).items():
        types = schema.types_of(target)
        columns = example_columns(given, len(types))
        keys = [coder.encode(column, name) for column, name in zip(columns, types, strict=True)]
        coded_examples[target] = (keys, labels)
    populations = coder.populations()
    numbers = {
        type_name: numbers_of(populations[type_name].names, kind, type_name)
        for type_name, kind in schema.numeric.items()
        if type_name in populations
    }
    relations: dict[str, Relation] = {}
    times_of_rows: dict[str, Floats] = {}
    for predicate, coded in coded_facts.items():
        if times is not None and predicate in times:
            given_times = times_of(times[predicate], f'facts of "{predicate}"')
            relations[predicate], times_of_rows[predicate] = Relation.timed(coded, given_times)
        else:
            sizes = [len(populations[t]) for t in schema.types_of(predicate)]
            relations[predicate] = Relation.of(coded, sizes)
    moments = moments_of(times_of_rows)
    example_sets = {}
    for target, (keys, labels) in coded_examples.items():
        of_arguments = [populations[t] for t in schema.types_of(target)]
        cutoff = None
        if cutoffs is not None and target in cutoffs:
            cutoff = times_of(cutoffs[target], f'examples of "{target}"')
        found, more = merged_examples(target, keys, labels, of_arguments, cutoff)
        said.extend(more)
        if found.cutoffs is not None and times_of_rows:
            places = np.searchsorted(moments, found.cutoffs, "right").astype(np.int32)
            found = replace(found, keys=np.column_stack([found.keys, places]))
        example_sets[target] = found
    return _read_only(
        schema,
        tuple(modes),
        populations,
        relations,
        example_sets,
        tuple(said),
        origin or {},
        numbers,
        times_of_rows,
    )


def _types(schema: Schema, predicate: str, arity: int) -> tuple[str, ...]:
    types = schema.types_of(predicate)
    if len(types) != arity:
        raise SchemaError(
            f'facts of "{predicate}" have {arity} arguments, but the schema says '
            f"{predicate}({','.join(types)})."
        )
    return types
