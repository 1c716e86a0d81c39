"""A chain that is normalised token by token, p(y | x) = prod_t p(y_t | y_{t-1}, x), as a plain
chain with log Z = 0.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import LANES, add, load_part, padded, store
from sklearn_struct.compiled.softmax import softmax
from sklearn_struct.containers.structures import Potentials, Structure

__all__ = ["locally_normalised"]


def locally_normalised(
    potentials: Potentials, structure: Structure, by_edge: bool = False
) -> Potentials:
    """Potentials of the chain p(y_t = k | y_{t-1} = j) = exp(node[t, k] + edge[j, k]) / sum over k
    (P5; the MEMM).

    The normaliser of a token depends on the label before it, so it is subtracted from that label's
    score:

        node[t, j] - log sum_k exp(node[t+1, k] + edge[t, j, k]),    for first tokens also - log sum_k exp(node[0, k]),

    which leaves a table that all edges share as it is. A label after which nothing is allowed gets
    -inf.

    At order 2 the normaliser of a token depends on the two labels before it, so it is subtracted
    from the score of their pair, and each edge has a table of its own. That of a second token still
    goes to the first label's score.

    Parameters
    ----------
    potentials : Potentials
        Of first or second order.
    structure : Structure
        As made by `containers.structures.chain`.
    by_edge : bool, default=False
        Subtract each normaliser from the edge into its token instead, each of which then has a
        table of its own: so sums of scores over the first tokens are log-probabilities of these
        labels, as a search that goes from left to right needs.

    Returns
    -------
    Potentials
        Of the same float type.
    """
    node, edge = (np.ascontiguousarray(table, np.float64) for table in potentials)
    K = node.shape[1]
    dtype = potentials.node.dtype
    first = structure.offsets[:-1][np.diff(structure.offsets) > 0]
    second_order = edge.shape[1] > K * K
    norms = np.empty((len(node), K * K if second_order else K))
    _normalisers(node, edge, structure, norms)
    node = node.copy()
    node[first] -= norms[first, :K]
    if not (second_order or by_edge):
        node[structure.edges[:, 0]] -= norms[structure.edges[:, 1]]
        return Potentials(node.astype(dtype), potentials.edge)
    edge = np.repeat(edge, len(structure.edges), axis=0) if len(edge) == 1 else edge.copy()
    _subtract(node, edge, norms, structure.edges, by_edge)
    return Potentials(node.astype(dtype), edge.astype(dtype))


def _subtract(
    node: np.ndarray, edge: np.ndarray, norms: np.ndarray, edges: np.ndarray, by_edge: bool
) -> None:
    """Subtract the normalisers of all tokens but the first from the edges into them, or from what
    comes before.
    """
    K = node.shape[1]
    left, right = edges.T
    has_two = np.zeros(len(edges), bool)  # labels before its token that count
    has_two[1:] = (left[1:] == right[:-1]) & (norms.shape[1] > K)
    two = np.flatnonzero(has_two)
    of_one = np.where(has_two[:, None], 0.0, norms[right, :K])
    if by_edge:
        # rows: each label before, then each two
        tables = edge.reshape(len(edge), edge.shape[1] // K, K)
        tables[:, :K] -= of_one[:, :, None]
        tables[two, K:] -= norms[right[two]][:, : tables.shape[1] - K, None]
    else:
        node[left] -= of_one
        edge[two - 1, : K * K] -= norms[right[two]]


@kernel
def _normalisers(node, edge, structure, norms):
    """Write the normaliser of each token after each context, the label or the two labels before it;
    inf for none.

    A second token of a chain of order 2 has K contexts, which come first. A first token has one,
    written K times.
    """
    offsets = structure.offsets
    edge_offsets = structure.edge_offsets
    K = node.shape[1]
    last = len(edge) - 1
    row = np.empty(padded(K))
    width = edge.shape[1]
    for i in range(len(offsets) - 1):
        for t in range(offsets[i], offsets[i + 1]):
            before = t - offsets[i]
            o = min(edge_offsets[i] + before - 1, last) * width
            for c in range(K if before < 2 else norms.shape[1]):
                if before > 0 or c == 0:
                    for k in range(0, K, LANES):
                        x = load_part(node, t * K + k, K - k, -np.inf)
                        if before > 0:
                            x = add(load_part(edge, o + c % K * K + k, K - k, -np.inf), x)
                        if before > 1 and width > K * K:
                            x = add(load_part(edge, o + (K + c) * K + k, K - k, -np.inf), x)
                        store(row, k, x)
                    top, mass = softmax(row)
                norms[t, c] = top + np.log(mass) if mass > 0.0 else np.inf
