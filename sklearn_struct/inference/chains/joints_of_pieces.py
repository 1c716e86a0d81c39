"""Where pieces of tokens meet: the alphas before them, and the betas behind them.

What steps do to any alpha is a matrix, the product of theirs. Its rows become proportional to each
other, as chains forget: then any alpha comes out as the same one, but for its scale, which does not
matter here. So the product of the last steps of a piece tells the alpha behind it, and that of the
first ones the beta before it, most often of a few steps. Where a piece forgets nothing, the product
of all its steps is multiplied by what comes from the piece before, or behind.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, uncounted
from sklearn_struct.compiled.simd import LANES, add, div, fma, keep, load, mul, splat, store
from sklearn_struct.inference.chains.pieces import ALL, Pieces, fill, find_begins, move

__all__ = ["Joints", "join", "joints_of"]

FEWEST_STEPS = 24  # between two looks at a product
ALIKE = 1e-14  # relative differences of rows that are proportional, but for rounding


class Joints(NamedTuple):
    """Of all pieces: the alpha before it and the beta behind it (n_pieces, K); the products of its
    first and of its last steps (n_pieces, K * K), and whether these are all its steps (n_pieces,);
    the sequences of its first and of its last token (n_pieces,).
    """

    alpha: np.ndarray
    beta: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    is_whole: np.ndarray
    first: np.ndarray
    last: np.ndarray


def joints_of(first: np.ndarray, last: np.ndarray, K: int, n_pairs: int) -> Joints:
    """Room for those of pieces whose first and last tokens are of these sequences."""
    n_pieces = len(first)
    return Joints(
        np.empty((n_pieces, K)),
        np.empty((n_pieces, K)),
        np.empty((n_pieces, n_pairs)),
        np.empty((n_pieces, n_pairs)),
        np.empty(n_pieces, dtype=bool),
        first,
        last,
    )


@uncounted
def join(
    node: np.ndarray,
    offsets: np.ndarray,
    pieces: Pieces,
    every: int,
    most_steps: int,
    joints: Joints,
) -> bool:
    """Write alphas and betas, each of the sum 1; or return False, where that takes products of more
    than `most_steps` steps. Numbers are scaled at each step that `every` divides.
    """
    S = len(pieces.begins)
    for p in range(0, len(joints.is_whole), LANES):
        find_begins(offsets, p * S, joints.first[p], pieces)
        n = _multiply(node, p, pieces, True, every, most_steps)
        if n == 0:
            return False
        for r in range(p, p + LANES):
            joints.is_whole[r] = n == S
        _keep(pieces, p, joints.end)
        if n < S and _multiply(node, p, pieces, False, every, most_steps) == 0:
            return False
        _keep(pieces, p, joints.begin)
    _alphas(joints)
    _betas(joints)
    return True


@uncounted
def _multiply(
    node: np.ndarray, p: int, pieces: Pieces, at_end: bool, every: int, most_steps: int
) -> int:
    """M becomes the products of as many last steps as tell the alpha behind them, or of as many
    first steps as tell the beta before them, or of all; return how many, or 0.
    """
    S = len(pieces.begins)
    n = 0
    _begin(pieces)
    while n < most_steps:
        more = min(n + max(FEWEST_STEPS, n // 2), S)
        fill(node, p * S, S - more if at_end else n, S - n if at_end else more, pieces)
        for i in range(n, more):
            s = S - 1 - i if at_end else i
            if at_end:
                _put_before(pieces, s)
            else:
                _put_behind(pieces, s)
            if s % every == 0:
                _scale(pieces)
        n = more
        _scale(pieces)
        if n == S or _is_forgetful(pieces):
            return n
    return 0


@inlined
def _begin(pieces: Pieces) -> None:
    """M becomes the product of no steps."""
    K = len(pieces.row)
    for m in range(0, len(pieces.E) * LANES, LANES):
        store(pieces.M, m, splat(0.0))
    for k in range(K):
        store(pieces.M, (k * K + k) * LANES, splat(1.0))


@inlined
def _put_before(pieces: Pieces, s: int) -> None:
    """M becomes the product of step s and M: its columns go back like betas."""
    K = len(pieces.row)
    E = pieces.E
    M = pieces.M
    row = pieces.row
    begins = pieces.begins[s]
    below = K * LANES
    for c in range(0, below, LANES):
        mass = splat(0.0)
        for j in range(K):
            v = mul(load(pieces.U, s * below + j * LANES), load(M, j * below + c))
            store(row, j * LANES, v)
            mass = add(mass, v)
        mass = keep(mass, begins)
        for i in range(K):
            b = splat(0.0)
            for j in range(K):
                b = fma(load(row, j * LANES), splat(E[i * K + j]), b)
            if begins:
                b = add(keep(b, ALL - begins), mass)
            store(M, i * below + c, b)


@inlined
def _put_behind(pieces: Pieces, s: int) -> None:
    """M becomes the product of M and step s: its rows go on like alphas."""
    K = len(pieces.row)
    below = K * LANES
    for a in range(0, K * below, below):
        move(pieces.M, a, pieces.E, K, pieces.begins[s], pieces.row)
        for m in range(0, below, LANES):
            x = mul(load(pieces.row, m), load(pieces.U, s * below + m))
            store(pieces.M, a + m, x)


@inlined
def _scale(pieces: Pieces) -> None:
    """Divide M by its sums."""
    mass = splat(0.0)
    for m in range(0, len(pieces.E) * LANES, LANES):
        mass = add(mass, load(pieces.M, m))
    scale = div(splat(1.0), mass)
    for m in range(0, len(pieces.E) * LANES, LANES):
        store(pieces.M, m, mul(load(pieces.M, m), scale))


@inlined
def _is_forgetful(pieces: Pieces) -> bool:
    """Whether the rows of each of the products are proportional to each other."""
    K = len(pieces.row)
    M = pieces.M
    for r in range(LANES):
        of_first = 0.0
        for k in range(K):
            of_first += M[k, r]
        for j in range(1, K):
            mass = 0.0
            for k in range(K):
                mass += M[j * K + k, r]
            for k in range(K):
                share = M[k, r] / of_first
                # NaN is unlike anything
                if not abs(M[j * K + k, r] / mass - share) <= ALIKE * share:
                    return False
    return True


@inlined
def _keep(pieces: Pieces, p: int, products: np.ndarray) -> None:
    """Products of eight pieces, of which p is the first one."""
    for r in range(LANES):
        for m in range(len(pieces.E)):
            products[p + r, m] = pieces.M[m, r]


@inlined
def _alphas(joints: Joints) -> None:
    n, K = joints.alpha.shape
    for k in range(K):
        joints.alpha[0, k] = 1.0 / K
    for p in range(n - 1):
        mass = 0.0
        for k in range(K):
            x = 0.0
            for j in range(K):
                # any alpha is as good as another one, but where all steps are known
                before = joints.alpha[p, j] if joints.is_whole[p] else 1.0
                x += before * joints.end[p, j * K + k]
            joints.alpha[p + 1, k] = x
            mass += x
        for k in range(K):
            joints.alpha[p + 1, k] /= mass


@inlined
def _betas(joints: Joints) -> None:
    n, K = joints.beta.shape
    for k in range(K):
        joints.beta[n - 1, k] = 1.0 / K
    for p in range(n - 1, 0, -1):
        mass = 0.0
        for j in range(K):
            x = 0.0
            for k in range(K):
                behind = joints.beta[p, k] if joints.is_whole[p] else 1.0
                x += joints.begin[p, j * K + k] * behind
            joints.beta[p - 1, j] = x
            mass += x
        for k in range(K):
            joints.beta[p - 1, k] /= mass
