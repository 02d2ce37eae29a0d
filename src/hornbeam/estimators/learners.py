"""One scikit-learn classifier for each learner, and a regressor.

Their parameters follow from the declarations in ``hornbeam.learning.options``. ``learners.pyi`` spells them
out for editors and type checkers; ``make reference`` writes it.
"""

from __future__ import annotations

from hornbeam.estimators.classifier import RelationalClassifier
from hornbeam.estimators.columns import EffectsAsColumns
from hornbeam.estimators.parameters import takes_options_of
from hornbeam.estimators.regressor import RelationalRegressor
from hornbeam.learning.options import AggOptions, EffectOptions, ILPOptions, MLNOptions, RDNOptions


@takes_options_of(EffectOptions)
class RLRClassifier(EffectsAsColumns, RelationalClassifier):
    """Relational logistic regression as a scikit-learn classifier.

    >>> from hornbeam.datasets.worlds import smokers
    >>> database = smokers(n_persons=400)
    >>> X, y = database.examples("cancer")
    >>> classifier = RLRClassifier(database=database, target="cancer", n_bags=2)
    >>> classifier.fit(X, y).predict_proba(X).shape
    (400, 2)

    Each preset has options of its own. An option that is not given has the value of the preset:

    >>> RLRClassifier().l2, RLRClassifier(preset="paper").l2, RLRClassifier(preset="paper", l2=2.0).l2
    (5.0, 1000.0, 2.0)
    """


@takes_options_of(EffectOptions, numeric=True)
class RLRRegressor(EffectsAsColumns, RelationalRegressor):
    """Effects with curves that add up to a number, as a scikit-learn regressor.

    >>> from hornbeam.datasets.worlds import smokers
    >>> database = smokers(n_persons=400)
    >>> X, y = database.examples("cancer")
    >>> days = 50.0 + 10.0 * y
    >>> RLRRegressor(database=database, target="cancer", n_bags=2).fit(X, days).predict(X).shape
    (400,)
    """


@takes_options_of(AggOptions)
class AggLRClassifier(RelationalClassifier):
    """Logistic regression on relational aggregates as a scikit-learn classifier."""


@takes_options_of(ILPOptions)
class IlpRLRClassifier(EffectsAsColumns, RelationalClassifier):
    """Clauses by inductive logic programming, then their weights, as a scikit-learn classifier."""


@takes_options_of(MLNOptions)
class MLNBoostClassifier(EffectsAsColumns, RelationalClassifier):
    """Boosted clauses with one weight each as a scikit-learn classifier."""


@takes_options_of(RDNOptions)
class RDNBoostClassifier(RelationalClassifier):
    """Boosted relational regression trees as a scikit-learn classifier."""
