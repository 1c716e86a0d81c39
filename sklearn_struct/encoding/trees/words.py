"""Sequences of words in all their forms: strings, whole numbers, packed columns of either."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.encoding.features.symbol_sequences import symbols
from sklearn_struct.encoding.trees.sentence_checks import as_sentences
from sklearn_struct.exceptions import InputTypeError

__all__ = ["Words", "is_table", "read_words"]


@dataclass(frozen=True)
class Words:
    """Sentences as lists of strings, and where each begins among all words."""

    sentences: list[list[str]]

    @property
    def lengths(self) -> np.ndarray:
        return np.array([len(sentence) for sentence in self.sentences], dtype=np.int64)

    @property
    def offsets(self) -> np.ndarray:
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.lengths)])

    def __len__(self) -> int:
        return len(self.sentences)


def is_table(X: Any) -> bool:
    """Whether X is two-dimensional and holds numbers: a batch of sequences of one token each. A
    table of strings has a sentence a row.
    """
    if sp.issparse(X):
        return True
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf"


def read_words(X: Any) -> Words:
    """Words of sentences; a whole number is the word that its digits are."""
    packed = symbols(X)
    if not isinstance(packed, SequenceArray):
        return Words(as_sentences(X))
    tokens = packed.tokens
    if sp.issparse(tokens) or (tokens.ndim == 2 and tokens.shape[1] != 1):
        raise InputTypeError(
            f"X has tokens of shape {tokens.shape[1:]}, expected one word or whole number a token"
        )
    offsets = packed.offsets.tolist()
    words = np.ravel(tokens).tolist()
    cut = [words[start:stop] for start, stop in pairwise(offsets)]
    return Words(
        as_sentences(
            [
                [_as_text(word, i, t) for t, word in enumerate(sentence)]
                for i, sentence in enumerate(cut)
            ]
        )
    )


def _as_text(word: Any, i: int, t: int) -> Any:
    """A whole number as a string; of strings `as_sentences` says what is wrong."""
    if not isinstance(word, Real) or isinstance(word, bool):
        return word
    if isinstance(word, Integral):
        return str(int(word))
    if not float(word).is_integer():
        raise InputTypeError(
            f"X[{i}], token {t}: {word!r} is no whole number; words are strings or whole numbers"
        )
    return str(int(float(word)))
