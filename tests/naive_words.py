"""Joint models of words and labels, by enumeration of all texts with all their labellings."""

from __future__ import annotations

from itertools import product

import naive
import numpy as np
from scipy.special import logsumexp

__all__ = ["joined", "log_Z", "log_Z_of_labels"]


def log_Z_of_labels(node, cliques, allowed=None):
    """Over the labellings of one text that a mask (n_tokens, n_labels) allows."""
    scores = [
        naive.score(node, cliques, y)
        for y in naive.labellings(*node.shape)
        if allowed is None or all(allowed[t, k] for t, k in enumerate(y))
    ]
    return logsumexp(scores) if scores else -np.inf


def log_Z(words, places, cliques, is_allowed=lambda y: True):
    """Over all texts, too: the scores (n_words, n_labels) of words are the choice at each token,
    those of its place (n_tokens, n_labels) are given.
    """
    n_tokens, K = places.shape
    return logsumexp(
        [
            naive.score(places + words[list(text)], cliques, y)
            for text in product(range(len(words)), repeat=n_tokens)
            for y in naive.labellings(n_tokens, K)
            if is_allowed(y)
        ]
    )


def joined(labels, boundary):
    """Labels token by token, boundaries with that of the token before, or of the first other."""
    others = [label for label in labels if label != boundary]
    last = others[0] if others else boundary
    given = []
    for label in labels:
        last = last if label == boundary else label
        given.append(last)
    return given
