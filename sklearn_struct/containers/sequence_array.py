"""A packed ragged array: the public face of a batch of sequences."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from sklearn_struct.containers.data_frames import (
    is_frame,
    names_of,
    refuse_lazy,
    refuse_masked,
    runs,
    table,
)
from sklearn_struct.containers.one_dimensional import OneDimensional
from sklearn_struct.containers.ragged import bounds
from sklearn_struct.containers.repeated_ones import rows_of, written_out
from sklearn_struct.containers.sparse_and_dense import SparseAndDense, stacked
from sklearn_struct.containers.sparse_input import as_csr
from sklearn_struct.containers.typing import Frame
from sklearn_struct.exceptions import InputTypeError

__all__ = ["SequenceArray", "sequence_array"]


class SequenceArray(OneDimensional):
    """A one-dimensional array of sequences, stored as one token array and offsets.

    It slices, concatenates and splits like an array of length ``n_sequences``, so scikit-learn's
    splitters and searches take it as X or as y, while the tokens stay in one block of memory.

    Read more in :doc:`/user_guide/sequences`.

    Parameters
    ----------
    tokens : ndarray of shape (n_tokens, n_features) or (n_tokens,), or sparse matrix
        The tokens of all sequences, one sequence after the other. One-dimensional tokens are
        labels.
    offsets : array-like of int, shape (n_sequences + 1,)
        Sequence i holds the tokens ``offsets[i]:offsets[i + 1]``. Starts at 0, never decreases,
        ends at n_tokens.
    feature_names : array-like of str, shape (n_features,), or callable, default=None
        Names of the columns of `tokens`. A function without arguments is called when names are
        first asked for.

    Raises
    ------
    ValueError
        If `offsets` or `feature_names` do not fit `tokens`, or if a sparse matrix has indices that
        lead out of it.

    See Also
    --------
    SequenceVectorizer : Makes one from dicts or strings.
    FeatureTemplates : Makes one from rows, by templates.
    GraphArray : The same for graphs.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct import SequenceArray
    >>> X = SequenceArray(np.eye(5), [0, 2, 5])
    >>> X
    SequenceArray(n_sequences=2, n_tokens=5, n_features=5)
    >>> X[1].shape
    (3, 5)
    >>> len(X[[1, 0, 1]])
    3
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        tokens: ArrayLike | sp.sparray | SparseAndDense,
        offsets: ArrayLike,
        feature_names: ArrayLike | Callable[[], ArrayLike] | None = None,
    ) -> None:
        # what readers of large X take; of embeddings, or ones in few bytes, `tokens` is a copy
        self.stored: Any = tokens
        if sp.issparse(tokens):
            self.stored = as_csr(tokens, "tokens")
        elif not isinstance(tokens, SparseAndDense):
            refuse_masked(tokens, "tokens")
            self.stored = np.asarray(tokens)
        self._matrix: sp.csr_array | None = None
        self.offsets = ends = np.asarray(offsets).astype(np.int64)
        if not np.array_equal(ends, offsets):
            raise ValueError("offsets must be whole numbers")
        self.names: Any = feature_names
        if self.stored.ndim not in (1, 2):
            raise ValueError(f"tokens must have one or two dimensions, got {self.stored.ndim}")
        n_tokens = self.stored.shape[0]
        if ends.ndim != 1 or len(ends) == 0 or ends[0] != 0 or np.any(ends[1:] < ends[:-1]):
            raise ValueError("offsets must be one-dimensional, start at 0 and never decrease")
        if ends[-1] != n_tokens:
            raise ValueError(f"offsets end at {ends[-1]}, but there are {n_tokens} tokens")
        if not callable(feature_names):
            self._check_names()

    @property
    def tokens(self) -> Any:
        """The tokens of all sequences: an ndarray or a csr_array."""
        # kept, as who asks once will ask again; nothing that fits or predicts chains asks
        if isinstance(self.stored, SparseAndDense) and self._matrix is None:
            self._matrix = self.stored.tocsr()
        elif sp.issparse(self.stored):
            self.stored = written_out(self.stored)
        return self.stored if self._matrix is None else self._matrix

    @property
    def feature_names(self) -> np.ndarray | None:
        """Names of the columns, or None."""
        if callable(self.names):
            self.names = self.names()
            self._check_names()
        names: np.ndarray | None = self.names
        return names

    def _check_names(self) -> None:
        if self.names is not None:
            self.names = np.asarray(self.names, dtype=object)
            if self.names.shape != self.stored.shape[1:]:
                raise ValueError(
                    f"{self.names.size} feature names for tokens of shape {self.stored.shape}"
                )

    @classmethod
    def from_sequences(
        cls,
        sequences: Sequence[Any],
        feature_names: ArrayLike | Callable[[], ArrayLike] | None = None,
    ) -> SequenceArray:
        """Pack a list of 2-D arrays, of sparse matrices, or of label lists.

        Parameters
        ----------
        sequences : list of arrays, of sparse matrices or of lists of labels
            The tokens of each sequence.
        feature_names : array-like of str, shape (n_features,), or callable, default=None
            As in the constructor.

        Returns
        -------
        SequenceArray

        Examples
        --------
        >>> SequenceArray.from_sequences([["B", "O"], ["O"]])
        SequenceArray(n_sequences=2, n_tokens=3)
        """
        if any(sp.issparse(sequence) for sequence in sequences):
            parts = [
                as_csr(sequence, f"X[{i}]") if sp.issparse(sequence) else sp.csr_array(sequence)
                for i, sequence in enumerate(sequences)
            ]
            return cls(
                sp.vstack(parts, format="csr"),
                bounds([part.shape[0] for part in parts]),
                feature_names,
            )
        parts = [np.asarray(sequence) for sequence in sequences]
        offsets = bounds([len(part) for part in parts])
        # an empty list has neither columns nor a type to agree on
        filled = [part for part in parts if len(part)] or parts[:1]
        return cls(np.concatenate(filled) if filled else np.empty(0), offsets, feature_names)

    @classmethod
    def from_flat(cls, X: Any, lengths: Any, feature_names: Any = None) -> SequenceArray:
        """Cut one matrix, or one list of labels, into sequences of given lengths.

        Parameters
        ----------
        X : array-like of shape (n_tokens, n_features) or (n_tokens,), or sparse matrix
            The tokens of all sequences, one sequence after the other; a data frame gives its column
            names.
        lengths : array-like of int, shape (n_sequences,)
            How many tokens each sequence has.
        feature_names : array-like of str, shape (n_features,), default=None
            Names of the columns, in the place of those of a data frame.

        Returns
        -------
        SequenceArray

        Raises
        ------
        ValueError
            If `lengths` are not whole numbers that sum to the number of tokens.
        InputTypeError
            If `X` is a LazyFrame (``X.collect()`` runs it), or has masked values.

        Examples
        --------
        >>> SequenceArray.from_flat([[0.5], [1.0], [0.1]], lengths=[1, 2])
        SequenceArray(n_sequences=2, n_tokens=3, n_features=1)
        """
        sizes = np.asarray(lengths)
        if sizes.ndim != 1 or (sizes.size and (sizes.dtype.kind not in "iu" or np.any(sizes < 0))):
            raise ValueError("lengths must be a list of whole numbers, none below 0")
        refuse_lazy(X, "X")
        refuse_masked(X, "X")
        if feature_names is None and is_frame(X):
            feature_names = names_of(X)
        tokens = X if sp.issparse(X) else np.asarray(X)
        if tokens.ndim == 0:
            raise ValueError(f"X must be a matrix or a list of labels, got {X!r}")
        if sum(sizes.tolist()) != tokens.shape[0]:  # of Python's numbers, which do not overflow
            raise ValueError(
                f"lengths sum to {sum(sizes.tolist())}, but there are {tokens.shape[0]} tokens"
            )
        return cls(tokens, bounds(sizes), feature_names)

    @classmethod
    def from_3d(
        cls, X: Any, layout: str = "ntc", feature_names: ArrayLike | None = None
    ) -> SequenceArray:
        """Read series of numbers whose layout you say: time first, or channels first.

        Estimators take an array (n, time, channels) as it is; without labels, a hidden Markov model
        refuses it. Other packages, such as aeon, have arrays (n, channels, time).

        Parameters
        ----------
        X : array-like of shape (n_sequences, n_tokens, n_features), or list of 2-D arrays
            Each series is a 2-D array. Those of a list may have different lengths.
        layout : {"ntc", "nct"}, default="ntc"
            "ntc": series have the shape (time, channels). "nct": they have the shape (channels,
            time), as in aeon. A channel is a column of the tokens.
        feature_names : array-like of str, shape (n_features,), default=None
            Names of the channels.

        Returns
        -------
        SequenceArray

        Raises
        ------
        ValueError
            If `layout` is another one, or the series have different numbers of channels.
        InputTypeError
            If X is no array of three dimensions, nor a list of arrays of two, or has masked values.

        Examples
        --------
        >>> import numpy as np
        >>> X = np.zeros((8, 2, 100))  # 8 series of 2 channels, 100 steps long
        >>> SequenceArray.from_3d(X, layout="nct")
        SequenceArray(n_sequences=8, n_tokens=800, n_features=2)
        """
        if layout not in ("ntc", "nct"):
            raise ValueError(f'layout must be "ntc" or "nct", got {layout!r}')
        if getattr(X, "ndim", 3) != 3 or not isinstance(X, Iterable):
            got = getattr(X, "ndim", type(X).__name__)
            raise InputTypeError(f"X must have three dimensions, got {got}")
        if layout == "ntc" and isinstance(X, np.ndarray) and 0 not in X.shape:
            refuse_masked(X, "X")
            offsets = X.shape[1] * np.arange(len(X) + 1)  # and tokens in the memory of X
            return cls(np.asarray(X).reshape(-1, X.shape[2]), offsets, feature_names)
        parts: list[np.ndarray] = []
        for i, series in enumerate(X):
            refuse_masked(series, "X")
            part = np.asarray(series)
            if part.ndim != 2:
                raise InputTypeError(f"X[{i}] must be a 2-D array, got {part.ndim} dimensions")
            parts.append(part.T if layout == "nct" else part)
        widths = [part.shape[1] for part in parts]
        for i, width in enumerate(widths):
            if width != widths[0]:
                raise ValueError(f"X[{i}] has {width} channels, X[0] has {widths[0]}")
        return cls.from_sequences(parts, feature_names)

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        group: Hashable | list[Hashable],
        columns: Hashable | Sequence[Hashable] | None = None,
    ) -> SequenceArray:
        """Read a table with a row for each token, and a column that names its sequence.

        Sequences and tokens keep their order. The rows of a sequence must follow each other: if
        they do not, that is an error, as two sequences may have got the same name.

        Parameters
        ----------
        frame : DataFrame of pandas or polars
        group : column name, or list of column names
            What names the sequence of a row; several columns where one alone does not tell
            sequences apart.
        columns : column name, or list of column names, default=None
            A single name gives labels, for y. A list, or None for all but `group`, gives features:
            numbers if all of the columns are, else objects, which `LinearChainCRF` and
            `SequenceVectorizer` read as dicts ``{column: value}`` and `FeatureTemplates` as rows.

        Returns
        -------
        SequenceArray

        Raises
        ------
        ValueError
            With the row, if a name is missing or comes again after other ones; or if there is no
            such column.
        InputTypeError
            If `frame` is a LazyFrame: ``frame.collect()`` runs it.

        Examples
        --------
        >>> import pandas as pd
        >>> words = ["It", "rains", "Why"]
        >>> tags = ["PRP", "VBZ", "WRB"]
        >>> frame = pd.DataFrame({"sentence": [7, 7, 3], "word": words, "tag": tags})
        >>> X = SequenceArray.from_frame(frame, "sentence", ["word"])
        >>> y = SequenceArray.from_frame(frame, "sentence", "tag")
        >>> X
        SequenceArray(n_sequences=2, n_tokens=3, n_features=1)
        >>> [labels.tolist() for labels in y]
        [['PRP', 'VBZ'], ['WRB']]
        """
        refuse_lazy(frame, "frame")
        if not (is_frame(frame) and hasattr(frame, "to_numpy")):
            kind = type(frame).__name__
            raise ValueError(f"frame must be a data frame of pandas or polars, got {kind}")
        # raises where a name occurs twice
        names_of(frame)
        groups = group if isinstance(group, list) else [group]
        wanted = [c for c in frame.columns if c not in groups] if columns is None else columns
        wanted = wanted.tolist() if hasattr(wanted, "tolist") else wanted  # an index of columns
        for column in [*groups, *(wanted if isinstance(wanted, list) else [wanted])]:
            if column not in frame.columns:
                raise ValueError(f"the frame has no column {column!r}")
        offsets = runs(frame, groups)
        if not isinstance(wanted, list):
            return cls(frame[wanted].to_numpy(), offsets)
        return cls(table(frame, wanted), offsets, list(map(str, wanted)))

    @property
    def lengths(self) -> np.ndarray:
        """Number of tokens of each sequence."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def _one(self, i: int) -> Any:
        tokens = self.stored[self.offsets[i] : self.offsets[i + 1]]
        rows = tokens.tocsr() if isinstance(tokens, SparseAndDense) else tokens
        return written_out(rows) if sp.issparse(rows) else rows

    def _several(self, chosen: np.ndarray, consecutive: bool) -> SequenceArray:
        lengths = self.lengths[chosen]
        offsets = bounds(lengths)
        # a view: consecutive sequences share their tokens' memory
        if consecutive:
            first = self.offsets[chosen[0]] if len(chosen) else 0
            tokens = self.stored[first : first + offsets[-1]]
        else:
            rows = np.repeat(self.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
            tokens = rows_of(self.stored, rows) if sp.issparse(self.stored) else self.stored[rows]
        return SequenceArray(tokens, offsets, self.names)

    @classmethod
    def _joined(cls, arrays: Sequence[Any]) -> SequenceArray:
        parts = [
            part if isinstance(part, SequenceArray) else SequenceArray.from_sequences(part)
            for part in arrays
        ]
        offsets = bounds(np.concatenate([part.lengths for part in parts]))
        return SequenceArray(stacked([part.stored for part in parts]), offsets, parts[0].names)

    def __eq__(self, other: object) -> bool:
        """Whether both hold the same sequences, value by value."""
        if not isinstance(other, SequenceArray):
            return NotImplemented
        if (
            not np.array_equal(self.offsets, other.offsets)
            or self.stored.shape != other.stored.shape
        ):
            return False
        if sp.issparse(self.tokens) or sp.issparse(other.tokens):
            return bool((sp.csr_array(self.tokens) != sp.csr_array(other.tokens)).nnz == 0)
        return bool(np.array_equal(self.tokens, other.tokens))

    def __repr__(self) -> str:
        n_tokens, *n_features = self.stored.shape
        features = f", n_features={n_features[0]}" if n_features else ""
        return f"SequenceArray(n_sequences={len(self)}, n_tokens={n_tokens}{features})"


def sequence_array(stored: Any, offsets: np.ndarray, names: Any = None) -> SequenceArray:
    """A SequenceArray of what was just made: nothing is checked. Names are callable, or None."""
    made = object.__new__(SequenceArray)
    made.__dict__ = {"stored": stored, "_matrix": None, "offsets": offsets, "names": names}
    return made
