"""Transformers of rows, applied to the tokens of all sequences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted

from sklearn_struct._doc_link import DocLink
from sklearn_struct._whole_fits import Published
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.sparse_input import as_csr, check_csr
from sklearn_struct.containers.typing import Matrix, SequenceInput
from sklearn_struct.encoding.labels import label_codes, partial_labels
from sklearn_struct.encoding.sequences import as_list, check_sequences, form, pack_arrays
from sklearn_struct.exceptions import EmptyDataError, InputTypeError, LengthMismatchError

__all__ = ["TokenTransformer"]


class TokenTransformer(
    DocLink,
    Published,
    MetaEstimatorMixin,
    TransformerMixin,
    BaseEstimator,
    auto_wrap_output_keys=None,
):
    """Apply a scikit-learn transformer to the tokens of sequences.

    scikit-learn's transformers read a table with a row for each sample. Here the rows are the
    tokens of all sequences, one sequence after the other. The result is cut into the same sequences
    again. So `StandardScaler`, `PCA`, `SimpleImputer`, `SelectKBest` and all others work on
    sequences of different lengths.

    Read more in :doc:`/user_guide/sequences`.

    Parameters
    ----------
    transformer : estimator with ``fit`` and ``transform``
        It is cloned before it is fitted.

    Attributes
    ----------
    transformer_ : estimator
        The fitted transformer.
    n_features_out_ : int
        Number of features of a transformed token.

    See Also
    --------
    SequenceUnion : Puts the features of several transformers side by side.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn_struct import LinearChainCRF, TokenTransformer
    >>> X = [[[1.0, 200.0], [2.0, 100.0]], [[3.0, 300.0]]]  # of two tokens and of one
    >>> scaled = TokenTransformer(StandardScaler()).fit_transform(X)
    >>> scaled
    SequenceArray(n_sequences=2, n_tokens=3, n_features=2)
    >>> scaled[1].round(2)
    array([[1.22, 1.22]])
    >>> model = make_pipeline(TokenTransformer(StandardScaler()), LinearChainCRF())
    >>> model.fit(X, [["a", "b"], ["b"]]).predict(X).tolist()
    [['a', 'b'], ['b']]

    Tokens that are strings or dicts reach a transformer that reads such:

    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> letters = TokenTransformer(CountVectorizer(analyzer="char"))
    >>> letters.fit_transform([["ab", "b"], ["abb"]])[0].toarray()
    array([[1., 1.],
           [0., 1.]])
    >>> letters.get_feature_names_out().tolist()
    ['a', 'b']
    """

    def __init__(self, transformer: BaseEstimator) -> None:
        self.transformer = transformer

    def fit(self, X: SequenceInput, y: SequenceInput | None = None) -> TokenTransformer:
        """Fit the transformer to all tokens.

        Parameters
        ----------
        X : list of sequences, SequenceArray, or array-like of shape (n, n_features)
            A sequence is a list of tokens, a 2-D array or a sparse matrix (tokens, features). A
            two-dimensional X, which may be sparse, is a batch of sequences of length 1.
        y : list of label sequences, SequenceArray, or array-like of shape (n,), default=None
            A label for each token, for transformers that look at labels.

        Returns
        -------
        self : TokenTransformer

        Raises
        ------
        EmptyDataError
            If X has no tokens.
        InputTypeError
            If `transformer` has no ``fit`` or ``transform``, or X cannot be read.
        LengthMismatchError
            If the labels are not as many as the tokens, or `transformer` gives another number of
            rows than it gets.
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(
        self, X: SequenceInput, y: SequenceInput | None = None
    ) -> SequenceArray | Matrix:
        """Fit the transformer to all tokens, and transform them.

        Parameters
        ----------
        X, y
            As for `fit`.

        Returns
        -------
        transformed : SequenceArray
            The same sequences with the new features, whose names are those that `transformer`
            gives. For a two-dimensional X what `transformer` returns.

        Raises
        ------
        EmptyDataError, InputTypeError, LengthMismatchError
            As by `fit`.
        """
        for method in ("fit", "transform"):
            # a class has the methods, too
            if isinstance(self.transformer, type) or not hasattr(self.transformer, method):
                raise InputTypeError(
                    "transformer must be an estimator with fit and transform, got "
                    f"{self.transformer!r}"
                )
        tokens, offsets, names = _tokens(X)
        if offsets is not None and offsets[-1] == 0:
            raise EmptyDataError("X has no tokens to learn from")
        if y is not None and offsets is not None:
            y = _labels(y, offsets)
        transformer = clone(self.transformer)
        with _named(transformer):
            if hasattr(transformer, "fit_transform"):
                rows = transformer.fit_transform(tokens, y)
            else:
                rows = transformer.fit(tokens, y).transform(tokens)
        rows = _table(rows, tokens)
        self.transformer_ = transformer
        self.n_features_out_ = rows.shape[1]
        self._names_in = names
        return self._packed(rows, offsets)

    def transform(self, X: SequenceInput) -> SequenceArray | Matrix:
        """Transform all tokens.

        Parameters
        ----------
        X
            As for `fit`.

        Returns
        -------
        transformed
            As by `fit_transform`.

        Raises
        ------
        NotFittedError
            If `fit` has not been called.
        """
        check_is_fitted(self)
        tokens, offsets, _ = _tokens(X)
        if offsets is not None and offsets[-1] == 0:
            return SequenceArray(np.empty((0, self.n_features_out_)), offsets, self._names_out())
        with _named(self.transformer_):
            rows = self.transformer_.transform(tokens)
        return self._packed(_table(rows, tokens), offsets)

    def _packed(self, rows: Matrix, offsets: np.ndarray | None) -> SequenceArray | Matrix:
        """The rows as sequences again; those of a two-dimensional X stay as they are."""
        if offsets is None:
            return rows
        return SequenceArray(_numbers(rows), offsets, self._names_out())

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Names of the new features, as `transformer` gives them.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the features of X; those of the X that was fitted, if it had any.

        Returns
        -------
        names : ndarray of str objects, shape ``(n_features_out_,)``
        """
        check_is_fitted(self)
        if input_features is None and not hasattr(self.transformer_, "feature_names_in_"):
            input_features = self._names_in
        with _named(self.transformer_):
            names: np.ndarray = self.transformer_.get_feature_names_out(input_features)
        return names

    def _names_out(self) -> np.ndarray | None:
        """Names of the new features, or None where the transformer has none."""
        if not hasattr(self.transformer_, "get_feature_names_out"):
            return None
        return self.get_feature_names_out()

    @property
    def n_features_in_(self) -> int:
        """The number of features that the transformer has seen."""
        check_is_fitted(self)
        n_features: int = self.transformer_.n_features_in_
        return n_features

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if hasattr(self.transformer, "fit") and not isinstance(self.transformer, type):
            inner = get_tags(self.transformer)
            tags.input_tags = inner.input_tags
            tags.target_tags.required = inner.target_tags.required
            tags.no_validation = inner.no_validation
        return tags


def _tokens(X: SequenceInput) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
    """All tokens, where sequences begin and end, and the names of features.

    A two-dimensional X is itself, and has no bounds.
    """
    X = as_list(X)
    kind = form(X)
    if kind == "flat":
        return as_csr(X) if sp.issparse(X) else X, None, None
    if kind == "arrays":
        X = pack_arrays(X, np.float64)
    if isinstance(X, SequenceArray):
        if sp.issparse(X.tokens):
            check_csr(X.tokens)
        return X.tokens, X.offsets, X.feature_names
    check_sequences(X)
    tokens = [token for sequence in X for token in sequence]
    offsets = np.cumsum([0, *(len(sequence) for sequence in X)])
    return tokens, offsets, None


@contextmanager
def _named(transformer: BaseEstimator) -> Iterator[None]:
    """Say that an error comes from the transformer: numpy's errors inside it do not mention X."""
    try:
        yield
    # classes of scikit-learn's own, such as NotFittedError, say enough, and users catch them
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as error:
        if type(error).__module__ not in (
            "builtins",
            "numpy",
            "numpy.exceptions",
            "numpy._core._exceptions",
        ):
            raise
        kind = InputTypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{type(transformer).__name__} cannot read the tokens of X: {error}") from error


