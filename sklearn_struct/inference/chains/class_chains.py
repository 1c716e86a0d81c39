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
from sklearn_struct.containers import structures
from sklearn_struct.containers.structures import Block, Potentials, Structure, refuse_wider_cliques
from sklearn_struct.inference.base import Inference
from sklearn_struct.inference.chains.chain import Chain

__all__ = ["ClassChains", "chosen"]

CHAIN = Chain()
# labels of all classes, up to which they may be one chain
NARROW = 40
MODERATE = 20.0  # absolute scores, for that
APART = 400.0  # the score of moves between classes is less by this
# how much of that a labelling of several classes may win back by its own scores, and still not show
MOST = 350.0
FEWEST = 4000  # tokens, with fewer of which calls cost more than what they do


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
        """With how many tokens a call is still short."""
        return CHAIN.most_tokens(structure, n_labels // self.n_classes)

    def blocks(
        self, structure: Structure, n_labels: int, n_tokens: int = 6000, n_blocks: int = 64
    ) -> list[Block]:
        """As of any inference, but larger ones, as each takes a call for each class."""
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
        refuse_wider_cliques(potentials.cliques, ValueError("chains of classes have order 1"))
        if self._is_narrow(potentials, structure):
            self._as_one_chain(potentials, structure, weight, out, log_Z)
            return
        classes = self._by_class(potentials)
        is_open = opened(classes, structure, weight)
        if np.all(is_open.sum(axis=1) <= 1):
            self._known(classes, is_open, structure, weight, out, log_Z)
            return
        sums = self._each_class(classes, structure, weight)
        share = mixture(sums.partition, weight, log_Z)
        self._add(sums, weight[:, None] * share, structure, out)

    def _known(
        self,
        classes: list[Potentials],
        is_open: np.ndarray,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        log_Z: np.ndarray,
    ) -> None:
        """Marginals where at most one class of each example is open: that of its label."""
        log_Z[:] = np.where(weight == 0, 0.0, -np.inf)
        for c, theta in enumerate(classes):
            here = is_open[:, c]
            if np.any(here):
                part = structures.zeros(theta, shared=len(out.cliques[0]) == 1)
                of_class = np.empty(len(weight))
                CHAIN.marginals(theta, structure, weight * here, part, of_class)
                log_Z[here] = of_class[here]
                tokens = np.repeat(here, np.diff(structure.offsets))
                self._by_states(out.node)[tokens, c] += part.node[tokens]
                out.cliques[0][:, self._pairs(out.node.shape[1])[c]] += part.cliques[0]

    def _is_narrow(self, potentials: Potentials, structure: Structure) -> bool:
        """Whether one chain of all labels is as exact, and quicker.

        Up to some dozens of labels its matrix products take less than what each chain of a class
        takes beside its own. It is exact where no labelling of several classes, however much better
        than those of one class, makes up for its moves between them.
        """
        node, (edge,) = potentials
        if node.shape[1] > NARROW or node.dtype != np.float64 or len(edge) != 1 or not node.size:
            return False
        # what is no number, or infinite, is not below
        largest = float(np.max(np.abs(edge)))
        longest = int(np.max(np.diff(structure.offsets)))
        won = 2.0 * largest * longest + _largest_range(node, structure.offsets, MODERATE)
        return largest < MODERATE and won < MOST

    def _as_one_chain(
        self,
        potentials: Potentials,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        log_Z: np.ndarray,
    ) -> None:
        """Marginals of one chain, in which moves from a class to another are too improbable to show
        in any digit (see `_is_narrow`): exp(-APART) of what they would be, so numbers stay in their
        ranges. Where labels are forbidden these moves are, too, as they may be all that is left.
        """
        is_free = np.min(potentials.node) > -np.inf
        edge = np.full(potentials.cliques[0].shape, -APART if is_free else -np.inf)
        columns = self._pairs(potentials.node.shape[1])
        edge[:, columns] = potentials.cliques[0][:, columns]
        table = np.zeros(out.cliques[0].shape)
        part = Potentials(out.node, (table,))
        one = Potentials(potentials.node, (edge,))
        CHAIN.marginals(one, structure, weight, part, log_Z)
        out.cliques[0][:, columns] += table[:, columns]
        is_empty = np.diff(structure.offsets) == 0
        log_Z[is_empty & (weight != 0)] = np.log(self.n_classes)

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
        share = mixture(sums.partition, weight, log_Z)
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
        classes = self._by_class(potentials)
        return np.stack([CHAIN.log_partition(theta, structure) for theta in classes], axis=1)

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


@kernel
def _largest_range(node: np.ndarray, offsets: np.ndarray, most: float) -> float:
    """By how much the scores of one labelling of an example may differ from those of another, but
    for forbidden ones; inf if some score is no number or is not below `most`.
    """
    largest = 0.0
    for i in range(len(offsets) - 1):
        total = 0.0
        for t in range(offsets[i], offsets[i + 1]):
            low = most
            high = -most
            for k in range(node.shape[1]):
                x = node[t, k]
                if x == -np.inf:
                    continue
                if not abs(x) < most:
                    return np.inf
                low = min(low, x)
                high = max(high, x)
            total += max(high - low, 0.0)
        largest = max(largest, total)
    return largest


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


def mixture(log_Z: np.ndarray, weight: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Write log of the sum over classes of Z (n, n_classes); return the shares of the classes.

    Where the weight is 0 both are 0; where nothing is allowed the sum is 0, and shares, too.
    """
    top = np.max(log_Z, axis=1, initial=-np.inf)
    allowed = top > -np.inf
    mass = np.exp(log_Z - np.where(allowed, top, 0.0)[:, None])
    total = np.where(allowed, mass.sum(axis=1), 1.0)
    out[:] = np.where(allowed, top + np.log(total), -np.inf)
    out[weight == 0] = 0.0
    share: np.ndarray = mass / total[:, None]
    return share


def chosen(labels: np.ndarray, classes: np.ndarray, structure: Structure) -> np.ndarray:
    """The labels of tokens that are those of one class (n,) of each example, out of labels
    (n_classes, n_tokens).
    """
    of_tokens = np.repeat(classes, np.diff(structure.offsets))
    rows: np.ndarray = labels[of_tokens, np.arange(len(of_tokens))]
    return rows
