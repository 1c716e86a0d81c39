"""Several encodings of the same tokens, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import FeatureUnion
from sklearn.utils._param_validation import Interval

from sklearn_struct._doc_link import DocLink
from sklearn_struct._published import Published
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.encoding.parameter_checks import check_params
from sklearn_struct.encoding.sequences import as_list, is_list, pack_arrays
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError

__all__ = ["SequenceUnion"]

MOST_JOBS = 1024  # joblib starts a process for each, also if there is no work for it


class SequenceUnion(DocLink, Published, FeatureUnion, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Put the features of several transformers side by side: words beside embeddings, attributes
    beside numbers.

    scikit-learn's `FeatureUnion` for sequences. Each transformer gets all of X, and gives a
    SequenceArray or a list of matrices, one a sequence. If one of them is sparse, so is the result.

    Parameters
    ----------
    transformer_list : list of (str, transformer)
        "drop" and "passthrough" may stand for a transformer.
    n_jobs : int, default=None
        Transformers that work at once, in joblib's meaning; at most 1024.
    verbose : bool, default=False
        Print how long each transformer takes to fit.

    See Also
    --------
    SequenceVectorizer : Attributes that are strings and single numbers need no union: dicts hold both.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> from sklearn_struct import SequenceUnion, SequenceVectorizer
    >>> vectors = {"a": [0.1, 0.9], "b": [0.5, 0.2]}
    >>> embed = FunctionTransformer(lambda X: [np.array([vectors[word] for word in words]) for words in X])
    >>> union = SequenceUnion([("word", SequenceVectorizer()), ("vector", embed)])
    >>> union.fit_transform([["a", "b"], ["b"]])[0].toarray()
    array([[1. , 0. , 0.1, 0.9],
           [0. , 1. , 0.5, 0.2]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_jobs": [
            None,
            Interval(Integral, 1, MOST_JOBS, closed="both"),
            Interval(Integral, -MOST_JOBS, -1, closed="both"),
        ]
    }

    transformer_weights = None  # a parameter of FeatureUnion that is none here
    verbose_feature_names_out = True

    def __init__(
        self,
        transformer_list: Sequence[tuple[str, Any]],
        *,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.transformer_list = transformer_list
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> SequenceUnion:
        """Fit all transformers.

        Parameters
        ----------
        X : list of sequences
            Whatever the transformers read. A generator is read once.
        y : None
            Given to the transformers.

        Returns
        -------
        self : SequenceUnion
        """
        self._take_copies()
        return super().fit(as_list(X), y)

    def fit_transform(self, X: Any, y: Any = None) -> SequenceArray:
        """Fit all transformers, and encode X by each.

        Parameters
        ----------
        X, y
            As for `fit`.

        Returns
        -------
        encoded : SequenceArray
            Its features have names: that of the transformer, two underscores, and the name or
            number that it gives.

        Raises
        ------
        LengthMismatchError
            If two transformers give different numbers of sequences or tokens.
        """
        self._take_copies()
        return super().fit_transform(as_list(X), y)

    def transform(self, X: Any) -> SequenceArray:
        """Encode X by each transformer.

        Parameters
        ----------
        X
            As for `fit`.

        Returns
        -------
        encoded : SequenceArray
            As by `fit_transform`.
        """
        self._check_list()  # it may have been changed since `fit`
        self._validate_transformers()
        return super().transform(as_list(X))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features, with those of the transformers.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Given to the transformers.

        Returns
        -------
        names : ndarray of str objects
        """
        self._check_list()
        self._validate_transformers()
        return super().get_feature_names_out(input_features)

    def set_params(self, **params: Any) -> SequenceUnion:
        """Set parameters, those of transformers by ``name__parameter``, and transformers by their
        names.

        Parameters
        ----------
        **params
            As `get_params` gives them.

        Returns
        -------
        self : SequenceUnion

        Raises
        ------
        InputTypeError
            If ``transformer_list`` is no list of pairs.
        """
        if "transformer_list" in params:  # FeatureUnion goes through it before anybody has looked
            _check_pairs(params["transformer_list"])
        return super().set_params(**params)

    def __sklearn_is_fitted__(self) -> bool:
        self._check_list()
        return super().__sklearn_is_fitted__()

    def _check_list(self) -> None:
        check_params(self, "n_jobs")
        _check_pairs(self.transformer_list)
        if all(isinstance(step, str) and step == "drop" for _, step in self.transformer_list):
            raise ValueError("transformer_list has no transformer")

    def _take_copies(self) -> None:
        """Fit copies of the transformers, as those of before are still in use, and stay if the fit
        fails.
        """
        self._check_list()
        self.transformer_list = [
            (name, clone(step, safe=False)) for name, step in self.transformer_list
        ]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def _hstack(self, Xs: Sequence[Any]) -> SequenceArray:
        """What FeatureUnion does with the results of its transformers."""
        labels = [name for name, _, _ in self._iter()]
        parts = [_packed(label, X) for label, X in zip(labels, Xs, strict=True)]
        for label, part in zip(labels, parts):
            _check_lengths(labels[0], parts[0].lengths, label, part.lengths)
        tokens = [part.tokens.reshape(part.tokens.shape[0], -1) for part in parts]
        stacked = (
            sp.hstack(tokens, format="csr") if any(map(sp.issparse, tokens)) else np.hstack(tokens)
        )
        names = _Names(labels, [part.names for part in parts], [part.shape[1] for part in tokens])
        return SequenceArray(stacked, parts[0].offsets, names)


def _check_pairs(pairs: Any) -> None:
    if not isinstance(pairs, list | tuple) or not all(_is_pair(pair) for pair in pairs):
        raise InputTypeError("transformer_list must be a list of pairs (name, transformer)")


def _is_pair(pair: Any) -> bool:
    if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[0], str):
        return False
    return isinstance(pair[1], str) or (
        hasattr(pair[1], "transform")
        and (hasattr(pair[1], "fit") or hasattr(pair[1], "fit_transform"))
    )


def _packed(name: str, X: Any) -> SequenceArray:
    """What a transformer gives, as a SequenceArray."""
    if isinstance(X, SequenceArray):
        return X
    if not is_list(as_list(X)):
        raise InputTypeError(
            f"{name!r} must give a SequenceArray or a list of matrices, got {type(X).__name__}"
        )
    return pack_arrays(as_list(X), np.float64)


def _check_lengths(name: str, lengths: np.ndarray, other: str, found: np.ndarray) -> None:
    if len(found) != len(lengths):
        raise LengthMismatchError(
            f"{name!r} gives {len(lengths)} sequences but {other!r} {len(found)}"
        )
    if np.any(found != lengths):
        i = np.argmax(found != lengths)
        raise LengthMismatchError(
            f"X[{i}]: {name!r} gives {lengths[i]} tokens but {other!r} {found[i]}"
        )


class _Names:
    """Names of the features, spelt out when called; those of equal parts are equal without that."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, labels: list[str], parts: list[Any], widths: list[int]) -> None:
        self.labels = labels
        self.parts = parts
        self.widths = widths

    def __call__(self) -> np.ndarray:
        found: list[str] = []
        for label, names, width in zip(self.labels, self.parts, self.widths):
            names = range(width) if names is None else names() if callable(names) else names
            found += [f"{label}__{name}" for name in names]
        return np.array(found, dtype=object)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Names) or (self.labels, self.widths) != (
            other.labels,
            other.widths,
        ):
            return False
        return all(
            a == b if callable(a) else np.array_equal(a, b) for a, b in zip(self.parts, other.parts)
        )
