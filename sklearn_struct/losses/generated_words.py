"""Texts in which any word may stand: the normaliser of a joint model of words and labels, given the
lengths of texts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from sklearn_struct.containers.structures import Potentials, Structure, zeros
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.evidence import Evidence

__all__ = ["FreeTexts", "GeneratedWords"]


class FreeTexts(NamedTuple):
    """Texts of which lengths alone are known, and the kind of place that each token has.

    ``place`` (n_tokens,) is a number below `n_places`, of which 0 is a place that says nothing;
    where all are alike there are 0 of them. ``weight`` (n_texts,) says how often each text counts.
    """

    structure: Structure
    place: np.ndarray
    n_places: int
    weight: np.ndarray


class GeneratedWords(Loss):
    """log Z of free texts, where each example is a list of the words that may stand in them.

    The first nodes of an example are places; what their scores have beyond those of place 0 a token
    has, whatever its word is. All others are words. Cliques must share their tables, which are
    those of the free texts. As words touch each other through labels alone, they are summed out
    token by token: a token of a free text has, for each label, the logarithm of the sum over words.
    What is left is a chain.

    Convex, as log Z of any log-linear model.

    Parameters
    ----------
    of_texts : Loss
        `LogPartition`, maybe constrained: the loss of a text in which words are summed out.
    texts : FreeTexts
    """

    twice_differentiable = True

    def __init__(self, of_texts: Loss, texts: FreeTexts) -> None:
        self.of_texts = of_texts
        self.texts = texts

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """The derivative in a word is its share of what is expected of all words of a label."""
        for i, words in enumerate(self._lists(batch)):
            value[i] = 0.0
            if words is None:
                continue
            summed, share = self._summed(batch.potentials, words)
            of_texts = self._of_texts(summed)
            expected = zeros(summed)
            values = np.empty(len(self.texts.weight))
            self.of_texts(of_texts, expected, values)
            value[i] = np.dot(self.texts.weight, values)
            self._add(expected, share * expected.node.sum(axis=0), words, batch.weight[i], out)

    def hess_vec(self, batch: Batch, direction: Potentials, out: Potentials) -> None:
        """That of the chain, and how shares of words change."""
        for i, words in enumerate(self._lists(batch)):
            if words is None:
                continue
            summed, share = self._summed(batch.potentials, words)
            of_texts = self._of_texts(summed)
            expected = zeros(summed)
            self.of_texts(of_texts, expected, np.empty(len(self.texts.weight)))
            along = direction.node[words.start + self.texts.n_places : words.stop]
            mean = np.sum(share * along, axis=0)
            moved = self._of_free_texts(mean, direction, words)
            change = zeros(summed)
            self.of_texts.hess_vec(of_texts, moved, change)
            of_words = share * (
                change.node.sum(axis=0) + expected.node.sum(axis=0) * (along - mean)
            )
            self._add(change, of_words, words, batch.weight[i], out)

    def _lists(self, batch: Batch) -> list[slice | None]:
        """The nodes of each example, None for one that is empty or has no weight."""
        if any(len(table) != 1 for table in batch.potentials.cliques):
            raise ValueError("cliques of free texts have no rows of their own")
        bounds = batch.structure.offsets.tolist()
        return [
            slice(start, stop) if start < stop and weight else None
            for start, stop, weight in zip(bounds, bounds[1:], batch.weight.tolist(), strict=False)
        ]

    def _summed(self, theta: Potentials, words: slice) -> tuple[Potentials, np.ndarray]:
        """Potentials of free texts, and the share that each word has of each label."""
        scores = theta.node[words.start + self.texts.n_places : words.stop].astype(np.float64)
        of_labels = logsumexp(scores, axis=0)
        share = np.exp(scores - of_labels)
        return self._of_free_texts(of_labels, theta, words), share

    def _of_free_texts(self, of_labels: np.ndarray, theta: Potentials, words: slice) -> Potentials:
        """What each token has: the same of labels, and that of its place. In float64, as tokens are
        few beside those of the texts that are.
        """
        place = self.texts.place
        cliques = tuple(table.astype(np.float64) for table in theta.cliques)
        if not self.texts.n_places:
            return Potentials(np.tile(of_labels, (len(place), 1)), cliques)
        of_places = theta.node[words.start : words.start + self.texts.n_places].astype(np.float64)
        return Potentials((of_places - of_places[0])[place] + of_labels, cliques)

    def _of_texts(self, summed: Potentials) -> Batch:
        return Batch(summed, Evidence(), self.texts.structure, self.texts.weight)

    def _add(
        self,
        of_texts: Potentials,
        of_words: np.ndarray,
        words: slice,
        weight: float,
        out: Potentials,
    ) -> None:
        """Add the derivatives in tokens and cliques of free texts, and in words, to `out`."""
        first = words.start + self.texts.n_places
        for k, column in enumerate(of_texts.node.T if self.texts.n_places else ()):
            sums = np.bincount(self.texts.place, column, self.texts.n_places)
            sums[0] -= sums.sum()
            out.node[words.start : first, k] += weight * sums
        out.node[first : words.stop] += weight * of_words
        for table, into in zip(of_texts.cliques, out.cliques, strict=True):
            into += weight * table
