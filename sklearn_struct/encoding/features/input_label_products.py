"""Features of an input and a label together, named by functions -> columns of numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice, product
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from sklearn_struct._doc_link import DocLink
from sklearn_struct.containers.typing import Label
from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    NonFiniteError,
    UnknownLabelError,
)

__all__ = ["Call", "ProductFeatures", "candidate_codes", "encode", "joint_name"]

_CHUNK = 200  # rows that are read together
_READABLE = (str, dict, list, tuple, set, frozenset)
Call: TypeAlias = tuple[int, tuple[Any, ...]]  # number of the input, arguments of the function


class ProductFeatures(DocLink, BaseEstimator):
    """Joint features that are pairs of a part of the input and a part of the label.

    A call with (x, y) gives the names of all pairs, with the products of their values.
    `LogLinearClassifier` does not need such calls: it reads each input once, not once for each
    label, and visits only labels that were seen with a feature. So there may be thousands of
    labels.

    Read more in :doc:`/user_guide/log_linear`.

    Parameters
    ----------
    context : callable
        ``context(x)`` gives the parts of an input: names, or a dict of name: value.
    label : callable, default=None
        ``label(y)`` gives the parts of a label in the same way; None is the label itself.
    keep : callable, default=None
        ``keep(a, b)`` says whether part a of an input and part b of a label make a feature, by
        their names. None keeps all pairs. It is called once for each pair in the data.

    See Also
    --------
    LogLinearClassifier : Learns the weights of such features.

    Examples
    --------
    >>> from sklearn_struct import ProductFeatures
    >>> def context(history):
    ...     return ["any", f"last={history[-1]}"]
    >>> features = ProductFeatures(context, lambda word: [word, f"ends={word[-1]}"])
    >>> list(features(["the"], "cat"))
    ['any & cat', 'any & ends=t', 'last=the & cat', 'last=the & ends=t']
    """

    def __init__(
        self,
        context: Callable[[Any], Any],
        label: Callable[[Any], Any] | None = None,
        keep: Callable[[str, str], bool] | None = None,
    ) -> None:
        self.context = context
        self.label = label
        self.keep = keep

    def __call__(self, x: object, y: Label) -> dict[str, float]:
        """The joint features of an input and a label.

        Parameters
        ----------
        x : object
        y : label

        Returns
        -------
        dict of {str: float}
        """
        of_label = {str(y): 1.0} if self.label is None else _read(self.label(y))
        pairs = product(_read(self.context(x)).items(), of_label.items())
        return {
            joint_name(a, b): u * v
            for (a, u), (b, v) in pairs
            if self.keep is None or self.keep(a, b)
        }


def joint_name(a: str, b: str) -> str:
    """The name of a pair, which no other pair has."""
    # escaped, so that different pairs never have the same name
    return a.replace("\\", "\\\\").replace("&", "\\&") + " & " + b


def _read(parts: object) -> dict[str, float]:
    """The names that a function gave, and their values, by the rules for tokens."""
    vectorizer = SequenceVectorizer()
    row = vectorizer.fit_transform([[_as_readable(parts)]]).tokens
    return dict(zip(vectorizer.get_feature_names_out()[row.indices].tolist(), row.data.tolist()))


def _as_readable(parts: object) -> object:
    """Generators as lists."""
    return parts if isinstance(parts, _READABLE) or not isinstance(parts, Iterable) else list(parts)


def encode(
    vectorizer: SequenceVectorizer,
    function: Callable[..., Any],
    calls: Callable[[], Iterator[Call]],
    learn: bool,
) -> sp.csr_array:
    """One row of features for each call of `function`; `calls` lists them anew each time.

    Raises
    ------
    InputTypeError, NonFiniteError
        If the function gives something that cannot be read, with the call. Its own exceptions get
        the call as a note.
    """

    def chunks() -> Iterator[list[Any]]:
        remaining = calls()
        while chunk := [_call(function, *call) for call in islice(remaining, _CHUNK)]:
            yield chunk

    try:
        return (vectorizer.fit_transform if learn else vectorizer.transform)(chunks()).tokens
    except (InputTypeError, NonFiniteError):
        # the vectorizer knows a chunk and a token; a second pass finds the call
        for call in calls():
            _check(function, *call)
        raise


def _call(function: Callable[..., Any], i: int, arguments: tuple[Any, ...]) -> object:
    try:
        return _as_readable(function(*arguments))
    except Exception as error:
        # the type stays, as callers may catch it
        error.add_note(f"while the features of {_place(i, arguments)} were computed")
        raise


def _check(function: Callable[..., Any], i: int, arguments: tuple[Any, ...]) -> None:
    """Raise the error of one call, if it has one, with its place."""
    try:
        SequenceVectorizer().fit([[_call(function, i, arguments)]])
    except (InputTypeError, NonFiniteError) as error:
        what = str(error).removeprefix("X[0], token 0").removeprefix(": ").removeprefix(", ")
        raise type(error)(f"features of {_place(i, arguments)}: {what}") from None


def _place(i: int, arguments: tuple[Any, ...]) -> str:
    if i < 0:  # a function of the label alone
        return f"label {arguments[0]!r}"
    return f"X[{i}]" + "".join(f" and label {label!r}" for label in arguments[1:])


def candidate_codes(
    X: Iterable[Any],
    candidates: Callable[[Any], Iterable[Hashable]],
    codes: dict[Any, int],
    first: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """The labels among which each input chooses, as offsets and codes.

    If `codes` is empty, the labels are learned, and added to it. `first` is the number of the first
    input, for messages.
    """
    learn = not codes
    chosen: list[int] = []
    offsets = [0]
    for i, x in enumerate(X, first):
        labels = candidates(x)
        if isinstance(labels, str | bytes | dict) or not isinstance(labels, Iterable):
            raise InputTypeError(
                f"candidates(X[{i}]) must give labels, got {type(labels).__name__}"
            )
        # a label that is named twice must not count twice
        own: dict[int, None] = {}  # a set that keeps the order
        for label in labels:
            if learn and getattr(label, "__hash__", None) is not None:
                codes.setdefault(label, len(codes))
            if getattr(label, "__hash__", None) is None or label not in codes:
                raise UnknownLabelError(f"candidates(X[{i}]): label {label!r} was not seen in fit")
            own[codes[label]] = None
        if not own:
            raise EmptyDataError(f"candidates(X[{i}]) gives no label")
        chosen.extend(own)
        offsets.append(len(chosen))
    return np.array(offsets, np.int64), np.array(chosen, np.int32)
