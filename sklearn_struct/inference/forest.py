"""Inside and outside vectors of packed trees under a grammar with states (tensor form), and sums of their products.

The equations are those of Cohen et al. (2012), figures 2 and 3. Numbers may be negative, as spectral estimates are.
Inside vectors are relative to the largest number of each, whose logarithm is kept; outside vectors are relative to its
inverse, and divided by Z: so the product of both is a posterior probability, and trees may have any size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.batch import Forest
from sklearn_struct.kernel import kernel
from sklearn_struct.simd import LANES, fma, load, padded, splat, store, total

__all__ = ["Vectors", "add_moments", "inside", "outside", "vectors"]


class Vectors(NamedTuple):
    """A row for each item, padded as those of Tensors: item p's is at ``row[start[p]]``; times ``exp(scale[p])``."""

    start: np.ndarray
    row: np.ndarray
    scale: np.ndarray


def vectors(forest: Forest, n_states: np.ndarray) -> Vectors:
    """Rows of zeros."""
    width = (n_states[forest.symbol] + LANES - 1) // LANES * LANES
    start = np.concatenate([[0], np.cumsum(width, dtype=np.int64)])
    return Vectors(start, np.zeros(start[-1]), np.full(len(width), -np.inf))


@kernel
def inside(grammar, tensors, forest, out):
    """Write the inside vector of each item (figure 2): zeros, and a scale of -inf, where there is no tree."""
    start, row, scale = out.start, out.row, out.scale
    for p in range(len(forest.symbol)):
        a, width = start[p], start[p + 1] - start[p]
        if forest.leaf[p] >= 0:
            first = tensors.leaf_start[forest.leaf[p]]
            for i in range(width):
                row[a + i] = tensors.leaf[first + i]
            scale[p] = 0.0
        else:
            for e in range(forest.indptr[p], forest.indptr[p + 1]):
                scale[p] = max(scale[p], scale[forest.left[e]] + scale[forest.right[e]])
            if scale[p] > -np.inf:
                for e in range(forest.indptr[p], forest.indptr[p + 1]):
                    _join(grammar, tensors, forest, e, p, out)
        peak = 0.0
        for i in range(a, a + width):
            peak = max(peak, abs(row[i]))
        for i in range(a, a + width if peak > 0.0 else a):
            row[i] /= peak
        scale[p] = scale[p] + np.log(peak) if peak > 0.0 else -np.inf


@kernel
def _join(grammar, tensors, forest, e, p, out):
    """Add to an item's vector what comes from the edge e."""
    start, row, scale = out.start, out.row, out.scale
    left, right, r = forest.left[e], forest.right[e], forest.rule[e]
    factor = np.exp(scale[left] + scale[right] - scale[p])
    if factor == 0.0:
        return
    m, n = tensors.n_states[grammar.left[r]], tensors.n_states[grammar.right[r]]
    width, first = start[p + 1] - start[p], tensors.rule_start[r]
    for i in range(0, width, LANES):
        x = load(row, start[p] + i)
        for j in range(m):
            u, v, t = splat(0.0), splat(0.0), first + j * n * width + i
            for k in range(0, n - 1, 2):
                u = fma(splat(row[start[right] + k]), load(tensors.rule, t), u)
                v = fma(splat(row[start[right] + k + 1]), load(tensors.rule, t + width), v)
                t += 2 * width
            if n % 2:
                u = fma(splat(row[start[right] + n - 1]), load(tensors.rule, t), u)
            y = splat(factor * row[start[left] + j])
            x = fma(y, v, fma(y, u, x))
        store(row, start[p] + i, x)


@kernel
def outside(grammar, tensors, forest, inner, out, log_Z, sign, edge):
    """Write outside vectors (figure 3), the posterior probability of each edge, and log |Z| and the sign of Z.

    Where Z is 0 its logarithm is -inf, its sign 0, and nothing else of the example is written.
    """
    row = out.row
    work = np.empty(padded(tensors.n_states.max()) ** 2)
    for i in range(len(forest.offsets) - 1):
        first, last = forest.offsets[i], forest.offsets[i + 1]
        log_Z[i], sign[i] = _roots(tensors, forest, first, last, inner, row)
        for p in range(last - 1, first - 1 if sign[i] != 0.0 else last - 1, -1):
            for e in range(forest.indptr[p], forest.indptr[p + 1]):
                edge[e] = _part(grammar, tensors, forest, e, p, inner, row, work)


@kernel
def _roots(tensors, forest, first, last, inner, row):
    """Outside vectors of an example's roots; log |Z| and its sign."""
    start, scale, mass, top = inner.start, inner.scale, 0.0, -np.inf
    p = last - 1
    while p >= first and forest.start[p] == forest.start[last - 1] and forest.stop[p] == forest.stop[last - 1]:
        top = max(top, scale[p])
        p -= 1
    for q in range(p + 1, last if top > -np.inf else p + 1):
        factor, r = np.exp(scale[q] - top), tensors.root_start[forest.symbol[q]]
        for i in range(start[q + 1] - start[q]):
            row[start[q] + i] = factor * tensors.root[r + i]
            mass += row[start[q] + i] * inner.row[start[q] + i]
    if mass == 0.0:
        return -np.inf, 0.0
    for i in range(start[p + 1], start[last]):
        row[i] /= mass
    return top + np.log(abs(mass)), np.sign(mass)


@kernel
def _part(grammar, tensors, forest, e, p, inner, row, work):
    """Add to the outside vectors of an edge's children what comes from their parent p; the edge's posterior."""
    start, scale = inner.start, inner.scale
    left, right, r = forest.left[e], forest.right[e], forest.rule[e]
    factor = np.exp(scale[left] + scale[right] - scale[p])
    if not factor > 0.0:
        return 0.0
    m, n = tensors.n_states[grammar.left[r]], tensors.n_states[grammar.right[r]]
    a, b, width = start[left], start[right], start[p + 1] - start[p]
    t = tensors.rule_start[r]
    for jk in range(m * n):
        x = splat(0.0)
        for i in range(0, width, LANES):
            x = fma(load(tensors.rule, t + i), load(row, start[p] + i), x)
        work[jk] = total(x)
        t += width
    posterior = 0.0
    for j in range(m):
        x, y = 0.0, factor * inner.row[a + j]
        for k in range(n):
            x += work[j * n + k] * inner.row[b + k]
            row[b + k] += y * work[j * n + k]
        row[a + j] += factor * x
        posterior += y * x
    return posterior


@kernel
def add_moments(tensors, grammar, edges, inner, outer, rules, out):
    """Add the sums over the edges of each rule of ``weight * left inner x right inner x parent's outer row``.

    ``edges`` are those in the order of their rules, as (bounds of each rule; left, right and parent item; weight), and
    `rules` is the range for which it is done. Sums stand in `out` where the rules stand in `tensors.rule`.
    """
    bounds, left, right, parent, weight = edges
    start, row = inner.start, inner.row
    for r in range(rules[0], rules[1]):
        m, n = tensors.n_states[grammar.left[r]], tensors.n_states[grammar.right[r]]
        width = padded(tensors.n_states[grammar.parent[r]])
        for e in range(bounds[r], bounds[r + 1]):
            a, b, c, t = start[left[e]], start[right[e]], start[parent[e]], tensors.rule_start[r]
            for j in range(m):
                x = weight[e] * row[a + j]
                for k in range(n):
                    y = splat(x * row[b + k])
                    for i in range(0, width, LANES):
                        store(out, t + i, fma(y, load(outer, c + i), load(out, t + i)))
                    t += width
