"""Several encodings of the same tokens, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import FeatureUnion
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval

from sklearn_struct._doc_link import DocLink
from sklearn_struct._whole_fits import Published
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.sparse_and_dense import SparseAndDense, side_by_side
from sklearn_struct.containers.typing import Matrix, SequenceInput
from sklearn_struct.encoding.parameter_checks import check_params
from sklearn_struct.encoding.sequences import as_list, is_list, pack_arrays
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError

__all__ = ["SequenceUnion"]

MOST_JOBS = 1024  # joblib starts a process for each job, also if there is no work for it


class SequenceUnion(DocLink, Published, FeatureUnion, auto_wrap_output_keys=None):
    """Put the features of several transformers side by side, such as words beside embeddings.

    scikit-learn's `FeatureUnion` for sequences. Each transformer gets all of X, and gives a
    SequenceArray or a list with a matrix for each sequence. The result is dense if all of them are.
    If the sparse ones come first, the columns of the dense ones behind them are kept as an array,
    which a model multiplies as one, unless most of its numbers are zeros. In another order all
    columns are sparse. ``tokens`` is a CSR array in both cases.

    Read more in :doc:`/user_guide/sequences`.

    Parameters
    ----------
    transformer_list : list of (str, transformer)
        Names and transformers. "drop" and "passthrough" may stand for a transformer.
    n_jobs : int, default=None
        Number of transformers that work at the same time, as in joblib; at most 1024.
    verbose : bool, default=False
        Print how long each transformer takes to fit.

    See Also
    --------
    SequenceVectorizer : Needs no union for strings beside single numbers: dicts hold both.
    TokenTransformer : Applies a scikit-learn transformer to each token.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> from sklearn_struct import SequenceUnion, SequenceVectorizer
    >>> vectors = {"a": [0.1, 0.9], "b": [0.5, 0.2]}
    >>> def embed(X):
    ...     return [np.array([vectors[word] for word in words]) for words in X]
    >>> vector = FunctionTransformer(embed)
    >>> union = SequenceUnion([("word", SequenceVectorizer()), ("vector", vector)])
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

    transformer_weights = None  # FeatureUnion reads it, but it is no parameter here
    verbose_feature_names_out = True

    def __init__(
        self,
        transformer_list: Sequence[tuple[str, BaseEstimator | str]],
        *,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.transformer_list = transformer_list
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: SequenceInput, y: SequenceInput | None = None) -> SequenceUnion:
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
        super().fit(as_list(X), y)
        return self

    def fit_transform(self, X: SequenceInput, y: SequenceInput | None = None) -> SequenceArray:
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
        encoded: SequenceArray = super().fit_transform(as_list(X), y)
        return encoded

    def transform(self, X: SequenceInput) -> SequenceArray:
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
        encoded: SequenceArray = super().transform(as_list(X))
        return encoded

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
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
        names: np.ndarray = super().get_feature_names_out(input_features)
        return names

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
        if "transformer_list" in params:  # FeatureUnion unpacks the pairs without a check
            _check_pairs(params["transformer_list"])
        super().set_params(**params)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        self._check_list()
        return bool(super().__sklearn_is_fitted__())

    def _check_list(self) -> None:
        check_params(self, "n_jobs")
        _check_pairs(self.transformer_list)
        if all(isinstance(step, str) and step == "drop" for _, step in self.transformer_list):
            raise ValueError("transformer_list has no transformer")

    def _take_copies(self) -> None:
        """Let `fit` work on copies: the old transformers stay in use until it has succeeded."""
        self._check_list()
        # FeatureUnion would fit those that it was given, and a second fit would change the first
        # one's result
        self.transformer_list = [
            (name, clone(step, safe=False)) for name, step in self.transformer_list
        ]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def _hstack(self, Xs: Sequence[SequenceInput]) -> SequenceArray:
        """What FeatureUnion does with the results of its transformers."""
        labels = [name for name, _, _ in self._iter()]
        parts = [_packed(label, X) for label, X in zip(labels, Xs, strict=True)]
        for label, part in zip(labels, parts):
            _check_lengths(labels[0], parts[0].lengths, label, part.lengths)
        blocks = [_blocks(part) for part in parts]
        widths = [sum(block.shape[1] for block in of_part) for of_part in blocks]
        names = _Names(labels, [part.names for part in parts], widths)
        return SequenceArray(side_by_side(list(chain(*blocks))), parts[0].offsets, names)


def _check_pairs(pairs: object) -> None:
    if not isinstance(pairs, list | tuple) or not all(_is_pair(pair) for pair in pairs):
        raise InputTypeError("transformer_list must be a list of pairs (name, transformer)")


def _is_pair(pair: object) -> bool:
    if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[0], str):
        return False
    return isinstance(pair[1], str) or (
        hasattr(pair[1], "transform")
        and (hasattr(pair[1], "fit") or hasattr(pair[1], "fit_transform"))
    )


def _packed(name: str, X: SequenceInput) -> SequenceArray:
    """What a transformer gives, as a SequenceArray."""
    if isinstance(X, SequenceArray):
        return X
    sequences = as_list(X)
    if not is_list(sequences):
        raise InputTypeError(
            f"{name!r} must give a SequenceArray or a list of matrices, got {type(X).__name__}"
        )
    return pack_arrays(sequences, np.float64)


def _blocks(part: SequenceArray) -> list[Matrix]:
    """The matrices that stand side by side in the tokens."""
    stored = part.stored
    if isinstance(stored, SparseAndDense):
        return [stored.sparse, stored.dense]
    # a batch without tokens has no columns
    return [stored.reshape(stored.shape[0], -1)]


def _check_lengths(
    name: str, lengths: np.ndarray, other: str, lengths_of_other: np.ndarray
) -> None:
    if len(lengths_of_other) != len(lengths):
        raise LengthMismatchError(
            f"{name!r} gives {len(lengths)} sequences but {other!r} {len(lengths_of_other)}"
        )
    if np.any(lengths_of_other != lengths):
        i = np.argmax(lengths_of_other != lengths)
        raise LengthMismatchError(
            f"X[{i}]: {name!r} gives {lengths[i]} tokens but {other!r} {lengths_of_other[i]}"
        )


class _Names:
    """Names of the features, spelt out by a call; two with equal parts are equal without a call."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, labels: list[str], parts: list[Any], widths: list[int]) -> None:
        self.labels = labels
        self.parts = parts
        self.widths = widths

    def __call__(self) -> np.ndarray:
        spelt: list[str] = []
        for label, names, width in zip(self.labels, self.parts, self.widths):
            names = range(width) if names is None else names() if callable(names) else names
            spelt += [f"{label}__{name}" for name in names]
        return np.array(spelt, dtype=object)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Names) or (self.labels, self.widths) != (
            other.labels,
            other.widths,
        ):
            return False
        return all(
            a == b if callable(a) else np.array_equal(a, b) for a, b in zip(self.parts, other.parts)
        )
