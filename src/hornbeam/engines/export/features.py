"""SQL for the features of counts, and for the weights of constants."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from hornbeam.engines.export.user_values import UserValues
from hornbeam.engines.sql.expressions import Dialect, integer, own_column, real

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
