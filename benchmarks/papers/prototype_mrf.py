"""Prototype-driven learning, a rival of learning from labelled words.

It is of A. Haghighi and D. Klein (NAACL 2006). Pairs of labels stand in the place of the paper's
triples.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain as flatten
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import logsumexp

from sklearn_struct.containers.ragged import cut
from sklearn_struct.containers.structures import Potentials, Structure, chain, ends, zeros
from sklearn_struct.inference.chains.chain import Chain

Texts = list[list[str]]
BOUNDARY = "between fields"


class Weights(NamedTuple):
    """Of the first and the last label (K,), two in a row (K, K), features with labels (n, K)."""

    start: np.ndarray
    stop: np.ndarray
    transition: np.ndarray
    emission: np.ndarray


class Observed(NamedTuple):
    """Texts to learn from."""

    codes: np.ndarray  # of their words
    seen: np.ndarray  # the codes that occur
    forbidden: np.ndarray  # (n_tokens, K), True where a prototype has another label
    structure: Structure
    lengths: Structure  # one chain of each length that occurs
    n_of_length: np.ndarray


class PrototypeMRF:
    """A model p(x, y) of words and labels, given the text's length, that learns from texts alone.

    The score of a text and its labelling sums weights of labels in a row, of the first and the last
    label, and of each label with each feature of its word: the word itself, and features that are
    given. Probabilities are normalised over all labellings of all texts of the same length, of
    words that were seen. Features being local, this partition function is that of a chain, in whose
    nodes the words are summed out. What is maximised is the probability of the texts with all
    labellings in which prototypes have their labels, and a normal prior.

    Parameters
    ----------
    prototypes : dict of str to str
        Words and their labels; there are no other labels.
    boundary : iterable of str
        Words that stand between fields, such as commas. While the model learns and searches they
        have a label of their own; in what it predicts they have that of the token before, and at
        the beginning that of the first other token.
    variance : float
        Of the prior of each weight.
    max_iter : int
        Most iterations of L-BFGS, which starts from zero.
    """

    def __init__(
        self,
        prototypes: dict[str, str],
        *,
        boundary: Iterable[str] = (),
        variance: float = 1.0,
        max_iter: int = 200,
    ) -> None:
        self.prototypes = dict.fromkeys(boundary, BOUNDARY) | prototypes
        self.variance = variance
        self.max_iter = max_iter

    def fit(self, X: Texts, words: list[str], features: Any) -> Self:
        """Learn from texts; row i of `features`, of any number of columns, describes ``words[i]``.

        All words of X must be among `words`. Words to predict may be, too: their features have
        weights then.
        """
        self.classes_ = sorted(set(self.prototypes.values()))
        self.words_ = {word: i for i, word in enumerate(words)}
        self.features_ = sp.csr_array(sp.hstack([sp.eye_array(len(words)), sp.csr_array(features)]))
        observed = self.observed(X)
        K = len(self.classes_)
        found = minimize(
            lambda w: self.objective(w, observed),
            np.zeros(K * (2 + K + self.features_.shape[1])),
            method="L-BFGS-B",
            jac=True,
            options={"maxiter": self.max_iter, "maxcor": 20},
        )
        self.weights_ = self.parts(found.x)
        self.objective_ = found.fun
        self.n_iter_ = found.nit
        return self

    def predict(self, X: Texts) -> Texts:
        """The best labelling of each text in which prototypes have their labels."""
        rows = [self.words_.get(word, -1) for word in flatten(*X)]
        scores = np.vstack([self.features_ @ self.weights_.emission, np.zeros(len(self.classes_))])[
            rows
        ]
        scores[broken(X, self.prototypes, self.classes_)] = -np.inf
        labels = np.empty(len(rows), np.int32)
        structure = structure_of(X)
        Chain().argmax(_potentials(self.weights_, scores, structure), structure, labels)
        return [joined(row) for row in decoded(labels, X, self.classes_)]

    def observed(self, X: Texts) -> Observed:
        codes = np.array([self.words_[word] for word in flatten(*X)])
        lengths, n = np.unique([len(text) for text in X if text], return_counts=True)
        return Observed(
            codes,
            np.unique(codes),
            broken(X, self.prototypes, self.classes_),
            structure_of(X),
            chain(np.cumsum([0, *lengths])),
            n.astype(float),
        )

    def parts(self, w: np.ndarray) -> Weights:
        """Views of a vector of weights."""
        K = len(self.classes_)
        rows = w.reshape(-1, K)
        return Weights(rows[0], rows[1], rows[2 : K + 2], rows[K + 2 :])

    def objective(self, w: np.ndarray, observed: Observed) -> tuple[float, np.ndarray]:
        """Minus the penalised log-probability of texts, and its derivative, both per token."""
        weights = self.parts(w)
        n = len(observed.codes)
        scores = self.features_ @ weights.emission
        log_sum = logsumexp(scores[observed.seen], axis=0)  # over all words, of each label
        allowed = np.where(observed.forbidden, -np.inf, scores[observed.codes])
        everything = np.tile(log_sum, (observed.lengths.offsets[-1], 1))
        log_Z, given = _expected(
            weights, allowed, observed.structure, np.ones(observed.structure.n_examples)
        )
        log_Z_free, free = _expected(weights, everything, observed.lengths, observed.n_of_length)
        of_words = np.zeros_like(scores)
        np.add.at(of_words, observed.codes, given.emission)
        of_words[observed.seen] -= np.exp(scores[observed.seen] - log_sum) * free.emission.sum(
            axis=0
        )
        slopes = [a - b for a, b in zip(given[:3], free[:3], strict=True)] + [
            self.features_.T @ of_words
        ]
        slope = np.concatenate([part.ravel() for part in slopes]) - w / self.variance
        return -(log_Z - log_Z_free - w @ w / (2 * self.variance)) / n, -slope / n


def _potentials(weights: Weights, scores: np.ndarray, structure: Structure) -> Potentials:
    """Potentials of chains; the scores (n_tokens, K) of words become those of nodes."""
    first, last = ends(structure)
    scores[first] += weights.start
    scores[last] += weights.stop
    return Potentials(scores, (weights.transition.reshape(1, -1),))


def _expected(
    weights: Weights, scores: np.ndarray, structure: Structure, weight: np.ndarray
) -> tuple[float, Weights]:
    """Weighted sum of log Z, and of expectations.

    In the place of `emission` stand those of each token's label.
    """
    first, last = ends(structure)
    theta = _potentials(weights, scores, structure)
    out = zeros(theta)
    log_Z = np.empty(len(weight))
    Chain().marginals(theta, structure, weight, out, log_Z)
    transition = out.cliques[0].reshape(weights.transition.shape)
    return float(weight @ log_Z), Weights(
        out.node[first].sum(axis=0), out.node[last].sum(axis=0), transition, out.node
    )


def structure_of(X: Texts) -> Structure:
    return chain(np.cumsum([0, *map(len, X)]))


def broken(X: Texts, labeled_words: dict[str, str], classes: list[str]) -> np.ndarray:
    """Where (n_tokens, K) a labelled word would have another label."""
    at = {word: classes.index(label) for word, label in labeled_words.items()}
    expected = np.array([at.get(word, -1) for word in flatten(*X)], dtype=int)
    return (expected >= 0)[:, None] & (expected[:, None] != np.arange(len(classes)))


def joined(labels: list[str]) -> list[str]:
    """Labels, where what stands between fields has that of the token before."""
    last = next((label for label in labels if label != BOUNDARY), BOUNDARY)
    given = []
    for label in labels:
        last = last if label == BOUNDARY else label
        given.append(last)
    return given


def decoded(labels: np.ndarray, X: Texts, classes: list[str]) -> Texts:
    return [[classes[k] for k in codes] for codes in cut(labels.tolist(), structure_of(X).offsets)]
