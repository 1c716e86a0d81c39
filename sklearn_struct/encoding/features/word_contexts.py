"""Where words stand: counts of the words around them, and vectors that say what is special about
these.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from sklearn_struct.encoding.features.column_codes import Table, Windows

__all__ = ["context_counts", "context_vectors"]


def context_counts(
    codes: np.ndarray, offsets: np.ndarray, window: int, n_context: int, directions: bool
) -> sp.csr_array:
    """How often each word stands beside each frequent word, or a bound of the sequence: a row for
    each word.
    """
    frequency = np.bincount(codes)
    frequent = np.argsort(-frequency, kind="stable")[:n_context]
    number = np.full(2 * window + len(frequency), -1)  # by the codes that Windows gives
    number[: 2 * window] = len(frequent)
    number[2 * window + frequent] = np.arange(len(frequent))
    windows = Windows(Table([codes], offsets, []), (window, window), special=True)
    places = [place for place in range(-window, window + 1) if place]
    width = len(frequent) + 1
    counts = sp.csr_array((len(frequency), width * len(places) if directions else width))
    for p, place in enumerate(places):
        context = number[windows.at(place, 0)]
        counted = context >= 0
        columns = context[counted] + p * width * directions
        ones = np.ones(len(columns))
        counts += sp.csr_array((ones, (codes[counted], columns)), shape=counts.shape)
    return counts


def context_vectors(
    counts: sp.csr_array, n_components: int, rng: np.random.RandomState
) -> np.ndarray:
    """A vector of unit length for each word, by correspondence analysis of the counts.

    It is the word's part of the first singular vectors, each times its singular value, of what the
    counts are above those expected if all words had the same contexts, over the square root of the
    latter. Where nothing is, it is 0.
    """
    words = counts.sum(axis=1)
    contexts = counts.sum(axis=0)
    total = counts.sum()
    scaled = sp.csr_array(
        sp.diags_array(1 / _root(words)) @ counts @ sp.diags_array(1 / _root(contexts))
    )
    # one of them is that of the expected counts, which comes off
    n_vectors = min(n_components + 1, *scaled.shape)
    left, singular, _ = randomized_svd(
        scaled, n_vectors, n_oversamples=100, n_iter=10, random_state=rng
    )
    expected = np.sqrt(words / total)
    vectors = left * singular - np.outer(expected, left.T @ expected)
    lengths = np.linalg.norm(vectors, axis=1)
    nothing = lengths <= 1e-6 * _root(words) / np.sqrt(total)  # differences of rounding
    vectors[nothing] = 0
    return vectors / np.where(nothing, 1, lengths)[:, np.newaxis]


def _root(sums: np.ndarray) -> np.ndarray:
    """Square roots, 1 for 0."""
    return np.sqrt(np.where(sums > 0, sums, 1))
