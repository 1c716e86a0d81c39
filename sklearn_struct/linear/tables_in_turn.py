"""The map to cliques that are the same in all examples: each has a table of its own."""

from __future__ import annotations

import numpy as np

from sklearn_struct.linear.vectors_side_by_side import ONE, Grains

__all__ = ["TablesInTurn"]


class TablesInTurn:
    """Parameters are n tables (n, width); clique c of all examples together has table c modulo n.

    It is the map of features that are all 0 but for a 1 at the number of the clique, without a
    matrix of these.
    """

    def __init__(self, n: int, width: int) -> None:
        self.n = n
        self.width = width
        self.size = self.expanded_size = n * width

    def expand(self, w: np.ndarray, W: np.ndarray) -> None:
        W[:] = w

    def compress(self, W: np.ndarray) -> np.ndarray:
        return W

    @property
    def grains(self) -> Grains:
        return [(self.size, self.size)]  # all of it is read anyway

    def forward(
        self, W: np.ndarray, rows: slice, out: np.ndarray, scales: np.ndarray = ONE
    ) -> None:
        """Write the tables of some cliques, which are all those of some examples."""
        tables = scales.astype(W.dtype) @ W.reshape(len(scales), -1)
        out.reshape(-1, self.size)[:] = tables

    def scatter(self, R: np.ndarray, rows: slice, scales: np.ndarray, W: np.ndarray) -> None:
        """Add the pullback of R (n_cliques, width) to the vectors that stand side by side in W."""
        total = R.reshape(-1, self.size).sum(axis=0)
        for scale, vector in zip(scales, W.reshape(len(scales), -1), strict=True):
            vector += scale * total
