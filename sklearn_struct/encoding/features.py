"""Dicts and strings to columns of numbers."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from sklearn_struct.batch import SequenceArray
from sklearn_struct.encoding._attributes import Attributes, Growing, Hashed, Known, read
from sklearn_struct.exceptions import EmptyDataError
from sklearn_struct.kernel import kernel

__all__ = ["SequenceVectorizer", "canonical_csr", "float_dtype"]

_SHORT_ROW = 64


class SequenceVectorizer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Turn sequences of dicts or strings into a SequenceArray with sparse tokens.

    A token is a dict of features, a string, or a list, tuple or set of strings. Its attributes are named as
    CRFsuite's Python binding names them:

    ===================================  ==========================
    in the token                         attribute: value
    ===================================  ==========================
    ``"a"`` (a string, or one of many)   ``a``: 1
    ``{"k": 2.5}``                       ``k``: 2.5
    ``{"k": True}``, ``{"k": False}``    ``k``: 1, ``k``: 0
    ``{"k": "v"}``                       ``k:v``: 1
    ``{"k": ["v", "w"]}`` or a set       ``k:v``: 1, ``k:w``: 1
    ``{"k": {"j": 2.5}}``                ``k:j``: 2.5
    ===================================  ==========================

    Zeros are not stored. An attribute that occurs several times in one token counts with its sum.

    Parameters
    ----------
    min_frequency : int, default=1
        Attributes stored in fewer tokens of the training data are dropped.
    n_features : int, default=None
        Hash names into this many columns instead of learning a vocabulary: nothing is kept in memory and
        `transform` needs no `fit`, but columns have no names and unlike attributes may share one.
    separator : str, default=":"
        Stands between the parts of a name.
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        Type of the values.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        The column of each attribute, in the order in which they first appeared (the elements of a set are visited
        in sorted order). Not there with hashing.
    n_features_out_ : int
        Number of columns.

    See Also
    --------
    FeatureTemplates : Much quicker where attributes are combinations of the columns of a table.

    Examples
    --------
    >>> from sklearn_struct.encoding.features import SequenceVectorizer
    >>> X = [[{"word": "I", "upper": True}, {"word": "sleep", "upper": False}], [{"word": "sleep"}]]
    >>> vectorizer = SequenceVectorizer()
    >>> tokens = vectorizer.fit_transform(X)
    >>> tokens
    SequenceArray(n_sequences=2, n_tokens=3, n_features=3)
    >>> vectorizer.get_feature_names_out().tolist()
    ['word:I', 'upper', 'word:sleep']
    >>> tokens[0].toarray()
    array([[1., 1., 0.],
           [0., 0., 1.]])
    """

    _parameter_constraints: dict = {  # noqa: RUF012 - scikit-learn's convention
        "min_frequency": [Interval(Integral, 1, None, closed="left")],
        "n_features": [None, Interval(Integral, 1, 2**31 - 1, closed="both")],
        "separator": [str],
        "dtype": "no_validation",  # looked at in float_dtype, which knows all the ways to name a dtype
    }

    def __init__(
        self,
        min_frequency: int = 1,
        n_features: int | None = None,
        separator: str = ":",
        dtype: Any = np.float64,
    ) -> None:
        self.min_frequency = min_frequency
        self.n_features = n_features
        self.separator = separator
        self.dtype = dtype

    def fit(self, X: Any, y: Any = None) -> SequenceVectorizer:
        """Learn the vocabulary. With hashing there is none, and X is not read.

        Parameters
        ----------
        X : iterable of sequences
            A sequence is a list or tuple of tokens. A generator is read once, a few sequences at a time.
        y : None
            Ignored.

        Returns
        -------
        self : SequenceVectorizer

        Raises
        ------
        InputTypeError
            If something in X cannot be read as a sequence, a token, a name or a value.
        NonFiniteError
            If a value is NaN or infinite.
        EmptyDataError
            If X has no tokens.
        """
        self.fit_transform(X if self.n_features is None else ())
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: Any = None) -> SequenceArray:
        """Learn the vocabulary and encode X, in one pass over X.

        Parameters
        ----------
        X : iterable of sequences
            As for `fit`.
        y : None
            Ignored.

        Returns
        -------
        encoded : SequenceArray
            The tokens of X, in a CSR array of shape ``(n_tokens, n_features_out_)``.
        """
        dtype = float_dtype(self.dtype)
        if self.n_features is not None:
            if self.min_frequency > 1:
                raise ValueError("min_frequency counts attributes, which hashing (n_features) does not do")
            encoded = self._hash(X, self.n_features)
            self.__dict__.pop("vocabulary_", None)
            self.__dict__.pop("_feature_names", None)
            self.n_features_out_ = int(self.n_features)
            return encoded
        columns = Growing()
        found = read(X, columns, self.separator, dtype)
        if not len(found.counts):
            raise EmptyDataError("X has no tokens to learn from")
        columns.names.default_factory = None  # it refers to `names` itself
        order = np.empty(len(columns.names), np.int64)
        order = order[: renumber(found.columns, found.values, order)]
        tokens, kept = _drop_rare(_rows(found, len(order)), self.min_frequency)
        vocabulary = _reorder(columns.names, order[kept])
        feature_names = np.fromiter(vocabulary, object, len(vocabulary))
        feature_names.flags.writeable = False  # all results share it
        self.vocabulary_ = vocabulary
        self.n_features_out_ = len(vocabulary)
        self._feature_names = feature_names
        return SequenceArray(tokens, found.offsets, feature_names)

    def transform(self, X: Any) -> SequenceArray:
        """Encode X. Attributes that are not in the vocabulary are ignored.

        Parameters
        ----------
        X : iterable of sequences
            As for `fit`.

        Returns
        -------
        encoded : SequenceArray
            The tokens of X, in a CSR array of shape ``(n_tokens, n_features_out_)``.

        Raises
        ------
        NotFittedError
            If there is no vocabulary yet.
        InputTypeError, NonFiniteError
            As for `fit`.
        """
        if self.n_features is not None:
            self._validate_params()
            return self._hash(X, self.n_features)
        check_is_fitted(self, "vocabulary_")
        found = read(X, Known(self.vocabulary_), self.separator, float_dtype(self.dtype))
        return SequenceArray(_rows(found, self.n_features_out_), found.offsets, self._feature_names)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : ndarray of str objects, shape ``(n_features_out_,)``
            A read-only array. With hashing, columns only have numbers: ``sequencevectorizer0`` and so on.

        Raises
        ------
        NotFittedError
            If there is no vocabulary yet.
        """
        if self.n_features is not None:
            return np.array([f"sequencevectorizer{j}" for j in range(self.n_features)], dtype=object)
        check_is_fitted(self, "vocabulary_")
        return self._feature_names

    def _hash(self, X: Any, n_features: int) -> SequenceArray:
        found = read(X, Hashed(n_features), self.separator, float_dtype(self.dtype))
        return SequenceArray(_rows(found, n_features), found.offsets)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = True
        tags.input_tags.string = True
        tags.requires_fit = self.n_features is None
        return tags


def float_dtype(dtype: Any) -> Any:
    """The scalar type float32 or float64."""
    kind = np.dtype(dtype).type
    if kind not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype!r}")
    return kind


def _reorder(names: dict[str, int], order: np.ndarray) -> dict[str, int]:
    """The names in another order, which mostly is their own."""
    if len(order) == len(names) and np.array_equal(order, np.arange(len(order))):
        return dict(names)
    by_code = list(names)
    return {by_code[old]: new for new, old in enumerate(order.tolist())}


def _rows(found: Attributes, n_columns: int) -> sp.csr_array:
    """The tokens as canonical CSR rows; takes over the arrays of `found`."""
    indptr = np.concatenate([[0], np.cumsum(found.counts)])
    columns, values = found.columns, found.values
    if np.max(found.counts, initial=0) > _SHORT_ROW:
        return _long_rows(found, n_columns)
    n_stored = canonical_rows(indptr, columns, values)
    if n_stored < len(columns):
        columns, values = columns[:n_stored].copy(), values[:n_stored].copy()
    return canonical_csr(values, columns, indptr, n_columns)


def _long_rows(found: Attributes, n_columns: int) -> sp.csr_array:
    """The same by scipy's sorting, for tokens with very many attributes."""
    kept = found.columns >= 0
    rows = np.repeat(np.arange(len(found.counts)), found.counts)[kept]
    shape = len(found.counts), n_columns
    tokens = sp.coo_array((found.values[kept], (rows, found.columns[kept])), shape=shape).tocsr()
    tokens.eliminate_zeros()
    tokens.sort_indices()
    return canonical_csr(tokens.data, tokens.indices.astype(np.int32), tokens.indptr, n_columns)


