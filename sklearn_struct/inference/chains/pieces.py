"""Eight pieces of tokens side by side: a lane of a vector goes through each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, uncounted
from sklearn_struct.compiled.simd import (
    LANES,
    add,
    exp,
    fma,
    keep,
    load,
    maximum,
    splat,
    store,
    sub,
    workspace,
)

__all__ = ["ALL", "Pieces", "even", "fill", "find_begins", "move", "pieces_of"]

ALL = 255  # the bits of eight lanes
LEAST = -1e300  # stands for a maximum where there is none


class Pieces(NamedTuple):
    """Room for eight pieces of S steps each; the last dimension of tables is that of lanes."""

    begins: np.ndarray  # (S,) the bits of the lanes in which a sequence begins
    E: np.ndarray  # (K * K,) exp(score of a pair - what was taken out)
    U: np.ndarray  # (S, K, 8) exp(node - its maximum); the way back makes it what `pairs` sums
    A: np.ndarray  # (S, K, 8) alpha_t(k) = u_t(k) sum_j alpha_{t-1}(j) E(j, k) scale_t
    scale: np.ndarray  # (S, 8) the maxima that were taken out, then what alphas were divided by
    M: np.ndarray  # (K * K, 8) products of steps
    pairs: np.ndarray  # weighted sums of alpha_t(j) v_{t+1}(k), an even number of rows and columns
    row: np.ndarray  # (K, 8)
    beta: np.ndarray  # (K, 8)


def pieces_of(S: int, E: np.ndarray, K: int) -> Pieces:
    """Room for S steps of K labels."""
    # sums over pairs read one row behind the last one, if there is an odd number of labels
    sizes = [S * K + K % 2, S * K, S, len(E), even(K) ** 2, K, K]
    # one piece of memory: allocations cost as much as sums
    room = workspace((sum(sizes), LANES), np.float64)
    parts = []
    first = 0
    for size in sizes:
        parts.append(room[first : first + size])
        first += size
    return Pieces(np.empty(S, np.uint8), E, *parts)


@inlined
def even(K: int) -> int:
    """The next even number."""
    return K + K % 2


@uncounted
def find_begins(offsets: np.ndarray, first_token: int, example: int, pieces: Pieces) -> None:
    """Write in which lanes sequences begin, in pieces of tokens from `first_token` on, which is of
    a sequence `example`.
    """
    S = len(pieces.begins)
    begins = pieces.begins
    for s in range(S):
        begins[s] = 0
    end = first_token + LANES * S
    i = example if offsets[example] == first_token else example + 1
    while i < len(offsets) - 1 and offsets[i] < end:
        # an empty sequence has the bound of the next one, and so the same bit
        t = offsets[i] - first_token
        begins[t % S] |= 1 << (t // S)
        i += 1
    # behind the last token follow steps of scores 0, which nobody reads
    for t in range(max(offsets[-1] - first_token, 0), LANES * S):
        begins[t % S] |= 1 << (t // S)


@uncounted
def fill(node: np.ndarray, first_token: int, first: int, last: int, pieces: Pieces) -> None:
    """Write the exponentials of some steps to U, and their maxima in the place of scales."""
    n, K = node.shape
    S = len(pieces.begins)
    U = pieces.U
    for s in range(first, last):
        for r in range(LANES):
            t = first_token + r * S + s
            for k in range(K):
                U[s * K + k, r] = node[t, k] if t < n else 0.0
    for s in range(first, last):
        o = s * K * LANES
        top = splat(LEAST)
        for m in range(o, o + K * LANES, LANES):
            top = maximum(load(U, m), top)
        store(pieces.scale, s * LANES, top)
        for m in range(o, o + K * LANES, LANES):
            store(U, m, exp(sub(load(U, m), top)))


@inlined
def move(A: np.ndarray, a: int, E: np.ndarray, K: int, begins: int, row: np.ndarray) -> None:
    """A step from the vectors at `a`, to the sum of these where a sequence begins."""
    for k in range(K):
        x = splat(0.0)
        for j in range(K):
            x = fma(load(A, a + j * LANES), splat(E[j * K + k]), x)
        store(row, k * LANES, x)
    if begins:
        mass = splat(0.0)
        for j in range(K):
            mass = add(mass, load(A, a + j * LANES))
        mass = keep(mass, begins)
        for m in range(0, K * LANES, LANES):
            store(row, m, add(keep(load(row, m), ALL - begins), mass))
