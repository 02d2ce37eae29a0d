"""MLN-Boost: boosted clauses with one weight each over the count of their true groundings.

Functional-gradient boosting of a Markov logic network's clauses for one target, after Khot,
Natarajan, Kersting and Shavlik, "Learning Markov logic networks via functional gradient boosting"
(ICDM 2011). In a step, each clause is fitted to the gradients by least squares through the origin,

    w = sum(t*d) / sum(t*t),  which lowers the squared error by  sum(t*d)^2 / sum(t*t),

and the next clause of the step is fitted to ``d - w*t``. There is no bias and no penalty: an example for
which no clause has a true grounding keeps the log-odds of the prior. A weighted clause is one of relational
logistic regression with weights ``[0, w, 0]``, so both learners make the same kind of model.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hornbeam.data.relations import Examples
from hornbeam.engines.clauses.contract import Sums
from hornbeam.engines.contract import Engine
from hornbeam.learning.boosting.boost import boosted
from hornbeam.learning.boosting.steps import Strategy
from hornbeam.learning.loop import NO_CONTROL, Control
from hornbeam.learning.numbers import GRADIENT_BITS, round_weight
from hornbeam.learning.options import MLNOptions
from hornbeam.learning.problem import Fit
from hornbeam.learning.search.ridge import ClauseSums, Response
from hornbeam.model.clause_model import Model
from hornbeam.model.files import WEIGHTED_CLAUSES, register_kind

LEARNER = "mln-boost"


class ThroughOrigin:
    """The least-squares fit of ``w*t`` to the gradients.

    >>> sums = ClauseSums(total=9, true=3, true_squared=5, true_gradient=10 << GRADIENT_BITS)
    >>> ThroughOrigin().weights(sums)
    (0.0, 2.0, 0.0)
    """

    def gains(self, sums: Sums) -> npt.NDArray[np.float64]:
        squared, products = (
            np.array(column, dtype=object).astype(np.float64)
            for column in (sums.true_squared, sums.true_gradient)
        )
        return np.where(squared > 0, products * products / np.maximum(squared, 1.0), 0.0)

    def exact_gain(self, sums: ClauseSums) -> Fraction:
        return Fraction(sums.true_gradient**2, sums.true_squared) if sums.true_squared else Fraction(0)

    def weights(self, sums: ClauseSums) -> tuple[float, float, float]:
        slope = Fraction(sums.true_gradient, sums.true_squared) if sums.true_squared else Fraction(0)
        return 0.0, round_weight(slope / 2**GRADIENT_BITS), 0.0


def fit(
    engine: Engine,
    examples: Examples,
    options: MLNOptions | None = None,
    control: Control = NO_CONTROL,
) -> Fit[Model]:
    """Learn weighted clauses of the target from examples with labels 0 and 1."""
    options = options or MLNOptions()

    def fitting(response: Response) -> ThroughOrigin:
        return ThroughOrigin()

    strategy = Strategy(LEARNER, fitting, options.clauses_per_step)
    return boosted(engine, examples, options, strategy, control)


register_kind(LEARNER, WEIGHTED_CLAUSES)
