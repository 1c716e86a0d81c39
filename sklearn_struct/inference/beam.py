"""Beam search in a linear chain: from left to right, with only the best few labels kept at each token."""

from __future__ import annotations

import numpy as np

from sklearn_struct.batch import Potentials, Structure
from sklearn_struct.kernel import kernel

__all__ = ["beam"]


def beam(potentials: Potentials, structure: Structure, width: int, labels: np.ndarray) -> None:
    """Write a labelling (n,) int32: the best one that never leaves the beam.

    At each token the `width` labels stay at which the best ways end that are still in the beam. All labels kept, this
    is Viterbi; one kept, it decides greedily, token by token. Labels from which no allowed labelling goes on
    to the end are never kept, so wherever there is an allowed labelling, one is found.

    Parameters
    ----------
    potentials : Potentials
        Any; a beam knows only the scores of the tokens up to the one at which it decides.
    structure : Structure
        As made by `batch.chain`.
    width : int
    labels : ndarray of shape (n,), int32
        Written. Ties go to the smaller label.
    """
    K = potentials.node.shape[1]
    longest = int(np.diff(structure.offsets).max(initial=0))
    _beam(
        potentials, structure, min(width, K), (np.empty((longest, K), np.int32), np.empty((longest, K), bool)), labels
    )


@kernel
def _beam(potentials, structure, width, work, labels):
    node, edge, offsets, edge_offsets = potentials.node, potentials.edge, structure.offsets, structure.edge_offsets
    K, step, (back, alive) = node.shape[1], 0 if edge.shape[0] == 1 else 1, work
    score, arrived, kept = np.empty(K), np.empty(K), np.empty(width, np.int64)
    for i in range(len(offsets) - 1):
        t0, T, n = offsets[i], offsets[i + 1] - offsets[i], 0
        _mark(potentials, (t0, T, edge_offsets[i]), alive)
        for t in range(T):
            e = step * (edge_offsets[i] + t - 1)
            for k in range(K):
                arrived[k], back[t, k] = -np.inf if t > 0 else 0.0, 0
                for r in range(n if alive[t, k] else 0):
                    j = kept[r]
                    way = score[j] + edge[e, j * K + k]
                    if way > arrived[k] or (way == arrived[k] and way > -np.inf and j < back[t, k]):
                        arrived[k], back[t, k] = way, j
                arrived[k] += node[t0 + t, k] if alive[t, k] else -np.inf
            n = _keep(arrived, kept)
            for k in range(K):
                score[k] = arrived[k] - (arrived[kept[0]] if n > 0 else 0.0)  # so long chains lose no digits
        label = kept[0] if n > 0 else 0
        for t in range(T - 1, -1, -1):
            labels[t0 + t] = label
            label = back[t, label]


@kernel
def _keep(scores, kept):
    """Write the labels of the best scores above -inf, best first; return their number."""
    n = 0
    for _ in range(len(kept)):
        best = -1
        for k in range(len(scores)):
            taken = False
            for q in range(n):
                taken = taken or kept[q] == k
            if not taken and scores[k] > -np.inf and (best < 0 or scores[k] > scores[best]):
                best = k
        if best >= 0:
            kept[n] = best
            n += 1
    return n


@kernel
def _mark(potentials, place, alive):
    """Write from which labels at which tokens an allowed labelling goes on to the end."""
    node, edge, (t0, T, e0) = potentials.node, potentials.edge, place
    K, step = node.shape[1], 0 if edge.shape[0] == 1 else 1
    for t in range(T - 1, -1, -1):
        for j in range(K):
            alive[t, j] = False
            if node[t0 + t, j] > -np.inf:
                alive[t, j] = t == T - 1
                for k in range(K if t < T - 1 else 0):
                    if alive[t + 1, k] and edge[step * (e0 + t), j * K + k] > -np.inf:
                        alive[t, j] = True
                        break
