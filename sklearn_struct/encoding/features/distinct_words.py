"""Which words texts have, where a word is all that a token's features tell: distinct rows of X.

Features that describe a token's place and not its word stand aside.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.sequence_array import SequenceArray

__all__ = ["Words", "distinct_words"]


class Words(NamedTuple):
    """Distinct places and words of texts, and texts with their words left out.

    ``rows`` (n_places + n_words, n_features) are features of places, then of words. Free text i
    has the tokens from ``offsets[i]`` to ``offsets[i + 1]``, whose places are rows ``place``, and
    as many texts look like it as ``weight`` says. Place 0 has no features, also where no token is
    there; without features of places there are no places.
    """

    rows: Any
    n_places: int
    offsets: np.ndarray
    place: np.ndarray
    weight: np.ndarray


def distinct_words(X: SequenceArray, given: np.ndarray, weight: np.ndarray) -> Words:
    """The words of the texts of positive weight (n_sequences,); the columns `given` of X describe
    places.
    """
    lengths = X.lengths
    used = np.repeat(weight > 0, lengths)
    tokens = X.tokens[used]
    is_given = np.zeros(X.tokens.shape[1], dtype=bool)
    is_given[given] = True
    word_rows, _ = _distinct(_only(tokens, ~is_given))
    place_rows, place = _distinct(_only(tokens, is_given))
    sparse = sp.issparse(tokens)
    stack = sp.vstack if sparse else np.vstack
    if len(given):
        # behind a row of zeros, which may be one of them a second time
        nothing = (sp.csr_array if sparse else np.zeros)((1, tokens.shape[1]))
        place_rows = stack([nothing, place_rows])
        place = place + 1
    else:
        place_rows = place_rows[:0]
    offsets = np.concatenate([[0], np.cumsum(lengths[weight > 0])])
    like = _alike(place, offsets)
    kinds = sorted(like)
    sizes = [len(kind) // place.itemsize for kind in kinds]
    counts = [weight[weight > 0][like[kind]].sum() for kind in kinds]
    return Words(
        stack([place_rows, word_rows]),
        place_rows.shape[0],
        np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]),
        np.concatenate([np.empty(0, np.int64), *(np.frombuffer(kind, np.int64) for kind in kinds)]),
        np.array(counts, dtype=np.float64),
    )


def _only(tokens: Any, kept: np.ndarray) -> Any:
    """The same, with zeros in other columns."""
    if not sp.issparse(tokens):
        return np.where(kept, tokens, 0.0)
    rows = sp.csr_array(tokens, copy=True)
    rows.sum_duplicates()
    rows.data = np.where(kept[rows.indices], rows.data, 0.0)
    rows.eliminate_zeros()
    return rows


def _distinct(rows: Any) -> tuple[Any, np.ndarray]:
    """Rows that differ, in an order that is theirs, and the number of each row among them."""
    if sp.issparse(rows):
        bounds = rows.indptr.tolist()
        # bytes of numbers alone: of equal rows they are equal, as zeros are gone
        keys = [rows.indices[a:b].tobytes() + rows.data[a:b].tobytes() for a, b in pairwise(bounds)]
    else:
        # -0.0 and 0.0 are the same number
        keys = [row.tobytes() for row in np.ascontiguousarray(rows + 0.0)]
    first: dict[bytes, int] = {}
    for r, key in enumerate(keys):
        first.setdefault(key, r)
    order = sorted(first)
    number = {key: n for n, key in enumerate(order)}
    codes = np.fromiter((number[key] for key in keys), np.int64, len(keys))
    return rows[np.array([first[key] for key in order], dtype=np.int64)], codes


def _alike(place: np.ndarray, offsets: np.ndarray) -> dict[bytes, list[int]]:
    """The texts that have the same places, by these; empty ones are left out."""
    like: dict[bytes, list[int]] = {}
    for i, (a, b) in enumerate(pairwise(offsets.tolist())):
        if a < b:
            like.setdefault(place[a:b].tobytes(), []).append(i)
    return like
