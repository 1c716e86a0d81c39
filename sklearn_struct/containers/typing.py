"""Types of arguments that several rooms take."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp

__all__ = [
    "Frame",
    "Label",
    "Matrix",
    "Scorer",
    "Seed",
    "SequenceInput",
    "Sequences",
    "Splitter",
    "Token",
]

Label: TypeAlias = Hashable
Token: TypeAlias = str | Mapping[str, object] | Iterable[object]
Matrix: TypeAlias = np.ndarray | sp.csr_array  # a row for each token
Seed: TypeAlias = int | np.random.RandomState | None
Scorer: TypeAlias = Callable[..., float]  # of an estimator, X and y, as scikit-learn's


class Sequences(Protocol):
    """A batch that can be read twice: a list, an array or a `SequenceArray`.

    X has a sequence of tokens in each place, y a sequence of labels. What an item is, and whether a
    two-dimensional array is meant, is only known at run time: ``encoding.sequences.form`` tells.
    """

    def __len__(self) -> int:
        """Number of sequences."""

    def __iter__(self) -> Iterator[Any]:
        """The sequences, in order."""

    def __getitem__(self, place: int, /) -> Any:
        """One sequence."""


# What fit and predict take: generators are read once, data frames are arrays of two dimensions.
SequenceInput: TypeAlias = Sequences | Iterable[Any]


class Frame(Protocol):
    """A data frame of pandas or polars, told by what it can do."""

    @property
    def columns(self) -> Iterable[Any]:
        """Names, in order."""

    def __len__(self) -> int:
        """Number of rows."""

    def __getitem__(self, column: Any, /) -> Any:
        """One column."""


class Splitter(Protocol):
    """A splitter of scikit-learn."""

    def split(
        self, X: Sequences, y: Sequences | None = None, groups: Iterable[Any] | None = None
    ) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """Indices of training and test parts."""
