"""Large fits in float32 keep derivatives in potentials in float32, too, as far as losses write
these.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sklearn_struct import (
    MEMM,
    FactorialCRF,
    GraphCRF,
    LinearChainCRF,
    PiecewiseCRF,
    PseudoLikelihoodCRF,
)
from sklearn_struct.objectives import linear_objective


@pytest.mark.compiled
@pytest.mark.parametrize(
    "model",
    [
        LinearChainCRF(solver="newton-cg"),
        LinearChainCRF(order=2),
        LinearChainCRF(edge_features="all"),
        LinearChainCRF(loss="pointwise"),
        LinearChainCRF(loss="softmax_margin"),
        MEMM(),
        PseudoLikelihoodCRF(),
        PiecewiseCRF(),
        GraphCRF(inference="bp"),
        GraphCRF(inference="exact"),
        FactorialCRF(),
    ],
    ids=str,
)
def test_residuals_of_large_fits_in_float32(model, monkeypatch):
    """Whatever the loss and its inference write: derivatives of many nodes are kept in float32."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 3)).astype(np.float32) for n in (4, 1, 6, 3, 5)]
    y = [rng.choice(list("abc"), len(x)).tolist() for x in X]
    if isinstance(model, GraphCRF):
        X = [(x, np.column_stack([np.arange(len(x) - 1), np.arange(1, len(x))])) for x in X]
    if isinstance(model, FactorialCRF):
        y = [np.column_stack([labels, labels[::-1]]).tolist() for labels in y]
    expected = clone(model).set_params(dtype="float64", max_iter=5)
    found = clone(model).set_params(dtype="float32", max_iter=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        expected.fit(X, y)
        monkeypatch.setattr(linear_objective, "SMALL", 0)
        found.fit(X, y)
    assert found.loss_curve_[-1] == pytest.approx(expected.loss_curve_[-1], rel=1e-4)
