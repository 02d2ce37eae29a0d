"""Classes that were learned together, in the scoring query: a column for each effect and class."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import sqlglot
from sqlglot import exp

from hornbeam.engines.export.clauses import ScoredClause
from hornbeam.engines.export.effects import adds_nothing, level_of
from hornbeam.engines.export.features import double, total_of
from hornbeam.engines.export.user_tables import FreeNames, NamedQuery
from hornbeam.engines.sql.expressions import own_column, real
from hornbeam.logic.effects import Effect


class ClassScore(NamedTuple):
    """What adds up to the score of one class; the effects of all classes differ in their levels only."""

    name: str
    prior: float
    clauses: Sequence[ScoredClause]
    effects: Sequence[Effect]


def column_words(classes: Sequence[str]) -> list[str]:
    """A word for each class, by which its columns are named: letters, digits and underscores, each word once.

    >>> column_words(["North", "north", "São Paulo", "1", "?"])
    ['north', 'north_2', 's_o_paulo', '1', 'class_5']
    """
    words: list[str] = []
    for number, name in enumerate(classes, start=1):
        word = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:40] or f"class_{number}"
        while word in words:
            word = f"{word}_{number}"
        words.append(word)
    return words


def moving(classes: Sequence[ClassScore]) -> dict[int, Effect]:
    """The effects that add something to the score of a class, by number."""
    rows = zip(*(each.effects for each in classes), strict=True)
    return {
        number: row[0]
        for number, row in enumerate(rows, start=1)
        if not all(adds_nothing(effect.curve) for effect in row)
    }


class ClassQueries:
    """The queries from the values of effects to the score of each class and the sum of all exponentials."""

    def __init__(
        self,
        classes: Sequence[ClassScore],
        effects: Sequence[int],
        sums: Sequence[Sequence[exp.Expr]],
        probability: str,
    ) -> None:
        """``sums`` has for each class what its clauses add; ``effects`` are the numbers that move it.

        ``probability`` is a probability in SQL, of the columns score, top_score and total_power.
        """
        self._classes, self._effects, self._sums, self._probability = classes, effects, sums, probability
        self.words = column_words([each.name for each in classes])

    def queries(self, values: str, names: FreeNames) -> list[NamedQuery]:
        """Each reads the one before; the first reads the values of effects."""
        found: list[NamedQuery] = []

        def add(name: str, columns: Sequence[tuple[exp.Expr, str]]) -> None:
            named = [exp.alias_(value, alias) for value, alias in columns]
            source = found[-1].name if found else values
            found.append(NamedQuery(names.take(name), exp.select(exp.Star(), *named).from_(source)))

        if self._effects:
            add("class_levels", [*self._levels()])
        add("class_scores", [*self._scores()])
        scores = [own_column(f"score_{word}") for word in self.words]
        add("class_tops", [(exp.Greatest(this=scores[0], expressions=scores[1:]), "top_score")])
        add("class_totals", [(total_of([self._power(word) for word in self.words]), "total_power")])
        return found

    def columns(self) -> list[exp.Expr]:
        """What the query returns: what each effect adds to each class, the scores, the probabilities."""
        columns: list[exp.Expr] = [own_column(alias) for _, alias in self._levels()]
        columns += [own_column(f"score_{word}") for word in self.words]
        for word in self.words:
            parsed = sqlglot.parse_one(self._probability)
            for each in [*parsed.find_all(exp.Column)]:
                each.replace(own_column(f"score_{word}" if each.name == "score" else each.name))
            columns.append(exp.alias_(parsed, f"probability_{word}"))
        return columns

    def _levels(self) -> list[tuple[exp.Expr, str]]:
        return [
            (level_of(own_column(f"value_{number}"), each.effects[number - 1].curve), f"adds_{number}_{word}")
            for number in self._effects
            for word, each in zip(self.words, self._classes, strict=True)
        ]

    def _scores(self) -> list[tuple[exp.Expr, str]]:
        found: list[tuple[exp.Expr, str]] = []
        for word, each, sums in zip(self.words, self._classes, self._sums, strict=True):
            added = [own_column(f"adds_{number}_{word}") for number in self._effects]
            found.append((double(total_of([real(each.prior), *sums, *added])), f"score_{word}"))
        return found

    def _power(self, word: str) -> exp.Expr:
        above = exp.Sub(this=own_column(f"score_{word}"), expression=own_column("top_score"))
        return exp.Exp(this=above)
