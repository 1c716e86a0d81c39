"""Both ways to singular vectors against numpy's, whatever is small."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct.grammars.node_features import Features
from sklearn_struct.grammars.singular_vectors import FEW, SOLVERS

N = FEW + 40
# of two symbols: how many nodes, features inside, features outside
SIZES = {
    "few features": [(N, 12, N), (50, 30, 9)],
    "few nodes": [(30, N, N), (3, 50, 60)],
    "all are many": [(N + 10, N, N + 5), (40, 8, 8)],
    "one of each": [(1, 1, 1), (N, 1, 3)],
}


def problem(sizes):
    """Features of the nodes of all symbols, nodes in any order, weights of which some are 0; and
    the products.
    """
    rng = np.random.default_rng(0)
    symbol = rng.permutation(np.repeat(np.arange(len(sizes)), [n for n, _, _ in sizes]))
    weight = rng.integers(0, 3, len(symbol)).astype(float)
    weight[np.unique(symbol, return_index=True)[1]] = 1.0
    sides = []
    for side in (1, 2):
        bounds = np.cumsum([0, *(size[side] for size in sizes)])
        rows = np.zeros((len(symbol), bounds[-1]))
        for s, size in enumerate(sizes):
            # the values fall, so that vectors are well defined
            scale = 0.8 ** np.arange(size[side])
            values = scale * rng.normal(size=(size[0], size[side]))
            rows[symbol == s, bounds[s] : bounds[s + 1]] = values
        sides.append(Features(sp.csr_array(rows), bounds))
    inside, outside = (side.rows.toarray() for side in sides)
    products = [
        inside[symbol == s].T @ (weight[symbol == s, None] * outside[symbol == s])
        for s in range(len(sizes))
    ]
    return sides, symbol, weight, products


@pytest.mark.parametrize("m", [1, 5])
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize(("solver", "precision"), [("exact", 1e-10), ("randomized", 1e-3)])
def test_leading_vectors_are_those_of_numpy(solver, precision, sizes, m):
    (phi, psi), symbol, weight, products = problem(sizes)
    U, V, sigma = SOLVERS[solver](phi, psi, symbol, weight, m)
    for s, product in enumerate(products):
        rows = slice(phi.bounds[s], phi.bounds[s + 1])
        columns = slice(psi.bounds[s], psi.bounds[s + 1])
        product = product[rows, columns]
        u, value, vt = np.linalg.svd(product, full_matrices=False)
        k = min(m, int(np.sum(value > 1e-12 * value[0])))
        np.testing.assert_allclose(sigma[s, :k], value[:k], rtol=precision)
        np.testing.assert_allclose(sigma[s, k:], 0.0, atol=1e-9 * value[0])
        # vectors up to their signs: the best approximation of rank k
        np.testing.assert_allclose(
            U[rows, :k] * sigma[s, :k] @ V[columns, :k].T,
            u[:, :k] * value[:k] @ vt[:k],
            atol=10 * precision * value[0],
        )
        np.testing.assert_allclose(U[rows, :k].T @ U[rows, :k], np.eye(k), atol=1e-9)
        np.testing.assert_allclose(V[columns, :k].T @ V[columns, :k], np.eye(k), atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_same_bits_twice(solver):
    (phi, psi), symbol, weight, _ = problem(SIZES["all are many"])
    for one, other in zip(*(SOLVERS[solver](phi, psi, symbol, weight, 3) for _ in range(2))):
        np.testing.assert_array_equal(one, other)


def test_symbols_without_nodes_have_no_directions():
    (phi, psi), symbol, weight, _ = problem(SIZES["few features"])
    weight[symbol == 1] = 0.0
    U, V, sigma = SOLVERS["exact"](phi, psi, symbol, weight, 2)
    assert sigma[0].any()
    assert not sigma[1].any()
    assert not U[phi.bounds[1] :].any()
    assert not V[psi.bounds[1] :].any()
