"""What of counts is weighed, in SQL: their readings, and for weights of constants a table of weights.

``female(A) :- rated(A,B).`` with a weight for each film B is one join, however many films there are: its
groundings are counted for each example and each B, and joined with the weights.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from hornbeam.engines.sql.expressions import Dialect, integer, own_column, own_table, real
from hornbeam.engines.sql.plan import HeadBindings, Root, Shape, SqlMessage
from hornbeam.logic.clauses import Atom, Clause, Comparison, literal_variables


def double(value: exp.Expr) -> exp.Expr:
    """A number as DOUBLE."""
    return exp.cast(value, "DOUBLE")


def read(count: exp.Expr, reading: str) -> exp.Expr:
    """What a reading makes of a count."""
    if reading.startswith("at least "):
        reached = exp.GTE(this=count, expression=integer(int(reading.removeprefix("at least "))))
        return exp.Case(ifs=[exp.If(this=reached, true=real(1.0))], default=real(0.0))
    return _logarithm(count) if reading == "log" else count


def share(true: exp.Expr, false: exp.Expr) -> exp.Expr:
    """The part of both counts that is true; 0 where there are none."""
    both = exp.Add(this=true.copy(), expression=false)
    some = exp.GT(this=both.copy(), expression=real(0.0))
    part = exp.Div(this=true, expression=exp.Paren(this=both), typed=False, safe=False)
    return exp.Case(ifs=[exp.If(this=some, true=part)], default=real(0.0))


def _logarithm(count: exp.Expr) -> exp.Expr:
    """ln(1 + count); a count below 0, as other data than those of training may have, is read as 0."""
    least = exp.Case(
        ifs=[exp.If(this=exp.LT(this=count.copy(), expression=real(0.0)), true=real(0.0))],
        default=count,
    )
    return exp.Ln(this=exp.Add(this=real(1.0), expression=least))


def is_join(clause: Clause) -> bool:
    """Whether the groundings of a body are the rows of its atoms joined with the keys of examples.

    Each atom must share a variable with the head or the atoms before it, in some order: what hangs on
    nothing would multiply the rows.

    >>> from hornbeam.logic.parse import parse_clause
    >>> is_join(parse_clause("female(A) :- rated(A,B), genre(B,C)."))
    True
    >>> is_join(parse_clause("female(A) :- rated(A,B), not genre(B,C)."))
    False
    >>> is_join(parse_clause("female(A) :- rated(A,B), genre(C,D)."))
    False
    """
    atoms = _linked(clause)
    listed = {variable for atom in atoms for variable in literal_variables(atom)}
    compared = {literal.variable for literal in clause.body if isinstance(literal, Comparison)}
    return (
        len(atoms) == sum(not isinstance(literal, Comparison) for literal in clause.body)
        and {*clause.free_variables(), *compared} <= listed
    )


def join_of(clause: Clause, each: int, timed: frozenset[str]) -> tuple[SqlMessage, int]:
    """The join of a body (see ``is_join``) with the keys of examples, and the number of ``each`` there."""
    arity = len(clause.head.args)
    atoms = _linked(clause)
    used = {variable for atom in atoms for variable in literal_variables(atom)}
    head = sorted(used & set(range(arity)))
    has_times = any(atom.predicate in timed for atom in atoms)
    # The cut-off of an example stands after its keys, where a clause has its first free variable.
    bindings = HeadBindings((*head, arity) if has_times else tuple(head))
    anchors = len(bindings.head)
    names = {variable: number for number, variable in enumerate(head)}
    names |= {variable: number for number, variable in enumerate(sorted(used - set(head)), start=anchors)}
    roots = tuple(
        Root(
            atom.predicate,
            tuple(names[term] if isinstance(term, int) else None for term in atom.args),
            anchors - 1 if atom.predicate in timed else None,
        )
        for atom in atoms
    )
    constants = tuple(term for atom in atoms for term in atom.args if isinstance(term, str))
    comparisons = tuple(
        literal._replace(variable=names[literal.variable])
        for literal in clause.body
        if isinstance(literal, Comparison)
    )
    return SqlMessage(Shape(anchors, bindings, roots), constants, (), comparisons), names[each]


def _linked(clause: Clause) -> list[Atom]:
    """The atoms that hang on the head, each after one that it shares a variable with."""
    rest = [literal for literal in clause.body if isinstance(literal, Atom)]
    bound, ordered = set(clause.head.args), []
    while found := next((atom for atom in rest if bound & set(literal_variables(atom))), None):
        rest.remove(found)
        ordered.append(found)
        bound |= set(literal_variables(found))
    return ordered


def weights_query(constants: Sequence[tuple[str, float]], dialect: Dialect) -> exp.Select:
    """A table of constants and their weights."""
    rows = [exp.Tuple(expressions=[exp.Literal.string(name), real(weight)]) for name, weight in constants]
    names = ["constant", "weight"]
    # SQLite has its own names for the columns of VALUES, and takes no others.
    given = ["column1", "column2"] if dialect.name == "sqlite" else names
    columns = None if given != names else [exp.to_identifier(name) for name in names]
    table = exp.Values(expressions=rows, alias=exp.TableAlias(this=exp.to_identifier("w"), columns=columns))
    named = [exp.alias_(own_column(old, "w"), new) for old, new in zip(given, names, strict=True)]
    return exp.select(*named).from_(table)


def sums_query(counts: exp.Select, keys: int, weights: str, reading: str) -> exp.Select:
    """``total`` for each of the keys: the weights of constants, each times what is read of its count.

    ``counts`` is a query of ``groundings_query``.
    """
    head = [own_column(f"k{number}", "c") for number in range(keys)]
    count = read(double(own_column("n0", "c")), reading)
    weighed = exp.Mul(this=double(own_column("weight", "w")), expression=count)
    same = exp.EQ(this=own_column("constant", "c"), expression=own_column("constant", "w"))
    return (
        exp.select(*head, exp.alias_(exp.Sum(this=weighed), "total"))
        .from_(counts.subquery("c"))
        .join(own_table(weights, "w"), on=same, join_type="INNER")
        .group_by(*(key.copy() for key in head))
    )
