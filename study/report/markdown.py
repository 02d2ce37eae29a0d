"""Markdown tables and numbers as text."""

from __future__ import annotations

from collections.abc import Sequence

from study.statistics import Summary

NOTHING = "-"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; columns after the first are right-aligned.

    >>> print(table(["data", "AUC"], [["IMDB", ".99"]]))
    | data | AUC |
    |---|---:|
    | IMDB | .99 |
    """
    rule = "|---|" + "---:|" * (len(header) - 1)
    return "\n".join([_row(header), rule, *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def score_text(value: float | None) -> str:
    """An AUC to three digits.

    >>> score_text(0.91249), score_text(1.0), score_text(None)
    ('.912', '1.000', '-')
    """
    if value is None:
        return NOTHING
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text.replace("-0.", "-.")


def spread_text(summary: Summary | None) -> str:
    """Mean and standard deviation over folds.

    >>> spread_text(Summary(0.91249, 0.0123, 5)), spread_text(None)
    ('.912 ± .012', '-')
    """
    if summary is None:
        return NOTHING
    mean = score_text(summary.mean)
    return mean if summary.deviation is None else f"{mean} ± {score_text(summary.deviation)}"


def bar_text(value: float | None) -> str:
    """A published bar, read to two digits.

    >>> bar_text(0.9), bar_text(None)
    ('.90', '-')
    """
    return NOTHING if value is None else f"{value:.2f}".removeprefix("0")


def signed_text(value: float) -> str:
    """A difference with its sign; no sign if it is zero to three digits.

    >>> signed_text(0.0312), signed_text(-0.2), signed_text(-0.0001)
    ('+.031', '-.200', '.000')
    """
    shown = score_text(abs(value))
    return shown if shown == ".000" else ("-" if value < 0 else "+") + shown


def seconds_text(value: float | None) -> str:
    """Seconds to three digits at most.

    >>> seconds_text(0.0123), seconds_text(12.345), seconds_text(158.02), seconds_text(None)
    ('0.012', '12.3', '158', '-')
    """
    if value is None:
        return NOTHING
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:.3g}"


def probability_text(p: float) -> str:
    """A p-value.

    >>> probability_text(0.00001), probability_text(0.0421), probability_text(1.0)
    ('<.001', '.042', '1.000')
    """
    return "<.001" if p < 0.001 else score_text(p)


def listed(names: Sequence[str]) -> str:
    """Names joined by commas and "and".

    >>> listed(["IMDB"]), listed(["IMDB", "WebKB", "UW-CSE"]), listed([])
    ('IMDB', 'IMDB, WebKB and UW-CSE', 'none')
    """
    if not names:
        return "none"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
