"""Which form X has, and numeric sequences -> one token matrix with offsets.

Every error names its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from numbers import Number
from typing import Any, TypeGuard, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from sklearn_struct.containers.data_frames import is_frame, refuse_lazy
from sklearn_struct.containers.row_pieces import first_row
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.sparse_and_dense import SparseAndDense
from sklearn_struct.containers.sparse_input import check_csr
from sklearn_struct.containers.typing import Matrix, SequenceInput, Sequences
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
)

__all__ = [
    "as_dtype",
    "as_list",
    "check_numbers",
    "check_sequences",
    "form",
    "has_items",
    "is_list",
    "largest_sum",
    "pack_arrays",
    "refuse_frame",
]

# its fourth power is still a float
LEARNABLE = 1e75  # gradients hold products of values, and solvers the squares of these


_WANTED = (
    "X must be a list of sequences, each a list of tokens or a two-dimensional array, or one such "
    "array"
)
_ONE = "one sequence is [sentence], a list of one"


def as_list(X: SequenceInput) -> Sequences:
    """X as something that can be read twice: iterators and columns of data frames become lists.

    Anything else passes through, also what is no list; `form` and the readers refuse that.
    """
    if isinstance(X, Iterator) or (hasattr(X, "iloc") and len(getattr(X, "shape", ())) == 1):
        return list(X)
    return cast("Sequences", X)


def is_list(value: object) -> TypeGuard[Sequences]:
    """Whether a value may be a list of sequences, or a sequence: ordered items and a length."""
    kind = type(value)
    # of each of the thousands of lists of a corpus no more is asked
    return kind is list or kind is tuple or (has_items(value) and hasattr(value, "__len__"))


def has_items(value: object) -> TypeGuard[Iterable[Any]]:
    """Whether iterating over a value gives items in an order, as lists and iterators do."""
    # these can be iterated, but not as a list of tokens
    if isinstance(value, str | bytes | dict | set | frozenset) or sp.issparse(value):
        return False
    if is_frame(value):  # a frame gives the names of its columns, or the columns, but no rows
        return False
    return isinstance(value, Iterable) and getattr(value, "shape", None) != ()


def refuse_frame(X: object, name: str = "X", columns: str = "") -> None:
    """Raise InputTypeError for a data frame, of which only column names would be read.

    Errors call X `name`; `columns` is their text for a further argument of `from_frame`.
    """
    refuse_lazy(X, name)
    if is_frame(X):
        raise InputTypeError(
            f"{name} is a {type(X).__name__}: SequenceArray.from_frame({name}, group{columns}) "
            "makes sequences of a table that has a row for each token"
        )


def check_sequences(X: Iterable[object]) -> None:
    """Raise InputTypeError unless all items of X are lists, or the like."""
    for i, sequence in enumerate(X):
        if not is_list(sequence):
            raise InputTypeError(
                f"X[{i}] is a {type(sequence).__name__}, not a sequence of tokens: {_WANTED}"
            )


def form(X: object) -> str:
    """Tell how to read X.

    Returns
    -------
    str
        "packed" (a SequenceArray of numbers), "flat" (two-dimensional: a batch of sequences of
        length 1), "arrays" (a sequence is a 2-D array or sparse matrix), "attributes" (a token is a
        dict, a string or several strings) or "empty" (no token anywhere).

    Raises
    ------
    InputTypeError, EmptyDataError
    """
    if type(X) is list and X and _is_of_attributes(X[0]):
        return "attributes"
    refuse_lazy(X, "X")
    if isinstance(X, SequenceArray):
        return "attributes" if X.stored.dtype == object and X.names is not None else "packed"
    if isinstance(X, np.ndarray) and X.ndim == 3:
        return "arrays"
    if isinstance(X, np.generic) or getattr(X, "shape", None) == ():
        raise InputTypeError(f"X is a single {type(X).__name__}: {_WANTED}")
    # an array of another library may have no len(), but gives numpy's on request
    array_like = hasattr(X, "iloc") or (hasattr(X, "__array__") and not hasattr(X, "__len__"))
    if array_like or sp.issparse(X) or len(getattr(X, "shape", (1,))) != 1:
        return "flat"
    if not is_list(X):
        raise InputTypeError(
            f"X must be a batch of sequences or a two-dimensional array, got {type(X).__name__}"
        )
    if len(X) == 0:
        raise EmptyDataError("X has no sequences")
    # empty sequences show nothing, so the first one with tokens decides
    for i, sequence in enumerate(X):
        kind = _form_of_sequence(sequence, i)
        if kind == "flat":
            _check_rows(X, i)
        if kind:
            return kind
    return "empty"


def _is_of_attributes(sequence: object) -> bool:
    """Whether a sequence begins as those of attributes do, in plain lists: a single sentence does
    not wait for what other forms are asked.
    """
    if type(sequence) is not list or not sequence:
        return False
    token = sequence[0]
    kind = type(token)
    return kind is dict or kind is str or (kind is list and token and type(token[0]) is str)


def refuse_texts(X: object) -> None:
    """Raise InputTypeError if a two-dimensional X holds strings, where numbers are wanted."""
    table = np.asarray(X)
    if table.dtype.kind in "US" or (
        table.dtype == object and any(isinstance(v, str) for v in table.ravel())
    ):
        raise InputTypeError(
            "a two-dimensional X must hold numbers; give rows of values as sequences of one row: "
            "[[row], [row], ...]"
        )


def _check_rows(X: Sequences, first: int) -> None:
    """Raise unless all items of X are what item `first` looks like: numbers, or rows of numbers."""
    if isinstance(X[first], Number | np.generic):
        for i, number in enumerate(X):
            if not isinstance(number, Number | np.generic):
                raise InputTypeError(
                    f"X[{first}] is a number and X[{i}] a {type(number).__name__}: {_WANTED}"
                )
        return
    for i, row in enumerate(X):
        if not is_list(row):
            raise InputTypeError(
                f"X[{first}] is a row of numbers and X[{i}] a {type(row).__name__}: {_WANTED}"
            )
        for t, number in enumerate(row):
            if not isinstance(number, Number | np.generic):
                kind = type(number).__name__
                raise InputTypeError(
                    f"X[{first}] looks like a row of numbers and X[{i}], token {t}, is a {kind}: "
                    f"{_WANTED}"
                )
    for i, row in enumerate(X):
        if len(row) != len(X[first]):
            raise LengthMismatchError(
                f"X[{i}] has {len(row)} numbers but X[{first}] has {len(X[first])}"
            )


def _form_of_sequence(sequence: object, i: int) -> str | None:
    """The form that one sequence shows; None for an empty one."""
    if isinstance(sequence, Number | np.generic):
        return "flat"  # a one-dimensional X: scikit-learn's own message explains
    if sp.issparse(sequence) or len(getattr(sequence, "shape", (1,))) != 1:
        return "arrays"
    refuse_lazy(sequence, f"X[{i}]")
    if not is_list(sequence):
        hint = f"; {_ONE}" if isinstance(sequence, str) else ""
        raise InputTypeError(
            f"X[{i}] is a {type(sequence).__name__}, not a sequence of tokens: {_WANTED}{hint}"
        )
    for token in sequence:
        if isinstance(token, Number | np.number):
            return "flat"  # a row of numbers: X is a two-dimensional list
        if isinstance(token, dict | str | bytes | set | frozenset) or token is None:
            return "attributes"
        if is_list(token):
            return (
                "arrays"
                if len(token) and isinstance(next(iter(token)), Number | np.number)
                else "attributes"
            )
    return None


def pack_arrays(X: Sequences, dtype: DTypeLike) -> SequenceArray:
    """Stack sequences that are 2-D arrays (dense or sparse) of the same number of features."""
    for i, sequence in enumerate(X):
        refuse_lazy(sequence, f"X[{i}]")
    names = _shared_names(X)
    sequences = [
        sequence if sp.issparse(sequence) else _as_2d(sequence, i) for i, sequence in enumerate(X)
    ]
    for i, sequence in enumerate(sequences):
        if sequence.ndim != 2:
            raise InputTypeError(
                f"X[{i}] must have two dimensions (tokens, features), got {sequence.ndim}"
            )
        if sequence.shape[0] and not sequence.shape[1]:
            raise EmptyDataError(
                f"X[{i}] has {sequence.shape[0]} tokens without features, its shape "
                f"{sequence.shape}"
            )
        if np.iscomplexobj(sequence):
            raise InputTypeError(f"X[{i}]: complex data not supported")
    filled = [(i, sequence.shape[1]) for i, sequence in enumerate(sequences) if sequence.shape[0]]
    if not filled:
        return SequenceArray(np.empty((0, 0), dtype), np.zeros(len(sequences) + 1))
    for i, n_features in filled:
        if n_features != filled[0][1]:
            raise LengthMismatchError(
                f"X[{i}] has {n_features} features but X[{filled[0][0]}] has {filled[0][1]}"
            )
    # an empty sequence may have any number of features, and is given that of the others
    stackable = [s if s.shape[0] else s.reshape(0, filled[0][1]) for s in sequences]
    return as_dtype(SequenceArray.from_sequences(stackable, names), dtype)


def _shared_names(X: Sequences) -> list[str] | None:
    """Column names of sequences that are data frames; all that have tokens must share them."""
    framed = [(i, list(map(str, x.columns))) for i, x in enumerate(X) if is_frame(x) and len(x)]
    for i, names in framed:
        if names != framed[0][1]:
            raise ValueError(
                f"X[{i}] has the columns {names} but X[{framed[0][0]}] has {framed[0][1]}"
            )
    return framed[0][1] if framed else None


def _as_2d(sequence: object, i: int) -> np.ndarray:
    try:
        array = np.asarray(sequence)
        if isinstance(sequence, np.ma.MaskedArray) and np.ma.is_masked(sequence):
            raise TypeError("some of its values are masked")
        if array.dtype.kind in "USmM":
            raise TypeError(f"it is one of {array.dtype}")
        # float16 goes to float64, too: scipy has no sparse float16
        if array.dtype.kind not in "fiubc" or array.dtype == np.float16:
            # objects that are numbers, Decimals say, too
            array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputTypeError(
            f"X[{i}] cannot be read as a two-dimensional array of numbers: {error}"
        ) from error
    # an empty list is a sequence without tokens
    return array.reshape(0, 0) if array.shape == (0,) else array


def as_dtype(X: SequenceArray, dtype: DTypeLike) -> SequenceArray:
    """X in a float type; what is too large for it becomes infinite."""
    if X.stored.dtype == dtype:
        return X
    with np.errstate(over="ignore"):  # check_numbers says where the infinite value is
        return SequenceArray(X.stored.astype(dtype), X.offsets, X.names)


def _are_bad(values: np.ndarray, missing: bool) -> np.ndarray:
    """Which numbers are not finite, and do not stand for what may be missing."""
    bad: np.ndarray = np.isinf(values) if missing else ~np.isfinite(values)
    return bad


def check_numbers(X: SequenceArray, missing: bool = False) -> None:
    """Raise NonFiniteError for the first NaN or infinite value, ValueError for damaged indices.

    NaN passes if it stands for what is `missing`.

    The indices of a sparse X were checked when X was made, but may have been overwritten since.
    """
    are_bad = partial(_are_bad, missing=missing)
    is_bad = False
    for part in _parts(X):
        if sp.issparse(part):
            check_csr(part, "X.tokens")
        is_bad = is_bad or first_row(_values(part), are_bad) is not None
    # the place is looked for only where there is something to report
    if not is_bad:
        return
    values = _values(X.tokens)
    first = int(np.flatnonzero(_are_bad(values, missing).ravel())[0])
    raise NonFiniteError(f"{_place(X, first)}: not finite ({values.flat[first]})")


def largest_sum(X: SequenceArray) -> float:
    """A bound for the sum of the absolute values of a token.

    Raises
    ------
    NonFiniteError
        If a value is too large to learn from.
    """
    # max(abs(values)) would copy all values
    # and would need as much memory as X
    largest = max(
        max(float(values.max(initial=0)), -float(values.min(initial=0)))
        for values in map(_values, _parts(X))
    )
    if largest > LEARNABLE:
        values = _values(X.tokens)
        first = int(np.argmax(np.abs(values) > LEARNABLE))
        raise NonFiniteError(
            f"{_place(X, first)}: {values.flat[first]:.4g} is too large to learn from, as products "
            "of features and their squares are not finite: scale numeric features"
        )
    n_values = sum(
        part.shape[1] if isinstance(part, np.ndarray) else int(np.diff(part.indptr).max(initial=0))
        for part in _parts(X)
    )
    return largest * n_values


def _parts(X: SequenceArray) -> list[Matrix]:
    """The matrices that X is stored as."""
    stored = X.stored
    return [stored.sparse, stored.dense] if isinstance(stored, SparseAndDense) else [stored]


def _values(tokens: Matrix) -> np.ndarray:
    return tokens if isinstance(tokens, np.ndarray) else tokens.data


def _place(X: SequenceArray, number: int) -> str:
    """Sequence, token and feature of a value that is stored."""
    if sp.issparse(X.tokens):
        token = int(np.searchsorted(X.tokens.indptr, number, side="right")) - 1
        column = int(X.tokens.indices[number])
    else:
        token, column = divmod(number, X.tokens.shape[1])
    i = int(np.searchsorted(X.offsets, token, side="right")) - 1
    name = column if X.feature_names is None else repr(str(X.feature_names[column]))
    return f"X[{i}], token {token - X.offsets[i]}, feature {name}"
