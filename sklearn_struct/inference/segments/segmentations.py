"""Exact inference on segmentations of sequences: semi-Markov models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import (
    Family,
    Potentials,
    Structure,
    chain,
    n_columns,
    zeros,
)
from sklearn_struct.inference.graphs.complex_step import OnGraphs
from sklearn_struct.inference.segments import decoding, ranked, segment_scores
from sklearn_struct.inference.segments.segment_scores import Places, Scores
from sklearn_struct.inference.segments.segment_sums import add_marginals, lattice_of, n_steps

__all__ = ["Segmentations"]


@dataclass(frozen=True)
class Segmentations(OnGraphs):
    """Sums and maxima over all divisions of a sequence into labelled segments (Sarawagi and Cohen,
    NIPS 2004).

    A segment's score is the sum of its tokens' scores for its label, one for its length, and one
    for the pair of its label and that before it. Families are those pairs, where tables of single
    edges are those into first tokens; one for each length from two tokens on, without cliques, of
    which each table is one row; with `ends` all tokens twice, as the first ones and as the last
    ones of segments; and, if segments have scores of their own, all segments of at most
    ``max(longest)`` tokens, in the order of their last tokens and then of their lengths.

    The code k of a token says that a segment with label k begins there, ``n_labels + k`` that it
    goes on. With longest segments of one token it is the chain of first order. A token takes K**2
    + L K steps.

    Parameters
    ----------
    longest : tuple of int
        How many tokens the segments of each label have at most.
    ends : bool, default=False
        Whether the first and the last tokens of segments have scores of their own.
    """

    longest: tuple[int, ...]
    ends: bool = False

    @property
    def n_lengths(self) -> int:
        """The length of the longest segments."""
        return max(self.longest)

    def structure(self, offsets: np.ndarray, whole: bool = False) -> Structure:
        """Sequences over the tokens that ``offsets`` (n + 1) bounds; `whole` if their segments have
        scores of their own.
        """
        pairs = chain(offsets)
        none = Family(np.empty((0, 1), np.int64), np.zeros_like(pairs.offsets))
        families = [*pairs.families, *[none] * (self.n_lengths - 1)]
        if self.ends:
            every = Family(np.arange(pairs.offsets[-1])[:, None], pairs.offsets)
            families += [every, every]
        if whole:
            families.append(_candidates(pairs.offsets, self.n_lengths))
        return Structure(pairs.offsets, tuple(families))

    def most_tokens(self, structure: Structure, n_labels: int) -> int:
        """With how many tokens a call is still short."""
        return 20_000_000 // (n_columns(n_labels, 2) + n_labels * self.n_lengths)

    def marginals(
        self,
        potentials: Potentials,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        log_Z: np.ndarray,
    ) -> None:
        """Add weighted marginals to `out`, write log Z; see `Inference.marginals`."""
        scores, places = self._arguments(potentials, structure)
        sums = _room(scores, out)
        add_marginals(scores, places, weight, sums, log_Z)
        segment_scores.write_out(sums, out)

    def segment_marginals(self, potentials: Potentials, structure: Structure) -> np.ndarray:
        """Marginals (n_segments, K) of all segments of at most ``max(longest)`` tokens, whether or
        not they have scores of their own.
        """
        n_own = self.n_lengths + 2 * self.ends
        K = potentials.node.shape[1]
        if len(potentials.cliques) == n_own:
            structure = self.structure(structure.offsets, whole=True)
            potentials = Potentials(potentials.node, (*potentials.cliques, np.zeros((1, K))))
        node, cliques = zeros(potentials)
        table = np.zeros((len(structure.families[n_own].nodes), K))
        n = structure.n_examples
        out = Potentials(node, (*cliques[:n_own], table))
        self.marginals(potentials, structure, np.ones(n), out, np.empty(n))
        return table

    def argmax(
        self,
        potentials: Potentials,
        structure: Structure,
        labels: np.ndarray,
        score: np.ndarray | None = None,
    ) -> None:
        """Viterbi: write the best segmentation and, if asked for, its score."""
        arguments = self._arguments(potentials, structure)
        patiently(lambda: decoding.argmax(*arguments, labels), n_steps(arguments[0]))
        if score is not None:
            score[:] = self.scores(potentials, structure, labels)

    def nbest(
        self, potentials: Potentials, structure: Structure, labels: np.ndarray, score: np.ndarray
    ) -> None:
        """Write the n best segmentations (n, n_tokens) int32 and their scores (n, n_sequences),
        best first; -inf where there are fewer.
        """
        arguments = self._arguments(potentials, structure)
        n_all = len(score) * n_steps(arguments[0])
        patiently(lambda: ranked.nbest(*arguments, labels, score), n_all)

    def sample(
        self,
        potentials: Potentials,
        structure: Structure,
        uniform: np.ndarray,
        labels: np.ndarray,
        score: np.ndarray,
    ) -> None:
        """Draw one segmentation of each sequence from p(y | x), by one number in [0, 1) a token."""
        scores, places = self._arguments(potentials, structure)
        rows = lattice_of(scores, places)
        arguments = scores, places, uniform, rows, labels
        patiently(lambda: decoding.sample(*arguments), 10 * n_steps(scores))
        score[:] = self.scores(potentials, structure, labels)

    def add_labelling(
        self,
        potentials: Potentials,
        structure: Structure,
        labels: np.ndarray,
        weight: np.ndarray,
        out: Potentials,
        score: np.ndarray,
    ) -> None:
        """Add ``weight[i]`` times the indicators of a segmentation to `out`; write its score, -inf
        where a segment is too long.
        """
        scores, places = self._arguments(potentials, structure)
        sums = _room(scores, out)
        decoding.add_labelling(scores, places, labels, weight, sums, score)
        segment_scores.write_out(sums, out)

    def _arguments(self, potentials: Potentials, structure: Structure) -> tuple[Scores, Places]:
        """What kernels take."""
        longest = np.array(self.longest)
        scores = segment_scores.scores(potentials, structure, longest, self.ends)
        return scores, segment_scores.places(structure, self.n_lengths + 2 * self.ends)


def _candidates(offsets: np.ndarray, n_lengths: int) -> Family:
    """The last tokens of all segments of at most `n_lengths` tokens."""
    lengths = np.diff(offsets)
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    last = np.repeat(np.arange(offsets[-1]), np.minimum(place + 1, n_lengths))
    counts = segment_scores.n_candidates(lengths, n_lengths)
    return Family(last[:, None], np.concatenate([[0], np.cumsum(counts)]))


def _room(scores: Scores, out: Potentials) -> Scores:
    """Where kernels add marginals: to the tables of nodes and edges themselves, if sums may be."""
    node, (edge, *_) = out
    if node.dtype != scores.node.dtype:
        node = np.zeros(node.shape, scores.node.dtype)
        edge = np.zeros(edge.shape, scores.node.dtype)
    K = node.shape[1]
    edge = edge.reshape(-1, K, K)
    return Scores(node, edge, *map(np.zeros_like, scores[2:]))
