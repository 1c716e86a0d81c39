"""Negative log-likelihood of labellings: log Z - score(y) (P1 5.4 and 5.8 without the penalty)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.structures import Potentials, Structure
from sklearn_struct.losses.triples import add_triples, has_triples

__all__ = ["LogLikelihood"]


class LogLikelihood:
    """The loss -log p(y | x) of each example, for any structure whose marginals `inference`
    computes.

    Parameters
    ----------
    inference : module or object with ``marginals(potentials, structure, weight, out, log_Z)``
        And for `hess_vec` ``tangent(potentials, reward, structure, weight, out, mean)``.
    """

    convex = True
    token_weights = False

    def __init__(self, inference: Any) -> None:
        self.inference = inference

    def __call__(
        self,
        potentials: Potentials,
        y: np.ndarray,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        value: np.ndarray,
    ) -> None:
        """Write ``value[i]``; add ``weight[i]`` times its derivative, marginals minus indicators
        (P1 5.9), to `out`.
        """
        self.inference.marginals(potentials, structure, weight, out, value)
        _subtract_labelling(potentials, y, structure, weight, out, value)
        if has_triples(potentials):
            add_triples(potentials, y, structure, (-weight, -1.0), out, value)

    def hess_vec(
        self,
        potentials: Potentials,
        direction: Potentials,
        y: np.ndarray,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
    ) -> None:
        """Add ``weight[i]`` times the second derivative in a direction, Cov(indicators, direction),
        to `out`.
        """
        self.inference.tangent(potentials, direction, structure, weight, out, np.empty(len(weight)))


@kernel
def _subtract_labelling(potentials, y, structure, weight, out, value):
    node = potentials.node
    edge = potentials.edge
    offsets = structure.offsets
    edges = structure.edges
    edge_offsets = structure.edge_offsets
    out_node = out.node
    out_edge = out.edge
    K = node.shape[1]
    step = 0 if edge.shape[0] == 1 else 1
    out_step = 0 if out_edge.shape[0] == 1 else 1
    for i in range(len(offsets) - 1):
        if weight[i] == 0.0:
            continue
        w = weight[i]
        score = 0.0
        for t in range(offsets[i], offsets[i + 1]):
            score += node[t, y[t]]
            out_node[t, y[t]] -= w
        for e in range(edge_offsets[i], edge_offsets[i + 1]):
            pair = y[edges[e, 0]] * K + y[edges[e, 1]]
            score += edge[step * e, pair]
            out_edge[out_step * e, pair] -= w
        value[i] -= score
