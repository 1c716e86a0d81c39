"""The numbers of neighbouring tokens as features of a token."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from sklearn_struct._doc_link import DocLink
from sklearn_struct._whole_fits import Published
from sklearn_struct.containers.memory_checks import reserve
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.typing import Matrix, SequenceInput
from sklearn_struct.encoding.sequences import as_dtype, as_list, check_numbers, form, pack_arrays
from sklearn_struct.exceptions import EmptyDataError, InputTypeError, LengthMismatchError

__all__ = ["Learned", "TokenWindows", "Window", "learn", "learned"]


class Window(NamedTuple):
    """Which neighbours count, and what stands for those beyond an end."""

    offsets: tuple[int, ...]
    padding: str
    indicator: bool

    @property
    def beside(self) -> tuple[int, ...]:
        """The offsets that may be beyond an end and are told; none without the indicator."""
        return tuple(d for d in self.offsets if d) if self.indicator else ()


class Learned(NamedTuple):
    """What a fit learns: a window, how many columns X has, and their names in any form, or None."""

    window: Window
    n_features: int
    names: Any


class TokenWindows(DocLink, Published, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Give each token the numbers of its neighbours, too.

    The features of a token are its own columns and those of the tokens at some offsets from it, in
    the same sequence. Use it for signals and embeddings. For words, `FeatureTemplates` do the same.

    Read more in :doc:`/user_guide/sequence_data`.

    Parameters
    ----------
    offsets : list of int, default=(-2, -1, 0, 1, 2)
        Which tokens: 0 is the token itself, -1 the one before, 1 the next one.
    padding : {"zeros", "edge"}, default="zeros"
        What stands for a token beyond an end of the sequence: zeros, or the first or last token.
    indicator : bool, default=False
        Add a column for each offset but 0. It is 1 where the token at this offset is beyond an end,
        else 0.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X.
    n_features_out_ : int
        Number of columns of the result.

    See Also
    --------
    FeatureTemplates : Combines columns of words at neighbouring tokens.
    TokenTransformer : Applies a scikit-learn transformer to each token.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct import TokenWindows
    >>> X = [np.array([[1.0], [2.0], [3.0]]), np.array([[4.0]])]
    >>> windows = TokenWindows(offsets=[-1, 0, 1])
    >>> windows.fit_transform(X)[0]
    array([[0., 1., 2.],
           [1., 2., 3.],
           [2., 3., 0.]])
    >>> windows.get_feature_names_out().tolist()
    ['x0[-1]', 'x0[0]', 'x0[1]']
    >>> TokenWindows(offsets=[-1, 0], padding="edge").fit_transform(X)[0]
    array([[1., 1.],
           [1., 2.],
           [2., 3.]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        # checked by _read_offsets, which knows what is in it
        "offsets": "no_validation",
        "padding": [StrOptions({"zeros", "edge"})],
        "indicator": ["boolean"],
    }

    def __init__(
        self,
        offsets: Iterable[int] = (-2, -1, 0, 1, 2),
        padding: str = "zeros",
        indicator: bool = False,
    ) -> None:
        self.offsets = offsets
        self.padding = padding
        self.indicator = indicator

    def fit(self, X: SequenceInput, y: object = None) -> TokenWindows:
        """Learn how many columns X has, and their names.

        Parameters
        ----------
        X : list of 2-D arrays, list of sparse matrices, 3-D array or SequenceArray
            The numbers of the tokens of each sequence.
        y : None
            Ignored.

        Returns
        -------
        self : TokenWindows

        Raises
        ------
        InputTypeError
            If X holds something else than sequences of rows of numbers.
        NonFiniteError
            If a number is NaN or infinite.
        EmptyDataError
            If X has no tokens.
        ValueError
            If `offsets` are not different whole numbers.
        """
        self._learn(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: SequenceInput, y: object = None) -> SequenceArray:
        """Learn how many columns X has, and give each token those of its neighbours.

        Parameters
        ----------
        X, y
            As for `fit`.

        Returns
        -------
        windows : SequenceArray
            The same sequences with all columns at the first offset, then at the second, and so on;
            the columns of the indicator come last. It is sparse if X is, or if a part of X is.
        """
        packed = self._learn(X)
        return self._windows_of(packed)

    @_fit_context(prefer_skip_nested_validation=True)
    def _learn(self, X: SequenceInput) -> SequenceArray:
        window = Window(_read_offsets(self.offsets), self.padding, bool(self.indicator))
        packed = _packed(X)
        if packed.stored.shape[0] == 0:
            raise EmptyDataError("X has no tokens to learn from")
        learn(self, Learned(window, packed.stored.shape[1], packed.names))
        return packed

    def transform(self, X: SequenceInput) -> SequenceArray:
        """Give each token the columns of its neighbours.

        Parameters
        ----------
        X
            As for `fit`.

        Returns
        -------
        windows : SequenceArray
            As by `fit_transform`.

        Raises
        ------
        NotFittedError
            If `fit` has not been called.
        InputTypeError, NonFiniteError
            As by `fit`.
        LengthMismatchError
            If X has another number of columns than in `fit`.
        """
        check_is_fitted(self)
        packed = _packed(X)
        n_features = packed.stored.shape[1]
        if packed.stored.shape[0] == 0:
            none = np.empty((0, self.n_features_out_))
            return SequenceArray(none, packed.offsets, self._names())
        if n_features != self.n_features_in_:
            raise LengthMismatchError(
                f"X has {n_features} features, but TokenWindows is expecting {self.n_features_in_} "
                "features as input"
            )
        return self._windows_of(packed)

    def _windows_of(self, packed: SequenceArray) -> SequenceArray:
        window = self._window
        tokens: Matrix = packed.tokens
        n = tokens.shape[0]
        if isinstance(tokens, np.ndarray):
            reserve(n * self.n_features_out_ * tokens.itemsize, "windows of so many columns")
        blocks: list[Matrix] = []
        outside: list[np.ndarray] = []
        for offset in window.offsets:
            at, beyond = _neighbours(packed.offsets, offset)
            blocks.append(_rows(tokens, at, beyond if window.padding == "zeros" else None))
            if offset:
                outside.append(beyond)
        if window.beside:
            told = np.stack(outside, axis=1).astype(tokens.dtype)
            blocks.append(told if isinstance(tokens, np.ndarray) else sp.csr_array(told))
        joined: Matrix = (
            np.hstack(blocks)
            if isinstance(tokens, np.ndarray)
            else sp.csr_array(sp.hstack(blocks, format="csr"))
        )
        return SequenceArray(joined, packed.offsets, self._names())

    def _names(self) -> _Names:
        return _Names(self._names_in, self.n_features_in_, self._window)

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Names of the columns: that of the column of X, and the offset.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns of X; by default those that X had in `fit`, or ``x0``, ``x1`` and
            so on.

        Returns
        -------
        names : ndarray of str objects, shape ``(n_features_out_,)``
            Such as ``x0[-1]``. The columns of the indicator are called ``outside[-1]`` and so on.
        """
        check_is_fitted(self)
        names = self._names()
        if input_features is not None:
            given = np.asarray(input_features, dtype=object)
            if given.shape != (self.n_features_in_,):
                raise ValueError(
                    f"input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {given.size}"
                )
            names = _Names(given, self.n_features_in_, self._window)
        return names()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.sparse = True
        return tags


