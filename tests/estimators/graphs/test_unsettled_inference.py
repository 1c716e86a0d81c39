"""Fits whose belief propagation does not settle go on to where beliefs are the data's."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct import GraphCRF
from sklearn_struct.exceptions import InferenceWarning


def frustrated(rng, n_graphs=6, height=5, width=6, strength=4.0):
    """Grids with diagonals, whose edges pull together or push apart by chance, and labels near the
    best ones.
    """
    number = np.arange(height * width).reshape(height, width)
    pairs = [
        (number[:, :-1], number[:, 1:]),
        (number[:-1], number[1:]),
        (number[:-1, :-1], number[1:, 1:]),
    ]
    edges = np.concatenate([np.column_stack([a.ravel(), b.ravel()]) for a, b in pairs])
    X = []
    y = []
    for _ in range(n_graphs):
        pull = rng.normal(size=len(edges))
        field = rng.normal(size=number.size)
        couplings = np.zeros((number.size, number.size))
        couplings[edges[:, 0], edges[:, 1]] = pull
        couplings += couplings.T
        signs = rng.choice([-1.0, 1.0], number.size)
        for sweep in range(60):
            cold = strength * min(1.0, sweep / 40)
            for v in range(number.size):
                force = 0.5 * field[v] + cold * couplings[v] @ signs
                signs[v] = 1.0 if rng.random() < 1.0 / (1.0 + np.exp(-2.0 * force)) else -1.0
        X.append((field[:, None], edges, pull[:, None]))
        y.append(signs.astype(int).tolist())
    return X, y


@pytest.mark.parametrize("solver", ["lbfgs", "cg", "gradient"])
def test_an_unsettled_fit_ends_where_beliefs_are_those_of_the_data(solver):
    """The values of unsettled messages are not those that beliefs are derivatives of; a line search
    that trusts them stops after four iterations, or ten, and other seeds do the same.
    """
    X, y = frustrated(np.random.default_rng(2))
    crf = GraphCRF(inference="bp", max_sweeps=5, C=1e4, tol=1e-3, symmetric=True, solver=solver)
    # it warns of inference alone, once: other warnings would be errors
    with pytest.warns(InferenceWarning) as warned:
        crf.fit(X, y)
    assert len(warned) == 1
    message = str(warned[0].message)
    assert "inference has not settled for" in message
    assert "%" in message
    for remedy in ("inference='trw'", "loss='pseudo'", "inference='exact'"):
        assert remedy in message
    assert not crf.converged_
    assert crf.inference_report_["unconverged"] > 0.5
    with pytest.warns(InferenceWarning):
        proba = crf.predict_proba(X)
    with pytest.warns(InferenceWarning):
        of_edges = crf.predict_edge_proba(X)
    excess = 0.0
    of_pulls = 0.0
    for (field, edges, pull), labels, p, q in zip(X, y, proba, of_edges, strict=True):
        codes = np.searchsorted(crf.classes_, labels)
        excess += field[:, 0] @ (p[:, 1] - codes)
        equal = codes[edges[:, 0]] == codes[edges[:, 1]]
        of_pulls += pull[:, 0] @ (q[:, 0, 0] + q[:, 1, 1] - equal)
    assert abs(excess) / len(X) < 0.01
    assert abs(of_pulls) / len(X) < 0.01


def test_only_the_weights_that_were_learned_say_whether_inference_has_settled():
    """On the way to them it need not have."""
    X, y = frustrated(np.random.default_rng(2), n_graphs=1)
    crf = GraphCRF(inference="bp").fit(X, y)
    report = crf._report
    report.add(np.array([5, 5, 5, 5]), np.array([1.0, 1.0, 1.0, 1.0]), 1e-4)
    unsettled = report.counts

    class Settled:
        def value_and_grad(self, w):
            assert report.counts.n_calls == 0
            report.add(np.array([2]), np.array([0.0]), 1e-4)

    crf._look_back(Settled())
    assert crf.converged_
    assert crf.inference_report_["unconverged"] == unsettled.unconverged > 0
    later = report.counts
    report.add(np.array([5, 5]), np.array([1.0, 0.0]), 1e-4)
    since = report.counts.since(later)
    assert (since.n_calls, since.n_sweeps, since.n_unconverged) == (2, 10, 1)
    assert report.counts.since(report.counts).n_unconverged == 0
