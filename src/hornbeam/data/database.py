"""A database: schema, modes, populations, facts and examples of one data set. It never changes.

Facts are in memory, in columns of codes, or stay in the tables of another system (see ``facts``).
Codes are an implementation detail: no count, score or model depends on their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from hornbeam.data.codes import Coded, merged_examples
from hornbeam.data.facts import FactsInMemory, FactsInPlace, with_cutoff_codes
from hornbeam.data.names import UNKNOWN, Codes
from hornbeam.data.numbers import STRICT, CutoffRule, Floats, quantiles, read_times
from hornbeam.data.relations import UNLABELLED, Examples, Notice, Population, Relation
from hornbeam.errors import DataError, EngineError, did_you_mean, plural
from hornbeam.logic.clauses import Value, format_value
from hornbeam.logic.schema import Kind, Mode, Schema, value_of

if TYPE_CHECKING:
    from hornbeam.logic.refine import Constants, Thresholds

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
    "merged_examples",
]


_NOBODY = Population(())


@dataclass(frozen=True, eq=False)
class Database:
    """Schema, modes, populations, facts and examples of one split of a data set.

    A database whose facts stay in their tables holds a connection. Close it when it is no longer
    needed, or use it in a ``with`` statement.
    """

    schema: Schema
    modes: tuple[Mode, ...]
    populations: Mapping[str, Population]
    relations: Mapping[str, Relation]
    """the facts in memory, by predicate"""
    example_sets: Mapping[str, Examples] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    origin: Mapping[str, object] = field(default_factory=dict)
    """for data from tables: what each table is, and the name of the target; models keep it"""
    numbers: Mapping[str, Floats] = field(default_factory=dict)
    """for each numeric type the value of each constant, by code (``schema`` defines these values)"""
    times: Mapping[str, Floats] = field(default_factory=dict)
    """for some predicates the time of each row of their relation. Such a fact exists for an example if
    its time is before the example's cut-off (see ``rule``). Facts of other predicates always exist"""
    tables: FactsInPlace | None = None
    """the facts that stay in tables; then ``relations``, ``numbers`` and ``times`` are empty"""
    rule: CutoffRule = STRICT
    """which facts exist for an example with a cut-off"""
    display_names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """by type: what people call its keys, such as the titles of films; nothing is learned from it"""
    suspicions: tuple[str, ...] = ()
    """columns of loaded tables that may be a mistake, and why; notebooks show them"""
    declared: Mapping[str, Floats] = field(default_factory=dict)
    """if facts have times, for some types the time since which each constant, by code, exists without a fact,
    as the key of a row does; infinity, or no entry, for the other constants"""

    def __post_init__(self) -> None:
        for name in ("populations", "relations", "example_sets", "origin", "numbers", "times", "declared"):
            given = getattr(self, name)
            if not isinstance(given, MappingProxyType):
                object.__setattr__(self, name, MappingProxyType(dict(given)))
        populations = {name: self._with_values(name, each) for name, each in self.populations.items()}
        object.__setattr__(self, "populations", MappingProxyType(populations))

    def _with_values(self, type_name: str, population: Population) -> Population:
        values = self.numbers.get(type_name)
        return population if population.values is values else Population(population.names, values=values)

    def __repr__(self) -> str:
        targets = ", ".join(f"{name} ({len(e)})" for name, e in self.example_sets.items()) or "none"
        n_facts = sum(map(len, self.relations.values()))
        facts = plural(n_facts, "fact") if self.tables is None else f"facts in {self.tables.engine}"
        tables = f"; tables: {', '.join(self._tables())}" if self._tables() else ""
        return (
            f"Database({facts}, {plural(len(self.facts.predicates()), 'predicate')}, "
            f"{plural(len(self.populations), 'type')}, examples: {targets}{tables})"
        )

    def _repr_html_(self) -> str:
        """Tables with their keys and links, or predicates with their types; examples; notices."""
        from hornbeam.drawing.markup import element
        from hornbeam.drawing.notebook import notebook_table

        rows: list[tuple[str, ...]] = []
        for name, section in self._tables().items():
            links = section.get("links") or {}
            shown = [f"{column} → {other}" for column, other in links.items()]
            rows.append((name, str(section.get("key") or ""), ", ".join(shown), ", ".join(section["roles"])))
        header: tuple[str, ...] = ("table", "key", "links", "columns")
        if not rows:
            header = ("predicate", "facts")
            for name in self.facts.predicates():
                types = ", ".join(self.schema.types_of(name))
                rows.append((f"{name}({types})", f"{self.n_facts(name):,}"))
        texts = [f"note: {notice}" for notice in self.notices]
        texts += [f"suspicious: {suspicion}" for suspicion in self.suspicions]
        notes = [element("p", text, style="margin:.3em 0") for text in texts]
        return "".join([notebook_table(repr(self), header, rows, 0), *notes])

    def _tables(self) -> dict[str, dict[str, Any]]:
        """The sections of the origin that describe tables, each with its roles."""
        tables = self.origin.get("tables")
        sections = tables.items() if isinstance(tables, Mapping) else ()
        return {str(name): {"roles": {}, **section} for name, section in sections}

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        # A database never changes and may be large, and scikit-learn's clone copies every parameter.
        return self

    def __reduce__(self) -> tuple[object, ...]:
        if self.tables is not None:
            raise EngineError(
                f"a database whose facts stay in {self.tables.engine} cannot be pickled, because it holds a "
                "connection; load it again where it is needed, or pickle the estimator with database=None."
            )
        # Read-only views of dictionaries cannot be pickled; the dictionaries can.
        mappings = (dict(self.populations), dict(self.relations), dict(self.example_sets))
        others = (self.notices, dict(self.origin), dict(self.numbers), dict(self.times))
        shown = {name: dict(names) for name, names in self.display_names.items()}
        return Database, (
            self.schema,
            self.modes,
            *mappings,
            *others,
            None,
            self.rule,
            shown,
            self.suspicions,
            dict(self.declared),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the temporary tables and close the connection, if the facts stay in tables."""
        if self.tables is not None:
            self.tables.close()

    # --- facts -----------------------------------------------------------------------------------

    @property
    def is_in_place(self) -> bool:
        """Whether the facts stay in their tables; otherwise they are in memory."""
        return self.tables is not None

    @cached_property
    def facts(self) -> FactsInMemory | FactsInPlace:
        """The store that answers questions about the facts."""
        if self.tables is not None:
            return self.tables
        return FactsInMemory(self.schema, self.populations, self.relations, self.numbers, self.times)

    def relation(self, predicate: str) -> Relation:
        """The facts of a predicate of the schema, in memory; one without facts is an empty relation."""
        return self._facts_in_memory().relation(predicate)

    def _facts_in_memory(self) -> FactsInMemory:
        if isinstance(self.facts, FactsInMemory):
            return self.facts
        raise EngineError(
            f'the facts stay in their tables, and only engine="{self.facts.engine}" can count them there; '
            "load the data without engine= to have the facts in memory."
        )

    def n_facts(self, predicate: str) -> int:
        """The number of facts of a predicate of the schema."""
        return self.facts.n_facts(predicate)

    def has_facts(self, predicate: str) -> bool:
        """Whether a predicate of the schema has any fact."""
        return self.facts.n_facts(predicate) > 0

    @cached_property
    def constants(self) -> Constants:
        """For each ``#`` argument of a mode, the constants that occur there, sorted."""
        constants = {
            (mode.predicate, position): self.facts.constants_at(mode.predicate, position)
            for mode in self.modes
            for position, arg in enumerate(mode.args)
            if arg.kind is Kind.CONSTANT
        }
        return MappingProxyType(constants)

    def frequent(self, predicate: str, position: int, least: int, until: float = np.inf) -> tuple[str, ...]:
        """The constants that occur at an argument in ``least`` facts or more, sorted.

        Facts after the time ``until`` are left out.
        """
        return self.facts.frequent_at(predicate, position, least, until)

    def thresholds(self, target: str, number: int, until: float = np.inf) -> Thresholds:
        """For each numeric argument of a mode or of the target, at most ``number`` quantiles of its values.

        The thresholds of an argument do not depend on the body. Facts after the time ``until`` are left
        out.
        """
        thresholds: dict[tuple[str, int], tuple[Value, ...]] = {}
        examples = self.example_sets.get(target)
        predicates = [mode.predicate for mode in self.modes] + ([] if examples is None else [target])
        for predicate in dict.fromkeys(predicates):
            for position, type_name in enumerate(self.schema.types_of(predicate)):
                kind = self.schema.numeric.get(type_name)
                if kind is None or not number:
                    continue
                if predicate == target and examples is not None:
                    values = self.facts.values_of(type_name, examples.keys[:, position])
                    cuts = quantiles(values, number, kind)
                else:
                    cuts = self.facts.thresholds_at(predicate, position, number, until)
                if cuts:
                    thresholds[predicate, position] = cuts
        return MappingProxyType(thresholds)

    def population(self, type_name: str) -> Population:
        """The constants of a type; a type that the data do not have is empty."""
        return self.populations.get(type_name, _NOBODY)

    # --- targets and examples --------------------------------------------------------------------

    def target_named(self, name: str | None) -> str:
        """The target with this name, ignoring case.

        If ``name`` is None: the only target that has examples, or the new one that was named when tables
        were loaded. A target from tables may also be given as it was named then: ``users.gender=F``.
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
            targets = ", ".join(sorted(self.example_sets))
            raise DataError(f"the data have examples of several targets ({targets}); name one of them.")
        new = [predicate for predicate in self.schema.predicates if predicate not in self.facts.predicates()]
        if len(new) != 1 or (name is None and "target" not in self.origin):
            raise DataError(self._no_examples())
        return new[0]

    def _no_examples(self) -> str:
        if "target" in self.origin:
            return (
                f'the target "{self.origin["target"]}" is new, so the tables have no examples of it; pass '
                "examples (--examples FILE) with keys and a label."
            )
        if "tables" in self.origin:
            return "name a target: a column of a table (table.column or table.column=value) or a link table."
        return "the data have no examples; name a target that has some."

    def examples_of(self, target: str) -> Examples:
        """The examples of a target; if it has none, the error lists the targets that have some."""
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

        They are in the order of the table or file. Labels are 0 and 1, numbers, or the classes as text;
        examples without a label are left out. The target need not be given if only one has examples. If the
        examples have cut-offs and the facts have times, the keys have one more column, the cut-offs.
        """
        examples = self.examples_of(self.target_named(None) if target is None else target).labelled()
        examples = examples.as_given()
        labels = examples.labels
        names = self.names_of(examples.target, examples.keys)
        if examples.cutoffs is not None and self.has_times:
            texts = [text or "inf" for text in self.cutoff_texts(examples.cutoffs)]
            names = np.column_stack([names, np.array(texts, dtype=object)])
        if examples.values is not None:
            return names, examples.values
        if examples.classes:
            return names, np.array(examples.classes)[labels]
        return names, labels

    def names_of(self, target: str, keys: Codes) -> npt.NDArray[np.object_]:
        """The names of keys of a target, given as rows of codes."""
        types = self.schema.types_of(target)
        names = np.empty((len(keys), len(types)), dtype=object)
        for column, type_name in enumerate(types):
            names[:, column] = self.population(type_name).decode(keys[:, column])
        return names

    def encode_keys(self, target: str, names: npt.NDArray[np.object_]) -> Codes:
        """The codes of keys of a target, given as rows of names; ``UNKNOWN`` for names not in the data.

        If the facts have times, the names may have one more column: cut-offs.
        """
        types = self.schema.types_of(target)
        more = 1 if self.has_times and names.ndim == 2 and names.shape[1] == len(types) + 1 else 0
        if names.ndim != 2 or names.shape[1] != len(types) + more:
            raise DataError(
                f"X has {names.shape[1] if names.ndim == 2 else names.ndim} columns, but "
                f'"{target}" takes {len(types)}: one column per argument ({", ".join(types)}).'
            )
        codes = np.empty((len(names), len(types)), dtype=np.int32)
        for column, type_name in enumerate(types):
            codes[:, column] = self.population(type_name).encode(names[:, column].tolist())
        if more:
            codes = np.column_stack([codes, self.cutoff_codes(read_times(names[:, -1].tolist()))])
        elif self.has_times and self.rule.is_frozen:
            codes = np.column_stack([codes, self.cutoff_codes(np.full(len(codes), np.inf))])
        return codes

    # --- times -----------------------------------------------------------------------------------

    @property
    def has_times(self) -> bool:
        """Whether some predicate has facts with times, so that cut-offs matter."""
        return bool(self.facts.timed())

    @property
    def moments(self) -> Floats:
        """The distinct times of the facts in memory, sorted."""
        return self._facts_in_memory().moments

    def under_rule(self, rule: CutoffRule) -> Database:
        """The database under another rule of which facts exist at a cut-off."""
        if rule == self.rule:
            return self
        example_sets = {}
        for target, examples in self.example_sets.items():
            plain = replace(examples, keys=examples.keys[:, : self.schema.arity(target)])
            example_sets[target] = with_cutoff_codes(plain, self.facts, rule)
        return replace(self, rule=rule, example_sets=example_sets)

    def cutoff_codes(self, cutoffs: Floats) -> Codes:
        """The columns of codes that cut-offs have in keys."""
        return self.facts.cutoff_codes(self.rule.last_times(cutoffs))

    def cutoffs_of(self, target: str, keys: Codes) -> Floats | None:
        """The last time that a fact may have to exist for each row of keys, or an earlier time at which
        the same facts exist.

        None if the keys have no cut-offs.
        """
        arity = self.schema.arity(target)
        if keys.shape[1] == arity or not self.has_times:
            return None
        return self.facts.cutoffs_of(keys[:, arity:])

    def last_times_of(self, target: str, keys: Codes) -> Floats | None:
        """The last time that a fact may have to exist for each row of keys; None without cut-offs."""
        arity = self.schema.arity(target)
        if keys.shape[1] == arity or not self.has_times:
            return None
        return self.facts.last_times_of(keys[:, arity:])

    def real_cutoffs_of(self, target: str, keys: Codes) -> Floats | None:
        """The cut-off of each row of keys; None without cut-offs."""
        last = self.last_times_of(target, keys)
        return None if last is None else self.rule.cutoffs(last)

    def cutoff_texts(self, cutoffs: Floats) -> list[str]:
        """Cut-offs as text: numbers or dates; empty for an example that sees every fact."""
        kind = str(self.origin.get("times", "number"))
        return [
            format_value(value_of(cutoff, kind)) if np.isfinite(cutoff) else "" for cutoff in cutoffs.tolist()
        ]

    def last_cutoff(self, target: str, keys: Codes) -> float:
        """The last time that a fact may have to exist for any of some keys."""
        cutoffs = self.cutoffs_of(target, keys)
        return np.inf if cutoffs is None else float(cutoffs.max(initial=-np.inf))
