"""Eight pieces of tokens side by side: a lane of a vector goes through each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel, uncounted
from sklearn_struct.compiled.simd import (
    LANES,
    Vector,
    add,
    at,
    fma,
    keep,
    least,
    load,
    maximum,
    splat,
    store,
    sub,
)
from sklearn_struct.inference.chains.floored_numbers import raised_exp

__all__ = [
    "ALL",
    "STRETCH",
    "Pieces",
    "even",
    "fill",
    "find_begins",
    "is_due",
    "move",
    "n_rows",
    "span_of",
]

ALL = 255  # the bits of eight lanes
STRETCH = 32  # steps that are written and whose pairs are added up at once, while they are near
LOWEST = -1e300  # stands for a maximum where there is none
MOST_STEPS = 16  # between two scalings
LEAST_MASS = 1e-10  # numbers of a smaller sum are scaled at once


class Pieces(NamedTuple):
    """Room for eight pieces of S steps each; the last dimension of tables is that of lanes."""

    begins: np.ndarray  # (S,) the bits of the lanes in which a sequence begins
    E: np.ndarray  # (K * K,) exp(score of a pair - what was taken out), raised
    marks: np.ndarray  # (n_spans, K, 8) the alphas that come to each span of steps
    # of the steps of one span: (span, K, 8) exp(node - its maximum), raised, of which the way back
    # makes what `pairs` sums
    U: np.ndarray
    tops: np.ndarray  # (span, 8) the maxima
    # (span + 1, K, 8) what comes to it, and alpha_t(k) = u_t(k) sum_j alpha_{t-1}(j) E(j, k)
    # scale_t
    A: np.ndarray
    scale: np.ndarray  # (span, 8)
    is_scaled: np.ndarray  # (span,)
    nodes: np.ndarray  # (STRETCH, K, 8) weighted marginals
    M: np.ndarray  # (K * K, 8) products of steps
    pairs: np.ndarray  # weighted sums of alpha_t(j) v_{t+1}(k), an even number of rows and columns
    row: np.ndarray  # (K, 8)
    beta: np.ndarray  # (K, 8)


@kernel
def n_rows(S: int, K: int, n_pairs: int, n_tokens: int) -> int:
    """How many rows of eight numbers all but the first fields of `Pieces` need."""
    span = span_of(S, n_tokens)
    of_steps = (S + span - 1) // span * K + 2 * (span * K + K % 2) + K + 2 * span
    return of_steps + STRETCH * K + n_pairs + even(K) ** 2 + 2 * K


@kernel
def span_of(S: int, n_tokens: int) -> int:
    """As many steps as take a sixth of the memory of the scores of all tokens."""
    return min(S, STRETCH * max(n_tokens // (24 * LANES * STRETCH), 1))


@inlined
def even(K: int) -> int:
    """The next even number."""
    return K + K % 2


@inlined
def is_due(mass: Vector, s: int) -> bool:
    """Whether numbers of this sum are to be scaled at step s."""
    return s % MOST_STEPS == 0 or least(mass) < LEAST_MASS


@uncounted
def find_begins(
    offsets: np.ndarray, starts: np.ndarray, p: int, example: int, pieces: Pieces
) -> None:
    """Write in which lanes sequences begin, in pieces from p on, whose first token is of a sequence
    `example`.
    """
    S = len(pieces.begins)
    begins = pieces.begins
    for s in range(S):
        begins[s] = 0
    i = example if offsets[example] == starts[p] else example + 1
    for r in range(LANES):
        bit = np.uint8(1 << r)
        while i < len(offsets) - 1 and offsets[i] < starts[p + r + 1]:
            # an empty sequence has the bound of the next one, and so the same bit
            begins[offsets[i] - starts[p + r]] |= bit
            i += 1
        # behind the last token follow steps of scores 0, which nobody reads
        end = starts[p + r + 1] - starts[p + r]
        if end < S:
            begins[end] |= bit


@uncounted
def fill(
    node: np.ndarray, starts: np.ndarray, p: int, first: int, last: int, pieces: Pieces
) -> None:
    """Write the exponentials of the steps of one span, or of its first ones, and their maxima."""
    K = node.shape[1]
    U = pieces.U
    for r in range(LANES):
        start = starts[p + r] + first
        n_numbers = K * max(min(last - first, starts[p + r + 1] - start), 0)
        for m in range(n_numbers):
            U[m, r] = at(node, start * K + m)
        for m in range(n_numbers, K * (last - first)):
            U[m, r] = 0.0
    for s in range(last - first):
        o = s * K * LANES
        top = splat(LOWEST)
        for m in range(o, o + K * LANES, LANES):
            top = maximum(load(U, m), top)
        store(pieces.tops, s * LANES, top)
        for m in range(o, o + K * LANES, LANES):
            store(U, m, raised_exp(sub(load(U, m), top)))


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
