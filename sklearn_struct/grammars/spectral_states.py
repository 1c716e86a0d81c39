"""Grammars with states from trees by singular value decompositions: Cohen et al. (2012), figures 4
and 5.

Two steps. `project` finds, for each symbol, the directions in which the features inside and outside
of its nodes correlate, and places the nodes in them: Y and Z. `estimate` averages products of these
over rules, words, roots. With as many directions as states and enough trees, this is the true model
up to a change of basis, which no tree's probability shows (theorems 1 to 3). With few trees,
smoothing and shrinkage trade that for less noise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.compiled.simd import LANES
from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.trees import Forest, Grammar, Tensors, Treebank, tensors
from sklearn_struct.grammars.node_features import Features
from sklearn_struct.grammars.singular_vectors import SOLVERS
from sklearn_struct.inference.trees.forest_inside_outside import add_moments, vectors

__all__ = ["Projection", "estimate", "node_vectors", "one_a_tree", "project"]

MIN_NODES = 3  # of a symbol with more than one state
LEAVES = 20  # how many times less leaves are smoothed than rules
TINY = 1e-120  # sums of weights whose squares lose digits, or are 0


class Projection(NamedTuple):
    """The nodes of trees in the spaces of their symbols' states, with m, the most states, rounded
    up to whole vectors.

    ``inside`` and ``outside`` (n_nodes, m) are Y and Z, zeros beyond the number of the symbol's
    states. ``singular_values`` (n_symbols, m) are the diagonals of Sigma, ``n_states`` (n_symbols,)
    how many of them count. ``symbol`` and ``weight`` (n_nodes,) say what a node is and how often it
    counts.
    """

    symbol: np.ndarray
    weight: np.ndarray
    inside: np.ndarray
    outside: np.ndarray
    singular_values: np.ndarray
    n_states: np.ndarray


def one_a_tree(offsets: np.ndarray, rng: np.random.RandomState, once: bool = False) -> np.ndarray:
    """Weights of nodes: one of each tree is drawn, and counts as often as the tree has nodes.

    If it counts `once`, as in section 6.1, a node of a small tree counts for more than one of a
    large tree, and so what is inside of a node tells, given its state, about what is outside:
    theorem 2 does not hold.
    """
    n_nodes = np.diff(offsets)
    weight = np.zeros(offsets[-1])
    drawn = offsets[:-1] + (rng.random_sample(len(n_nodes)) * n_nodes).astype(np.int64)
    weight[drawn] = 1.0 if once else n_nodes
    return weight


# ---- steps 0 and 1: singular value decompositions, projection


def project(
    phi: Features,
    psi: Features,
    symbol: np.ndarray,
    n_states: int,
    weight: np.ndarray | None = None,
    svd_solver: str = "randomized",
) -> Projection:
    """Singular vectors of each symbol's Omega = E[phi psi'], and the nodes' features in their
    directions.

    Parameters
    ----------
    phi, psi : Features
        Features inside and outside of nodes.
    symbol : ndarray of shape (n_nodes,)
        Symbols of the nodes.
    n_states : int
        The most states of a symbol, m. It has fewer where singular values are below a thousandth of
        the largest, and a single one where less than three nodes count.
    weight : ndarray of shape (n_nodes,), default=None
        How often each node counts; None: once.
    svd_solver : {"exact", "randomized"}, default="randomized"
        See `singular_vectors`.

    Returns
    -------
    projection : Projection
    """
    weight = np.ones(len(symbol)) if weight is None else weight
    n_symbols = len(phi.bounds) - 1
    total = np.bincount(symbol, weights=weight, minlength=n_symbols)
    few = np.bincount(symbol, weights=weight > 0, minlength=n_symbols) < MIN_NODES
    with Pool():
        U, V, sigma = SOLVERS[svd_solver](phi, psi, symbol, weight, n_states)
        sigma /= np.where(total > 0, total, 1.0)[:, None]
        # directions below it are noise, and their inverses would be large
        kept = (sigma > 1e-3 * sigma[:, :1]) & ~few[:, None]
        sigma[~kept] = 0.0
        inside = phi.rows @ U
        outside = psi.rows @ V
    # a symbol without any direction has one state; with rows of 1 its estimates are relative
    # frequencies
    constant = ~kept[:, 0]
    sigma[constant, 0] = kept[constant, 0] = inside[constant[symbol], 0] = outside[
        constant[symbol], 0
    ] = 1
    inside *= kept[symbol]
    outside *= kept[symbol]
    return Projection(symbol, weight, inside, outside, sigma, kept.sum(axis=1).astype(np.int32))


# ---- steps 2 and 3: correlations, parameters


def estimate(
    treebank: Treebank,
    projection: Projection,
    leaf_sums: Callable[[np.ndarray], np.ndarray],
    smoothing: float = 0.0,
    shrinkage: float = 0.0,
) -> Tensors:
    """The parameters of a grammar with states: rules C, leaves c_inf and roots c1.

    Parameters
    ----------
    treebank : Treebank
    projection : Projection
        Of its items, the trees' nodes.
    leaf_sums : callable
        A linear map, rows of numbers for items that are leaves, (n_tokens, w) -> (n_leaves, w),
        which sums them up for each leaf that gets a vector, and may share them out, as to words
        that were not seen.
    smoothing : float, default=0.0
        The constant C of Cohen et al. (2013). Of a rule with n edges, moments of third order get
        the weight ``l = sqrt(n) / (C + sqrt(n))``; products of second and first moments get l of
        the rest; products of first moments get l of what is left then, and products of means over
        all nodes of the symbols the last of it. Leaves are smoothed towards the mean of their
        symbol, with C / 20.
    shrinkage : float, default=0.0
        Directions of small singular values are noise in part. In ``Sigma^-1``, 1 / s becomes ``(1 +
        c) s / (s**2 + c s1**2)`` for the square c of this number and the symbol's largest value s1,
        whose direction stays as it is. The estimates are consistent with 0 alone.

    Returns
    -------
    tensors : Tensors
    """
    grammar, forest, leaf_symbol = treebank
    projection = projection._replace(
        outside=projection.outside
        * _inverse(projection.singular_values, shrinkage)[projection.symbol]
    )
    out = tensors(grammar, projection.n_states, leaf_symbol)
    n_symbols = len(projection.n_states)
    total = np.bincount(projection.symbol, weights=projection.weight, minlength=n_symbols)
    share = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    typical = [
        share[:, None] * _sums(projection.symbol, projection.weight, rows, n_symbols)
        for rows in projection[2:4]
    ]
    with Pool():
        _set_rules(out, grammar, forest, projection, (*typical, smoothing))
    for r, a in enumerate(grammar.parent):
        out.rule[out.rule_start[r] : out.rule_start[r + 1]] *= share[a]
    items = np.flatnonzero(forest.leaf >= 0)
    weight = projection.weight[items]
    symbol = projection.symbol[items]
    sums = leaf_sums(weight[:, None] * projection.outside[items])
    number = leaf_sums(weight[:, None])
    trust = _trust(number, smoothing / LEAVES)
    mean = trust * sums + (1 - trust) * number * typical[1][leaf_symbol]
    # smoothed numbers of a symbol's leaves are drawn to the number of its nodes that are leaves
    smoothed = np.bincount(leaf_symbol, weights=number[:, 0], minlength=n_symbols)
    mass = (
        share
        * np.bincount(symbol, weights=weight, minlength=n_symbols)
        / np.where(smoothed > 0, smoothed, 1.0)
    )
    out.leaf[:] = _padded(mean * mass[leaf_symbol, None], out.n_states[leaf_symbol])
    roots = forest.offsets[1:] - 1
    # where one node a tree is drawn, no root may have been
    weight = projection.weight[roots] if projection.weight[roots].any() else np.ones(len(roots))
    root = _sums(
        projection.symbol[roots], weight / weight.sum(), projection.inside[roots], n_symbols
    )
    out.root[:] = _padded(root, out.n_states)
    return out


def _inverse(sigma: np.ndarray, shrinkage: float) -> np.ndarray:
    """1 / sigma, shrunk; 0 for 0."""
    # 1 / sigma for the largest one, less and less for the small, which are partly noise
    c = shrinkage**2
    return (1 + c) * sigma / np.where(sigma > 0, sigma**2 + c * sigma[:, :1] ** 2, 1.0)


def _set_rules(
    out: Tensors,
    grammar: Grammar,
    forest: Forest,
    projection: Projection,
    backoff: tuple[np.ndarray, np.ndarray, float],
) -> None:
    """Sums over the edges of each rule; smoothed with means of inside and outside rows by symbol,
    and the constant.
    """
    order = np.argsort(forest.rule, kind="stable")
    bounds = np.searchsorted(forest.rule[order], np.arange(len(grammar.left) + 1))
    parent = np.repeat(np.arange(len(forest.symbol), dtype=np.int32), np.diff(forest.indptr))[order]
    left = forest.left[order]
    right = forest.right[order]
    weight = projection.weight[parent]
    inner = vectors(forest, out.n_states)
    n_states = projection.n_states[projection.symbol]
    inner.row[:] = _padded(projection.inside, n_states)
    edges = bounds, left, right, parent, weight
    add_moments(
        out,
        grammar,
        edges,
        inner,
        _padded(projection.outside, n_states),
        (0, len(grammar.left)),
        out.rule,
    )
    inside, outside, smoothing = backoff
    for r, (b, c, a) in enumerate(
        zip(grammar.left, grammar.right, grammar.parent) if smoothing > 0 else ()
    ):
        here = slice(bounds[r], bounds[r + 1])
        m = out.n_states[b]
        n = out.n_states[c]
        third = out.rule[out.rule_start[r] : out.rule_start[r + 1]].reshape(m, n, -1)
        k = third.shape[2]
        rows = (
            projection.inside[left[here], :m],
            projection.inside[right[here], :n],
            projection.outside[parent[here], :k],
        )
        _smooth(
            third, rows, weight[here], (inside[b, :m], inside[c, :n], outside[a, :k]), smoothing
        )


def _smooth(
    third: np.ndarray,
    rows: tuple[np.ndarray, np.ndarray, np.ndarray],
    weight: np.ndarray,
    typical: tuple[np.ndarray, np.ndarray, np.ndarray],
    smoothing: float,
) -> None:
    """Draw sums of products of three rows, over the edges of a rule, towards products of sums of
    lower order.
    """
    left, right, parent = rows
    n = weight.sum()
    if n == 0:
        return
    # the effective number of edges, where some count for many
    share = weight / n if n < TINY else weight
    trust = _trust(share.sum() ** 2 / (share @ share), smoothing)
    rest = 1 - trust
    # shared among the three pairs that could be kept together
    pairs = trust * (1 - trust) / 3
    weighted_left = left * weight[:, None]
    weighted_right = right * weight[:, None]
    x = weighted_left.sum(axis=0) / n
    y = weighted_right.sum(axis=0) / n
    z = weight @ parent / n
    third *= trust
    third += (pairs * (weighted_left.T @ right) + n * trust * rest**2 * np.outer(x, y))[
        :, :, None
    ] * z
    third += (pairs * (weighted_left.T @ parent))[:, None] * y[:, None]
    third += (pairs * (weighted_right.T @ parent)) * x[:, None, None]
    third += (n * rest**3 * np.outer(*typical[:2]))[:, :, None] * typical[2]


def _trust(number: np.ndarray | float, smoothing: float) -> Any:
    """The weight of a mean of so many, between 0 and 1, against that of what it is drawn to."""
    return (
        np.sqrt(number) / (np.sqrt(number) + smoothing) if smoothing > 0 else np.ones_like(number)
    )


def _sums(group: np.ndarray, weight: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    """Weighted sums of the rows of each of n groups."""
    by_group = sp.csr_array((weight, (group, np.arange(len(group)))), shape=(n, len(group)))
    sums: np.ndarray = by_group @ rows
    return sums


def _padded(rows: np.ndarray, n_states: np.ndarray) -> np.ndarray:
    """Rows of numbers by state one behind the other, as tensors have them."""
    width = (n_states + LANES - 1) // LANES * LANES
    return rows[np.arange(rows.shape[1]) < width[:, None]]


# ---- and the nodes themselves


def node_vectors(projection: Projection) -> np.ndarray:
    """The rows [Y, Sigma Z]: nodes in the same state are near each other, above all where their
    features correlate.
    """
    return np.concatenate(
        [projection.inside, projection.outside * projection.singular_values[projection.symbol]],
        axis=1,
    )
