"""Constraint-driven learning, a rival of learning from labelled words.

It is of M.-W. Chang, L. Ratinov and D. Roth (ACL 2007). Labelled words ("kitchen is usually
FEATURES") and least lengths of fields are its constraints here; the paper had others besides.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from itertools import chain as flatten
from typing import Any, NamedTuple, Self

import numpy as np

from sklearn_struct import HMM
from sklearn_struct.containers.ragged import cut
from sklearn_struct.containers.structures import Potentials, Structure, chain, ends
from sklearn_struct.hidden_markov.densities import log_ratios
from sklearn_struct.hidden_markov.markov_chain import Markov, estimate, potentials, tally
from sklearn_struct.inference.chains.chain import Chain as ExactInference

Texts = list[list[str]]


class Chain(NamedTuple):
    """Log-probabilities of a hidden Markov model: of labels, and a table (K, n_words) of words."""

    markov: Markov
    words: np.ndarray


class ConstraintDrivenHMM:
    """A hidden Markov model that learns from its n best labellings of unlabelled texts.

    They are found under soft constraints: a token that is a labelled word has its label, and
    fields, runs of one label, have a least length. Each round labels the unlabelled texts, counts
    the n best labellings of each, which together weigh as much as one text, beside the labelled
    texts, and mixes the model of these counts with that of the labelled texts. As in `HMM`, the
    first occurrence of each word is out of vocabulary.

    Parameters
    ----------
    labeled_words : dict of str to str
        The label that each of these words usually has.
    penalty : float
        What a token that breaks its constraint takes off log p(x, y). The default is that of a
        constraint which 9 tokens in 10 obey.
    min_length : int
        Of fields, in tokens; 1 constrains nothing. Each field that is shorter takes off `penalty`,
        too.
    n_best : int
        Labellings of a text that are counted.
    supervised_share : float
        Weight of the model of the labelled texts in the mixture, gamma in the paper.
    n_rounds : int
        0 is the hidden Markov model of the labelled texts.
    smoothing, transition_smoothing : float
        As in `HMM`.
    """

    def __init__(
        self,
        labeled_words: dict[str, str],
        *,
        penalty: float = math.log(9),
        min_length: int = 1,
        n_best: int = 10,
        supervised_share: float = 0.9,
        n_rounds: int = 5,
        smoothing: float = 0.1,
        transition_smoothing: float = 0.1,
    ) -> None:
        self.labeled_words = labeled_words
        self.penalty = penalty
        self.min_length = min_length
        self.n_best = n_best
        self.supervised_share = supervised_share
        self.n_rounds = n_rounds
        self.smoothing = smoothing
        self.transition_smoothing = transition_smoothing

    def fit(self, X: Texts, y: Texts, X_unlabeled: Texts) -> Self:
        """Learn from labelled texts, at least one, and from unlabelled ones."""
        hmm = HMM(
            n_states=sorted({*flatten(*y), *self.labeled_words.values()}),
            smoothing=self.smoothing,
            transition_smoothing=self.transition_smoothing,
        ).fit(X, y)
        self.classes_ = hmm.classes_.tolist()
        everything = [*X, *X_unlabeled]
        count = Counter(flatten(*everything))
        self.vocabulary_ = {
            word: i for i, word in enumerate(sorted(word for word in count if count[word] > 1))
        }
        learned = self._codes_for_learning(everything)
        self.chain_ = supervised = self._supervised(hmm, everything, learned)
        n = sum(map(len, X))
        labels = np.array([self.classes_.index(label) for label in flatten(*y)], np.int32)
        labelled = self._counts(learned[:n], labels, structure_of(X), np.ones(len(X)))
        for _ in range(self.n_rounds if X_unlabeled else 0):
            total = labelled
            for ranked, weight in zip(*self.best_labellings(X_unlabeled), strict=True):
                found = self._counts(learned[n:], ranked, structure_of(X_unlabeled), weight)
                total = _together(np.add, total, found)
            self.chain_ = self._mixture(supervised, total)
        return self

    def predict(self, X: Texts, constrained: bool = False) -> Texts:
        """The best labellings, with penalties for broken constraints if `constrained`."""
        labels = np.empty(sum(map(len, X)), np.int32)
        ExactInference().argmax(self._potentials(X, constrained), structure_of(X), labels)
        return decoded(labels // (self.min_length if constrained else 1), X, self.classes_)

    def best_labellings(self, X: Texts) -> tuple[np.ndarray, np.ndarray]:
        """Codes of labels (n_best, n_tokens) and weights (n_best, n_texts), under the constraints.

        The best come first. Weights are equal for the labellings of a text, 0 where it has not as
        many.
        """
        labels = np.zeros((self.n_best, sum(map(len, X))), np.int32)
        score = np.empty((self.n_best, len(X)))
        ExactInference().nbest(
            self._potentials(X, constrained=True), structure_of(X), labels, score
        )
        labels //= self.min_length
        exists = score > -np.inf
        return labels, exists / np.maximum(exists.sum(axis=0), 1)

    def _potentials(self, X: Texts, constrained: bool) -> Potentials:
        codes = [self.vocabulary_.get(word, len(self.vocabulary_)) for word in flatten(*X)]
        scores = self.chain_.words.T[codes]
        if constrained:
            scores -= self.penalty * broken(X, self.labeled_words, self.classes_)
        given = potentials(self.chain_.markov, scores, structure_of(X))
        if constrained and self.min_length > 1:
            return with_lengths(given, structure_of(X), self.min_length, self.penalty)
        return given

    def _codes_for_learning(self, X: Texts) -> np.ndarray:
        """Words as numbers, the first occurrence of each out of vocabulary."""
        oov = len(self.vocabulary_)
        seen = set()
        codes = []
        for word in flatten(*X):
            codes.append(self.vocabulary_.get(word, oov) if word in seen else oov)
            seen.add(word)
        return np.array(codes)

    def _supervised(self, hmm: Any, X: Texts, learned: np.ndarray) -> Chain:
        """The model of the labelled texts, with words of all texts.

        Words that it knows not share the probability of what is out of its vocabulary as they
        occur, in all labels alike, so that its posteriors are as before.
        """
        known = hmm.vocabulary_[0]
        table = hmm.emission_logprob_[0]
        is_new = np.array([word not in known for word in flatten(*X)])
        share = np.bincount(learned[is_new], minlength=len(self.vocabulary_) + 1).astype(float)
        share[-1] = max(share[-1], 1)
        with np.errstate(divide="ignore"):
            words = table[:, -1:] + np.log(share / share.sum())
        for word, code in known.items():
            words[:, self.vocabulary_[word]] = table[:, code]
        return Chain(Markov(hmm.start_logprob_, hmm.transition_logprob_, hmm.stop_logprob_), words)

    def _counts(
        self, words: np.ndarray, labels: np.ndarray, structure: Structure, weight: np.ndarray
    ) -> Chain:
        """Weighted counts in the place of log-probabilities."""
        K = len(self.classes_)
        n_words = len(self.vocabulary_) + 1
        pairs = labels.astype(np.int64) * n_words + words
        of_tokens = np.repeat(weight, np.diff(structure.offsets))
        table = np.bincount(pairs, of_tokens, K * n_words).reshape(K, n_words)
        return Chain(tally(labels, structure, weight, K, order=1), table)

    def _mixture(self, supervised: Chain, counts: Chain) -> Chain:
        markov = estimate(counts.markov, self.transition_smoothing, stop=True)
        new = Chain(markov, log_ratios(counts.words, self.smoothing))
        with np.errstate(divide="ignore"):
            shares = np.log(self.supervised_share), np.log1p(-self.supervised_share)
        return _together(lambda a, b: np.logaddexp(shares[0] + a, shares[1] + b), supervised, new)


def structure_of(X: Texts) -> Structure:
    return chain(np.cumsum([0, *map(len, X)]))


def with_lengths(given: Potentials, structure: Structure, least: int, penalty: float) -> Potentials:
    """Potentials of labels that know how long their field is, up to `least`: label k and length r
    are the state k * least + r - 1. Fields that end too early cost a penalty.
    """
    K = given.node.shape[1]
    first, last = ends(structure)
    early = np.tile(np.arange(least) < least - 1, K)
    node = np.repeat(given.node, least, axis=1)
    begun = node[first]
    begun[:, np.arange(K * least) % least > 0] = -np.inf
    node[first] = begun
    node[last] -= penalty * early
    moves = given.cliques[0].reshape(K, K)
    edge = np.full((K, least, K, least), -np.inf)
    edge[:, :, :, 0] = moves[:, None, :] - penalty * early.reshape(K, least)[:, :, None]
    for k in range(K):
        edge[k, :, k, 0] = -np.inf
        for r in range(least):
            edge[k, r, k, min(r + 1, least - 1)] = moves[k, k]
    return Potentials(node, (edge.reshape(1, -1),))


def broken(X: Texts, labeled_words: dict[str, str], classes: list[str]) -> np.ndarray:
    """Where (n_tokens, K) a labelled word would have another label."""
    at = {word: classes.index(label) for word, label in labeled_words.items()}
    expected = np.array([at.get(word, -1) for word in flatten(*X)], dtype=int)
    return (expected >= 0)[:, None] & (expected[:, None] != np.arange(len(classes)))


def decoded(labels: np.ndarray, X: Texts, classes: list[str]) -> Texts:
    return [[classes[k] for k in codes] for codes in cut(labels.tolist(), structure_of(X).offsets)]


def _together(combine: Callable[[np.ndarray, np.ndarray], np.ndarray], a: Chain, b: Chain) -> Chain:
    """Both tables of each kind combined."""
    return Chain(Markov(*map(combine, a.markov, b.markov)), combine(a.words, b.words))
