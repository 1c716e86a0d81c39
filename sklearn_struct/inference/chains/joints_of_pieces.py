"""Where pieces of tokens meet: the alphas before them, and the betas behind them.

What steps do to any alpha is a matrix, the product of theirs. Its rows become proportional to each
other, as chains forget: then any alpha comes out as the same one, but for its scale, which does not
matter here. So the product of the last steps of a piece tells the alpha behind it, and that of the
first ones the beta before it, most often of a few steps. Where a piece forgets nothing, the product
of all its steps is multiplied by what comes from the piece before, or behind.

A row of a product that is negligible beside others counts as forgotten, though a chain may come
from that label. Where pairs are forbidden or far apart, `few_labels` therefore looks at what came
out of each piece once more (`is_alike`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, uncounted
from sklearn_struct.compiled.simd import LANES, Vector, add, div, fma, keep, load, mul, splat, store
from sklearn_struct.inference.chains.cuts import Cuts
from sklearn_struct.inference.chains.floored_numbers import FLOOR, floored
from sklearn_struct.inference.chains.pieces import (
    ALL,
    STRETCH,
    Pieces,
    fill,
    find_begins,
    is_due,
    move,
)

__all__ = ["Joints", "is_alike", "join"]

FEWEST_STEPS = 24  # between two looks at a product
ALIKE = 1e-14  # relative differences of rows that are proportional, but for rounding
NEGLIGIBLE = 1e-140  # rows beside the whole product, and numbers beside their row
# relative and absolute differences of alphas, or of betas, whose sum is 1
NEAR = 1e-12
NEARLY_NOTHING = 1e-130  # raised numbers are less


class Joints(NamedTuple):
    """Of all pieces: the alpha before it and the beta behind it (n_pieces, K); the products of its
    first and of its last steps (n_pieces, K * K), and whether these are all its steps (n_pieces,).
    """

    alpha: np.ndarray
    beta: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    is_whole: np.ndarray
    can: np.ndarray  # (K,) which labels are possible, of one piece at a time


@uncounted
def join(
    node: np.ndarray,
    offsets: np.ndarray,
    cuts: Cuts,
    pieces: Pieces,
    most_steps: int,
    joints: Joints,
) -> bool:
    """Write alphas and betas, each of the sum 1; or return False, where that takes products of more
    than `most_steps` steps.
    """
    S = len(pieces.begins)
    if cuts.at_begins:
        _join_nothing(joints)
        return True
    for p in range(0, len(joints.is_whole), LANES):
        find_begins(offsets, cuts.starts, p, cuts.first[p], pieces)
        n = _multiply(node, cuts.starts, p, pieces, True, most_steps)
        if n == 0:
            return False
        for r in range(p, p + LANES):
            joints.is_whole[r] = n == S
        _keep(pieces, p, joints.end)
        if n < S and _multiply(node, cuts.starts, p, pieces, False, most_steps) == 0:
            return False
        _keep(pieces, p, joints.begin)
    _alphas(node, offsets, cuts.last, pieces.E, joints)
    _betas(node, offsets, cuts.first, pieces.E, joints)
    return True


@inlined
def _join_nothing(joints: Joints) -> None:
    """Where each piece begins with a sequence, any alphas and betas will do."""
    n, K = joints.alpha.shape
    for p in range(n):
        for k in range(K):
            joints.alpha[p, k] = 1.0 / K
            joints.beta[p, k] = 1.0 / K


@uncounted
def _multiply(
    node: np.ndarray, starts: np.ndarray, p: int, pieces: Pieces, at_end: bool, most_steps: int
) -> int:
    """M becomes the products of as many last steps as tell the alpha behind them, or of as many
    first steps as tell the beta before them, or of all; return how many, or 0.
    """
    S = len(pieces.begins)
    n = 0
    _begin(pieces)
    while n < most_steps:
        more = min(n + max(FEWEST_STEPS, n // 2), S)
        for i in range(n, more):
            s = S - 1 - i if at_end else i
            if i == n or s % STRETCH == (STRETCH - 1 if at_end else 0):
                low = s - s % STRETCH
                fill(node, starts, p, low, min(low + STRETCH, S), pieces)
            if at_end:
                mass = _put_before(pieces, s)
            else:
                mass = _put_behind(pieces, s)
            if i == more - 1 or is_due(mass, s):
                _scale(pieces, mass)
        n = more
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
def _put_before(pieces: Pieces, s: int) -> Vector:
    """M becomes the product of step s and M: its columns go back like betas. Return its sum."""
    K = len(pieces.row)
    E = pieces.E
    M = pieces.M
    row = pieces.row
    begins = pieces.begins[s]
    below = K * LANES
    total = splat(0.0)
    for c in range(0, below, LANES):
        mass = splat(0.0)
        for j in range(K):
            u = load(pieces.U, s % STRETCH * below + j * LANES)
            b = load(M, j * below + c)
            v = floored(b, u, mul(u, b))
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
            total = add(total, b)
    return total


@inlined
def _put_behind(pieces: Pieces, s: int) -> Vector:
    """M becomes the product of M and step s: its rows go on like alphas. Return its sum."""
    K = len(pieces.row)
    total = splat(0.0)
    below = K * LANES
    for a in range(0, K * below, below):
        move(pieces.M, a, pieces.E, K, pieces.begins[s], pieces.row)
        for m in range(0, below, LANES):
            x = load(pieces.row, m)
            u = load(pieces.U, s % STRETCH * below + m)
            y = floored(x, u, mul(x, u))
            store(pieces.M, a + m, y)
            total = add(total, y)
    return total


@inlined
def _scale(pieces: Pieces, mass: Vector) -> None:
    """Divide M by its sums."""
    scale = div(splat(1.0), mass)
    for m in range(0, len(pieces.E) * LANES, LANES):
        store(pieces.M, m, mul(load(pieces.M, m), scale))


@inlined
def _is_forgetful(pieces: Pieces) -> bool:
    """Whether the rows of each of the products, which sum to 1, are proportional to each other."""
    K = len(pieces.row)
    M = pieces.M
    for r in range(LANES):
        heaviest = 0
        of_heaviest = 0.0
        for j in range(K):
            mass = 0.0
            for k in range(K):
                mass += M[j * K + k, r]
            if mass > of_heaviest:
                heaviest = j
                of_heaviest = mass
        for j in range(K):
            mass = 0.0
            for k in range(K):
                mass += M[j * K + k, r]
            for k in range(K if not mass < NEGLIGIBLE else 0):
                share = M[heaviest * K + k, r] / of_heaviest
                # NaN is unlike anything
                if not abs(M[j * K + k, r] / mass - share) <= ALIKE * share + NEGLIGIBLE:
                    return False
    return True


@inlined
def is_alike(x: float, joint: float) -> bool:
    """Whether a joint has what came out of a piece, of alphas whose sum is 1, or of betas: also
    whether that is possible at all.
    """
    return abs(x - joint) <= NEAR * joint + NEARLY_NOTHING and (x > 0.0) == (joint > 0.0)


@inlined
def _keep(pieces: Pieces, p: int, products: np.ndarray) -> None:
    """Products of eight pieces, of which p is the first one."""
    for r in range(LANES):
        for m in range(len(pieces.E)):
            products[p + r, m] = pieces.M[m, r]


@inlined
def _find_possible(node: np.ndarray, t: int, E: np.ndarray, forward: bool, can: np.ndarray) -> None:
    """Write which labels can be later than token t, or earlier, as far as pairs say."""
    K = len(can)
    for k in range(K):
        can[k] = node[t, k] > -np.inf
    for _ in range(K - 1):
        for j in range(K):
            for k in range(K):
                if E[j * K + k] > 0.0 and can[j if forward else k]:
                    can[k if forward else j] = True


@inlined
def _alphas(
    node: np.ndarray,
    offsets: np.ndarray,
    last: np.ndarray,
    E: np.ndarray,
    joints: Joints,
) -> None:
    """Of pieces whose last tokens are of the sequences `last`."""
    n, K = joints.alpha.shape
    for k in range(K):
        joints.alpha[0, k] = 1.0 / K
    for p in range(n - 1):
        # pieces without tokens have any
        _find_possible(node, min(offsets[last[p]], len(node) - 1), E, True, joints.can)
        mass = 0.0
        for k in range(K):
            x = 0.0
            for j in range(K):
                # any alpha is as good as another one, but where all steps are known
                before = joints.alpha[p, j] if joints.is_whole[p] else np.float64(joints.can[j])
                step = joints.end[p, j * K + k]
                if before > 0.0 and step > 0.0:
                    x += max(before * step, FLOOR)
            joints.alpha[p + 1, k] = x
            mass += x
        for k in range(K):
            joints.alpha[p + 1, k] /= mass


@inlined
def _betas(
    node: np.ndarray,
    offsets: np.ndarray,
    first: np.ndarray,
    E: np.ndarray,
    joints: Joints,
) -> None:
    """Of pieces whose first tokens are of the sequences `first`."""
    n, K = joints.beta.shape
    for k in range(K):
        joints.beta[n - 1, k] = 1.0 / K
    for p in range(n - 1, 0, -1):
        end = offsets[min(first[p] + 1, len(offsets) - 1)]
        _find_possible(node, end - 1, E, False, joints.can)
        mass = 0.0
        for j in range(K):
            x = 0.0
            for k in range(K):
                behind = joints.beta[p, k] if joints.is_whole[p] else np.float64(joints.can[k])
                step = joints.begin[p, j * K + k]
                if behind > 0.0 and step > 0.0:
                    x += max(step * behind, FLOOR)
            joints.beta[p - 1, j] = x
            mass += x
        for k in range(K):
            joints.beta[p - 1, k] /= mass
