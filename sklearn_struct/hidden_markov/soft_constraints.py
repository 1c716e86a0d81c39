"""Soft constraints on labellings of a chain of first order: values that have a label, and least
lengths of fields.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sklearn_struct.containers.memory_checks import reserve
from sklearn_struct.containers.structures import Potentials, Structure, ends
from sklearn_struct.hidden_markov.observed import Observed

__all__ = ["SoftConstraints", "Wanted"]


@dataclass(frozen=True)
class Wanted(Observed):
    """What was emitted, and the label (n,) that each token should have, -1 where any may stand."""

    wanted: np.ndarray = field(kw_only=True)

    @classmethod
    def of(cls, observed: Observed, wanted: np.ndarray) -> Wanted:
        """What was emitted, with the labels that tokens should have."""
        return cls(**vars(observed), wanted=wanted)


class SoftConstraints(NamedTuple):
    """What a broken constraint takes off the score: each token that has not the label it should,
    and each field, a run of one label, of less than ``min_length`` tokens.

    Under least lengths states are labels that know how long their field is, up to that length:
    label k and length r are the state k * min_length + r - 1.
    """

    penalty: float
    min_length: int

    def of(self, theta: Potentials, structure: Structure, wanted: np.ndarray) -> Potentials:
        """Potentials of states."""
        node = theta.node.copy()
        here = np.flatnonzero(wanted >= 0)
        node[here] -= self.penalty * (wanted[here, None] != np.arange(node.shape[1]))
        theta = Potentials(node, theta.cliques)
        return self._with_lengths(theta, structure) if self.min_length > 1 else theta

    def labels(self, states: np.ndarray) -> np.ndarray:
        """The labels of states."""
        labels: np.ndarray = states // self.min_length
        return labels

    def proba(self, of_states: np.ndarray) -> np.ndarray:
        """Probabilities of labels (n, K) from those of states."""
        n, n_states = of_states.shape
        by_length = of_states.reshape(n, n_states // self.min_length, self.min_length)
        proba: np.ndarray = by_length.sum(axis=2)
        return proba

    def _with_lengths(self, theta: Potentials, structure: Structure) -> Potentials:
        least = self.min_length
        K = theta.node.shape[1]
        first, last = ends(structure)
        length = np.tile(np.arange(least), K)
        early = length < least - 1
        node = np.repeat(theta.node, least, axis=1)
        # a sequence begins with the first token of a field, and should not end early in one
        node[first] = np.where(length > 0, -np.inf, node[first])
        node[last] -= self.penalty * early
        moves = theta.cliques[0].reshape(-1, K, K)
        n = len(moves)
        reserve(8 * n * node.shape[1] ** 2, f"min_length={least}")
        edge = np.full((n, K, least, K, least), -np.inf)
        ended = self.penalty * early.reshape(K, least)
        edge[:, :, :, :, 0] = moves[:, :, None, :] - ended[:, :, None]
        for k in range(K):
            edge[:, k, :, k, 0] = -np.inf
            for r in range(least):
                edge[:, k, r, k, min(r + 1, least - 1)] = moves[:, k, k]
        return Potentials(node, (edge.reshape(n, -1),))