def canonical_csr(values: np.ndarray, columns: np.ndarray, indptr: np.ndarray, n_columns: int) -> sp.csr_array:
    """A CSR array of rows that are sorted and without duplicates.

    scipy keeps both index arrays in one type, so `indptr` gets that of the columns wherever it fits.
    """
    if indptr[-1] <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    tokens = sp.csr_array((values, columns, indptr), shape=(len(indptr) - 1, n_columns))
    tokens.has_canonical_format = True
    return tokens


def _drop_rare(tokens: sp.csr_array, min_frequency: int) -> tuple[sp.csr_array, np.ndarray]:
    """The columns stored at least `min_frequency` times, and a mask of them."""
    kept = np.bincount(tokens.indices, minlength=tokens.shape[1]) >= min_frequency
    if kept.all():
        return tokens, kept
    new = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    stays = kept[tokens.indices]
    indptr = np.concatenate([[0], np.cumsum(stays)])[tokens.indptr]
    columns = new[tokens.indices[stays]]
    return canonical_csr(tokens.data[stays], columns, indptr, int(kept.sum())), kept


@kernel
def renumber(columns, values, order):
    """Number columns by first appearance with a non-zero value, in place; ``order[new] = old``, returns their number.

    Occurrences with value zero become -1.
    """
    new = np.full(len(order), -1, np.int32)
    n = 0
    for p in range(len(columns)):
        old = columns[p]
        if old < 0 or values[p] == 0:
            columns[p] = -1
            continue
        if new[old] < 0:
            new[old] = n
            order[n] = old
            n += 1
        columns[p] = new[old]
    return n


@kernel
def canonical_rows(indptr, columns, values):
    """Sort each row by insertion, add up duplicates, drop column -1 and zeros, all in place; entries left."""
    stop, first = 0, 0  # entries before `stop` are done, those of the present row start at `first`
    for row in range(len(indptr) - 1):
        last = indptr[row + 1]
        begin = stop
        for p in range(first, last):
            column, value = columns[p], values[p]
            if column < 0 or value == 0:
                continue
            q = stop
            while q > begin and columns[q - 1] > column:
                q -= 1
            if q > begin and columns[q - 1] == column:
                values[q - 1] += value
                continue
            for r in range(stop, q, -1):
                columns[r] = columns[r - 1]
                values[r] = values[r - 1]
            columns[q] = column
            values[q] = value
            stop += 1
        kept = begin
        for p in range(begin, stop):
            if values[p] != 0:
                columns[kept] = columns[p]
                values[kept] = values[p]
                kept += 1
        stop = kept
        indptr[row + 1] = stop
        first = last
    return stop
