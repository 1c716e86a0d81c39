"""Beam search in a linear chain: from left to right, with only the best few states kept at each
token.

A state is a label, in chains of second order a pair of labels, of a token and of the one before it.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.structures import Potentials, Structure
from sklearn_struct.inference.chains.flat_tuples import (
    TripleLinks,
    Triples,
    with_triple_links,
    with_triples,
)

__all__ = ["beam"]


def beam(potentials: Potentials, structure: Structure, width: int, labels: np.ndarray) -> None:
    """Write a labelling (n,) int32: the best one that never leaves the beam.

    At each token the `width` states stay at which the best ways end that are still in the beam. All
    states kept, this is Viterbi; one kept, it decides greedily, token by token. States from which
    no allowed labelling goes on to the end are never kept, so wherever there is an allowed
    labelling, one is found.

    Parameters
    ----------
    potentials : Potentials
        Any, of first or second order; a beam knows only the scores of the tokens up to the one at
        which it decides.
    structure : Structure
        As made by `containers.structures.chain`.
    width : int
    labels : ndarray of shape (n,), int32
        Written. Ties go to the smaller label.
    """
    # as many as the widest cliques have labellings of what is before a label
    n_states = potentials.cliques[-1].shape[1] // potentials.node.shape[1]
    longest = int(np.diff(structure.offsets).max(initial=0))
    work = np.empty((longest, n_states), np.int32), np.empty((longest, n_states), bool)
    _beam(
        with_triples(potentials), with_triple_links(structure), min(width, n_states), work, labels
    )


@kernel
def _beam(
    potentials: Triples,
    structure: TripleLinks,
    width: int,
    work: tuple[np.ndarray, np.ndarray],
    labels: np.ndarray,
) -> None:
    node = potentials.node
    edge = potentials.edge
    triple = potentials.triple
    offsets = structure.offsets
    back, alive = work
    K = node.shape[1]
    S = work[0].shape[1]
    score = np.empty(S)
    arrived = np.empty(S)
    kept = np.empty(width, np.int64)
    for i in range(len(offsets) - 1):
        t0 = offsets[i]
        T = offsets[i + 1] - offsets[i]
        n = 0
        place = (t0, structure.edge_offsets[i], structure.triple_offsets[i])
        _mark(potentials, place, T, alive)
        for t in range(T):
            arrived[:] = -np.inf
            back[t] = 0  # a state, whatever the scores are
            for k in range(K if t == 0 else 0):
                arrived[k] = 0.0
            for r in range(n):
                e, m, first = _ways(potentials, place, t, kept[r])
                pair = _label(kept[r], K) * K
                for k in range(K):
                    of_three = triple[m, kept[r] * K + k] if m >= 0 else 0.0
                    way = score[kept[r]] + edge[e, pair + k] + of_three
                    best = arrived[first + k]
                    # states kept are sorted by score, so of equal ways the smaller state is not
                    # always met first
                    if way > best or (
                        way == best and way > -np.inf and kept[r] < back[t, first + k]
                    ):
                        arrived[first + k] = way
                        back[t, first + k] = kept[r]
            for state in range(S):
                arrived[state] += node[t0 + t, _label(state, K)] if alive[t, state] else -np.inf
            n = _keep(arrived, score, kept)
        state = kept[0] if n > 0 else 0
        for t in range(T - 1, -1, -1):
            labels[t0 + t] = _label(state, K)
            state = back[t, state] if n > 0 else 0


@kernel
def _label(state: int, K: int) -> int:
    """The label of the token itself; most divisions are for nothing, and slow."""
    return state if state < K else state % K


@kernel
def _ways(
    potentials: Triples, place: tuple[int, int, int], t: int, state: int
) -> tuple[int, int, int]:
    """Rows of the tables of pairs and of triples (-1: none), and the first state, of the ways on
    from a state.
    """
    K = potentials.node.shape[1]
    _, e0, m0 = place
    e = min(e0 + t - 1, len(potentials.edge) - 1)
    if potentials.triple.shape[1] == 0:
        return e, -1, 0
    m = min(m0 + t - 2, len(potentials.triple) - 1)
    return e, m if t > 1 else -1, _label(state, K) * K


@kernel
def _keep(arrived: np.ndarray, score: np.ndarray, kept: np.ndarray) -> int:
    """Write the states of the best ways above -inf, best first, and their scores; return their
    number.

    Scores are less the best one, so that long chains lose no digits. What is kept is struck from
    `arrived`.
    """
    n = 0
    top = 0.0
    for _ in range(len(kept)):
        best = 0
        for state in range(len(arrived)):
            if arrived[state] > arrived[best]:
                best = state
        if arrived[best] == -np.inf:
            break
        top = arrived[best] if n == 0 else top
        kept[n] = best
        score[best] = arrived[best] - top
        arrived[best] = -np.inf
        n += 1
    return n


@kernel
def _mark(potentials: Triples, place: tuple[int, int, int], T: int, alive: np.ndarray) -> None:
    """Write from which states at which tokens an allowed labelling goes on to the end."""
    node = potentials.node
    edge = potentials.edge
    triple = potentials.triple
    K = potentials.node.shape[1]
    t0 = place[0]
    for t in range(T - 1, -1, -1):
        for state in range(alive.shape[1]):
            possible = node[t0 + t, _label(state, K)] > -np.inf
            alive[t, state] = possible and t == T - 1
            if alive[t, state] or not possible:
                continue
            e, m, first = _ways(potentials, place, t + 1, state)
            pair = _label(state, K) * K
            for k in range(K):
                allowed = edge[e, pair + k] > -np.inf
                allowed = allowed and (m < 0 or triple[m, state * K + k] > -np.inf)
                if allowed and alive[t + 1, first + k]:
                    alive[t, state] = True
                    break
