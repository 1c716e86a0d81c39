"""Labellings under any families of cliques: their scores and indicators, and which are allowed."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import at
from sklearn_struct.containers.structures import Potentials, Structure

__all__ = ["add_labelling", "forbid_labels"]


def add_labelling(
    potentials: Potentials,
    structure: Structure,
    labels: np.ndarray,
    weight: np.ndarray,
    out: Potentials,
    score: np.ndarray,
) -> None:
    """Add ``weight[i]`` times the indicators of a labelling to `out`, and write its score."""
    node, cliques = potentials
    offsets, families, _ = structure
    labels = np.ascontiguousarray(labels)
    if not families:
        # without cliques the kernel still counts the nodes
        nothing = np.zeros((1, 1))
        none = np.zeros((0, 1), np.int64), np.zeros_like(offsets)
        _add(node, offsets, nothing, *none, labels, weight, out.node, nothing, True, score)
    # one call where there is one family: of short chains calls cost as much as what they do
    for f, (table, family, into) in enumerate(zip(cliques, families, out.cliques, strict=True)):
        first = f == 0
        of_cliques = np.ascontiguousarray(family.nodes), family.offsets
        _add(node, offsets, table, *of_cliques, labels, weight, out.node, into, first, score)


def forbid_labels(potentials: Potentials, allowed: np.ndarray) -> Potentials:
    """A copy of the potentials with -inf for the labels of each token that the mask (n, K) does not
    allow.
    """
    node = potentials.node.copy()
    node[~allowed] = -np.inf
    return Potentials(node, potentials.cliques)


@kernel
def _add(
    node: np.ndarray,
    offsets: np.ndarray,
    table: np.ndarray,
    nodes: np.ndarray,
    bounds: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray,
    out_node: np.ndarray,
    out_table: np.ndarray,
    first: bool,
    score: np.ndarray,
) -> None:
    """Add the indicators of a family's cliques; with the first family those of the nodes, too.

    Cliques that are not listed are neighbours.
    """
    K = node.shape[1]
    size = nodes.shape[1]
    is_listed = len(nodes) > 0
    step = 0 if table.shape[0] == 1 else 1
    out_step = 0 if out_table.shape[0] == 1 else 1
    for i in range(len(offsets) - 1):
        if first:
            score[i] = 0.0
        w = weight[i]
        if w == 0.0:
            continue
        total = score[i]
        for t in range(offsets[i], offsets[i + 1] if first else offsets[i]):
            # `at` reads without numba's care for negative indices
            label = at(labels, t)
            total += node[t, label]
            out_node[t, label] += w
        for c in range(bounds[i], bounds[i + 1]):
            column = 0
            first_node = offsets[i] + c - bounds[i]
            for r in range(size):
                t = at(nodes, c * size + r) if is_listed else first_node + r
                column = column * K + at(labels, t)
            total += table[step * c, column]
            out_table[out_step * c, column] += w
        score[i] = total
