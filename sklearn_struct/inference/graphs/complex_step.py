"""What inferences on graphs share: derivatives by a small step along the imaginary axis.

The imaginary part of marginals is their derivative. As no difference is taken, no digit is lost
(Squire and Trapp, SIAM Review 1998).
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.containers.structures import Potentials, Structure, n_columns
from sklearn_struct.inference.base import Inference

__all__ = ["STEP", "OnGraphs"]

# how far to go: its square is nothing beside 1
STEP = 1e-30


class OnGraphs(Inference):
    """An inference whose `marginals` takes complex potentials, too: it needs no `tangent`."""

    def most_tokens(self, structure: Structure, n_labels: int) -> int:
        """With how many nodes a call is still short."""
        sizes = [family.nodes.shape[1] for family in structure.families]
        return 2_000_000 // n_columns(n_labels, max(sizes, default=1))

    def tangent(
        self,
        potentials: Potentials,
        reward: Potentials,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        mean: np.ndarray,
    ) -> None:
        """Add the derivatives of weighted marginals in the direction of a reward to `out`; see
        `Inference.tangent`.
        """
        moved = Potentials(
            _moved(potentials.node, reward.node),
            tuple(map(_moved, potentials.cliques, reward.cliques)),
        )
        complex_out = Potentials(
            np.zeros(out.node.shape, complex),
            tuple(np.zeros(table.shape, complex) for table in out.cliques),
        )
        log_Z = np.empty(len(mean), complex)
        self.marginals(moved, structure, weight, complex_out, log_Z)
        parts = zip((out.node, *out.cliques), (complex_out.node, *complex_out.cliques), strict=True)
        for into, part in parts:
            into += part.imag / STEP
        mean[:] = np.where(log_Z.real > -np.inf, log_Z.imag / STEP, np.nan)


def _moved(scores: np.ndarray, reward: np.ndarray) -> np.ndarray:
    """The scores after a step; what is forbidden stays, whatever it would earn."""
    scores, reward = np.broadcast_arrays(np.asarray(scores, np.float64), reward)
    return scores + 1j * np.where(scores > -np.inf, STEP * reward, 0.0)
