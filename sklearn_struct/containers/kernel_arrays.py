"""Arrays in the memory that they came in, as kernels receive them."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["for_kernels"]


class _Writeable:
    """The memory of an array as numpy reads it from other objects, without the mark that it is
    read-only.
    """

    def __init__(self, array: np.ndarray) -> None:
        self.array = array  # lives as long as this does
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


def for_kernels(array: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """An array of this type whose rows follow each other, in the same memory if it is so: a memory
    map is not read here.

    Nobody may write to it, which tests make sure of. Kernels would be compiled once more for
    read-only arrays, so it has no such mark.
    """
    if array.dtype != dtype:
        # a copy has all else that is asked for
        return array.astype(dtype, "C")
    flags = array.flags
    if flags.c_contiguous and flags.aligned and flags.writeable:
        return array
    # copies only what kernels could not read as it is
    array = np.require(array, None, ["C", "A"])
    return array if array.flags.writeable else np.asarray(_Writeable(array))
