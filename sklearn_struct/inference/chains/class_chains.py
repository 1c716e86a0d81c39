"""Chains of hidden states, one for each class of a sequence: whole sequences belong to a class.

The labels of tokens are pairs of a class and one of its H states, c * H + h, and all labels of a
sequence have the same class. So Z is a sum over classes, each of which is a chain of H states:
n_classes * H**2 operations a token, where one chain of all labels would take (n_classes * H)**2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_struct.containers import structures
from sklearn_struct.containers.structures import Potentials, Structure, refuse_wider_cliques
from sklearn_struct.inference.base import Inference
from sklearn_struct.inference.chains.chain import Chain

__all__ = ["ClassChains", "chosen"]

CHAIN = Chain()


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

    def marginals(
        self,
        potentials: Potentials,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        log_Z: np.ndarray,
    ) -> None:
        """Add weighted marginals to `out`, write log Z; see `Inference.marginals`."""
        of_classes, parts = self._each_class(potentials, structure, weight)
        share = mixture(of_classes, weight, log_Z)
        for c, part in enumerate(parts):
            self._add(c, part, weight * share[:, c], structure, out)

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
        of_classes, parts = self._each_class(potentials, structure, weight)
        log_Z = np.empty(len(weight))
        share = mixture(of_classes, weight, log_Z)
        means = np.zeros(share.shape)
        for c in range(self.n_classes):
            theta = self._of_class(potentials, c)
            within = structures.zeros(theta, shared=len(out.cliques[0]) == 1)
            own = self._of_class(reward, c)
            of_class = np.empty(len(weight))
            CHAIN.tangent(theta, own, structure, weight * share[:, c], within, of_class)
            # of what has weight 0 the mean is not needed
            means[:, c] = of_class
            self._put(c, within, out)
        mean[:] = np.sum(share * means, axis=1)
        for c, part in enumerate(parts):
            self._add(c, part, weight * share[:, c] * (means[:, c] - mean), structure, out)
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
        for c in range(self.n_classes):
            score = np.empty(structure.n_examples)
            CHAIN.argmax(self._of_class(potentials, c), structure, labels[c], score)
            labels[c] += c * self._n_states(potentials)
            scores[:, c] = score
        return labels, scores

    def class_log_partitions(self, potentials: Potentials, structure: Structure) -> np.ndarray:
        """log Z (n, n_classes) of the labellings of each class."""
        log_Z = np.empty((structure.n_examples, self.n_classes))
        for c in range(self.n_classes):
            log_Z[:, c] = CHAIN.log_partition(self._of_class(potentials, c), structure)
        return log_Z

    def _n_states(self, potentials: Potentials) -> int:
        n_labels: int = potentials.node.shape[1]
        return n_labels // self.n_classes

    def _places(self, c: int, n_states: int) -> tuple[slice, np.ndarray]:
        """Columns of the states of a class in tables of nodes, and of their pairs in those of
        edges.
        """
        states = np.arange(c * n_states, (c + 1) * n_states)
        pairs = states[:, None] * (self.n_classes * n_states) + states
        return slice(c * n_states, (c + 1) * n_states), pairs.ravel()

    def _of_class(self, potentials: Potentials, c: int) -> Potentials:
        """Potentials of the chain of one class."""
        refuse_wider_cliques(potentials.cliques, ValueError("chains of classes have order 1"))
        states, pairs = self._places(c, self._n_states(potentials))
        # kernels read rows that follow each other
        node = np.ascontiguousarray(potentials.node[:, states])
        return Potentials(node, (np.take(potentials.cliques[0], pairs, axis=1),))

    def _each_class(
        self, potentials: Potentials, structure: Structure, weight: np.ndarray
    ) -> tuple[np.ndarray, list[Potentials]]:
        """log Z (n, n_classes) of each class, and its marginals, those of each edge apart."""
        log_Z = np.full((len(weight), self.n_classes), -np.inf)
        n_edges = len(structure.families[0].nodes)
        begun = np.flatnonzero(np.diff(structure.offsets))
        first = structure.offsets[begun]
        parts = []
        for c in range(self.n_classes):
            theta = self._of_class(potentials, c)
            # a class that is forbidden needs no chain: where labels are known, all others are
            used = weight != 0
            used[begun] &= np.any(theta.node[first] > -np.inf, axis=1)
            room = np.zeros((n_edges, theta.cliques[0].shape[1]))
            part = Potentials(np.zeros(theta.node.shape), (room,))
            of_class = np.empty(len(weight))
            CHAIN.marginals(theta, structure, used.astype(np.float64), part, of_class)
            log_Z[used, c] = of_class[used]
            parts.append(part)
        return log_Z, parts

    def _add(
        self, c: int, part: Potentials, weight: np.ndarray, structure: Structure, out: Potentials
    ) -> None:
        """Add marginals of a class to `out`, with a weight of each example."""
        of_tokens = np.repeat(weight, np.diff(structure.offsets))
        of_edges = np.repeat(weight, np.diff(structure.families[0].offsets))
        edge = part.cliques[0]
        shared = len(out.cliques[0]) == 1
        weighted = (of_edges @ edge)[None] if shared else of_edges[:, None] * edge
        self._put(c, Potentials(of_tokens[:, None] * part.node, (weighted,)), out)

    def _put(self, c: int, part: Potentials, out: Potentials) -> None:
        """Add sums of a class to those of all."""
        states, pairs = self._places(c, part.node.shape[1])
        out.node[:, states] += part.node
        out.cliques[0][:, pairs] += part.cliques[0]


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
