"""A chain that is normalised token by token, p(y | x) = prod_t p(y_t | y_{t-1}, x), as a plain
chain with log Z = 0.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import LANES, add, load_part, padded, store
from sklearn_struct.compiled.softmax import softmax
from sklearn_struct.containers.structures import Potentials, Structure
from sklearn_struct.inference.chains.flat_tuples import (
    TripleLinks,
    Triples,
    with_triple_links,
    with_triples,
)

__all__ = ["locally_normalised"]


def locally_normalised(
    potentials: Potentials, structure: Structure, by_edge: bool = False
) -> Potentials:
    """Potentials of the chain p(y_t = k | y_{t-1} = j) = exp(node[t, k] + edge[j, k]) / sum over k
    (P5; the MEMM).

    The normaliser of a token depends on the label before it, so it is subtracted from that label's
    score:

        node[t, j] - log sum_k exp(node[t+1, k] + edge[t, j, k]),
        for first tokens also - log sum_k exp(node[0, k]),

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
    # normalisers are sums over labels, and differences with scores: both are rounded once, at the
    # end
    tables = Triples(*(np.ascontiguousarray(a, np.float64) for a in with_triples(potentials)))
    links = with_triple_links(structure)
    K = tables.node.shape[1]
    dtype = potentials.node.dtype
    first = structure.offsets[:-1][np.diff(structure.offsets) > 0]
    n_contexts = potentials.cliques[-1].shape[1] // K
    norms = np.empty((len(tables.node), n_contexts))
    _normalisers(tables, links, norms)
    node = tables.node.copy()
    node[first] -= norms[first, :K]
    left, right = links.edges.T
    if tables.triple.shape[1] == 0 and not by_edge:
        node[left] -= norms[right]
        return Potentials(node.astype(dtype), potentials.cliques)
    cliques = [
        np.repeat(table, len(family.nodes), axis=0) if len(table) == 1 else table.copy()
        for table, family in zip(tables[1:], structure.families)
    ]
    _subtract(node, cliques, norms, links.edges, by_edge)
    return Potentials(node.astype(dtype), tuple(table.astype(dtype) for table in cliques))


def _subtract(
    node: np.ndarray,
    cliques: list[np.ndarray],
    norms: np.ndarray,
    edges: np.ndarray,
    by_edge: bool,
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
        cliques[0].reshape(-1, K, K)[:] -= of_one[:, :, None]
        if norms.shape[1] > K:  # a single label has one context only, that of its edge
            triples = cliques[1]  # as many as edges with two labels before
            triples.reshape(-1, norms.shape[1], K)[:] -= norms[right[two]][:, :, None]
    else:
        node[left] -= of_one
        cliques[0][two - 1] -= norms[right[two]]


@kernel
def _normalisers(tables: Triples, structure: TripleLinks, norms: np.ndarray) -> None:
    """Write the normaliser of each token after each context, the label or the two labels before it;
    inf for none.

    A second token of a chain of order 2 has K contexts, which come first. A first token has one,
    written K times.
    """
    node = tables.node
    edge = tables.edge
    triple = tables.triple
    offsets = structure.offsets
    edge_offsets = structure.edge_offsets
    triple_offsets = structure.triple_offsets
    K = node.shape[1]
    row = np.empty(padded(K))
    width = triple.shape[1]
    for i in range(len(offsets) - 1):
        for t in range(offsets[i], offsets[i + 1]):
            before = t - offsets[i]
            o = min(edge_offsets[i] + before - 1, len(edge) - 1) * edge.shape[1]
            m = min(triple_offsets[i] + before - 2, len(triple) - 1) * width
            for c in range(K if before < 2 else norms.shape[1]):
                if before > 0 or c == 0:
                    for k in range(0, K, LANES):
                        x = load_part(node, t * K + k, K - k, -np.inf)
                        if before > 0:
                            x = add(load_part(edge, o + c % K * K + k, K - k, -np.inf), x)
                        if before > 1 and width > 0:
                            x = add(load_part(triple, m + c * K + k, K - k, -np.inf), x)
                        store(row, k, x)
                    top, mass = softmax(row)
                norms[t, c] = top + np.log(mass) if mass > 0.0 else np.inf
