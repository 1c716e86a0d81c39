"""How far the best rival of a labelling is ahead of it: the losses of the structured perceptron and
of margins.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.structures import Potentials
from sklearn_struct.inference.base import Inference
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.evidence import Evidence

__all__ = ["MaxMargin", "MaxMarginBound", "hinge"]


class MaxMargin(Loss):
    """The loss max_y' (score(y') + sum_t cost[y_t, y'_t]) - score(y).

    Without costs it is the loss of the structured perceptron (Collins, EMNLP 2002), else the
    structured hinge, margin-rescaled by the costs (Taskar et al., NIPS 2003; Tsochantaridis et al.,
    JMLR 2005). It is convex and has kinks; the derivative is the subgradient of one best rival:
    indicators of that rival minus indicators of y. Where the evidence also has sets of allowed
    labels, these cost nothing.

    Parameters
    ----------
    inference : Inference
    margin : float, default=0.0
        By how much y shall be ahead for each label that differs, where there are no costs.
    cost : ndarray of shape (n_labels, n_labels), default=None
        By how much y shall be ahead of a label (column) where another one (row) is right, with
        zeros for right ones, in the place of `margin`.
    """

    smooth = False

    def __init__(
        self, inference: Inference, margin: float = 0.0, cost: np.ndarray | None = None
    ) -> None:
        self.inference = inference
        self.margin = margin
        self.cost = cost

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """The subgradient is indicators of the best rival minus those of y."""
        potentials, evidence, structure, weight = batch
        y = evidence.known_labels()
        rival = np.empty(len(y), dtype=np.int32)
        costs = self._costs(evidence)
        self.inference.argmax(self._raised(potentials, y, costs), structure, rival, value)
        if costs is None:
            differs = (rival != y) * self.margin
        else:
            differs = costs[np.arange(len(y)), rival]
        tables = zip(potentials.cliques, structure.families, out.cliques, strict=True)
        for f, (table, family, into) in enumerate(tables):
            given = (y, rival, differs, weight, f == 0)
            nodes = (potentials.node, structure.offsets, out.node)
            _differences(nodes, table, *family, given, into, value)

    def bound(self, batch: Batch) -> np.ndarray:
        """What the loss of each example is at most, also where the best rival is not found."""
        potentials, evidence, structure, weight = batch
        y = evidence.known_labels()
        raised = self._raised(potentials, y, self._costs(evidence))
        bound = self.inference.score_bound(raised, structure)
        least = bound - self.inference.scores(raised, structure, y)
        return np.where(weight != 0.0, least, 0.0)

    def _costs(self, evidence: Evidence) -> np.ndarray | None:
        """What each label costs at each token, (n, n_labels); None if all wrong ones cost the same.
        Labels that are allowed cost nothing, and others what they cost beside the nearest of these.
        """
        allowed = evidence.allowed
        if allowed is None:
            return None if self.cost is None else self.cost[evidence.known_labels()]
        if self.cost is None:
            return np.where(allowed, 0.0, self.margin)
        masks, mask = np.unique(allowed, axis=0, return_inverse=True)
        least = [self.cost[of_mask].min(axis=0) for of_mask in masks]
        return np.where(allowed, 0.0, np.array(least)[mask])

    def _raised(
        self, potentials: Potentials, y: np.ndarray, costs: np.ndarray | None
    ) -> Potentials:
        """Scores with what rivals are to be ahead by, but for a constant."""
        node, cliques = potentials
        if costs is not None:
            return Potentials(node + costs.astype(node.dtype), cliques)
        if self.margin:
            node = node.copy()
            # less for y, instead of more for all others
            node[np.arange(len(y)), y] -= self.margin
        return Potentials(node, cliques)


def hinge(inference: Inference, cost: np.ndarray | None = None) -> MaxMargin:
    """The structured hinge. Without costs each wrong label costs 1."""
    return MaxMargin(inference, 1.0, cost)


class MaxMarginBound(Loss):
    """An upper bound of `MaxMargin`, without derivatives: what a fit is certified by.

    Parameters
    ----------
    loss : MaxMargin
    """

    smooth = False

    def __init__(self, loss: MaxMargin) -> None:
        self.loss = loss

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """The bounds alone."""
        value[:] = self.loss.bound(batch)


@kernel
def _differences(
    of_nodes: tuple[np.ndarray, np.ndarray, np.ndarray],
    table: np.ndarray,
    nodes: np.ndarray,
    bounds: np.ndarray,
    given: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, bool],
    out: np.ndarray,
    value: np.ndarray,
) -> None:
    """Compare the rival with y where they differ; so a loss of 0 is exact. With the first family
    the nodes are compared, too.
    """
    node, offsets, out_node = of_nodes
    y, rival, differs, weight, first = given
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
                value[i] += node[t, rival[t]] - node[t, y[t]] + differs[t]
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
