"""The map of rows that several nodes of two labels share: each row scores the second label of all
its nodes, without a copy of the row for each of them.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.linear.dense import DenseMap
from sklearn_struct.linear.lookup_for_prediction import LookupMap
from sklearn_struct.linear.padded_rows import RowsMap
from sklearn_struct.linear.sparse_beside_dense import SumMap
from sklearn_struct.linear.vectors_side_by_side import ONE, Grains

__all__ = ["SharedRows"]


class SharedRows:
    """Scores of n nodes by another map, one a row of X; their first labels have the score 0.

    Parameters
    ----------
    of_rows : DenseMap, RowsMap, LookupMap or SumMap
        From a row of X to its n numbers.
    n : int
        How many nodes share a row.
    """

    def __init__(self, of_rows: DenseMap | RowsMap | LookupMap | SumMap, n: int) -> None:
        self.of_rows = of_rows
        self.n = n
        self.dtype = of_rows.dtype
        self.size = of_rows.size
        self.expanded_size = of_rows.expanded_size

    def expand(self, w: np.ndarray, W: np.ndarray) -> None:
        self.of_rows.expand(w, W)

    def compress(self, W: np.ndarray) -> np.ndarray:
        return self._trained.compress(W)

    @property
    def grains(self) -> Grains:
        return self.of_rows.grains

    @property
    def _trained(self) -> DenseMap | RowsMap | SumMap:
        """The map of rows, which must have a way back."""
        assert not isinstance(self.of_rows, LookupMap)
        return self.of_rows

    def forward(
        self, W: np.ndarray, nodes: slice, out: np.ndarray, scales: np.ndarray = ONE
    ) -> None:
        """Write the scores of both labels of some nodes, which are all those of some rows."""
        scores = np.empty((len(out) // self.n, self.n), out.dtype)
        self.of_rows.forward(W, self._rows(nodes), scores, scales)
        out[:, 0] = 0
        out[:, 1] = scores.ravel()

    def scatter(self, R: np.ndarray, nodes: slice, scales: np.ndarray, W: np.ndarray) -> None:
        """Add the pullback of R (n_nodes, 2) to the vectors that stand side by side in W."""
        self._trained.scatter(_second(R, self.n), self._rows(nodes), scales, W)

    def transpose(self, dtype: np.dtype, windows: list[slice]) -> _Transpose:
        return _Transpose(self, dtype, windows)

    def _rows(self, nodes: slice) -> slice:
        return slice(nodes.start // self.n, nodes.stop // self.n)


class _Transpose:
    """X' R, window by window of nodes."""

    def __init__(self, of: SharedRows, dtype: np.dtype, windows: list[slice]) -> None:
        self.of = of
        self.of_rows = of._trained.transpose(dtype, [of._rows(nodes) for nodes in windows])

    def begin(self) -> None:
        """Make room for a product."""
        self.of_rows.begin()

    def rest(self) -> None:
        """Give it away until the next product."""
        self.of_rows.rest()

    def put(self, R: np.ndarray, nodes: slice, first: int) -> None:
        """Keep the residuals of some nodes of the window that begins with node `first`."""
        self.of_rows.put(_second(R, self.of.n), self.of._rows(nodes), first // self.of.n)

    def add(self, pool: Pool, w: int, out: np.ndarray) -> None:
        """Add X' R, compact, of the nodes of window w."""
        self.of_rows.add(pool, w, out)


def _second(R: np.ndarray, n: int) -> np.ndarray:
    """What R (n_nodes, 2) has for second labels, a row for each row of X."""
    return np.ascontiguousarray(R[:, 1]).reshape(-1, n)
