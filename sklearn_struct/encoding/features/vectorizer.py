"""Dicts and strings to columns of numbers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import compress
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from sklearn_struct._doc_link import DocLink
from sklearn_struct._warning import warn
from sklearn_struct._whole_fits import Published
from sklearn_struct.containers.sequence_array import SequenceArray, sequence_array
from sklearn_struct.containers.sparse_and_dense import SparseAndDense
from sklearn_struct.encoding.features.attribute_reader import Attributes, read
from sklearn_struct.encoding.features.attribute_rows import (
    drop_rare,
    frequent,
    hashed,
    rows,
    with_columns,
)
from sklearn_struct.encoding.features.embeddings import (
    NamesWithNumbers,
    dense,
    numbered,
    with_numbers,
)
from sklearn_struct.encoding.features.string_numbers import Names
from sklearn_struct.encoding.features.token_attributes import FloatType
from sklearn_struct.encoding.parameter_checks import check_as_fitted, check_params
from sklearn_struct.exceptions import EmptyDataError

__all__ = ["SequenceVectorizer", "float_dtype"]


class SequenceVectorizer(
    DocLink, Published, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """Turn sequences of dicts or strings into a SequenceArray with sparse tokens.

    A token is a dict of features, a string, or a list, tuple or set of strings. Its attributes are
    named as CRFsuite's Python binding names them:

    ===================================  ==========================
    in the token                         attribute: value
    ===================================  ==========================
    ``"a"`` (a string, or one of many)   ``a``: 1
    ``{"k": 2.5}``                       ``k``: 2.5
    ``{"k": True}``, ``{"k": False}``    ``k``: 1, ``k``: 0
    ``{"k": "v"}``                       ``k:v``: 1
    ``{"k": ["v", "w"]}`` or a set       ``k:v``: 1, ``k:w``: 1
    ``{"k": {"j": 2.5}}``                ``k:j``: 2.5
    ``{"k": np.array([0.5, -1.0])}``     ``k:0``: 0.5, ``k:1``: -1
    ``{"k": [0.5, -1.0]}``               ``k:0``: 0.5, ``k:1``: -1
    ===================================  ==========================

    Zeros are not stored unless `keep_zeros` says so. An attribute that occurs several times in one
    token counts with its sum.

    The last two rows are embeddings: one-dimensional arrays of floats, or lists of numbers of which
    at least one is a float. Their columns come after all others, and are stored as a dense array,
    which a model multiplies as one. All embeddings of a key have the same length. A token without
    the key has zeros. A list of whole numbers alone is an error, since it may also mean names:
    write it with floats or with strings.

    Read more in :doc:`/user_guide/sequences`.

    Parameters
    ----------
    min_frequency : int, default=1
        Attributes stored in fewer tokens of the training data are dropped, and so are embeddings
        whose key is in fewer tokens.
    n_features : int, default=None
        Hash names into this many columns instead of learning a vocabulary. It saves memory, and
        `transform` needs no `fit`. But columns have no names, and different attributes may share
        one.
    separator : str, default=":"
        Stands between the parts of a name.
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        Type of the values.
    keep_zeros : bool, default=False
        Store values of 0 and False, too, as CRFsuite does. A zero adds nothing to a score. But with
        ``feature_pairs="observed"`` a feature gets a weight for each label with which it is stored.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        The column of each attribute, in the order of first appearance (elements of a set are read
        in sorted order), then those of embeddings. Not there with hashing.
    embedding_lengths_ : dict of str to int
        How many columns the embeddings of each key have. With hashing it is empty.
    n_features_out_ : int
        Number of columns.

    See Also
    --------
    FeatureTemplates : Much quicker where attributes are combinations of the columns of a table.
    SequenceUnion : Puts the features of several transformers side by side.

    Examples
    --------
    >>> from sklearn_struct import SequenceVectorizer
    >>> X = [[{"word": "I", "upper": True}, {"word": "sleep", "upper": False}],
    ...      [{"word": "sleep"}]]
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "min_frequency": [Interval(Integral, 1, None, closed="left")],
        "n_features": [None, Interval(Integral, 1, 2**31 - 1, closed="both")],
        "separator": [str],
        "keep_zeros": ["boolean"],
        # checked by float_dtype, which knows all the ways to name a dtype
        "dtype": "no_validation",
    }

    def __init__(
        self,
        min_frequency: int = 1,
        n_features: int | None = None,
        separator: str = ":",
        dtype: DTypeLike = np.float64,
        keep_zeros: bool = False,
    ) -> None:
        self.min_frequency = min_frequency
        self.n_features = n_features
        self.separator = separator
        self.dtype = dtype
        self.keep_zeros = keep_zeros

    def fit(self, X: Iterable[Any], y: object = None) -> SequenceVectorizer:
        """Learn the vocabulary. With hashing there is none, and X is not read.

        Parameters
        ----------
        X : iterable of sequences
            A sequence is a list or tuple of tokens. A generator is read once, a few sequences at a
            time.
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
        LengthMismatchError
            If two embeddings of a key have different lengths.
        ValueError
            If an attribute has the name of a column of an embedding.
        EmptyDataError
            If X has no tokens.
        """
        # hashing learns nothing, so X need not be read
        self.fit_transform(X if self.n_features is None else ())
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Iterable[Any], y: object = None) -> SequenceArray:
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
            The tokens of X. Its ``tokens`` are a CSR array of shape ``(n_tokens,
            n_features_out_)``.
        """
        dtype = float_dtype(self.dtype)
        if self.n_features is not None:
            if self.min_frequency > 1:
                raise ValueError(
                    "min_frequency counts attributes, which hashing (n_features) does not do"
                )
            encoded = self._hash(X, self.n_features)
            self._learn(None)
            return encoded
        names, lengths, attributes, tokens = self._taken_in(X, dtype)
        # fewer values than were read: some summed to zero, and a column may have none left
        # names must be those of the columns that are left
        if self.min_frequency > 1 or tokens.nnz < np.count_nonzero(attributes.columns >= 0):
            tokens, kept = drop_rare(tokens, self.min_frequency)
            names = Names(list(compress(names, kept)))
        lengths = frequent(lengths, attributes, self.min_frequency)
        every = with_numbers(names, lengths, self.separator) if lengths else names
        self._learn(every, attributes.kind)
        return self._encoded(tokens, attributes)

    def _taken_in(
        self, X: Iterable[Any], dtype: FloatType
    ) -> tuple[Names, dict[str, int], Attributes, sp.csr_array]:
        """All names in X, how long embeddings are, what was read, and its rows."""
        names = Names()
        lengths: dict[str, int] = {}
        attributes = read(X, names.learn, self.separator, dtype, self.keep_zeros, lengths)
        if not len(attributes.counts):
            raise EmptyDataError("X has no tokens to learn from")
        return names, lengths, attributes, rows(attributes, len(names), self.keep_zeros)

    def transform(self, X: Iterable[Any]) -> SequenceArray:
        """Encode X. Attributes that are not in the vocabulary are ignored.

        Parameters
        ----------
        X : iterable of sequences
            As for `fit`.

        Returns
        -------
        encoded : SequenceArray
            As by `fit_transform`.

        Raises
        ------
        NotFittedError
            If there is no vocabulary yet.
        InputTypeError, NonFiniteError, LengthMismatchError
            As for `fit`; an embedding must have the length that it had there.
        ValueError
            If `n_features` or `separator` has been changed since `fit`, so that names would mean
            other columns.
        """
        check_params(self, "n_features", "separator", "keep_zeros")
        check_as_fitted(self, self.__dict__.get("_as_fitted", {}))
        if self.n_features is not None:
            return self._hash(X, self.n_features)
        # scikit-learn's check asks for all tags, which takes longer than to look here
        if "_names" not in vars(self):
            check_is_fitted(self, "_names")
        dtype = float_dtype(self.dtype)
        lengths = dict(self.embedding_lengths_)
        attributes = read(X, self._names.find, self.separator, dtype, self.keep_zeros, lengths)
        if attributes.kind == "strings" and getattr(self, "_tokens_in", None) == "lists":
            warn(
                "the tokens of X are strings, those that fit saw are lists of strings; if the "
                "lists in X are meant as tokens, one sequence of them is [X]"
            )
        n_columns = self.n_features_out_ - sum(self.embedding_lengths_.values())
        return self._encoded(rows(attributes, n_columns, self.keep_zeros), attributes)

    def _encoded(self, tokens: sp.csr_array, attributes: Attributes) -> SequenceArray:
        """The rows of attributes, beside what the tokens have as embeddings."""
        stored: Any = tokens
        if self.embedding_lengths_:
            beside = dense(
                attributes.embeddings, self.embedding_lengths_, tokens.shape[0], tokens.dtype
            )
            stored = SparseAndDense(tokens, beside)
        return sequence_array(stored, attributes.offsets, self._names)

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Names of the columns.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : ndarray of str objects, shape ``(n_features_out_,)``
            A read-only array. With hashing, columns only have numbers: ``sequencevectorizer0`` and
            so on.

        Raises
        ------
        NotFittedError
            If there is no vocabulary yet.
        """
        check_params(self, "n_features")
        check_as_fitted(self, self.__dict__.get("_as_fitted", {}))
        if self.n_features is not None:
            return np.array(
                [f"sequencevectorizer{j}" for j in range(self.n_features)], dtype=object
            )
        check_is_fitted(self, "_names")
        return self._names()

    @cached_property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each attribute, made when it is first asked for."""
        # of a vectorizer that hashes
        if "_names" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} has no vocabulary")
        return dict(zip(self._names().tolist(), range(self.n_features_out_)))

    def _learn(self, names: Names | NamesWithNumbers | None, tokens_in: str | None = None) -> None:
        """Replace what was learned before; with hashing there are no names.

        `tokens_in` is how tokens were written, a kind of `Attributes`.
        """
        for name in ("vocabulary_", "_names", "_tokens_in"):
            self.__dict__.pop(name, None)
        if names is not None:
            self._names = names
        if tokens_in is not None:
            self._tokens_in = tokens_in
        lengths = names.lengths if isinstance(names, NamesWithNumbers) else {}
        self.embedding_lengths_ = dict(lengths)
        self.n_features_out_ = int(self.n_features or 0) if names is None else len(names)
        self._as_fitted = {"n_features": self.n_features, "separator": self.separator}

    def _hash(self, X: Any, n_features: int) -> SequenceArray:
        names = Names()
        dtype = float_dtype(self.dtype)
        lengths: dict[str, int] = {}
        attributes = read(X, names.learn, self.separator, dtype, self.keep_zeros, lengths)
        columns = np.append(hashed(names, n_features), np.int32(-1))[attributes.columns]
        tokens = rows(attributes._replace(columns=columns), n_features, self.keep_zeros)
        if lengths:
            numbers = dense(attributes.embeddings, lengths, tokens.shape[0], dtype)
            places = hashed(numbered(lengths, self.separator), n_features)
            tokens = with_columns(tokens, numbers, places)
        return SequenceArray(tokens, attributes.offsets)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = True
        tags.input_tags.string = True
        tags.requires_fit = self.n_features is None
        return tags


def float_dtype(dtype: DTypeLike) -> FloatType:
    """The scalar type float32 or float64."""
    try:
        # np.dtype(np.float64(3)) is float64, too, though a number is no dtype
        kind = None if isinstance(dtype, np.generic) else np.dtype(dtype).type
    except (TypeError, ValueError):
        kind = None
    if kind is np.float32 or kind is np.float64:
        return kind
    raise ValueError(f"dtype must be float32 or float64, got {dtype!r}")