def _labels(y: SequenceInput, offsets: np.ndarray) -> np.ndarray:
    """The labels of all tokens."""
    labels = partial_labels.flatten(as_list(y), offsets)
    for position, label in enumerate(labels):
        if not label_codes.is_hashable(label):
            where = label_codes.place(position, offsets)
            raise InputTypeError(f"{where}: a {type(label).__name__} cannot be a label")
    # numpy would make a table of tuples
    if any(hasattr(label, "__len__") and not isinstance(label, str | bytes) for label in labels):
        return object_array(labels)
    return np.asarray(labels)


def _table(rows: Matrix, tokens: Matrix | list[Any]) -> Matrix:
    """What a transformer gives, after a check that it is a table with a row for each token."""
    n_tokens = _num_samples(tokens)
    shape: tuple[int, ...] = getattr(rows, "shape", ())
    if len(shape) != 2:
        kind = type(rows).__name__
        raise InputTypeError(
            f"transformer must give a two-dimensional array, got {kind} of {shape}"
        )
    if shape[0] != n_tokens:
        raise LengthMismatchError(f"transformer gives {shape[0]} rows for {n_tokens} tokens")
    return rows


def _numbers(rows: Matrix) -> Matrix:
    """A table as the tokens of a SequenceArray: an array, or a sparse one."""
    if not sp.issparse(rows):
        return np.asarray(rows)
    # of booleans or small integers scipy makes no products
    return sp.csr_array(rows, dtype=np.result_type(rows.dtype, np.float32))
