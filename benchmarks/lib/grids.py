"""Random scores on grids, for benchmarks of inference on graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lib.side_by_side import least


def grid(height: int, width: int, n_labels: int, shared: bool) -> tuple[Any, Any]:
    """Random potentials and structure of a grid."""
    import numpy as np

    from sklearn_struct.containers.structures import Family, Potentials, Structure

    rng = np.random.default_rng(0)
    edges = edges_of_grid(height, width)
    node = rng.normal(size=(height * width, n_labels))
    table = 0.5 * rng.normal(size=(1 if shared else len(edges), n_labels**2))
    structure = Structure(np.array([0, len(node)]), (Family(edges, np.array([0, len(edges)])),))
    return Potentials(node, (table,)), structure


def edges_of_grid(height: int, width: int) -> Any:
    """Pairs of neighbours: first those side by side, then those above each other."""
    import numpy as np

    number = np.arange(height * width).reshape(height, width)
    across = np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()])
    down = np.column_stack([number[:-1].ravel(), number[1:].ravel()])
    return np.concatenate([across, down])


def marginals_of(inference: Any, potentials: Any, structure: Any) -> tuple[Callable[[], None], Any]:
    """A call for marginals, and where it writes log Z; the first call has been made, as it compiles
    kernels.
    """
    import numpy as np

    from sklearn_struct.containers.structures import zeros

    out = zeros(potentials)
    log_Z = np.empty(1)

    def call() -> None:
        inference.marginals(potentials, structure, np.ones(1), out, log_Z)

    call()
    return call, log_Z


def seconds(inference: Any, potentials: Any, structure: Any, repeats: int) -> float:
    """Shortest CPU seconds of a call for marginals."""
    call, _ = marginals_of(inference, potentials, structure)
    return least(call, repeats)
