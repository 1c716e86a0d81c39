"""Edges between tokens of a sequence that are alike, however far apart."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.typing import Matrix
from sklearn_struct.exceptions import InputTypeError

__all__ = ["KEYS", "features_of_either", "neighbours", "skip_edges"]

Key = Callable[[Any], Hashable]


def capitalized(token: Any) -> Hashable:
    """A word that begins with a capital letter is its own key."""
    if not isinstance(token, str):
        raise InputTypeError(
            f"key='capitalized' needs tokens that are words, got {type(token).__name__}; give a "
            "function, such as key=lambda token: token['word']"
        )
    return token if token[:1].isupper() else None


# rules that have names, so that fitted models can be saved
KEYS: dict[str, Key] = {"capitalized": capitalized}


def neighbours(length: int) -> np.ndarray:
    """The edges (length - 1, 2) of a chain."""
    first = np.arange(max(length - 1, 0))
    return np.column_stack([first, first + 1])


def skip_edges(tokens: Iterable[Any], key: Key, max_pairs: int | None, i: int) -> np.ndarray:
    """The edges (n, 2) from earlier to later tokens of sequence i with equal keys, but for
    neighbours; each token has one to at most `max_pairs` before it, the nearest ones.

    Raises
    ------
    InputTypeError
        If a key cannot be compared.
    """
    places: dict[Hashable, list[int]] = {}
    edges = []
    for t, token in enumerate(tokens):
        name = key(token)
        if name is None:
            continue
        try:
            before = places.setdefault(name, [])
        except TypeError:
            raise InputTypeError(
                f"X[{i}], token {t}: key gives a {type(name).__name__}, which cannot be hashed"
            ) from None
        far = [s for s in before if s < t - 1]
        nearest = 0 if max_pairs is None else max(len(far) - max_pairs, 0)
        edges += [(s, t) for s in far[nearest:]]
        before.append(t)
    return np.array(edges, np.int64).reshape(-1, 2)


def features_of_either(X: Matrix, edges: np.ndarray) -> Matrix:
    """Features of edges (n, 2) between rows of X: of each feature the larger value of both rows."""
    first = X[edges[:, 0]]
    second = X[edges[:, 1]]
    if isinstance(X, np.ndarray):
        return np.maximum(first, second)
    return sp.csr_array(first.maximum(second))
