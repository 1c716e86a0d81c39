"""Text for language models, the features of a log-linear one, and interpolated trigrams to compare
it with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

START = "<s>"
END = "</s>"
UNKNOWN = "<unk>"
# how often at most a history has occurred, for weights of interpolation of its own
SHORT = 2
LONG = 3

Sentences = list[list[str]]


class History(NamedTuple):
    """What comes before a word: the text so far with words outside the vocabulary as they are, and
    with `UNKNOWN`.
    """

    raw: list[str]
    known: list[str]
    position: int


def vocabulary(sentences: Sentences, size: int) -> set[str]:
    """The most frequent words."""
    return {word for word, _ in Counter(word for s in sentences for word in s).most_common(size)}


def histories(sentences: Sentences, words: set[str]) -> tuple[list[History], list[str]]:
    """A history and the word that follows, for each word and each end of a sentence; earlier
    sentences count.
    """
    raw: list[str] = [START, START]
    X: list[int] = []
    for sentence in sentences:
        X.extend(range(len(raw), len(raw) + len(sentence) + 1))
        raw += [*sentence, END, START, START]
    known = [word if word in words or word in (START, END) else UNKNOWN for word in raw]
    return [History(raw, known, t) for t in X], [known[t] for t in X]


def context(x: History, reach: int = 40) -> list[str]:
    """The templates: bigram, trigram, skips, suffixes, shape, and words of the history."""
    t = x.position
    known = x.known
    u = known[t - 3] if t > 2 else START
    v = known[t - 2]
    w = known[t - 1]
    last = x.raw[t - 1]
    names = [
        f"w-1={w}",
        f"w-2,w-1={v},{w}",
        f"w-2={v}",
        f"w-3={u}",
        f"w-3,w-1={u},{w}",
        f"suffix={last[-3:]}",
    ]
    return names + [f"seen={word}" for word in set(known[max(t - reach, 0) : t])]


def is_feature(part: str, word: str) -> bool:
    """Whether a word occurs in the history matters for the same word alone."""
    return not part.startswith("seen=") or part == "seen=" + word


def perplexity(log_p: np.ndarray) -> float:
    return float(np.exp(-np.mean(log_p)))


class InterpolatedTrigram:
    """q(w | u, v) = a q_ML(w | u, v) + b q_ML(w | v) + c q_ML(w) + d / V, weights by expectation
    maximisation.

    They are learned on held-out text; with `buckets`, one set for each of some ranges of the counts
    of (u, v) and v.
    """

    def __init__(self, n_words: int, buckets: bool = False) -> None:
        self.n_words = n_words
        self.buckets = buckets

    def fit(
        self, X: list[History], y: list[str], X_held: list[History], y_held: list[str]
    ) -> InterpolatedTrigram:
        self.counts: list[Counter] = [Counter(), Counter(), Counter()]
        self.totals: list[Counter] = [Counter(), Counter(), Counter()]
        for histories_, word in zip(map(self._histories, X), y):
            for order, history in enumerate(histories_):
                self.counts[order][history, word] += 1
                self.totals[order][history] += 1
        q, bucket = self._estimates(X_held, y_held)
        self.weights = np.full((bucket.max() + 2, 4), 0.25)
        for _ in range(100):
            share = self.weights[bucket] * q
            share /= share.sum(axis=1, keepdims=True)
            for b in np.unique(bucket):
                self.weights[b] = share[bucket == b].mean(axis=0)
        return self

    def log_proba(self, X: list[History], y: list[str]) -> np.ndarray:
        q, bucket = self._estimates(X, y)
        return np.log(np.sum(self.weights[np.minimum(bucket, len(self.weights) - 1)] * q, axis=1))

    @staticmethod
    def _histories(x: History) -> tuple[tuple[str, ...], ...]:
        v, w = x.known[x.position - 2 : x.position]
        return (), (w,), (v, w)

    def _estimates(self, X: Iterable[History], y: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """The four probabilities of each word, and the bucket of its history."""
        q = np.zeros((len(y), 4))
        bucket = np.zeros(len(y), dtype=int)
        q[:, 3] = 1 / self.n_words
        for i, (histories_, word) in enumerate(zip(map(self._histories, X), y)):
            for order, history in enumerate(histories_):
                total = self.totals[order][history]
                q[i, order] = self.counts[order][history, word] / total if total else 0.0
            if self.buckets:
                seen = [self.totals[order][histories_[order]] for order in (1, 2)]
                bucket[i] = 7 * min(seen[0].bit_length(), 10) // 2 + min(seen[1].bit_length(), 6)
        return q, bucket
