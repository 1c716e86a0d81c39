"""What packed arrays share, whose items are examples of any size: scikit-learn's splitters and
searches take them as they take arrays.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike

from sklearn_struct.containers.ragged import object_array

__all__ = ["OneDimensional"]


class OneDimensional:
    """A one-dimensional array of examples; a subclass says how they are kept."""

    ndim: ClassVar[int] = 1
    device: ClassVar[str] = "cpu"

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _one(self, i: int) -> Any:
        """Example i."""

    @abstractmethod
    def _several(self, chosen: np.ndarray, consecutive: bool) -> Self:
        """An array of the chosen examples, which may follow each other."""

    @classmethod
    @abstractmethod
    def _joined(cls, arrays: Sequence[Any]) -> Any:
        """All examples of some arrays, or lists of examples."""

    @property
    def shape(self) -> tuple[int]:
        return (len(self),)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            if len(key) != 2 or key[1] is not Ellipsis:
                raise IndexError(f"a {type(self).__name__} has one dimension")
            key = key[0]
        if isinstance(key, int | np.integer) or (isinstance(key, np.ndarray) and key.ndim == 0):
            return self._one(range(len(self))[key])
        chosen = np.arange(len(self))[key]
        if chosen.ndim != 1:
            raise IndexError(f"a {type(self).__name__} has one dimension")
        return self._several(chosen, isinstance(key, slice) and key.step in (None, 1))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        if dtype is not None and np.dtype(dtype) != object:
            raise ValueError("examples of several lengths only fit an array of dtype object")
        # numpy asks for a view, which there cannot be
        if copy is False:
            raise ValueError(
                f"a {type(self).__name__} cannot become an object array without a copy"
            )
        return object_array(list(self))

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """`np.concatenate` and `np.take` give such arrays again."""
        # what scikit-learn's splitters and searches use
        if function is np.concatenate:
            return self._concatenated(*args, **kwargs)
        if function is np.take:
            return self._taken(*args, **kwargs)
        return NotImplemented

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return np

    @classmethod
    def _concatenated(cls, arrays: Sequence[Any], axis: int = 0, **kwargs: object) -> Any:
        return cls._joined(arrays)

    @staticmethod
    def _taken(array: Any, indices: Any, axis: int | None = None, **kwargs: object) -> Any:
        return array[np.asarray(indices)]
