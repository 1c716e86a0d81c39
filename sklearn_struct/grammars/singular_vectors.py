"""Leading singular vectors of each symbol's correlations ``phi.T @ (weight * psi)``, and singular
values: step 1 of figure 5 of Cohen et al. (2012).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, svds

from sklearn_struct.compiled.simd import padded
from sklearn_struct.grammars.node_features import Features

__all__ = ["SOLVERS"]

# passes of the randomized decomposition, and directions that it follows beyond those asked for
N_ITER = 3
# they let the wanted directions converge in a few passes (Halko et al. 2011)
N_MORE = 8
FEW = 256  # features, or nodes, of a symbol: LAPACK decomposes so small a matrix as a whole

# U (features inside, m), V (features outside, m), singular values (n_symbols, m), with m rounded up
# to whole vectors and zeros beyond the directions that there are
Decomposition = tuple[np.ndarray, np.ndarray, np.ndarray]


def exact(
    phi: Features, psi: Features, symbol: np.ndarray, weight: np.ndarray, m: int
) -> Decomposition:
    """Up to rounding, symbol by symbol."""
    order = np.argsort(symbol, kind="stable")
    blocks = _blocks(phi, psi)
    bounds = np.searchsorted(symbol[order], np.arange(len(blocks) + 1))
    U, V, sigma = _empty(phi, psi, m)
    for s, (rows, columns) in enumerate(blocks):
        own = order[bounds[s] : bounds[s + 1]]
        own = own[weight[own] != 0]
        left = phi.rows[own][:, rows]
        right = sp.diags_array(weight[own]) @ psi.rows[own][:, columns]
        if min(*left.shape, right.shape[1]) > 0:
            u, value, v = _leading(left, right.tocsr(), m)
            n = len(value)
            U[rows, :n] = u
            V[columns, :n] = v
            sigma[s, :n] = value
    return U, V, sigma


def _leading(
    left: sp.csr_array, right: sp.csr_array, m: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U, the largest singular values and V of ``left.T @ right``."""
    n, d = left.shape
    few = max(FEW, 4 * m)
    if n <= few and n < min(d, right.shape[1]):
        # few nodes with many features: these span a small space
        basis, of_left = np.linalg.qr(left.T.toarray())
        other, of_right = np.linalg.qr(right.T.toarray())
        u, value, vt = np.linalg.svd(of_left @ of_right.T)
        return basis @ u[:, :m], value[:m], other @ vt[:m].T
    if min(d, right.shape[1]) <= few:
        u, value, vt = np.linalg.svd((left.T @ right).toarray(), full_matrices=False)
        return u[:, :m], value[:m], vt[:m].T
    # Lanczos, until nothing changes but by rounding; the product is never made
    product = LinearOperator(
        (d, right.shape[1]),
        matvec=lambda v: left.T @ (right @ v),
        rmatvec=lambda u: right.T @ (left @ u),
        dtype=np.float64,
    )
    start = np.random.RandomState(0).standard_normal(min(product.shape))
    u, value, vt = svds(product, k=m, tol=0, v0=start, solver="arpack")
    largest_first = np.argsort(-value, kind="stable")
    return u[:, largest_first], value[largest_first], vt[largest_first].T


def randomized(
    phi: Features, psi: Features, symbol: np.ndarray, weight: np.ndarray, m: int
) -> Decomposition:
    """By subspace iteration (Halko, Martinsson & Tropp 2011), for all symbols at once, since no
    entry of the product is between two symbols. What is found is exact where a symbol's rank is at
    most ``m + N_MORE``.
    """
    weighted = sp.diags_array(weight) @ psi.rows
    forth = weighted.T.tocsr()
    back = phi.rows.T.tocsr()
    blocks = _blocks(phi, psi)
    # a fixed seed: what is estimated has no randomness of its own
    right = np.random.RandomState(0).standard_normal((psi.bounds[-1], m + N_MORE))
    left = np.empty((phi.bounds[-1], m + N_MORE))
    for _ in range(N_ITER):
        # for all symbols at once, by two sparse factors: their product is never made
        left[:] = back @ (weighted @ right)
        for rows, _ in blocks:
            basis, _ = np.linalg.qr(left[rows])
            # symbols with few features have fewer directions than are asked for
            left[rows, basis.shape[1] :] = 0.0
            left[rows, : basis.shape[1]] = basis
        right = forth @ (phi.rows @ left)
    U, V, sigma = _empty(phi, psi, m)
    for s, (rows, columns) in enumerate(blocks):
        v, value, u = np.linalg.svd(right[columns], full_matrices=False)
        n = min(m, len(value))
        U[rows, :n] = left[rows] @ u[:n].T
        V[columns, :n] = v[:, :n]
        sigma[s, :n] = value[:n]
    return U, V, sigma


SOLVERS: dict[str, Callable[[Features, Features, np.ndarray, np.ndarray, int], Decomposition]] = {
    "exact": exact,
    "randomized": randomized,
}


def _blocks(phi: Features, psi: Features) -> list[tuple[slice, slice]]:
    """Columns of each symbol's features."""
    return [
        (slice(*of_phi), slice(*of_psi))
        for of_phi, of_psi in zip(pairwise(phi.bounds), pairwise(psi.bounds))
    ]


def _empty(phi: Features, psi: Features, m: int) -> Decomposition:
    n_symbols = len(phi.bounds) - 1
    U, V, sigma = (np.zeros((n, padded(m))) for n in (phi.bounds[-1], psi.bounds[-1], n_symbols))
    return U, V, sigma
