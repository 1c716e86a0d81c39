"""Counts of the words around each word, and vectors by correspondence analysis of the counts."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from sklearn_struct.encoding.features.column_codes import Table, Windows

__all__ = ["context_counts", "context_vectors"]


def context_counts(
    codes: np.ndarray, offsets: np.ndarray, window: int, n_context: int, directions: bool
) -> sp.csr_array:
    """How often each word (a row) stands beside each of the frequent words, or beside a bound."""
    frequency = np.bincount(codes)
    # ties by first occurrence, so that the result is the same on any machine
    frequent = np.argsort(-frequency, kind="stable")[:n_context]
    # the context of each code that Windows gives: positions beside the sequence come first
    number = np.full(2 * window + len(frequency), -1)
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

    The counts expected if all words had the same contexts are subtracted, and the differences
    divided by the square roots of the expected counts. The vectors are the rows of the first left
    singular vectors, each times its singular value. A word without a difference has the vector 0.
    """
    words = counts.sum(axis=1)
    contexts = counts.sum(axis=0)
    total = counts.sum()
    scaled = sp.csr_array(
        sp.diags_array(1 / _root(words)) @ counts @ sp.diags_array(1 / _root(contexts))
    )
    # The expected counts are of rank one: their singular vector is among the first, and is taken
    # off below, so that the sparse counts need not be made dense here.
    n_vectors = min(n_components + 1, *scaled.shape)
    left, singular, _ = randomized_svd(
        scaled, n_vectors, n_oversamples=100, n_iter=10, random_state=rng
    )
    expected = np.sqrt(words / total)
    vectors = left * singular - np.outer(expected, left.T @ expected)
    lengths = np.linalg.norm(vectors, axis=1)
    nothing = lengths <= 1e-6 * _root(words) / np.sqrt(total)  # differences of rounding
    vectors[nothing] = 0
    units: np.ndarray = vectors / np.where(nothing, 1, lengths)[:, np.newaxis]
    return units


def _root(sums: np.ndarray) -> np.ndarray:
    """Square roots, 1 for 0."""
    return np.sqrt(np.where(sums > 0, sums, 1))
