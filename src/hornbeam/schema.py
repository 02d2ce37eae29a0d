"""Which predicates exist, and the type of each argument."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hornbeam.clauses import Clause, atom_of, format_literal, variable_name
from hornbeam.errors import SchemaError, did_you_mean, plural


@dataclass(frozen=True, slots=True)
class Schema:
    """Argument types by predicate. Predicate and type names are lower case.

    >>> Schema({"friends": ("person", "person")}).arity("friends")
    2
    """

    predicates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def types_of(self, predicate: str) -> tuple[str, ...]:
        """The argument types of a predicate; an unknown one is an error that names what exists."""
        try:
            return self.predicates[predicate]
        except KeyError:
            hint = did_you_mean(predicate, self.predicates, "Predicates")
            raise SchemaError(f'no predicate "{predicate}". {hint}') from None

    def arity(self, predicate: str) -> int:
        return len(self.types_of(predicate))

    def types(self) -> tuple[str, ...]:
        """Every type, sorted."""
        return tuple(sorted({name for types in self.predicates.values() for name in types}))

    def variable_types(self, clause: Clause) -> dict[int, str]:
        """The type of each variable of a clause; refuses a wrong arity and a variable at two types."""
        found: dict[int, str] = {}
        for literal in (clause.head, *clause.body):
            atom = atom_of(literal)
            types = self.types_of(atom.predicate)
            if len(types) != len(atom.args):
                raise SchemaError(
                    f"{format_literal(atom)} has {plural(len(atom.args), 'argument')}, but "
                    f'"{atom.predicate}" takes {len(types)}: {atom.predicate}({",".join(types)}).'
                )
            for term, type_name in zip(atom.args, types, strict=True):
                if isinstance(term, int) and found.setdefault(term, type_name) != type_name:
                    raise SchemaError(
                        f"variable {variable_name(term)} is used as {found[term]} and as {type_name} "
                        f"in {format_literal(atom)}; use two variables."
                    )
        return found
