"""Minus the logarithms of the marginals of the true labels, each with a weight of its own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.containers.structures import Potentials, Structure

__all__ = ["Pointwise", "labels_of", "weighted"]

# smaller probabilities come from clamped copies: covariances lose as many digits as rewards have
TINY = 1e-6
COPIES = 10_000  # tokens of clamped copies at a time
TOKEN = np.dtype([("label", np.int32), ("weight", np.float64)])


def weighted(labels: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Labels with a weight for each token, in the form in which `Pointwise` takes them for y."""
    y = np.empty(len(labels), dtype=TOKEN)
    y["label"] = labels
    y["weight"] = weight
    return y


def labels_of(y: np.ndarray) -> np.ndarray:
    """The labels alone, whether or not y is `weighted`."""
    return y["label"] if y.dtype == TOKEN else y


class Pointwise:
    """The loss sum_t omega_t * -log p(y_t | x) of each example (Kakade, Teh & Roweis, ICML 2002).

    It asks of each label alone to be probable, not of the labelling; so each may have a weight
    omega, which in -log p(y | x) would have no meaning. The gradient is minus the covariance of
    indicators with the reward omega_t / p(y_t | x) of each true label. It is not convex, except for
    examples of one token, where it is the likelihood's.

    Where p(y_t | x) is tiny, the reward would be huge, or p no float. There the same is computed
    from a copy of the example in which label t is clamped: log p = log Z(clamped) - log Z, with
    gradient marginals(clamped) - marginals.

    Parameters
    ----------
    inference : module or object with ``marginals(potentials, structure, weight, out, log_Z)``
        And ``tangent(potentials, reward, structure, weight, out, mean)``.
    """

    convex = False
    token_weights = True

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
        """Write ``value[i]``; add ``weight[i]`` times its derivative to `out`. y holds labels, or
        is `weighted`.
        """
        labels = labels_of(y)
        omega = y["weight"] if y.dtype == TOKEN else np.ones(len(y))
        # ratios keep their digits
        potentials = Potentials(*(np.asarray(table, np.float64) for table in potentials))
        example = np.repeat(np.arange(len(weight)), np.diff(structure.offsets))
        tokens = np.arange(len(labels))
        marginals = _zeros(potentials)
        log_Z = np.empty(len(weight))
        self.inference.marginals(
            potentials, structure, (weight != 0).astype(np.float64), marginals, log_Z
        )
        p = marginals.node[tokens, labels]
        marginals.node[tokens, labels] = 0.0
        rest = np.minimum(marginals.node.sum(axis=1), 0.5)  # near p = 1 it has the digits of log p
        asked = (omega > 0) & (weight[example] != 0)
        cost = np.zeros(len(labels))
        near = np.flatnonzero(asked & (p >= TINY))
        far = np.flatnonzero(asked & ~(p >= TINY))
        cost[near] = np.where(p[near] > 0.5, -np.log1p(-rest[near]), -np.log(p[near]))
        reward = _zeros(potentials)
        reward.node[near, labels[near]] = omega[near] / p[near]
        self.inference.tangent(potentials, reward, structure, -weight, out, np.empty(len(weight)))
        if len(far):
            chosen = _Labels(far, labels[far], example[far], omega[far] * weight[example[far]])
            clamped = self._clamped(potentials, chosen, structure, out)
            allowed = clamped > -np.inf
            again = np.bincount(chosen.example, allowed * chosen.weight, len(weight))
            self.inference.marginals(potentials, structure, again, out, value)
            cost[far] = np.inf
            cost[far[allowed]] = log_Z[chosen.example[allowed]] - clamped[allowed]
        value[:] = np.bincount(example, omega * cost, len(weight))

    def _clamped(
        self, potentials: Potentials, chosen: _Labels, structure: Structure, out: Potentials
    ) -> np.ndarray:
        """log Z of a copy of the example for each chosen label, clamped; their marginals, weighted,
        are subtracted.
        """
        log_Z = np.empty(len(chosen.token))
        shared = len(potentials.edge) == 1
        out_shared = len(out.edge) == 1
        ends = np.cumsum(np.diff(structure.offsets)[chosen.example])
        for part in np.split(np.arange(len(log_Z)), np.flatnonzero(np.diff(ends // COPIES)) + 1):
            token, label, example, weight = (field[part] for field in chosen)
            tokens, offsets = _ranges(structure.offsets, example)
            edges, edge_offsets = _ranges(structure.edge_offsets, example)
            moved = np.repeat(offsets[:-1] - structure.offsets[example], np.diff(edge_offsets))
            copies = Structure(offsets, structure.edges[edges] + moved[:, None], edge_offsets)
            node = potentials.node[tokens]
            rows = offsets[:-1] + token - structure.offsets[example]
            kept = node[rows, label]
            node[rows] = -np.inf
            node[rows, label] = kept
            edge = potentials.edge if shared else potentials.edge[edges]
            found = Potentials(
                np.zeros(node.shape), np.zeros((1 if out_shared else len(edges), edge.shape[1]))
            )
            part_log_Z = np.empty(len(part))
            self.inference.marginals(Potentials(node, edge), copies, -weight, found, part_log_Z)
            log_Z[part] = part_log_Z
            _add_ranges(out.node, structure.offsets[example], found.node, offsets)
            if out_shared:
                out.edge[0] += found.edge[0]
            else:
                _add_ranges(out.edge, structure.edge_offsets[example], found.edge, edge_offsets)
        return log_Z


class _Labels(NamedTuple):
    """Labels of tokens, of which examples they are, and their weights."""

    token: np.ndarray
    label: np.ndarray
    example: np.ndarray
    weight: np.ndarray


def _zeros(potentials: Potentials) -> Potentials:
    """Room for nodes and for what all edges share."""
    return Potentials(np.zeros(potentials.node.shape), np.zeros((1, potentials.edge.shape[1])))


def _add_ranges(out: np.ndarray, first: np.ndarray, rows: np.ndarray, offsets: np.ndarray) -> None:
    """Add each range of rows to as many rows of `out`, from its first one there on."""
    for begin, a, b in zip(
        first.tolist(), offsets[:-1].tolist(), offsets[1:].tolist(), strict=True
    ):
        out[begin : begin + b - a] += rows[a:b]


def _ranges(offsets: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What stands in the chosen ranges, one after the other, and the bounds of the ranges there."""
    lengths = np.diff(offsets)[chosen]
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    return np.arange(bounds[-1]) + np.repeat(offsets[chosen] - bounds[:-1], lengths), bounds
