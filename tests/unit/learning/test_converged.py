"""Penalised fits end at their optimum: the weights do not depend on where a fit starts."""

import numpy as np
import pytest

from hornbeam.data.sparse import Matrix
from hornbeam.learning.losses.loss import Logistic, Loss
from hornbeam.learning.losses.poisson import Poisson
from hornbeam.learning.losses.softmax import LabelDesign, fit_softmax
from hornbeam.learning.losses.sparse import fit_sparse_weights, rows_of
from hornbeam.learning.losses.squared import Squared

ROWS, COLUMNS = 300, 40


def matrix(rng: np.random.Generator) -> Matrix:
    """Three columns with a one in each row; the first columns are frequent."""
    places = [np.sort(rng.choice(COLUMNS, 3, replace=False, p=frequencies())) for _ in range(ROWS)]
    starts = np.arange(0, 3 * ROWS + 1, 3, dtype=np.int32)
    return Matrix(starts, np.concatenate(places).astype(np.int32), np.ones(3 * ROWS), (ROWS, COLUMNS))


def frequencies() -> np.ndarray:
    return 1.0 / np.arange(1, COLUMNS + 1) / (1.0 / np.arange(1, COLUMNS + 1)).sum()


@pytest.mark.parametrize("loss", [Logistic(), Squared(), Poisson()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("penalty", [0.1, 1.0, 100.0])
def test_weights_of_constants(loss: Loss, penalty: float) -> None:
    rng = np.random.default_rng(1)
    features = matrix(rng)
    scores = features @ rng.normal(size=COLUMNS)
    targets = {"logistic": scores > rng.logistic(size=ROWS), "poisson": rng.poisson(np.exp(scores / 2))}
    rows = rows_of(loss, np.asarray(targets.get(loss.name, scores), np.float64), np.ones(ROWS))
    zero = fit_sparse_weights(features, rows, penalty)
    far = fit_sparse_weights(features, rows, penalty, rng.normal(size=COLUMNS + 1))
    assert far == pytest.approx(zero, rel=0, abs=1e-6)


@pytest.mark.parametrize("penalty", [0.1, 1.0, 100.0])
def test_weights_of_labels(penalty: float) -> None:
    rng = np.random.default_rng(1)
    design = LabelDesign(np.zeros((ROWS, 3)), rng.normal(size=(ROWS, 3, 8)), rng.integers(3, size=ROWS))
    penalties = np.full(8, penalty)
    far = fit_softmax(design, penalties, rng.normal(size=8))
    assert far == pytest.approx(fit_softmax(design, penalties), rel=0, abs=1e-6)