def learned(windows: TokenWindows) -> Learned:
    """What fitted windows have learned."""
    return Learned(windows._window, int(windows.n_features_in_), windows._names_in)


def learn(windows: TokenWindows, what: Learned) -> None:
    """Replace what was learned before."""
    window, n_features, names = what
    windows._window = window
    windows._names_in = names
    windows.n_features_in_ = n_features
    windows.n_features_out_ = n_features * len(window.offsets) + len(window.beside)


def _read_offsets(offsets: Any) -> tuple[int, ...]:
    """The parameter as a tuple of different numbers."""
    if isinstance(offsets, str | bytes | dict) or not isinstance(offsets, Iterable):
        raise InputTypeError(f"offsets must be a list of whole numbers, got {offsets!r}")
    if not hasattr(offsets, "__len__"):
        # a copy, or a second fit, would find an iterator empty
        kind = type(offsets).__name__
        raise InputTypeError(f"offsets must be a list of whole numbers, got {kind}")
    read = list(offsets)
    for offset in read:
        if not isinstance(offset, Integral) or isinstance(offset, bool | np.timedelta64):
            raise InputTypeError(f"offsets must be whole numbers, got {offset!r}")
    numbers = tuple(int(offset) for offset in read)
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"offsets must be different numbers, at least one, got {list(numbers)}")
    return numbers


