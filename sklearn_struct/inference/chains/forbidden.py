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
    """The tokens, sorted, whose label may not stand there: after its predecessor, or at an end.

    A code of K + k says that a segment with the label k goes on: no transition leads there.
    """
    first, last = ends(structure)
    # pairs of neighbours, which a structure need not list
    right = np.delete(np.arange(len(labels)), first)
    left = right - 1
    start, pairs, end = transitions
    begins = labels < len(start)
    labels = labels % len(start)
    wrong = (
        first[~start[labels[first]]],
        right[~pairs[labels[left], labels[right]] & begins[right]],
        last[~end[labels[last]]],
    )
    return np.unique(np.concatenate(wrong))


def dead_ends(
    potentials: Potentials, structure: Structure, longest: tuple[int, ...] | None = None
) -> np.ndarray:
    """The first token of each sequence that no allowed labelling of the tokens up to it reaches, -1
    for none.

    Tokens count from 0 in each sequence. Reachability is 0/1, so no underflow can be taken for
    "forbidden". With `longest` it is about segmentations, in which segments of label k have at most
    ``longest[k]`` tokens, and pairs are of neighbouring segments.
    """
    dead = np.empty(structure.n_examples, np.int64)
    pairs = structure.families[0]
    most = np.ones(potentials.node.shape[1], np.int64)
    if longest is not None:
        most[:] = longest
    tables = Pairs(potentials.node, potentials.cliques[0])
    _dead_ends(tables, Links(structure.offsets, *pairs), most, dead)
    return dead


@kernel
def _dead_ends(potentials: Pairs, structure: Links, most: np.ndarray, dead: np.ndarray) -> None:
    node = potentials.node
    edge = potentials.edge
    offsets = structure.offsets
    edge_offsets = structure.edge_offsets
    K = node.shape[1]
    step = 0 if edge.shape[0] == 1 else 1
    # how many tokens a segment of each label that covers this token has left at most; the one that
    # began last has the most
    left = np.zeros(K, np.int64)
    before = np.zeros(K, np.int64)
    for i in range(len(dead)):
        dead[i] = -1
        for t in range(offsets[i + 1] - offsets[i]):
            row = offsets[i] + t
            e = step * (edge_offsets[i] + t - 1)
            alive = False
            for k in range(K):
                before[k] = left[k]
            for k in range(K):
                begins = t == 0
                if node[row, k] > -np.inf:
                    for j in range(K):
                        if begins:
                            break
                        begins = before[j] > 0 and edge[e, j * K + k] > -np.inf
                left[k] = max(before[k] - 1, 0) if t > 0 else 0
                if begins:
                    left[k] = most[k]
                if not node[row, k] > -np.inf:
                    left[k] = 0
                alive = alive or left[k] > 0
            if not alive:
                dead[i] = t
                break
