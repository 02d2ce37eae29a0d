"""Why a model predicts what it does for one example: what each clause and effect adds, and its groundings.

``explain`` is a generic function: a module that defines another kind of model registers its own version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import TYPE_CHECKING, Protocol

import numpy as np

from hornbeam.data.database import Codes, Database
from hornbeam.data.keys import Names
from hornbeam.drawing.frames import frame_of
from hornbeam.drawing.markup import MINUS, Markup, element, percent_text, signed_text
from hornbeam.drawing.notebook import bar_picture, notebook_table
from hornbeam.engines.contract import Engine
from hornbeam.errors import ModelError, plural
from hornbeam.logic.clauses import (
    Atom,
    Clause,
    Comparison,
    Literal,
    Not,
    Term,
    format_constant,
    variable_name,
)
from hornbeam.logic.english.nouns import capital, plain_name, plural_of
from hornbeam.logic.english.wording import wording_of
from hornbeam.model.clause_model import Model, WeightedClause
from hornbeam.model.features import COUNT, SHARE, bound_of
from hornbeam.model.files import LearnedModel, scale_of
from hornbeam.model.groundings.constants import counts_by_constant
from hornbeam.model.groundings.search import groundings
from hornbeam.model.readable.constants import noun_of_constants
from hornbeam.model.readable.reasons import EffectReason, effect_reasons
from hornbeam.model.readable.runner_up import RunnerUp, compared
from hornbeam.model.scales import LOG_ODDS, Floats, Integers, Scale, shares

if TYPE_CHECKING:
    import pandas

SHOWN = 5
"""Maximum number of true groundings that a reason lists."""
MOST_SHOWN = 20
"""Maximum number of explanations that a notebook shows."""
_PATIENCE = 500
"""Maximum number of choices in a search for groundings; only a body with a cycle can need more."""


class Reason(Protocol):
    """One part of a model (a clause, a tree, an aggregate) and what it adds to the log-odds of an example."""

    @property
    def contribution(self) -> float: ...
    def as_dict(self) -> dict[str, object]:
        """The reason as JSON values."""
        ...

    def because(self, key: tuple[str, ...]) -> str:
        """Why it adds that much, in words; ``key`` holds the names of the example."""
        ...


@dataclass(frozen=True, slots=True)
class ClauseReason:
    """What one clause adds to the log-odds of an example."""

    clause: Clause
    weights: tuple[float, float, float]
    true: int
    false: int | None
    """None if it is too large to count; allowed only if no weight multiplies it"""
    contribution: float
    variables: tuple[str, ...]
    """names of the free variables, as in the clause's text"""
    groundings: tuple[tuple[str, ...], ...]
    """values of the free variables for some of the true groundings"""
    feature: str = COUNT
    """the feature of the counts that the weights multiply"""
    each: str | None = None
    """the variable whose constants have weights of their own, if there is one"""
    constants: tuple[tuple[str, float], ...] = ()
    """the constants that add most, and what each of them adds"""
    display_names: Mapping[str, str] = field(default_factory=dict)
    """what people call some of these constants"""
    noun: tuple[str, str] = ("value", "")
    """what constants with weights of their own are, and through which predicates they are reached"""

    def as_dict(self) -> dict[str, object]:
        return {
            "clause": str(self.clause),
            "weights": list(self.weights),
            "true": self.true,
            "false": self.false,
            "contribution": self.contribution,
            "groundings": [dict(zip(self.variables, values, strict=True)) for values in self.groundings],
            "feature": self.feature,
        } | ({} if self.each is None else {"each": self.each, "constants": dict(self.constants)})

    def because(self, key: tuple[str, ...]) -> str:
        """``publication(C,ann), publication(C,bob) is true for 3 values of C: t1, t2, t3``."""
        body = about(self.clause.body, key)
        if not self.variables:
            return f"{body} is {'true' if self.true else 'false'}"
        number = f"{self.true:,}" if self.true else "no"
        text = f"{body} is true for {number} value{'s' * (self.true > 1)} of {', '.join(self.variables)}"
        if self.each is not None:
            noun, through = self.noun
            several = noun if self.true == 1 else plural_of(noun)
            added = ", ".join(
                f"{self.display_names.get(name, name)} {weight:+.3g}" for name, weight in self.constants
            )
            text = f"there {'is' if self.true == 1 else 'are'} {number} {several}"
            text += f" ({through})" if through else ""
            if len(self.constants) < self.true and added:
                return f"{text}, of which these add most: {added}"
            return f"{text}: {added}" if added else text
        if self.feature == SHARE:
            return f"{text}, out of {self.true + (self.false or 0):,} without the last condition"
        if bound_of(self.feature) is not None:
            text += f" ({self.feature})"
        if not self.groundings:
            return text
        single = len(self.variables) == 1
        values = [names[0] if single else f"({', '.join(names)})" for names in self.groundings]
        if len(values) < self.true:
            values.append("...")
        return f"{text}: {', '.join(values)}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The probability of one example, and the reasons for it, the strongest first.

    The prior plus the contributions of the reasons is the log-odds. For a numeric target, it is the
    prediction itself, or its logarithm (loss ``poisson``), and there is no probability.
    """

    target: str
    key: tuple[str, ...]
    prior: float
    log_odds: float
    probability: float
    """for a numeric target, the predicted number"""
    reasons: tuple[Reason, ...]
    title: str = ""
    """the example and what is predicted of it, in words: ``Customer c401: churned``"""
    scale: Scale = LOG_ODDS
    """what the score stands for"""
    runner_up: RunnerUp | None = None
    """for a choice, the best of the other alternatives"""
    alone: float | None = None
    """in a joint model, the probability from the facts of the example alone"""

    def of_class(self, name: str) -> Explanation:
        """The explanation with the class in its title, if it explains one of several classes."""
        return replace(self, title=f"{self.title} {name}")

    @property
    def heading(self) -> str:
        """The title with the probability or the prediction, in words."""
        title = self.title or str(Atom(self.target, self.key))
        if self.scale.numeric:
            return f"{title} {self.probability:.6g}"
        alone = "" if self.alone is None else f" (alone {percent_text(self.alone, 1)})"
        return f"{title} with probability {percent_text(self.probability, 1)}{alone}"

    @property
    def score_text(self) -> str:
        """The score that the contributions add up to; empty if it is the prediction itself."""
        return f", {self.scale.score} {self.log_odds:+.4g}" if self.scale.score else ""

    def as_dict(self) -> dict[str, object]:
        """The explanation as JSON values."""
        return {
            "target": self.target,
            "key": list(self.key),
            "prior": self.prior,
            **self._predicted(),
            "reasons": [reason.as_dict() for reason in self.reasons],
        } | ({} if self.runner_up is None else {"runner_up": self.runner_up.as_dict()})

    def _predicted(self) -> dict[str, object]:
        score = "log_odds" if self.scale is LOG_ODDS else "score"
        alone = {} if self.alone is None else {"alone": self.alone}
        return {score: self.log_odds, self.scale.prediction: self.probability, **alone}

    @property
    def others_text(self) -> str:
        """The number of reasons that add nothing, in words: ``2 other clauses``; empty if there are none."""
        zero = [reason for reason in self.reasons if not reason.contribution]
        effects = sum(isinstance(reason, EffectReason) for reason in zero)
        noun = "effect" if effects and effects == len(zero) else "part" if effects else "clause"
        return plural(len(zero), f"other {noun}") if zero else ""

    def to_frame(self) -> pandas.DataFrame:
        """The reasons as a data frame, the strongest first; the last row is the prior."""
        because = [reason.because(self.key) for reason in self.reasons]
        added = [reason.contribution for reason in self.reasons]
        return frame_of({"adds": [*added, self.prior], "because": [*because, "the prior"]})

    def __repr__(self) -> str:
        what = f"{self.scale.prediction} {self.probability:.4f}"
        return f"Explanation({Atom(self.target, self.key)}, {what})"

    def __str__(self) -> str:
        lines = [f"{self.heading}{self.score_text}"]
        lines += [
            f"  {reason.contribution:+.4g} because {reason.because(self.key)}"
            for reason in self.reasons
            if reason.contribution
        ]
        if self.others_text:
            lines.append(f"  +0 from {self.others_text}")
        lines.append(f"  {self.prior:+.4g} from the prior")
        lines += [] if self.runner_up is None else self.runner_up.lines()
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        most = max([abs(self.prior), *(abs(reason.contribution) for reason in self.reasons)])
        entries = [
            (reason.contribution, reason.because(self.key)) for reason in self.reasons if reason.contribution
        ]
        n_zero = len(self.reasons) - len(entries)
        entries.append((self.prior, "the prior"))
        rows = [(signed_text(added), bar_picture(added, most), because) for added, because in entries]
        title = [element("b", self.heading), self.score_text.replace("-", MINUS)]
        note = f"{n_zero} more add nothing." if n_zero else ""
        table = notebook_table(title, ("adds", "", "because"), rows, 1, note)
        return table if self.runner_up is None else Markup(f"{table}{_runner_up_html(self.runner_up)}")


def _runner_up_html(runner_up: RunnerUp) -> Markup:
    most = max((abs(each.adds) for each in runner_up.differences), default=1.0)
    rows = [
        (signed_text(each.adds), bar_picture(each.adds, most), each.because) for each in runner_up.differences
    ]
    return notebook_table(capital(runner_up.heading), ("adds", "", "because"), rows, 1)


class Explanations(list[Explanation]):
    """Explanations of several examples."""

    def to_frame(self) -> pandas.DataFrame:
        """A row for each reason of each example, with the key and the probability of the example."""
        rows = [
            (" ".join(each.key), each.probability, added, because)
            for each in self
            for added, because in [
                *((reason.contribution, reason.because(each.key)) for reason in each.reasons),
                (each.prior, "the prior"),
            ]
        ]
        predicted = self[0].scale.prediction if self else LOG_ODDS.prediction
        names = ("example", predicted, "adds", "because")
        columns: list[Sequence[object]] = list(zip(*rows, strict=True)) if rows else [()] * len(names)
        return frame_of(dict(zip(names, columns, strict=True)))

    def __str__(self) -> str:
        return "\n\n".join(map(str, self))

    def _repr_html_(self) -> str:
        shown = [each._repr_html_() for each in self[:MOST_SHOWN]]
        more = len(self) - MOST_SHOWN
        return "".join([*shown, *([element("p", f"and {plural(more, 'more example')}")] if more > 0 else [])])


@singledispatch
def explain(
    model: LearnedModel, engine: Engine, key: Codes, name: Sequence[str], shown: int = SHOWN
) -> Explanation:
    """The reasons for the prediction of one example.

    ``key`` holds the codes of the example in the engine's database, and ``name`` its names. Clauses with the
    same body are one reason, and so are effects with the same body and feature. A reason lists at most
    ``shown`` groundings.
    """
    raise ModelError(f"models of the learner {model.learner} cannot be explained.")


@explain.register
def _explain_clauses(
    model: Model, engine: Engine, key: Codes, name: Sequence[str], shown: int = SHOWN
) -> Explanation:
    keys = key.reshape(1, -1)
    compact = model.compact()
    reasons: list[Reason] = []
    for weighted, counts in zip(compact.clauses, compact.counts(engine, keys), strict=True):
        true = int(counts.true[0])
        free = weighted.clause.free_variables()
        constants = _constants(weighted, engine, keys)
        reason = ClauseReason(
            clause=weighted.clause,
            weights=weighted.weights,
            true=true,
            false=counts.false_of(0),
            contribution=float(weighted.contribution(counts.true, counts.totals)[0])
            if weighted.each is None
            else sum(constants.values()),
            variables=tuple(map(variable_name, free)),
            groundings=named_groundings(engine.database, weighted.clause, key, shown) if true else (),
            feature=weighted.feature,
            each=None if weighted.each is None else variable_name(weighted.each),
            constants=tuple(sorted(constants.items(), key=lambda entry: (-abs(entry[1]), entry[0]))[:shown]),
            display_names=_display_names(weighted, engine.database),
            noun=("value", "")
            if weighted.each is None
            else noun_of_constants(weighted.clause, weighted.each, engine.database.schema, model.wording),
        )
        reasons.append(reason)
    effects = [fitted.effect for fitted in compact.effects]
    reasons += effect_reasons(effects, engine, key, shown, model.readers)
    return explanation(model, engine, key, name, reasons)


def _display_names(weighted: WeightedClause, database: Database) -> Mapping[str, str]:
    if weighted.each is None:
        return {}
    return database.display_names.get(database.schema.variable_types(weighted.clause)[weighted.each], {})


def _constants(weighted: WeightedClause, engine: Engine, keys: Codes) -> dict[str, float]:
    """What each constant of a clause adds for one example, if constants have weights of their own."""
    if weighted.each is None:
        return {}
    counted = counts_by_constant(weighted, engine, keys)
    return {
        name: float(single.contribution(true, 1)[0])
        for (name, _), (single, true) in zip(weighted.constants, counted, strict=True)
        if true[0]
    }


def explanation(
    model: LearnedModel, engine: Engine, key: Codes, name: Sequence[str], reasons: Iterable[Reason]
) -> Explanation:
    """The explanation of one example, with its reasons sorted by absolute contribution."""
    log_odds = model.scores(engine, key.reshape(1, -1))
    names = tuple(name)[: model.schema.arity(model.target)]  # a cut-off may follow
    scale = scale_of(model)
    return Explanation(
        target=model.target,
        key=names,
        prior=model.prior,
        log_odds=float(log_odds[0]),
        probability=_prediction(model, engine, key, log_odds),
        reasons=tuple(sorted(reasons, key=lambda reason: -abs(reason.contribution))),
        title=_title(model, engine.database, names),
        scale=scale,
    )


def _prediction(model: LearnedModel, engine: Engine, key: Codes, score: Floats) -> float:
    scale = scale_of(model)
    if scale.of_choice:
        return 1.0  # without other alternatives, an example is the only one of its choice
    own = model.probabilities(engine, key.reshape(1, -1)) if scale.of_class else scale.link(score)
    return float(own[0])


def explain_choices(
    model: LearnedModel, engine: Engine, keys: Codes, names: Names, choices: Integers, shown: int = SHOWN
) -> Iterator[Explanation]:
    """The explanation of each alternative, compared with the best other one of its choice."""
    predicted = shares(model.scores(engine, keys), choices)
    explained: dict[int, Explanation] = {}
    for place in range(len(keys)):
        members = np.flatnonzero(choices == choices[place])
        others = members[members != place]
        best = [int(others[predicted[others].argmax()])] if len(others) else []
        for each in {place, *best} - explained.keys():
            explained[each] = explain(model, engine, keys[each], names[each], shown)
        own, runner_up = explained[place], None
        for each in best:
            other = explained[each]
            differences = compared(_in_order(own.reasons), own.key, _in_order(other.reasons), other.key)
            runner_up = RunnerUp(other.key, float(predicted[each]), len(members), differences)
        yield replace(own, probability=float(predicted[place]), runner_up=runner_up)


def _in_order(reasons: Sequence[Reason]) -> list[Reason]:
    """Reasons in an order that is the same for all examples."""
    return sorted(reasons, key=lambda each: str(getattr(each, "effect", getattr(each, "clause", each))))


def _title(model: LearnedModel, database: Database, names: tuple[str, ...]) -> str:
    """The example by its noun and key, with its display name if it has one, and what is predicted of it."""
    wording = wording_of(model.target, model.schema, model.settings, names=database.display_names)
    shown = [
        f"{name} ({known[name]})" if name in (known := database.display_names.get(type_name, {})) else name
        for type_name, name in zip(model.schema.types_of(model.target), names, strict=True)
    ]
    example = f"{capital(wording.example)} " if wording.example else ""
    return f"{example}{', '.join(shown)}: {wording.subject or plain_name(model.target)}"


def named_groundings(
    database: Database, clause: Clause, key: Codes, shown: int
) -> tuple[tuple[str, ...], ...]:
    """The first true groundings, at most ``shown``: the names of the values of the free variables."""
    if database.tables is not None:
        return database.tables.groundings(clause, key.tolist(), shown)
    types = database.schema.variable_types(clause)
    populations = [database.population(types[variable]) for variable in clause.free_variables()]
    if not populations:
        return ()
    return tuple(
        tuple(population.names[code] for population, code in zip(populations, codes, strict=True))
        for codes in groundings(database, clause, key.tolist(), shown, _PATIENCE)
    )


def about(body: Sequence[Literal], key: tuple[str, ...]) -> str:
    """The text of a body with the example's names in place of the head's variables."""
    return ", ".join(_literal_about(literal, key) for literal in body) or "true"


def _literal_about(literal: Literal, key: tuple[str, ...]) -> str:
    """The text of a literal with the example's names in place of the head's variables."""
    if isinstance(literal, Comparison):
        text = str(literal)
        if literal.variable >= len(key):
            return text
        return format_constant(key[literal.variable]) + text.removeprefix(variable_name(literal.variable))
    if isinstance(literal, Not):
        return str(Not(_bound(literal.atom, key)))
    return str(_bound(literal, key))


def _bound(atom: Atom, key: tuple[str, ...]) -> Atom:
    args: list[Term] = [
        key[term] if isinstance(term, int) and term < len(key) else term for term in atom.args
    ]
    return Atom(atom.predicate, tuple(args))
