"""Derivatives of sums along a direction, by a small step along the imaginary axis.

The imaginary part of the result is the derivative. As no difference is taken, no digit is lost
(Squire and Trapp, SIAM Review 1998).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from sklearn_struct.containers.structures import Potentials

__all__ = ["STEP", "Sums", "add_derivative"]

# how far to go: its square is nothing beside 1
STEP = 1e-30

# potentials -> marginals added to the second, log Z written into the third
Sums: TypeAlias = Callable[[Potentials, Potentials, np.ndarray], None]


def add_derivative(
    sums: Sums, potentials: Potentials, reward: Potentials, out: Potentials, mean: np.ndarray
) -> None:
    """Add the derivative of marginals in the direction of a reward to `out`; write that of log Z,
    nan where this is -inf.
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
    sums(moved, complex_out, log_Z)
    parts = zip((out.node, *out.cliques), (complex_out.node, *complex_out.cliques), strict=True)
    for into, part in parts:
        into += part.imag / STEP
    mean[:] = np.where(log_Z.real > -np.inf, log_Z.imag / STEP, np.nan)


def _moved(scores: np.ndarray, reward: np.ndarray) -> np.ndarray:
    """The scores after a step; what is forbidden stays, whatever it would earn."""
    scores, reward = np.broadcast_arrays(np.asarray(scores, np.float64), reward)
    return scores + 1j * np.where(scores > -np.inf, STEP * reward, 0.0)
