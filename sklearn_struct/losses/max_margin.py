"""How far the best rival of a labelling is ahead of it: the losses of the structured perceptron and
of margins.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.structures import Potentials
from sklearn_struct.inference.base import Inference
from sklearn_struct.losses.base import Batch, Loss

__all__ = ["MaxMargin"]


class MaxMargin(Loss):
    """The loss max_y' (score(y') + margin * (number of labels in which y' differs from y)) -
    score(y).

    With ``margin=0`` it is the loss of the structured perceptron (Collins, EMNLP 2002), else the
    structured hinge, margin-rescaled by the Hamming distance (Taskar et al., NIPS 2003). It is
    convex and has kinks; the derivative is the subgradient of one best rival: indicators of that
    rival minus indicators of y.

    Parameters
    ----------
    inference : Inference
    margin : float, default=0.0
        By how much y shall be ahead for each label that differs.
    """

    def __init__(self, inference: Inference, margin: float = 0.0) -> None:
        self.inference = inference
        self.margin = margin

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """The subgradient is indicators of the best rival minus those of y."""
        potentials, evidence, structure, weight = batch
        y = evidence.known_labels()
        rival = np.empty(len(y), dtype=np.int32)
        node = potentials.node
        # less for y, instead of more for all others: another constant, the same rival
        if self.margin:
            node = node.copy()
            node[np.arange(len(y)), y] -= self.margin
        self.inference.argmax(Potentials(node, potentials.cliques), structure, rival, value)
        tables = zip(potentials.cliques, structure.families, out.cliques, strict=True)
        for f, (table, family, into) in enumerate(tables):
            given = (y, rival, weight, self.margin, f == 0)
            nodes = (potentials.node, structure.offsets, out.node)
            _differences(nodes, table, *family, given, into, value)


@kernel
def _differences(
    of_nodes: tuple[np.ndarray, np.ndarray, np.ndarray],
    table: np.ndarray,
    nodes: np.ndarray,
    bounds: np.ndarray,
    given: tuple[np.ndarray, np.ndarray, np.ndarray, float, bool],
    out: np.ndarray,
    value: np.ndarray,
) -> None:
    """Compare the rival with y where they differ; so a loss of 0 is exact. With the first family
    the nodes are compared, too.
    """
    node, offsets, out_node = of_nodes
    y, rival, weight, margin, first = given
    K = node.shape[1]
    step = 0 if table.shape[0] == 1 else 1
    out_step = 0 if out.shape[0] == 1 else 1
    for i in range(len(offsets) - 1):
        # `argmax` has left the rival's score here; the loss is summed anew, difference by
        # difference
        if first:
            value[i] = 0.0
        if weight[i] == 0.0:
            continue
        for t in range(offsets[i], offsets[i + 1] if first else offsets[i]):
            if rival[t] != y[t]:
                value[i] += node[t, rival[t]] - node[t, y[t]] + margin
                out_node[t, rival[t]] += weight[i]
                out_node[t, y[t]] -= weight[i]
        for c in range(bounds[i], bounds[i + 1]):
            column = 0
            of_rival = 0
            for r in range(nodes.shape[1]):
                column = column * K + y[nodes[c, r]]
                of_rival = of_rival * K + rival[nodes[c, r]]
            if of_rival != column:
                value[i] += table[step * c, of_rival] - table[step * c, column]
                out[out_step * c, of_rival] += weight[i]
                out[out_step * c, column] -= weight[i]
