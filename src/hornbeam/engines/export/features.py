"""SQL for the features of counts, and for clauses that have a weight for each constant.

``female(A) :- rated(A,B).`` with a weight for each film B is one join, however many films there are: its
groundings are counted for each example and each B, and joined with the weights.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from hornbeam.engines.export.clause_plan import HeadBindings, Root, Shape, SqlMessage
from hornbeam.engines.export.user_values import UserValues
from hornbeam.engines.sql.expressions import Dialect, integer, own_column, own_table, real
from hornbeam.logic.clauses import Atom, Clause, Comparison, literal_variables

AT_ONCE = 20
"""Number of terms added in one pair of parentheses, so that no expression is nested too deeply."""


def double(value: exp.Expr) -> exp.Expr:
    """A number as DOUBLE."""
    return exp.cast(value, "DOUBLE")


def feature_value(count: exp.Expr, feature: str, bound: int | None) -> exp.Expr:
    """The value of a feature for a count: the count, its logarithm, or whether it reaches a bound."""
    if bound is not None:
        reached = exp.GTE(this=count, expression=integer(bound))
        return exp.Case(ifs=[exp.If(this=reached, true=real(1.0))], default=real(0.0))
    return _logarithm(count) if feature == "log" else count


def share(true: exp.Expr, false: exp.Expr) -> exp.Expr:
    """The true count divided by the sum of both counts; 0 if that sum is 0."""
    both = exp.Add(this=true.copy(), expression=false)
    positive = exp.GT(this=both.copy(), expression=real(0.0))
    quotient = exp.Div(this=true, expression=exp.Paren(this=both), typed=False, safe=False)
    return exp.Case(ifs=[exp.If(this=positive, true=quotient)], default=real(0.0))


def _logarithm(count: exp.Expr) -> exp.Expr:
    """ln(1 + count). A count may be negative on data other than the training data; it is replaced by 0."""
    least = exp.Case(
        ifs=[exp.If(this=exp.LT(this=count.copy(), expression=real(0.0)), true=real(0.0))],
        default=count,
    )
    return exp.Ln(this=exp.Add(this=real(1.0), expression=least))


def weighted_sum(bias: float, terms: Sequence[tuple[float, exp.Expr]]) -> exp.Expr:
    """``((bias + w1 * t) + w2 * f)`` in parentheses, without the terms whose weight is 0."""
    parts = [exp.Mul(this=real(weight), expression=value) for weight, value in terms if weight]
    return exp.Paren(this=_added([*([real(bias)] if bias or not parts else []), *parts]))


def total_of(terms: Sequence[exp.Expr]) -> exp.Expr:
    """The sum of terms from left to right, in groups if there are many."""
    while len(terms) > AT_ONCE:
        groups = [terms[start : start + AT_ONCE] for start in range(0, len(terms), AT_ONCE)]
        terms = [exp.Paren(this=_added(group)) for group in groups]
    return _added(terms)


def _added(terms: Sequence[exp.Expr]) -> exp.Expr:
    first, *others = terms
    for term in others:
        first = exp.Add(this=first, expression=term)
    return first


def is_join(clause: Clause) -> bool:
    """Whether the groundings of a body are the rows of its atoms joined with the keys of examples.

    In some order each atom must share a variable with the head or an atom before it; an atom without
    such a link would multiply the rows.

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
    """The join of a body (see ``is_join``) with the keys of examples, and the number of ``each`` in it."""
    arity = len(clause.head.args)
    atoms = _linked(clause)
    used = {variable for atom in atoms for variable in literal_variables(atom)}
    head = sorted(used & set(range(arity)))
    has_times = any(atom.predicate in timed for atom in atoms)
    # The cut-off is the column after the keys. Its number equals that of the first free variable.
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
    """The atoms linked to the head, each after one that it shares a variable with."""
    remaining = [literal for literal in clause.body if isinstance(literal, Atom)]
    bound, ordered = set(clause.head.args), []
    while linked := next((atom for atom in remaining if bound & set(literal_variables(atom))), None):
        remaining.remove(linked)
        ordered.append(linked)
        bound |= set(literal_variables(linked))
    return ordered


def weights_query(constants: Sequence[tuple[str, float]], dialect: Dialect, values: UserValues) -> exp.Select:
    """A table of constants, by their keys, and their weights."""
    weights = dict(constants)
    rows = [exp.Tuple(expressions=[key, real(weights[name])]) for name, key in values.keys_of(weights)]
    names = ["constant", "weight"]
    # SQLite names the columns of VALUES itself and does not allow other names.
    given = ["column1", "column2"] if dialect.name == "sqlite" else names
    columns = None if given != names else [exp.to_identifier(name) for name in names]
    table = exp.Values(expressions=rows, alias=exp.TableAlias(this=exp.to_identifier("w"), columns=columns))
    named = [exp.alias_(own_column(old, "w"), new) for old, new in zip(given, names, strict=True)]
    return exp.select(*named).from_(table)


def sums_query(counts: exp.Select, keys: int, weights: str, feature: str, bound: int | None) -> exp.Select:
    """The ``total`` for each key: the sum of the constants' weights times the features of their counts.

    ``counts`` is a query made by ``groundings_query``.
    """
    head = [own_column(f"k{number}", "c") for number in range(keys)]
    value = feature_value(double(own_column("n0", "c")), feature, bound)
    weighted = exp.Mul(this=double(own_column("weight", "w")), expression=value)
    same = exp.EQ(this=own_column("constant", "c"), expression=own_column("constant", "w"))
    return (
        exp.select(*head, exp.alias_(exp.Sum(this=weighted), "total"))
        .from_(counts.subquery("c"))
        .join(own_table(weights, "w"), on=same, join_type="INNER")
        .group_by(*(key.copy() for key in head))
    )
