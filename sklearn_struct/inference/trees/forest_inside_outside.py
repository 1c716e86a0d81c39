"""Inside and outside vectors of packed trees under a grammar with states, and moments of rules.

The equations are those of Cohen et al. (2012), figures 2 and 3. Numbers may be negative, as
spectral estimates are. Inside vectors are relative to the largest number of each, whose logarithm
is kept; outside vectors are relative to its inverse, and divided by Z: so the product of both is a
posterior probability, and trees may have any size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import STEPS, inlined, kernel
from sklearn_struct.compiled.simd import LANES, fma, load, padded, splat, store, total
from sklearn_struct.compiled.threads import go_on
from sklearn_struct.containers.trees import Forest, Grammar, Tensors

__all__ = ["Vectors", "add_moments", "inside", "outside", "vectors"]

# Numbers of an inside vector below this share of its largest one get no outside number, which would
# overflow.
LEAST = 1e-290


class Vectors(NamedTuple):
    """A vector for each item: the row at ``row[start[p]]`` times ``exp(scale[p])``.

    Rows are padded as those of Tensors.
    """

    start: np.ndarray
    row: np.ndarray
    scale: np.ndarray


def vectors(forest: Forest, n_states: np.ndarray) -> Vectors:
    """Rows of zeros."""
    # whole vectors, so that both directions are products without a rest
    width = (n_states[forest.symbol] + LANES - 1) // LANES * LANES
    start = np.concatenate([[0], np.cumsum(width, dtype=np.int64)])
    return Vectors(start, np.zeros(start[-1]), np.full(len(width), -np.inf))


def inside(grammar: Grammar, tensors: Tensors, forest: Forest, out: Vectors) -> None:
    """Write the inside vector of each item (figure 2).

    Where there is no tree it is zeros, with a scale of -inf.
    """
    done = 0
    while done < len(forest.symbol):
        go_on()
        done = _inside(grammar, tensors, forest, out, done, STEPS)


@kernel
def _inside(
    grammar: Grammar, tensors: Tensors, forest: Forest, out: Vectors, begin: int, steps: int
) -> int:
    """The same from item `begin` on; return the item before which it stopped."""
    start = out.start
    row = out.row
    scale = out.scale
    left = forest.left
    right = forest.right
    rules = forest.rule
    leaf = forest.leaf
    indptr = forest.indptr
    numbers, rule_start, n_states, of_left, of_right = _rules(grammar, tensors)
    for p in range(begin, len(leaf)):
        if steps <= 0:
            return p
        a = start[p]
        width = start[p + 1] - start[p]
        first = indptr[p]
        last = indptr[p + 1]
        if leaf[p] >= 0:
            for i in range(width):
                row[a + i] = tensors.leaf[tensors.leaf_start[leaf[p]] + i]
            scale[p] = 0.0
        for e in range(first, last):
            scale[p] = max(scale[p], scale[left[e]] + scale[right[e]])
        for e in range(first, last if scale[p] > -np.inf else first):
            factor = np.exp(scale[left[e]] + scale[right[e]] - scale[p])
            b = start[left[e]]
            c = start[right[e]]
            r = rules[e]
            n = n_states[of_right[r]]
            steps -= 4 + (rule_start[r + 1] - rule_start[r]) // LANES
            # by parent states, all pairs of states below for each: its sum stays in a register
            for i in range(0, width if factor > 0.0 else 0, LANES):
                x = load(row, a + i)
                t = rule_start[r] + i
                for j in range(n_states[of_left[r]]):
                    # two sums, which do not wait for each other
                    u = splat(0.0)
                    v = splat(0.0)
                    for k in range(0, n - 1, 2):
                        u = fma(splat(row[c + k]), load(numbers, t), u)
                        v = fma(splat(row[c + k + 1]), load(numbers, t + width), v)
                        t += 2 * width
                    if n % 2:
                        u = fma(splat(row[c + n - 1]), load(numbers, t), u)
                        t += width
                    y = splat(factor * row[b + j])
                    x = fma(y, v, fma(y, u, x))
                store(row, a + i, x)
        peak = 0.0
        for i in range(a, a + width):
            # by size: spectral estimates may be below 0
            peak = max(peak, abs(row[i]))
        for i in range(a, a + width if peak > 0.0 else a):
            # relative to the largest number: products of two rows never leave the floats
            row[i] /= peak
        scale[p] = scale[p] + np.log(peak) if peak > 0.0 else -np.inf
        steps -= 4
    return len(leaf)


@inlined
def _rules(
    grammar: Grammar, tensors: Tensors
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """What loops read of rules.

    To read the fields of the NamedTuples inside the loops would be two to three times slower.
    """
    return tensors.rule, tensors.rule_start, tensors.n_states, grammar.left, grammar.right


def outside(
    grammar: Grammar,
    tensors: Tensors,
    forest: Forest,
    inner: Vectors,
    out: Vectors,
    log_Z: np.ndarray,
    sign: np.ndarray,
    edge: np.ndarray,
) -> None:
    """Write outside vectors (figure 3), posteriors of edges, log |Z| and the sign of Z.

    Where Z is 0 its logarithm is -inf, its sign 0, and nothing else of the example is written.
    """
    place = np.array([0, -1])
    while not _outside(
        (grammar, tensors, forest), inner, out.row, (log_Z, sign, edge), place, STEPS
    ):
        go_on()


@kernel
def _outside(
    model: tuple[Grammar, Tensors, Forest],
    inner: Vectors,
    above: np.ndarray,
    out: tuple[np.ndarray, np.ndarray, np.ndarray],
    place: np.ndarray,
    steps: int,
) -> bool:
    """Go on from `place`: (example, item), -1 if its roots are still to do; whether all is done."""
    grammar, tensors, forest = model
    start, row, scale = inner
    log_Z, sign, edge = out
    left = forest.left
    right = forest.right
    rules = forest.rule
    indptr = forest.indptr
    numbers, rule_start, n_states, of_left, of_right = _rules(grammar, tensors)
    work = np.empty(padded(n_states.max()) ** 2)
    for x in range(place[0], len(forest.offsets) - 1):
        first = forest.offsets[x]
        last = forest.offsets[x + 1]
        if place[1] < 0:
            log_Z[x], sign[x] = _roots(tensors, forest, first, last, inner, above)
            place[0] = x
            place[1] = last - 1 if sign[x] != 0.0 else first - 1
        for p in range(place[1], first - 1, -1):
            if steps <= 0:
                place[0] = x
                place[1] = p
                return False
            a = start[p]
            width = start[p + 1] - start[p]
            peak = _without_overflow(row, above, a, a + width)
            # outside numbers of rare items are large; their peak goes into the factor
            inverse, log_peak = (1.0 / peak, np.log(peak)) if peak > 0.0 else (0.0, -np.inf)
            steps -= 4
            for e in range(indptr[p], indptr[p + 1]):
                log_factor = scale[left[e]] + scale[right[e]] - scale[p] + log_peak
                edge[e] = 0.0
                # the factor's root, twice: where all numbers of a rule are next to 0, the factor
                # itself may be too large for a float
                half = 0.0
                if -700.0 < log_factor < np.inf:
                    half = np.exp(0.5 * min(log_factor, 1400.0))
                b = start[left[e]]
                c = start[right[e]]
                r = rules[e]
                m = n_states[of_left[r]]
                n = n_states[of_right[r]]
                t = rule_start[r]
                steps -= 4 + 4 * m * n
                for jk in range(m * n if half > 0.0 else 0):
                    z = splat(0.0)
                    for i in range(0, width, LANES):
                        z = fma(load(numbers, t + i), load(above, a + i), z)
                    work[jk] = half * (inverse * total(z))
                    t += width
                for j in range(m if half > 0.0 else 0):
                    below = 0.0
                    y = half * row[b + j]
                    for k in range(n):
                        below += work[j * n + k] * row[c + k]
                        above[c + k] += y * work[j * n + k]
                    above[b + j] += half * below
                    edge[e] += y * below
                edge[e] = edge[e] if abs(edge[e]) < np.inf else 0.0
        place[1] = -1
    return True


@inlined
def _without_overflow(row: np.ndarray, above: np.ndarray, first: int, stop: int) -> float:
    """Set the outside numbers of states that pass nothing on to 0; the largest that is left."""
    peak = 0.0
    for i in range(first, stop):
        above[i] = above[i] if abs(row[i]) > LEAST and abs(above[i]) < np.inf else 0.0
        peak = max(peak, abs(above[i]))
    return peak


@kernel
def _roots(
    tensors: Tensors, forest: Forest, first: int, last: int, inner: Vectors, row: np.ndarray
) -> tuple[float, float]:
    """Write the outside vectors of an example's roots; log |Z| and the sign of Z."""
    start = inner.start
    scale = inner.scale
    mass = 0.0
    top = -np.inf
    p = last - 1
    while (
        p >= first
        and forest.start[p] == forest.start[last - 1]
        and forest.stop[p] == forest.stop[last - 1]
    ):
        top = max(top, scale[p])
        p -= 1
    for q in range(p + 1, last if top > -np.inf else p + 1):
        factor = np.exp(scale[q] - top)
        r = tensors.root_start[forest.symbol[q]]
        for i in range(start[q + 1] - start[q]):
            row[start[q] + i] = factor * tensors.root[r + i]
            mass += row[start[q] + i] * inner.row[start[q] + i]
    if mass == 0.0:
        return -np.inf, 0.0
    for i in range(start[p + 1], start[last]):
        row[i] /= mass
    return top + np.log(abs(mass)), np.sign(mass)


