"""What a labelling has of the label triples of chains of second order, for losses that compare
labellings.
"""

from __future__ import annotations

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.structures import Potentials

__all__ = ["add_triples", "has_triples"]


def has_triples(potentials: Potentials) -> bool:
    """Whether edges have more columns than label pairs."""
    return potentials.edge.shape[1] > potentials.node.shape[1] ** 2


@kernel
def add_triples(potentials, labels, structure, weights, out, value):
    """With weights (weight, sign): add sign times the scores of triples to the values, weight to
    those of `out`.
    """
    edge = potentials.edge
    offsets = structure.offsets
    edge_offsets = structure.edge_offsets
    out_edge = out.edge
    K = potentials.node.shape[1]
    last = len(edge) - 1
    out_last = len(out_edge) - 1
    weight, sign = weights
    for i in range(len(offsets) - 1):
        score = 0.0
        for t in range(offsets[i] + 2, offsets[i + 1] if weight[i] != 0.0 else 0):
            e = edge_offsets[i] + t - offsets[i] - 1
            triple = ((labels[t - 2] + 1) * K + labels[t - 1]) * K + labels[t]
            score += edge[min(e, last), triple]
            out_edge[min(e, out_last), triple] += weight[i]
        value[i] += sign * score