def _packed(X: SequenceInput) -> SequenceArray:
    """The numbers of X; of the float type that all of X has, else of float64."""
    X = as_list(X)
    kind = form(X)
    if kind == "flat":
        raise InputTypeError(
            "X has two dimensions, so that each row is a sequence of one token, without "
            "neighbours: [X] is one sequence, and SequenceArray.from_flat(X, lengths) several"
        )
    if kind == "attributes":
        raise InputTypeError(
            "the tokens of X must be rows of numbers: SequenceVectorizer makes numbers of dicts "
            "and strings, and FeatureTemplates have offsets of their own"
        )
    single = not isinstance(X, SequenceArray) and all(
        getattr(x, "dtype", None) == np.float32 for x in X
    )
    packed = X if isinstance(X, SequenceArray) else pack_arrays(X, np.float64)
    if isinstance(X, SequenceArray):
        stored = packed.stored
        if stored.ndim != 2 or stored.dtype.kind not in "fiub":
            raise InputTypeError(
                f"the tokens of X must be rows of real numbers, got dtype {stored.dtype}"
            )
        single = stored.dtype == np.float32
    packed = as_dtype(packed, np.float32 if single else np.float64)
    check_numbers(packed)
    return packed


def _neighbours(offsets: np.ndarray, offset: int) -> tuple[np.ndarray, np.ndarray]:
    """For each token the one at an offset, or the nearest in its sequence; whether there is none at
    the offset itself.
    """
    lengths = np.diff(offsets)
    first = np.repeat(offsets[:-1], lengths)
    last = np.repeat(offsets[1:] - 1, lengths)
    n = len(first)
    # further away than all tokens there are is the same, and fits a number of numpy's
    wanted = np.arange(n) + max(min(offset, n), -n)
    at = np.clip(wanted, first, last)
    return at, at != wanted


def _rows(tokens: Matrix, at: np.ndarray, zeros: np.ndarray | None) -> Matrix:
    """Some rows; those that are `zeros` are empty."""
    if isinstance(tokens, np.ndarray):
        rows: np.ndarray = tokens[at]
        if zeros is not None:
            rows[zeros] = 0
        return rows
    if zeros is None:
        return sp.csr_array(tokens[at])
    # one more row, which is empty
    n, width = tokens.shape
    indptr = np.append(tokens.indptr, tokens.indptr[-1])
    longer = sp.csr_array((tokens.data, tokens.indices, indptr), shape=(n + 1, width))
    return sp.csr_array(longer[np.where(zeros, n, at)])


class _Names:
    """Names of the columns, spelt out by a call; two of equal names and windows are equal without
    one.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, names: Any, n_features: int, window: Window) -> None:
        self.names = names
        self.n_features = n_features
        self.window = window

    def __call__(self) -> np.ndarray:
        names = self.names() if callable(self.names) else self.names
        if names is None:
            names = [f"x{j}" for j in range(self.n_features)]
        spelt = [f"{name}[{d}]" for d in self.window.offsets for name in names]
        spelt += [f"outside[{d}]" for d in self.window.beside]
        return np.array(spelt, dtype=object)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Names):
            return False
        if (self.n_features, self.window) != (other.n_features, other.window):
            return False
        same = self.names is other.names or (callable(self.names) and self.names == other.names)
        return bool(same) or np.array_equal(self(), other())
