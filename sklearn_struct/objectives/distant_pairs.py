"""Features of two windows in one sequence, however far apart: which there are, how often they are
counted, and how often a generative chain shows them.

The second window begins after the first one has ended. A window includes the token whose label it
tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.hidden_markov.path_sums import (
    StateChain,
    Sums,
    Windows,
    between,
    path_sums,
    up_to_window,
    window_onwards,
)

__all__ = ["Apart", "counted_pairs", "expected_pairs", "observed_pairs", "pair_numbers"]

LARGEST_TABLE = 4_000_000  # numbers in a table of windows and states
# columns of an array of pairs: a feature and a label at one token, and at another one after it
LEFT, LEFT_LABEL, RIGHT, RIGHT_LABEL = range(4)


class Apart(NamedTuple):
    """Which windows are paired: of the features of one template those of another, with the least
    distance of their tokens, at which the windows do not overlap.

    Features are columns of X; ``first`` and ``last`` bound those of either template.
    """

    left: tuple[int, int]
    right: tuple[int, int]
    distance: int


def observed_pairs(
    apart: Sequence[Apart], X: SequenceArray, codes: np.ndarray, n_labels: int, used: np.ndarray
) -> np.ndarray:
    """The pairs (n, 4) that sequences show, of those that are `used`, in order."""
    keys = [
        np.unique(key[used[owner]]) for owner, key in _keys(apart, X, codes, n_labels) if len(key)
    ]
    if not keys:
        return np.empty((0, 4), np.int64)
    of_pair = np.unique(np.concatenate(keys))
    left, right = np.divmod(of_pair, X.tokens.shape[1] * n_labels)
    return np.stack([*np.divmod(left, n_labels), *np.divmod(right, n_labels)], axis=1)


def counted_pairs(
    apart: Sequence[Apart], pairs: np.ndarray, X: SequenceArray, codes: np.ndarray, n_labels: int
) -> sp.csr_array:
    """How often each sequence, with its labels, shows each pair (n_sequences, n_pairs)."""
    known = pair_numbers(pairs, X.tokens.shape[1], n_labels)
    rows = [np.empty(0, np.int64)]
    columns = [np.empty(0, np.int64)]
    for owner, key in _keys(apart, X, codes, n_labels) if len(known) else ():
        place = np.minimum(np.searchsorted(known, key), len(known) - 1)
        has = known[place] == key
        rows.append(owner[has])
        columns.append(place[has])
    where = np.concatenate(rows), np.concatenate(columns)
    ones = np.ones(len(where[0]))
    return sp.csr_array(sp.coo_array((ones, where), shape=(len(X), len(pairs))))


def expected_pairs(chain: StateChain, windows: Sequence[Windows], pairs: np.ndarray) -> np.ndarray:
    """How often a sequence of the chain shows each pair: visits along the first window, the sum
    over all paths to the second one, and the probability of that window and of an end some time.

    Raises
    ------
    NonFiniteError
        If sequences have no finite expected length.
    """
    sums = path_sums(chain)
    paths = between(chain)
    first = np.cumsum([0, *(len(shape.codes) for shape in windows)])
    expected = np.empty(len(pairs))
    step = LARGEST_TABLE // len(chain.start) + 1
    for start in range(0, len(pairs), step):
        part = pairs[start : start + step]
        before = _tables(chain, sums, windows, first, part[:, [LEFT, LEFT_LABEL]], up_to_window)
        after = _tables(chain, sums, windows, first, part[:, [RIGHT, RIGHT_LABEL]], window_onwards)
        expected[start : start + step] = np.einsum("ns,ns->n", before @ paths, after)
    return expected


def _tables(
    chain: StateChain,
    sums: Sums,
    windows: Sequence[Windows],
    first: np.ndarray,
    sides: np.ndarray,
    table_of: Callable[[StateChain, Sums, Windows, np.ndarray], np.ndarray],
) -> np.ndarray:
    """For each feature and label (n, 2) a table of states, of windows that begin at features
    `first`.
    """
    # sides repeat: each feature has as many pairs as it has partners
    different, place = np.unique(sides, axis=0, return_inverse=True)
    tables = np.empty((len(different), len(chain.start)))
    shape_of = np.searchsorted(first, different[:, 0], side="right") - 1
    for j, shape in enumerate(windows):
        rows = np.flatnonzero(shape_of == j)
        if len(rows):
            chosen = shape._replace(codes=shape.codes[different[rows, 0] - first[j]])
            tables[rows] = table_of(chain, sums, chosen, different[rows, 1])
    spread: np.ndarray = tables[place.ravel()]
    return spread


def pair_numbers(pairs: np.ndarray, n_features: int, n_labels: int) -> np.ndarray:
    """One number for each pair; pairs in order have ascending numbers."""
    left = pairs[:, LEFT] * n_labels + pairs[:, LEFT_LABEL]
    right = pairs[:, RIGHT] * n_labels + pairs[:, RIGHT_LABEL]
    number: np.ndarray = left * (n_features * n_labels) + right
    return number


def _keys(
    apart: Sequence[Apart], X: SequenceArray, codes: np.ndarray, n_labels: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Sequence and number of all pairs of tokens that show something, by distance."""
    n_features = X.tokens.shape[1]
    owner = np.repeat(np.arange(len(X)), X.lengths)
    # tokens that follow in the same sequence
    follow = X.offsets[1:][owner] - np.arange(len(owner)) - 1
    for kind in apart:
        left = _column_of_tokens(X, kind.left)
        right = _column_of_tokens(X, kind.right)
        for distance in range(kind.distance, int(np.max(follow, initial=-1)) + 1):
            s = np.flatnonzero((follow >= distance) & (left >= 0))
            s = s[right[s + distance] >= 0]
            t = s + distance
            shown = np.stack([left[s], codes[s], right[t], codes[t]], axis=1)
            yield owner[s], pair_numbers(shown, n_features, n_labels)


def _column_of_tokens(X: SequenceArray, bounds: tuple[int, int]) -> np.ndarray:
    """The feature of one template that each token has; -1 for none."""
    stored = sp.csr_array(X.tokens)
    here = (stored.indices >= bounds[0]) & (stored.indices < bounds[1])
    row = np.repeat(np.arange(stored.shape[0]), np.diff(stored.indptr))
    column = np.full(stored.shape[0], -1, np.int64)
    column[row[here]] = stored.indices[here]
    return column
