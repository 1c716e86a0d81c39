"""The pseudolikelihood finds the weights that generated the data; pieces do not."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_struct import PiecewiseCRF, PseudoLikelihoodCRF, SequenceArray
from sklearn_struct.containers.structures import Potentials
from sklearn_struct.inference.chains.chain import Chain

CONSISTENT = [
    PseudoLikelihoodCRF(),
    PseudoLikelihoodCRF(block_size=2),
    PseudoLikelihoodCRF(block_size=4),
]
NODE = np.array([[0.0, 0.8, -0.5], [0.0, -0.4, 0.9]])
EDGE = np.array([[0.0, 0, 0], [0, 1.6, -1.4], [0, 1.2, 0.8]])


def drawn(n, rng):
    """Sequences of 2 to 6 tokens that have these weights."""
    lengths = rng.integers(2, 7, size=n)
    X = rng.normal(size=(lengths.sum(), 2))
    structure = Chain().structure(np.concatenate([[0], np.cumsum(lengths)]))
    y = np.empty(len(X), dtype=np.int32)
    potentials = Potentials(X @ NODE, (EDGE.reshape(1, -1),))
    Chain().sample(potentials, structure, rng.random(len(X)), y, np.empty(n))
    return SequenceArray(X, structure.offsets), SequenceArray(y, structure.offsets)


def error(model):
    """The largest difference in what data can tell: contrasts of labels, and of pairs of these."""
    coef = model.coef_.T
    table = model.transition_
    table = table - table[:1] - table[:, :1] + table[0, 0]
    return max(np.abs(coef - coef[:, :1] - NODE).max(), np.abs(table - EDGE).max())


@pytest.mark.parametrize("model", CONSISTENT, ids=repr)
def test_pseudolikelihood_finds_the_true_weights_as_data_grow(model):
    rng = np.random.default_rng(0)
    errors = []
    for n in (100, 1_000, 10_000):
        fit = clone(model).set_params(C=np.inf, solver="lbfgs", tol=1e-6).fit(*drawn(n, rng))
        errors.append(error(fit))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < min(errors[0] / 4, 0.1)  # ten times smaller but for chance


@pytest.mark.parametrize("model", [PiecewiseCRF(), PiecewiseCRF(piece_size=2)], ids=repr)
def test_pieces_do_not_find_them(model):
    """Evidence beside a piece is taken for its own."""
    data = drawn(20_000, np.random.default_rng(0))
    found = [
        clone(m).set_params(C=np.inf, solver="lbfgs", tol=1e-6).fit(*data)
        for m in (model, CONSISTENT[0])
    ]
    assert error(found[0]) > 2 * error(found[1])
