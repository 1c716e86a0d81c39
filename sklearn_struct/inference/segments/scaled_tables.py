"""Tables of segmentations as scaled numbers need them, and room for their sums."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.simd import padded, workspace
from sklearn_struct.inference.segments.segment_scores import Places, Scores

__all__ = ["Factors", "Room", "are_moderate", "factors_of", "room_of"]

# largest score of tables; exponentials of small ones may underflow, as sums that miss them are seen
MODERATE = 40.0


class Factors(NamedTuple):
    """Exponentials of the tables, in rows of whole vectors.

    ``edge`` (n_edges or 1, K, P) and its transposes, ``turned``; ``length`` (1 or 2, L, P);
    ``first`` and ``last`` (n or 0, P); ``whole`` (n_candidates or 0, P). ``open`` (L, P) is 1 where
    a segment may be as long, or longer.
    """

    edge: np.ndarray
    turned: np.ndarray
    length: np.ndarray
    open: np.ndarray
    first: np.ndarray
    last: np.ndarray
    whole: np.ndarray


class Room(NamedTuple):
    """Rows of one sequence, and what is summed over all of them, in whole vectors.

    ``U`` are exponentials of token scores, divided; ``A`` and ``B`` (T + 1) sums of what ends, and
    of what comes behind; ``begun`` sums of what comes before a segment, ``after`` of what begins
    with it. ``tokens`` are marginals; ``least`` (1) is the least of
    ``begun`` before it was raised to a floor.
    """

    U: np.ndarray
    A: np.ndarray
    B: np.ndarray
    begun: np.ndarray
    after: np.ndarray
    tokens: np.ndarray
    norms: np.ndarray
    terms: np.ndarray
    lengths: np.ndarray
    pairs: np.ndarray
    least: np.ndarray


def are_moderate(scores: Scores) -> bool:
    """Whether the exponentials of all tables can be taken; -inf is 0."""
    return all(table.max(initial=-np.inf) <= MODERATE for table in scores[1:])


def factors_of(scores: Scores) -> Factors:
    edge = np.exp(scores.edge)
    has_length = np.isfinite(scores.length).any(axis=0)
    is_open = np.maximum.accumulate(has_length[::-1])[::-1]
    return Factors(
        _in_vectors(edge),
        _in_vectors(edge.transpose(0, 2, 1)),
        _in_vectors(np.exp(scores.length)),
        _in_vectors(is_open),
        _in_vectors(np.exp(scores.first)),
        _in_vectors(np.exp(scores.last)),
        _in_vectors(np.exp(scores.whole)),
    )


def _in_vectors(table: np.ndarray) -> np.ndarray:
    """A table whose rows are filled up with zeros."""
    *shape, K = table.shape
    rows = workspace((*shape, padded(K)), np.float64)
    rows[..., :K] = table
    rows[..., K:] = 0.0
    return rows


def room_of(scores: Scores, places: Places) -> Room:
    """For the longest sequence."""
    n_tables, L, K = scores.length.shape
    P = padded(K)
    n_rows = int(np.diff(places.offsets).max(initial=0)) + 1
    U, A, B, begun, after, tokens = workspace((6, n_rows * P), np.float64)
    terms = np.empty(L * P)
    # whole tiles of four labels
    pairs = np.zeros((K + 3) // 4 * 4 * P)
    lengths = np.zeros(n_tables * L * P)
    return Room(U, A, B, begun, after, tokens, np.empty(n_rows), terms, lengths, pairs, np.empty(1))
