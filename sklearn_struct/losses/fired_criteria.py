"""Where criteria of labels and of label pairs fire, and what is expected there."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.csr import CSR
from sklearn_struct.containers.structures import Potentials, Structure, zeros
from sklearn_struct.inference.base import CliqueRows, Inference
from sklearn_struct.losses.evidence import Evidence, Fired

__all__ = ["expected", "fired_of", "fires", "spread"]


def fired_of(evidence: Evidence) -> Fired:
    """Which criteria fire."""
    if evidence.fired is None:
        raise TypeError("the evidence does not say which criteria fire")
    return evidence.fired


def fires(fired: Fired, structure: Structure) -> np.ndarray:
    """Whether a criterion fires anywhere in each example."""
    counts = [
        table.indptr[structure.offsets[1:]] > table.indptr[structure.offsets[:-1]]
        for table in fired
    ]
    anywhere: np.ndarray = counts[0] | counts[1]
    return anywhere


def expected(
    inference: Inference,
    potentials: Potentials,
    structure: Structure,
    weight: np.ndarray,
    fired: Fired,
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    log_Z: np.ndarray,
) -> np.ndarray:
    """Unnormalised expected distributions of all criteria, on labels and then on pairs, one after
    the other; log Z of each example is written.
    """
    marginals = zeros(potentials)
    node, edge = (np.zeros(shape) for shape in shapes)
    if fired.has_edges:
        rows = CliqueRows(fired.edge, edge)
        inference.marginals_by_row(potentials, structure, weight, marginals.node, rows, log_Z)
    else:
        inference.marginals(potentials, structure, weight, marginals, log_Z)
    _collect(fired.node, marginals.node, node)
    return np.concatenate([node.ravel(), edge.ravel()])


@kernel
def _collect(fired: CSR, table: np.ndarray, out: np.ndarray) -> None:
    """out[m] += f_m(t) * table[t], as many columns as `out` has."""
    indptr = fired.indptr
    indices = fired.indices
    data = fired.data
    K = out.shape[1]
    for t in range(len(indptr) - 1):
        for p in range(indptr[t], indptr[t + 1]):
            m = indices[p]
            f = data[p]
            for k in range(K):
                out[m, k] += f * table[t, k]


@kernel
def spread(fired: CSR, slopes: np.ndarray, out: np.ndarray) -> None:
    """out[t] += f_m(t) * slopes[m]."""
    indptr = fired.indptr
    indices = fired.indices
    data = fired.data
    K = slopes.shape[1]
    for t in range(len(indptr) - 1):
        for p in range(indptr[t], indptr[t + 1]):
            m = indices[p]
            f = data[p]
            for k in range(K):
                out[t, k] += f * slopes[m, k]
