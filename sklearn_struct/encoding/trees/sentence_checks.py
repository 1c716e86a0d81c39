"""Checks of sentences: lists of words, and of tags."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sklearn_struct.encoding.sequences import has_items, refuse_frame
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    UnknownLabelError,
)

__all__ = ["as_sentences", "as_tags"]


def as_sentences(X: object, name: str = "X", what: str = "word") -> list[list[str]]:
    """Lists of words, each a string that is not empty; errors call X `name` and a word `what`."""
    refuse_frame(X, name, ", column")
    if not has_items(X):
        raise InputTypeError(
            f"{name} is a {type(X).__name__}, expected a list of sentences, lists of {what}s"
        )
    shape: tuple[int, ...] = getattr(X, "shape", (1,))
    if len(shape) > 2:
        raise InputTypeError(
            f"{name} is an array of shape {shape}, expected a list of sentences, lists of {what}s"
        )
    if len(shape) == 2 and shape[0] and not shape[1]:
        raise EmptyDataError(
            f"{name} has {shape[0]} rows without {what}s, its shape {shape}; of empty sentences "
            "write [[], [], ...]"
        )
    return [_sentence(sentence, f"{name}[{i}]", what) for i, sentence in enumerate(X)]


def _sentence(sentence: object, place: str, what: str) -> list[str]:
    if not has_items(sentence) or len(getattr(sentence, "shape", (1,))) != 1:
        kind = type(sentence).__name__
        hint = ""
        if isinstance(sentence, str):
            hint = ": split it into words; one sentence is [sentence]"
        elif hasattr(sentence, "shape"):
            hint = f", of one dimension; its shape is {sentence.shape}"
        raise InputTypeError(f"{place} is a {kind}, expected a list of {what}s{hint}")
    words = list(sentence)
    for t, word in enumerate(words):
        if not isinstance(word, str):
            raise InputTypeError(
                f"{place}, token {t}: {word!r} is a {type(word).__name__}, expected a string"
            )
        if not word:
            raise ValueError(f"{place}, token {t}: the {what} is empty")
    return words


def as_tags(tags: object, X: Sequence[Sequence[str]], known: Iterable[str]) -> list[list[str]]:
    """Tags for the words of X, each among the known ones."""
    rows = as_sentences(tags, "tags", "tag")
    if len(rows) != len(X):
        raise LengthMismatchError(f"X has {len(X)} sentences but tags has {len(rows)}")
    allowed = set(known)
    for i, (row, sentence) in enumerate(zip(rows, X)):
        if len(row) != len(sentence):
            raise LengthMismatchError(
                f"X[{i}] has {len(sentence)} words but tags[{i}] has {len(row)}"
            )
        for t, tag in enumerate(row):
            if tag not in allowed:
                raise UnknownLabelError(f"tags[{i}], token {t}: {tag!r} was not seen in fit")
    return rows
