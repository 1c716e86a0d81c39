"""Chains of hidden states, one for each class of a sequence: whole sequences belong to a class.

The labels of tokens are pairs of a class and one of its H states, c * H + h, and all labels of a
sequence have the same class. So Z is a sum over classes, each of which is a chain of H states:
n_classes * H**2 operations a token, where one chain of all labels would take (n_classes * H)**2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import LANES
from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers import structures
from sklearn_struct.containers.structures import Blocks, Potentials, Structure, refuse_wider_cliques
from sklearn_struct.inference.base import Inference
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.chains.class_lanes import (
    MOST,
    Lanes,
    backward,
    forward,
    side_by_side,
)

__all__ = ["ClassChains", "chosen"]

CHAIN = Chain()
FEWEST = 4000  # tokens, with fewer of which calls cost as much as what they do


class _Sums(NamedTuple):
    """log Z (n, n_classes) of each class, its marginals of states (n_classes, n_tokens, n_states),
    and of their pairs (n_classes, n_edges, n_states ** 2).
    """

    partition: np.ndarray
    nodes: np.ndarray
    edges: np.ndarray


@dataclass(frozen=True)
class ClassChains(Inference):
    """Exact inference on chains of first order whose tokens have states of one class.

    Scores of moves from a class to another are not read, and have no marginals.

    Parameters
    ----------
    n_classes : int
        The labels of potentials are divided among so many.
    """

    n_classes: int

    def structure(self, offsets: np.ndarray) -> Structure:
        """Chains over the tokens that ``offsets`` (n + 1) bounds."""
        return structures.chain(offsets)

    def most_tokens(self, structure: Structure, n_labels: int) -> int:
        """With how many tokens a call is still short, and its lanes find room."""
        short = CHAIN.most_tokens(structure, n_labels // self.n_classes)
        return min(short, MOST * LANES // (2 * n_labels))

    def blocks(
        self, structure: Structure, n_labels: int, n_tokens: int = 6000, n_blocks: int = 64
    ) -> Blocks:
        """As of any inference, but larger ones: there are groups of eight sequences."""
        n_blocks = min(n_blocks, max(1, int(structure.offsets[-1]) // FEWEST))
        return super().blocks(structure, n_labels, n_tokens, n_blocks)

    def marginals(
        self,
        potentials: Potentials,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        log_Z: np.ndarray,
    ) -> None:
        """Add weighted marginals to `out`, write log Z; see `Inference.marginals`."""
        none = np.zeros((len(weight), self.n_classes), bool)
        self._less(none, potentials, structure, weight, out, log_Z, np.empty(len(weight)))

    def marginals_less_allowed(
        self,
        potentials: Potentials,
        allowed: np.ndarray,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        value: np.ndarray,
    ) -> None:
        """See `Inference`. Where whole classes are allowed, one pass makes both sums."""
        classes = np.empty((len(weight), self.n_classes), bool)
        if not _whole_classes(allowed, structure.offsets, classes):
            super().marginals_less_allowed(potentials, allowed, structure, weight, out, value)
            return
        log_Z = np.empty(len(weight))
        self._less(classes, potentials, structure, weight, out, value, log_Z)
        value -= log_Z

    def _less(
        self,
        among: np.ndarray,
        potentials: Potentials,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        log_Z: np.ndarray,
        log_Z_among: np.ndarray,
    ) -> None:
        """Marginals less those `among` some classes (n, n_classes), if any, of each example."""
        partition = np.zeros(among.shape)
        shared = len(out.cliques[0]) == 1
        lanes = self._forward(potentials, structure, weight, partition) if shared else None
        again = np.full(len(weight), not lanes)
        again |= np.isnan(partition).any(axis=1)
        if np.any(again):
            classes = self._by_class(potentials)
            sums = self._each_class(classes, structure, np.where(again, weight, 0.0))
            partition[again] = sums.partition[again]
        share = np.zeros(among.shape)
        mixture(partition, np.ones(among.shape, bool), weight, log_Z, share)
        mixture(partition, among, -weight, log_Z_among, share)
        if np.any(again):
            self._add(sums, np.where(again[:, None], share, 0.0), structure, out)
            share[again] = 0.0
        if lanes:
            table = out.cliques[0]
            patiently(lambda: backward(lanes, share, out.node, table), _steps(lanes))

    def _forward(
        self,
        potentials: Potentials,
        structure: Structure,
        weight: np.ndarray,
        log_Z: np.ndarray,
    ) -> Lanes | None:
        """Write log Z (n, n_classes) of each class where an example has tokens and a weight, nan
        where it is to be done again; None if kernels of lanes cannot do that.
        """
        refuse_wider_cliques(potentials.cliques, ValueError("chains of classes have order 1"))
        node, (edge,) = potentials
        if len(edge) != 1:
            return None
        n_states = node.shape[1] // self.n_classes
        lanes = side_by_side(self.n_classes, n_states, structure.offsets, weight)
        if lanes:
            patiently(lambda: forward(node, edge, lanes, log_Z), _steps(lanes))
        return lanes

    def tangent(
        self,
        potentials: Potentials,
        reward: Potentials,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        mean: np.ndarray,
    ) -> None:
        """Add weighted covariances with a reward to `out`; see `Inference.tangent`.

        They are those within classes, and that of the classes' means.
        """
        classes = self._by_class(potentials)
        sums = self._each_class(classes, structure, weight)
        log_Z = np.empty(len(weight))
        share = np.zeros(sums.partition.shape)
        every = np.ones(share.shape, bool)
        mixture(sums.partition, every, (weight != 0).astype(float), log_Z, share)
        shared = len(out.cliques[0]) == 1
        means = np.empty((self.n_classes, len(weight)))
        for c, own in enumerate(self._by_class(reward)):
            within = structures.zeros(classes[c], shared)
            # what has weight 0 has mean 0
            CHAIN.tangent(classes[c], own, structure, weight * share[:, c], within, means[c])
            self._put(within.node[:, None], within.cliques[0][:, None], out, slice(c, c + 1))
        mean[:] = np.sum(share * means.T, axis=1)
        self._add(sums, weight[:, None] * share * (means.T - mean[:, None]), structure, out)
        mean[log_Z == -np.inf] = np.nan

    def argmax(
        self,
        potentials: Potentials,
        structure: Structure,
        labels: np.ndarray,
        score: np.ndarray | None = None,
    ) -> None:
        """Write the best labelling of any class and, if asked for, its score."""
        of_classes, scores = self.class_argmax(potentials, structure)
        best = np.argmax(scores, axis=1)
        labels[:] = chosen(of_classes, best, structure)
        if score is not None:
            score[:] = scores[np.arange(len(best)), best]

    def class_argmax(
        self, potentials: Potentials, structure: Structure
    ) -> tuple[np.ndarray, np.ndarray]:
        """The best labelling of each class (n_classes, n_tokens), and its score (n, n_classes)."""
        labels = np.empty((self.n_classes, len(potentials.node)), np.int32)
        scores = np.empty((structure.n_examples, self.n_classes))
        for c, theta in enumerate(self._by_class(potentials)):
            score = np.empty(structure.n_examples)
            CHAIN.argmax(theta, structure, labels[c], score)
            labels[c] += c * theta.node.shape[1]
            scores[:, c] = score
        return labels, scores

    def class_log_partitions(self, potentials: Potentials, structure: Structure) -> np.ndarray:
        """log Z (n, n_classes) of the labellings of each class."""
        log_Z = np.zeros((structure.n_examples, self.n_classes))
        lanes = self._forward(potentials, structure, np.ones(len(log_Z)), log_Z)
        if not lanes or np.any(np.isnan(log_Z)):
            classes = self._by_class(potentials)
            each = np.stack([CHAIN.log_partition(theta, structure) for theta in classes], axis=1)
            log_Z = each if not lanes else np.where(np.isnan(log_Z), each, log_Z)
        return log_Z

    def _pairs(self, n_labels: int) -> np.ndarray:
        """Columns (n_classes, n_states ** 2) of the moves of each class in tables of edges."""
        states = np.arange(n_labels).reshape(self.n_classes, -1)
        columns: np.ndarray = states[:, :, None] * n_labels + states[:, None, :]
        return columns.reshape(self.n_classes, -1)

    def _by_class(self, potentials: Potentials) -> list[Potentials]:
        """Potentials of the chain of each class."""
        refuse_wider_cliques(potentials.cliques, ValueError("chains of classes have order 1"))
        n_labels = potentials.node.shape[1]
        # of all classes at once; kernels read rows that follow each other
        nodes = self._by_states(potentials.node).transpose(1, 0, 2).copy()
        edges = potentials.cliques[0][:, self._pairs(n_labels)].transpose(1, 0, 2).copy()
        return [Potentials(node, (edge,)) for node, edge in zip(nodes, edges, strict=True)]

    def _each_class(
        self, classes: list[Potentials], structure: Structure, weight: np.ndarray
    ) -> _Sums:
        """log Z and marginals of each class, where an example has any weight."""
        n, n_states = classes[0].node.shape
        n_edges = len(structure.families[0].nodes)
        log_Z = np.full((len(weight), self.n_classes), -np.inf)
        nodes = np.zeros((self.n_classes, n, n_states))
        edges = np.zeros((self.n_classes, n_edges, classes[0].cliques[0].shape[1]))
        is_open = opened(classes, structure, weight)
        for c, theta in enumerate(classes):
            used = is_open[:, c]
            if np.any(used):
                out = Potentials(nodes[c], (edges[c],))
                of_class = np.empty(len(weight))
                CHAIN.marginals(theta, structure, used.astype(np.float64), out, of_class)
                log_Z[used, c] = of_class[used]
        return _Sums(log_Z, nodes, edges)

    def _add(self, sums: _Sums, weight: np.ndarray, structure: Structure, out: Potentials) -> None:
        """Add marginals of all classes to `out`, with a weight of each example and class."""
        of_tokens = np.repeat(weight, np.diff(structure.offsets), axis=0)
        of_edges = np.repeat(weight, np.diff(structure.families[0].offsets), axis=0)
        node = of_tokens[:, :, None] * sums.nodes.transpose(1, 0, 2)
        if len(out.cliques[0]) == 1:
            edge = (of_edges.T[:, None, :] @ sums.edges).transpose(1, 0, 2)
        else:
            edge = of_edges[:, :, None] * sums.edges.transpose(1, 0, 2)
        self._put(node, edge, out, slice(None))

    def _put(self, node: np.ndarray, edge: np.ndarray, out: Potentials, classes: slice) -> None:
        """Add what some classes have of nodes (n, ..., n_states) and edges to sums of all."""
        self._by_states(out.node)[:, classes] += node
        out.cliques[0][:, self._pairs(out.node.shape[1])[classes]] += edge

    def _by_states(self, node: np.ndarray) -> np.ndarray:
        """A view (n, n_classes, n_states) of what nodes have."""
        n, n_labels = node.shape
        return node.reshape(n, self.n_classes, n_labels // self.n_classes)


def _steps(lanes: Lanes) -> int:
    """About how many steps a pass takes."""
    n_steps: int = lanes.U.size * lanes.E.shape[1]
    return n_steps


@kernel
def _whole_classes(allowed: np.ndarray, offsets: np.ndarray, classes: np.ndarray) -> bool:
    """Write which classes (n, n_classes) a mask of labels (n_tokens, n_labels) allows; return
    whether it allows no part of one.
    """
    n_labels = allowed.shape[1]
    n_states = n_labels // classes.shape[1]
    differ = False
    for i in range(len(offsets) - 1):
        first = offsets[i]
        last = offsets[i + 1] - 1
        for c in range(classes.shape[1]):
            # an empty sequence may be of any class
            classes[i, c] = first > last or allowed[first, c * n_states]
            for k in range(c * n_states, (c + 1) * n_states if first <= last else 0):
                differ |= allowed[first, k] != classes[i, c]
        # without a branch, so that many are compared at once
        for t in range(first, last):
            for k in range(n_labels):
                differ |= allowed[t, k] != allowed[t + 1, k]
    return not differ


def opened(classes: list[Potentials], structure: Structure, weight: np.ndarray) -> np.ndarray:
    """Which classes (n, n_classes) examples of any weight may have, as far as their first tokens
    say: a class that is forbidden needs no chain.
    """
    begun = np.flatnonzero(np.diff(structure.offsets))
    first = structure.offsets[begun]
    used = np.repeat((weight != 0)[:, None], len(classes), axis=1)
    for c, theta in enumerate(classes):
        used[begun, c] &= np.any(theta.node[first] > -np.inf, axis=1)
    return used


@kernel
def mixture(
    log_Z: np.ndarray, among: np.ndarray, weight: np.ndarray, out: np.ndarray, share: np.ndarray
) -> None:
    """Write log of the sum of Z (n, n_classes) over the classes `among` which an example is; add to
    `share` (n, n_classes) theirs of that sum, times a weight.

    Where the weight is 0, 0 is written; where nothing is allowed the sum is 0, and shares, too.
    """
    terms = np.empty(log_Z.shape[1])
    for i in range(len(weight)):
        out[i] = 0.0
        if weight[i] == 0.0:
            continue
        top = -np.inf
        for c in range(log_Z.shape[1]):
            # nan, once seen, stays
            if among[i, c] and not log_Z[i, c] <= top and not np.isnan(top):
                top = log_Z[i, c]
        out[i] = top
        if top == -np.inf:
            continue
        mass = 0.0
        for c in range(log_Z.shape[1]):
            terms[c] = np.exp(log_Z[i, c] - top) if among[i, c] else 0.0
            mass += terms[c]
        out[i] += np.log(mass)
        for c in range(log_Z.shape[1]):
            share[i, c] += weight[i] * (terms[c] / mass)


def chosen(labels: np.ndarray, classes: np.ndarray, structure: Structure) -> np.ndarray:
    """The labels of tokens that are those of one class (n,) of each example, out of labels
    (n_classes, n_tokens).
    """
    of_tokens = np.repeat(classes, np.diff(structure.offsets))
    rows: np.ndarray = labels[of_tokens, np.arange(len(of_tokens))]
    return rows
