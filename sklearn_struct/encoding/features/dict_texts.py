"""The keys and values of dicts as texts, each read once.

Strings are joined token by token: they are objects anywhere in memory, and stay in the cache for so
long. No list of all of them is made, and nobody looks at their types; what is no string cannot be
joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

__all__ = ["key_texts", "value_texts"]

_JOIN = "\0".join


def key_texts(tokens: Sequence[dict[str, Any]]) -> list[str]:
    """The keys of each token, joined by zeros. No token may be empty."""
    return list(map(_JOIN, tokens))


def value_texts(tokens: Sequence[dict[str, Any]]) -> tuple[list[str], dict[int, Any]]:
    """The texts among the values, those of a token joined by zeros or not, and all other values by
    their places, where there are empty texts. No token may be empty.
    """
    texts: list[str] = []
    others: dict[int, Any] = {}
    if tokens and not set(map(type, tokens[len(tokens) // 2].values())) <= {str}:
        return _one_by_one(tokens)
    n_mixed = 0
    read = place = 0  # tokens, and their values
    joined = map(_JOIN, map(dict.values, tokens))
    while len(texts) < len(tokens):
        try:
            texts.extend(joined)
        except TypeError:  # what was joined before is there, and the next call goes on
            i = len(texts)
            n_mixed += 1
            if n_mixed > 2 + i // 4:
                return _one_by_one(tokens)
            place += sum(map(len, tokens[read:i]))
            read = i
            objects = list(tokens[i].values())
            for p, value in enumerate(objects):
                if not isinstance(value, str):
                    others[place + p] = value
                    objects[p] = ""
            texts.append(_JOIN(objects))
    return texts, others


def _one_by_one(tokens: Sequence[dict[str, Any]]) -> tuple[list[str], dict[int, Any]]:
    """The same, quicker where most tokens have other values."""
    objects = list(chain.from_iterable(map(dict.values, tokens)))
    others = {p: objects[p] for p in np.flatnonzero(~_are(str, objects)).tolist()}
    for p in others:
        objects[p] = ""
    return objects, others


def _are(kind: type, objects: list[Any]) -> np.ndarray:
    """Whether the type of each object is `kind`."""
    types = np.fromiter(map(type, objects), object, len(objects))
    # compares addresses: numpy would call == on one object after the other
    same: np.ndarray = np.ndarray(len(objects), np.intp, types) == id(kind)
    return same
