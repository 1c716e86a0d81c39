"""Rows of dual numbers, values with their derivatives in some direction, and products of such rows.

A row is K values, padded to P = padded(K), and then their K derivatives, padded likewise. Rows are
worked on four at a time, so that each number of a matrix that is read serves four products: arrays
of rows have `SPARE` more than are in use, which are read but not written.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import LANES, Vector, add, fma, load, padded, splat, store

__all__ = ["SPARE", "add_outer_duals", "duals", "rows_times_duals", "transpose_duals"]

SPARE = 3
CACHED = 32  # rows of an outer product that stay in the cache meanwhile


def duals(n: int, K: int) -> np.ndarray:
    """n rows of K zeros."""
    return np.zeros((n, 2 * padded(K)))


@kernel
def transpose_duals(M: np.ndarray, out: np.ndarray) -> None:
    """``out[:] = M.T`` for a K x P matrix."""
    K = M.shape[0]
    P = M.shape[1] // 2
    for j in range(K):
        for k in range(K):
            out[k, j] = M[j, k]
            out[k, P + j] = M[j, P + k]


@kernel
def rows_times_duals(X: np.ndarray, i: int, n: int, M: np.ndarray, out: np.ndarray, o: int) -> None:
    """``out[o : o + n] = X[i : i + n] @ M``: x M, and (x M)' = x' M + x M'."""
    K = M.shape[0]
    P = M.shape[1] // 2
    zero = splat(0.0)
    # four rows at a time: each number of M that is loaded serves four products
    for r in range(0, n, SPARE + 1):
        a = i + r
        b = a + 1
        c = a + 2
        d = a + 3
        for k in range(0, P, LANES):
            va = zero
            vb = zero
            vc = zero
            vd = zero
            # x M'
            sa = zero
            sb = zero
            sc = zero
            sd = zero
            # x' M
            ta = zero
            tb = zero
            tc = zero
            td = zero
            for j in range(K):
                m = load(M, 2 * j * P + k)
                dm = load(M, (2 * j + 1) * P + k)
                q = P + j
                xa = splat(X[a, j])
                xb = splat(X[b, j])
                xc = splat(X[c, j])
                xd = splat(X[d, j])
                va = fma(xa, m, va)
                vb = fma(xb, m, vb)
                vc = fma(xc, m, vc)
                vd = fma(xd, m, vd)
                sa = fma(xa, dm, sa)
                sb = fma(xb, dm, sb)
                sc = fma(xc, dm, sc)
                sd = fma(xd, dm, sd)
                xa = splat(X[a, q])
                xb = splat(X[b, q])
                xc = splat(X[c, q])
                xd = splat(X[d, q])
                ta = fma(xa, m, ta)
                tb = fma(xb, m, tb)
                tc = fma(xc, m, tc)
                td = fma(xd, m, td)
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
def add_outer_duals(X: np.ndarray, Y: np.ndarray, n: int, out: np.ndarray) -> None:
    """``out += X[:n].T @ Y[:n]``: x' y, and its derivative x' dy + dx' y. out has P rows."""
    P = X.shape[1] // 2
    # a few rows at a time, which are then read from the cache for each tile
    for lo in range(0, n, CACHED):
        for j in range(0, P, SPARE + 1):
            for k in range(0, P, LANES):
                _add_tile(X, Y, lo, min(lo + CACHED, n), j, k, out)


@kernel
def _add_tile(
    X: np.ndarray, Y: np.ndarray, lo: int, hi: int, j: int, k: int, out: np.ndarray
) -> None:
    P = X.shape[1] // 2
    zero = splat(0.0)
    va = zero
    vb = zero
    vc = zero
    vd = zero
    # x' dy
    sa = zero
    sb = zero
    sc = zero
    sd = zero
    # dx' y
    ta = zero
    tb = zero
    tc = zero
    td = zero
    for t in range(lo, hi):
        y = load(Y, 2 * t * P + k)
        dy = load(Y, (2 * t + 1) * P + k)
        q = P + j
        xa = splat(X[t, j])
        xb = splat(X[t, j + 1])
        xc = splat(X[t, j + 2])
        xd = splat(X[t, j + 3])
        va = fma(xa, y, va)
        vb = fma(xb, y, vb)
        vc = fma(xc, y, vc)
        vd = fma(xd, y, vd)
        sa = fma(xa, dy, sa)
        sb = fma(xb, dy, sb)
        sc = fma(xc, dy, sc)
        sd = fma(xd, dy, sd)
        xa = splat(X[t, q])
        xb = splat(X[t, q + 1])
        xc = splat(X[t, q + 2])
        xd = splat(X[t, q + 3])
        ta = fma(xa, y, ta)
        tb = fma(xb, y, tb)
        tc = fma(xc, y, tc)
        td = fma(xd, y, td)
    q = 2 * j * P + k
    _add(out, q, P, va, add(sa, ta))
    _add(out, q + 2 * P, P, vb, add(sb, tb))
    _add(out, q + 4 * P, P, vc, add(sc, tc))
    _add(out, q + 6 * P, P, vd, add(sd, td))


@kernel
def _add(out: np.ndarray, q: int, P: int, value: Vector, slope: Vector) -> None:
    store(out, q, add(load(out, q), value))
    store(out, q + P, add(load(out, q + P), slope))
