"""Weighted clauses, and the probabilities that a model made of them and of effects predicts.

A model is data: a prior, weighted clauses, effects, and the schema it was learned under. Predicates and
constants appear by name. Nothing here knows how a model is learned.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from hornbeam.data.database import Codes
from hornbeam.data.numbers import CutoffRule
from hornbeam.engines.contract import Engine
from hornbeam.errors import LimitError, ModelError, plural
from hornbeam.logic.clauses import atoms_of
from hornbeam.logic.effects import predicates_in
from hornbeam.logic.schema import Schema
from hornbeam.model.effects import (
    SHOWN_EFFECTS,
    FittedEffect,
    by_importance,
    effects_frame,
    levels_of,
    mean_level,
    merged,
    values_of,
)
from hornbeam.model.features import WeightedClause, bound_of, false_counts
from hornbeam.model.scales import LOGISTIC, SCALES, Floats, Scale, shares, softmax
from hornbeam.model.training import Training

if TYPE_CHECKING:
    import pandas

    from hornbeam.engines.clauses.contract import Counts
    from hornbeam.engines.export.clauses import ScoredClause
    from hornbeam.engines.export.scoring import ScoringModel
    from hornbeam.engines.export.user_tables import Table
    from hornbeam.engines.sql.expressions import SqlTable
    from hornbeam.logic.english.wording import Wording
    from hornbeam.model.editing.edits import Edit
    from hornbeam.model.readable.cards import Readers

__all__ = ["Floats", "Model", "WeightedClause", "false_counts"]

_SHOWN_CLASS = "shown class"
"""The setting that names a class, in copies of a model that are shown to people."""


@dataclass(frozen=True)
class Model:
    """The prior, the weighted clauses and the effects of a target.

    ``P = sigmoid(prior + sum of contributions)``. What an effect adds is the level of its curve. A model of
    a numeric target predicts what the sum stands for on the ``scale`` of its loss.
    """

    target: str
    schema: Schema
    prior: float
    clauses: tuple[WeightedClause, ...]
    settings: Mapping[str, object] = field(default_factory=dict)
    learner: str = "rlr"
    effects: tuple[FittedEffect, ...] = ()
    training: Training | None = None
    loss: str = LOGISTIC
    """what was minimised"""
    edits: tuple[Edit, ...] = ()
    """what a person changed in it, in order"""
    others: tuple[Model, ...] = field(default=(), compare=False, repr=False)
    """for one of several classes that were learned together, the models of the others"""

    def __repr__(self) -> str:
        return f"Model({self.target}, {self.size_text}, prior {self.prior:.4g})"

    def __str__(self) -> str:
        strongest = by_importance(self.effects)[:SHOWN_EFFECTS]
        edited = [f"edited: {edit}" for edit in self.edits]
        lines = [f"prior {self.prior:.6g}", *edited, *map(str, self.clauses), *map(str, strongest)]
        more = len(self.effects) - SHOWN_EFFECTS
        return "\n".join([*lines, f"and {plural(more, 'more effect')}"] if more > 0 else lines)

    def to_frame(self) -> pandas.DataFrame:
        """The effects as a data frame with a row for each, the most important first."""
        return effects_frame(self.effects, self.schema, self.dated, self.wording)

    @property
    def wording(self) -> Wording:
        """The user's words for the target and its data."""
        from hornbeam.logic.english.wording import wording_of

        names = cast("Mapping[str, Mapping[str, str]]", self.settings.get("names", {}))
        of_class = str(self.settings.get(_SHOWN_CLASS, ""))
        scale = self.scale
        about = self.target, self.schema, self.settings, of_class, names
        return wording_of(*about, scale.numeric, scale.unit)

    def shown_for(self, of_class: str) -> Model:
        """The model with words for one class, if it is one of several models; only for people to read."""
        return replace(self, settings={**self.settings, _SHOWN_CLASS: of_class})

    @property
    def readers(self) -> Readers:
        """What cards of effects need to know about the model."""
        from hornbeam.model.readable.cards import Readers

        is_score = self.is_numeric or self.scale.of_class
        average = self.settings.get("average_score" if is_score else "average_log_odds")
        known = float(average) if isinstance(average, int | float) else None
        return Readers(self.schema, self.dated, self.wording, known, self.scale)

    def words(self) -> str:
        """The model for people: the question, weights per constant, and each effect as a table."""
        from hornbeam.model.readable.cards import effects_text
        from hornbeam.model.readable.clauses import clauses_text

        readers = self.readers
        title = f"{self.size_text}, prior {self.prior:+.4g}"
        if readers.average is not None:
            what = "prediction for" if self.is_numeric else "probability of"
            average = readers.text_of(self.scale.of_score(readers.average))
            title += f"; {what} an average {readers.wording.example or 'pair'}: {average}"
        clauses = clauses_text(self.clauses, self.schema, readers.wording, self.scale)
        effects = effects_text(self.effects, readers)
        changes = [f"     {line}" for line in self.edit_lines()]
        edits = "\n".join(["Edited:", *changes]) if changes else ""
        return "\n\n".join(filter(None, [f"{readers.wording.question}\n{title}", edits, clauses, effects]))

    def edited(self, *edits: str | Edit, by: str = "") -> Model:
        """The model after some edits, which it keeps with the name of who made them.

        An edit is a text: ``off`` (the effect adds its mean to every example), ``flatten``, ``straighten``,
        ``rise``, ``fall`` (the nearest curve of that shape) or ``round``, then the number of the effect in
        ``words()``, its feature and clause, or ``all``: ``"rise 2"``, ``"round all to 0.1"``. Numbers are
        those of this model, before its first edit. The edits of another model may be given too.
        """
        from hornbeam.model.editing.edits import Editable, apply_edits, read_edits

        parts = Editable(self.prior, self.clauses, self.effects)
        read = read_edits(edits, parts, self.schema, by)
        if not read:
            return self
        prior, clauses, effects = apply_edits(read, parts)
        settings = {name: value for name, value in self.settings.items() if name != "held_out_loss"}
        if self.scale.of_class:
            settings.pop("average_score", None)
        for name in ("average_log_odds", "average_score"):
            if isinstance(average := settings.get(name), int | float):
                # Weights of a clause that is switched off have an unknown mean.
                del settings[name]
                if len(clauses) == len(self.clauses):
                    before, after = (math.fsum(map(mean_level, each)) for each in (self.effects, effects))
                    settings[name] = round(average + prior - self.prior + after - before, 6)
        made = (*self.edits, *read)
        return replace(self, prior=prior, clauses=clauses, effects=effects, settings=settings, edits=made)

    def edit_lines(self, wording: Wording | None = None) -> list[str]:
        """What was edited, a line for each edit."""
        from hornbeam.model.editing.edits import edit_words

        own = wording or self.wording
        return [edit_words(each, self.schema, self.dated, own) for each in self.edits]

    def weight_columns(self) -> tuple[int, ...]:
        """Which of the weights (bias, true, false) some clause uses; the others are zero everywhere."""
        from hornbeam.model.readable.clauses import weight_columns

        return weight_columns(self.clauses)

    def _repr_html_(self) -> str:
        from hornbeam.drawing.markup import signed_text
        from hornbeam.model.readable.cards import effects_html
        from hornbeam.model.readable.clauses import clauses_html, constants_cards

        title = f"{self.size_text} of {self.target}, prior {signed_text(self.prior)}"
        title += "".join(f"; {line}" for line in self.edit_lines())
        if not self.effects:
            return clauses_html(title, self.clauses, self.schema)
        readers = self.readers
        constants = constants_cards(self.clauses, self.schema, readers.wording, self.scale)
        others = [weighted for weighted in self.clauses if weighted.each is None]
        tables = [effects_html(f"{readers.wording.question} {title}", self.effects, readers)]
        tables = [*constants, *tables] if constants else tables
        return "".join([*tables, *([clauses_html("", others, self.schema)] if others else [])])

    @property
    def populations(self) -> str:
        """Where totals come from: the data being predicted (``database``), or the training data."""
        return "database" if self.settings.get("populations") == "database" else "training"

    @property
    def guarded(self) -> bool:
        """Whether a clause's false counts are counted inside its guard."""
        from hornbeam.logic.clauses import GUARDED

        return self.settings.get("false_counts") == GUARDED

    @property
    def dated(self) -> bool:
        """Whether times are dates, so that lengths of time are in days."""
        return self.settings.get("times") == "date"

    @property
    def size_text(self) -> str:
        effects = plural(len(self.effects), "effect")
        if not self.clauses and self.effects:
            return effects
        if self.effects and all(each.each is not None for each in self.clauses):
            return f"{effects} and {plural(len(self.clauses), 'list')} of weights"
        clauses = plural(len(self.clauses), "clause")
        return f"{clauses} and {effects}" if self.effects else clauses

    def predicates(self) -> tuple[str, ...]:
        """The predicates that the bodies use, sorted."""
        of_clauses = {atom.predicate for w in self.clauses for atom in atoms_of(w.clause.body)}
        return tuple(sorted(of_clauses.union(*(predicates_in(each.effect.body) for each in self.effects))))

    def counts(self, engine: Engine, keys: Codes) -> list[Counts]:
        """True counts and the total that the model uses, for each of its clauses.

        If a guard is too large to count and no weight multiplies the false count, the false count is unknown.
        """
        try:
            return self._counts(self.clauses, self.guarded, engine, keys)
        except LimitError:
            if not self.guarded:
                raise
        return [self._counts_of(weighted, engine, keys) for weighted in self.clauses]

    def _counts_of(self, weighted: WeightedClause, engine: Engine, keys: Codes) -> Counts:
        """Guarded counts of one clause; without false counts if only the guard is too large to count."""
        try:
            (counts,) = self._counts([weighted], True, engine, keys)
        except LimitError:
            if weighted.weighs_false:
                raise
            (counts,) = self._counts([weighted], False, engine, keys)
            return replace(counts, false_known=False)
        return counts

    def _counts(
        self, clauses: Sequence[WeightedClause], guarded: bool, engine: Engine, keys: Codes
    ) -> list[Counts]:
        """Counts of some clauses, with false counts inside their guards or in the population."""
        if not clauses:
            return []
        from hornbeam.engines.clauses.contract import Counts
        from hornbeam.engines.clauses.counters import counter_of
        from hornbeam.engines.clauses.counting.count import count_all
        from hornbeam.engines.clauses.counting.guarded import count_guarded

        counter, bodies = counter_of(engine), [weighted.clause for weighted in clauses]
        totals = None if self.populations == "database" else [weighted.total for weighted in clauses]
        if guarded:
            return count_guarded(counter, bodies, keys, totals)
        counted = count_all(counter, bodies, keys)
        if totals is None:
            return counted
        return [Counts(counts.true, total) for counts, total in zip(counted, totals, strict=True)]

    def scores(self, engine: Engine, keys: Codes) -> Floats:
        """The log-odds of each example: the prior, then clause by clause and effect by effect."""
        result = np.full(len(keys), self.prior, dtype=np.float64)
        for contribution in self.contributions(engine, keys):
            result += contribution
        return result

    def contributions(self, engine: Engine, keys: Codes) -> Iterator[Floats]:
        """What each clause, then each effect, adds to the log-odds of each example, in model order."""
        from hornbeam.model.groundings.constants import contribution_of_constants

        plain = [weighted for weighted in self.clauses if weighted.each is None]
        # A guard need not be counted if no weight multiplies the false count.
        within = [weighted for weighted in plain if self.guarded and weighted.weighs_false]
        others = [weighted for weighted in plain if weighted not in within]
        counted: dict[WeightedClause, Counts] = {}
        for some, guarded in ((within, True), (others, False)):
            counted |= dict(zip(some, self._counts(some, guarded, engine, keys), strict=True))
        for weighted in self.clauses:
            if weighted.each is None:
                counts = counted[weighted]
                yield weighted.contribution(counts.true, counts.totals)
            else:
                yield contribution_of_constants(weighted, engine, keys)
        effects = [fitted.effect for fitted in self.effects]
        for effect, values in zip(effects, values_of(engine, effects, keys), strict=True):
            yield levels_of(effect.curve, values)

    def probabilities(self, engine: Engine, keys: Codes) -> Floats:
        """P(y=1) of each example."""
        if self.is_numeric:
            raise ModelError(f'the model of "{self.target}" predicts numbers, not probabilities.')
        return self.predictions(engine, keys)

    @property
    def scale(self) -> Scale:
        """What scores stand for."""
        return SCALES[self.loss]

    @property
    def is_numeric(self) -> bool:
        """Whether the model predicts numbers."""
        return self.scale.numeric

    def predictions(self, engine: Engine, keys: Codes) -> Floats:
        """The prediction for each example: a probability, or a number on the target's scale."""
        from hornbeam.model.choices import choices_of

        if self.scale.of_class:
            return softmax(scores_of_all([self, *self.others], engine, keys))[:, 0]
        scores = self.scores(engine, keys)
        return (
            shares(scores, choices_of(self, engine, keys))
            if self.scale.of_choice
            else self.scale.link(scores)
        )

    def sql(
        self,
        dialect: str = "duckdb",
        tables: Mapping[str, Table] | None = None,
        examples: Table | None = None,
    ) -> str:
        """One SQL query that scores a table of examples inside the database.

        ``tables`` says which table holds the facts of a predicate, and which column holds each argument:
        ``{"friends": ("social.friends", ["who", "whom"])}``. Two more entries are optional: a flag column, if
        only rows with the flag are facts, and a time column, if a row is a fact from that time on, as in
        ``("visits", ["who", "shop"], None, "day")``. If the table's own name contains a dot, give the parts
        of the qualified name as a list. Other predicates are read from the tables that the model was learned
        from; if that was not from tables, from a table of the predicate's name with the columns
        ``arg1 arg2 ...``. ``examples`` describes the table of examples in the same way (default: the table
        of the target's column, or a table ``examples``); its time column holds the cut-offs. Facts at a
        cut-off count as they did for the model.
        """
        from hornbeam.engines.export.scoring import scoring_query

        facts, asked = self.places(tables, examples)
        return scoring_query(self.as_scored(), dialect, facts, asked)

    def places(
        self, tables: Mapping[str, Table] | None, examples: Table | None
    ) -> tuple[dict[str, SqlTable], SqlTable]:
        """The tables that the query reads: one for each predicate, and the table of examples."""
        from hornbeam.engines.sql.expressions import SqlTable
        from hornbeam.loading.tables.learned import examples_table, learned_tables

        learned, given = learned_tables(self.settings), dict(tables or {})
        if learned is not None:
            used = {*self.predicates()} | {each for each in [self._choice_in_sql()] if isinstance(each, str)}
            given = learned.places(sorted(used), self.schema.predicates, given) | given
        asked = examples or examples_table(self.settings, self.schema.arity(self.target))
        return {name: SqlTable.of(*each) for name, each in given.items()}, SqlTable.of(*asked)

    def as_scored(self) -> ScoringModel:
        """The model as the query computes it: each body once, with what it adds to the score."""
        from hornbeam.engines.export.scoring import Prediction, ScoringModel
        from hornbeam.loading.tables.learned import joined_columns

        compact = self.compact()
        return ScoringModel(
            self.target,
            self.schema,
            self.prior,
            [scored for weighted in compact.clauses for scored in compact._scored(weighted)],
            [fitted.effect for fitted in compact.effects],
            cast("str | None", self.settings.get("times")),
            CutoffRule.of_settings(self.settings).at_cutoff,
            Prediction(self.scale.prediction, self.scale.sql),
            self._choice_in_sql(),
            joined_columns(self.settings),
        )

    def _choice_in_sql(self) -> int | str | None:
        """The argument or the predicate that says which examples are one choice; None without choices."""
        from hornbeam.model.choices import SETTING, choice_place

        if not self.scale.of_choice:
            return None
        column = self.settings.get(SETTING)
        if column is None:
            raise ModelError(
                f'the model of "{self.target}" was learned with a list of choices; a query needs a column of '
                "them, so learn it with choice=COLUMN."
            )
        argument, predicate = choice_place(self.schema, self.target, self.settings, str(column))
        return predicate if argument is None else argument

    def _scored(self, weighted: WeightedClause) -> list[ScoredClause]:
        """A clause for SQL; weights of constants need one join if the body allows it, else a clause each."""
        from hornbeam.engines.export.clauses import ScoredClause, is_listed
        from hornbeam.logic.guards import guard_of

        is_one = bool(weighted.constants) and is_listed(weighted.clause, self.schema)
        return [
            ScoredClause(
                single.clause,
                single.weights,
                single.total if self.populations == "training" else None,
                single.feature,
                single.each,
                single.constants,
                guard_of(single.clause) if self.guarded and len(single.clause.body) > 1 else None,
                bound_of(single.feature),
            )
            for single in ([weighted] if is_one else weighted.by_constant())
        ]

    def compact(self) -> Model:
        """An equivalent model in which each body appears once: weights and curves of repeats are added.

        A clause keeps the position of its first occurrence. Predictions stay the same to 1e-12.
        """
        from hornbeam.logic.canonical import canonical

        groups: dict[WeightedClause, list[WeightedClause]] = {}
        for weighted in self.clauses:
            # Guards and weights of constants depend on the order of literals and variables.
            order_matters = weighted.each is not None or self.guarded
            clause = weighted.clause if order_matters else canonical(weighted.clause)
            unweighted = replace(weighted, clause=clause, weights=(0.0, 0.0, 0.0))
            groups.setdefault(unweighted, []).append(weighted)
        summed = tuple(
            replace(
                unweighted,
                weights=_summed([each.weights for each in members]),
                constants=tuple((name, weight * len(members)) for name, weight in unweighted.constants),
            )
            for unweighted, members in groups.items()
        )
        return replace(self, clauses=summed, effects=merged(self.effects))


def scores_of_all(models: Sequence[Model], engine: Engine, keys: Codes) -> Floats:
    """The scores of models that have the same effects but for their levels: a column for each model."""
    columns = [replace(model, effects=()).scores(engine, keys) for model in models]
    first = [fitted.effect for fitted in models[0].effects]
    for place, values in enumerate(values_of(engine, first, keys)):
        for column, model in zip(columns, models, strict=True):
            column += levels_of(model.effects[place].effect.curve, values)
    return np.column_stack(columns)


def _summed(weights: list[tuple[float, float, float]]) -> tuple[float, float, float]:
    w0, w1, w2 = (math.fsum(column) for column in zip(*weights, strict=True))
    return w0, w1, w2
