"""Sequences of `second_order` side by side, in the lanes of vectors; exponentials of scores."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import (
    LANES,
    Vector,
    at,
    exp,
    load,
    maximum,
    minimum,
    padded,
    splat,
    store,
    sub,
)

__all__ = [
    "Lanes",
    "Tables",
    "add_lanes",
    "entry",
    "fill_edges",
    "fill_nodes",
    "fill_shared",
    "is_shared",
    "spread_edges",
]

# scores of pairs and of triples
Tables: TypeAlias = tuple[np.ndarray, np.ndarray]

LEAST = -1e300  # stands for the maximum where there is none


class Lanes(NamedTuple):
    """Eight sequences, longest first, and room for them. Tables are flat, with eight numbers for
    each entry.
    """

    # (4, 8) first token of each, its number of tokens, its first edge, and where its triples begin
    # if its first tokens had some, too
    tokens: np.ndarray
    weight: np.ndarray  # (8,)
    logs: np.ndarray  # (8,) log Z, nan where the scaled result cannot be trusted
    spread: np.ndarray  # (2, 8) the largest ranges of a token's scores and of an edge's
    top: np.ndarray  # (2,) the maxima of the two tables, where all edges share them
    row: np.ndarray  # two vectors
    U: np.ndarray  # (T, K) u_t = exp(node - its maximum); 0 behind the end
    # (T, K, K) alpha_t(j, k) = u_t(k) sum_i alpha_{t-1}(i, j) G(i, j, k) / c_t, which sums to 1
    A: np.ndarray
    B: np.ndarray  # (T, K, K) beta_t(j, k); alpha_t * beta_t are marginals. In the end v_t
    V: np.ndarray  # (K, K) v_t(j, k) = u_t(k) beta_t(j, k) / c_t; then sums over pairs
    scale: np.ndarray  # (T,) 1 / c_t
    first: np.ndarray  # (K, K) G of a first edge, exp(score - its maximum)
    # (K, K, K) G of another; both have one number for each entry if all edges share them
    later: np.ndarray


@inlined
def is_shared(tables: Tables) -> bool:
    """Whether all pairs share a table, and all triples."""
    edge, triple = tables
    return len(edge) == 1 and len(triple) == 1


@inlined
def fill_shared(
    tables: Tables, later: int, table: np.ndarray, top: np.ndarray, spread: np.ndarray
) -> None:
    """Exponentials of the scores of first or later edges, where all share a table, and their
    maximum and range.
    """
    edge, triple = tables
    most = -np.inf
    least = np.inf
    n_pairs = edge.shape[1]
    n = triple.shape[1] if later else n_pairs
    for m in range(n):
        table[m] = edge[0, m % n_pairs]
        # a score of three labels in a row comes with that of the last two
        if later:
            table[m] += triple[0, m]
        most = max(most, table[m])
        least = min(least, table[m])
    most = max(most, LEAST)
    # exponentials of the padding are 0
    for m in range(n, padded(n)):
        table[m] = LEAST
    for m in range(0, n, LANES):
        # vectors along the table: it is made once for all groups
        store(table, m, exp(sub(load(table, m), splat(most))))
    top[later] = most
    spread[later] = most - least


@kernel
def fill_edges(tables: Tables, t: int, lanes: Lanes) -> None:
    """The same for the edges into tokens t, where each has a table of its own; a lane without one
    gets zeros.
    """
    row = lanes.row
    infinity = splat(np.inf)
    table = lanes.first if t == 1 else lanes.later
    n = LANES * spread_edges(tables, t, lanes, table)
    best = sub(splat(0.0), infinity)
    low = infinity
    for m in range(0, n, LANES):
        best = maximum(load(table, m), best)
        low = minimum(load(table, m), low)
    _note(best, low, row)
    for m in range(0, n, LANES):
        store(table, m, exp(sub(load(table, m), load(row, 0))))


@inlined
def spread_edges(tables: Tables, t: int, lanes: Lanes, out: np.ndarray) -> int:
    """Write the numbers of the edges into tokens t, pair plus triple, side by side; return of how
    many pairs or triples.
    """
    edge, triple = tables
    last = len(edge) - 1
    last_triple = len(triple) - 1
    n_pairs = edge.shape[1]
    n_before = 1 if t == 1 else triple.shape[1] // n_pairs
    n: int = n_before * n_pairs
    # a lane without a token here must only be finite; U makes its products 0
    out[: n * LANES] = 0.0
    for r in range(LANES):
        # the longest come first
        if t >= lanes.tokens[1, r]:
            break
        pairs = edge[min(lanes.tokens[2, r] + t - 1, last)]
        triples = triple[min(lanes.tokens[3, r] + t, last_triple)] if t > 1 else pairs
        for i in range(n_before):
            for pair in range(n_pairs):
                m = i * n_pairs + pair
                out[m * LANES + r] = pairs[pair] + triples[m] if t > 1 else pairs[pair]
    return n


@kernel
def _note(best: Vector, low: Vector, row: np.ndarray) -> None:
    """Write maxima and ranges, of what is all forbidden too; then exponentials are 0, not nan."""
    store(row, 0, best)
    store(row, LANES, low)
    for r in range(LANES):
        row[r] = max(row[r], LEAST)
        row[LANES + r] = row[r] - row[LANES + r]


@inlined
def add_lanes(
    value: Vector, t: int, places: tuple[int, int], column: int, lanes: Lanes, out: np.ndarray
) -> None:
    """Add the lanes that have a token t to a column of `out`: each to the row that it has among the
    `tokens` of the first place, plus the second; or to the only row.
    """
    kind, shift = places
    row = lanes.row
    last = len(out) - 1
    store(row, 0, value)
    for r in range(LANES):
        if t < lanes.tokens[1, r]:
            out[min(lanes.tokens[kind, r] + shift, last), column] += row[r]


@kernel
def entry(table: np.ndarray, m: int, shared: bool) -> Vector:
    """Entry m of a table as a vector."""
    return splat(at(table, m)) if shared else load(table, m * LANES)


@inlined
def fill_nodes(node: np.ndarray, lanes: Lanes) -> None:
    """Fill U; add to log Z the maxima that were taken out, and note the ranges."""
    U = lanes.U
    row = lanes.row
    K = node.shape[1]
    for t in range(lanes.tokens[1, 0]):
        best = splat(-np.inf)
        low = splat(np.inf)
        for k in range(K):
            m = (t * K + k) * LANES
            for r in range(LANES):
                U[m + r] = node[lanes.tokens[0, r] + t, k] if t < lanes.tokens[1, r] else -np.inf
            best = maximum(load(U, m), best)
            low = minimum(load(U, m), low)
        _note(best, low, row)
        for r in range(LANES):
            if t < lanes.tokens[1, r]:
                lanes.logs[r] += row[r]
                # nan as well
                if not row[LANES + r] <= lanes.spread[0, r]:
                    lanes.spread[0, r] = row[LANES + r]
        for k in range(K):
            m = (t * K + k) * LANES
            store(U, m, exp(sub(load(U, m), load(row, 0))))
