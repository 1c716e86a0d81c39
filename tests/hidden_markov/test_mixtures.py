"""The most probable mixtures where components or states have no mass."""

from __future__ import annotations

import numpy as np

from sklearn_struct.hidden_markov.base_training import one_cluster
from sklearn_struct.hidden_markov.mixtures import MixtureCounts, MixtureSteps
from sklearn_struct.hidden_markov.moments import moments_of


def test_tied_covariances_where_there_is_no_mass():
    """A component without rows says nothing of its state, and a state without any is like all."""
    rng = np.random.RandomState(0)
    x = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 2))
    shares = np.zeros((30, 6))
    shares[:10, 0] = 1.0
    shares[10:18, 2:4] = rng.dirichlet([1.0, 1.0], size=8)
    counts = MixtureCounts(shares.sum(axis=0), moments_of(x, shares, "full"))
    steps = MixtureSteps(np.full(2, 1e-9), "tied", 2, one_cluster)
    mixtures = steps.fit(counts, lambda: steps.of_all(x, np.array([0, 30]), np.ones(30)))
    within = sum(
        shares[:, c].sum() / 8 * np.cov(x.T, aweights=shares[:, c], ddof=0) for c in (2, 3)
    )
    matrices = mixtures.named["covariances"]
    np.testing.assert_allclose(matrices[0], np.cov(x[:10].T, ddof=0))
    np.testing.assert_allclose(matrices[1], within)
    np.testing.assert_allclose(matrices[2], np.cov(x[:18].T, ddof=0))
    np.testing.assert_allclose(mixtures.components.mean[0], x[:10].mean(axis=0))
    for component in (1, 4, 5):
        np.testing.assert_allclose(mixtures.components.mean[component], x[:18].mean(axis=0))
    np.testing.assert_allclose(np.exp(mixtures.log_weight)[[0, 2]], [[1, 0], [0.5, 0.5]])
