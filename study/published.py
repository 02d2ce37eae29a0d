"""Numbers of the paper: Ramanan et al., Structure Learning for Relational Logistic Regression, KR 2018.

AUCs are read off its figures, to about .01; seconds, ratios and numbers of rules are from its tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Bars(NamedTuple):
    """AUC-ROC and AUC-PR as read off the figures."""

    auc_roc: float
    auc_pr: float


class Published(NamedTuple):
    """What the paper reports for one data set."""

    bars: Mapping[str, Bars]
    """by the name of our method; ``paper`` is the paper's boosted RLR"""
    seconds: Mapping[str, float]
    neg_pos: float
    sensitivity: tuple[float, float, float, float]
    """AUC-PR of boosted RLR at each of ``LAMBDAS``"""
    n_features: int
    """aggregates that AGG-LR used"""
    n_rules: int
    """rules that the ILP learner produced"""
    rule: str
    """a rule that the paper prints, in our notation"""


LAMBDAS = (2.0, 2.5, 3.0, 3.5)
"""The lambdas for which the paper shows its result, as exponents of ten."""
_METHODS = ("agg-lr", "ilp-rlr", "mln-boost", "paper")


def _published(
    bars: str,
    seconds: tuple[float, float, float, float],
    neg_pos: float,
    sensitivity: tuple[float, float, float, float],
    n_features: int,
    n_rules: int,
    rule: str,
) -> Published:
    each = [Bars(*map(float, pair.split("/"))) for pair in bars.split()]
    return Published(
        MappingProxyType(dict(zip(_METHODS, each, strict=True))),
        MappingProxyType(dict(zip(_METHODS, seconds, strict=True))),
        neg_pos,
        sensitivity,
        n_features,
        n_rules,
        rule,
    )


PUBLISHED: Mapping[str, Published] = MappingProxyType(
    {
        "smokes": _published(
            ".64/.44 .70/.67 .80/.55 .81/.77",
            (35.18, 3.26, 120.73, 90.47),
            1.32,
            (0.68, 0.66, 0.77, 0.77),
            3,
            3,
            "cancer(A) :- friends(B,A), friends(B,C), smokes(C).",
        ),
        "imdb": _published(
            ".79/.81 .60/.65 .98/.84 .96/.90",
            (67.39, 158.02, 6.99, 10.95),
            13.426,
            (0.86, 0.86, 0.90, 0.89),
            5,
            6,
            "workedunder(A,B) :- director(B), actor(A), movie(C,A), movie(C,B).",
        ),
        "uwcse": _published(
            ".53/.71 .83/.88 .96/.92 .95/.89",
            (110.58, 65.06, 18.40, 24.71),
            539.629,
            (0.79, 0.80, 0.82, 0.89),
            8,
            16,
            "advisedby(A,B) :- hasposition(B,E), inphase(A,D), publication(C,A), publication(C,B).",
        ),
        "movielens": _published(
            ".48/.72 .62/.70 .57/.81 .64/.85",
            (91.27, 78.57, 6.66, 16.51),
            2.702,
            (0.81, 0.78, 0.85, 0.78),
            8,
            7,
            "female(A) :- rated(A,B), genre(B,g4).",
        ),
        "webkb": _published(
            ".65/.76 .73/.81 .67/.78 .99/.96",
            (51.73, 2.18, 5.68, 5.86),
            4.159,
            (0.96, 0.90, 0.77, 0.70),
            4,
            6,
            "faculty(A) :- courseprof(B,A), courseta(B,C).",
        ),
    }
)