def add_moments(
    tensors: Tensors,
    grammar: Grammar,
    edges: tuple[np.ndarray, ...],
    inner: Vectors,
    outer: np.ndarray,
    rules: tuple[int, int],
    out: np.ndarray,
) -> None:
    """Add the moments of rules to `out`, where a rule's stand as its numbers do in `tensors.rule`.

    The moment of a rule is the sum over its edges of ``weight * left inner x right inner x parent's
    outer row``. `edges` are in the order of their rules, as (bounds of each rule; left, right and
    parent item; weight), and `rules` is the range of rules to do.
    """
    done = edges[0][rules[0]]
    while done < edges[0][rules[1]]:
        go_on()
        done = _add_moments(
            (tensors, grammar), edges, (inner.start, inner.row, outer), rules, out, (done, STEPS)
        )


@kernel
def _add_moments(
    model: tuple[Tensors, Grammar],
    edges: tuple[np.ndarray, ...],
    rows: tuple[np.ndarray, np.ndarray, np.ndarray],
    rules: tuple[int, int],
    out: np.ndarray,
    limits: tuple[int, int],
) -> int:
    """The same from an edge on; return the edge before which it stopped."""
    tensors, grammar = model
    start, row, outer = rows
    bounds, left, right, parent, weight = edges
    begin, steps = limits
    for r in range(rules[0], rules[1]):
        m = tensors.n_states[grammar.left[r]]
        n = tensors.n_states[grammar.right[r]]
        width = padded(tensors.n_states[grammar.parent[r]])
        for e in range(max(begin, bounds[r]), bounds[r + 1]):
            if steps <= 0:
                return e
            a = start[left[e]]
            b = start[right[e]]
            c = start[parent[e]]
            t = tensors.rule_start[r]
            for j in range(m):
                x = weight[e] * row[a + j]
                for k in range(n):
                    y = splat(x * row[b + k])
                    for i in range(0, width, LANES):
                        store(out, t + i, fma(y, load(outer, c + i), load(out, t + i)))
                    t += width
            steps -= 4 + m * n * width // LANES
    end: int = bounds[rules[1]]
    return end
