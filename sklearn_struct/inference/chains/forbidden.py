"""Which labellings of a chain are allowed: what is forbidden has a potential of -inf."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.structures import Potentials, Structure, ends
from sklearn_struct.inference.chains.flat_tuples import Links, Pairs

__all__ = ["Transitions", "dead_ends", "forbid", "forbidden_tokens"]


class Transitions(NamedTuple):
    """Booleans: labels that may come first (K,), pairs that may follow each other (K, K), labels
    that may come last.
    """

    start: np.ndarray
    pairs: np.ndarray
    end: np.ndarray


def forbid(potentials: Potentials, structure: Structure, transitions: Transitions) -> Potentials:
    """A copy of the potentials, as far as `transitions` change them, with -inf for what they
    forbid.
    """
    node, (edge, *wider) = potentials
    start, pairs, end = transitions
    if not np.all(pairs):
        edge = edge.copy()
        edge[:, np.flatnonzero(~pairs)] = -np.inf  # with its pair each triple is forbidden
    if not (np.all(start) and np.all(end)):
        first, last = ends(structure)
        node = node.copy()
        node[np.ix_(first, ~start)] = -np.inf
        node[np.ix_(last, ~end)] = -np.inf
    return Potentials(node, (edge, *wider))


def forbidden_tokens(
    labels: np.ndarray, structure: Structure, transitions: Transitions
) -> np.ndarray:
    """The tokens, sorted, whose label may not stand there: after its predecessor, or at an end."""
    first, last = ends(structure)
    left, right = structure.families[0].nodes.T
    start, pairs, end = transitions
    wrong = (
        first[~start[labels[first]]],
        right[~pairs[labels[left], labels[right]]],
        last[~end[labels[last]]],
    )
    return np.unique(np.concatenate(wrong))


def dead_ends(potentials: Potentials, structure: Structure) -> np.ndarray:
    """The first token of each sequence that no allowed labelling of the tokens up to it reaches, -1
    for none.

    Tokens count from 0 in each sequence. Reachability is 0/1, so no underflow can be taken for
    "forbidden".
    """
    dead = np.empty(structure.n_examples, np.int64)
    pairs = structure.families[0]
    _dead_ends(
        Pairs(potentials.node, potentials.cliques[0]), Links(structure.offsets, *pairs), dead
    )
    return dead


@kernel
def _dead_ends(potentials: Pairs, structure: Links, dead: np.ndarray) -> None:
    node = potentials.node
    edge = potentials.edge
    offsets = structure.offsets
    edge_offsets = structure.edge_offsets
    K = node.shape[1]
    step = 0 if edge.shape[0] == 1 else 1
    reached = np.ones(K, np.bool_)
    before = np.ones(K, np.bool_)
    for i in range(len(dead)):
        dead[i] = -1
        for t in range(offsets[i + 1] - offsets[i]):
            row = offsets[i] + t
            e = step * (edge_offsets[i] + t - 1)
            alive = False
            for k in range(K):
                before[k] = reached[k]
            for k in range(K):
                is_reached = t == 0
                if node[row, k] > -np.inf:
                    for j in range(K):
                        if is_reached:
                            break
                        is_reached = before[j] and edge[e, j * K + k] > -np.inf
                reached[k] = is_reached and node[row, k] > -np.inf
                alive = alive or reached[k]
            if not alive:
                dead[i] = t
                break
