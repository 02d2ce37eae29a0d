"""The scikit-learn face: one class for each learner, its options as scikit-learn wants them, name by name."""

from __future__ import annotations

from typing import Any

from hornbeam.data.database import Database
from hornbeam.engines.contract import DEFAULT_MEMORY
from hornbeam.estimators.classifier import RelationalClassifier
from hornbeam.learning.boosting.mln_boost import MLNOptions
from hornbeam.learning.learners import options_for
from hornbeam.learning.options import FitOptions, Options
from hornbeam.learning.trees.rdn_boost import RDNOptions
from hornbeam.study.agg_lr.learner import AggOptions
from hornbeam.study.ilp_rlr.learner import ILPOptions

PRESET = "preset"
"""The value of an option that is left to the preset."""


class RLRClassifier(RelationalClassifier):
    """Boosted relational logistic regression as a scikit-learn classifier.

    An option left at ``"preset"`` has the value of the preset; ``hornbeam.learning.options.FitOptions`` says
    what each one means and allows.

    >>> from hornbeam.datasets.worlds import smokers
    >>> database = smokers(n_persons=200)
    >>> X, y = database.examples("cancer")
    >>> classifier = RLRClassifier(database=database, target="cancer", n_steps=2, max_literals=2)
    >>> classifier.fit(X, y).predict_proba(X).shape
    (200, 2)
    """

    learner = "rlr"
    options_class = FitOptions

    def __init__(
        self,
        database: Database | None = None,
        target: str | None = None,
        preset: str = "default",
        n_steps: Any = PRESET,
        l2: Any = PRESET,
        max_literals: Any = PRESET,
        beam_width: Any = PRESET,
        stop: Any = PRESET,
        prior: Any = PRESET,
        neg_pos_ratio: Any = PRESET,
        seed: Any = PRESET,
        negation: Any = PRESET,
        populations: Any = PRESET,
        n_thresholds: Any = PRESET,
        false_counts: Any = PRESET,
        feature: Any = PRESET,
        refit: Any = PRESET,
        length_penalty: Any = PRESET,
        look_ahead: Any = PRESET,
        per_constant: Any = PRESET,
        validate: Any = PRESET,
        max_clauses: Any = PRESET,
        unknown: str = "warn",
        engine: str = "memory",
        memory: int = DEFAULT_MEMORY,
        time_limit: float | None = None,
    ) -> None:
        self._take(locals())

    def _options(self) -> Options:
        given = {name: getattr(self, name) for name in FitOptions.names()}
        explicit = {name: value for name, value in given.items() if value != PRESET}
        return options_for(self.learner, self.preset, **explicit)


_AGG = AggOptions()


class AggLRClassifier(RelationalClassifier):
    """Logistic regression on relational aggregates; ``AggOptions`` says what each option means."""

    learner = "agg-lr"
    options_class = AggOptions

    def __init__(
        self,
        database: Database | None = None,
        target: str | None = None,
        max_literals: int = _AGG.max_literals,
        feature: str = _AGG.feature,
        l2: float = _AGG.l2,
        neg_pos_ratio: float | None = _AGG.neg_pos_ratio,
        seed: int = _AGG.seed,
        unknown: str = "warn",
        engine: str = "memory",
        memory: int = DEFAULT_MEMORY,
        time_limit: float | None = None,
    ) -> None:
        self._take(locals())


_ILP = ILPOptions()


class IlpRLRClassifier(RelationalClassifier):
    """Clauses by inductive logic programming, then their weights; ``ILPOptions`` says what options mean."""

    learner = "ilp-rlr"
    options_class = ILPOptions

    def __init__(
        self,
        database: Database | None = None,
        target: str | None = None,
        max_literals: int = _ILP.max_literals,
        max_rounds: int = _ILP.max_rounds,
        max_recall: int = _ILP.max_recall,
        max_bodies: int = _ILP.max_bodies,
        l2: float = _ILP.l2,
        neg_pos_ratio: float | None = _ILP.neg_pos_ratio,
        seed: int = _ILP.seed,
        n_thresholds: int = _ILP.n_thresholds,
        populations: str = _ILP.populations,
        unknown: str = "warn",
        engine: str = "memory",
        memory: int = DEFAULT_MEMORY,
        time_limit: float | None = None,
    ) -> None:
        self._take(locals())


_MLN = MLNOptions()


class MLNBoostClassifier(RelationalClassifier):
    """Boosted clauses with one weight each; ``MLNOptions`` says what each option means."""

    learner = "mln-boost"
    options_class = MLNOptions

    def __init__(
        self,
        database: Database | None = None,
        target: str | None = None,
        n_steps: int = _MLN.n_steps,
        clauses_per_step: int = _MLN.clauses_per_step,
        max_literals: int = _MLN.max_literals,
        beam_width: int = _MLN.beam_width,
        stop: str = _MLN.stop,
        prior: float | str = _MLN.prior,
        neg_pos_ratio: float | None = _MLN.neg_pos_ratio,
        seed: int = _MLN.seed,
        negation: bool = _MLN.negation,
        n_thresholds: int = _MLN.n_thresholds,
        unknown: str = "warn",
        engine: str = "memory",
        memory: int = DEFAULT_MEMORY,
        time_limit: float | None = None,
    ) -> None:
        self._take(locals())


_RDN = RDNOptions()


class RDNBoostClassifier(RelationalClassifier):
    """Boosted relational regression trees; ``RDNOptions`` says what each option means."""

    learner = "rdn-boost"
    options_class = RDNOptions

    def __init__(
        self,
        database: Database | None = None,
        target: str | None = None,
        n_steps: int = _RDN.n_steps,
        max_depth: int = _RDN.max_depth,
        max_leaves: int = _RDN.max_leaves,
        min_examples: int = _RDN.min_examples,
        max_literals: int = _RDN.max_literals,
        beam_width: int = _RDN.beam_width,
        prior: float | str = _RDN.prior,
        neg_pos_ratio: float | None = _RDN.neg_pos_ratio,
        redraw: bool = _RDN.redraw,
        seed: int = _RDN.seed,
        negation: bool = _RDN.negation,
        n_thresholds: int = _RDN.n_thresholds,
        unknown: str = "warn",
        engine: str = "memory",
        memory: int = DEFAULT_MEMORY,
        time_limit: float | None = None,
    ) -> None:
        self._take(locals())
