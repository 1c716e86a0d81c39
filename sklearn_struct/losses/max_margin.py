"""How far the best rival of a labelling is ahead of it: the losses of the structured perceptron and
of margins.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.structures import Potentials, Structure
from sklearn_struct.losses.triples import add_triples, has_triples

__all__ = ["MaxMargin"]


class MaxMargin:
    """The loss max_y' (score(y') + margin * (number of labels in which y' differs from y)) -
    score(y).

    With ``margin=0`` it is the loss of the structured perceptron (Collins, EMNLP 2002), else the
    structured hinge, margin-rescaled by the Hamming distance (Taskar et al., NIPS 2003). It is
    convex and has kinks; the derivative is the subgradient of one best rival: indicators of that
    rival minus indicators of y.

    Parameters
    ----------
    inference : module or object with ``argmax(potentials, structure, labels, score)``
    margin : float, default=0.0
        By how much y shall be ahead for each label that differs.
    """

    convex = True
    token_weights = False

    def __init__(self, inference: Any, margin: float = 0.0) -> None:
        self.inference = inference
        self.margin = margin

    def __call__(
        self,
        potentials: Potentials,
        y: np.ndarray,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        value: np.ndarray,
    ) -> None:
        """Write ``value[i]``; add ``weight[i]`` times a subgradient, indicators of the rival minus
        of y, to `out`.
        """
        rival = np.empty(len(y), dtype=np.int32)
        node = potentials.node
        # less for y, instead of more for all others: another constant, the same rival
        if self.margin:
            node = node.copy()
            node[np.arange(len(y)), y] -= self.margin
        self.inference.argmax(Potentials(node, potentials.edge), structure, rival, value)
        _differences(potentials, (y, rival), structure, (weight, self.margin), out, value)
        if has_triples(potentials):
            add_triples(potentials, rival, structure, (weight, 1.0), out, value)
            add_triples(potentials, y, structure, (-weight, -1.0), out, value)


@kernel
def _differences(potentials, labellings, structure, weights, out, value):
    """Compare the rival with y where they differ; so a loss of 0 is exact."""
    node = potentials.node
    edge = potentials.edge
    offsets = structure.offsets
    edges = structure.edges
    edge_offsets = structure.edge_offsets
    out_node = out.node
    out_edge = out.edge
    y, rival = labellings
    weight, margin = weights
    K = node.shape[1]
    step = 0 if edge.shape[0] == 1 else 1
    out_step = 0 if out_edge.shape[0] == 1 else 1
    for i in range(len(offsets) - 1):
        value[i] = 0.0
        if weight[i] == 0.0:
            continue
        for t in range(offsets[i], offsets[i + 1]):
            if rival[t] != y[t]:
                value[i] += node[t, rival[t]] - node[t, y[t]] + margin
                out_node[t, rival[t]] += weight[i]
                out_node[t, y[t]] -= weight[i]
        for e in range(edge_offsets[i], edge_offsets[i + 1]):
            rival_pair = rival[edges[e, 0]] * K + rival[edges[e, 1]]
            pair = y[edges[e, 0]] * K + y[edges[e, 1]]
            if rival_pair != pair:
                value[i] += edge[step * e, rival_pair] - edge[step * e, pair]
                out_edge[out_step * e, rival_pair] += weight[i]
                out_edge[out_step * e, pair] -= weight[i]
