"""Rows of dual numbers, values with their derivatives in some direction, and products of such rows.

A row is K values, padded to P = padded(K), and then their K derivatives, padded likewise. Rows are worked on four at
a time, so that each number of a matrix that is read serves four products: arrays of rows have `SPARE` more than are
in use, which are read but not written.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.kernel import kernel
from sklearn_struct.simd import LANES, add, fma, load, padded, splat, store

__all__ = ["SPARE", "add_outer_duals", "duals", "rows_times_duals", "transpose_duals"]

SPARE = 3
CACHED = 32  # rows of an outer product that stay in the cache meanwhile


def duals(n: int, K: int) -> np.ndarray:
    """n rows of K zeros."""
    return np.zeros((n, 2 * padded(K)))


@kernel
def transpose_duals(M, out):
    """``out[:] = M.T`` for a K x P matrix."""
    K, P = M.shape[0], M.shape[1] // 2
    for j in range(K):
        for k in range(K):
            out[k, j], out[k, P + j] = M[j, k], M[j, P + k]


@kernel
def rows_times_duals(X, i, n, M, out, o):
    """``out[o : o + n] = X[i : i + n] @ M``: x M, and (x M)' = x' M + x M'."""
    K, P, zero = M.shape[0], M.shape[1] // 2, splat(0.0)
    for r in range(0, n, SPARE + 1):
        a = i + r
        b, c, d = a + 1, a + 2, a + 3
        for k in range(0, P, LANES):
            va, vb, vc, vd = zero, zero, zero, zero
            sa, sb, sc, sd = zero, zero, zero, zero  # x M'
            ta, tb, tc, td = zero, zero, zero, zero  # x' M
            for j in range(K):
                m, dm, q = load(M, 2 * j * P + k), load(M, (2 * j + 1) * P + k), P + j
                xa, xb, xc, xd = splat(X[a, j]), splat(X[b, j]), splat(X[c, j]), splat(X[d, j])
                va, vb, vc, vd = fma(xa, m, va), fma(xb, m, vb), fma(xc, m, vc), fma(xd, m, vd)
                sa, sb, sc, sd = fma(xa, dm, sa), fma(xb, dm, sb), fma(xc, dm, sc), fma(xd, dm, sd)
                xa, xb, xc, xd = splat(X[a, q]), splat(X[b, q]), splat(X[c, q]), splat(X[d, q])
                ta, tb, tc, td = fma(xa, m, ta), fma(xb, m, tb), fma(xc, m, tc), fma(xd, m, td)
            q = 2 * (o + r) * P + k
            store(out, q, va)
            store(out, q + P, add(sa, ta))
            if r + 1 < n:
                store(out, q + 2 * P, vb)
                store(out, q + 3 * P, add(sb, tb))
            if r + 2 < n:
                store(out, q + 4 * P, vc)
                store(out, q + 5 * P, add(sc, tc))
            if r + 3 < n:
                store(out, q + 6 * P, vd)
                store(out, q + 7 * P, add(sd, td))


@kernel
def add_outer_duals(X, Y, n, out):
    """``out += X[:n].T @ Y[:n]``: x' y, and its derivative x' dy + dx' y. out has P rows."""
    P = X.shape[1] // 2
    for lo in range(0, n, CACHED):
        for j in range(0, P, SPARE + 1):
            for k in range(0, P, LANES):
                _add_tile(X, Y, lo, min(lo + CACHED, n), j, k, out)


@kernel
def _add_tile(X, Y, lo, hi, j, k, out):
    P, zero = X.shape[1] // 2, splat(0.0)
    va, vb, vc, vd = zero, zero, zero, zero
    sa, sb, sc, sd = zero, zero, zero, zero  # x' dy
    ta, tb, tc, td = zero, zero, zero, zero  # dx' y
    for t in range(lo, hi):
        y, dy, q = load(Y, 2 * t * P + k), load(Y, (2 * t + 1) * P + k), P + j
        xa, xb, xc, xd = splat(X[t, j]), splat(X[t, j + 1]), splat(X[t, j + 2]), splat(X[t, j + 3])
        va, vb, vc, vd = fma(xa, y, va), fma(xb, y, vb), fma(xc, y, vc), fma(xd, y, vd)
        sa, sb, sc, sd = fma(xa, dy, sa), fma(xb, dy, sb), fma(xc, dy, sc), fma(xd, dy, sd)
        xa, xb, xc, xd = splat(X[t, q]), splat(X[t, q + 1]), splat(X[t, q + 2]), splat(X[t, q + 3])
        ta, tb, tc, td = fma(xa, y, ta), fma(xb, y, tb), fma(xc, y, tc), fma(xd, y, td)
    q = 2 * j * P + k
    _add(out, q, P, va, add(sa, ta))
    _add(out, q + 2 * P, P, vb, add(sb, tb))
    _add(out, q + 4 * P, P, vc, add(sc, tc))
    _add(out, q + 6 * P, P, vd, add(sd, td))


@kernel
def _add(out, q, P, value, slope):
    store(out, q, add(load(out, q), value))
    store(out, q + P, add(load(out, q + P), slope))
