"""A chain that is normalised token by token, p(y | x) = prod_t p(y_t | y_{t-1}, x), as a plain chain with log Z = 0."""

from __future__ import annotations

import numpy as np

from sklearn_struct.batch import Potentials, Structure
from sklearn_struct.inference.softmax import softmax
from sklearn_struct.kernel import kernel
from sklearn_struct.simd import LANES, add, load_part, padded, store

__all__ = ["locally_normalised"]


def locally_normalised(potentials: Potentials, structure: Structure, by_edge: bool = False) -> Potentials:
    """Potentials of the chain p(y_t = k | y_{t-1} = j) = exp(node[t, k] + edge[j, k]) / sum over k (P5; the MEMM).

    The normaliser of a token depends on the label before it, so it is subtracted from that label's score:

        node[t, j] - log sum_k exp(node[t+1, k] + edge[t, j, k]),    for first tokens also - log sum_k exp(node[0, k]),

    which leaves a table that all edges share as it is. A label after which nothing is allowed gets -inf.

    Parameters
    ----------
    potentials : Potentials
    structure : Structure
        As made by `batch.chain`.
    by_edge : bool, default=False
        Subtract the normalisers from edges instead, each of which then has a table of its own: so sums of scores over
        the first tokens are log-probabilities of these labels, as a search that goes from left to right needs.

    Returns
    -------
    Potentials
        Of the same float type.
    """
    node, edge = (np.ascontiguousarray(table, np.float64) for table in potentials)
    norms = np.empty(node.shape)
    _normalisers(node, edge, structure, norms)
    first = structure.offsets[:-1][np.diff(structure.offsets) > 0]
    left, right = structure.edges.T
    dtype, K = potentials.node.dtype, node.shape[1]
    node = node.copy()
    node[first] -= norms[first]
    if by_edge:
        tables = edge.reshape(-1, K, K) - norms[right][:, :, None]
        return Potentials(node.astype(dtype), tables.reshape(-1, K * K).astype(dtype))
    node[left] -= norms[right]
    return Potentials(node.astype(dtype), potentials.edge)


@kernel
def _normalisers(node, edge, structure, norms):
    """Write the normaliser of each token after each label, or of a first token in all places; inf if there is none."""
    offsets, edge_offsets, K = structure.offsets, structure.edge_offsets, node.shape[1]
    step, row = 0 if edge.shape[0] == 1 else 1, np.empty(padded(K))
    for i in range(len(offsets) - 1):
        for t in range(offsets[i], offsets[i + 1]):
            e = step * (edge_offsets[i] + t - 1 - offsets[i])
            for j in range(K):
                if t > offsets[i] or j == 0:
                    for k in range(0, K, LANES):
                        x = load_part(node, t * K + k, K - k, -np.inf)
                        if t > offsets[i]:
                            x = add(load_part(edge, (e * K + j) * K + k, K - k, -np.inf), x)
                        store(row, k, x)
                    top, mass = softmax(row)
                norms[t, j] = top + np.log(mass) if mass > 0.0 else np.inf
